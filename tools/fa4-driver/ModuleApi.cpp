//===- ModuleApi.cpp - modules, libraries, kernels -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>

using namespace fa4::driver;

static Module *fromHandle(CUmodule module) {
  return reinterpret_cast<Module *>(module);
}
static Module *fromHandle(CUlibrary library) {
  return reinterpret_cast<Module *>(library);
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

static CUresult loadImage(const void *image, Module *&module) {
  FA4_CALL(Init);
  return image ? call->load(image, module) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult loadFile(const char *path, Module *&module) {
  FA4_CALL(Init);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return call->fail(CUDA_ERROR_FILE_NOT_FOUND,
                      std::string(path) + ": " + buffer.getError().message());
  if ((*buffer)->getBufferSize() < sizeof(uint32_t))
    return CUDA_ERROR_INVALID_IMAGE;
  return call->load((*buffer)->getBufferStart(), module);
}

FA4_API CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  FA4_CALL(Healthy);
  return loadImage(image, reinterpret_cast<Module *&>(*module));
}

/// Gives the text of an error to a program that has asked for the log of
/// ptxas. The other options are about code that nobody makes.
static CUresult fillLog(CUresult result, unsigned count, const int *options,
                        void **values) {
  enum { ErrorLogBuffer = 5, ErrorLogBytes = 6 };
  char *buffer = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == ErrorLogBuffer)
      buffer = static_cast<char *>(values[i]);
    else if (options[i] == ErrorLogBytes)
      bytes = reinterpret_cast<size_t>(values[i]);
  }
  if (result == CUDA_SUCCESS || !buffer || !bytes)
    return result;
  std::string text = Driver::get().lastMessage;
  text.resize(std::min(text.size(), bytes - 1));
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return result;
}

FA4_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                                    unsigned count, int *options,
                                    void **values) {
  FA4_CALL(Healthy);
  return fillLog(cuModuleLoadData(module, image), count, options, values);
}

FA4_API CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
  return cuModuleLoadData(module, image);
}

FA4_API CUresult cuModuleLoad(CUmodule *module, const char *path) {
  FA4_CALL(Healthy);
  return loadFile(path, reinterpret_cast<Module *&>(*module));
}

FA4_API CUresult cuModuleUnload(CUmodule module) {
  FA4_CALL(Context);
  return call->unload(fromHandle(module));
}

FA4_API CUresult cuModuleGetLoadingMode(int *mode) {
  FA4_CALL(Init);
  *mode = 1; // CU_MODULE_EAGER_LOADING
  return CUDA_SUCCESS;
}

FA4_API CUresult cuLibraryLoadData(CUlibrary *library, const void *image,
                                   int *options, void **values, unsigned count,
                                   int *libraryOptions, void **libraryValues,
                                   unsigned libraryCount) {
  FA4_CALL(Init);
  return fillLog(loadImage(image, reinterpret_cast<Module *&>(*library)), count,
                 options, values);
}

FA4_API CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path,
                                       int *options, void **values,
                                       unsigned count, int *libraryOptions,
                                       void **libraryValues,
                                       unsigned libraryCount) {
  return loadFile(path, reinterpret_cast<Module *&>(*library));
}

FA4_API CUresult cuLibraryUnload(CUlibrary library) {
  FA4_CALL(Init);
  return call->unload(fromHandle(library));
}

FA4_API CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  FA4_CALL(Init);
  *module = reinterpret_cast<CUmodule>(library);
  return call->isModule(fromHandle(library)) ? CUDA_SUCCESS
                                             : CUDA_ERROR_INVALID_HANDLE;
}

//===----------------------------------------------------------------------===//
// Their kernels and variables
//===----------------------------------------------------------------------===//

static CUresult getKernel(Module *module, const char *name, Kernel *&kernel) {
  FA4_CALL(Init);
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  if (!call->isModule(module))
    return CUDA_ERROR_INVALID_HANDLE;
  return call->findKernel(*module, name, kernel);
}

FA4_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                     const char *name) {
  return getKernel(fromHandle(module), name,
                   reinterpret_cast<Kernel *&>(*function));
}

