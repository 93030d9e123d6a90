#pragma once

// cvt, and half floats, which registers hold as their bits. Compiled into every kernel behind float_math.h; includes
// nothing.

namespace simgpu_device {

SIMGPU_INLINE f32 half_to_float(u16 bits) {
  return f32(as<_Float16>(bits));
}
SIMGPU_INLINE u16 float_to_half(f32 value) {
  return as<u16>(_Float16(value));
}
SIMGPU_INLINE u16 double_to_half(f64 value) {
  return as<u16>(_Float16(value));
}

SIMGPU_INLINE f32 round_nearest(f32 x) {
  return __builtin_rintf(x);
}
SIMGPU_INLINE f64 round_nearest(f64 x) {
  return __builtin_rint(x);
}
SIMGPU_INLINE f32 round_zero(f32 x) {
  return __builtin_truncf(x);
}
SIMGPU_INLINE f64 round_zero(f64 x) {
  return __builtin_trunc(x);
}
SIMGPU_INLINE f32 round_down(f32 x) {
  return __builtin_floorf(x);
}
SIMGPU_INLINE f64 round_down(f64 x) {
  return __builtin_floor(x);
}
SIMGPU_INLINE f32 round_up(f32 x) {
  return __builtin_ceilf(x);
}
SIMGPU_INLINE f64 round_up(f64 x) {
  return __builtin_ceil(x);
}

// Of a whole number: NaN gives 0, what is out of range the nearest integer that is not. 2^(bits-1) and 2^bits are exact
// floats.
template <class To, class From>
SIMGPU_INLINE To whole_to_int(From x) {
  constexpr From limit = From(kSigned<To> ? To(1) << (kBits<To> - 2) : To(1) << (kBits<To> - 1)) * From(2);
  constexpr Unsigned<To> top = kSigned<To> ? Unsigned<To>(-1) >> 1 : Unsigned<To>(-1);
  if (is_nan(x)) return To(0);
  if (x >= limit) return To(top);
  if (x <= (kSigned<To> ? -limit : From(0))) return kSigned<To> ? To(top + 1) : To(0);
  return To(x);
}

// What lies outside the destination becomes its nearest value.
template <class To, class From>
SIMGPU_INLINE To saturate_int(From x) {
  constexpr Unsigned<To> top = kSigned<To> ? Unsigned<To>(-1) >> 1 : Unsigned<To>(-1);
  if (x > From(0) && Unsigned<From>(x) > top) return To(top);
  if (kSigned<From> && x < From(0) && (!kSigned<To> || s64(x) < -s64(top) - 1))
    return kSigned<To> ? To(top + 1) : To(0);
  return To(x);
}

template <class To, class From>
SIMGPU_INLINE To int_to_float(From x) {
  return To(x);
}
SIMGPU_INLINE f32 narrow_rn(f64 x) {
  return f32(x);
}
SIMGPU_INLINE f32 narrow_rz(f64 x) {
  return round_directed<kTowardZero>(x, 0.0);
}
SIMGPU_INLINE f32 narrow_rm(f64 x) {
  return round_directed<kDown>(x, 0.0);
}
SIMGPU_INLINE f32 narrow_rp(f64 x) {
  return round_directed<kUp>(x, 0.0);
}

SIMGPU_INLINE u16 add_half(u16 a, u16 b) {
  return float_to_half(half_to_float(a) + half_to_float(b));
}
SIMGPU_INLINE u16 sub_half(u16 a, u16 b) {
  return float_to_half(half_to_float(a) - half_to_float(b));
}
SIMGPU_INLINE u16 mul_half(u16 a, u16 b) {
  return float_to_half(half_to_float(a) * half_to_float(b));
}
// The double sum is made odd where it is inexact, so that the second rounding sees on which side the true value lies.
SIMGPU_INLINE u16 fma_half(u16 a, u16 b, u16 c) {
  const f64 product = f64(half_to_float(a)) * f64(half_to_float(b));
  const f64 addend = half_to_float(c);
  const f64 sum = product + addend;
  const f64 part = sum - product;
  const f64 error = (product - (sum - part)) + (addend - part);
  u64 bits = as<u64>(sum);
  if (error != 0.0 && error == error && (bits & 1) == 0) bits += (error > 0.0) == (sum > 0.0) ? 1 : -1;
  return double_to_half(as<f64>(bits));
}
template <u16 (*F)(u16, u16)>
SIMGPU_INLINE u32 halves(u32 a, u32 b) {
  return F(u16(a), u16(b)) | u32(F(u16(a >> 16), u16(b >> 16))) << 16;
}
template <class T>
SIMGPU_INLINE T add_f16(T a, T b) {
  return add_half(a, b);
}
template <class T>
SIMGPU_INLINE T sub_f16(T a, T b) {
  return sub_half(a, b);
}
template <class T>
SIMGPU_INLINE T mul_f16(T a, T b) {
  return mul_half(a, b);
}
template <class T>
SIMGPU_INLINE T fma_f16(T a, T b, T c) {
  return fma_half(a, b, c);
}
template <class T>
SIMGPU_INLINE T add_f16x2(T a, T b) {
  return halves<add_half>(a, b);
}
template <class T>
SIMGPU_INLINE T sub_f16x2(T a, T b) {
  return halves<sub_half>(a, b);
}
template <class T>
SIMGPU_INLINE T mul_f16x2(T a, T b) {
  return halves<mul_half>(a, b);
}
template <class T>
SIMGPU_INLINE T fma_f16x2(T a, T b, T c) {
  return fma_half(u16(a), u16(b), u16(c)) | u32(fma_half(u16(a >> 16), u16(b >> 16), u16(c >> 16))) << 16;
}

}  // namespace simgpu_device
