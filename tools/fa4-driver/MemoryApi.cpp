//===- MemoryApi.cpp - allocations, copies, fills ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include <cstring>

using namespace fa4::driver;

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

FA4_API CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  FA4_CALL(Healthy);
  if (CUresult error = checkUnsafeCall("cuMemAlloc"))
    return error;
  return call->allocate(bytes, *address);
}
FA4_ALIAS(cuMemAlloc_v2, cuMemAlloc);

FA4_API CUresult cuMemAllocPitch(CUdeviceptr *address, size_t *pitch,
                                 size_t width, size_t height, unsigned size) {
  FA4_CALL(Healthy);
  *pitch = (width + 511) / 512 * 512;
  return call->allocate(*pitch * height, *address);
}
FA4_ALIAS(cuMemAllocPitch_v2, cuMemAllocPitch);

FA4_API CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes,
                                   unsigned flags) {
  FA4_CALL(Healthy);
  return call->allocate(bytes, *address, /*isHost=*/false, /*isManaged=*/true);
}

FA4_API CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes,
                                 CUstream stream) {
  if (Capture *capture = findCapture(stream))
    return refuseInCapture(*capture, "cuMemAllocAsync");
  return cuMemAlloc(address, bytes);
}

FA4_API CUresult cuMemFree(CUdeviceptr address) {
  FA4_CALL(Context);
  if (CUresult error = checkUnsafeCall("cuMemFree"))
    return error;
  return call->release(address, /*isHost=*/false);
}
FA4_ALIAS(cuMemFree_v2, cuMemFree);

FA4_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  if (Capture *capture = findCapture(stream))
    return refuseInCapture(*capture, "cuMemFreeAsync");
  return cuMemFree(address);
}

FA4_API CUresult cuMemHostAlloc(void **data, size_t bytes, unsigned flags) {
  FA4_CALL(Context);
  CUdeviceptr address = 0;
  CUresult result = call->allocate(bytes, address, /*isHost=*/true);
  *data = reinterpret_cast<void *>(address);
  return result;
}

FA4_API CUresult cuMemAllocHost(void **data, size_t bytes) {
  return cuMemHostAlloc(data, bytes, 0);
}
FA4_ALIAS(cuMemAllocHost_v2, cuMemAllocHost);

FA4_API CUresult cuMemFreeHost(void *data) {
  FA4_CALL(Context);
  return call->release(reinterpret_cast<uintptr_t>(data), /*isHost=*/true);
}

FA4_API CUresult cuMemHostRegister(void *data, size_t bytes, unsigned flags) {
  FA4_CALL(Context);
  return call->registerHost(data, bytes);
}
FA4_ALIAS(cuMemHostRegister_v2, cuMemHostRegister);

/// No function of the driver: how fa4.driver tells of tensors that a framework
/// allocates and frees by itself.
FA4_API CUresult cuFa4ReplaceHost(void *data, size_t bytes) {
  FA4_CALL(Init);
  return call->replaceHost(data, bytes);
}

FA4_API CUresult cuMemHostUnregister(void *data) {
  FA4_CALL(Context);
  return call->unregisterHost(data);
}

