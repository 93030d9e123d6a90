#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "profiler/cli/verbs.h"
#include "tensorpager/options.h"

namespace tensorpager::cli {

struct RunRequest {
  std::vector<CommandLineSetting> settings;
  std::string device;  ///< empty: the machine's own
  bool dry_run = false;
  bool quiet = false;
  Words command;
};

struct ConfigRequest {
  enum class Form { table, json, man, markdown };
  Form form = Form::table;
};

/// What a wrong use is told, or the help that was asked for.
struct Usage {
  std::string text;
  bool asked_for = false;
};

template <class Request>
using Parsed = tl::expected<Request, Usage>;

Parsed<RunRequest> parse_run(const Words& words);
Parsed<ConfigRequest> parse_config(const Words& words);
Parsed<bool> parse_nothing(const Words& words, const std::string& verb);

/// Prints help or complaint; the exit code.
int show(const Usage& usage);

}  // namespace tensorpager::cli
