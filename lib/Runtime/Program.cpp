//===- Program.cpp - manifest and code to kernels
//----------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <algorithm>
#include <cstring>

using namespace fa4::runtime;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

struct ProgramLoader {
  ProgramLoader(Fa4RuntimeProgram &program,
                const Fa4RuntimeLoadOptions &options)
      : program(program), options(options), driver(program.driver) {}

  void chooseGpu();
  void loadKernels();
  void findViews();
  void findRelocations();

private:
  const Fa4RuntimeImage *findImage(const LaunchSpec &launch) const;
  CUmodule loadImage(const void *data, size_t bytes, const std::string &name);
  CUmodule loadFile(const LaunchSpec &launch);
  void checkPtxTarget(std::string_view text, const std::string &name) const;
  std::string findOnlyEntry(CUmodule module, const LaunchSpec &launch) const;
  Kernel *findKernel(CUmodule module, const LaunchSpec &launch);
  void checkParams(const Kernel &kernel, const LaunchSpec &launch) const;
  int findRecorded(uint64_t address) const;

  Fa4RuntimeProgram &program;
  const Fa4RuntimeLoadOptions &options;
  const Driver &driver;
  std::map<std::string, CUmodule> loaded; ///< By file or image.
};

void ProgramLoader::chooseGpu() {
  CUcontext current = nullptr;
  CUdevice device = 0;
  int count = 0;
  driver.check(driver.deviceGetCount(&count), "cuDeviceGetCount");
  if (options.hasDevice) {
    if (options.device < 0 || options.device >= count)
      fail(FA4_RUNTIME_WRONG_GPU,
           "there is no GPU " + std::to_string(options.device) +
               ": the driver finds " + std::to_string(count));
    device = options.device;
  } else {
    driver.check(driver.ctxGetCurrent(&current), "cuCtxGetCurrent");
    if (current)
      driver.check(driver.ctxGetDevice(&device), "cuCtxGetDevice");
  }
  CUcontext primary = nullptr;
  if (!current) {
    driver.check(driver.primaryRetain(&primary, device),
                 "cuDevicePrimaryCtxRetain");
    program.isRetained = true;
  }
  program.context = current ? current : primary;
  program.gpu = Gpu(driver, device);
}

const Fa4RuntimeImage *
ProgramLoader::findImage(const LaunchSpec &launch) const {
  const char *at = reinterpret_cast<const char *>(options.images);
  for (size_t i = 0; i < options.numImages; ++i) {
    auto *image = reinterpret_cast<const Fa4RuntimeImage *>(
        at + i * options.images->size);
    if (!image->name || launch.ptx == image->name ||
        launch.entry == image->name)
      return image;
  }
  return nullptr;
}

/// Whether code for `.target sm_100a` runs on the GPU: with an `a` on exactly
/// that one, with an `f` on those of its family that are not older, else on any
/// that is not older.
void ProgramLoader::checkPtxTarget(std::string_view text,
                                   const std::string &name) const {
  size_t at = text.find("\n.target");
  at = text.substr(0, 7) == ".target" ? 0 : at;
  at = at == std::string_view::npos ? at : text.find("sm_", at);
  if (at == std::string_view::npos)
    return;
  std::string_view rest = text.substr(at + 3);
  size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits < 2 || digits > 4)
    return;
  int number = std::stoi(std::string(rest.substr(0, digits)));
  char kind = digits < rest.size() ? rest[digits] : 0;
  const Gpu &gpu = program.gpu;
  int have = 10 * gpu.major + gpu.minor;
  bool fits = kind == 'a'   ? have == number
              : kind == 'f' ? have / 10 == number / 10 && have >= number
                            : have >= number;
  if (fits)
    return;
  std::string target = "sm_" + std::to_string(number);
  if (kind == 'a' || kind == 'f')
    target += kind;
  fail(FA4_RUNTIME_WRONG_GPU,
       name + " is for " + target + ", and does not run on " + gpu.describe());
}

