#pragma once

// The verbs. Each takes the words after its name and returns the exit code: 0, or 2 for wrong usage or settings; `run`
// returns the job's, 126 or 127 as a shell does. Results go to stdout, everything else to stderr, one line each.

#include <string>
#include <string_view>
#include <vector>

namespace tensorpager::cli {

inline constexpr int kUsageError = 2;

using Words = std::vector<std::string>;

int run(const Words& words);
int config(const Words& words);
int version(const Words& words);

/// Prints "tensorpager: TEXT\n" to stderr.
void complain(std::string_view text);

}  // namespace tensorpager::cli
