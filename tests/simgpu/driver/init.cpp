// Initialisation, versions, error texts.

#include <cuda.h>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

struct ResultText {
  CUresult result;
  const char* name;
  const char* text;
};

constexpr ResultText kResults[] = {
#define SIMGPU_RESULT(name, text) {name, #name, text},
#include "tests/simgpu/driver/results.def"
#undef SIMGPU_RESULT
};

CUresult describe(CUresult result, const char** out, const char* ResultText::*field) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  for (const ResultText& entry : kResults) {
    if (entry.result == result) *out = entry.*field;
  }
  return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned flags) {
  return api({__func__}, Needs::nothing, &ApiCosts::call, [&](Call& call) {
    call.log("flags", flags);
    return flags == 0 ? call.driver().initialize() : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDriverGetVersion(int* version) {
  return api({__func__}, Needs::nothing, &ApiCosts::call, [&](Call&) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
  });
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  return api({__func__}, Needs::nothing, &ApiCosts::none,
             [&](Call&) { return describe(error, text, &ResultText::name); });
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  return api({__func__}, Needs::nothing, &ApiCosts::none,
             [&](Call&) { return describe(error, text, &ResultText::text); });
}

// The private tables are NVIDIA's own; a stand-in that imitated them would lie to the runtime that checks its driver.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  return api({__func__}, Needs::nothing, &ApiCosts::call, [&](Call&) {
    if (table) *table = nullptr;
    return CUDA_ERROR_NOT_FOUND;
  });
}

CUresult cuProfilerStart() {
  return api({__func__}, Needs::driver, &ApiCosts::call, [](Call&) { return CUDA_SUCCESS; });
}

CUresult cuProfilerStop() {
  return api({__func__}, Needs::driver, &ApiCosts::call, [](Call&) { return CUDA_SUCCESS; });
}

}  // extern "C"
}  // namespace simgpu
