#pragma once

// The settings of one process: read from where options.def says, by the launcher (strict) and by the preloaded library
// (lenient).
//
// Precedence: command line > TENSORPAGER_<KEY> > TENSORPAGER_CONF > file > default. CONF and the file hold "key:value"
// entries separated by commas; the file may also have one a line, and # comments. A later entry of one source wins,
// with a warning. Nothing here prints, throws, or keeps state. Environment and files are read during the call only.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorpager/option_values.h"

namespace tensorpager {

enum class OptionType { boolean, name, size, amount, duration, choice, path, pattern };

struct Option {
  std::string_view key;
  OptionType type;
  std::string_view unit;
  std::string_view range;
  std::string_view fallback;  ///< the default, as text
  std::string_view help;
};

inline constexpr std::array kOptions = {
#define TENSORPAGER_OPTION(key, type, unit, range, fallback, help) \
  Option{#key, OptionType::type, unit, range, fallback, help},
#include "tensorpager/options.def"
#undef TENSORPAGER_OPTION
};

enum class OptionId {
#define TENSORPAGER_OPTION(key, ...) key,
#include "tensorpager/options.def"
#undef TENSORPAGER_OPTION
};

enum class SetBy { fallback, file, conf, variable, command_line };

template <OptionType>
struct OptionValue {
  using Type = std::string;
};
template <>
struct OptionValue<OptionType::boolean> {
  using Type = bool;
};
template <>
struct OptionValue<OptionType::size> {
  using Type = std::uint64_t;
};
template <>
struct OptionValue<OptionType::amount> {
  using Type = std::optional<Amount>;
};
template <>
struct OptionValue<OptionType::duration> {
  using Type = std::chrono::nanoseconds;
};

struct Settings {
#define TENSORPAGER_OPTION(key, type, ...) OptionValue<OptionType::type>::Type key{};
#include "tensorpager/options.def"
#undef TENSORPAGER_OPTION

  struct Origin {
    SetBy by = SetBy::fallback;
    std::string where;  ///< "TENSORPAGER_CONF", a file's name, ...
    std::string text;   ///< the value as written
  };
  std::array<Origin, kOptions.size()> origins;

  const Origin& origin(OptionId id) const {
    return origins[static_cast<std::size_t>(id)];
  }

  /// The policy that holds: as set, else what the budget implies.
  std::string_view effective_policy() const noexcept {
    return !policy.empty() ? std::string_view(policy) : budget ? "lru" : "observe";
  }
};

enum class ProblemKind {
  bad_value,         ///< a setting that exists, with a value that cannot hold: what was asked for is not known
  unknown_key,       ///< in CONF, a file or on the command line
  unknown_variable,  ///< TENSORPAGER_<something>
  duplicate,         ///< the later one holds
  unreadable_file,
};

struct Problem {
  ProblemKind kind;
  std::string message;  ///< one line without "tensorpager: ": what happened, why, what to type

  /// A process with such a problem must not be managed. The launcher refuses unknown variables too.
  bool is_error() const noexcept { return kind != ProblemKind::duplicate && kind != ProblemKind::unknown_variable; }
};

/// "key:value" from the command line, and how the user wrote it ("--budget 20").
struct CommandLineSetting {
  std::string key, value, written;
};

struct OptionSources {
  std::vector<CommandLineSetting> command_line;
  const char* const* environment = nullptr;            ///< as `environ`; may be null
  std::string default_file = "/etc/tensorpager.conf";  ///< not existing is no problem
  std::vector<std::string_view> policies;              ///< names that exist; empty: any name will do
};

struct ReadSettings {
  Settings settings;
  std::vector<Problem> problems;
  bool out_of_memory = false;  ///< while reading: nothing here counts

  bool usable() const noexcept {
    if (out_of_memory) return false;
    for (const Problem& problem : problems)
      if (problem.is_error()) return false;
    return true;
  }
};

namespace option_reading {

using option_values::Parsed;
using option_values::quoted;
using option_values::trim;
using option_values::Wrong;

inline constexpr std::string_view kPrefix = "TENSORPAGER_";
inline constexpr std::string_view kInternalPrefix = "TENSORPAGER_INTERNAL_";
// Variables that are no settings: the list of settings, and where the launcher finds the library.
inline constexpr std::array<std::string_view, 2> kOtherVariables = {"TENSORPAGER_CONF", "TENSORPAGER_LIB"};

inline std::optional<std::size_t> find_option(std::string_view key) noexcept {
  for (std::size_t i = 0; i < kOptions.size(); ++i)
    if (kOptions[i].key == key) return i;
  return std::nullopt;
}

inline std::string variable_name(const Option& option) {
  std::string name(kPrefix);
  for (char c : option.key) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
  return name;
}

inline std::vector<std::string_view> keys() {
  std::vector<std::string_view> out;
  for (const Option& option : kOptions) out.push_back(option.key);
  return out;
}

// Values, by type. `policies` matters to names only.

inline Parsed<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  return option_values::parse_quantity(text, option_values::kDuration).map([](std::uint64_t ns) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
  });
}

inline Parsed<void> check_bounds(std::uint64_t value, const Option& option, const option_values::Quantity& quantity) {
  const auto dots = option.range.find("..");
  const std::string_view low = option.range.substr(0, dots), high = option.range.substr(dots + 2);
  const bool below = value < option_values::parse_quantity(low, quantity).value_or(0);
  const bool above = !high.empty() && value > option_values::parse_quantity(high, quantity).value_or(0);
  if (!below && !above) return {};
  return Wrong("is out of range. The least is " + std::string(low) + (high.empty() ? "" : ", the most is ") +
               std::string(high) + ".");
}

template <class Value>
Parsed<Value> within(Parsed<Value> value, std::uint64_t number, const Option& option,
                     const option_values::Quantity& quantity) {
  if (!value) return value;
  const auto bounds = check_bounds(number, option, quantity);
  if (!bounds) return Wrong(bounds.error());
  return value;
}

template <OptionType type>
auto parse_value(std::string_view text, const Option& option, const std::vector<std::string_view>& policies)
    -> Parsed<typename OptionValue<type>::Type> {
  using namespace option_values;
  if constexpr (type == OptionType::boolean) {
    return parse_boolean(text);
  } else if constexpr (type == OptionType::size) {
    const auto size = parse_quantity(text, kSize);
    return within(size, size.value_or(0), option, kSize);
  } else if constexpr (type == OptionType::amount) {
    const auto amount = parse_amount(text);
    if (amount && amount->percent > 0) return std::optional(*amount);
    return within(amount.map([](Amount a) { return std::optional(a); }), amount ? amount->bytes : 0, option, kAmount);
  } else if constexpr (type == OptionType::duration) {
    const auto duration = parse_duration(text);
    return within(duration, static_cast<std::uint64_t>(duration ? duration->count() : 0), option, kDuration);
  } else if constexpr (type == OptionType::choice) {
    return parse_word(text, split(option.range, '|'));
  } else if constexpr (type == OptionType::name) {
    return policies.empty() ? Parsed<std::string>(std::string(text)) : parse_word(text, policies);
  } else if constexpr (type == OptionType::pattern) {
    return parse_pattern(text);
  } else {
    return std::string(text);
  }
}

inline std::string_view example(OptionType type) noexcept {
  switch (type) {
    case OptionType::boolean:
      return "1 or 0";
    case OptionType::size:
      return "16MiB";
    case OptionType::amount:
      return "20GiB (or 80%)";
    case OptionType::duration:
      return "10s";
    default:
      return "a value";
  }
}

inline Parsed<void> assign(Settings& settings, std::size_t index, std::string_view text,
                           const std::vector<std::string_view>& policies) {
  if (text.empty())
    return Wrong("is empty. Write " + std::string(example(kOptions[index].type)) + ", or leave it out.");
  switch (static_cast<OptionId>(index)) {
#define TENSORPAGER_OPTION(key, type, ...)                                       \
  case OptionId::key: {                                                          \
    auto value = parse_value<OptionType::type>(text, kOptions[index], policies); \
    if (!value) return Wrong(value.error());                                     \
    settings.key = std::move(*value);                                            \
    return {};                                                                   \
  }
#include "tensorpager/options.def"
#undef TENSORPAGER_OPTION
  }
  return Wrong("is no setting.");
}

/// One "key:value" before it is understood.
struct Entry {
  std::string_view key, value;
  SetBy by;
  std::string where;    ///< the source alone: what `set by` shows
  std::string written;  ///< "budget:20", "TENSORPAGER_BUDGET=20", "--budget 20"
  std::string place;    ///< " in TENSORPAGER_CONF (position 12)"; empty where `written` says it
};

class Reader {
 public:
  Reader(ReadSettings& out, const std::vector<std::string_view>& policies) : out_(out), policies_(policies) {}

