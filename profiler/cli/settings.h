#pragma once

#include <vector>

#include "tensorpager/options.h"

namespace tensorpager::cli {

/// All settings as a job started from here would have them.
ReadSettings read_all_settings(const std::vector<CommandLineSetting>& command_line);

/// Prints all problems. True when a job may start: an unknown variable is refused too.
bool acceptable(const ReadSettings& read);

}  // namespace tensorpager::cli
