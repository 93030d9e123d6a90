#include "policies/registry.h"

#include <algorithm>
#include <array>

namespace tensorpager {
namespace {

constexpr std::array kPolicies{
    PolicyInfo{"observe", "watch only; with a budget, refuse what exceeds it", false},
    PolicyInfo{"lru", "demand paging: evict the least recently used tensors", true},
};

}  // namespace

std::span<const PolicyInfo> policies() noexcept {
  return kPolicies;
}

const PolicyInfo* find_policy(std::string_view name) noexcept {
  const auto found = std::ranges::find(kPolicies, name, &PolicyInfo::name);
  return found == kPolicies.end() ? nullptr : &*found;
}

}  // namespace tensorpager
