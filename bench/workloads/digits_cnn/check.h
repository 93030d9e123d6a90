#pragma once

// Every CUDA call of the program goes through CHECK: a failure names the call and its place, and ends the program
// with 1.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

inline void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "digits_cnn: %s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorString(status),
               cudaGetErrorName(status));
  std::exit(1);
}

#define CHECK(call) check((call), #call, __FILE__, __LINE__)
#define CHECK_LAUNCH() check(cudaGetLastError(), "kernel launch", __FILE__, __LINE__)