FA4_API CUresult cuMemHostGetDevicePointer(CUdeviceptr *address, void *data,
                                           unsigned flags) {
  FA4_CALL(Context);
  *address = reinterpret_cast<uintptr_t>(data);
  return call->findMemory(*address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FA4_ALIAS(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer);

FA4_API CUresult cuMemHostGetFlags(unsigned *flags, void *data) {
  FA4_CALL(Context);
  *flags = 2; // CU_MEMHOSTALLOC_DEVICEMAP
  return call->findMemory(reinterpret_cast<uintptr_t>(data))
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

FA4_API CUresult cuMemGetInfo(size_t *free, size_t *total) {
  FA4_CALL(Context);
  *total = call->totalBytes();
  *free = *total - call->usedBytes();
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuMemGetInfo_v2, cuMemGetInfo);

FA4_API CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes,
                                      CUdeviceptr address) {
  FA4_CALL(Context);
  const auto *block = call->findMemory(address);
  if (!block)
    return CUDA_ERROR_NOT_FOUND;
  if (base)
    *base = block->first;
  if (bytes)
    *bytes = block->second.bytes;
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuMemGetAddressRange_v2, cuMemGetAddressRange);

/// Where memory is makes no difference here.
FA4_API CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes,
                                    CUdevice device, CUstream stream) {
  FA4_CALL(Context);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes,
                                       uint64_t location, unsigned flags,
                                       CUstream stream) {
  FA4_CALL(Context);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, int advice,
                             CUdevice device) {
  FA4_CALL(Context);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, int advice,
                                uint64_t location) {
  FA4_CALL(Context);
  return CUDA_SUCCESS;
}

/// Writes an attribute (CUpointer_attribute) of an address to `data`.
static CUresult pointerAttribute(Driver &driver, void *data, int attribute,
                                 CUdeviceptr address) {
  const auto *block = driver.findMemory(address);
  if (!block)
    return CUDA_ERROR_INVALID_VALUE;
  const Memory &memory = block->second;
  switch (attribute) {
  case 1: // CONTEXT
    *static_cast<void **>(data) = currentContext();
    return CUDA_SUCCESS;
  case 2: // MEMORY_TYPE
    *static_cast<unsigned *>(data) =
        memory.isHost && !memory.isManaged ? Host : Device;
    return CUDA_SUCCESS;
  case 3: // DEVICE_POINTER
    *static_cast<CUdeviceptr *>(data) = address;
    return CUDA_SUCCESS;
  case 4: // HOST_POINTER
    *static_cast<CUdeviceptr *>(data) = address;
    return memory.isHost ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  case 7: // BUFFER_ID
    *static_cast<unsigned long long *>(data) = block->first;
    return CUDA_SUCCESS;
  case 8: // IS_MANAGED
    *static_cast<bool *>(data) = memory.isManaged;
    return CUDA_SUCCESS;
  case 9: // DEVICE_ORDINAL
    *static_cast<int *>(data) = 0;
    return CUDA_SUCCESS;
  case 11: // RANGE_START_ADDR
    *static_cast<CUdeviceptr *>(data) = block->first;
    return CUDA_SUCCESS;
  case 12: // RANGE_SIZE
    *static_cast<size_t *>(data) = memory.bytes;
    return CUDA_SUCCESS;
  case 13: // MAPPED
    *static_cast<bool *>(data) = true;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}

FA4_API CUresult cuPointerGetAttribute(void *data, int attribute,
                                       CUdeviceptr address) {
  FA4_CALL(Init);
  return pointerAttribute(call.driver, data, attribute, address);
}

/// Of an address that is no memory of the device all attributes are 0.
FA4_API CUresult cuPointerGetAttributes(unsigned count, int *attributes,
                                        void **data, CUdeviceptr address) {
  FA4_CALL(Init);
  for (unsigned i = 0; i < count; ++i) {
    CUresult result =
        pointerAttribute(call.driver, data[i], attributes[i], address);
    if (result == CUDA_ERROR_NOT_SUPPORTED)
      return result;
    bool isFlag = attributes[i] == 8 || attributes[i] == 13;
    bool isWord = attributes[i] == 2 || attributes[i] == 9;
    if (result != CUDA_SUCCESS)
      std::memset(data[i], 0, isFlag ? 1 : isWord ? 4 : 8);
  }
  return CUDA_SUCCESS;
}

FA4_API CUresult cuPointerSetAttribute(const void *value, int attribute,
                                       CUdeviceptr address) {
  FA4_CALL(Init);
  return CUDA_SUCCESS; // SYNC_MEMOPS, which all of them are.
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

FA4_API CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
  FA4_CALL(Healthy);
  if (!bytes)
    return CUDA_SUCCESS;
  uint8_t *data = call->resolve(to, bytes, "cuMemcpyHtoD");
  if (!data || !from)
    return CUDA_ERROR_INVALID_VALUE;
  std::memmove(data, from, bytes);
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuMemcpyHtoD_v2, cuMemcpyHtoD);

FA4_API CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
  FA4_CALL(Healthy);
  if (!bytes)
    return CUDA_SUCCESS;
  const uint8_t *data = call->resolve(from, bytes, "cuMemcpyDtoH");
  if (!data || !to)
    return CUDA_ERROR_INVALID_VALUE;
  std::memmove(to, data, bytes);
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuMemcpyDtoH_v2, cuMemcpyDtoH);

FA4_API CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  FA4_CALL(Healthy);
  if (!bytes)
    return CUDA_SUCCESS;
  const uint8_t *source = call->resolve(from, bytes, "cuMemcpyDtoD");
  uint8_t *data = call->resolve(to, bytes, "cuMemcpyDtoD");
  if (!data || !source)
    return CUDA_ERROR_INVALID_VALUE;
  std::memmove(data, source, bytes);
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuMemcpyDtoD_v2, cuMemcpyDtoD);

/// Either address may be the host's. One within no memory of the device is.
FA4_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  FA4_CALL(Healthy);
  if (!bytes) // The addresses may be anything, null too.
    return CUDA_SUCCESS;
  bool toDevice = call->memory->find(to), fromDevice = call->memory->find(from);
  if (toDevice && fromDevice)
    return cuMemcpyDtoD(to, from, bytes);
  if (toDevice)
    return cuMemcpyHtoD(to, reinterpret_cast<const void *>(from), bytes);
  if (fromDevice)
    return cuMemcpyDtoH(reinterpret_cast<void *>(to), from, bytes);
  return call->fail(CUDA_ERROR_INVALID_VALUE,
                    "cuMemcpy: neither address is memory of the device");
}