  void take(const Entry& entry) {
    const auto index = find_option(entry.key);
    if (!index) return unknown(entry);
    if (entry.by == SetBy::file && static_cast<OptionId>(*index) == OptionId::conf_file)
      return note(Wrong("cannot stand in a file. Set TENSORPAGER_CONF_FILE."), entry);
    Settings::Origin& origin = out_.settings.origins[*index];
    if (origin.by == entry.by && entry.by != SetBy::fallback) duplicate(entry);
    if (origin.by > entry.by) {
      // Overruled, but a value that cannot hold is still worth a line.
      Settings unused;
      return note(assign(unused, *index, entry.value, policies_), entry);
    }
    origin = {entry.by, entry.where, std::string(entry.value)};
    note(assign(out_.settings, *index, entry.value, policies_), entry);
  }

  /// `text` is a comma-separated list; `first` is its position in the source, counted from 1; `line` is 0 in a
  /// variable.
  void take_list(std::string_view text, SetBy by, const std::string& where, std::size_t line = 0) {
    if (trim(text).empty()) return;
    std::size_t position = 1;
    for (std::string_view part : option_values::split(text, ',')) {
      const std::string_view entry = trim(part);
      const std::size_t blanks = entry.empty() ? 0 : static_cast<std::size_t>(entry.data() - part.data());
      take_entry(entry, by, where, place(where, line, position + blanks));
      position += part.size() + 1;
    }
  }