FA4_API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library,
                                    const char *name) {
  return getKernel(fromHandle(library), name,
                   reinterpret_cast<Kernel *&>(*kernel));
}

FA4_API CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  FA4_CALL(Context);
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

static CUresult countKernels(Module *module, unsigned *count) {
  FA4_CALL(Init);
  if (!call->isModule(module))
    return CUDA_ERROR_INVALID_HANDLE;
  *count = unsigned(call->listKernels(*module).size());
  return CUDA_SUCCESS;
}

static CUresult listKernels(Module *module, Kernel **kernels, unsigned count) {
  FA4_CALL(Init);
  if (!call->isModule(module))
    return CUDA_ERROR_INVALID_HANDLE;
  for (Kernel *kernel : call->listKernels(*module))
    if (count-- > 0)
      *kernels++ = kernel;
    else
      break;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module) {
  return countKernels(fromHandle(module), count);
}
FA4_API CUresult cuLibraryGetKernelCount(unsigned *count, CUlibrary library) {
  return countKernels(fromHandle(library), count);
}
FA4_API CUresult cuModuleEnumerateFunctions(CUfunction *functions,
                                            unsigned count, CUmodule module) {
  return listKernels(fromHandle(module), reinterpret_cast<Kernel **>(functions),
                     count);
}
FA4_API CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count,
                                           CUlibrary library) {
  return listKernels(fromHandle(library), reinterpret_cast<Kernel **>(kernels),
                     count);
}

static CUresult getGlobal(Module *module, const char *name,
                          CUdeviceptr *address, size_t *bytes) {
  FA4_CALL(Init);
  if (!call->isModule(module))
    return CUDA_ERROR_INVALID_HANDLE;
  auto found = module->globals.find(name);
  if (found == module->globals.end())
    return CUDA_ERROR_NOT_FOUND;
  if (address)
    *address = found->second;
  if (bytes)
    *bytes = call->memory->find(found->second)->bytes;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes,
                                   CUmodule module, const char *name) {
  return getGlobal(fromHandle(module), name, address, bytes);
}
FA4_ALIAS(cuModuleGetGlobal_v2, cuModuleGetGlobal);
FA4_API CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes,
                                    CUlibrary library, const char *name) {
  return getGlobal(fromHandle(library), name, address, bytes);
}

//===----------------------------------------------------------------------===//
// What is known of a kernel
//===----------------------------------------------------------------------===//

/// An attribute (CUfunction_attribute) by its number. Registers are those that
/// the PTX demands, 0 where it says nothing: nobody has allocated them.
static CUresult getAttribute(const Kernel *kernel, int attribute, int *value) {
  FA4_CALL(Init);
  if (!kernel || !value)
    return CUDA_ERROR_INVALID_VALUE;
  auto set = kernel->attributes.find(attribute);
  if (set != kernel->attributes.end()) {
    *value = set->second;
    return CUDA_SUCCESS;
  }
  const fa4::sim::EntryInfo &entry = *kernel->entry;
  auto product = [](const uint32_t (&n)[3]) { return int(n[0] * n[1] * n[2]); };
  switch (attribute) {
  case 0: // MAX_THREADS_PER_BLOCK
    *value = entry.reqNtid[0]   ? product(entry.reqNtid)
             : entry.maxNtid[0] ? product(entry.maxNtid)
                                : int(call->chip().maxThreads);
    break;
  case 1: // SHARED_SIZE_BYTES
    *value = int(entry.staticSharedBytes);
    break;
  case 3: // LOCAL_SIZE_BYTES
    *value = int(entry.localBytes);
    break;
  case 4: // NUM_REGS
    *value = int(entry.maxNreg);
    break;
  case 5:   // PTX_VERSION
  case 6: { // BINARY_VERSION
    auto [major, minor] = call->computeCapability();
    *value = 10 * major + minor;
    break;
  }
  case 8: // MAX_DYNAMIC_SHARED_SIZE_BYTES
    *value = std::max(0, (48 << 10) - int(entry.staticSharedBytes));
    break;
  case 9: // PREFERRED_SHARED_MEMORY_CARVEOUT
    *value = -1;
    break;
  case 10: // CLUSTER_SIZE_MUST_BE_SET
    *value = entry.explicitCluster && !entry.reqCluster[0];
    break;
  case 11: // REQUIRED_CLUSTER_WIDTH, HEIGHT, DEPTH
  case 12:
  case 13:
    *value = int(entry.reqCluster[attribute - 11]);
    break;
  default:
    *value = 0;
  }
  return CUDA_SUCCESS;
}

