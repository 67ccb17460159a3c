//===- DeviceApi.cpp - the device, its contexts, errors ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <dlfcn.h>

using namespace fa4::driver;
using llvm::StringRef;

FA4_API CUresult cuInit(unsigned flags) {
  FA4_CALL(Nothing);
  return flags ? CUDA_ERROR_INVALID_VALUE : call->initialize();
}

FA4_API CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
struct ErrorText {
  CUresult error;
  const char *name, *text;
};
} // namespace

static constexpr ErrorText errorTexts[] = {
#define ERROR(name, text) {name, #name, text}
    ERROR(CUDA_SUCCESS, "no error"),
    ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
          "no kernel image is available for execution on the device"),
    ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    ERROR(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    ERROR(CUDA_ERROR_ILLEGAL_STATE,
          "the operation cannot be performed in the present state"),
    ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    ERROR(CUDA_ERROR_ILLEGAL_ADDRESS,
          "an illegal memory access was encountered"),
    ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
          "part or all of the requested memory range is already mapped"),
    ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
          "pointer does not correspond to a registered memory region"),
    ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "operation not permitted when stream is capturing"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          "operation failed due to a previous error during capture"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
          "the capture was not initiated in this stream"),
    ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
          "capturing stream has unjoined work"),
    ERROR(CUDA_ERROR_CAPTURED_EVENT,
          "operation not permitted on an event last recorded in a capturing "
          "stream"),
    ERROR(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
          "the graph update was not performed because it included changes "
          "which violated constraints specific to instantiated graph update"),
    ERROR(CUDA_ERROR_INVALID_CLUSTER_SIZE, "invalid cluster size"),
    ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef ERROR
};

static const ErrorText *findError(CUresult error) {
  auto found = llvm::find_if(
      errorTexts, [&](const ErrorText &e) { return e.error == error; });
  return found == std::end(errorTexts) ? nullptr : found;
}

