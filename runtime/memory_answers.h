#pragma once

#include <cuda.h>

#include "runtime/pager.h"

namespace tensorpager {

/// Answers one pointer attribute for an address of the arena, resident or not, as the driver would for stream-ordered
/// memory. CUDA_ERROR_INVALID_VALUE for what such memory does not have.
CUresult answer_pointer_attribute(Pager& pager, void* data, CUpointer_attribute attribute,
                                  CUdeviceptr address) noexcept;

/// The same address range that cuMemGetAddressRange would tell.
CUresult answer_address_range(Pager& pager, CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) noexcept;

}  // namespace tensorpager