static CUresult setAttribute(Kernel *kernel, int attribute, int value) {
  FA4_CALL(Init);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  // SHARED_MEMORY_MODE and what is newer: an older driver knows none of it.
  if (attribute < 8 || attribute > 15)
    return CUDA_ERROR_INVALID_VALUE;
  int most =
      int(call->chip().smemBytes) - int(kernel->entry->staticSharedBytes);
  if (attribute == 8 && (value < 0 || value > most))
    return call->fail(CUDA_ERROR_INVALID_VALUE,
                      "entry '" + kernel->name + "': " + llvm::Twine(value) +
                          " bytes of dynamic shared memory are over the " +
                          llvm::Twine(most) + " that an SM has for it");
  kernel->attributes[attribute] = value;
  return CUDA_SUCCESS;
}

FA4_API CUresult cuFuncGetAttribute(int *value, int attribute,
                                    CUfunction function) {
  return getAttribute(reinterpret_cast<Kernel *>(function), attribute, value);
}
FA4_API CUresult cuKernelGetAttribute(int *value, int attribute,
                                      CUkernel kernel, CUdevice device) {
  return getAttribute(reinterpret_cast<Kernel *>(kernel), attribute, value);
}
FA4_API CUresult cuFuncSetAttribute(CUfunction function, int attribute,
                                    int value) {
  return setAttribute(reinterpret_cast<Kernel *>(function), attribute, value);
}
FA4_API CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel,
                                      CUdevice device) {
  return setAttribute(reinterpret_cast<Kernel *>(kernel), attribute, value);
}

FA4_API CUresult cuFuncSetCacheConfig(CUfunction function, int config) {
  FA4_CALL(Context);
  return CUDA_SUCCESS; // There is no cache.
}
FA4_API CUresult cuKernelSetCacheConfig(CUkernel kernel, int config,
                                        CUdevice device) {
  FA4_CALL(Context);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuFuncLoad(CUfunction function) {
  FA4_CALL(Context);
  return CUDA_SUCCESS;
}
FA4_API CUresult cuFuncIsLoaded(int *state, CUfunction function) {
  FA4_CALL(Context);
  *state = 1; // CU_FUNCTION_LOADING_STATE_LOADED
  return CUDA_SUCCESS;
}

FA4_API CUresult cuFuncGetModule(CUmodule *module, CUfunction function) {
  FA4_CALL(Context);
  *module =
      reinterpret_cast<CUmodule>(reinterpret_cast<Kernel *>(function)->module);
  return CUDA_SUCCESS;
}
FA4_API CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
  FA4_CALL(Context);
  *library =
      reinterpret_cast<CUlibrary>(reinterpret_cast<Kernel *>(kernel)->module);
  return CUDA_SUCCESS;
}

FA4_API CUresult cuFuncGetName(const char **name, CUfunction function) {
  FA4_CALL(Context);
  *name = reinterpret_cast<Kernel *>(function)->name.c_str();
  return CUDA_SUCCESS;
}
FA4_API CUresult cuKernelGetName(const char **name, CUkernel kernel) {
  FA4_CALL(Context);
  *name = reinterpret_cast<Kernel *>(kernel)->name.c_str();
  return CUDA_SUCCESS;
}

FA4_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index,
                                    size_t *offset, size_t *bytes) {
  FA4_CALL(Context);
  const auto &params = reinterpret_cast<Kernel *>(function)->entry->params;
  if (index >= params.size())
    return CUDA_ERROR_INVALID_VALUE;
  *offset = params[index].offset;
  if (bytes)
    *bytes = params[index].bytes;
  return CUDA_SUCCESS;
}
FA4_API CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index,
                                      size_t *offset, size_t *bytes) {
  return cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), index, offset,
                            bytes);
}