  void problem(ProblemKind kind, std::string message) { out_.problems.push_back({kind, std::move(message)}); }

 private:
  static std::string place(const std::string& where, std::size_t line, std::size_t position) {
    if (line > 0) return " in " + where + " (line " + std::to_string(line) + ")";
    return " in " + where + " (position " + std::to_string(position) + ")";
  }

  void take_entry(std::string_view entry, SetBy by, const std::string& where, const std::string& place) {
    const auto colon = entry.find(':');
    if (colon == std::string_view::npos) {
      return problem(ProblemKind::bad_value,
                     quoted(entry) + place + " is no setting. Write key:value, as in budget:20GiB.");
    }
    const std::string_view key = trim(entry.substr(0, colon)), value = trim(entry.substr(colon + 1));
    take({key, value, by, where, std::string(key) + ':' + std::string(value), place});
  }

  void note(const Parsed<void>& result, const Entry& entry) {
    if (!result) problem(ProblemKind::bad_value, entry.written + entry.place + ' ' + result.error());
  }

  void duplicate(const Entry& entry) {
    problem(ProblemKind::duplicate,
            std::string(entry.key) + " is set twice" + entry.place + ". The later one holds: " + entry.written + ".");
  }

  void unknown(const Entry& entry) {
    problem(ProblemKind::unknown_key, "unknown setting " + quoted(entry.key) + entry.place + "." +
                                          option_values::did_you_mean(entry.key, keys()) + "  See: tensorpager config");
  }

