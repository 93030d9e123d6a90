#pragma once

// The fundamental types of PTX and what they are called in generated C++.

#include <cstdint>
#include <optional>
#include <string_view>

namespace simgpu::ptx {

// TYPE(name in PTX, bits, class, name in generated C++). Half floats are held as their bits.
#define SIMGPU_PTX_TYPES(TYPE)    \
  TYPE(pred, 1, pred, "bool")     \
  TYPE(b8, 8, bits, "u8")         \
  TYPE(b16, 16, bits, "u16")      \
  TYPE(b32, 32, bits, "u32")      \
  TYPE(b64, 64, bits, "u64")      \
  TYPE(u8, 8, unsigned_, "u8")    \
  TYPE(u16, 16, unsigned_, "u16") \
  TYPE(u32, 32, unsigned_, "u32") \
  TYPE(u64, 64, unsigned_, "u64") \
  TYPE(s8, 8, signed_, "s8")      \
  TYPE(s16, 16, signed_, "s16")   \
  TYPE(s32, 32, signed_, "s32")   \
  TYPE(s64, 64, signed_, "s64")   \
  TYPE(f16, 16, half, "u16")      \
  TYPE(bf16, 16, half, "u16")     \
  TYPE(f16x2, 32, bits, "u32")    \
  TYPE(f32, 32, float_, "f32")    \
  TYPE(f64, 64, float_, "f64")

enum class Type : std::uint8_t {
#define SIMGPU_PTX_TYPE(name, bits, cls, cpp) name,
  SIMGPU_PTX_TYPES(SIMGPU_PTX_TYPE)
#undef SIMGPU_PTX_TYPE
};

enum class TypeClass : std::uint8_t { pred, bits, unsigned_, signed_, half, float_ };

std::optional<Type> parse_type(std::string_view name);
std::uint32_t bit_width(Type type);
TypeClass type_class(Type type);
std::string_view cpp_name(Type type);
std::string_view ptx_name(Type type);

/// The unsigned or signed integer of that many bits.
Type unsigned_of(std::uint32_t bits);
Type signed_of(std::uint32_t bits);

inline bool is_float(Type type) {
  return type_class(type) == TypeClass::float_;
}
inline bool is_signed(Type type) {
  return type_class(type) == TypeClass::signed_;
}

}  // namespace simgpu::ptx
