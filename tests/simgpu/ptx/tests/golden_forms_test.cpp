// One instruction a row against the host's own arithmetic, over inputs that are known to hurt: shifts past the width,
// division by zero, the lowest integer, NaN, infinities, denormals, values outside the integers.

#include <fmt/format.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/simgpu/ptx/tests/kernel_runner.h"

namespace simgpu::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

struct Inputs {
  u32 a, b, c;
  u64 wide_a, wide_b;
  float fa, fb, fc;
  double da, db, dc;
};

/// An instruction on the registers a, b, c (32 bits), wa, wb (64 bits), ha, hb (16 bits), fa, fb, fc, da, db, dc; its
/// result goes to r (32 bits), w (64), h (16), f, d or p. The expected value is the result's bits.
struct Row {
  std::string text;
  std::function<u64(const Inputs&)> expected;
};

u64 bits(float value) {
  return std::bit_cast<u32>(value);
}
u64 bits(double value) {
  return std::bit_cast<u64>(value);
}
u64 bits(s32 value) {
  return static_cast<u32>(value);
}
u64 bits(u32 value) {
  return value;
}
u64 bits(u64 value) {
  return value;
}
u64 bits(s64 value) {
  return static_cast<u64>(value);
}
u64 bits(u16 value) {
  return value;
}
u64 bits(s16 value) {
  return static_cast<u16>(value);
}
u64 bits(bool value) {
  return value ? 1 : 0;
}

#define ROW(text, expression)           \
  Row {                                 \
    text, [](const Inputs& in) -> u64 { \
      (void)in;                         \
      return bits(expression);          \
    }                                   \
  }

s32 signed_a(const Inputs& in) {
  return static_cast<s32>(in.a);
}
s32 signed_b(const Inputs& in) {
  return static_cast<s32>(in.b);
}
s64 signed_wide(const Inputs& in) {
  return static_cast<s64>(in.wide_a);
}
u16 half_a(const Inputs& in) {
  return static_cast<u16>(in.a);
}
u16 half_b(const Inputs& in) {
  return static_cast<u16>(in.b);
}

u32 extract(u64 value, u32 position, u32 length, bool sign, u32 width) {
  u32 result = 0;
  const bool fill = sign && length > 0 && ((value >> std::min(position + length - 1, width - 1)) & 1) != 0;
  for (u32 i = 0; i < width; ++i) {
    const bool bit = i < length && position + i < width ? ((value >> (position + i)) & 1) != 0 : fill;
    result |= u32{bit} << i;
  }
  return result;
}

u32 insert(u32 from, u32 to, u32 position, u32 length) {
  for (u32 i = 0; i < length && position + i < 32; ++i)
    to = (to & ~(1U << (position + i))) | ((from >> i) & 1) << (position + i);
  return to;
}

u32 reverse(u32 value) {
  u32 result = 0;
  for (u32 i = 0; i < 32; ++i) result |= ((value >> i) & 1) << (31 - i);
  return result;
}

u32 permute(u32 a, u32 b, u32 selector) {
  u8 bytes[8];
  for (u32 i = 0; i < 4; ++i) bytes[i] = static_cast<u8>(a >> (8 * i)), bytes[4 + i] = static_cast<u8>(b >> (8 * i));
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 nibble = (selector >> (4 * i)) & 15;
    const u8 byte = bytes[nibble & 7];
    result |= u32{nibble < 8 ? byte : static_cast<u8>(byte >= 128 ? 255 : 0)} << (8 * i);
  }
  return result;
}