FA4_API CUresult cuGetErrorName(CUresult error, const char **text) {
  const ErrorText *found = findError(error);
  *text = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FA4_API CUresult cuGetErrorString(CUresult error, const char **text) {
  const ErrorText *found = findError(error);
  *text = found ? found->text : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

//===----------------------------------------------------------------------===//
// Functions by name
//===----------------------------------------------------------------------===//

/// Functions whose versions differ in more than a name, the newest first. All
/// others are exported under their plain name, too.
static constexpr struct {
  const char *name;
  int version;
  const char *symbol;
} versionedSymbols[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync_v2"},
    {"cuMemAdvise", 12020, "cuMemAdvise_v2"},
    {"cuCtxSynchronize", 13000, "cuCtxSynchronize_v2"},
    {"cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuGraphAddKernelNode", 12000, "cuGraphAddKernelNode_v2"},
    {"cuGraphExecKernelNodeSetParams", 12000,
     "cuGraphExecKernelNodeSetParams_v2"},
    {"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
};

static void *findSymbol(StringRef name, int version) {
  static void *self = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void *>(&cuInit), &info)
               ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
               : nullptr;
  }();
  for (const auto &known : versionedSymbols)
    if (name == known.name && version >= known.version)
      return dlsym(self, known.symbol);
  // Nothing but the API, though the library has other symbols.
  return name.starts_with("cu") ? dlsym(self, name.str().c_str()) : nullptr;
}

FA4_API CUresult cuGetProcAddress_v2(const char *symbol, void **function,
                                     int version, uint64_t flags, int *status) {
  if (!symbol || !function)
    return CUDA_ERROR_INVALID_VALUE;
  *function = findSymbol(symbol, version);
  if (status)
    *status = *function ? 0 : 1; // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

FA4_API CUresult cuGetProcAddress(const char *symbol, void **function,
                                  int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

FA4_API CUresult cuGetExportTable(const void **table, const CUuuid *id) {
  FA4_CALL(Nothing);
  *table = nullptr;
  return call->unsupported("cuGetExportTable, which NVIDIA's runtime library "
                           "(libcudart) is built on,");
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

FA4_API CUresult cuDeviceGetCount(int *count) {
  FA4_CALL(Init);
  *count = 1;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  FA4_CALL(Init);
  *device = 0;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

FA4_API CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  FA4_CALL(Init);
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!name || length <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::string text = "fa4-sim " + call->chip().chip.str();
  std::strncpy(name, text.c_str(), length);
  name[length - 1] = 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  FA4_CALL(Init);
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  std::memcpy(uuid->bytes, "fa4-sim device 0", sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuDeviceGetUuid_v2, cuDeviceGetUuid);

FA4_API CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  FA4_CALL(Init);
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  std::strncpy(id, "0000:00:00.0", length);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  FA4_CALL(Init);
  *bytes = call->totalBytes();
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FA4_ALIAS(cuDeviceTotalMem_v2, cuDeviceTotalMem);

FA4_API CUresult cuDeviceComputeCapability(int *major, int *minor,
                                           CUdevice device) {
  FA4_CALL(Init);
  std::tie(*major, *minor) = call->computeCapability();
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

FA4_API CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
  FA4_CALL(Init);
  *can = 0;
  return CUDA_SUCCESS;
}

/// An attribute (CUdevice_attribute) by its number. Those of features that the
/// simulator lacks, and of textures, are 0.
static int deviceAttribute(const fa4::TargetDescription &chip,
                           std::pair<int, int> capability, int attribute) {
  // An SM has 1 KiB more than a CTA can use, which each CTA costs.
  constexpr unsigned reserved = 1024;
  constexpr int most = 0x7FFFFFFF;
  switch (attribute) {
  case 1: // MAX_THREADS_PER_BLOCK
  case 2: // MAX_BLOCK_DIM_X
  case 3: // MAX_BLOCK_DIM_Y
    return int(chip.maxThreads);
  case 4: // MAX_BLOCK_DIM_Z
    return 64;
  case 5: // MAX_GRID_DIM_X
    return most;
  case 6: // MAX_GRID_DIM_Y
  case 7: // MAX_GRID_DIM_Z
    return 65535;
  case 8: // MAX_SHARED_MEMORY_PER_BLOCK
    return 48 << 10;
  case 9: // TOTAL_CONSTANT_MEMORY
    return 64 << 10;
  case 10: // WARP_SIZE
    return int(chip.warpSize);
  case 11: // MAX_PITCH
    return most;
  case 12: // MAX_REGISTERS_PER_BLOCK
  case 82: // MAX_REGISTERS_PER_MULTIPROCESSOR
    return int(chip.registerFileWords);
  case 13: // CLOCK_RATE, kHz
    return int(chip.clockMHz) * 1000;
  case 14: // TEXTURE_ALIGNMENT
    return 512;
  case 16: // MULTIPROCESSOR_COUNT
    return int(chip.smCount);
  case 36: // MEMORY_CLOCK_RATE, kHz; with the next 8 TB/s, 3.35 TB/s
    return capability.first >= 10 ? 3996000 : 2619000;
  case 37: // GLOBAL_MEMORY_BUS_WIDTH, bits
    return capability.first >= 10 ? 8192 : 5120;
  case 38: // L2_CACHE_SIZE
    return int(chip.l2Bytes);
  case 39: // MAX_THREADS_PER_MULTIPROCESSOR
    return 2048;
  case 19:  // CAN_MAP_HOST_MEMORY
  case 31:  // CONCURRENT_KERNELS
  case 40:  // ASYNC_ENGINE_COUNT
  case 41:  // UNIFIED_ADDRESSING
  case 78:  // STREAM_PRIORITIES_SUPPORTED
  case 79:  // GLOBAL_L1_CACHE_SUPPORTED
  case 80:  // LOCAL_L1_CACHE_SUPPORTED
  case 83:  // MANAGED_MEMORY
  case 89:  // CONCURRENT_MANAGED_ACCESS
  case 91:  // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
  case 95:  // COOPERATIVE_LAUNCH
  case 99:  // HOST_REGISTER_SUPPORTED
  case 120: // CLUSTER_LAUNCH
  case 126: // MEM_SYNC_DOMAIN_COUNT
  case 127: // TENSOR_MAP_ACCESS_SUPPORTED
    return 1;
  case 75: // COMPUTE_CAPABILITY_MAJOR
    return capability.first;
  case 76: // COMPUTE_CAPABILITY_MINOR
    return capability.second;
  case 81: // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    return int(chip.smemBytes + reserved);
  case 97: // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    return int(chip.smemBytes);
  case 106: // MAX_BLOCKS_PER_MULTIPROCESSOR
    return 32;
  case 111: // RESERVED_SHARED_MEMORY_PER_BLOCK
    return reserved;
  default:
    return 0;
  }
}

FA4_API CUresult cuDeviceGetAttribute(int *value, int attribute,
                                      CUdevice device) {
  FA4_CALL(Init);
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  if (attribute < 1 || attribute > 200)
    return CUDA_ERROR_INVALID_VALUE;
  *value = deviceAttribute(call->chip(), call->computeCapability(), attribute);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

static thread_local std::vector<Context *> contextStack;

Context *fa4::driver::currentContext() {
  Driver &driver = Driver::get();
  if (contextStack.empty() || !driver.contexts.count(contextStack.back()))
    return nullptr;
  return contextStack.back();
}

static CUcontext handle(Context *context) {
  return reinterpret_cast<CUcontext>(context);
}
static Context *fromHandle(CUcontext context) {
  return reinterpret_cast<Context *>(context);
}

FA4_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  FA4_CALL(Init);
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  ++call->primaryUses;
  *context = handle(&call->primary);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  FA4_CALL(Init);
  call->pending = CUDA_SUCCESS;
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FA4_ALIAS(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset);

FA4_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  FA4_CALL(Init);
  if (!call->primaryUses)
    return CUDA_ERROR_INVALID_CONTEXT;
  // As the driver does, the last release forgets a failure.
  if (--call->primaryUses == 0)
    call->pending = CUDA_SUCCESS;
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FA4_ALIAS(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease);

FA4_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  FA4_CALL(Init);
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FA4_ALIAS(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags);

FA4_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                            int *active) {
  FA4_CALL(Init);
  *flags = 0;
  *active = call->primaryUses != 0;
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

FA4_API CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags,
                                CUdevice device) {
  FA4_CALL(Init);
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  auto *made = new Context;
  call->contexts.insert(made);
  contextStack.push_back(made);
  *context = handle(made);
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuCtxCreate, cuCtxCreate_v2);

FA4_API CUresult cuCtxCreate_v3(CUcontext *context, void *params, int count,
                                unsigned flags, CUdevice device) {
  return cuCtxCreate_v2(context, flags, device);
}

FA4_API CUresult cuCtxCreate_v4(CUcontext *context, void *params,
                                unsigned flags, CUdevice device) {
  return cuCtxCreate_v2(context, flags, device);
}

FA4_API CUresult cuCtxDestroy(CUcontext context) {
  FA4_CALL(Init);
  Context *known = fromHandle(context);
  if (known == &call->primary || !call->contexts.erase(known))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!contextStack.empty() && contextStack.back() == known)
    contextStack.pop_back();
  delete known;
  call->pending = CUDA_SUCCESS;
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuCtxDestroy_v2, cuCtxDestroy);

FA4_API CUresult cuCtxGetCurrent(CUcontext *context) {
  FA4_CALL(Init);
  *context = handle(currentContext());
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxSetCurrent(CUcontext context) {
  FA4_CALL(Init);
  if (context && !call->contexts.count(fromHandle(context)))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!contextStack.empty())
    contextStack.pop_back();
  if (context)
    contextStack.push_back(fromHandle(context));
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxPushCurrent(CUcontext context) {
  FA4_CALL(Init);
  if (!call->contexts.count(fromHandle(context)))
    return CUDA_ERROR_INVALID_CONTEXT;
  contextStack.push_back(fromHandle(context));
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuCtxPushCurrent_v2, cuCtxPushCurrent);

FA4_API CUresult cuCtxPopCurrent(CUcontext *context) {
  FA4_CALL(Context);
  if (context)
    *context = handle(contextStack.back());
  contextStack.pop_back();
  return CUDA_SUCCESS;
}
FA4_ALIAS(cuCtxPopCurrent_v2, cuCtxPopCurrent);

FA4_API CUresult cuCtxGetDevice(CUdevice *device) {
  FA4_CALL(Context);
  *device = 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context) {
  FA4_CALL(Init);
  *device = 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version) {
  FA4_CALL(Init);
  *version = 3020;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxGetFlags(unsigned *flags) {
  FA4_CALL(Context);
  *flags = 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxSetLimit(int limit, size_t value) {
  FA4_CALL(Context);
  return CUDA_SUCCESS; // Of stacks, heaps and printf, which have no limits
                       // here.
}

FA4_API CUresult cuCtxGetLimit(size_t *value, int limit) {
  FA4_CALL(Context);
  *value = 0;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxSetCacheConfig(int config) {
  FA4_CALL(Context);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  FA4_CALL(Context);
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxSynchronize(void) {
  FA4_CALL(Healthy);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuCtxSynchronize_v2(CUcontext context) {
  FA4_CALL(Healthy);
  return CUDA_SUCCESS;
}