  ReadSettings& out_;
  const std::vector<std::string_view>& policies_;
};

inline std::string_view variable(const char* const* environment, std::string_view name) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
      return entry.substr(name.size() + 1);
  }
  return {};
}

inline void unknown_variable(Reader& reader, std::string_view name) {
  for (std::string_view other : kOtherVariables)
    if (name == other) return;
  std::vector<std::string> names(kOtherVariables.begin(), kOtherVariables.end());
  for (const Option& option : kOptions) names.push_back(variable_name(option));
  std::string_view best;
  std::size_t least = 3;
  for (const std::string& candidate : names) {
    const std::size_t distance = option_values::edit_distance(name, candidate);
    if (distance < least) best = candidate, least = distance;
  }
  reader.problem(ProblemKind::unknown_variable, "unknown variable " + std::string(name) + "." +
                                                    (best.empty() ? "" : " Did you mean " + std::string(best) + "?") +
                                                    "  See: tensorpager config");
}

inline void take_variables(Reader& reader, const char* const* environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kPrefix) || name.starts_with(kInternalPrefix) || name.size() == entry.size()) continue;
    const std::string key = option_values::lower(name.substr(kPrefix.size()));
    const auto index = find_option(key);
    if (!index || variable_name(kOptions[*index]) != name) {
      unknown_variable(reader, name);
      continue;
    }
    reader.take({key, trim(entry.substr(name.size() + 1)), SetBy::variable, std::string(name), std::string(entry), ""});
  }
}

/// The whole file; nullopt with errno when it cannot be read.
inline std::optional<std::string> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t got = 0;
  while ((got = ::read(file, buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EINTR))
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  const int error = errno;
  ::close(file);
  errno = error;
  return got < 0 ? std::nullopt : std::optional(text);
}

inline std::string_view without_comment(std::string_view line) noexcept {
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
  return line;
}

inline void take_file(Reader& reader, const std::string& path, bool must_exist) {
  const auto text = read_file(path);
  if (!text) {
    if (must_exist || errno != ENOENT)
      reader.problem(ProblemKind::unreadable_file,
                     path + " cannot be read: " + std::strerror(errno) + ". Correct conf_file, or leave it out.");
    return;
  }
  std::size_t number = 0;
  for (std::string_view line : option_values::split(*text, '\n')) {
    ++number;
    const std::string_view entries = trim(without_comment(line));
    // A trailing comma may stand at a line's end.
    reader.take_list(entries.ends_with(',') ? entries.substr(0, entries.size() - 1) : entries, SetBy::file, path,
                     number);
  }
}

inline void take_defaults(ReadSettings& out) {
  for (std::size_t i = 0; i < kOptions.size(); ++i) {
    out.settings.origins[i] = {SetBy::fallback, "default", std::string(kOptions[i].fallback)};
    if (!kOptions[i].fallback.empty()) (void)assign(out.settings, i, kOptions[i].fallback, {});
  }
}

inline ReadSettings read(const OptionSources& sources) {
  ReadSettings out;
  take_defaults(out);
  Reader reader(out, sources.policies);
  // The strongest first, since a weaker one never overrules what is set: the file's name must be known before the file
  // is read.
  for (const CommandLineSetting& setting : sources.command_line)
    reader.take({setting.key, trim(setting.value), SetBy::command_line, "command line", setting.written, ""});
  take_variables(reader, sources.environment);
  reader.take_list(variable(sources.environment, "TENSORPAGER_CONF"), SetBy::conf, "TENSORPAGER_CONF");
  const std::string named = out.settings.conf_file;
  if (!out.settings.disable) take_file(reader, named.empty() ? sources.default_file : named, !named.empty());
  return out;
}

}  // namespace option_reading

/// Reads all settings. Never throws.
inline ReadSettings read_settings(const OptionSources& sources) noexcept {
  try {
    return option_reading::read(sources);
  } catch (...) {
    ReadSettings failed;
    failed.out_of_memory = true;
    return failed;
  }
}

}  // namespace tensorpager
