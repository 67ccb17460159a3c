//===- DriverMemory.cpp - memory that the device can access --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdlib>

using namespace fa4::driver;

/// The alignment of cudaMalloc.
constexpr uint64_t kAlignment = 256;

CUresult Driver::allocate(uint64_t bytes, CUdeviceptr &address, bool isHost,
                          bool isManaged) {
  if (bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes > totalBytes() - used)
    return CUDA_ERROR_OUT_OF_MEMORY;
  Memory block;
  block.bytes = bytes;
  block.isHost = isHost || isManaged;
  block.isManaged = isManaged;
  uint64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  // The system gives large blocks as zeros without touching them.
  void *data = std::calloc(rounded + kAlignment, 1);
  if (!data)
    return CUDA_ERROR_OUT_OF_MEMORY;
  auto raw = reinterpret_cast<uintptr_t>(data);
  block.data = reinterpret_cast<uint8_t *>(raw + kAlignment - raw % kAlignment);
  // What `release` gives back stands before the data.
  reinterpret_cast<void **>(block.data)[-1] = data;
  uint64_t at = block.isHost ? reinterpret_cast<uintptr_t>(block.data) : 0;
  auto made = memory->allocate("memory" + std::to_string(++allocations), bytes,
                               at, block.data);
  if (!made) {
    std::free(data);
    return fail(CUDA_ERROR_OUT_OF_MEMORY, llvm::toString(made.takeError()));
  }
  address = (*made)->address;
  blocks[address] = block;
  used += bytes;
  return CUDA_SUCCESS;
}

CUresult Driver::release(CUdeviceptr address, bool isHost) {
  if (!address)
    return CUDA_SUCCESS;
  auto found = blocks.find(address);
  bool fits = found != blocks.end() && !found->second.isBorrowed &&
              (isHost ? found->second.isHost && !found->second.isManaged
                      : !found->second.isHost || found->second.isManaged);
  if (!fits)
    return fail(CUDA_ERROR_INVALID_VALUE,
                llvm::formatv("{0:x} is not what an allocation of this kind "
                              "returned, or is free already",
                              address)
                    .str());
  memory->release(address);
  used -= found->second.bytes;
  std::free(reinterpret_cast<void **>(found->second.data)[-1]);
  blocks.erase(found);
  return CUDA_SUCCESS;
}

CUresult Driver::registerHost(void *data, uint64_t bytes) {
  auto address = reinterpret_cast<uintptr_t>(data);
  if (!data || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  auto made = memory->allocate("host" + std::to_string(++allocations), bytes,
                               address, static_cast<uint8_t *>(data));
  if (!made)
    return fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                llvm::toString(made.takeError()));
  Memory block;
  block.bytes = bytes;
  block.data = static_cast<uint8_t *>(data);
  block.isHost = block.isBorrowed = true;
  blocks[address] = block;
  return CUDA_SUCCESS;
}

CUresult Driver::replaceHost(void *data, uint64_t bytes) {
  auto address = reinterpret_cast<uintptr_t>(data);
  auto block = blocks.lower_bound(address);
  if (block != blocks.begin() &&
      std::prev(block)->first + std::prev(block)->second.bytes > address)
    --block;
  if (block != blocks.end() && block->first == address &&
      block->second.bytes == bytes)
    return CUDA_SUCCESS;
  while (block != blocks.end() && block->first < address + bytes &&
         block->second.isBorrowed) {
    memory->release(block->first);
    block = blocks.erase(block);
  }
  return registerHost(data, bytes);
}

CUresult Driver::unregisterHost(void *data) {
  auto found = blocks.find(reinterpret_cast<uintptr_t>(data));
  if (found == blocks.end() || !found->second.isBorrowed)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  memory->release(found->first);
  blocks.erase(found);
  return CUDA_SUCCESS;
}

const std::pair<const uint64_t, Memory> *
Driver::findMemory(CUdeviceptr address) {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin())
    return nullptr;
  const auto &block = *std::prev(after);
  return address - block.first < block.second.bytes ? &block : nullptr;
}

uint8_t *Driver::resolve(CUdeviceptr address, uint64_t bytes,
                         const char *call) {
  uint8_t *data = memory->resolve(address, bytes);
  if (!data)
    fail(CUDA_ERROR_INVALID_VALUE,
         llvm::formatv("{0}: {1} bytes from {2} are not within an allocation",
                       call, bytes, memory->describe(address))
             .str());
  return data;
}