CUmodule ProgramLoader::loadImage(const void *data, size_t bytes,
                                  const std::string &name) {
  // PTX has to end with a zero; machine code says by itself how long it is.
  const char *text = static_cast<const char *>(data);
  bool isPtx =
      bytes && std::memchr(text, 0, std::min<size_t>(bytes, 16)) == nullptr;
  std::string copy;
  if (isPtx) {
    copy.assign(text, bytes);
    checkPtxTarget(copy, name);
  }
  char log[4096] = {};
  int names[] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  CUmodule module = nullptr;
  CUresult result =
      driver.moduleLoad(&module, isPtx ? copy.c_str() : data, 2, names, values);
  if (result == kNoBinaryForGpu)
    fail(FA4_RUNTIME_WRONG_GPU,
         name + " has no code for " + program.gpu.describe());
  if (result != 0) {
    std::string first = log;
    while (!first.empty() && std::strchr("\n\r ", first.back()))
      first.pop_back();
    std::replace(first.begin(), first.end(), '\n', ' ');
    std::string problem = name + " does not load on " + program.gpu.describe() +
                          ": " + driver.describe(result);
    bool isCode = result == kInvalidImage || result == kInvalidPtx;
    fail(isCode                   ? FA4_RUNTIME_BAD_MANIFEST
         : result == kOutOfMemory ? FA4_RUNTIME_NO_MEMORY
                                  : FA4_RUNTIME_DRIVER_ERROR,
         first.empty() ? problem : problem + ": " + first);
  }
  program.modules.push_back(module);
  return module;
}

/// The cubin beside the PTX saves the driver's compilation, unless it is for
/// another GPU.
CUmodule ProgramLoader::loadFile(const LaunchSpec &launch) {
  const std::string &path = launch.file;
  std::string cubin = path.substr(0, path.rfind('.')) + ".cubin";
  std::string code;
  if (cubin != path && fileExists(cubin)) {
    code = readFile(cubin);
    try {
      return loadImage(code.data(), code.size(), cubin);
    } catch (const Failure &failure) {
      if (failure.status != FA4_RUNTIME_WRONG_GPU || !fileExists(path))
        throw;
    }
  }
  code = readFile(path);
  return loadImage(code.data(), code.size(), path);
}

std::string ProgramLoader::findOnlyEntry(CUmodule module,
                                         const LaunchSpec &launch) const {
  unsigned count = 0;
  if (!driver.moduleGetFunctionCount || !driver.moduleEnumerateFunctions ||
      !driver.funcGetName)
    fail(FA4_RUNTIME_BAD_MANIFEST,
         program.manifest.file + ": 'entry' is missing at " + launch.where);
  driver.check(driver.moduleGetFunctionCount(&count, module),
               "cuModuleGetFunctionCount");
  if (count != 1)
    fail(FA4_RUNTIME_BAD_MANIFEST,
         program.manifest.file + ": 'entry' is missing at " + launch.where +
             ", and the code has " + std::to_string(count) + " kernels");
  CUfunction function = nullptr;
  const char *name = nullptr;
  driver.check(driver.moduleEnumerateFunctions(&function, 1, module),
               "cuModuleEnumerateFunctions");
  driver.check(driver.funcGetName(&name, function), "cuFuncGetName");
  return name;
}

/// Compares what the manifest passes with what the kernel takes.
void ProgramLoader::checkParams(const Kernel &kernel,
                                const LaunchSpec &launch) const {
  if (!driver.funcGetParamInfo)
    return;
  size_t count = 0, offset = 0, bytes = 0;
  for (;; ++count) {
    CUresult result =
        driver.funcGetParamInfo(kernel.function, count, &offset, &bytes);
    if (result == kInvalidValue) // There is no parameter of this number.
      break;
    if (result != 0)
      return;
    if (count < launch.params.size() &&
        launch.params[count].countBytes() != bytes)
      fail(FA4_RUNTIME_BAD_MANIFEST,
           program.manifest.file + ": parameter " + std::to_string(count) +
               " of '" + kernel.entry + "' has " + std::to_string(bytes) +
               " bytes, the manifest passes " +
               std::to_string(launch.params[count].countBytes()));
  }
  if (count != launch.params.size())
    fail(FA4_RUNTIME_BAD_MANIFEST,
         program.manifest.file + ": '" + kernel.entry + "' has " +
             std::to_string(count) + " parameters, the manifest passes " +
             std::to_string(launch.params.size()));
}

Kernel *ProgramLoader::findKernel(CUmodule module, const LaunchSpec &launch) {
  std::string entry =
      launch.entry.empty() ? findOnlyEntry(module, launch) : launch.entry;
  std::unique_ptr<Kernel> &kernel = program.functions[{module, entry}];
  if (kernel)
    return kernel.get();
  auto made = std::make_unique<Kernel>();
  made->entry = entry;
  CUresult result =
      driver.moduleGetFunction(&made->function, module, entry.c_str());
  if (result != 0)
    fail(FA4_RUNTIME_BAD_MANIFEST, program.manifest.file +
                                       ": the code has no kernel '" + entry +
                                       "': " + driver.describe(result));
  driver.check(driver.funcGetAttribute(&made->staticShared, kStaticShared,
                                       made->function),
               "cuFuncGetAttribute");
  driver.check(driver.funcGetAttribute(&made->maxThreads, kMaxThreadsOfFunction,
                                       made->function),
               "cuFuncGetAttribute");
  kernel = std::move(made);
  return kernel.get();
}

