// The only file that includes CLI11, which takes seconds to compile.

#include "profiler/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace tensorpager::cli {
namespace {

Parsed<bool> parse(CLI::App& app, const Words& words) {
  try {
    app.parse(Words(words.rbegin(), words.rend()));  // CLI11 takes them from the back
    return true;
  } catch (const CLI::CallForHelp&) {
    return tl::unexpected(Usage{app.help(), true});
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(Usage{fmt::format("{}  See: {} --help", error.what(), app.get_name())});
  }
}

Usage unknown_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return {fmt::format("unknown option {}.{}  See: {} --help", word,
                      option_values::did_you_mean(word.substr(0, word.find('=')), candidates), app.get_name())};
}

/// "key:value" of --set.
Parsed<CommandLineSetting> split_setting(const std::string& word) {
  const auto colon = word.find(':');
  if (colon == std::string::npos)
    return tl::unexpected(
        Usage{fmt::format("--set {} is no setting. Write --set key:value, as in --set budget:20GiB.", word)});
  return CommandLineSetting{word.substr(0, colon), word.substr(colon + 1), "--set " + word};
}

struct Flag {
  const char* name;
  const char* key;
  const char* help;
};
constexpr Flag kSettingFlags[] = {
    {"--budget", "budget", "device memory for the job: 12GiB, or 80%"},
    {"--policy", "policy", "what decides which tensors move"},
    {"--host-budget", "host_budget", "page-locked host memory for evicted tensors"},
    {"--log", "log", "error, warn, info or debug"},
};

}  // namespace

Parsed<RunRequest> parse_run(const Words& words) {
  // What follows the first -- is the command's, whatever it looks like; CLI11 would read on.
  const auto dashes = std::find(words.begin(), words.end(), "--");
  CLI::App app("Starts COMMAND with the library preloaded; the exit code is the command's.", "tensorpager run");
  app.prefix_command();
  RunRequest request;
  std::vector<std::string> flag_values(std::size(kSettingFlags)), sets;
  for (std::size_t i = 0; i < std::size(kSettingFlags); ++i)
    app.add_option(kSettingFlags[i].name, flag_values[i], kSettingFlags[i].help);
  app.add_option("--set", sets, "any setting as key:value; may be repeated")->allow_extra_args(false);
  app.add_option("--device", request.device, "sim, or sim:PROFILE: run on the simulated device");
  app.add_flag("--dry-run", request.dry_run, "print what would be run");
  app.add_flag("-q,--quiet", request.quiet, "errors only, and no remark after the job");
  if (const auto parsed = parse(app, {words.begin(), dashes}); !parsed) return tl::unexpected(parsed.error());

  for (std::size_t i = 0; i < std::size(kSettingFlags); ++i) {
    const Flag& flag = kSettingFlags[i];
    if (app.count(flag.name) > 0)
      request.settings.push_back({flag.key, flag_values[i], fmt::format("{} {}", flag.name, flag_values[i])});
  }
  for (const std::string& set : sets) {
    const auto setting = split_setting(set);
    if (!setting) return tl::unexpected(setting.error());
    request.settings.push_back(*setting);
  }
  request.command = app.remaining();
  if (!request.command.empty() && request.command[0].starts_with('-'))
    return tl::unexpected(unknown_option(app, request.command[0]));
  const bool dashes_are_the_commands = !request.command.empty();
  if (dashes != words.end())
    request.command.insert(request.command.end(), dashes + (dashes_are_the_commands ? 0 : 1), words.end());
  if (request.command.empty())
    return tl::unexpected(Usage{"no command to run. Write: tensorpager run --budget 12GiB -- python train.py"});
  return request;
}

Parsed<ConfigRequest> parse_config(const Words& words) {
  CLI::App app("Shows every setting, its value in this environment and who set it.", "tensorpager config");
  bool json = false, man = false, markdown = false;
  CLI::Option* const as_json = app.add_flag("--json", json, "as JSON");
  CLI::Option* const as_man = app.add_flag("--man", man, "the man page")->excludes(as_json);
  app.add_flag("--markdown", markdown, "the table of the README")->excludes(as_json)->excludes(as_man);
  if (const auto parsed = parse(app, words); !parsed) return tl::unexpected(parsed.error());
  using Form = ConfigRequest::Form;
  return ConfigRequest{json ? Form::json : man ? Form::man : markdown ? Form::markdown : Form::table};
}

Parsed<bool> parse_nothing(const Words& words, const std::string& verb) {
  CLI::App app("Takes no options.", "tensorpager " + verb);
  return parse(app, words);
}

int show(const Usage& usage) {
  if (usage.asked_for) {
    fmt::print("{}", usage.text);
    return 0;
  }
  complain(usage.text);
  return kUsageError;
}

}  // namespace tensorpager::cli