std::vector<Row> integer_rows() {
  return {
      ROW("add.s32 r, a, b;", in.a + in.b),
      ROW("sub.u32 r, a, b;", in.a - in.b),
      ROW("add.sat.s32 r, a, b;",
          static_cast<s32>(std::clamp(s64{signed_a(in)} + signed_b(in), s64{INT32_MIN}, s64{INT32_MAX}))),
      ROW("mul.lo.s32 r, a, b;", in.a * in.b),
      ROW("mul.hi.u32 r, a, b;", static_cast<u32>(u64{in.a} * in.b >> 32)),
      ROW("mul.hi.s32 r, a, b;", static_cast<s32>(s64{signed_a(in)} * signed_b(in) >> 32)),
      ROW("mul.wide.s32 w, a, b;", s64{signed_a(in)} * signed_b(in)),
      ROW("mul.wide.u32 w, a, b;", u64{in.a} * in.b),
      ROW("mul.wide.s16 r, ha, hb;", s32{static_cast<s16>(half_a(in))} * static_cast<s16>(half_b(in))),
      ROW("mul.lo.u16 h, ha, hb;", static_cast<u16>(u32{half_a(in)} * half_b(in))),
      ROW("mad.lo.s32 r, a, b, c;", in.a * in.b + in.c),
      ROW("mad.wide.u32 w, a, b, wa;", u64{in.a} * in.b + in.wide_a),
      ROW("mul.lo.s64 w, wa, wb;", in.wide_a * in.wide_b),
      ROW("mul.hi.u64 w, wa, wb;", static_cast<u64>(static_cast<unsigned __int128>(in.wide_a) * in.wide_b >> 64)),
      ROW("div.u32 r, a, b;", in.b == 0 ? ~0U : in.a / in.b),
      ROW("div.s32 r, a, b;", in.b == 0 ? -1 : static_cast<s32>(s64{signed_a(in)} / signed_b(in))),
      ROW("rem.u32 r, a, b;", in.b == 0 ? in.a : in.a % in.b),
      ROW("rem.s32 r, a, b;", in.b == 0 ? signed_a(in) : static_cast<s32>(s64{signed_a(in)} % signed_b(in))),
      ROW("div.u64 w, wa, wb;", in.wide_b == 0 ? ~u64{0} : in.wide_a / in.wide_b),
      ROW("rem.s64 w, wa, wb;", in.wide_b == 0 || in.wide_b == ~u64{0} ? (in.wide_b == 0 ? signed_wide(in) : 0)
                                                                       : signed_wide(in) % static_cast<s64>(in.wide_b)),
      ROW("min.s32 r, a, b;", std::min(signed_a(in), signed_b(in))),
      ROW("max.u32 r, a, b;", std::max(in.a, in.b)),
      ROW("abs.s32 r, a;", signed_a(in) < 0 ? 0 - in.a : in.a),
      ROW("neg.s32 r, a;", 0 - in.a),
      ROW("sad.s32 r, a, b, c;", (signed_a(in) < signed_b(in) ? in.b - in.a : in.a - in.b) + in.c),
      ROW("and.b32 r, a, b;", in.a & in.b),
      ROW("or.b64 w, wa, wb;", in.wide_a | in.wide_b),
      ROW("xor.b16 h, ha, hb;", static_cast<u16>(half_a(in) ^ half_b(in))),
      ROW("not.b32 r, a;", ~in.a),
      ROW("cnot.b32 r, a;", in.a == 0 ? 1U : 0U),
      ROW("shl.b32 r, a, b;", in.b > 31 ? 0 : in.a << in.b),
      ROW("shl.b64 w, wa, b;", in.b > 63 ? 0 : in.wide_a << in.b),
      ROW("shl.b16 h, ha, b;", static_cast<u16>(in.b > 15 ? 0 : half_a(in) << in.b)),
      ROW("shr.u32 r, a, b;", in.b > 31 ? 0 : in.a >> in.b),
      ROW("shr.s32 r, a, b;", signed_a(in) >> std::min(in.b, 31U)),
      ROW("shr.s64 w, wa, b;", signed_wide(in) >> std::min(in.b, 63U)),
      ROW("shr.s16 h, ha, b;", static_cast<s16>(static_cast<s16>(half_a(in)) >> std::min(in.b, 15U))),
      ROW("shf.l.wrap.b32 r, a, b, c;", static_cast<u32>(((u64{in.b} << 32 | in.a) << (in.c & 31)) >> 32)),
      ROW("shf.r.wrap.b32 r, a, b, c;", static_cast<u32>((u64{in.b} << 32 | in.a) >> (in.c & 31))),
      ROW("shf.l.clamp.b32 r, a, b, c;",
          in.c >= 32 ? in.a : static_cast<u32>(((u64{in.b} << 32 | in.a) << in.c) >> 32)),
      ROW("shf.r.clamp.b32 r, a, b, c;", in.c >= 32 ? in.b : static_cast<u32>((u64{in.b} << 32 | in.a) >> in.c)),
      ROW("bfe.u32 r, a, b, c;", extract(in.a, in.b & 255, in.c & 255, false, 32)),
      ROW("bfe.s32 r, a, b, c;", extract(in.a, in.b & 255, in.c & 255, true, 32)),
      ROW("bfi.b32 r, a, c, b, 7;", insert(in.a, in.c, in.b & 255, 7)),
      ROW("bfi.b32 r, a, c, 3, b;", insert(in.a, in.c, 3, in.b & 255)),
      ROW("brev.b32 r, a;", reverse(in.a)),
      ROW("popc.b32 r, a;", static_cast<u32>(std::popcount(in.a))),
      ROW("popc.b64 r, wa;", static_cast<u32>(std::popcount(in.wide_a))),
      ROW("clz.b32 r, a;", static_cast<u32>(std::countl_zero(in.a))),
      ROW("clz.b64 r, wa;", static_cast<u32>(std::countl_zero(in.wide_a))),
      ROW("bfind.u32 r, a;", in.a == 0 ? ~0U : 31U - static_cast<u32>(std::countl_zero(in.a))),
      ROW("bfind.s32 r, a;", static_cast<u32>(31 - std::countl_zero(signed_a(in) < 0 ? ~in.a : in.a))),
      ROW("bfind.shiftamt.u32 r, a;", in.a == 0 ? ~0U : static_cast<u32>(std::countl_zero(in.a))),
      ROW("prmt.b32 r, a, b, c;", permute(in.a, in.b, in.c)),
      ROW("lop3.b32 r, a, b, c, 0xE8;", (in.a & in.b) | (in.a & in.c) | (in.b & in.c)),
      ROW("setp.lt.s32 p, a, b;", signed_a(in) < signed_b(in)),
      ROW("setp.lo.u32 p, a, b;", in.a < in.b),
      ROW("setp.hs.u64 p, wa, wb;", in.wide_a >= in.wide_b),
      ROW("setp.eq.b16 p, ha, hb;", half_a(in) == half_b(in)),
      ROW("setp.ne.xor.s32 p, a, b, odd;", (in.a != in.b) != ((in.c & 1) != 0)),
      ROW("setp.gt.and.u32 p, a, b, !odd;", in.a > in.b && (in.c & 1) == 0),
      ROW("selp.b32 r, a, b, odd;", (in.c & 1) != 0 ? in.a : in.b),
      ROW("cvt.s64.s32 w, a;", s64{signed_a(in)}),
      ROW("cvt.u64.u32 w, a;", u64{in.a}),
      ROW("cvt.s32.s8 r, a;", s32{static_cast<s8>(in.a)}),
      ROW("cvt.u32.u16 r, ha;", u32{half_a(in)}),
      ROW("cvt.u16.u32 h, a;", half_a(in)),
      ROW("cvt.sat.s16.s32 h, a;", static_cast<s16>(std::clamp(signed_a(in), -32768, 32767))),
      ROW("cvt.sat.u8.s32 r, a;", static_cast<u32>(std::clamp(signed_a(in), 0, 255))),
      ROW("cvt.rn.f32.s32 f, a;", static_cast<float>(signed_a(in))),
      ROW("cvt.rn.f32.u64 f, wa;", static_cast<float>(in.wide_a)),
      ROW("cvt.rn.f64.s64 d, wa;", static_cast<double>(signed_wide(in))),
      ROW("{ .reg .b16 x, y; mov.b32 {x, y}, a; mov.b32 r, {y, x}; }", in.a << 16 | in.a >> 16),
      ROW("mov.b64 w, {a, b};", u64{in.b} << 32 | in.a),
      ROW("add.cc.u32 t, a, b; addc.u32 r, a, c;", in.a + in.c + (in.a + in.b < in.a ? 1U : 0U)),
      ROW("sub.cc.u32 t, a, b; subc.u32 r, c, 0;", in.c - (in.a < in.b ? 1U : 0U)),
      ROW("mad.lo.cc.u32 t, a, b, c; madc.hi.u32 r, a, b, 0;", static_cast<u32>((u64{in.a} * in.b + in.c) >> 32)),
  };
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

template <class Function>
float rounded(int mode, Function function) {
  std::fesetround(mode);
  const volatile float result = function();
  std::fesetround(FE_TONEAREST);
  return result;
}

/// The host's own operations; the volatile copies keep the compiler from computing them in another rounding mode.
float fma_in(int mode, float a, float b, float c) {
  const volatile float x = a;
  const volatile float y = b;
  const volatile float z = c;
  return rounded(mode, [&] { return std::fma(x, y, z); });
}
float sum_in(int mode, float a, float b) {
  const volatile float x = a;
  const volatile float y = b;
  return rounded(mode, [&] { return x + y; });
}
float product_in(int mode, float a, float b) {
  const volatile float x = a;
  const volatile float y = b;
  return rounded(mode, [&] { return x * y; });
}

template <class Integer, class Float>
Integer to_integer(Float value) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(value)) return 0;
  if (static_cast<long double>(value) >= static_cast<long double>(Limits::max())) return Limits::max();
  if (static_cast<long double>(value) <= static_cast<long double>(Limits::min())) return Limits::min();
  return static_cast<Integer>(value);
}

