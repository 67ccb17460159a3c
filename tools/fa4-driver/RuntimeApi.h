//===- RuntimeApi.h - what functions of the CUDA runtime share --*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_DRIVER_RUNTIMEAPI_H
#define FA4_TOOLS_FA4_DRIVER_RUNTIMEAPI_H

#include "DriverApi.h"

// With FA4_CUDART the runtime's own names, else those of CuTe-DSL.
#ifdef FA4_CUDART
#define FA4_NAME(name) name
#else
#define FA4_NAME(name) _##name
#endif

namespace fa4::driver {

struct Dim3 {
  unsigned x, y, z;
};

struct RuntimeLaunchConfig {
  Dim3 grid, block;
  size_t sharedBytes;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned attributeCount;
};

/// The runtime starts the driver by itself, with the primary context.
inline CUresult ensureContext() {
  if (CUresult error = cuInit(0))
    return error;
  CUcontext context = nullptr;
  if (CUresult error = cuCtxGetCurrent(&context); error || context)
    return error;
  CUresult error = cuDevicePrimaryCtxRetain(&context, 0);
  return error ? error : cuCtxSetCurrent(context);
}

#ifdef FA4_CUDART
/// Notes an error for cudaGetLastError; returns it.
CUresult noteError(CUresult error);
/// The kernel that a launch names: a handle, or the address of the function on
/// the host that nvcc has made for it.
CUfunction functionOf(const void *function);
#else
inline CUresult noteError(CUresult error) { return error; }
inline CUfunction functionOf(CUfunction function) { return function; }
#endif

} // namespace fa4::driver

/// A function of the runtime that is one of the driver, in the current context.
#define FA4_RUNTIME(name, params, result)                                      \
  FA4_API CUresult FA4_NAME(name) params {                                     \
    CUresult error = ensureContext();                                          \
    return noteError(error ? error : result);                                  \
  }

#endif // FA4_TOOLS_FA4_DRIVER_RUNTIMEAPI_H
