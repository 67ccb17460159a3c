//===- Host.cpp - what compiled host code calls ---------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4-runtime/Host.h"
#include "Guard.h"
#include "Program.h"
#include <algorithm>
#include <charconv>
#include <optional>

using namespace fa4::runtime;

namespace {

struct HostArgument {
  bool isTensor = false;
  int index = -1; ///< Among the tensors or scalars of the program.
  std::optional<DType> dtype;
  int32_t rank = 0;
};

/// What a kernel's `state` points to: the kernel on each GPU that has launched
/// it.
struct HostKernel {
  struct OnGpu {
    CUcontext context;
    std::unique_ptr<Fa4RuntimeProgram> program;
    std::vector<HostArgument> arguments;
  };
  std::list<OnGpu> gpus;
};

struct KeptError {
  Fa4RuntimeStatus status = FA4_RUNTIME_OK;
  std::string message;
};

} // namespace

static thread_local KeptError kept;

/// Guards the states of all kernels.
static std::mutex &stateMutex() {
  static std::mutex mutex;
  return mutex;
}

/// Runs `body` unless something has failed before; a failure is kept.
template <typename F> static void keepErrors(F body) {
  if (kept.status != FA4_RUNTIME_OK)
    return;
  char *message = nullptr;
  Fa4RuntimeStatus status = guard(&message, body);
  if (status == FA4_RUNTIME_OK)
    return;
  // Without memory for the message the status is left.
  kept.status = status;
  guard(nullptr, [&] { kept.message = message ? message : ""; });
  std::free(message);
}

/// The current context, or the first GPU's primary one, which is then retained
/// for as long as the process runs.
static CUcontext findContext(const Driver &driver) {
  CUcontext current = nullptr;
  driver.check(driver.ctxGetCurrent(&current), "cuCtxGetCurrent");
  if (current)
    return current;
  static const CUcontext primary = [&] {
    CUcontext retained = nullptr;
    driver.check(driver.primaryRetain(&retained, 0),
                 "cuDevicePrimaryCtxRetain");
    return retained;
  }();
  return primary;
}

static std::vector<HostArgument> readNames(const Manifest &manifest,
                                           std::string_view text) {
  std::vector<HostArgument> arguments;
  while (!text.empty()) {
    std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    size_t first = entry.find(':'), second = entry.find(':', first + 1);
    std::string_view name = entry.substr(0, first);
    HostArgument argument;
    if (first != std::string_view::npos)
      argument.dtype = dtypeByName(entry.substr(first + 1, second - first - 1));
    argument.isTensor = second != std::string_view::npos;
    if (argument.isTensor)
      std::from_chars(entry.data() + second + 1, entry.data() + entry.size(),
                      argument.rank);
    argument.index = argument.isTensor ? manifest.findTensor(name)
                                       : manifest.findScalar(name);
    if (argument.index < 0 || !argument.dtype || argument.rank < 0)
      fail(FA4_RUNTIME_BAD_MANIFEST,
           "the argument '" + std::string(entry) +
               "' of compiled host code is not one of the manifest's");
    arguments.push_back(argument);
  }
  return arguments;
}

static HostKernel::OnGpu &findOnGpu(Fa4RuntimeHostKernel &kernel,
                                    CUcontext context) {
  std::lock_guard<std::mutex> lock(stateMutex());
  if (!kernel.state)
    kernel.state = new HostKernel();
  auto &gpus = static_cast<HostKernel *>(kernel.state)->gpus;
  auto known = std::find_if(gpus.begin(), gpus.end(),
                            [&](auto &gpu) { return gpu.context == context; });
  if (known != gpus.end())
    return *known;
  Fa4RuntimeImage image = {sizeof(image), nullptr, kernel.image,
                           kernel.imageLength};
  Fa4RuntimeLoadOptions options = {};
  options.size = sizeof(options);
  options.manifest = kernel.manifest;
  options.manifestLength = kernel.manifestLength;
  options.images = &image;
  options.numImages = 1;
  auto program = std::make_unique<Fa4RuntimeProgram>(options);
  std::vector<HostArgument> arguments =
      readNames(program->manifest, kernel.arguments);
  gpus.push_back({context, std::move(program), std::move(arguments)});
  return gpus.back();
}

static Arguments readValues(const HostKernel::OnGpu &gpu,
                            const int64_t *values) {
  const Manifest &manifest = gpu.program->manifest;
  Arguments result;
  result.tensors.resize(manifest.tensors.size());
  result.scalars.resize(manifest.scalars.size());
  for (const HostArgument &argument : gpu.arguments) {
    auto index = size_t(argument.index);
    if (argument.isTensor) {
      const int64_t *shape = values + 1;
      result.tensors[index] = {true,
                               uint64_t(*values),
                               dtypeName(*argument.dtype),
                               argument.rank,
                               shape,
                               shape + argument.rank};
      values += 1 + 2 * argument.rank;
      continue;
    }
    double floating;
    std::memcpy(&floating, values, sizeof(floating));
    result.scalars[index] =
        isFloat(*argument.dtype) ? Number(floating) : Number(*values);
    ++values;
  }
  return result;
}

