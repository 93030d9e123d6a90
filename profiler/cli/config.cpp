#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "profiler/cli/arguments.h"
#include "profiler/cli/config_pages.h"
#include "profiler/cli/settings.h"
#include "profiler/cli/verbs.h"

namespace tensorpager::cli {
namespace {

/// What holds, as text: what the default is where nothing is set.
std::string current_value(const Settings& settings, std::size_t option) {
  const Settings::Origin& origin = settings.origins[option];
  if (static_cast<OptionId>(option) == OptionId::policy) return std::string(settings.effective_policy());
  return origin.text;
}

std::string or_dash(std::string_view text) {
  return text.empty() ? "-" : std::string(text);
}

void show_table(const Settings& settings) {
  std::size_t value_width = 5, origin_width = 6;
  for (std::size_t i = 0; i < kOptions.size(); ++i) {
    value_width = std::max(value_width, current_value(settings, i).size());
    origin_width = std::max(origin_width, settings.origins[i].where.size());
  }
  const auto row = [&](std::string_view key, std::string_view value, std::string_view origin, std::string_view fallback,
                       std::string_view help) {
    fmt::print("{:<14}  {:<{}}  {:<{}}  {:<7}  {}\n", key, value, value_width, origin, origin_width, fallback, help);
  };
  row("setting", "value", "set by", "default", "meaning");
  for (std::size_t i = 0; i < kOptions.size(); ++i) {
    const Option& option = kOptions[i];
    row(option.key, or_dash(current_value(settings, i)), settings.origins[i].where, or_dash(option.fallback),
        option.help);
  }
  fmt::print("\ntensorpager run --budget 12GiB -- python train.py\n");
}

void show_json(const Settings& settings) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < kOptions.size(); ++i) {
    const Option& option = kOptions[i];
    rows.push_back({{"key", option.key},
                    {"variable", option_reading::variable_name(option)},
                    {"type", type_name(option.type)},
                    {"unit", option.unit},
                    {"range", option.range},
                    {"default", option.fallback},
                    {"value", current_value(settings, i)},
                    {"set_by", settings.origins[i].where},
                    {"help", option.help}});
  }
  const nlohmann::ordered_json page = {{"schema", "tensorpager.config/1"}, {"settings", rows}};
  fmt::print("{}\n", page.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

int config(const Words& words) {
  const auto request = parse_config(words);
  if (!request) return show(request.error());
  using Form = ConfigRequest::Form;
  if (request->form == Form::man || request->form == Form::markdown) {
    fmt::print("{}", request->form == Form::man ? man_page() : markdown_table());
    return 0;
  }
  const ReadSettings read = read_all_settings({});
  request->form == Form::json ? show_json(read.settings) : show_table(read.settings);
  return acceptable(read) ? 0 : kUsageError;
}

}  // namespace tensorpager::cli
