#pragma once

#include <span>
#include <string_view>

namespace tensorpager {

/// A policy that can be chosen by name (setting `policy`).
struct PolicyInfo {
  std::string_view name;
  std::string_view help;
  bool moves;  ///< may evict, hence needs stream-ordered allocations of its own
};

/// All policies, in the order in which they are listed to the user.
std::span<const PolicyInfo> policies() noexcept;

/// The policy of that name, or nullptr.
const PolicyInfo* find_policy(std::string_view name) noexcept;

}  // namespace tensorpager