float smaller(float a, float b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}

bool ordered(const Inputs& in) {
  return !std::isnan(in.fa) && !std::isnan(in.fb);
}

std::vector<Row> float_rows() {
  return {
      ROW("add.f32 f, fa, fb;", in.fa + in.fb),
      ROW("sub.rn.f32 f, fa, fb;", in.fa - in.fb),
      ROW("mul.f32 f, fa, fb;", in.fa * in.fb),
      ROW("mul.ftz.f32 f, fa, fb;", flushed(flushed(in.fa) * flushed(in.fb))),
      ROW("add.ftz.f32 f, fa, fb;", flushed(flushed(in.fa) + flushed(in.fb))),
      ROW("fma.rn.f32 f, fa, fb, fc;", std::fma(in.fa, in.fb, in.fc)),
      ROW("fma.rm.f32 f, fa, fb, fc;", fma_in(FE_DOWNWARD, in.fa, in.fb, in.fc)),
      ROW("fma.rp.f32 f, fa, fb, fc;", fma_in(FE_UPWARD, in.fa, in.fb, in.fc)),
      ROW("fma.rz.f32 f, fa, fb, fc;", fma_in(FE_TOWARDZERO, in.fa, in.fb, in.fc)),
      ROW("add.rz.f32 f, fa, fb;", sum_in(FE_TOWARDZERO, in.fa, in.fb)),
      ROW("add.rm.f32 f, fa, fb;", sum_in(FE_DOWNWARD, in.fa, in.fb)),
      ROW("sub.rp.f32 f, fa, fb;", sum_in(FE_UPWARD, in.fa, -in.fb)),
      ROW("mul.rz.f32 f, fa, fb;", product_in(FE_TOWARDZERO, in.fa, in.fb)),
      ROW("mul.rp.f32 f, fa, fb;", product_in(FE_UPWARD, in.fa, in.fb)),
      ROW("fma.rn.sat.f32 f, fa, fb, fc;",
          std::isnan(std::fma(in.fa, in.fb, in.fc))
              ? 0.0f
              : std::fmin(std::fmax(std::fma(in.fa, in.fb, in.fc), 0.0f), 1.0f) + 0.0f),
      ROW("div.rn.f32 f, fa, fb;", in.fa / in.fb),
      ROW("rcp.rn.f32 f, fa;", 1.0f / in.fa),
      ROW("sqrt.rn.f32 f, fa;", std::sqrt(in.fa)),
      ROW("min.f32 f, fa, fb;", smaller(in.fa, in.fb)),
      ROW("max.f32 f, fa, fb;", -smaller(-in.fa, -in.fb)),
      ROW("max.NaN.f32 f, fa, fb;", ordered(in) ? -smaller(-in.fa, -in.fb) : NAN),
      ROW("abs.f32 f, fa;", std::fabs(in.fa)),
      ROW("neg.f32 f, fa;", -in.fa),
      ROW("copysign.f32 f, fa, fb;", std::copysign(in.fb, in.fa)),
      ROW("mov.f32 f, fa;", in.fa),
      ROW("selp.f32 f, fa, fb, odd;", (in.c & 1) != 0 ? in.fa : in.fb),
      ROW("setp.eq.f32 p, fa, fb;", in.fa == in.fb),
      ROW("setp.ne.f32 p, fa, fb;", ordered(in) && in.fa != in.fb),
      ROW("setp.neu.f32 p, fa, fb;", !(in.fa == in.fb)),
      ROW("setp.equ.f32 p, fa, fb;", !ordered(in) || in.fa == in.fb),
      ROW("setp.lt.f32 p, fa, fb;", in.fa < in.fb),
      ROW("setp.ltu.f32 p, fa, fb;", !(in.fa >= in.fb)),
      ROW("setp.geu.f32 p, fa, fb;", !(in.fa < in.fb)),
      ROW("setp.gt.ftz.f32 p, fa, fb;", flushed(in.fa) > flushed(in.fb)),
      ROW("setp.num.f32 p, fa, fb;", ordered(in)),
      ROW("setp.nan.f32 p, fa, fb;", !ordered(in)),
      ROW("cvt.rzi.s32.f32 r, fa;", to_integer<s32>(std::trunc(in.fa))),
      ROW("cvt.rni.s32.f32 r, fa;", to_integer<s32>(std::nearbyint(in.fa))),
      ROW("cvt.rmi.s32.f32 r, fa;", to_integer<s32>(std::floor(in.fa))),
      ROW("cvt.rpi.u32.f32 r, fa;", to_integer<u32>(std::ceil(in.fa))),
      ROW("cvt.rzi.u32.f32 r, fa;", to_integer<u32>(std::trunc(in.fa))),
      ROW("cvt.rzi.s64.f32 w, fa;", to_integer<s64>(std::trunc(in.fa))),
      ROW("cvt.rzi.u64.f64 w, da;", to_integer<u64>(std::trunc(in.da))),
      ROW("cvt.rzi.u16.f32 h, fa;", to_integer<u16>(std::trunc(in.fa))),
      ROW("cvt.rni.f32.f32 f, fa;", std::nearbyint(in.fa)),
      ROW("cvt.rmi.f32.f32 f, fa;", std::floor(in.fa)),
      ROW("cvt.sat.f32.f32 f, fa;", std::isnan(in.fa) ? 0.0f : std::clamp(in.fa, 0.0f, 1.0f) + 0.0f),
      ROW("cvt.f64.f32 d, fa;", static_cast<double>(in.fa)),
      ROW("cvt.rn.f32.f64 f, da;", static_cast<float>(in.da)),
      ROW("cvt.rn.f16.f32 h, fa;", std::bit_cast<u16>(static_cast<_Float16>(in.fa))),
      ROW("cvt.f32.f16 f, ha;", static_cast<float>(std::bit_cast<_Float16>(half_a(in)))),
      ROW("add.f16 h, ha, hb;", std::bit_cast<u16>(static_cast<_Float16>(std::bit_cast<_Float16>(half_a(in)) +
                                                                         std::bit_cast<_Float16>(half_b(in))))),
      ROW("setp.gt.f16 p, ha, hb;", std::bit_cast<_Float16>(half_a(in)) > std::bit_cast<_Float16>(half_b(in))),
      ROW("setp.neu.f16 p, ha, hb;", !(std::bit_cast<_Float16>(half_a(in)) == std::bit_cast<_Float16>(half_b(in)))),
      ROW("fma.rn.f64 d, da, db, dc;", std::fma(in.da, in.db, in.dc)),
      ROW("div.rn.f64 d, da, db;", in.da / in.db),
      ROW("max.f64 d, da, db;", std::isnan(in.da)                                           ? in.db
                                : std::isnan(in.db)                                         ? in.da
                                : in.da > in.db || (in.da == in.db && !std::signbit(in.da)) ? in.da
                                                                                            : in.db),
      ROW("setp.leu.f64 p, da, db;", !(in.da > in.db)),
  };
}

