#include "tests/simgpu/ptx/scalar_type.h"

#include <array>

namespace simgpu::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  std::uint32_t bits;
  TypeClass cls;
  std::string_view cpp;
};

constexpr auto kRows = std::to_array<TypeRow>({
#define SIMGPU_PTX_TYPE(name, bits, cls, cpp) {#name, bits, TypeClass::cls, cpp},
    SIMGPU_PTX_TYPES(SIMGPU_PTX_TYPE)
#undef SIMGPU_PTX_TYPE
});

const TypeRow& row(Type type) {
  return kRows[static_cast<std::size_t>(type)];
}

}  // namespace

std::optional<Type> parse_type(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<Type>(i);
  return std::nullopt;
}

std::uint32_t bit_width(Type type) {
  return row(type).bits;
}
TypeClass type_class(Type type) {
  return row(type).cls;
}
std::string_view cpp_name(Type type) {
  return row(type).cpp;
}
std::string_view ptx_name(Type type) {
  return row(type).name;
}

Type unsigned_of(std::uint32_t bits) {
  return bits == 8 ? Type::u8 : bits == 16 ? Type::u16 : bits == 32 ? Type::u32 : Type::u64;
}

Type signed_of(std::uint32_t bits) {
  return bits == 8 ? Type::s8 : bits == 16 ? Type::s16 : bits == 32 ? Type::s32 : Type::s64;
}

}  // namespace simgpu::ptx