void ProgramLoader::loadKernels() {
  for (const LaunchSpec &launch : program.manifest.launches) {
    const Fa4RuntimeImage *image = findImage(launch);
    std::string name =
        image ? "image " + std::to_string(size_t(image)) : launch.ptx;
    CUmodule &module = loaded[name];
    if (!module)
      module = image ? loadImage(image->data, image->length,
                                 image->name ? image->name : launch.ptx)
                     : loadFile(launch);
    Kernel *kernel = findKernel(module, launch);
    checkParams(*kernel, launch);
    program.kernels.push_back(kernel);
  }
}

//===----------------------------------------------------------------------===//
// Recorded addresses
//===----------------------------------------------------------------------===//

/// The bytes from the first to the last element of a tensor whose sizes are
/// constant, as those of records are; at least 1.
static uint64_t countRecordedBytes(const TensorSpec &tensor) {
  return std::max<uint64_t>(layOut(tensor, {}).bytes, 1);
}

/// The tensor that has a recorded address in it: one that the caller gives
/// rather than a workspace, and of these the first.
int ProgramLoader::findRecorded(uint64_t address) const {
  int best = -1;
  const std::vector<TensorSpec> &tensors = program.manifest.tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec &tensor = tensors[i];
    if (!tensor.address || address < *tensor.address ||
        address - *tensor.address >= countRecordedBytes(tensor))
      continue;
    if (tensor.role != Role::Workspace)
      return int(i);
    if (best < 0)
      best = int(i);
  }
  return best;
}

void ProgramLoader::findViews() {
  const std::vector<TensorSpec> &tensors = program.manifest.tensors;
  program.views.resize(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec &tensor = tensors[i];
    program.hasWorkspaces |= tensor.role == Role::Workspace;
    if (!tensor.address)
      continue;
    for (const auto *list : {&tensor.shape, &tensor.strides})
      for (const Expression &number : *list)
        if (!number.isConstant())
          fail(FA4_RUNTIME_BAD_MANIFEST,
               program.manifest.file + ": tensor '" + tensor.name +
                   "' has an address, and sizes that depend on the call");
    if (tensor.role != Role::Workspace)
      continue;
    int owner = findRecorded(*tensor.address);
    if (owner == int(i))
      continue;
    uint64_t offset = *tensor.address - *tensors[size_t(owner)].address;
    if (offset + countRecordedBytes(tensor) >
        countRecordedBytes(tensors[size_t(owner)]))
      fail(FA4_RUNTIME_BAD_MANIFEST, program.manifest.file + ": workspace '" +
                                         tensor.name +
                                         "' is partly in another tensor");
    program.views[i] = {owner, offset};
  }
}

