#pragma once

// Floating-point operations of PTX. Compiled into every kernel behind scalar.h; includes nothing and calls no libm, so
// that results depend neither on the host's libraries nor on how the compiler vectorises. Compile with
// -ffp-contract=off. The .approx operations are more exact than the hardware's and not bit-equal to it.

namespace simgpu_device {

SIMGPU_INLINE bool is_nan(f32 x) {
  return x != x;
}
SIMGPU_INLINE bool is_nan(f64 x) {
  return x != x;
}

SIMGPU_INLINE f32 flush(f32 x) {
  const u32 bits = as<u32>(x);
  return (bits & 0x7f800000U) == 0 ? as<f32>(bits & 0x80000000U) : x;
}
// NaN becomes 0, as PTX says of .sat.
SIMGPU_INLINE f32 saturate(f32 x) {
  return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}
SIMGPU_INLINE f64 saturate(f64 x) {
  return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0;
}

template <class T>
SIMGPU_INLINE T add_rn(T a, T b) {
  return a + b;
}
template <class T>
SIMGPU_INLINE T sub_rn(T a, T b) {
  return a - b;
}
template <class T>
SIMGPU_INLINE T mul_rn(T a, T b) {
  return a * b;
}
template <class T>
SIMGPU_INLINE T div_rn(T a, T b) {
  return a / b;
}
SIMGPU_INLINE f32 fma_exact(f32 a, f32 b, f32 c) {
  return __builtin_fmaf(a, b, c);
}
SIMGPU_INLINE f64 fma_exact(f64 a, f64 b, f64 c) {
  return __builtin_fma(a, b, c);
}
template <class T>
SIMGPU_INLINE T fma_rn(T a, T b, T c) {
  return fma_exact(a, b, c);
}

// The larger or smaller; a NaN loses against a number; -0 is less than +0.
SIMGPU_INLINE bool negative(f32 x) {
  return as<s32>(x) < 0;
}
SIMGPU_INLINE bool negative(f64 x) {
  return as<s64>(x) < 0;
}
template <class T>
SIMGPU_INLINE T min_number(T a, T b) {
  if (is_nan(a)) return b;
  return a < b || is_nan(b) || (a == b && negative(a)) ? a : b;
}
template <class T>
SIMGPU_INLINE T max_number(T a, T b) {
  if (is_nan(a)) return b;
  return a > b || is_nan(b) || (a == b && !negative(a)) ? a : b;
}
template <class T>
SIMGPU_INLINE T canonical_nan();
template <>
SIMGPU_INLINE f32 canonical_nan<f32>() {
  return as<f32>(0x7fffffffU);
}
template <>
SIMGPU_INLINE f64 canonical_nan<f64>() {
  return as<f64>(0x7fffffffffffffffUL);
}
template <class T>
SIMGPU_INLINE T min_nan(T a, T b) {
  return is_nan(a) || is_nan(b) ? canonical_nan<T>() : min_number<T>(a, b);
}
template <class T>
SIMGPU_INLINE T max_nan(T a, T b) {
  return is_nan(a) || is_nan(b) ? canonical_nan<T>() : max_number<T>(a, b);
}

template <class T>
SIMGPU_INLINE T neg_float(T a) {
  return -a;
}
template <class T>
SIMGPU_INLINE T abs_float(T a);
template <>
SIMGPU_INLINE f32 abs_float<f32>(f32 a) {
  return __builtin_fabsf(a);
}
template <>
SIMGPU_INLINE f64 abs_float<f64>(f64 a) {
  return __builtin_fabs(a);
}
// PTX: the sign of the first operand, the magnitude of the second.
template <class T>
SIMGPU_INLINE T copysign(T sign, T magnitude);
template <>
SIMGPU_INLINE f32 copysign<f32>(f32 s, f32 m) {
  return __builtin_copysignf(m, s);
}
template <>
SIMGPU_INLINE f64 copysign<f64>(f64 s, f64 m) {
  return __builtin_copysign(m, s);
}

// Directed rounding, exact: `sum + error` is the true value, |error| at most half an ulp of `sum`. Without branches:
// expf has one per element. Floats are stepped in their order as integers, where -0 lies below +0; a value that rounds
// to zero keeps its sign, so the step from zero is the right one.
enum Direction { kTowardZero, kDown, kUp };
SIMGPU_INLINE s32 ordered_bits(s32 bits) {
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
template <Direction D>
SIMGPU_INLINE f32 round_directed(f64 sum, f64 error) {
  const f32 nearest = f32(sum);
  const f64 back = nearest;
  const s32 above = s32(back > sum) | (s32(back == sum) & s32(error < 0.0));
  const s32 below = s32(back < sum) | (s32(back == sum) & s32(error > 0.0));
  const s32 step = D == kDown ? -above : D == kUp ? below : (sum < 0.0 ? below : -above);
  return as<f32>(ordered_bits(ordered_bits(as<s32>(nearest)) + step));
}
template <Direction D>
SIMGPU_INLINE f32 fma_directed(f32 a, f32 b, f32 c) {
  const f64 product = f64(a) * f64(b);
  const f64 addend = c;
  const f64 sum = product + addend;
  const f64 part = sum - product;
  const f64 error = (product - (sum - part)) + (addend - part);
  const f32 rounded = round_directed<D>(sum, error);
  if (D != kDown) return rounded;
  // Exact cancellation gives -0 when rounding down.
  const u32 cancels = u32(sum == 0.0) & (u32(product != 0.0) | u32(negative(product) != negative(addend)));
  return as<f32>(as<u32>(rounded) | cancels << 31);
}
template <class T>
SIMGPU_INLINE T fma_rz(T a, T b, T c) {
  return fma_directed<kTowardZero>(a, b, c);
}
template <class T>
SIMGPU_INLINE T fma_rm(T a, T b, T c) {
  return fma_directed<kDown>(a, b, c);
}
template <class T>
SIMGPU_INLINE T fma_rp(T a, T b, T c) {
  return fma_directed<kUp>(a, b, c);
}
template <class T>
SIMGPU_INLINE T add_rz(T a, T b) {
  return fma_directed<kTowardZero>(a, 1.0f, b);
}
template <class T>
SIMGPU_INLINE T add_rm(T a, T b) {
  return fma_directed<kDown>(a, 1.0f, b);
}
template <class T>
SIMGPU_INLINE T add_rp(T a, T b) {
  return fma_directed<kUp>(a, 1.0f, b);
}
template <class T>
SIMGPU_INLINE T sub_rz(T a, T b) {
  return add_rz<T>(a, -b);
}
template <class T>
SIMGPU_INLINE T sub_rm(T a, T b) {
  return add_rm<T>(a, -b);
}
template <class T>
SIMGPU_INLINE T sub_rp(T a, T b) {
  return add_rp<T>(a, -b);
}
template <class T>
SIMGPU_INLINE T mul_rz(T a, T b) {
  return round_directed<kTowardZero>(f64(a) * f64(b), 0.0);
}
template <class T>
SIMGPU_INLINE T mul_rm(T a, T b) {
  return round_directed<kDown>(f64(a) * f64(b), 0.0);
}
template <class T>
SIMGPU_INLINE T mul_rp(T a, T b) {
  return round_directed<kUp>(f64(a) * f64(b), 0.0);
}

template <class T>
SIMGPU_INLINE T rcp(T a) {
  return T(1) / a;
}
template <class T>
SIMGPU_INLINE T sqrt_rn(T a);
template <>
SIMGPU_INLINE f32 sqrt_rn<f32>(f32 a) {
  return __builtin_sqrtf(a);
}
template <>
SIMGPU_INLINE f64 sqrt_rn<f64>(f64 a) {
  return __builtin_sqrt(a);
}
template <class T>
SIMGPU_INLINE T rsqrt(T a) {
  return T(1.0 / __builtin_sqrt(f64(a)));
}

// 2^f for |f| <= 1/2 by its Taylor series: relative error below 2^-27.
SIMGPU_INLINE f64 exp2_fraction(f64 f) {
  f64 r = 1.5252733804059841e-05;
  r = __builtin_fma(r, f, 1.5403530393381608e-04);
  r = __builtin_fma(r, f, 1.3333558146428443e-03);
  r = __builtin_fma(r, f, 9.6181291076284769e-03);
  r = __builtin_fma(r, f, 5.5504108664821580e-02);
  r = __builtin_fma(r, f, 2.4022650695910072e-01);
  r = __builtin_fma(r, f, 6.9314718055994531e-01);
  return __builtin_fma(r, f, 1.0);
}
SIMGPU_INLINE f64 exp2_wide(f64 x) {
  const f64 bounded = x > 1000.0 ? 1000.0 : x < -1000.0 ? -1000.0 : x;
  const f64 whole = __builtin_rint(bounded);
  return exp2_fraction(bounded - whole) * as<f64>(u64(s32(whole) + 1023) << 52);
}

// The same in single precision, for ex2.approx is in every exponential: within 2 ulp, as the hardware's, and exact at
// integers. The power of two is applied in two steps, since its halves are normal numbers down to the smallest denormal
// result.
SIMGPU_INLINE f32 power_of_two(s32 exponent) {
  return as<f32>(u32(exponent + 127) << 23);
}
SIMGPU_INLINE f32 exp2_single(f32 x) {
  const f32 bounded = x > 129.0f ? 129.0f : x < -151.0f ? -151.0f : x;
  const f32 whole = __builtin_rintf(bounded);
  const f32 f = bounded - whole;
  f32 r = 1.5252733804059841e-05f;
  r = __builtin_fmaf(r, f, 1.5403530393381608e-04f);
  r = __builtin_fmaf(r, f, 1.3333558146428443e-03f);
  r = __builtin_fmaf(r, f, 9.6181291076284769e-03f);
  r = __builtin_fmaf(r, f, 5.5504108664821580e-02f);
  r = __builtin_fmaf(r, f, 2.4022650695910072e-01f);
  r = __builtin_fmaf(r, f, 6.9314718055994531e-01f);
  r = __builtin_fmaf(r, f, 1.0f);
  const s32 exponent = s32(whole);
  const s32 half = exponent >> 1;
  return r * power_of_two(half) * power_of_two(exponent - half);
}
template <class T>
SIMGPU_INLINE T ex2(T a) {
  return is_nan(a) ? canonical_nan<T>() : exp2_single(a);
}

// log2(m) for m in [sqrt(1/2), sqrt(2)) by the series of atanh((m-1)/(m+1)).
SIMGPU_INLINE f64 log2_mantissa(f64 m) {
  const f64 t = (m - 1.0) / (m + 1.0);
  const f64 u = t * t;
  f64 r = 1.0 / 17.0;
  r = __builtin_fma(r, u, 1.0 / 15.0);
  r = __builtin_fma(r, u, 1.0 / 13.0);
  r = __builtin_fma(r, u, 1.0 / 11.0);
  r = __builtin_fma(r, u, 1.0 / 9.0);
  r = __builtin_fma(r, u, 1.0 / 7.0);
  r = __builtin_fma(r, u, 1.0 / 5.0);
  r = __builtin_fma(r, u, 1.0 / 3.0);
  r = __builtin_fma(r, u, 1.0);
  return 2.8853900817779268 * t * r;
}
SIMGPU_INLINE f64 log2_positive(f64 x) {
  const u64 bits = as<u64>(x);
  const u64 shifted = bits - 0x3fe6a09e667f3bcdUL;
  const s64 exponent = s64(shifted) >> 52;
  return f64(s32(exponent)) + log2_mantissa(as<f64>(bits - (u64(exponent) << 52)));
}
// Floats, denormal ones too, are normal doubles.
template <class T>
SIMGPU_INLINE T lg2(T a) {
  if (is_nan(a) || a < T(0)) return canonical_nan<T>();
  if (a == T(0)) return -__builtin_inff();
  return a > 3.4028234663852886e+38f ? a : T(log2_positive(a));
}

// Both by reduction to |r| <= pi/4 in double and Taylor series; exact to the float's ulp for |x| up to some 2^30.
SIMGPU_INLINE f64 sine_kernel(f64 r) {
  const f64 u = r * r;
  f64 p = 1.6059043836821613e-10;
  p = __builtin_fma(p, u, -2.5052108385441720e-08);
  p = __builtin_fma(p, u, 2.7557319223985893e-06);
  p = __builtin_fma(p, u, -1.9841269841269841e-04);
  p = __builtin_fma(p, u, 8.3333333333333333e-03);
  p = __builtin_fma(p, u, -1.6666666666666666e-01);
  return r + r * u * p;
}
SIMGPU_INLINE f64 cosine_kernel(f64 r) {
  const f64 u = r * r;
  f64 p = 2.0876756987868099e-09;
  p = __builtin_fma(p, u, -2.7557319223985888e-07);
  p = __builtin_fma(p, u, 2.4801587301587302e-05);
  p = __builtin_fma(p, u, -1.3888888888888889e-03);
  p = __builtin_fma(p, u, 4.1666666666666664e-02);
  p = __builtin_fma(p, u, -0.5);
  return 1.0 + u * p;
}
SIMGPU_INLINE f32 sine_quarter(f32 x, s64 shift) {
  if (!(__builtin_fabsf(x) < 1.0e9f))
    return __builtin_fabsf(x) <= 3.4028234663852886e+38f ? 0.0f : canonical_nan<f32>();
  const f64 quarter = __builtin_rint(f64(x) * 0.63661977236758134);
  const f64 r = (f64(x) - quarter * 1.5707963267948966) - quarter * 6.123233995736766e-17;
  const s64 q = s64(quarter) + shift;
  const f64 value = q & 1 ? cosine_kernel(r) : sine_kernel(r);
  return f32(q & 2 ? -value : value);
}
template <class T>
SIMGPU_INLINE T sin(T a) {
  return a == T(0) ? a : sine_quarter(a, 0);
}
template <class T>
SIMGPU_INLINE T cos(T a) {
  return sine_quarter(a, 1);
}

template <class T>
SIMGPU_INLINE T tanh(T a) {
  if (is_nan(a)) return canonical_nan<T>();
  const f64 x = a;
  const f64 u = x * x;
  if (u < 0.01) return T(x * (1.0 + u * (-1.0 / 3.0 + u * (2.0 / 15.0 + u * (-17.0 / 315.0)))));
  const f64 e = exp2_wide(x * 2.8853900817779268);
  return T(1.0 - 2.0 / (e + 1.0));
}

}  // namespace simgpu_device
