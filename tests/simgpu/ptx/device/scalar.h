#pragma once

// Integer and bit operations of PTX. Compiled into every kernel behind abi.h; includes nothing. All arithmetic wraps,
// so it is done on unsigned types; shift counts clamp; a division by zero yields all ones and a remainder the dividend
// (PTX leaves both open).

namespace simgpu_device {

#define SIMGPU_INLINE inline __attribute__((always_inline))

template <class T>
struct Traits;
template <>
struct Traits<u8> {
  using Unsigned = u8;
  using Wide = u16;
};
template <>
struct Traits<s8> {
  using Unsigned = u8;
  using Wide = s16;
};
template <>
struct Traits<u16> {
  using Unsigned = u16;
  using Wide = u32;
};
template <>
struct Traits<s16> {
  using Unsigned = u16;
  using Wide = s32;
};
template <>
struct Traits<u32> {
  using Unsigned = u32;
  using Wide = u64;
};
template <>
struct Traits<s32> {
  using Unsigned = u32;
  using Wide = s64;
};
template <>
struct Traits<u64> {
  using Unsigned = u64;
  using Wide = unsigned __int128;
};
template <>
struct Traits<s64> {
  using Unsigned = u64;
  using Wide = __int128;
};
template <class T>
using Unsigned = typename Traits<T>::Unsigned;
template <class T>
using Wide = typename Traits<T>::Wide;
template <class T>
constexpr u32 kBits = sizeof(T) * 8;
template <class T>
constexpr bool kSigned = T(-1) < T(0);

template <class To, class From>
SIMGPU_INLINE To as(From value) {
  return __builtin_bit_cast(To, value);
}

template <class T>
SIMGPU_INLINE T load(u64 address) {
  T value;
  __builtin_memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}
template <class T>
SIMGPU_INLINE void store(u64 address, T value) {
  __builtin_memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}

template <class T>
SIMGPU_INLINE T add(T a, T b) {
  return T(Unsigned<T>(a) + Unsigned<T>(b));
}
template <class T>
SIMGPU_INLINE T sub(T a, T b) {
  return T(Unsigned<T>(a) - Unsigned<T>(b));
}
// 16-bit operands promote to int, which a product may overflow: u64 holds them all.
template <class T>
SIMGPU_INLINE T mul_lo(T a, T b) {
  return T(u64(a) * u64(b));
}
template <class T>
SIMGPU_INLINE Wide<T> mul_wide(T a, T b) {
  return Wide<T>(a) * Wide<T>(b);
}
template <class T>
SIMGPU_INLINE T mul_hi(T a, T b) {
  return T(mul_wide<T>(a, b) >> kBits<T>);
}
template <class T>
SIMGPU_INLINE T mad_lo(T a, T b, T c) {
  return add<T>(mul_lo<T>(a, b), c);
}
template <class T>
SIMGPU_INLINE Wide<T> mad_wide(T a, T b, Wide<T> c) {
  return add<Wide<T>>(mul_wide<T>(a, b), c);
}
template <class T>
SIMGPU_INLINE T mad_hi(T a, T b, T c) {
  return add<T>(mul_hi<T>(a, b), c);
}
template <class T>
SIMGPU_INLINE T mul24_lo(T a, T b) {
  return T(u64(T(a << 8) >> 8) * u64(T(b << 8) >> 8));
}
template <class T>
SIMGPU_INLINE T mad24_lo(T a, T b, T c) {
  return add<T>(mul24_lo<T>(a, b), c);
}
template <class T>
SIMGPU_INLINE T sad(T a, T b, T c) {
  return add<T>(a < b ? sub<T>(b, a) : sub<T>(a, b), c);
}

// The lowest integer divided by -1 would trap on the host.
template <class T>
SIMGPU_INLINE T div(T a, T b) {
  if (b == T(0)) return T(~T(0));
  if (kSigned<T> && b == T(-1)) return sub<T>(T(0), a);
  return T(a / b);
}
template <class T>
SIMGPU_INLINE T rem(T a, T b) {
  if (b == T(0)) return a;
  if (kSigned<T> && b == T(-1)) return T(0);
  return T(a % b);
}

template <class T>
SIMGPU_INLINE T min_int(T a, T b) {
  return b < a ? b : a;
}
template <class T>
SIMGPU_INLINE T max_int(T a, T b) {
  return b > a ? b : a;
}
template <class T>
SIMGPU_INLINE T neg_int(T a) {
  return sub<T>(T(0), a);
}
template <class T>
SIMGPU_INLINE T abs_int(T a) {
  return a < T(0) ? sub<T>(T(0), a) : a;
}
SIMGPU_INLINE s32 add_sat(s32 a, s32 b) {
  const s64 sum = s64(a) + s64(b);
  return sum > 0x7fffffffL ? 0x7fffffff : sum < -0x80000000L ? s32(-0x80000000L) : s32(sum);
}
SIMGPU_INLINE s32 sub_sat(s32 a, s32 b) {
  const s64 difference = s64(a) - s64(b);
  return difference > 0x7fffffffL ? 0x7fffffff : difference < -0x80000000L ? s32(-0x80000000L) : s32(difference);
}

template <class T>
SIMGPU_INLINE T and_bits(T a, T b) {
  return T(a & b);
}
template <class T>
SIMGPU_INLINE T or_bits(T a, T b) {
  return T(a | b);
}
template <class T>
SIMGPU_INLINE T xor_bits(T a, T b) {
  return T(a ^ b);
}
template <class T>
SIMGPU_INLINE T not_bits(T a) {
  return T(~a);
}
template <>
SIMGPU_INLINE bool not_bits<bool>(bool a) {
  return !a;
}
template <class T>
SIMGPU_INLINE T select(T a, T b, bool condition) {
  return condition ? a : b;
}
template <class T>
SIMGPU_INLINE T cnot(T a) {
  return T(a == T(0));
}

template <class T>
SIMGPU_INLINE T shl(T a, u32 count) {
  return count >= kBits<T> ? T(0) : T(a << count);
}
template <class T>
SIMGPU_INLINE T shr(T a, u32 count) {
  if (count < kBits<T>) return T(a >> count);
  return kSigned<T> && a < T(0) ? T(-1) : T(0);
}
SIMGPU_INLINE u32 funnel_left(u32 low, u32 high, u32 count) {
  return u32(((u64(high) << 32 | low) << count) >> 32);
}
SIMGPU_INLINE u32 funnel_right(u32 low, u32 high, u32 count) {
  return u32((u64(high) << 32 | low) >> count);
}
template <class T>
SIMGPU_INLINE T shf_l_wrap(T low, T high, u32 count) {
  return funnel_left(low, high, count & 31);
}
template <class T>
SIMGPU_INLINE T shf_r_wrap(T low, T high, u32 count) {
  return funnel_right(low, high, count & 31);
}
template <class T>
SIMGPU_INLINE T shf_l_clamp(T low, T high, u32 count) {
  return funnel_left(low, high, count > 32 ? 32 : count);
}
template <class T>
SIMGPU_INLINE T shf_r_clamp(T low, T high, u32 count) {
  return funnel_right(low, high, count > 32 ? 32 : count);
}

// Position and length are taken modulo 256, as ptxas does.
template <class T>
SIMGPU_INLINE T bfe(T a, u32 position, u32 length) {
  position &= 255;
  length &= 255;
  if (length == 0) return T(0);
  const u32 last = position + length - 1 < kBits<T> ? position + length - 1 : kBits<T> - 1;
  const bool fill = kSigned<T> && ((Unsigned<T>(a) >> last) & 1) != 0;
  if (position >= kBits<T>) return fill ? T(-1) : T(0);
  const Unsigned<T> field = Unsigned<T>(a) >> position;
  if (length >= kBits<T>) return fill ? T(field | ~(Unsigned<T>(-1) >> position)) : T(field);
  const Unsigned<T> mask = (Unsigned<T>(1) << length) - 1;
  return fill ? T(field | ~mask | (position + length > kBits<T> ? ~(Unsigned<T>(-1) >> position) : 0))
              : T(field & mask);
}
template <class T>
SIMGPU_INLINE T bfi(T a, T b, u32 position, u32 length) {
  position &= 255;
  length &= 255;
  if (length == 0 || position >= kBits<T>) return b;
  const T mask = shl<T>(length >= kBits<T> ? T(-1) : T((T(1) << length) - 1), position);
  return T((b & ~mask) | (shl<T>(a, position) & mask));
}
template <class T>
SIMGPU_INLINE T brev(T a) {
  T result = 0;
  for (u32 i = 0; i < kBits<T>; ++i) result = T(result << 1 | ((a >> i) & 1));
  return result;
}
template <class T>
SIMGPU_INLINE u32 popc(T a) {
  return u32(__builtin_popcountl(a));
}
template <class T>
SIMGPU_INLINE u32 clz(T a) {
  return a == 0 ? kBits<T> : u32(__builtin_clzl(a)) - (64 - kBits<T>);
}
// Of a signed number: the highest bit that differs from the sign.
template <class T>
SIMGPU_INLINE u32 bfind(T a) {
  const Unsigned<T> bits = kSigned<T> && a < T(0) ? ~Unsigned<T>(a) : Unsigned<T>(a);
  return bits == 0 ? ~0U : kBits<T> - 1 - clz<Unsigned<T>>(bits);
}
template <class T>
SIMGPU_INLINE u32 bfind_shiftamt(T a) {
  const u32 position = bfind<T>(a);
  return position == ~0U ? ~0U : kBits<T> - 1 - position;
}
template <class T>
SIMGPU_INLINE T prmt(T a, T b, u32 selector) {
  const u64 bytes = u64(b) << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 nibble = (selector >> (4 * i)) & 15;
    u8 byte = u8(bytes >> (8 * (nibble & 7)));
    if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= u32(byte) << (8 * i);
  }
  return result;
}
template <class T>
SIMGPU_INLINE T lop3(T a, T b, T c, u32 table) {
  u32 result = 0;
  for (u32 i = 0; i < 8; ++i)
    if ((table >> i) & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}

// The condition code of .cc: carry of an addition, borrow of a subtraction.
template <class T>
SIMGPU_INLINE T add_carry(T a, T b, u32 in, u32& out) {
  const Wide<Unsigned<T>> sum = Wide<Unsigned<T>>(Unsigned<T>(a)) + Unsigned<T>(b) + in;
  out = u32(sum >> kBits<T>) & 1;
  return T(sum);
}
template <class T>
SIMGPU_INLINE T sub_borrow(T a, T b, u32 in, u32& out) {
  const Wide<Unsigned<T>> difference = Wide<Unsigned<T>>(Unsigned<T>(a)) - Unsigned<T>(b) - in;
  out = u32(difference >> kBits<T>) & 1;
  return T(difference);
}

}  // namespace simgpu_device
