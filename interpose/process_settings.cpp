#include "interpose/process_settings.h"

#include <unistd.h>

#include "policies/registry.h"

namespace tensorpager {
namespace {

OptionSources process_sources() {
  OptionSources sources;
  sources.environment = environ;
  for (const PolicyInfo& policy : policies()) sources.policies.push_back(policy.name);
  return sources;
}

}  // namespace

ReadSettings read_process_settings() noexcept {
  try {
    return read_settings(process_sources());
  } catch (...) {
    ReadSettings failed;
    failed.out_of_memory = true;
    return failed;
  }
}

bool policy_moves(const Settings& settings) noexcept {
  const PolicyInfo* const policy = find_policy(settings.effective_policy());
  return policy != nullptr && policy->moves;
}

bool anything_set() noexcept {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with(option_reading::kPrefix) && !variable.starts_with(option_reading::kInternalPrefix))
      return true;
  }
  return ::access("/etc/tensorpager.conf", F_OK) == 0;
}

}  // namespace tensorpager