FA4_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                               CUstream stream) {
  return perform(stream, NodeKind::Memcpy,
                 [=] { return cuMemcpy(to, from, bytes); });
}
FA4_API CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from,
                                   size_t bytes, CUstream stream) {
  return perform(stream, NodeKind::Memcpy,
                 [=] { return cuMemcpyHtoD(to, from, bytes); });
}
FA4_ALIAS(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync);
FA4_API CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                                   CUstream stream) {
  return perform(stream, NodeKind::Memcpy,
                 [=] { return cuMemcpyDtoH(to, from, bytes); });
}
FA4_ALIAS(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync);
FA4_API CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from,
                                   size_t bytes, CUstream stream) {
  return perform(stream, NodeKind::Memcpy,
                 [=] { return cuMemcpyDtoD(to, from, bytes); });
}
FA4_ALIAS(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync);

FA4_API CUresult cuMemcpy2D(const CUDA_MEMCPY2D *copy) {
  FA4_CALL(Healthy);
  const CUDA_MEMCPY2D &c = *copy;
  if (c.srcMemoryType == Array || c.dstMemoryType == Array)
    return call->unsupported("cuMemcpy2D of arrays");
  auto address = [](int type, const void *host, CUdeviceptr device) {
    return type == Host ? reinterpret_cast<uintptr_t>(host) : device;
  };
  CUdeviceptr from = address(c.srcMemoryType, c.srcHost, c.srcDevice);
  CUdeviceptr to = address(c.dstMemoryType, c.dstHost, c.dstDevice);
  for (size_t row = 0; row < c.height; ++row) {
    CUresult result = cuMemcpy(
        to + (c.dstY + row) * c.dstPitch + c.dstXInBytes,
        from + (c.srcY + row) * c.srcPitch + c.srcXInBytes, c.widthInBytes);
    if (result != CUDA_SUCCESS)
      return result;
  }
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuMemcpy2D_v2, cuMemcpy2D);
FA4_ALIAS(cuMemcpy2DUnaligned, cuMemcpy2D);
FA4_ALIAS(cuMemcpy2DUnaligned_v2, cuMemcpy2D);

FA4_API CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream) {
  return perform(stream, NodeKind::Memcpy,
                 [copy = *copy] { return cuMemcpy2D(&copy); });
}
FA4_ALIAS(cuMemcpy2DAsync_v2, cuMemcpy2DAsync);

//===----------------------------------------------------------------------===//
// Fills
//===----------------------------------------------------------------------===//

template <typename T>
static CUresult fill(CUdeviceptr address, size_t pitch, T value, size_t width,
                     size_t height, const char *name) {
  FA4_CALL(Healthy);
  if (address % sizeof(T))
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t row = 0; row < height && width; ++row) {
    uint8_t *data =
        call->resolve(address + row * pitch, width * sizeof(T), name);
    if (!data)
      return CUDA_ERROR_INVALID_VALUE;
    std::fill_n(reinterpret_cast<T *>(data), width, value);
  }
  return CUDA_SUCCESS;
}

#define FA4_MEMSET(bits)                                                       \
  FA4_API CUresult cuMemsetD##bits(CUdeviceptr to, uint##bits##_t value,       \
                                   size_t count) {                             \
    return fill(to, 0, value, count, 1, "cuMemsetD" #bits);                    \
  }                                                                            \
  FA4_ALIAS(cuMemsetD##bits##_v2, cuMemsetD##bits);                            \
  FA4_API CUresult cuMemsetD##bits##Async(                                     \
      CUdeviceptr to, uint##bits##_t value, size_t count, CUstream stream) {   \
    return perform(stream, NodeKind::Memset, [=] {                             \
      return fill(to, 0, value, count, 1, "cuMemsetD" #bits "Async");          \
    });                                                                        \
  }                                                                            \
  FA4_API CUresult cuMemsetD2D##bits(CUdeviceptr to, size_t pitch,             \
                                     uint##bits##_t value, size_t width,       \
                                     size_t height) {                          \
    return fill(to, pitch, value, width, height, "cuMemsetD2D" #bits);         \
  }                                                                            \
  FA4_ALIAS(cuMemsetD2D##bits##_v2, cuMemsetD2D##bits);                        \
  FA4_API CUresult cuMemsetD2D##bits##Async(                                   \
      CUdeviceptr to, size_t pitch, uint##bits##_t value, size_t width,        \
      size_t height, CUstream stream) {                                        \
    return perform(stream, NodeKind::Memset, [=] {                             \
      return fill(to, pitch, value, width, height,                             \
                  "cuMemsetD2D" #bits "Async");                                \
    });                                                                        \
  }
FA4_MEMSET(8)
FA4_MEMSET(16)
FA4_MEMSET(32)
#undef FA4_MEMSET
