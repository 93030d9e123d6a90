// Launches. Parameters are copied at the call. What a kernel costs is what it moved and executed, or what its native
// declares.

#include <cuda.h>

#include <cstring>
#include <optional>

#include "tests/simgpu/driver/code.h"
#include "tests/simgpu/driver/device_attributes.h"

namespace simgpu {
namespace {

using Parameters = std::vector<std::byte>;

CUresult result_of(LaunchFault::Kind kind) {
  switch (kind) {
    case LaunchFault::Kind::illegal_address:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case LaunchFault::Kind::misaligned_address:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case LaunchFault::Kind::trap:
      return CUDA_ERROR_LAUNCH_FAILED;
    case LaunchFault::Kind::timeout:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
  }
  return CUDA_ERROR_LAUNCH_FAILED;
}

std::optional<Parameters> from_extra(const KernelInfo& info, void** extra) {
  const void* buffer = nullptr;
  const std::size_t* bytes = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      bytes = static_cast<const std::size_t*>(extra[1]);
    else
      return std::nullopt;
  }
  const std::size_t needed = info.parameters.empty() ? 0 : info.parameters.back().offset + info.parameters.back().bytes;
  if (!buffer || !bytes || *bytes < needed) return std::nullopt;
  Parameters packed(info.parameter_bytes);
  std::memcpy(packed.data(), buffer, std::min(*bytes, packed.size()));
  return packed;
}

std::optional<Parameters> pack(const KernelInfo& info, void** parameters, void** extra) {
  if (parameters && extra) return std::nullopt;
  if (extra) return from_extra(info, extra);
  if (!parameters && !info.parameters.empty()) return std::nullopt;
  Parameters packed(info.parameter_bytes);
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    if (!parameters[i]) return std::nullopt;
    std::memcpy(packed.data() + info.parameters[i].offset, parameters[i], info.parameters[i].bytes);
  }
  return packed;
}

CUresult check(const FunctionObject& function, const LaunchShape& shape) {
  const auto [gx, gy, gz] = shape.grid;
  const auto [bx, by, bz] = shape.block;
  if (!gx || !gy || !gz || !bx || !by || !bz) return CUDA_ERROR_INVALID_VALUE;
  if (gx > 0x7fffffff || gy > 65535 || gz > 65535 || bx > 1024 || by > 1024 || bz > 64) return CUDA_ERROR_INVALID_VALUE;
  if (std::uint64_t{bx} * by * bz > function.kernel->info().max_threads) return CUDA_ERROR_INVALID_VALUE;
  if (shape.dynamic_shared_bytes > static_cast<std::uint32_t>(function.max_dynamic_shared))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

tl::expected<Cost, Fault> run(const Device& device, const FunctionObject& function, const LaunchShape& shape,
                              const Parameters& parameters) {
  const auto done = function.native ? function.native(shape, parameters) : function.kernel->run(shape, parameters);
  if (!done) {
    const LaunchFault& fault = done.error();
    return tl::unexpected(
        Fault{result_of(fault.kind), fmt::format("{} at {:#x}: {}", function.name, fault.address, fault.detail)});
  }
  const Nanoseconds moving = time_for(done->bytes, device.profile.memory_rate);
  const Nanoseconds executing = time_for(done->work, device.profile.instruction_rate);
  return Cost{device.profile.launch_latency, std::max(moving, executing)};
}

CUresult submit(Call& call, CUfunction handle, const LaunchShape& shape, CUstream stream_handle, void** parameters,
                void** extra) {
  const auto function = launchable(call.driver(), handle);
  call.log("kernel", function ? function->name : "invalid");
  call.log("grid", fmt::format("{},{},{}", shape.grid[0], shape.grid[1], shape.grid[2]));
  call.log("block", fmt::format("{},{},{}", shape.block[0], shape.block[1], shape.block[2]));
  call.log("shared", shape.dynamic_shared_bytes);
  Stream* const stream = call.stream(stream_handle);
  if (!function || !stream) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult checked = check(*function, shape); checked != CUDA_SUCCESS) return checked;
  auto packed = pack(function->kernel->info(), parameters, extra);
  if (!packed) return CUDA_ERROR_INVALID_VALUE;
  Device& device = call.device();
  device.scheduler.submit(*stream,
                          {OpKind::kernel, Engine::compute, [&device, function, shape, packed = std::move(*packed)] {
                             return run(device, *function, shape, packed);
                           }});
  return CUDA_SUCCESS;
}

CUresult launch(Entry entry, CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
  return api(entry, Needs::context, &ApiCosts::launch, [&](Call& call) {
    return submit(call, function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, parameters, extra);
  });
}

// Blocks run in index order: a kernel whose blocks wait for later ones runs into the executor's time limit and is
// reported.
CUresult launch_cooperative(Entry entry, CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream stream, void** parameters) {
  return launch(entry, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, nullptr);
}

bool plain_cluster(const CUlaunchAttributeValue& value) {
  return value.clusterDim.x <= 1 && value.clusterDim.y <= 1 && value.clusterDim.z <= 1;
}

// Attributes that change nothing where kernels run one after another are taken; the rest is refused.
CUresult check_attribute(const CUlaunchAttribute& attribute) {
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return plain_cluster(attribute.value) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult launch_ex(Entry entry, const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  return api(entry, Needs::context, &ApiCosts::launch, [&](Call& call) {
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    const CUlaunchConfig& c = *config;
    for (unsigned i = 0; i < c.numAttrs; ++i) {
      if (const CUresult checked = check_attribute(c.attrs[i]); checked != CUDA_SUCCESS) return checked;
    }
    const LaunchShape shape{
        {c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ}, c.sharedMemBytes};
    return submit(call, function, shape, c.hStream, parameters, extra);
  });
}

}  // namespace

extern "C" {

SIMGPU_BOTH(cuLaunchKernel, _ptsz, launch,
            (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
             unsigned shared, CUstream stream, void** parameters, void** extra),
            function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra)
SIMGPU_BOTH(cuLaunchKernelEx, _ptsz, launch_ex,
            (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra), config, function,
            parameters, extra)
SIMGPU_BOTH(cuLaunchCooperativeKernel, _ptsz, launch_cooperative,
            (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
             unsigned shared, CUstream stream, void** parameters),
            function, gx, gy, gz, bx, by, bz, shared, stream, parameters)

}  // extern "C"
}  // namespace simgpu
