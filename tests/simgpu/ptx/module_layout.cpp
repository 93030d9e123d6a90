#include "tests/simgpu/ptx/module_layout.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

namespace simgpu::ptx {
namespace {

constexpr std::uint32_t kSharedAlignment = 16;

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  if (!std::has_single_bit(alignment)) throw SyntaxError{0, "an alignment is not a power of two"};
  return (value + alignment - 1) & ~(alignment - 1);
}

bool lies_in_memory(const Variable& variable) {
  return !variable.external &&
         (variable.space == Variable::Space::global || variable.space == Variable::Space::constant);
}

std::uint32_t index_of(const std::vector<GlobalVariable>& globals, const std::string& name, int line) {
  for (std::uint32_t i = 0; i < globals.size(); ++i)
    if (globals[i].name == name) return i;
  throw SyntaxError{line, "an initialiser names the unknown variable " + name};
}

void fill_image(const Variable& variable, const std::vector<GlobalVariable>& globals, GlobalVariable& out) {
  const std::uint64_t width = bit_width(variable.type) / 8;
  if (variable.initializers.size() * width > out.bytes)
    throw SyntaxError{variable.line, "too many initialisers for " + variable.name};
  if (variable.initializers.empty()) return;
  out.image.resize(out.bytes);
  std::uint64_t offset = 0;
  for (const auto& value : variable.initializers) {
    if (value.symbol.empty()) {
      std::memcpy(out.image.data() + offset, &value.bits, width);
    } else {
      if (width != 8) throw SyntaxError{variable.line, "an address in the narrow variable " + variable.name};
      out.relocations.push_back({offset, index_of(globals, value.symbol, variable.line), value.bits});
    }
    offset += width;
  }
}

void collect_symbols(const Operand& operand, std::set<std::string, std::less<>>& names) {
  if (operand.kind == Operand::Kind::symbol) names.insert(operand.name);
  for (const Operand& element : operand.elements) collect_symbols(element, names);
}

std::set<std::string, std::less<>> symbols_of(const Kernel& kernel) {
  std::set<std::string, std::less<>> names;
  for (const auto& instruction : kernel.instructions)
    for (const auto& operand : instruction.operands) collect_symbols(operand, names);
  return names;
}

void place_parameters(const Kernel& kernel, KernelLayout& layout) {
  std::uint64_t end = 0;
  for (const Variable& parameter : kernel.parameters) {
    const auto offset = align_up(end, parameter.alignment);
    layout.places[parameter.name] = {Variable::Space::param, offset};
    layout.info.parameters.push_back(
        {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(parameter.bytes())});
    end = offset + parameter.bytes();
  }
  layout.info.parameter_bytes = static_cast<std::uint32_t>(end);
}

std::uint64_t place_at_end(const Variable& variable, std::uint64_t end, KernelLayout& layout) {
  const auto offset = align_up(end, variable.alignment);
  layout.places[variable.name] = {variable.space, offset};
  return offset + variable.bytes();
}

void place_memory(const std::vector<const Variable*>& variables, KernelLayout& layout) {
  std::uint64_t shared = 0;
  std::uint64_t local = 0;
  std::uint64_t dynamic_alignment = kSharedAlignment;
  for (const Variable* variable : variables) {
    if (variable->unsized) dynamic_alignment = std::max<std::uint64_t>(dynamic_alignment, variable->alignment);
    if (variable->unsized) continue;
    if (variable->space == Variable::Space::shared) shared = place_at_end(*variable, shared, layout);
    if (variable->space == Variable::Space::local) local = place_at_end(*variable, local, layout);
  }
  layout.info.static_shared_bytes = static_cast<std::uint32_t>(shared);
  layout.info.local_bytes = static_cast<std::uint32_t>(align_up(local, 16));
  layout.dynamic_shared_offset = static_cast<std::uint32_t>(align_up(shared, dynamic_alignment));
  for (const Variable* variable : variables)
    if (variable->unsized) layout.places[variable->name] = {Variable::Space::shared, layout.dynamic_shared_offset};
}

}  // namespace

std::vector<GlobalVariable> lay_out_globals(const ModuleSyntax& module) {
  std::vector<GlobalVariable> globals;
  for (const Variable& variable : module.variables) {
    if (!lies_in_memory(variable)) continue;
    globals.push_back({variable.name, variable.bytes(), variable.alignment, {}, {}});
  }
  std::size_t next = 0;
  for (const Variable& variable : module.variables)
    if (lies_in_memory(variable)) fill_image(variable, globals, globals[next++]);
  return globals;
}

const Place* KernelLayout::find(std::string_view name) const {
  const auto found = places.find(name);
  return found == places.end() ? nullptr : &found->second;
}

KernelLayout lay_out_kernel(const ModuleSyntax& module, const std::vector<GlobalVariable>& globals,
                            const Kernel& kernel) {
  KernelLayout layout;
  layout.info.name = kernel.name;
  layout.info.max_threads = kernel.max_threads;
  for (std::size_t i = 0; i < globals.size(); ++i) layout.places[globals[i].name] = {Variable::Space::global, i};
  place_parameters(kernel, layout);
  const auto used = symbols_of(kernel);
  std::vector<const Variable*> variables;
  for (const Variable& variable : module.variables)
    if (variable.space == Variable::Space::shared && used.contains(variable.name)) variables.push_back(&variable);
  for (const Variable& variable : kernel.variables)
    if (variable.space != Variable::Space::param) variables.push_back(&variable);
  place_memory(variables, layout);
  return layout;
}

}  // namespace simgpu::ptx