/// Records have the addresses of tensors as bytes in parameters, at multiples
/// of four bytes.
void ProgramLoader::findRelocations() {
  bool hasAddresses = std::any_of(
      program.manifest.tensors.begin(), program.manifest.tensors.end(),
      [](const TensorSpec &tensor) { return tensor.address.has_value(); });
  for (const LaunchSpec &launch : program.manifest.launches) {
    std::vector<Relocation> &list = program.relocations.emplace_back();
    for (size_t p = 0; hasAddresses && p < launch.params.size(); ++p) {
      const ParamSpec &param = launch.params[p];
      if (param.kind == ParamSpec::Kind::Map && param.map.address) {
        int tensor = findRecorded(*param.map.address);
        if (tensor < 0)
          fail(FA4_RUNTIME_BAD_MANIFEST, program.manifest.file +
                                             ": the address at " + param.where +
                                             " is in no tensor");
        list.push_back({p, 0, tensor,
                        *param.map.address -
                            *program.manifest.tensors[size_t(tensor)].address});
      }
      for (size_t at = 0; at + 8 <= param.bytes.size(); at += 4) {
        uint64_t value;
        std::memcpy(&value, &param.bytes[at], 8);
        if (int tensor = findRecorded(value); tensor >= 0)
          list.push_back(
              {p, at, tensor,
               value - *program.manifest.tensors[size_t(tensor)].address});
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static Manifest readManifest(const Fa4RuntimeLoadOptions &options) {
  if (options.manifest)
    return Manifest::parse({options.manifest, options.manifestLength},
                           options.file ? options.file : "manifest");
  if (!options.file)
    fail(FA4_RUNTIME_BAD_ARGUMENT,
         "Fa4RuntimeLoadOptions must have a manifest or a file");
  return Manifest::read(options.file);
}

/// Refuses what a manifest may say and only the simulator does.
static void checkSupport(const Manifest &manifest) {
  auto refuse = [&](const std::string &problem) {
    fail(FA4_RUNTIME_BAD_MANIFEST,
         manifest.file + ": " + problem + ", which only the simulator does");
  };
  for (const TensorSpec &tensor : manifest.tensors)
    if (tensor.role == Role::Workspace &&
        (tensor.fill == Fill::Random || tensor.fill == Fill::Iota))
      refuse("workspace '" + tensor.name +
             "' is filled with more than one number");
  for (const LaunchSpec &launch : manifest.launches)
    if (!launch.variables.empty())
      refuse("variable '" + launch.variables.front().name +
             "' has an address at " + launch.where);
}

// What is wrong with the manifest is said where there is no driver, too.
Fa4RuntimeProgram::Fa4RuntimeProgram(const Fa4RuntimeLoadOptions &options)
    : manifest(readManifest(options)), driver(Driver::get()) {
  checkSupport(manifest);
  ProgramLoader loader(*this, options);
  try {
    loader.findViews();
    loader.findRelocations();
    loader.chooseGpu();
    pool = WorkspacePool::of(driver, context);
    ContextScope scope(driver, context);
    RelaxedCapture relaxed(driver);
    loader.loadKernels();
  } catch (...) {
    releaseDriverObjects();
    throw;
  }
}

void Fa4RuntimeProgram::releaseDriverObjects() {
  if (!context)
    return;
  // A graph has launches of these kernels, and perhaps memory of the pool.
  if (isCaptured) {
    new std::shared_ptr<WorkspacePool>(pool); // Never deleted.
    return;
  }
  try {
    ContextScope scope(driver, context);
    calls.clear();
    for (CUmodule module : modules)
      driver.moduleUnload(module);
    pool.reset();
  } catch (const Failure &) {
    // The context is gone, and with it all that was in it.
  }
  if (isRetained)
    driver.primaryRelease(gpu.device);
}

Fa4RuntimeProgram::~Fa4RuntimeProgram() { releaseDriverObjects(); }

void Fa4RuntimeProgram::configure(Kernel &kernel, int64_t dynamicShared,
                                  int64_t clusterSize) {
  if (dynamicShared + kernel.staticShared > gpu.maxDynamicShared)
    fail(FA4_RUNTIME_BAD_SIZE,
         "'" + kernel.entry + "' needs " +
             std::to_string(dynamicShared + kernel.staticShared) +
             " bytes of shared memory, " + gpu.describe() + " has " +
             std::to_string(gpu.maxDynamicShared));
  if (dynamicShared <= kernel.dynamicShared &&
      (clusterSize <= 8 || kernel.allowsLargeClusters))
    return;
  std::lock_guard<std::mutex> lock(mutex);
  if (dynamicShared > kernel.dynamicShared) {
    driver.check(driver.funcSetAttribute(kernel.function,
                                         kMaxDynamicSharedOfFunction,
                                         int(dynamicShared)),
                 "cuFuncSetAttribute of '" + kernel.entry + "'");
    kernel.dynamicShared = int(dynamicShared);
  }
  // Eight CTAs are what all GPUs take.
  if (clusterSize > 8 && !kernel.allowsLargeClusters) {
    driver.check(
        driver.funcSetAttribute(kernel.function, kNonPortableClusters, 1),
        "cuFuncSetAttribute of '" + kernel.entry + "'");
    kernel.allowsLargeClusters = true;
  }
}

/// Returns the driver's encoding. Maps are kept, since most calls are on the
/// tensors of an earlier one.
TensorMapBytes Fa4RuntimeProgram::encode(const TensorMapKey &key,
                                         const std::string &place) {
  constexpr size_t kMaxKept = 4096;
  static_assert(sizeof(TensorMapKey) == 144, "its bytes are the key");
  std::string bytes(reinterpret_cast<const char *>(&key), sizeof(key));
  std::lock_guard<std::mutex> lock(mutex);
  if (auto known = maps.find(bytes); known != maps.end())
    return known->second;
  TensorMapBytes map;
  CUresult result = driver.encodeTiled(
      &map, key.type, uint32_t(key.rank), reinterpret_cast<void *>(key.base),
      key.dims, key.byteStrides, key.box, key.elementStrides, key.interleave,
      key.swizzle, key.promotion, key.fill);
  if (result != 0)
    fail(FA4_RUNTIME_BAD_SIZE,
         "the driver takes no such tensor map as that at " + place + ": " +
             driver.describe(result));
  if (maps.size() >= kMaxKept)
    maps.clear();
  maps.emplace(std::move(bytes), map);
  return map;
}
