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

// Directed rounding, exact: `sum + error` is the true value, |error| at most half an ulp of `sum`.
enum Direction { kTowardZero, kDown, kUp };
SIMGPU_INLINE f32 next_below(f32 x) {
  const s32 bits = as<s32>(x);
  if (x == 0.0f) return as<f32>(0x80000001U);
  return as<f32>(bits + (bits < 0 ? 1 : -1));
}
SIMGPU_INLINE f32 next_above(f32 x) {
  return -next_below(-x);
}
template <Direction D>
SIMGPU_INLINE f32 round_directed(f64 sum, f64 error) {
  const f32 nearest = f32(sum);
  const f64 back = nearest;
  const bool above = back > sum || (back == sum && error < 0.0);
  const bool below = back < sum || (back == sum && error > 0.0);
  const bool down = D == kDown || (D == kTowardZero && (sum > 0.0 || (sum == 0.0 && error > 0.0)));
  if (down) return above ? next_below(nearest) : nearest;
  return below ? next_above(nearest) : nearest;
}
template <Direction D>
SIMGPU_INLINE f32 fma_directed(f32 a, f32 b, f32 c) {
  const f64 product = f64(a) * f64(b);
  const f64 addend = c;
  const f64 sum = product + addend;
  const f64 part = sum - product;
  const f64 error = (product - (sum - part)) + (addend - part);
  // Exact cancellation gives -0 when rounding down.
  if (D == kDown && sum == 0.0 && (product != 0.0 || negative(product) != negative(addend))) return -0.0f;
  return round_directed<D>(sum, error == error ? error : 0.0);
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

// 2^f for |f| <= 1/2 by its Taylor series: relative error below 2^-27, so a float is within 0.6 ulp.
SIMGPU_INLINE f64 exp2_fraction(f64 f) {
  f64 r = 1.5252733804059841e-05;
  r = r * f + 1.5403530393381608e-04;
  r = r * f + 1.3333558146428443e-03;
  r = r * f + 9.6181291076284769e-03;
  r = r * f + 5.5504108664821580e-02;
  r = r * f + 2.4022650695910072e-01;
  r = r * f + 6.9314718055994531e-01;
  return r * f + 1.0;
}
SIMGPU_INLINE f64 scale_by_power(f64 x, s32 exponent) {
  return x * as<f64>(u64(exponent + 1023) << 52);
}
SIMGPU_INLINE f64 exp2_wide(f64 x) {
  const f64 bounded = x > 1000.0 ? 1000.0 : x < -1000.0 ? -1000.0 : x;
  const f64 whole = __builtin_rint(bounded);
  return scale_by_power(exp2_fraction(bounded - whole), s32(whole));
}
template <class T>
SIMGPU_INLINE T ex2(T a) {
  return is_nan(a) ? canonical_nan<T>() : T(exp2_wide(a));
}

// log2(m) for m in [sqrt(1/2), sqrt(2)) by the series of atanh((m-1)/(m+1)).
SIMGPU_INLINE f64 log2_mantissa(f64 m) {
  const f64 t = (m - 1.0) / (m + 1.0);
  const f64 u = t * t;
  f64 r = 1.0 / 17.0;
  r = r * u + 1.0 / 15.0;
  r = r * u + 1.0 / 13.0;
  r = r * u + 1.0 / 11.0;
  r = r * u + 1.0 / 9.0;
  r = r * u + 1.0 / 7.0;
  r = r * u + 1.0 / 5.0;
  r = r * u + 1.0 / 3.0;
  r = r * u + 1.0;
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
  p = p * u - 2.5052108385441720e-08;
  p = p * u + 2.7557319223985893e-06;
  p = p * u - 1.9841269841269841e-04;
  p = p * u + 8.3333333333333333e-03;
  p = p * u - 1.6666666666666666e-01;
  return r + r * u * p;
}
SIMGPU_INLINE f64 cosine_kernel(f64 r) {
  const f64 u = r * r;
  f64 p = 2.0876756987868099e-09;
  p = p * u - 2.7557319223985888e-07;
  p = p * u + 2.4801587301587302e-05;
  p = p * u - 1.3888888888888889e-03;
  p = p * u + 4.1666666666666664e-02;
  p = p * u - 0.5;
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
