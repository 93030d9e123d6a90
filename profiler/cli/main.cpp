#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "profiler/cli/verbs.h"
#include "tensorpager/option_values.h"

namespace tensorpager::cli {
namespace {

struct Verb {
  std::string_view name;
  int (*act)(const Words&);
  std::string_view help;
};

constexpr std::array kVerbs = {
    Verb{"run", run, "start a command under the library: run [options] [--] COMMAND..."},
    Verb{"config", config, "show every setting, its value and who set it"},
    Verb{"version", version, "show versions and where the library is"},
};
// Words that a command of the same name must not take.
constexpr std::array<std::string_view, 9> kLaterVerbs = {"summary", "report", "export", "whatif", "diff",
                                                         "top",     "ctl",    "doctor", "env"};

int help() {
  fmt::print("Keeps a CUDA job inside a device-memory budget.\n\n");
  for (const Verb& verb : kVerbs) fmt::print("  tensorpager {:<8} {}\n", verb.name, verb.help);
  fmt::print("\nA command without a verb is run.\n\ntensorpager run --budget 12GiB -- python train.py\n");
  return 0;
}

bool is_command(const std::string& word) {
  if (word.find('/') != std::string::npos) return ::access(word.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  const auto folders = option_values::split(path == nullptr ? "/usr/bin:/bin" : path, ':');
  return std::ranges::any_of(folders, [&](std::string_view folder) {
    return ::access((std::string(folder) + '/' + word).c_str(), X_OK) == 0;
  });
}

int unknown_verb(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) names.push_back(verb.name);
  const std::string meant = option_values::did_you_mean(word, names);
  complain(fmt::format("{} is neither a verb nor a command.{}  See: tensorpager --help", option_values::quoted(word),
                       meant));
  return kUsageError;
}

int dispatch(const Words& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") return help();
  if (words[0] == "--version") return version({});
  const auto verb = std::ranges::find(kVerbs, words[0], &Verb::name);
  if (verb != kVerbs.end()) return verb->act({words.begin() + 1, words.end()});
  if (std::ranges::find(kLaterVerbs, words[0]) != kLaterVerbs.end()) {
    complain(
        fmt::format("this version has no verb {0}. To run a command of that name: tensorpager run -- {0}", words[0]));
    return kUsageError;
  }
  return words[0].starts_with('-') || is_command(words[0]) ? run(words) : unknown_verb(words[0]);
}

}  // namespace

void complain(std::string_view text) {
  fmt::print(stderr, "tensorpager: {}\n", text);
}

}  // namespace tensorpager::cli

int main(int argc, char** argv) {
  constexpr int kInternalError = 70;
  try {
    return tensorpager::cli::dispatch({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tensorpager: internal error: %s\n", error.what());
    return kInternalError;
  }
}
