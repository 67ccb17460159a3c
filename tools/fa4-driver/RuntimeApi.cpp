//===- RuntimeApi.cpp - functions of the CUDA runtime --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of the runtime that are functions of the driver, with another name
// or order of parameters. They return cudaError_t, whose numbers are those of
// CUresult. This file is compiled twice.
//
// For libcuda: the host code that CuTe-DSL generates calls the runtime by
// functions of its own library, libcute_dsl_runtime, whose names have an
// underscore in front (_cudaLaunchKernelEx). NVIDIA's runtime does not run on
// this driver, so that these functions are here, too; CUTE_DSL_LIBS names this
// library in front of the other one.
//
// For libcudart, with FA4_CUDART: the same without the underscore, and what
// only a runtime has (CudartApi.cpp).
//
//===----------------------------------------------------------------------===//

#include "RuntimeApi.h"
#ifndef FA4_CUDART
#include "Driver.h"
#endif
#include <cstring>

using namespace fa4::driver;

#ifdef FA4_CUDART
using FunctionHandle = const void *;
#else
using FunctionHandle = CUfunction;
#endif

//===----------------------------------------------------------------------===//
// Libraries and kernels
//===----------------------------------------------------------------------===//

/// A function of libraries, which bindings call by the runtime's name or by the
/// driver's.
#ifdef FA4_CUDART
#define FA4_LIBRARY(name, params, result)                                      \
  FA4_RUNTIME(cudaLibrary##name, params, result)
#else
#define FA4_LIBRARY(name, params, result)                                      \
  FA4_RUNTIME(cudaLibrary##name, params, result)                               \
  FA4_RUNTIME(cuLibrary##name, params, result)
#endif

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

FA4_RUNTIME(cudaFuncSetAttribute,
            (FunctionHandle function, int attribute, int value),
            cuFuncSetAttribute(functionOf(function), attribute, value))
FA4_RUNTIME(cudaKernelSetAttributeForDevice,
            (CUkernel kernel, int attribute, int value, CUdevice device),
            cuKernelSetAttribute(attribute, value, kernel, device))

#ifndef FA4_CUDART
FA4_RUNTIME(cuLibraryGetModule, (CUmodule * module, CUlibrary library),
            cuLibraryGetModule(module, library))
FA4_RUNTIME(cuKernelGetAttribute,
            (int *value, int attribute, CUkernel kernel, CUdevice device),
            cuKernelGetAttribute(value, attribute, kernel, device))
FA4_RUNTIME(cuTensorMapEncodeTiled,
            (CUtensorMap * to, int type, uint32_t rank, void *address,
             const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
             const uint32_t *elementStrides, int interleave, int swizzle,
             int l2Promotion, int fill),
            cuTensorMapEncodeTiled(to, type, rank, address, dims, strides, box,
                                   elementStrides, interleave, swizzle,
                                   l2Promotion, fill))
#endif

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

#ifndef FA4_CUDART
FA4_RUNTIME(cuDeviceGet, (CUdevice * device, int ordinal),
            cuDeviceGet(device, ordinal))
#endif
FA4_RUNTIME(cudaGetDevice, (CUdevice * device), cuDeviceGet(device, 0))
FA4_RUNTIME(cudaSetDevice, (CUdevice device),
            device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE)
FA4_RUNTIME(cudaGetDeviceCount, (int *count), cuDeviceGetCount(count))
FA4_RUNTIME(cudaDeviceGetAttribute,
            (int *value, int attribute, CUdevice device),
            cuDeviceGetAttribute(value, attribute, device))
FA4_RUNTIME(cudaDeviceSynchronize, (), cuCtxSynchronize())
FA4_RUNTIME(cudaProfilerStart, (), CUDA_SUCCESS)
FA4_RUNTIME(cudaProfilerStop, (), CUDA_SUCCESS)

#ifndef FA4_CUDART
FA4_API CUresult _cudaGetLastError() { return CUDA_SUCCESS; }

/// For fa4.driver.stand_in_cutlass, as the next: the names that they stand for
/// are of NVIDIA's runtime, which torch has loaded into the same process.
FA4_API const char *_cudaGetErrorName(CUresult error) {
  const char *text = nullptr;
  return cuGetErrorName(error, &text) ? "unknown error" : text;
}

FA4_API const char *_cudaGetErrorString(CUresult error) {
  const char *text = nullptr;
  return cuGetErrorString(error, &text) ? "unknown error" : text;
}
#endif

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The runtime gives a null pointer for no bytes, where the driver refuses.
template <typename Pointer, typename Allocate>
static CUresult allocate(Pointer *address, size_t bytes, Allocate allocate) {
  if (!address)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes)
    return allocate();
  *address = Pointer();
  return CUDA_SUCCESS;
}
FA4_RUNTIME(cudaMalloc, (CUdeviceptr * address, size_t bytes),
            allocate(address, bytes,
                     [&] { return cuMemAlloc(address, bytes); }))
FA4_RUNTIME(cudaMallocAsync,
            (CUdeviceptr * address, size_t bytes, CUstream stream),
            allocate(address, bytes,
                     [&] { return cuMemAllocAsync(address, bytes, stream); }))
FA4_RUNTIME(cudaMallocManaged,
            (CUdeviceptr * address, size_t bytes, unsigned flags),
            cuMemAllocManaged(address, bytes, flags))
FA4_RUNTIME(cudaMallocHost, (void **data, size_t bytes),
            allocate(data, bytes, [&] { return cuMemAllocHost(data, bytes); }))
FA4_RUNTIME(cudaFree, (CUdeviceptr address), cuMemFree(address))
FA4_RUNTIME(cudaFreeAsync, (CUdeviceptr address, CUstream stream),
            cuMemFreeAsync(address, stream))
FA4_RUNTIME(cudaFreeHost, (void *data), cuMemFreeHost(data))
FA4_RUNTIME(cudaMemcpy,
            (CUdeviceptr to, CUdeviceptr from, size_t bytes, int kind),
            cuMemcpy(to, from, bytes))
FA4_RUNTIME(cudaMemcpyAsync,
            (CUdeviceptr to, CUdeviceptr from, size_t bytes, int kind,
             CUstream stream),
            cuMemcpyAsync(to, from, bytes, stream))
FA4_RUNTIME(cudaMemset, (CUdeviceptr to, int value, size_t bytes),
            cuMemsetD8(to, uint8_t(value), bytes))
FA4_RUNTIME(cudaMemsetAsync,
            (CUdeviceptr to, int value, size_t bytes, CUstream stream),
            cuMemsetD8Async(to, uint8_t(value), bytes, stream))

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

FA4_RUNTIME(cudaStreamCreate, (CUstream * stream), cuStreamCreate(stream, 0))
FA4_RUNTIME(cudaStreamDestroy, (CUstream stream), cuStreamDestroy(stream))
FA4_RUNTIME(cudaStreamSynchronize, (CUstream stream),
            cuStreamSynchronize(stream))
FA4_RUNTIME(cudaStreamWaitEvent,
            (CUstream stream, CUevent event, unsigned flags),
            cuStreamWaitEvent(stream, event, flags))
FA4_RUNTIME(cudaStreamAddCallback,
            (CUstream stream, void (*function)(CUstream, CUresult, void *),
             void *data, unsigned flags),
            cuStreamAddCallback(stream, function, data, flags))
FA4_RUNTIME(cudaEventCreate, (CUevent * event), cuEventCreate(event, 0))
FA4_RUNTIME(cudaEventDestroy, (CUevent event), cuEventDestroy(event))
FA4_RUNTIME(cudaEventRecord, (CUevent event, CUstream stream),
            cuEventRecord(event, stream))
FA4_RUNTIME(cudaEventElapsedTime,
            (float *milliseconds, CUevent begin, CUevent end),
            cuEventElapsedTime(milliseconds, begin, end))

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static CUlaunchConfig toDriver(const RuntimeLaunchConfig &from) {
  return {from.grid.x,
          from.grid.y,
          from.grid.z,
          from.block.x,
          from.block.y,
          from.block.z,
          unsigned(from.sharedBytes),
          from.stream,
          from.attributes,
          from.attributeCount};
}

static CUresult launch(const RuntimeLaunchConfig &from, FunctionHandle function,
                       void **params) {
  CUlaunchConfig config = toDriver(from);
  return cuLaunchKernelEx(&config, functionOf(function), params, nullptr);
}

static CUresult countClusters(int *clusters, FunctionHandle function,
                              const RuntimeLaunchConfig &from) {
  CUlaunchConfig config = toDriver(from);
  return cuOccupancyMaxActiveClusters(clusters, functionOf(function), &config);
}
FA4_RUNTIME(cudaOccupancyMaxActiveClusters,
            (int *clusters, FunctionHandle function,
             const RuntimeLaunchConfig *config),
            countClusters(clusters, function, *config))

static CUresult largestCluster(int *ctas, FunctionHandle function,
                               const RuntimeLaunchConfig &from) {
  CUlaunchConfig config = toDriver(from);
  return cuOccupancyMaxPotentialClusterSize(ctas, functionOf(function),
                                            &config);
}
FA4_RUNTIME(cudaOccupancyMaxPotentialClusterSize,
            (int *ctas, FunctionHandle function,
             const RuntimeLaunchConfig *config),
            largestCluster(ctas, function, *config))
FA4_RUNTIME(cudaOccupancyAvailableDynamicSMemPerBlock,
            (size_t *bytes, FunctionHandle function, int blocks, int threads),
            cuOccupancyAvailableDynamicSMemPerBlock(bytes, functionOf(function),
                                                    blocks, threads))

#ifdef FA4_CUDART
#define cudaLaunchKernelEx cudaLaunchKernelExC // As the library names it.
#endif
FA4_RUNTIME(cudaLaunchKernelEx,
            (const RuntimeLaunchConfig *config, FunctionHandle function,
             void **params),
            launch(*config, function, params))
FA4_RUNTIME(cudaLaunchKernel,
            (FunctionHandle function, Dim3 grid, Dim3 block, void **params,
             size_t sharedBytes, CUstream stream),
            launch({grid, block, sharedBytes, stream, nullptr, 0}, function,
                   params))
FA4_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
            (int *blocks, FunctionHandle function, int threads, size_t bytes),
            cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks,
                                                        functionOf(function),
                                                        threads, bytes))