std::vector<Inputs> torture_inputs() {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<u32> integers = {
      0,      1,      2,          3,          7,          16,         31,         32,        33,         63,
      64,     65,     127,        128,        255,        256,        260,        0x3c00,    0x7bff,     0x7fff,
      0x8000, 0xfc01, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xdeadbeef, 0xfffffff, 0xfffffff0, 0xffffffff};
  const std::vector<float> floats = {0.0f,
                                     -0.0f,
                                     1.0f,
                                     -1.0f,
                                     0.5f,
                                     1.5f,
                                     2.5f,
                                     -2.5f,
                                     0.3f,
                                     -0.7f,
                                     1e-45f,
                                     -1e-45f,
                                     1e-39f,
                                     -3e-39f,
                                     1.17549435e-38f,
                                     1e-20f,
                                     16777217.0f,
                                     3.40282347e38f,
                                     -3.40282347e38f,
                                     inf,
                                     -inf,
                                     std::nanf(""),
                                     2147483648.0f,
                                     -2147483648.0f,
                                     4294967296.0f,
                                     3e9f,
                                     -3e9f,
                                     9.3e18f,
                                     65504.0f,
                                     1e-7f};
  std::vector<Inputs> inputs;
  for (std::size_t i = 0; i < integers.size(); ++i)
    for (std::size_t j = 0; j < integers.size(); ++j) {
      const std::size_t k = (i * 7 + j * 11 + 5) % integers.size();
      inputs.push_back({integers[i], integers[j], integers[k], u64{integers[i]} << 32 | integers[k],
                        u64{integers[j]} << 32 | integers[j], floats[i], floats[j], floats[k], double{floats[i]} * 1.1,
                        double{floats[j]}, double{floats[k]} / 3});
    }
  return inputs;
}

