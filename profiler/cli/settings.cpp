#include "profiler/cli/settings.h"

#include <unistd.h>

#include <algorithm>

#include "policies/registry.h"
#include "profiler/cli/verbs.h"

namespace tensorpager::cli {

ReadSettings read_all_settings(const std::vector<CommandLineSetting>& command_line) {
  OptionSources sources;
  sources.command_line = command_line;
  sources.environment = environ;
  for (const PolicyInfo& policy : policies()) sources.policies.push_back(policy.name);
  return read_settings(sources);
}

bool acceptable(const ReadSettings& read) {
  for (const Problem& problem : read.problems) complain(problem.message);
  const auto harmless = [](const Problem& problem) { return problem.kind == ProblemKind::duplicate; };
  return !read.out_of_memory && std::ranges::all_of(read.problems, harmless);
}

}  // namespace tensorpager::cli
