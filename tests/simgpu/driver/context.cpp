// Contexts: the primary one, contexts made by the program, the stack of each thread.

#include <cuda.h>

#include "tests/simgpu/driver/call.h"

namespace simgpu {
namespace {

CUcontext handle_of(Context* context) {
  return reinterpret_cast<CUcontext>(context);
}

Context* current(Call& call) {
  const auto& stack = call.thread().contexts;
  return stack.empty() ? nullptr : stack.back();
}

CUresult release_primary(const char* name, CUdevice device) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    Driver& driver = call.driver();
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (driver.primary_references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--driver.primary_references == 0 && driver.primary->active) driver.deactivate(*driver.primary);
    return CUDA_SUCCESS;
  });
}

CUresult reset_primary(const char* name, CUdevice device) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    Driver& driver = call.driver();
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (driver.primary && driver.primary->active) driver.deactivate(*driver.primary);
    return CUDA_SUCCESS;
  });
}

CUresult set_primary_flags(const char* name, CUdevice device, unsigned flags) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    call.driver().primary_flags = flags;
    if (call.driver().primary) call.driver().primary->flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult create(const char* name, CUcontext* out, unsigned flags, CUdevice device) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    auto context = std::make_shared<Context>();
    context->flags = flags;
    if (!call.device().activate(*context)) return CUDA_ERROR_OUT_OF_MEMORY;
    call.thread().contexts.push_back(context.get());
    *out = call.driver().contexts.add<CUcontext>(std::move(context));
    return CUDA_SUCCESS;
  });
}

// The object stays: other threads may still have it current, and must be told CONTEXT_IS_DESTROYED.
CUresult destroy(const char* name, CUcontext handle) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    const auto context = call.driver().contexts.find(handle);
    if (!context || !context->active || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
    call.driver().deactivate(*context);
    if (current(call) == context.get()) call.thread().contexts.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult push(const char* name, CUcontext handle) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    const auto context = call.driver().contexts.find(handle);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    call.thread().contexts.push_back(context.get());
    return CUDA_SUCCESS;
  });
}

CUresult pop(const char* name, CUcontext* out) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (call.thread().contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (out) *out = handle_of(current(call));
    call.thread().contexts.pop_back();
    return CUDA_SUCCESS;
  });
}

// NULL: the current one.
Context* named_or_current(Call& call, CUcontext handle) {
  return handle ? call.driver().contexts.find(handle).get() : current(call);
}

CUresult device_of(const char* name, CUdevice* device, CUcontext handle) {
  return api({name}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (!named_or_current(call, handle)) return CUDA_ERROR_INVALID_CONTEXT;
    *device = 0;
    return CUDA_SUCCESS;
  });
}

CUresult synchronize(const char* name, CUcontext handle) {
  return api({name}, Needs::driver, &ApiCosts::synchronize, [&](Call& call) {
    Context* const context = named_or_current(call, handle);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->active) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (context->error == CUDA_SUCCESS) call.device().synchronize(*context);
    return context->error;
  });
}

template <class Value>
CUresult answer(const char* name, Value* out, Value value) {
  return api({name}, [&](Call&) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = value;
    return CUDA_SUCCESS;
  });
}

size_t limit_value(CUlimit limit) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return 1024;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return 1 << 20;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return 8 << 20;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
      return 2;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return 2048;
    default:
      return 0;
  }
}

}  // namespace

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    const CUresult result = call.driver().activate_primary();
    if (result != CUDA_SUCCESS) return result;
    ++call.driver().primary_references;
    *out = handle_of(call.driver().primary.get());
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return release_primary(__func__, device);
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return release_primary(__func__, device);
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return reset_primary(__func__, device);
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return reset_primary(__func__, device);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return set_primary_flags(__func__, device, flags);
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  return set_primary_flags(__func__, device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *flags = call.driver().primary_flags;
    *active = call.driver().primary && call.driver().primary->active;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  return create(__func__, out, flags, device);
}
CUresult cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam* affinity, int count, unsigned flags, CUdevice device) {
  if (affinity || count != 0) {
    return api({__func__}, Needs::driver, &ApiCosts::call, [](Call&) { return CUDA_ERROR_NOT_SUPPORTED; });
  }
  return create(__func__, out, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* parameters, unsigned flags, CUdevice device) {
  if (parameters)
    return api({__func__}, Needs::driver, &ApiCosts::call, [](Call&) { return CUDA_ERROR_NOT_SUPPORTED; });
  return create(__func__, out, flags, device);
}
CUresult cuCtxDestroy(CUcontext context) {
  return destroy(__func__, context);
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  return destroy(__func__, context);
}
CUresult cuCtxPushCurrent(CUcontext context) {
  return push(__func__, context);
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return push(__func__, context);
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  return pop(__func__, context);
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return pop(__func__, context);
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    auto& stack = call.thread().contexts;
    const auto context = call.driver().contexts.find(handle);
    if (handle && !context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack.empty()) stack.pop_back();
    if (context) stack.push_back(context.get());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* out) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = handle_of(current(call));
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return device_of(__func__, device, nullptr);
}
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  return device_of(__func__, device, context);
}
CUresult cuCtxSynchronize() {
  return synchronize(__func__, nullptr);
}
CUresult cuCtxSynchronize_v2(CUcontext context) {
  return synchronize(__func__, context);
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    if (!named_or_current(call, context)) return CUDA_ERROR_INVALID_CONTEXT;
    *version = 3020;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  return api({__func__}, Needs::driver, &ApiCosts::call, [&](Call& call) {
    const Context* found = named_or_current(call, context);
    if (!found) return CUDA_ERROR_INVALID_CONTEXT;
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    *id = found->ordinal + 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetFlags(unsigned* flags) {
  return api({__func__}, [&](Call& call) {
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = call.context().flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return answer(__func__, value, limit_value(limit));
}
CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return answer(__func__, config, CU_FUNC_CACHE_PREFER_NONE);
}
CUresult cuCtxSetCacheConfig(CUfunc_cache) {
  return api({__func__}, [](Call&) { return CUDA_SUCCESS; });
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return api({__func__},
             [&](Call&) { return value <= limit_value(limit) ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT; });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return api({__func__}, [&](Call&) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
}  // namespace simgpu