std::string result_register(const Row& row) {
  // The first operand of the last instruction.
  const auto last = row.text.rfind(';', row.text.size() - 2);
  const auto instruction = row.text.substr(row.text.front() == '{' ? row.text.rfind("mov.b32")
                                           : last == row.text.npos ? 0
                                                                   : last + 2);
  const auto space = instruction.find(' ');
  return instruction.substr(space + 1, instruction.find(',') - space - 1);
}

std::string module_of(const std::vector<Row>& rows) {
  std::string body;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string result = result_register(rows[i]);
    body += rows[i].text + "\n";
    if (result == "p") body += "selp.u64 w, 1, 0, p;\n";
    if (result == "r") body += "cvt.u64.u32 w, r;\n";
    if (result == "h") body += "cvt.u64.u16 w, h;\n";
    if (result == "f") body += "mov.b32 t, f; cvt.u64.u32 w, t;\n";
    if (result == "d") body += "mov.b64 w, d;\n";
    body += fmt::format("st.global.u64 [out+{}], w;\n", i * 8);
  }
  return fmt::format(R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry rows(.param .u64 inputs, .param .u64 outputs)
{{
.reg .b32 a, b, c, r, t; .reg .b64 wa, wb, w, in, out, at; .reg .b16 ha, hb, h; .reg .f32 fa, fb, fc, f; .reg .f64 da, db, dc, d; .reg .pred p, odd;
ld.param.u64 in, [inputs]; ld.param.u64 out, [outputs];
mov.u32 t, %ctaid.x;
mul.wide.u32 at, t, {};
add.s64 in, in, at;
mul.wide.u32 at, t, {};
add.s64 out, out, at;
ld.global.u32 a, [in]; ld.global.u32 b, [in+4]; ld.global.u32 c, [in+8]; ld.global.u64 wa, [in+16]; ld.global.u64 wb, [in+24];
ld.global.f32 fa, [in+32]; ld.global.f32 fb, [in+36]; ld.global.f32 fc, [in+40];
ld.global.f64 da, [in+48]; ld.global.f64 db, [in+56]; ld.global.f64 dc, [in+64];
cvt.u16.u32 ha, a; cvt.u16.u32 hb, b;
and.b32 t, c, 1; setp.ne.u32 odd, t, 0;
{}
ret;
}}
)",
                     sizeof(Inputs), rows.size() * 8, body);
}

