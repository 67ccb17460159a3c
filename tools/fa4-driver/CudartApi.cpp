//===- CudartApi.cpp - a stand-in for libcudart --------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a runtime does beside calling the driver: it loads the modules that nvcc
// has put into a program, finds kernels by their functions on the host, keeps
// the last error. It needs nothing of the driver but its public functions, so
// that it runs on the stand-in; NVIDIA's own needs more. The rest is in
// RuntimeApi.cpp.
//
//===----------------------------------------------------------------------===//

#include "RuntimeApi.h"
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace fa4::driver;

namespace {

/// A module of the program, which is loaded when somebody uses it.
struct Image {
  const void *data = nullptr;
  CUmodule module = nullptr;
};
/// A kernel or variable of one: its name there.
struct Symbol {
  Image *image;
  std::string name;
};

struct Program {
  std::recursive_mutex mutex;
  std::vector<Image *> images;
  std::map<const void *, Symbol> kernels, variables;
};

/// A launch's configuration, between kernel<<<...>>> and the call of its
/// function on the host.
struct Configuration {
  Dim3 grid, block;
  size_t sharedBytes;
  CUstream stream;
};

} // namespace

static Program &program() {
  static Program *program = new Program; // nvcc registers before main.
  return *program;
}

static thread_local CUresult lastError = CUDA_SUCCESS;
static thread_local std::vector<Configuration> configurations;

CUresult fa4::driver::noteError(CUresult error) {
  if (error != CUDA_SUCCESS && error != CUDA_ERROR_NOT_READY)
    lastError = error;
  return error;
}

static CUresult load(Image &image) {
  if (image.module)
    return CUDA_SUCCESS;
  CUresult error = ensureContext();
  return error ? error : cuModuleLoadData(&image.module, image.data);
}

CUfunction fa4::driver::functionOf(const void *function) {
  std::lock_guard<std::recursive_mutex> lock(program().mutex);
  auto found = program().kernels.find(function);
  if (found == program().kernels.end()) // A handle.
    return reinterpret_cast<CUfunction>(const_cast<void *>(function));
  Symbol &symbol = found->second;
  CUfunction result = nullptr;
  if (load(*symbol.image) == CUDA_SUCCESS)
    cuModuleGetFunction(&result, symbol.image->module, symbol.name.c_str());
  return result;
}

static CUresult findVariable(const void *variable, CUdeviceptr &address,
                             size_t &bytes) {
  std::lock_guard<std::recursive_mutex> lock(program().mutex);
  auto found = program().variables.find(variable);
  if (found == program().variables.end())
    return CUDA_ERROR_NOT_FOUND;
  Symbol &symbol = found->second;
  if (CUresult error = load(*symbol.image))
    return error;
  return cuModuleGetGlobal(&address, &bytes, symbol.image->module,
                           symbol.name.c_str());
}

//===----------------------------------------------------------------------===//
// What nvcc's code calls
//===----------------------------------------------------------------------===//

FA4_API void **__cudaRegisterFatBinary(void *wrapper) {
  std::lock_guard<std::recursive_mutex> lock(program().mutex);
  auto *image = new Image{wrapper};
  program().images.push_back(image);
  return reinterpret_cast<void **>(image);
}

FA4_API void __cudaRegisterFatBinaryEnd(void **) {}
FA4_API void __cudaUnregisterFatBinary(void **) {}
FA4_API char __cudaInitModule(void **) { return 1; }

FA4_API void __cudaRegisterFunction(void **image, const char *function, char *,
                                    const char *name, int, void *, void *,
                                    void *, void *, int *) {
  std::lock_guard<std::recursive_mutex> lock(program().mutex);
  program().kernels[function] = {reinterpret_cast<Image *>(image), name};
}

FA4_API void __cudaRegisterVar(void **image, char *variable, char *,
                               const char *name, int, size_t, int, int) {
  std::lock_guard<std::recursive_mutex> lock(program().mutex);
  program().variables[variable] = {reinterpret_cast<Image *>(image), name};
}

