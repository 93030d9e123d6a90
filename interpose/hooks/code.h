#pragma once

#include "interpose/hook.h"

namespace tensorpager {

inline CUresult load_module_file(const Call& call, CUmodule*, const char*) {
  return on_code_load(call.forward);
}
inline CUresult load_module(const Call& call, CUmodule*, const void*) {
  return on_code_load(call.forward);
}
inline CUresult load_module_ex(const Call& call, CUmodule*, const void*, unsigned, CUjit_option*, void**) {
  return on_code_load(call.forward);
}
template <class Source>
CUresult load_library(const Call& call, CUlibrary*, Source, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                      unsigned) {
  return on_code_load(call.forward);
}
TENSORPAGER_HOOK(cuModuleLoad, load_module_file)
TENSORPAGER_HOOK(cuModuleLoadData, load_module)
TENSORPAGER_HOOK(cuModuleLoadFatBinary, load_module)
TENSORPAGER_HOOK(cuModuleLoadDataEx, load_module_ex)
TENSORPAGER_HOOK(cuLibraryLoadData, load_library<const void*>)
TENSORPAGER_HOOK(cuLibraryLoadFromFile, load_library<const char*>)

inline CUresult unload_module(const Call& call, CUmodule) {
  return on_code_unload(call.forward);
}
inline CUresult unload_library(const Call& call, CUlibrary) {
  return on_code_unload(call.forward);
}
TENSORPAGER_HOOK(cuModuleUnload, unload_module)
TENSORPAGER_HOOK(cuLibraryUnload, unload_library)

inline CUresult get_kernel(const Call& call, CUkernel* kernel, CUlibrary, const char*) {
  constexpr static unsigned kOne = 1;
  return on_kernels(kernel, &kOne, call.forward);
}
inline CUresult enumerate_kernels(const Call& call, CUkernel* kernels, unsigned count, CUlibrary) {
  return on_kernels(kernels, &count, call.forward);
}
TENSORPAGER_HOOK(cuLibraryGetKernel, get_kernel)
TENSORPAGER_HOOK(cuLibraryEnumerateKernels, enumerate_kernels)

}  // namespace tensorpager
