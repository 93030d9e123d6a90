#pragma once

#include <cuda.h>

#include <cstdint>
#include <span>

#include "runtime/hooks.h"
#include "runtime/stream_table.h"

namespace tensorpager {

/// One thing that the job asked of the device, as every hook describes it to the engine.
struct Op {
  OpKind kind;
  StreamId stream;
  std::uint64_t index;                    ///< in its stream
  std::span<const CUdeviceptr> operands;  ///< words that may be device addresses; those outside the arena are ignored
  const char* name = "";                  ///< the kernel's, for messages
  bool all_tensors = false;               ///< operands unknown: unknown means resident
  bool keeps_addresses = false;           ///< hardware or a graph may use them later on its own
  bool capturing = false;  ///< becomes a graph node: nothing runs now, and the stream must not be touched
};

}  // namespace tensorpager
