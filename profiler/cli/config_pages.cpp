#include "profiler/cli/config_pages.h"

#include <fmt/format.h>

namespace tensorpager::cli {
namespace {

/// What one may write: the words of a choice, else the type.
std::string values(const Option& option) {
  if (option.type != OptionType::choice) return std::string(type_name(option.type));
  std::string words(option.range);
  for (std::size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 2) words.replace(at, 1, ", ");
  return words;
}

std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '-' ? std::string("\\-") : c == '\\' ? std::string("\\e") : std::string(1, c);
  return out;
}

constexpr std::string_view kManStart = R"(.TH TENSORPAGER 1 "" "tensorpager" "User commands"
.SH NAME
tensorpager \- keep a CUDA job inside a device\-memory budget
.SH SYNOPSIS
.B tensorpager run
[\fIoptions\fR] [\-\-] \fICOMMAND\fR...
.br
.B tensorpager config
[\-\-json | \-\-man | \-\-markdown]
.br
.B tensorpager version
.SH DESCRIPTION
.B run
starts a command with the library preloaded. With a budget, the job's device memory stays below it: tensors that are not in use
wait in host memory. Its results are those of a run without the library.
.PP
Each setting is also the variable TENSORPAGER_\fISETTING\fR in upper case, and an entry \fIsetting\fR:\fIvalue\fR in
TENSORPAGER_CONF or in a file. The command line holds before the variable, then TENSORPAGER_CONF, the file, the default.
Sizes need a unit: GB is 10^9, GiB is 2^30.
.SH SETTINGS
)";
constexpr std::string_view kManEnd = R"(.SH FILES
.I /etc/tensorpager.conf
.SH EXIT STATUS
.B run
exits as the command does; 126 and 127 as a shell does; 2 where options or settings are wrong.
)";

}  // namespace

std::string_view type_name(OptionType type) {
  switch (type) {
    case OptionType::boolean:
      return "boolean";
    case OptionType::name:
      return "name";
    case OptionType::size:
      return "size";
    case OptionType::amount:
      return "size or %";
    case OptionType::duration:
      return "duration";
    case OptionType::choice:
      return "choice";
    case OptionType::path:
      return "path";
    case OptionType::pattern:
      return "path pattern";
  }
  return "";
}

std::string markdown_table() {
  std::string out = "| setting | values | default | meaning |\n|---|---|---|---|\n";
  for (const Option& option : kOptions) {
    const std::string fallback = option.fallback.empty() ? "" : fmt::format("`{}`", option.fallback);
    out += fmt::format("| `{}` | {} | {} | {} |\n", option.key, values(option), fallback, option.help);
  }
  return out;
}

std::string man_page() {
  std::string out(kManStart);
  for (const Option& option : kOptions) {
    out += fmt::format(".TP\n.B {}\n({}{}{}) {}\n", roff(option.key), roff(values(option)),
                       option.fallback.empty() ? "" : "; default ", roff(option.fallback), roff(option.help));
  }
  return out + std::string(kManEnd);
}

}  // namespace tensorpager::cli
