//===- Driver.h - the CUDA driver, found when it is needed -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of the driver API that the library calls, by dlopen: a program
// that links it starts on machines without a driver, too. Types and numbers are
// those of the driver API's reference manual; CUDA's headers are not needed.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_DRIVER_H
#define FA4_LIB_RUNTIME_DRIVER_H

#include "Error.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace fa4::runtime {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUgraph = struct CUgraph_st *;
using CUuserObject = struct CUuserObject_st *;

struct alignas(64) TensorMapBytes {
  uint64_t words[16];
};

struct LaunchAttribute {
  enum Id : int { ClusterDimension = 4, ProgrammaticStreamSerialization = 6 };
  int id;
  int pad;
  union {
    char bytes[64];
    unsigned clusterDim[3];
    int programmatic;
  };
};

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned dynamicShared;
  CUstream stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

enum : int {
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kNotSupported = 801,
  // CUdevice_attribute.
  kMaxThreads = 1,
  kMaxGridX = 5,
  kSmCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kPageableMemoryAccess = 88,
  kMaxDynamicShared = 97,
  // CUfunction_attribute.
  kMaxThreadsOfFunction = 0,
  kStaticShared = 1,
  kMaxDynamicSharedOfFunction = 8,
  kNonPortableClusters = 14,
  // CUpointer_attribute.
  kMemoryType = 2,
  kDeviceOrdinal = 9,
  // CUmemorytype.
  kDeviceMemory = 2,
};

/// CUDA_MEMCPY2D.
struct Memcpy2D {
  struct Side {
    size_t xInBytes, y;
    int memoryType;
    void *host;
    CUdeviceptr device;
    void *array;
    size_t pitch;
  };
  Side from, to;
  size_t widthInBytes, height;
};

/// The symbol in the library, our name for it, result and parameters.
#define FA4_RUNTIME_DRIVER_CALLS(CALL)                                         \
  CALL(cuInit, init, (unsigned))                                               \
  CALL(cuGetErrorName, getErrorName, (CUresult, const char **))                \
  CALL(cuGetErrorString, getErrorString, (CUresult, const char **))            \
  CALL(cuDeviceGetCount, deviceGetCount, (int *))                              \
  CALL(cuDeviceGet, deviceGet, (CUdevice *, int))                              \
  CALL(cuDeviceGetName, deviceGetName, (char *, int, CUdevice))                \
  CALL(cuDeviceGetAttribute, deviceGetAttribute, (int *, int, CUdevice))       \
  CALL(cuDevicePrimaryCtxRetain, primaryRetain, (CUcontext *, CUdevice))       \
  CALL(cuDevicePrimaryCtxRelease_v2, primaryRelease, (CUdevice))               \
  CALL(cuCtxGetCurrent, ctxGetCurrent, (CUcontext *))                          \
  CALL(cuCtxPushCurrent_v2, ctxPush, (CUcontext))                              \
  CALL(cuCtxPopCurrent_v2, ctxPop, (CUcontext *))                              \
  CALL(cuCtxGetDevice, ctxGetDevice, (CUdevice *))                             \
  CALL(cuModuleLoadDataEx, moduleLoad,                                         \
       (CUmodule *, const void *, unsigned, int *, void **))                   \
  CALL(cuModuleUnload, moduleUnload, (CUmodule))                               \
  CALL(cuModuleGetFunction, moduleGetFunction,                                 \
       (CUfunction *, CUmodule, const char *))                                 \
  CALL(cuFuncGetAttribute, funcGetAttribute, (int *, int, CUfunction))         \
  CALL(cuFuncSetAttribute, funcSetAttribute, (CUfunction, int, int))           \
  CALL(cuLaunchKernelEx, launchKernel,                                         \
       (const LaunchConfig *, CUfunction, void **, void **))                   \
  CALL(cuTensorMapEncodeTiled, encodeTiled,                                    \
       (TensorMapBytes *, int, uint32_t, void *, const uint64_t *,             \
        const uint64_t *, const uint32_t *, const uint32_t *, int, int, int,   \
        int))                                                                  \
  CALL(cuMemAlloc_v2, memAlloc, (CUdeviceptr *, size_t))                       \
  CALL(cuMemFree_v2, memFree, (CUdeviceptr))                                   \
  CALL(cuMemAllocAsync, memAllocAsync, (CUdeviceptr *, size_t, CUstream))      \
  CALL(cuMemFreeAsync, memFreeAsync, (CUdeviceptr, CUstream))                  \
  CALL(cuMemsetD8Async, memset8,                                               \
       (CUdeviceptr, unsigned char, size_t, CUstream))                         \
  CALL(cuMemsetD16Async, memset16,                                             \
       (CUdeviceptr, unsigned short, size_t, CUstream))                        \
  CALL(cuMemsetD32Async, memset32, (CUdeviceptr, unsigned, size_t, CUstream))  \
  CALL(cuMemcpyDtoDAsync_v2, memcpyDtoD,                                       \
       (CUdeviceptr, CUdeviceptr, size_t, CUstream))                           \
  CALL(cuMemcpy2DAsync_v2, memcpy2D, (const Memcpy2D *, CUstream))             \
  CALL(cuPointerGetAttribute, pointerGetAttribute, (void *, int, CUdeviceptr))