bool same(const std::string& result, u64 got, u64 expected) {
  if (got == expected) return true;
  // Which NaN comes out is not promised.
  if (result == "f")
    return std::isnan(std::bit_cast<float>(static_cast<u32>(got))) &&
           std::isnan(std::bit_cast<float>(static_cast<u32>(expected)));
  if (result == "d") return std::isnan(std::bit_cast<double>(got)) && std::isnan(std::bit_cast<double>(expected));
  const auto nan16 = [](u64 value) { return (value & 0x7fff) > 0x7c00; };
  return result == "h" && nan16(got) && nan16(expected);
}

void check(const std::vector<Row>& rows) {
  static_assert(offsetof(Inputs, wide_a) == 16 && offsetof(Inputs, fa) == 32 && offsetof(Inputs, da) == 48);
  KernelRunner runner(module_of(rows));
  const auto inputs = torture_inputs();
  const auto in = runner.upload(inputs);
  const auto out = runner.memory.allocate(inputs.size() * rows.size() * 8, 256);
  runner.launch("rows", shape(static_cast<u32>(inputs.size()), 1), in, out);
  const auto results = WindowMemory::view<u64>(out, inputs.size() * rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    int shown = 0;
    for (std::size_t i = 0; i < inputs.size() && shown < 3; ++i) {
      const u64 got = results[i * rows.size() + r];
      const u64 expected = rows[r].expected(inputs[i]);
      if (same(result_register(rows[r]), got, expected)) continue;
      ++shown;
      ADD_FAILURE() << fmt::format(
          "{} gave {:#x}, expected {:#x}; a={:#x} b={:#x} c={:#x} wa={:#x} wb={:#x} fa={:a} fb={:a} fc={:a} da={:a}",
          rows[r].text, got, expected, inputs[i].a, inputs[i].b, inputs[i].c, inputs[i].wide_a, inputs[i].wide_b,
          inputs[i].fa, inputs[i].fb, inputs[i].fc, inputs[i].da);
    }
  }
}

