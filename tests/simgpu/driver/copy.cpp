// Copies. When each returns is NVIDIA's "API synchronization behavior": copies to the device from pageable memory read
// the source at the call, copies to pageable memory end before the call returns, everything else asynchronous is late.

#include "tests/simgpu/device/copy.h"

#include <cuda.h>

#include <algorithm>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

enum class Returns { when_done, when_queued };

// Even the synchronous form of a copy on the device only queues.
bool waits(const Copy& copy, Returns returns) {
  if (copy.kind() == OpKind::copy_on_device) return false;
  return returns == Returns::when_done || copy.to.place == Place::pageable ||
         (copy.kind() == OpKind::copy_on_host && copy.pageable());
}

CUresult perform(Call& call, CUstream handle, const Copy& copy, Returns returns) {
  call.log("bytes", copy.shape.bytes());
  call.log_address("to", copy.to.address);
  call.log_address("from", copy.from.address);
  Stream* const stream = call.stream(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (copy.shape.bytes() == 0) return CUDA_SUCCESS;
  const OpRef op = call.device().submit_copy(*stream, copy);
  if (!waits(copy, returns)) return CUDA_SUCCESS;
  call.device().scheduler.wait(op);
  return call.outcome();
}

CopySide side(Call& call, std::uint64_t address) {
  return {call.device().place_of(address), address};
}

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

CUresult linear(Call& call, std::uint64_t to, std::uint64_t from, size_t bytes, CUstream stream, Returns returns) {
  return perform(call, stream, {side(call, to), side(call, from), {bytes}}, returns);
}

bool on_device(Call& call, std::uint64_t address) {
  return call.device().place_of(address) != Place::pageable;
}

// The direction in a copy's name promises that its device addresses are some.
CUresult directed(Entry entry, std::uint64_t to, std::uint64_t from, size_t bytes, CUstream stream, Returns returns,
                  std::initializer_list<std::uint64_t> device_addresses) {
  return api(entry, Needs::context, &ApiCosts::copy, [&](Call& call) {
    const bool right = std::all_of(device_addresses.begin(), device_addresses.end(),
                                   [&](std::uint64_t address) { return on_device(call, address); });
    if (bytes != 0 && (!right || to == 0 || from == 0)) return CUDA_ERROR_INVALID_VALUE;
    return linear(call, to, from, bytes, stream, returns);
  });
}

CUresult in(Entry entry, CUdeviceptr to, const void* from, size_t bytes) {
  return directed(entry, to, address_of(from), bytes, nullptr, Returns::when_done, {to});
}
CUresult out(Entry entry, void* to, CUdeviceptr from, size_t bytes) {
  return directed(entry, address_of(to), from, bytes, nullptr, Returns::when_done, {from});
}
CUresult across(Entry entry, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return directed(entry, to, from, bytes, nullptr, Returns::when_done, {to, from});
}
CUresult in_async(Entry entry, CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return directed(entry, to, address_of(from), bytes, stream, Returns::when_queued, {to});
}
CUresult out_async(Entry entry, void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return directed(entry, address_of(to), from, bytes, stream, Returns::when_queued, {from});
}
CUresult across_async(Entry entry, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return directed(entry, to, from, bytes, stream, Returns::when_queued, {to, from});
}
CUresult any(Entry entry, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return directed(entry, to, from, bytes, nullptr, Returns::when_done, {});
}
CUresult any_async(Entry entry, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return directed(entry, to, from, bytes, stream, Returns::when_queued, {});
}
CUresult peer(Entry entry, CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return directed(entry, to, from, bytes, nullptr, Returns::when_done, {to, from});
}
CUresult peer_async(Entry entry, CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                    CUstream stream) {
  return directed(entry, to, from, bytes, stream, Returns::when_queued, {to, from});
}

// One side of a 2D or 3D descriptor.
struct Corner {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  std::uint64_t x, y, z, pitch, height;
};

tl::expected<CopySide, CUresult> side(Call& call, const Corner& corner, const CopyShape& shape) {
  if (corner.type == CU_MEMORYTYPE_ARRAY) return tl::unexpected(CUDA_ERROR_NOT_SUPPORTED);
  const std::uint64_t base = corner.type == CU_MEMORYTYPE_HOST ? address_of(corner.host) : corner.device;
  const std::uint64_t pitch = corner.pitch ? corner.pitch : shape.width;
  const std::uint64_t height = corner.height ? corner.height : shape.height;
  const bool device = corner.type == CU_MEMORYTYPE_DEVICE;
  if (base == 0 || pitch < corner.x + shape.width || (device && !on_device(call, base))) {
    return tl::unexpected(CUDA_ERROR_INVALID_VALUE);
  }
  const std::uint64_t slice = pitch * height;
  return CopySide{call.device().place_of(base), base + corner.z * slice + corner.y * pitch + corner.x, pitch, slice};
}

CUresult shaped(Entry entry, const Corner& to, const Corner& from, const CopyShape& shape, CUstream stream,
                Returns returns) {
  return api(entry, Needs::context, &ApiCosts::copy, [&](Call& call) {
    const auto to_side = side(call, to, shape);
    const auto from_side = side(call, from, shape);
    if (!to_side || !from_side) return to_side ? from_side.error() : to_side.error();
    return perform(call, stream, {*to_side, *from_side, shape}, returns);
  });
}

CUresult flat(Entry entry, const CUDA_MEMCPY2D* copy, CUstream stream, Returns returns) {
  if (!copy) return api(entry, [](Call&) { return CUDA_ERROR_INVALID_VALUE; });
  const CUDA_MEMCPY2D& c = *copy;
  return shaped(entry, {c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, 0, c.dstPitch, 0},
                {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, 0, c.srcPitch, 0},
                {c.WidthInBytes, c.Height, 1}, stream, returns);
}

template <class Descriptor>
CUresult solid(Entry entry, const Descriptor* copy, CUstream stream, Returns returns) {
  if (!copy) return api(entry, [](Call&) { return CUDA_ERROR_INVALID_VALUE; });
  const Descriptor& c = *copy;
  return shaped(entry,
                {c.dstMemoryType, c.dstHost, c.dstDevice, c.dstXInBytes, c.dstY, c.dstZ, c.dstPitch, c.dstHeight},
                {c.srcMemoryType, c.srcHost, c.srcDevice, c.srcXInBytes, c.srcY, c.srcZ, c.srcPitch, c.srcHeight},
                {c.WidthInBytes, c.Height, c.Depth}, stream, returns);
}

}  // namespace

