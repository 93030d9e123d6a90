#pragma once

#include "tensorpager/options.h"

namespace tensorpager {

/// This process's settings, read from its environment now. Policies are those of policies/registry.h.
ReadSettings read_process_settings() noexcept;

/// Whether the settings ask for a policy that moves tensors.
bool policy_moves(const Settings& settings) noexcept;

/// Whether anything could be set at all: a TENSORPAGER_ variable, or the default file. Opens nothing.
bool anything_set() noexcept;

}  // namespace tensorpager