FA4_RUNTIME(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
            (int *blocks, FunctionHandle function, int threads, size_t bytes,
             unsigned flags),
            cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks,
                                                        functionOf(function),
                                                        threads, bytes))

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

FA4_RUNTIME(cudaStreamBeginCapture, (CUstream stream, int mode),
            cuStreamBeginCapture(stream, mode))
FA4_RUNTIME(cudaStreamEndCapture, (CUstream stream, CUgraph *graph),
            cuStreamEndCapture(stream, graph))
FA4_RUNTIME(cudaGraphInstantiate,
            (CUgraphExec * exec, CUgraph graph, unsigned long long flags),
            cuGraphInstantiateWithFlags(exec, graph, flags))
FA4_RUNTIME(cudaGraphLaunch, (CUgraphExec exec, CUstream stream),
            cuGraphLaunch(exec, stream))
FA4_RUNTIME(cudaGraphDestroy, (CUgraph graph), cuGraphDestroy(graph))
FA4_RUNTIME(cudaGraphExecDestroy, (CUgraphExec exec), cuGraphExecDestroy(exec))

#ifndef FA4_CUDART
#define FA4_UNSUPPORTED(name)                                                  \
  FA4_API CUresult name() {                                                    \
    FA4_CALL(Nothing);                                                         \
    return call->unsupported(#name);                                           \
  }
FA4_UNSUPPORTED(_cuLibraryGetManaged)
FA4_UNSUPPORTED(_cuLibraryGetUnifiedFunction)
FA4_UNSUPPORTED(_cudaGetDeviceProperties)
FA4_UNSUPPORTED(_cudaLibraryGetManaged)
FA4_UNSUPPORTED(_cudaLibraryGetUnifiedFunction)
#endif
