//===- DriverApi.h - functions of the driver that others call ---*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_DRIVER_DRIVERAPI_H
#define FA4_TOOLS_FA4_DRIVER_DRIVERAPI_H

#include "Cuda.h"

using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;

FA4_API CUresult cuCtxGetCurrent(CUcontext *context);
FA4_API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
FA4_API CUresult cuCtxGetLimit(size_t *value, int limit);
FA4_API CUresult cuCtxSetCurrent(CUcontext context);
FA4_API CUresult cuCtxSetLimit(int limit, size_t value);
FA4_API CUresult cuCtxSynchronize(void);
FA4_API CUresult cuDeviceGet(CUdevice *device, int ordinal);
FA4_API CUresult cuDeviceGetAttribute(int *value, int attribute,
                                      CUdevice device);
FA4_API CUresult cuDeviceGetCount(int *count);
FA4_API CUresult cuDeviceGetName(char *name, int bytes, CUdevice device);
FA4_API CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device);
FA4_API CUresult cuDevicePrimaryCtxReset(CUdevice device);
FA4_API CUresult cuDriverGetVersion(int *version);
FA4_API CUresult cuGetProcAddress_v2(const char *symbol, void **function,
                                     int version, uint64_t flags, int *status);
FA4_API CUresult cuGraphCreate(CUgraph *graph, unsigned flags);
FA4_API CUresult cuGraphDestroy(CUgraph graph);
FA4_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes,
                                 size_t *count);
FA4_API CUresult cuGraphExecDestroy(CUgraphExec exec);
FA4_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                             unsigned long long flags);
FA4_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
FA4_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
FA4_API CUresult cuEventCreate(CUevent *event, unsigned flags);
FA4_API CUresult cuEventDestroy(CUevent event);
FA4_API CUresult cuEventElapsedTime(float *milliseconds, CUevent begin,
                                    CUevent end);
FA4_API CUresult cuEventRecord(CUevent event, CUstream stream);
FA4_API CUresult cuEventSynchronize(CUevent event);
FA4_API CUresult cuFuncGetAttribute(int *value, int attribute,
                                    CUfunction function);
FA4_API CUresult cuFuncSetAttribute(CUfunction function, int attribute,
                                    int value);
FA4_API CUresult cuInit(unsigned flags);
FA4_API CUresult cuKernelGetAttribute(int *value, int attribute,
                                      CUkernel kernel, CUdevice device);
FA4_API CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel,
                                      CUdevice device);
FA4_API CUresult cuLaunchHostFunc(CUstream stream, void (*function)(void *),
                                  void *data);
FA4_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config,
                                  CUfunction function, void **params,
                                  void **extra);
FA4_API CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes,
                                    CUlibrary library, const char *name);
FA4_API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library,
                                    const char *name);
FA4_API CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library);
FA4_API CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library);
FA4_API CUresult cuLibraryLoadData(CUlibrary *library, const void *image,
                                   int *options, void **values, unsigned count,
                                   int *libraryOptions, void **libraryValues,
                                   unsigned libraryCount);
FA4_API CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path,
                                       int *options, void **values,
                                       unsigned count, int *libraryOptions,
                                       void **libraryValues,
                                       unsigned libraryCount);
FA4_API CUresult cuLibraryUnload(CUlibrary library);
FA4_API CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes);
FA4_API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes,
                                 CUstream stream);
FA4_API CUresult cuMemAllocHost(void **data, size_t bytes);
FA4_API CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes,
                                   unsigned flags);
FA4_API CUresult cuMemAllocPitch(CUdeviceptr *address, size_t *pitch,
                                 size_t width, size_t height, unsigned size);
FA4_API CUresult cuMemFree(CUdeviceptr address);
FA4_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
FA4_API CUresult cuMemFreeHost(void *data);
FA4_API CUresult cuMemGetInfo(size_t *free, size_t *total);
FA4_API CUresult cuMemHostAlloc(void **data, size_t bytes, unsigned flags);
FA4_API CUresult cuMemHostGetDevicePointer(CUdeviceptr *address, void *data,
                                           unsigned flags);
FA4_API CUresult cuMemHostRegister(void *data, size_t bytes, unsigned flags);
FA4_API CUresult cuMemHostUnregister(void *data);
FA4_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
FA4_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                               CUstream stream);
FA4_API CUresult cuMemsetD8(CUdeviceptr to, uint8_t value, size_t count);
FA4_API CUresult cuMemsetD8Async(CUdeviceptr to, uint8_t value, size_t count,
                                 CUstream stream);
FA4_API CUresult cuMemsetD2D8(CUdeviceptr to, size_t pitch, uint8_t value,
                              size_t width, size_t height);
FA4_API CUresult cuMemsetD2D16(CUdeviceptr to, size_t pitch, uint16_t value,
                               size_t width, size_t height);
FA4_API CUresult cuMemsetD2D32(CUdeviceptr to, size_t pitch, uint32_t value,
                               size_t width, size_t height);
FA4_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                     const char *name);
FA4_API CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes,
                                   CUmodule module, const char *name);
FA4_API CUresult cuModuleLoadData(CUmodule *module, const void *image);
FA4_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes,
                                                         CUfunction function,
                                                         int blocks,
                                                         int threads);
FA4_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, CUfunction function, int threads, size_t dynamicBytes);
FA4_API CUresult cuOccupancyMaxActiveClusters(int *clusters,
                                              CUfunction function,
                                              const CUlaunchConfig *config);
FA4_API CUresult cuOccupancyMaxPotentialClusterSize(
    int *ctas, CUfunction function, const CUlaunchConfig *config);
FA4_API CUresult cuStreamAddCallback(CUstream stream,
                                     void (*function)(CUstream, CUresult,
                                                      void *),
                                     void *data, unsigned flags);
FA4_API CUresult cuStreamBeginCapture(CUstream stream, int mode);
FA4_API CUresult cuStreamCreate(CUstream *stream, unsigned flags);
FA4_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
FA4_API CUresult cuStreamIsCapturing(CUstream stream, int *status);
FA4_API CUresult cuStreamDestroy(CUstream stream);
FA4_API CUresult cuStreamSynchronize(CUstream stream);
FA4_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event,
                                   unsigned flags);
FA4_API CUresult cuPointerGetAttributes(unsigned count, int *attributes,
                                        void **data, CUdeviceptr address);
FA4_API CUresult
cuTensorMapEncodeTiled(CUtensorMap *to, int type, uint32_t rank, void *address,
                       const uint64_t *dims, const uint64_t *strides,
                       const uint32_t *box, const uint32_t *elementStrides,
                       int interleave, int swizzle, int l2Promotion, int fill);
FA4_API CUresult cuGetErrorName(CUresult error, const char **text);
FA4_API CUresult cuGetErrorString(CUresult error, const char **text);

#endif // FA4_TOOLS_FA4_DRIVER_DRIVERAPI_H