/// Those that the library can do without; drivers before CUDA 12.4 lack some,
/// and what stands in for a driver lacks others.
#define FA4_RUNTIME_OPTIONAL_DRIVER_CALLS(CALL)                                \
  CALL(cuMemsetD2D8Async, memset2D8,                                           \
       (CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream))         \
  CALL(cuMemsetD2D16Async, memset2D16,                                         \
       (CUdeviceptr, size_t, unsigned short, size_t, size_t, CUstream))        \
  CALL(cuMemsetD2D32Async, memset2D32,                                         \
       (CUdeviceptr, size_t, unsigned, size_t, size_t, CUstream))              \
  CALL(cuStreamIsCapturing, streamIsCapturing, (CUstream, int *))              \
  CALL(cuStreamGetCaptureInfo_v2, streamGetCaptureInfo,                        \
       (CUstream, int *, uint64_t *, CUgraph *, const void **, size_t *))      \
  CALL(cuStreamGetCaptureInfo_v3, streamGetCaptureInfo3,                       \
       (CUstream, int *, uint64_t *, CUgraph *, const void **, const void **,  \
        size_t *))                                                             \
  CALL(cuThreadExchangeStreamCaptureMode, threadExchangeCaptureMode, (int *))  \
  CALL(cuUserObjectCreate, userObjectCreate,                                   \
       (CUuserObject *, void *, void (*)(void *), unsigned, unsigned))         \
  CALL(cuUserObjectRelease, userObjectRelease, (CUuserObject, unsigned))       \
  CALL(cuGraphRetainUserObject, graphRetainUserObject,                         \
       (CUgraph, CUuserObject, unsigned, unsigned))                            \
  CALL(cuFuncGetParamInfo, funcGetParamInfo,                                   \
       (CUfunction, size_t, size_t *, size_t *))                               \
  CALL(cuModuleGetFunctionCount, moduleGetFunctionCount,                       \
       (unsigned *, CUmodule))                                                 \
  CALL(cuModuleEnumerateFunctions, moduleEnumerateFunctions,                   \
       (CUfunction *, unsigned, CUmodule))                                     \
  CALL(cuFuncGetName, funcGetName, (const char **, CUfunction))

struct Driver {
#define DECLARE(symbol, name, parameters) CUresult(*name) parameters = nullptr;
  FA4_RUNTIME_DRIVER_CALLS(DECLARE)
  FA4_RUNTIME_OPTIONAL_DRIVER_CALLS(DECLARE)
#undef DECLARE

  /// Loads and starts the driver, once. Throws Failure (NO_DRIVER).
  static const Driver &get();
  /// Throws Failure unless `result` is CUDA_SUCCESS: "what: name (meaning)".
  void check(CUresult result, const std::string &what) const;
  std::string describe(CUresult result) const;
};

/// What a program has to know of its GPU.
struct Gpu {
  CUdevice device = 0;
  std::string name; ///< "NVIDIA H100 80GB HBM3".
  int major = 0, minor = 0;
  int smCount = 0, maxThreads = 0, maxDynamicShared = 0;
  int maxGrid[3] = {};
  bool hasPageableAccess = false;

  Gpu() = default;
  Gpu(const Driver &driver, CUdevice device);
  /// "GPU 0 (NVIDIA H100 80GB HBM3, sm_90)".
  std::string describe() const;
};

/// Makes a context current for the calls of a scope.
class ContextScope {
public:
  ContextScope(const Driver &driver, CUcontext context) : driver(driver) {
    CUcontext current = nullptr;
    if (driver.ctxGetCurrent(&current) == 0 && current == context)
      return;
    driver.check(driver.ctxPush(context), "cuCtxPushCurrent");
    isPushed = true;
  }
  ~ContextScope() {
    CUcontext popped;
    if (isPushed)
      driver.ctxPop(&popped);
  }
  ContextScope(const ContextScope &) = delete;

private:
  const Driver &driver;
  bool isPushed = false;
};

} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_DRIVER_H
