#pragma once

#include <array>

#include "interpose/rows.h"

namespace tensorpager {

/// The hook of each row; null where the row's class is `forwards`.
extern const std::array<void*, kRows.size()> kHooks;

}  // namespace tensorpager
