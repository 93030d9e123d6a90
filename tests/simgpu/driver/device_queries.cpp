// cuDevice*: one device, ordinal and handle 0.

#include <cuda.h>

#include <algorithm>
#include <cstring>

#include "tests/simgpu/driver/call.h"
#include "tests/simgpu/driver/device_attributes.h"

namespace simgpu {
namespace {

constexpr const char* kPciBusId = "0000:01:00.0";
constexpr CUuuid kUuid = {{'s', 'i', 'm', 'g', 'p', 'u', '-', 'd', 'e', 'v', 'i', 'c', 'e', '-', '0', '0'}};

template <class Body>
CUresult query(const char* name, CUdevice device, Body body) {
  return api({name}, Needs::driver, &ApiCosts::call,
             [&](Call& call) { return device == 0 ? body(call) : CUDA_ERROR_INVALID_DEVICE; });
}

CUresult copy_text(const char* text, char* out, int length) {
  if (!out || length < 1) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t bytes = std::min(std::strlen(text), static_cast<std::size_t>(length - 1));
  std::memcpy(out, text, bytes);
  out[bytes] = '\0';
  return CUDA_SUCCESS;
}

template <class Value>
CUresult give(Value* out, Value value) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = value;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return query(__func__, ordinal, [&](Call&) { return give(device, CUdevice{0}); });
}

CUresult cuDeviceGetCount(int* count) {
  return query(__func__, 0, [&](Call&) { return give(count, 1); });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return query(__func__, device, [&](Call& call) {
    return copy_text(std::string(call.device().profile.device_name).c_str(), name, length);
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return query(__func__, device, [&](Call&) { return give(uuid, kUuid); });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return query(__func__, device, [&](Call&) { return give(uuid, kUuid); });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return query(__func__, device, [&](Call& call) { return give(bytes, size_t{call.device().capacity.total()}); });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return query(__func__, device, [&](Call& call) {
    call.log("attribute", static_cast<int>(attribute));
    if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    return give(value, device_attribute(call.device().settings, attribute));
  });
}

CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return query(__func__, device, [&](Call&) { return copy_text(kPciBusId, id, length); });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  return query(__func__, 0, [&](Call&) {
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    return std::strcmp(id, kPciBusId) == 0 ? give(device, CUdevice{0}) : CUDA_ERROR_INVALID_DEVICE;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return query(__func__, device, [&](Call& call) {
    if (!major || !minor) return CUDA_ERROR_INVALID_VALUE;
    *major = call.device().settings.compute_major;
    *minor = call.device().settings.compute_minor;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return query(__func__, device, [&](Call&) { return peer == 0 ? give(can, 0) : CUDA_ERROR_INVALID_DEVICE; });
}

}  // extern "C"
}  // namespace simgpu
