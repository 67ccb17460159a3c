//===- LaunchApi.cpp - launches, occupancy, tensor maps ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "fa4/Simulator/Machine/TensorMap.h"
#include <algorithm>
#include <cstring>

using namespace fa4::driver;
using fa4::sim::TensorMap;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Takes the bytes of the parameters from an array of pointers or from one
/// buffer, in which they lie as in the kernel's parameter space.
static CUresult takeParams(const Kernel &kernel, void **params, void **extra,
                           LaunchRequest &request) {
  const uint8_t *buffer = nullptr;
  size_t bytes = 0;
  if (extra)
    for (; *extra; extra += 2) {
      if (reinterpret_cast<uintptr_t>(extra[0]) == 1) // BUFFER_POINTER
        buffer = static_cast<const uint8_t *>(extra[1]);
      else if (reinterpret_cast<uintptr_t>(extra[0]) == 2) // BUFFER_SIZE
        bytes = *static_cast<const size_t *>(extra[1]);
      else
        return CUDA_ERROR_INVALID_VALUE;
    }
  size_t index = 0;
  for (const fa4::sim::ParamInfo &param : kernel.entry->params) {
    const uint8_t *from = nullptr;
    if (buffer && param.offset + param.bytes <= bytes)
      from = buffer + param.offset;
    else if (!buffer && params)
      from = static_cast<const uint8_t *>(params[index]);
    ++index;
    if (!from)
      return Driver::get().fail(CUDA_ERROR_INVALID_VALUE,
                                "entry '" + kernel.name + "': parameter '" +
                                    param.name + "' is missing");
    request.config.params.emplace_back(from, from + param.bytes);
  }
  return CUDA_SUCCESS;
}

CUresult fa4::driver::makeLaunch(const CUlaunchConfig &config,
                                 CUfunction function, void **params,
                                 void **extra, LaunchRequest &request) {
  if (!function)
    return CUDA_ERROR_INVALID_VALUE;
  request.kernel = reinterpret_cast<Kernel *>(function);
  fa4::sim::LaunchConfig &to = request.config;
  to.entry = request.kernel->name;
  to.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  to.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  to.dynamicSharedBytes = config.sharedMemBytes;
  // The others are about the order of launches, which run one after the other,
  // and about speed.
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CUlaunchAttribute::ClusterDimension) {
      const auto &cluster = config.attrs[i].value.clusterDim;
      to.cluster = {cluster.x, cluster.y, cluster.z};
    }
  return takeParams(*request.kernel, params, extra, request);
}

FA4_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config,
                                  CUfunction function, void **params,
                                  void **extra) {
  FA4_CALL(Healthy);
  LaunchRequest request;
  if (!config)
    return CUDA_ERROR_INVALID_VALUE;
  if (auto error = makeLaunch(*config, function, params, extra, request))
    return error;
  return perform(config->hStream, NodeKind::Kernel,
                 [&driver = call.driver, request = std::move(request)] {
                   return driver.launch(request);
                 });
}

FA4_API CUresult cuLaunchKernel(CUfunction function, unsigned gridX,
                                unsigned gridY, unsigned gridZ, unsigned blockX,
                                unsigned blockY, unsigned blockZ,
                                unsigned sharedBytes, CUstream stream,
                                void **params, void **extra) {
  CUlaunchConfig config{gridX,  gridY,       gridZ,  blockX,  blockY,
                        blockZ, sharedBytes, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, function, params, extra);
}

/// All CTAs of a launch make progress, resident or not.
FA4_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridX,
                                           unsigned gridY, unsigned gridZ,
                                           unsigned blockX, unsigned blockY,
                                           unsigned blockZ,
                                           unsigned sharedBytes,
                                           CUstream stream, void **params) {
  return cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ,
                        sharedBytes, stream, params, nullptr);
}

//===----------------------------------------------------------------------===//
// Occupancy
//===----------------------------------------------------------------------===//

/// CTAs that fit an SM at once, by threads, shared memory and the registers
/// that the PTX demands.
static int activeBlocks(Driver &driver, const Kernel &kernel, int threads,
                        size_t dynamicBytes) {
  constexpr unsigned threadsOfSm = 2048, mostBlocks = 32, reserved = 1024;
  const fa4::TargetDescription &chip = driver.chip();
  if (threads <= 0 || unsigned(threads) > chip.maxThreads)
    return 0;
  unsigned rounded =
      (threads + chip.warpSize - 1) / chip.warpSize * chip.warpSize;
  uint64_t shared = kernel.entry->staticSharedBytes + dynamicBytes + reserved;
  uint64_t blocks = std::min<uint64_t>(mostBlocks, threadsOfSm / rounded);
  blocks = std::min<uint64_t>(blocks, (chip.smemBytes + reserved) / shared);
  if (kernel.entry->maxNreg)
    blocks = std::min<uint64_t>(blocks, chip.registerFileWords /
                                            (kernel.entry->maxNreg * rounded));
  return int(blocks);
}