TEST(GoldenForms, Integers) {
  check(integer_rows());
}
TEST(GoldenForms, Floats) {
  check(float_rows());
}

struct Approximation {
  const char* text;
  double (*exact)(double);
  double low, high;
  double absolute, relative;
};

// Tolerances are the hardware's, from the PTX manual.
const Approximation kApproximations[] = {
    {"ex2.approx.f32 f, fa;", [](double x) { return std::exp2(x); }, -140, 127, 1e-45, 2.4e-7},
    {"lg2.approx.f32 f, fa;", [](double x) { return std::log2(x); }, 1e-30, 1e30, 2.4e-7, 2.4e-7},
    {"sin.approx.f32 f, fa;", [](double x) { return std::sin(x); }, -100, 100, 4.8e-7, 0},
    {"cos.approx.f32 f, fa;", [](double x) { return std::cos(x); }, -100, 100, 4.8e-7, 0},
    {"tanh.approx.f32 f, fa;", [](double x) { return std::tanh(x); }, -20, 20, 0, 4.9e-4},
    {"rsqrt.approx.f32 f, fa;", [](double x) { return 1 / std::sqrt(x); }, 1e-30, 1e30, 0, 2.4e-7},
    {"rcp.approx.f32 f, fa;", [](double x) { return 1 / x; }, -1e6, 1e6, 0, 1.2e-7},
    {"sqrt.approx.f32 f, fa;", [](double x) { return std::sqrt(x); }, 0, 1e30, 0, 1.2e-7},
};

TEST(GoldenForms, ApproximationsAreWithinTheHardwaresBounds) {
  std::vector<Row> rows;
  for (const auto& approximation : kApproximations) rows.push_back({approximation.text, nullptr});
  KernelRunner runner(module_of(rows));
  constexpr std::size_t kSteps = 2001;
  std::vector<Inputs> inputs(kSteps * rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t i = 0; i < kSteps; ++i)
      inputs[r * kSteps + i].fa =
          static_cast<float>(kApproximations[r].low + (kApproximations[r].high - kApproximations[r].low) *
                                                          static_cast<double>(i) / (kSteps - 1));
  const auto in = runner.upload(inputs);
  const auto out = runner.memory.allocate(inputs.size() * rows.size() * 8, 256);
  runner.launch("rows", shape(static_cast<u32>(inputs.size()), 1), in, out);
  const auto results = WindowMemory::view<u64>(out, inputs.size() * rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t i = r * kSteps; i < (r + 1) * kSteps; ++i) {
      const double exact = kApproximations[r].exact(double{inputs[i].fa});
      const double got = double{std::bit_cast<float>(static_cast<u32>(results[i * rows.size() + r]))};
      if (std::isinf(exact) && got == exact) continue;
      ASSERT_LE(std::abs(got - exact), kApproximations[r].absolute + kApproximations[r].relative * std::abs(exact))
          << kApproximations[r].text << " of " << inputs[i].fa;
    }
}

}  // namespace
}  // namespace simgpu::ptx