FA4_API unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block,
                                             size_t sharedBytes,
                                             CUstream stream) {
  configurations.push_back({grid, block, sharedBytes, stream});
  return 0;
}

FA4_API CUresult __cudaPopCallConfiguration(Dim3 *grid, Dim3 *block,
                                            size_t *sharedBytes,
                                            CUstream *stream) {
  if (configurations.empty())
    return CUDA_ERROR_INVALID_VALUE;
  const Configuration &last = configurations.back();
  *grid = last.grid;
  *block = last.block;
  *sharedBytes = last.sharedBytes;
  *stream = last.stream;
  configurations.pop_back();
  return CUDA_SUCCESS;
}

/// Newer nvcc asks for the handle first.
FA4_API CUresult __cudaGetKernel(CUkernel *kernel, const void *function) {
  *kernel = reinterpret_cast<CUkernel>(functionOf(function));
  return noteError(*kernel ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

FA4_API CUresult __cudaLaunchKernel(CUkernel kernel, Dim3 grid, Dim3 block,
                                    void **params, size_t sharedBytes,
                                    CUstream stream) {
  CUlaunchConfig config{
      grid.x, grid.y,  grid.z, block.x, block.y, block.z, unsigned(sharedBytes),
      stream, nullptr, 0};
  return noteError(cuLaunchKernelEx(
      &config, reinterpret_cast<CUfunction>(kernel), params, nullptr));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

FA4_API CUresult cudaPeekAtLastError() { return lastError; }

FA4_API CUresult cudaGetLastError() {
  CUresult error = lastError;
  lastError = CUDA_SUCCESS;
  return error;
}

FA4_API const char *cudaGetErrorName(CUresult error) {
  const char *text = nullptr;
  return cuGetErrorName(error, &text) ? "unrecognized error code" : text;
}

FA4_API const char *cudaGetErrorString(CUresult error) {
  const char *text = nullptr;
  return cuGetErrorString(error, &text) ? "unrecognized error code" : text;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

FA4_API CUresult cudaRuntimeGetVersion(int *version) {
  return cuDriverGetVersion(version);
}
FA4_API CUresult cudaDriverGetVersion(int *version) {
  return cuDriverGetVersion(version);
}
FA4_RUNTIME(cudaMemGetInfo, (size_t *free, size_t *total),
            cuMemGetInfo(free, total))
FA4_RUNTIME(cudaSetDeviceFlags, (unsigned flags), CUDA_SUCCESS)
FA4_RUNTIME(cudaDeviceReset, (), cuDevicePrimaryCtxReset(0))
FA4_RUNTIME(cudaDeviceSetLimit, (int limit, size_t value),
            cuCtxSetLimit(limit, value))
FA4_RUNTIME(cudaDeviceGetLimit, (size_t *value, int limit),
            cuCtxGetLimit(value, limit))

FA4_API CUresult cudaGetDriverEntryPointByVersion(const char *symbol,
                                                  void **function,
                                                  unsigned version,
                                                  unsigned long long flags,
                                                  int *status) {
  return cuGetProcAddress_v2(symbol, function, int(version), flags, status);
}
FA4_API CUresult cudaGetDriverEntryPoint(const char *symbol, void **function,
                                         unsigned long long flags,
                                         int *status) {
  constexpr int version = 13000;
  return cuGetProcAddress_v2(symbol, function, version, flags, status);
}

namespace {
/// The start of cudaDeviceProp, as CUDA 13 has it. What is not named here is
/// zero.
struct DeviceProperties {
  char name[256], uuid[16], luid[8];
  unsigned luidMask;
  size_t globalBytes, sharedPerBlock;
  int registersPerBlock, warpSize;
  size_t pitch;
  int maxThreads, maxBlock[3], maxGrid[3];
  size_t constantBytes;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int processors, others[41];
  size_t surfaceAlignment;
  int concurrentKernels, ecc, bus, pciDevice, domain, tcc, asyncEngines,
      unifiedAddressing, busWidth, l2Bytes, persistingL2, threadsPerProcessor,
      streamPriorities, globalL1, localL1;
  size_t sharedPerProcessor;
  int registersPerProcessor, managed, multiGpu, multiGpuGroup, hostAtomics,
      pageable, concurrentManaged, preemption, hostPointer, cooperative;
  size_t sharedOptin;
};
} // namespace

static CUresult fillProperties(DeviceProperties &to) {
  constexpr size_t bytesOfWhole = 1008;
  static_assert(offsetof(DeviceProperties, processors) == 384 &&
                offsetof(DeviceProperties, surfaceAlignment) == 552 &&
                offsetof(DeviceProperties, sharedOptin) == 672);
  std::memset(static_cast<void *>(&to), 0, bytesOfWhole);
  const std::pair<int *, int> numbers[] = {
      {&to.registersPerBlock, 12},
      {&to.warpSize, 10},
      {&to.maxThreads, 1},
      {&to.maxBlock[0], 2},
      {&to.maxBlock[1], 3},
      {&to.maxBlock[2], 4},
      {&to.maxGrid[0], 5},
      {&to.maxGrid[1], 6},
      {&to.maxGrid[2], 7},
      {&to.major, 75},
      {&to.minor, 76},
      {&to.processors, 16},
      {&to.l2Bytes, 38},
      {&to.threadsPerProcessor, 39},
      {&to.registersPerProcessor, 82},
      {&to.unifiedAddressing, 41},
      {&to.concurrentKernels, 31},
      {&to.cooperative, 95},
  };
  for (auto [number, attribute] : numbers)
    if (CUresult error = cuDeviceGetAttribute(number, attribute, 0);
        error && error != CUDA_ERROR_INVALID_VALUE)
      return error;
  const std::pair<size_t *, int> sizes[] = {{&to.sharedPerBlock, 8},
                                            {&to.sharedPerProcessor, 81},
                                            {&to.sharedOptin, 97}};
  for (auto [size, attribute] : sizes) {
    int value = 0;
    if (CUresult error = cuDeviceGetAttribute(&value, attribute, 0))
      return error;
    *size = value;
  }
  if (CUresult error = cuDeviceTotalMem(&to.globalBytes, 0))
    return error;
  return cuDeviceGetName(to.name, sizeof(to.name), 0);
}

FA4_RUNTIME(cudaGetDeviceProperties, (DeviceProperties * to, int device),
            fillProperties(*to))

//===----------------------------------------------------------------------===//
// What is known of a kernel
//===----------------------------------------------------------------------===//

namespace {
/// cudaFuncAttributes. What has no number in the driver's enumeration is 0.
struct FunctionAttributes {
  size_t sharedBytes, constantBytes, localBytes;
  int maxThreads, registers, ptxVersion, binaryVersion, cacheMode,
      maxDynamicShared, carveout, clusterMustBeSet, clusterWidth, clusterHeight,
      clusterDepth, clusterPolicy, nonPortableCluster, reserved[16];
};
} // namespace

static CUresult fillAttributes(FunctionAttributes *to, CUfunction function) {
  static_assert(sizeof(FunctionAttributes) == 144);
  if (!to || !function)
    return CUDA_ERROR_INVALID_VALUE;
  *to = {};
  // From CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK on.
  constexpr int count = 16;
  int values[count] = {};
  for (int i = 0; i < count; ++i)
    if (CUresult error = cuFuncGetAttribute(&values[i], i, function))
      return error;
  to->maxThreads = values[0];
  to->sharedBytes = size_t(values[1]);
  to->constantBytes = size_t(values[2]);
  to->localBytes = size_t(values[3]);
  to->registers = values[4];
  to->ptxVersion = values[5];
  to->binaryVersion = values[6];
  to->cacheMode = values[7];
  to->maxDynamicShared = values[8];
  to->carveout = values[9];
  to->clusterMustBeSet = values[10];
  to->clusterWidth = values[11];
  to->clusterHeight = values[12];
  to->clusterDepth = values[13];
  to->nonPortableCluster = values[14];
  to->clusterPolicy = values[15];
  return CUDA_SUCCESS;
}
FA4_RUNTIME(cudaFuncSetCacheConfig, (const void *, int), CUDA_SUCCESS)
FA4_RUNTIME(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
            cuCtxGetStreamPriorityRange(least, greatest))
FA4_RUNTIME(cudaFuncGetAttributes,
            (FunctionAttributes * to, const void *function),
            fillAttributes(to, functionOf(function)))

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static CUresult allocateHost(void **data, size_t bytes, unsigned flags) {
  if (!data)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes)
    return cuMemHostAlloc(data, bytes, flags);
  *data = nullptr; // Where the driver refuses.
  return CUDA_SUCCESS;
}
FA4_RUNTIME(cudaHostAlloc, (void **data, size_t bytes, unsigned flags),
            allocateHost(data, bytes, flags))
FA4_RUNTIME(cudaHostRegister, (void *data, size_t bytes, unsigned flags),
            cuMemHostRegister(data, bytes, flags))
FA4_RUNTIME(cudaHostUnregister, (void *data), cuMemHostUnregister(data))
FA4_RUNTIME(cudaHostGetDevicePointer,
            (CUdeviceptr * address, void *data, unsigned flags),
            cuMemHostGetDevicePointer(address, data, flags))

static CUresult copy2D(CUdeviceptr to, size_t toPitch, CUdeviceptr from,
                       size_t fromPitch, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row)
    if (CUresult error =
            cuMemcpy(to + row * toPitch, from + row * fromPitch, width))
      return error;
  return CUDA_SUCCESS;
}
FA4_RUNTIME(cudaMemcpy2D,
            (CUdeviceptr to, size_t toPitch, CUdeviceptr from, size_t fromPitch,
             size_t width, size_t height, int kind),
            copy2D(to, toPitch, from, fromPitch, width, height))
FA4_RUNTIME(cudaMallocPitch,
            (CUdeviceptr * address, size_t *pitch, size_t width, size_t height),
            cuMemAllocPitch(address, pitch, width, height, 16))

static CUresult copy2DAsync(CUdeviceptr to, size_t toPitch, CUdeviceptr from,
                            size_t fromPitch, size_t width, size_t height,
                            CUstream stream) {
  for (size_t row = 0; row < height; ++row)
    if (CUresult error = cuMemcpyAsync(to + row * toPitch,
                                       from + row * fromPitch, width, stream))
      return error;
  return CUDA_SUCCESS;
}
FA4_RUNTIME(cudaMemcpy2DAsync,
            (CUdeviceptr to, size_t toPitch, CUdeviceptr from, size_t fromPitch,
             size_t width, size_t height, int kind, CUstream stream),
            copy2DAsync(to, toPitch, from, fromPitch, width, height, stream))

namespace {
struct PointerAttributes {
  enum Kind : int { Unregistered, OfHost, OfDevice, Managed } kind;
  int device;
  CUdeviceptr devicePointer, hostPointer;
  int64_t reserved[8];
};
} // namespace

/// Of memory that the driver does not know it is the host's own.
static CUresult fillAttributes(PointerAttributes *to, CUdeviceptr address) {
  if (!to)
    return CUDA_ERROR_INVALID_VALUE;
  *to = {PointerAttributes::Unregistered, -2, 0, address, {}};
  unsigned type = 0;
  bool isManaged = false;
  int attributes[] = {2, 8}; // MEMORY_TYPE, IS_MANAGED
  void *data[] = {&type, &isManaged};
  if (CUresult error = cuPointerGetAttributes(2, attributes, data, address))
    return error;
  if (!type)
    return CUDA_SUCCESS;
  to->kind = isManaged      ? PointerAttributes::Managed
             : type == Host ? PointerAttributes::OfHost
                            : PointerAttributes::OfDevice;
  to->device = 0;
  to->devicePointer = address;
  if (to->kind == PointerAttributes::OfDevice)
    to->hostPointer = 0;
  return CUDA_SUCCESS;
}
FA4_RUNTIME(cudaPointerGetAttributes,
            (PointerAttributes * to, CUdeviceptr address),
            fillAttributes(to, address))

FA4_RUNTIME(cudaMemset2D,
            (CUdeviceptr to, size_t pitch, int value, size_t width,
             size_t height),
            cuMemsetD2D8(to, pitch, uint8_t(value), width, height))

FA4_API CUresult cudaGetSymbolAddress(CUdeviceptr *address,
                                      const void *symbol) {
  size_t bytes;
  return noteError(findVariable(symbol, *address, bytes));
}
FA4_API CUresult cudaGetSymbolSize(size_t *bytes, const void *symbol) {
  CUdeviceptr address;
  return noteError(findVariable(symbol, address, *bytes));
}

/// `copy` is a copy between two addresses.
template <typename Copy>
static CUresult copySymbol(const void *symbol, const void *data, size_t count,
                           size_t offset, bool isTo, Copy copy) {
  CUdeviceptr address;
  size_t bytes;
  if (CUresult error = findVariable(symbol, address, bytes))
    return error;
  if (offset > bytes || count > bytes - offset)
    return CUDA_ERROR_INVALID_VALUE;
  auto host = reinterpret_cast<uintptr_t>(data);
  return isTo ? copy(address + offset, host, count)
              : copy(host, address + offset, count);
}
static auto copyOn(CUstream stream) {
  return [stream](CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return cuMemcpyAsync(to, from, bytes, stream);
  };
}
FA4_RUNTIME(cudaMemcpyToSymbol,
            (const void *symbol, const void *from, size_t count, size_t offset,
             int kind),
            copySymbol(symbol, from, count, offset, true, cuMemcpy))
FA4_RUNTIME(cudaMemcpyToSymbolAsync,
            (const void *symbol, const void *from, size_t count, size_t offset,
             int kind, CUstream stream),
            copySymbol(symbol, from, count, offset, true, copyOn(stream)))
FA4_RUNTIME(cudaMemcpyFromSymbolAsync,
            (void *to, const void *symbol, size_t count, size_t offset,
             int kind, CUstream stream),
            copySymbol(symbol, to, count, offset, false, copyOn(stream)))
FA4_RUNTIME(cudaMemcpyFromSymbol,
            (void *to, const void *symbol, size_t count, size_t offset,
             int kind),
            copySymbol(symbol, to, count, offset, false, cuMemcpy))

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

FA4_RUNTIME(cudaStreamCreateWithFlags, (CUstream * stream, unsigned flags),
            cuStreamCreate(stream, flags))
FA4_RUNTIME(cudaStreamCreateWithPriority,
            (CUstream * stream, unsigned flags, int priority),
            cuStreamCreate(stream, flags))
FA4_RUNTIME(cudaStreamQuery, (CUstream stream), cuStreamSynchronize(stream))
FA4_RUNTIME(cudaStreamIsCapturing, (CUstream stream, int *status),
            cuStreamIsCapturing(stream, status))
FA4_RUNTIME(cudaEventCreateWithFlags, (CUevent * event, unsigned flags),
            cuEventCreate(event, flags))
FA4_RUNTIME(cudaEventSynchronize, (CUevent event), cuEventSynchronize(event))
FA4_RUNTIME(cudaEventQuery, (CUevent event), cuEventSynchronize(event))
FA4_RUNTIME(cudaLaunchHostFunc,
            (CUstream stream, void (*function)(void *), void *data),
            cuLaunchHostFunc(stream, function, data))

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

FA4_RUNTIME(cudaGraphCreate, (CUgraph * graph, unsigned flags),
            cuGraphCreate(graph, flags))
FA4_RUNTIME(cudaGraphGetNodes,
            (CUgraph graph, CUgraphNode *nodes, size_t *count),
            cuGraphGetNodes(graph, nodes, count))