FA4_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, CUfunction function, int threads, size_t dynamicBytes) {
  FA4_CALL(Context);
  *blocks = activeBlocks(call.driver, *reinterpret_cast<Kernel *>(function),
                         threads, dynamicBytes);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction function, int threads, size_t dynamicBytes,
    unsigned flags) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads,
                                                     dynamicBytes);
}

/// What is left for each of `blocks` CTAs of an SM.
FA4_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes,
                                                         CUfunction function,
                                                         int blocks,
                                                         int threads) {
  FA4_CALL(Context);
  if (blocks <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  constexpr unsigned reserved = 1024;
  const fa4::TargetDescription &chip = call->chip();
  unsigned fixed =
      reinterpret_cast<Kernel *>(function)->entry->staticSharedBytes;
  unsigned each = (chip.smemBytes + reserved) / unsigned(blocks);
  each = each > reserved ? std::min(each - reserved, chip.smemBytes) : 0;
  *bytes = each > fixed ? each - fixed : 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuOccupancyMaxActiveClusters(int *clusters,
                                              CUfunction function,
                                              const CUlaunchConfig *config) {
  FA4_CALL(Context);
  unsigned ctas = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == CUlaunchAttribute::ClusterDimension) {
      const auto &cluster = config->attrs[i].value.clusterDim;
      ctas = cluster.x * cluster.y * cluster.z;
    }
  if (!ctas)
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  int threads = int(config->blockDimX * config->blockDimY * config->blockDimZ);
  int blocks = activeBlocks(call.driver, *reinterpret_cast<Kernel *>(function),
                            threads, config->sharedMemBytes);
  *clusters = blocks * int(call->chip().smCount) / int(ctas);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuOccupancyMaxPotentialClusterSize(
    int *ctas, CUfunction function, const CUlaunchConfig *config) {
  FA4_CALL(Context);
  const auto &attributes = reinterpret_cast<Kernel *>(function)->attributes;
  auto found = attributes.find(14); // NON_PORTABLE_CLUSTER_SIZE_ALLOWED
  bool isNonPortable = found != attributes.end() && found->second;
  *ctas = isNonPortable ? 16 : 8;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

FA4_API CUresult
cuTensorMapEncodeTiled(CUtensorMap *to, int type, uint32_t rank, void *address,
                       const uint64_t *dims, const uint64_t *strides,
                       const uint32_t *box, const uint32_t *elementStrides,
                       int interleave, int swizzle, int l2Promotion, int fill) {
  FA4_CALL(Init);
  constexpr int lastType = int(fa4::sim::TensorMapType::B6x16P32);
  if (!to || rank < 1 || rank > 5 || type < 0 || type > lastType)
    return call->fail(CUDA_ERROR_INVALID_VALUE,
                      "cuTensorMapEncodeTiled: the rank is from 1 to 5, the "
                      "type one of CUtensorMapDataType");
  TensorMap map;
  map.rank = uint8_t(rank);
  map.type = fa4::sim::TensorMapType(type);
  map.swizzle = fa4::sim::TensorMapSwizzle(swizzle);
  map.interleave = uint8_t(interleave);
  map.fillNan = fill != 0;
  map.address = reinterpret_cast<uintptr_t>(address);
  for (uint32_t i = 0; i < rank; ++i) {
    map.dims[i] = dims[i];
    // What does not fit is out of the rules' ranges, too.
    map.box[i] = uint16_t(std::min<uint32_t>(box[i], UINT16_MAX));
    map.elementStrides[i] =
        uint8_t(std::min<uint32_t>(elementStrides[i], UINT8_MAX));
    if (i + 1 < rank)
      map.byteStrides[i] = strides[i];
  }
  if (auto error = map.verify())
    return call->fail(CUDA_ERROR_INVALID_VALUE,
                      llvm::toString(std::move(error)));
  auto bytes = map.encode();
  std::memcpy(to, bytes.data(), bytes.size());
  return CUDA_SUCCESS;
}

FA4_API CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
  FA4_CALL(Init);
  if (reinterpret_cast<uintptr_t>(address) % 16)
    return CUDA_ERROR_INVALID_VALUE;
  fa4::sim::replaceTensorMapField(reinterpret_cast<uint8_t *>(map),
                                  fa4::sim::TensorMapField::GlobalAddress, 0,
                                  reinterpret_cast<uintptr_t>(address));
  return CUDA_SUCCESS;
}