void fa4RuntimeHostLaunch(Fa4RuntimeHostKernel *kernel, const int64_t *values,
                          void *stream) {
  keepErrors([&] {
    const Driver &driver = Driver::get();
    CUcontext context = findContext(driver);
    ContextScope scope(driver, context);
    HostKernel::OnGpu &gpu = findOnGpu(*kernel, context);
    gpu.program->run(readValues(gpu, values), static_cast<CUstream>(stream));
  });
}

void *fa4RuntimeHostAllocate(int64_t bytes, void *stream) {
  CUdeviceptr address = 0;
  keepErrors([&] {
    const Driver &driver = Driver::get();
    ContextScope scope(driver, findContext(driver));
    // The driver has no allocations of 0 bytes.
    driver.check(driver.memAllocAsync(&address,
                                      size_t(std::max<int64_t>(bytes, 1)),
                                      static_cast<CUstream>(stream)),
                 "memory of " + std::to_string(bytes) + " bytes on the GPU");
  });
  return reinterpret_cast<void *>(address);
}

void fa4RuntimeHostFree(void *address, void *stream) {
  if (!address)
    return;
  // Also after a failure.
  KeptError before = std::move(kept);
  kept = KeptError();
  keepErrors([&] {
    const Driver &driver = Driver::get();
    ContextScope scope(driver, findContext(driver));
    driver.check(driver.memFreeAsync(reinterpret_cast<CUdeviceptr>(address),
                                     static_cast<CUstream>(stream)),
                 "cuMemFreeAsync");
  });
  if (before.status != FA4_RUNTIME_OK)
    kept = std::move(before);
}

namespace {
/// A dimension of a copy; strides in bytes.
struct CopyDim {
  int64_t size, from, to;
};
} // namespace

/// The dimensions of a copy, as few as it takes: those of one element are left
/// out, and those that lie behind each other in both memories are one. Empty if
/// there is one element; nothing if there is none.
static std::optional<std::vector<CopyDim>>
readCopyDims(int64_t rank, int64_t elementBytes, const int64_t *sizes) {
  const int64_t *from = sizes + rank, *to = from + rank;
  std::vector<CopyDim> dims;
  for (int64_t i = 0; i < rank; ++i) {
    CopyDim dim = {sizes[i], from[i] * elementBytes, to[i] * elementBytes};
    if (dim.size == 0)
      return std::nullopt;
    if (dim.size == 1)
      continue;
    if (!dims.empty() && dims.back().from == dim.size * dim.from &&
        dims.back().to == dim.size * dim.to)
      dims.back() = {dims.back().size * dim.size, dim.from, dim.to};
    else
      dims.push_back(dim);
  }
  return dims;
}

/// Copies `dims`, whose innermost elements are runs of `width` bytes: two
/// dimensions at a time, where the driver takes their pitches.
static void copyRuns(const Driver &driver, CUdeviceptr from, CUdeviceptr to,
                     size_t width, const CopyDim *dims, size_t count,
                     CUstream stream) {
  constexpr int64_t kMaxPitch = INT32_MAX;
  if (count == 0)
    return driver.check(driver.memcpyDtoD(to, from, width, stream),
                        "cuMemcpyDtoDAsync");
  auto isPitch = [&](int64_t stride) {
    return stride >= int64_t(width) && stride <= kMaxPitch;
  };
  if (count == 1 && isPitch(dims->from) && isPitch(dims->to)) {
    Memcpy2D copy = {};
    copy.from.memoryType = copy.to.memoryType = kDeviceMemory;
    copy.from.device = from;
    copy.from.pitch = size_t(dims->from);
    copy.to.device = to;
    copy.to.pitch = size_t(dims->to);
    copy.widthInBytes = width;
    copy.height = size_t(dims->size);
    return driver.check(driver.memcpy2D(&copy, stream), "cuMemcpy2DAsync");
  }
  for (int64_t i = 0; i < dims->size; ++i)
    copyRuns(driver, from + uint64_t(i * dims->from),
             to + uint64_t(i * dims->to), width, dims + 1, count - 1, stream);
}

void fa4RuntimeHostCopy(int64_t rank, int64_t elementBytes,
                        const int64_t *values, void *stream) {
  keepErrors([&] {
    const Driver &driver = Driver::get();
    ContextScope scope(driver, findContext(driver));
    auto dims = readCopyDims(rank, elementBytes, values + 2);
    if (!dims)
      return;
    auto width = size_t(elementBytes);
    if (!dims->empty() && dims->back().from == elementBytes &&
        dims->back().to == elementBytes) {
      width *= size_t(dims->back().size);
      dims->pop_back();
    }
    copyRuns(driver, CUdeviceptr(values[0]), CUdeviceptr(values[1]), width,
             dims->data(), dims->size(), static_cast<CUstream>(stream));
  });
}

Fa4RuntimeStatus fa4RuntimeHostTakeError(char **message) {
  Fa4RuntimeStatus status = kept.status;
  if (message)
    *message = status == FA4_RUNTIME_OK ? nullptr : copyText(kept.message);
  kept = KeptError();
  return status;
}
