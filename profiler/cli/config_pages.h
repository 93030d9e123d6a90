#pragma once

#include <string>
#include <string_view>

#include "tensorpager/options.h"

namespace tensorpager::cli {

std::string_view type_name(OptionType type);

/// The settings as the README has them.
std::string markdown_table();

/// tensorpager(1).
std::string man_page();

}  // namespace tensorpager::cli
