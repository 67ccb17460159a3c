//===- RuntimeApi.cpp - the runtime under CuTe-DSL's host code -----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host code that CuTe-DSL generates calls the CUDA runtime by functions of
// its own library, libcute_dsl_runtime, whose names have an underscore in front
// (_cudaLaunchKernelEx). NVIDIA's runtime does not run on this driver, so that
// these functions are here, too; CUTE_DSL_LIBS names this library in front of
// the other one. They return cudaError_t, whose numbers are those of CUresult.
//
//===----------------------------------------------------------------------===//

#include "DriverApi.h"
#include <cstring>

using namespace fa4::driver;

namespace {
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
} // namespace

/// The runtime starts the driver by itself, with the primary context.
static CUresult ensureContext() {
  if (CUresult error = cuInit(0))
    return error;
  if (currentContext())
    return CUDA_SUCCESS;
  CUcontext context;
  CUresult error = cuDevicePrimaryCtxRetain(&context, 0);
  return error ? error : cuCtxSetCurrent(context);
}

/// A function of the runtime that is one of the driver, in the current context.
#define FA4_RUNTIME(name, params, result)                                      \
  FA4_API CUresult name params {                                               \
    CUresult error = ensureContext();                                          \
    return error ? error : result;                                             \
  }

//===----------------------------------------------------------------------===//
// Libraries and kernels
//===----------------------------------------------------------------------===//