extern "C" {

SIMGPU_BOTH(cuMemcpyHtoD_v2, _ptds, in, (CUdeviceptr to, const void* from, size_t bytes), to, from, bytes)
SIMGPU_BOTH(cuMemcpyDtoH_v2, _ptds, out, (void* to, CUdeviceptr from, size_t bytes), to, from, bytes)
SIMGPU_BOTH(cuMemcpyDtoD_v2, _ptds, across, (CUdeviceptr to, CUdeviceptr from, size_t bytes), to, from, bytes)
SIMGPU_BOTH(cuMemcpy, _ptds, any, (CUdeviceptr to, CUdeviceptr from, size_t bytes), to, from, bytes)
SIMGPU_BOTH(cuMemcpyHtoDAsync_v2, _ptsz, in_async, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
            to, from, bytes, stream)
SIMGPU_BOTH(cuMemcpyDtoHAsync_v2, _ptsz, out_async, (void* to, CUdeviceptr from, size_t bytes, CUstream stream), to,
            from, bytes, stream)
SIMGPU_BOTH(cuMemcpyDtoDAsync_v2, _ptsz, across_async,
            (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), to, from, bytes, stream)
SIMGPU_BOTH(cuMemcpyAsync, _ptsz, any_async, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), to,
            from, bytes, stream)
SIMGPU_BOTH(cuMemcpyPeer, _ptds, peer, (CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, size_t bytes), to,
            tc, from, fc, bytes)
SIMGPU_BOTH(cuMemcpyPeerAsync, _ptsz, peer_async,
            (CUdeviceptr to, CUcontext tc, CUdeviceptr from, CUcontext fc, size_t bytes, CUstream stream), to, tc, from,
            fc, bytes, stream)
SIMGPU_BOTH(cuMemcpy2D_v2, _ptds, flat, (const CUDA_MEMCPY2D* copy), copy, nullptr, Returns::when_done)
SIMGPU_BOTH(cuMemcpy2DUnaligned_v2, _ptds, flat, (const CUDA_MEMCPY2D* copy), copy, nullptr, Returns::when_done)
SIMGPU_BOTH(cuMemcpy2DAsync_v2, _ptsz, flat, (const CUDA_MEMCPY2D* copy, CUstream stream), copy, stream,
            Returns::when_queued)
SIMGPU_BOTH(cuMemcpy3D_v2, _ptds, solid, (const CUDA_MEMCPY3D* copy), copy, nullptr, Returns::when_done)
SIMGPU_BOTH(cuMemcpy3DAsync_v2, _ptsz, solid, (const CUDA_MEMCPY3D* copy, CUstream stream), copy, stream,
            Returns::when_queued)
SIMGPU_BOTH(cuMemcpy3DPeer, _ptds, solid, (const CUDA_MEMCPY3D_PEER* copy), copy, nullptr, Returns::when_done)
SIMGPU_BOTH(cuMemcpy3DPeerAsync, _ptsz, solid, (const CUDA_MEMCPY3D_PEER* copy, CUstream stream), copy, stream,
            Returns::when_queued)

}  // extern "C"
}  // namespace simgpu
