#pragma once

#include <cuda.h>

#include "interpose/entry_table.h"

namespace tensorpager {

/// A question to cuGetProcAddress.
struct Request {
  const char* name;
  int version;
  cuuint64_t flags;
};

/// Notes which rows the real functions belong to. Before the first substitute().
void index_real_functions(const RealFunctions& real) noexcept;

/// Our exported function for a function of the real driver, where that has a hook; else `real` itself. `real` may be
/// null.
void* substitute(void* real, const Request& request) noexcept;

}  // namespace tensorpager
