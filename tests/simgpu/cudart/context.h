#pragma once

#include <driver_types.h>

#include "tests/simgpu/cudart/driver_table.h"
#include "tests/simgpu/cudart/error_state.h"

namespace simgpu::cudart {

/// The thread's device, by cudaSetDevice; 0 at first.
int current_device();
cudaError_t select_device(int device);

/// Makes sure that the calling thread has a current context: the one that the program made current through the driver,
/// else the primary context of its device, which is retained when a thread needs it first.
cudaError_t ensure_context();

/// Destroys the state of the primary context; the next call of any thread retains it anew.
cudaError_t reset_device();

/// A call that needs the driver but no context.
template <typename Body>
cudaError_t with_driver(Body body) {
  if (const cudaError_t error = load_driver(); error != cudaSuccess) return remember(error);
  return remember(body());
}

/// A call that needs a context. The body returns a cudaError_t.
template <typename Body>
cudaError_t with_context(Body body) {
  if (const cudaError_t error = ensure_context(); error != cudaSuccess) return remember(error);
  return remember(body());
}

/// A call that is one driver call.
template <typename Signature, typename... Arguments>
cudaError_t forward(const DriverFunction<Signature>& function, Arguments... arguments) {
  return with_context([&] { return from_driver(function(arguments...)); });
}

}  // namespace simgpu::cudart