/// A function of libraries, which bindings call by the runtime's name or by the
/// driver's.
#define FA4_LIBRARY(name, params, result)                                      \
  FA4_RUNTIME(_cudaLibrary##name, params, result)                              \
  FA4_RUNTIME(_cuLibrary##name, params, result)

FA4_LIBRARY(LoadData,
            (CUlibrary * library, const void *image, int *options,
             void **values, unsigned count, int *libraryOptions,
             void **libraryValues, unsigned libraryCount),
            cuLibraryLoadData(library, image, options, values, count,
                              libraryOptions, libraryValues, libraryCount))
FA4_LIBRARY(LoadFromFile,
            (CUlibrary * library, const char *path, int *options, void **values,
             unsigned count, int *libraryOptions, void **libraryValues,
             unsigned libraryCount),
            cuLibraryLoadFromFile(library, path, options, values, count,
                                  libraryOptions, libraryValues, libraryCount))
FA4_LIBRARY(Unload, (CUlibrary library), cuLibraryUnload(library))
FA4_LIBRARY(GetKernel, (CUkernel * kernel, CUlibrary library, const char *name),
            cuLibraryGetKernel(kernel, library, name))
FA4_LIBRARY(GetKernelCount, (unsigned *count, CUlibrary library),
            cuLibraryGetKernelCount(count, library))
FA4_LIBRARY(GetGlobal,
            (CUdeviceptr * address, size_t *bytes, CUlibrary library,
             const char *name),
            cuLibraryGetGlobal(address, bytes, library, name))

FA4_RUNTIME(_cudaFuncSetAttribute,
            (CUfunction function, int attribute, int value),
            cuFuncSetAttribute(function, attribute, value))
FA4_RUNTIME(_cudaKernelSetAttributeForDevice,
            (CUkernel kernel, int attribute, int value, CUdevice device),
            cuKernelSetAttribute(attribute, value, kernel, device))

FA4_RUNTIME(_cuLibraryGetModule, (CUmodule * module, CUlibrary library),
            cuLibraryGetModule(module, library))
FA4_RUNTIME(_cuKernelGetAttribute,
            (int *value, int attribute, CUkernel kernel, CUdevice device),
            cuKernelGetAttribute(value, attribute, kernel, device))
FA4_RUNTIME(_cuTensorMapEncodeTiled,
            (CUtensorMap * to, int type, uint32_t rank, void *address,
             const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
             const uint32_t *elementStrides, int interleave, int swizzle,
             int l2Promotion, int fill),
            cuTensorMapEncodeTiled(to, type, rank, address, dims, strides, box,
                                   elementStrides, interleave, swizzle,
                                   l2Promotion, fill))

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

FA4_RUNTIME(_cuDeviceGet, (CUdevice * device, int ordinal),
            cuDeviceGet(device, ordinal))
FA4_RUNTIME(_cudaGetDevice, (CUdevice * device), cuDeviceGet(device, 0))
FA4_RUNTIME(_cudaSetDevice, (CUdevice device),
            device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE)
FA4_RUNTIME(_cudaGetDeviceCount, (int *count), cuDeviceGetCount(count))
FA4_RUNTIME(_cudaDeviceGetAttribute,
            (int *value, int attribute, CUdevice device),
            cuDeviceGetAttribute(value, attribute, device))
FA4_RUNTIME(_cudaDeviceSynchronize, (), cuCtxSynchronize())
FA4_RUNTIME(_cudaGetLastError, (), CUDA_SUCCESS)
FA4_RUNTIME(_cudaProfilerStart, (), CUDA_SUCCESS)
FA4_RUNTIME(_cudaProfilerStop, (), CUDA_SUCCESS)

/// For fa4.stand_in_cutlass, as the next: the names that they stand for are of
/// NVIDIA's runtime, which torch has loaded into the same process.
FA4_API const char *_cudaGetErrorName(CUresult error) {
  const char *text = nullptr;
  return cuGetErrorName(error, &text) ? "unknown error" : text;
}

FA4_API const char *_cudaGetErrorString(CUresult error) {
  const char *text = nullptr;
  return cuGetErrorString(error, &text) ? "unknown error" : text;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FA4_RUNTIME(_cudaMalloc, (CUdeviceptr * address, size_t bytes),
            cuMemAlloc(address, bytes))
FA4_RUNTIME(_cudaMallocAsync,
            (CUdeviceptr * address, size_t bytes, CUstream stream),
            cuMemAllocAsync(address, bytes, stream))
FA4_RUNTIME(_cudaMallocManaged,
            (CUdeviceptr * address, size_t bytes, unsigned flags),
            cuMemAllocManaged(address, bytes, flags))
FA4_RUNTIME(_cudaMallocHost, (void **data, size_t bytes),
            cuMemAllocHost(data, bytes))
FA4_RUNTIME(_cudaFree, (CUdeviceptr address), cuMemFree(address))
FA4_RUNTIME(_cudaFreeAsync, (CUdeviceptr address, CUstream stream),
            cuMemFreeAsync(address, stream))
FA4_RUNTIME(_cudaFreeHost, (void *data), cuMemFreeHost(data))
FA4_RUNTIME(_cudaMemcpy,
            (CUdeviceptr to, CUdeviceptr from, size_t bytes, int kind),
            cuMemcpy(to, from, bytes))
FA4_RUNTIME(_cudaMemcpyAsync,
            (CUdeviceptr to, CUdeviceptr from, size_t bytes, int kind,
             CUstream stream),
            cuMemcpyAsync(to, from, bytes, stream))
FA4_RUNTIME(_cudaMemset, (CUdeviceptr to, int value, size_t bytes),
            cuMemsetD8(to, uint8_t(value), bytes))
FA4_RUNTIME(_cudaMemsetAsync,
            (CUdeviceptr to, int value, size_t bytes, CUstream stream),
            cuMemsetD8(to, uint8_t(value), bytes))

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

FA4_RUNTIME(_cudaStreamCreate, (CUstream * stream), cuStreamCreate(stream, 0))
FA4_RUNTIME(_cudaStreamDestroy, (CUstream stream), cuStreamDestroy(stream))
FA4_RUNTIME(_cudaStreamSynchronize, (CUstream stream),
            cuStreamSynchronize(stream))
FA4_RUNTIME(_cudaStreamWaitEvent,
            (CUstream stream, CUevent event, unsigned flags),
            cuStreamWaitEvent(stream, event, flags))
FA4_RUNTIME(_cudaStreamAddCallback,
            (CUstream stream, void (*function)(CUstream, CUresult, void *),
             void *data, unsigned flags),
            cuStreamAddCallback(stream, function, data, flags))
FA4_RUNTIME(_cudaEventCreate, (CUevent * event), cuEventCreate(event, 0))
FA4_RUNTIME(_cudaEventDestroy, (CUevent event), cuEventDestroy(event))
FA4_RUNTIME(_cudaEventRecord, (CUevent event, CUstream stream),
            cuEventRecord(event, stream))
FA4_RUNTIME(_cudaEventElapsedTime,
            (float *milliseconds, CUevent begin, CUevent end),
            cuEventElapsedTime(milliseconds, begin, end))

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static CUresult launch(const RuntimeLaunchConfig &from, CUfunction function,
                       void **params) {
  CUlaunchConfig config{from.grid.x,
                        from.grid.y,
                        from.grid.z,
                        from.block.x,
                        from.block.y,
                        from.block.z,
                        unsigned(from.sharedBytes),
                        from.stream,
                        from.attributes,
                        from.attributeCount};
  return cuLaunchKernelEx(&config, function, params, nullptr);
}

FA4_RUNTIME(_cudaLaunchKernelEx,
            (const RuntimeLaunchConfig *config, CUfunction function,
             void **params),
            launch(*config, function, params))
FA4_RUNTIME(_cudaLaunchKernel,
            (CUfunction function, Dim3 grid, Dim3 block, void **params,
             size_t sharedBytes, CUstream stream),
            launch({grid, block, sharedBytes, stream, nullptr, 0}, function,
                   params))
FA4_RUNTIME(_cudaOccupancyMaxActiveBlocksPerMultiprocessor,
            (int *blocks, CUfunction function, int threads, size_t bytes),
            cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function,
                                                        threads, bytes))

#define FA4_UNSUPPORTED(name)                                                  \
  FA4_API CUresult name() {                                                    \
    FA4_CALL(Nothing);                                                         \
    return call->unsupported(#name);                                           \
  }
FA4_UNSUPPORTED(_cuLibraryGetManaged)
FA4_UNSUPPORTED(_cuLibraryGetUnifiedFunction)
FA4_UNSUPPORTED(_cudaGetDeviceProperties)
FA4_UNSUPPORTED(_cudaGraphDestroy)
FA4_UNSUPPORTED(_cudaGraphExecDestroy)
FA4_UNSUPPORTED(_cudaGraphInstantiate)
FA4_UNSUPPORTED(_cudaGraphLaunch)
FA4_UNSUPPORTED(_cudaLibraryGetManaged)
FA4_UNSUPPORTED(_cudaLibraryGetUnifiedFunction)
FA4_UNSUPPORTED(_cudaStreamBeginCapture)
FA4_UNSUPPORTED(_cudaStreamEndCapture)
