#pragma once

// In what state the process is, and when that changes. Sole owner of fork and exit handling.

#include <cuda.h>

#include "runtime/hooks.h"
#include "runtime/pager.h"
#include "runtime/pass_through.h"
#include "tensorpager/options.h"

namespace tensorpager {

enum class State {
  dormant,       ///< no driver has been opened
  pass_through,  ///< nothing is managed: disabled, a bad setting, a forked child, or a failure at the start
  observing,     ///< allocations are the driver's and are counted; a budget refuses
  paging,        ///< the pager manages stream-ordered memory
};

State state() noexcept;
const char* state_name(State state) noexcept;

/// From now on everything is forwarded; says why, once. Only before the pager holds memory, or in a forked child.
void fall_back(const char* why) noexcept;

const Settings& settings() noexcept;
PassThrough& passed_through() noexcept;

/// The pager, once the job has a context on a device; nullptr while it has none, and in every state but paging.
/// Attaches at the first call that finds a context.
Pager* pager() noexcept;

/// What is known of the device while observing; asked for once, when there is a context.
const DeviceFacts* observed_device() noexcept;

/// Of the pager or of observing, where either has begun; else nullptr. Valid as long as the process.
const DeviceFacts* known_device() noexcept;

/// The context that all this was about is gone, and with it all device state: the next one is looked at anew.
void forget_device() noexcept;

}  // namespace tensorpager
