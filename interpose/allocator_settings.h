#pragma once

#include "tensorpager/options.h"

namespace tensorpager {

/// Tells frameworks to allocate tensors one by one, where the settings say so and the user said nothing. Changes
/// `environ`, by no function that the program may have replaced (bash has its own setenv, which is not ready yet).
/// Once, at load.
void set_allocator_variables(const Settings& settings) noexcept;

/// The line about it, when the process turns out to use CUDA.
void report_allocator_settings(const Settings& settings) noexcept;

}  // namespace tensorpager
