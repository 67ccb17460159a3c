//===- Call.cpp - arguments to launches
//--------------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace fa4::runtime;

namespace fa4::runtime {

/// A tensor of a call: all sizes are known.
struct Tensor : TensorLayout {
  uint64_t address = 0;
};

/// Sizes, tensors and workspaces of a call, checked.
class Resolution {
public:
  Resolution(Fa4RuntimeProgram &program, const Arguments &arguments)
      : program(program), manifest(program.manifest), arguments(arguments) {}

  void resolveSizes();
  void resolveTensors();
  uint64_t layOutWorkspaces();
  void placeTensors();
  void placeWorkspaces(uint64_t workspace);

  Values values;
  std::vector<Tensor> tensors;
  uint64_t zeroBytes = 0; ///< At the beginning of the workspaces.

  /// Whether the tensor is in the memory of `layOutWorkspaces`.
  bool isOwnWorkspace(size_t index) const {
    return manifest.tensors[index].role == Role::Workspace &&
           !arguments.tensors[index].isGiven && program.views[index].tensor < 0;
  }

private:
  void bind(const Expression &expression, int64_t value, const TensorSpec &spec,
            const char *what);
  void bindSizesOf(size_t index);
  void checkGiven(size_t index) const;
  void checkMemory(size_t index) const;

  Fa4RuntimeProgram &program;
  const Manifest &manifest;
  const Arguments &arguments;
  std::vector<uint64_t> offsets; ///< Of workspaces.
};

} // namespace fa4::runtime

static std::string listText(const std::vector<int64_t> &list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i)
    text += (i ? ", " : "") + std::to_string(list[i]);
  return text + "]";
}

static std::string addressText(uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(address));
  return text;
}

/// Where the manifest has a bare name for a size or stride, the tensor says its
/// value.
void Resolution::bind(const Expression &expression, int64_t value,
                      const TensorSpec &spec, const char *what) {
  int symbol = expression.symbol();
  if (symbol < 0)
    return;
  auto i = size_t(symbol);
  if (values[i] && !(*values[i] == Number(value)))
    fail(FA4_RUNTIME_BAD_SIZE, "size '" + manifest.scalars[i] + "' is " +
                                   std::to_string(value) + " by the " + what +
                                   " of '" + spec.name + "', and " +
                                   values[i]->text() + " by another argument");
  values[i] = Number(value);
}

void Resolution::bindSizesOf(size_t index) {
  const TensorSpec &spec = manifest.tensors[index];
  const TensorArgument &given = arguments.tensors[index];
  if (!given.isGiven)
    return;
  size_t rank = spec.shape.size();
  const char *dtype = dtypeName(spec.dtype);
  if (given.dtype && std::strcmp(given.dtype, dtype) != 0)
    fail(FA4_RUNTIME_BAD_ARGUMENT, "tensor '" + spec.name + "' is " +
                                       given.dtype + ", the kernel takes " +
                                       dtype);
  if (!given.shape)
    return;
  if (given.rank < 0 || size_t(given.rank) != rank)
    fail(FA4_RUNTIME_BAD_ARGUMENT,
         "tensor '" + spec.name + "' has " + std::to_string(given.rank) +
             " dimensions, the kernel takes " + std::to_string(rank));
  int64_t packed = 1;
  bool isEmpty =
      std::find(given.shape, given.shape + rank, 0) != given.shape + rank;
  for (size_t d = rank; d-- > 0;) {
    int64_t size = given.shape[d];
    if (size < 0)
      fail(FA4_RUNTIME_BAD_ARGUMENT,
           "tensor '" + spec.name + "' has a negative size");
    bind(spec.shape[d], size, spec, "shape");
    // A dimension of one element, and each of a tensor without elements, has a
    // stride that means nothing; kernels take the one that it would have if it
    // were packed.
    int64_t stride =
        given.strides && size > 1 && !isEmpty ? given.strides[d] : packed;
    if (!spec.strides.empty())
      bind(spec.strides[d], stride, spec, "strides");
    if (__builtin_mul_overflow(stride, std::max<int64_t>(size, 1), &packed))
      packed = INT64_MAX;
  }
}

void Resolution::resolveSizes() {
  values = arguments.scalars;
  for (size_t i = 0; i < manifest.tensors.size(); ++i)
    bindSizesOf(i);
  for (size_t i = 0; i < values.size(); ++i)
    if (!values[i])
      values[i] = manifest.scalars[i] == "sm_count"
                      ? Number(int64_t(program.gpu.smCount))
                      : manifest.defaults[i];
  manifest.addRowMajorStrides(values);
  for (size_t i = 0; i < values.size(); ++i)
    if (!values[i])
      fail(FA4_RUNTIME_BAD_ARGUMENT,
           "'" + manifest.scalars[i] + "' has no value");
  manifest.checkRequirements(values);
}

/// Compares a tensor that the caller gives with what the sizes of the call make
/// of the manifest's.
void Resolution::checkGiven(size_t index) const {
  const TensorSpec &spec = manifest.tensors[index];
  const TensorArgument &given = arguments.tensors[index];
  const Tensor &tensor = tensors[index];
  if (!given.shape)
    return;
  size_t rank = tensor.shape.size();
  std::vector<int64_t> shape(given.shape, given.shape + rank);
  if (shape != tensor.shape)
    fail(FA4_RUNTIME_BAD_SIZE,
         "tensor '" + spec.name + "' has shape " + listText(shape) +
             ", the kernel takes " + listText(tensor.shape) +
             (values.empty() ? ""
                             : " with " + manifest.describeSizes(values, "")));
  // Strides of a tensor without elements lead nowhere.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return;
  if (spec.role == Role::Out || spec.role == Role::InOut)
    for (size_t d = 0; d < rank; ++d)
      if (shape[d] > 1 && tensor.strides[d] == 0)
        fail(FA4_RUNTIME_BAD_ARGUMENT,
             "tensor '" + spec.name + "' has a stride of 0 in dimension " +
                 std::to_string(d) +
                 ", so that several results would be written to one place");
  std::vector<int64_t> packed(rank, 1);
  for (size_t d = rank; d-- > 1;)
    if (__builtin_mul_overflow(packed[d], std::max<int64_t>(shape[d], 1),
                               &packed[d - 1]))
      packed[d - 1] = INT64_MAX;
  for (size_t d = rank; d-- > 0;) {
    int64_t stride = given.strides ? given.strides[d] : packed[d];
    if (shape[d] > 1 && stride != tensor.strides[d])
      fail(FA4_RUNTIME_BAD_ARGUMENT,
           "tensor '" + spec.name + "' has a stride of " +
               std::to_string(stride) + " elements in dimension " +
               std::to_string(d) + ", the kernel takes " +
               std::to_string(tensor.strides[d]));
  }
}

void Resolution::resolveTensors() {
  tensors.resize(manifest.tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    static_cast<TensorLayout &>(tensors[i]) =
        layOut(manifest.tensors[i], values);
    if (arguments.tensors[i].isGiven)
      checkGiven(i);
  }
}

/// Whether a workspace holds zeros before a launch.
static bool isZeros(const TensorSpec &tensor) {
  return tensor.fill != Fill::Undefined && tensor.fillValue == 0;
}

/// Workspaces lie behind each other in one piece of memory. Those that are
/// zeros come first, so that one fill is enough for all of them.
uint64_t Resolution::layOutWorkspaces() {
  constexpr uint64_t kAlignment = 256;
  uint64_t end = 0;
  offsets.assign(tensors.size(), 0);
  for (bool zeros : {true, false}) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (!isOwnWorkspace(i) || isZeros(manifest.tensors[i]) != zeros)
        continue;
      offsets[i] = end;
      end += (tensors[i].bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    if (zeros)
      zeroBytes = end;
  }
  return end;
}

/// Asks the driver what is at an address. Memory that it does not know may be
/// the host's, which some GPUs reach.
void Resolution::checkMemory(size_t index) const {
  const TensorSpec &spec = manifest.tensors[index];
  uint64_t address = tensors[index].address;
  unsigned type = 0;
  int device = -1;
  const Driver &driver = program.driver;
  if (driver.pointerGetAttribute(&type, kMemoryType, address) != 0) {
    if (!program.gpu.hasPageableAccess)
      fail(FA4_RUNTIME_BAD_ARGUMENT,
           "tensor '" + spec.name + "' at " + addressText(address) +
               " is not in memory that " + program.gpu.describe() +
               " can access");
    return;
  }
  if (type == kDeviceMemory &&
      driver.pointerGetAttribute(&device, kDeviceOrdinal, address) == 0 &&
      device != program.gpu.device)
    fail(FA4_RUNTIME_BAD_ARGUMENT,
         "tensor '" + spec.name + "' is on GPU " + std::to_string(device) +
             ", the kernel on " + program.gpu.describe());
}

void Resolution::placeTensors() {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec &spec = manifest.tensors[i];
    if (!arguments.tensors[i].isGiven) {
      if (spec.role != Role::Workspace)
        fail(FA4_RUNTIME_BAD_ARGUMENT, "tensor '" + spec.name + "' is missing");
      continue;
    }
    uint64_t address = arguments.tensors[i].address;
    uint64_t alignment =
        std::max<uint64_t>(spec.alignment, dtypeBytes(spec.dtype));
    tensors[i].address = address;
    if (address % alignment)
      fail(FA4_RUNTIME_BAD_ARGUMENT,
           "tensor '" + spec.name + "' is at " + addressText(address) +
               ", which is no multiple of " + std::to_string(alignment));
    if (tensors[i].bytes && arguments.isMemoryChecked)
      checkMemory(i);
  }
}

void Resolution::placeWorkspaces(uint64_t workspace) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (isOwnWorkspace(i))
      tensors[i].address = workspace + offsets[i];
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!arguments.tensors[i].isGiven && program.views[i].tensor >= 0)
      tensors[i].address = tensors[size_t(program.views[i].tensor)].address +
                           program.views[i].offset;
}

uint64_t fa4::runtime::countWorkspaceBytes(Fa4RuntimeProgram &program,
                                           const Arguments &arguments,
                                           bool checkAddresses) {
  Resolution resolution(program, arguments);
  resolution.resolveSizes();
  resolution.resolveTensors();
  if (checkAddresses)
    resolution.placeTensors();
  return resolution.layOutWorkspaces();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The bits of `value` as a floating-point type of so many bits of exponent and
/// mantissa, rounded to nearest even as frameworks do.
static uint64_t roundFloat(double value, int exponentBits, int mantissaBits,
                           bool hasInfinity) {
  int bias = (1 << (exponentBits - 1)) - 1;
  uint64_t sign = uint64_t(std::signbit(value))
                  << (exponentBits + mantissaBits);
  uint64_t ones = (uint64_t(1) << exponentBits) - 1;
  uint64_t infinity = hasInfinity ? ones << mantissaBits
                                  : (ones << mantissaBits) |
                                        ((uint64_t(1) << mantissaBits) - 1);
  if (std::isnan(value))
    return sign | (ones << mantissaBits) |
           (hasInfinity ? uint64_t(1) << (mantissaBits - 1)
                        : (uint64_t(1) << mantissaBits) - 1);
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return sign | infinity;
  int exponent;
  std::frexp(magnitude, &exponent); // magnitude = [0.5, 1) * 2^exponent
  int unit = std::max(exponent - 1, 1 - bias) - mantissaBits;
  // Exact: a double has more bits than any type here.
  auto steps = uint64_t(std::nearbyint(std::ldexp(magnitude, -unit)));
  // The steps of normal numbers have the implicit bit, which carries into the
  // exponent.
  uint64_t bits =
      steps + (uint64_t(unit + mantissaBits + bias - 1) << mantissaBits);
  return sign | std::min(bits, infinity);
}

/// Writes the bytes of a scalar parameter.
static void encodeScalar(const Number &number, DType type,
                         const std::string &place, uint8_t *to) {
  uint64_t bits = 0;
  unsigned bytes = dtypeBytes(type);
  if (isFloat(type)) {
    double value = number.asDouble();
    float single = float(value);
    if (type == DType::F64)
      std::memcpy(&bits, &value, 8);
    else if (type == DType::F32)
      std::memcpy(&bits, &single, 4);
    else
      bits = type == DType::BF16   ? roundFloat(value, 8, 7, true)
             : type == DType::F16  ? roundFloat(value, 5, 10, true)
             : type == DType::E5M2 ? roundFloat(value, 5, 2, true)
                                   : roundFloat(value, 4, 3, false);
  } else {
    int64_t value = number.integer;
    unsigned width = type == DType::Bool ? 1 : 8 * bytes;
    int64_t low = isSigned(type) ? -(int64_t(1) << (width - 1)) : 0;
    bool fits =
        !number.isFloat &&
        (width == 64 ? isSigned(type) || value >= 0
                     : value >= low && value < low + (int64_t(1) << width));
    if (!fits)
      fail(FA4_RUNTIME_BAD_SIZE, "value " + number.text() + " does not fit " +
                                     dtypeName(type) + " at " + place);
    bits = uint64_t(value);
  }
  std::memcpy(to, &bits, bytes);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace fa4::runtime {

class CallBuilder {
public:
  CallBuilder(Fa4RuntimeCall &call, const Arguments &arguments)
      : call(call), program(call.program), arguments(arguments),
        resolution(program, arguments) {}

  void build();

private:
  uint64_t provideWorkspace(uint64_t bytes);
  void addFills(uint64_t workspace);
  /// How `value` is written to the elements of a tensor; the rows are not set.
  Fa4RuntimeCall::Fill makeFill(size_t tensor, double value) const;
  void fillElements(size_t tensor, double value,
                    std::vector<Fa4RuntimeCall::Fill> &fills) const;
  void buildLaunch(size_t index);
  void extents(const Expression (&from)[3], unsigned (&to)[3], const char *what,
               const LaunchSpec &launch) const;
  void checkShape(const Fa4RuntimeCall::Launch &launch,
                  const unsigned (&cluster)[3]) const;
  void write(const ParamSpec &param, uint8_t *to);
  TensorMapBytes makeMap(const ParamSpec &param);

  Fa4RuntimeCall &call;
  Fa4RuntimeProgram &program;
  const Arguments &arguments;
  Resolution resolution;
  uint64_t mapBase = 0; ///< Of the recorded map that is being made.
  TensorMapBytes *next = nullptr;
};

} // namespace fa4::runtime

/// Returns the address of the workspaces.
uint64_t CallBuilder::provideWorkspace(uint64_t bytes) {
  uint64_t workspace = arguments.workspace;
  if (workspace && arguments.workspaceBytes < bytes)
    fail(FA4_RUNTIME_BAD_ARGUMENT,
         "the workspace has " + std::to_string(arguments.workspaceBytes) +
             " bytes, the call needs " + std::to_string(bytes));
  if (workspace % 256)
    fail(FA4_RUNTIME_BAD_ARGUMENT, "the workspace is at " +
                                       addressText(workspace) +
                                       ", which is no multiple of 256");
  if (!workspace && bytes) {
    call.ownWorkspace = program.pool->allocate(bytes);
    workspace = call.ownWorkspace->address;
  }
  resolution.placeWorkspaces(workspace);
  return workspace;
}

/// Workspaces hold what the manifest says before each launch, whoever has
/// allocated them.
void CallBuilder::addFills(uint64_t workspace) {
  if (resolution.zeroBytes)
    call.fills.push_back({workspace, resolution.zeroBytes, 1, 0});
  for (size_t i = 0; i < resolution.tensors.size(); ++i) {
    const TensorSpec &spec = program.manifest.tensors[i];
    const Tensor &tensor = resolution.tensors[i];
    if (spec.role != Role::Workspace || spec.fill == Fill::Undefined ||
        !tensor.bytes || program.views[i].tensor >= 0 ||
        (isZeros(spec) && resolution.isOwnWorkspace(i)))
      continue;
    Fa4RuntimeCall::Fill fill = makeFill(i, spec.fillValue);
    fill.bytes = tensor.bytes;
    call.fills.push_back(fill);
  }
}

Fa4RuntimeCall::Fill CallBuilder::makeFill(size_t tensor, double value) const {
  const TensorSpec &spec = program.manifest.tensors[tensor];
  Fa4RuntimeCall::Fill fill;
  fill.address = resolution.tensors[tensor].address;
  if (value == 0)
    return fill;
  uint64_t bits = 0;
  bool isWhole = value == std::floor(value) && std::fabs(value) < 0x1p63;
  Number number =
      isFloat(spec.dtype) || !isWhole ? Number(value) : Number(int64_t(value));
  encodeScalar(number, spec.dtype, "the fill of '" + spec.name + "'",
               reinterpret_cast<uint8_t *>(&bits));
  fill.elementBytes = dtypeBytes(spec.dtype);
  if (fill.elementBytes == 8) {
    if (bits >> 32 != (bits & 0xffffffff))
      fail(FA4_RUNTIME_BAD_MANIFEST,
           program.manifest.file + ": the fill of '" + spec.name +
               "' has two halves, which the driver does not write");
    fill.elementBytes = 4;
  }
  fill.value = unsigned(bits);
  return fill;
}

namespace {
/// A dimension of a tensor; the stride in bytes.
struct FillDim {
  uint64_t stride, size;
};
} // namespace

/// The dimensions of a tensor from the smallest stride on. The first one is a
/// run of elements that lie behind each other, and dimensions that go on where
/// the one before ends are one with it.
static std::vector<FillDim> joinDims(const Tensor &tensor, uint64_t element) {
  std::vector<FillDim> dims;
  for (size_t d = 0; d < tensor.shape.size(); ++d)
    if (tensor.shape[d] > 1)
      dims.push_back(
          {uint64_t(tensor.strides[d]) * element, uint64_t(tensor.shape[d])});
  std::sort(dims.begin(), dims.end(), [](const FillDim &a, const FillDim &b) {
    return a.stride < b.stride;
  });
  std::vector<FillDim> joined = {{element, 1}};
  for (const FillDim &dim : dims)
    if (FillDim &last = joined.back(); dim.stride == last.stride * last.size)
      last.size *= dim.size;
    else
      joined.push_back(dim);
  return joined;
}

/// Adds fills of all elements of a tensor, and of nothing between them: as many
/// rows at once as have one pitch.
void CallBuilder::fillElements(size_t index, double value,
                               std::vector<Fa4RuntimeCall::Fill> &fills) const {
  const Tensor &tensor = resolution.tensors[index];
  if (tensor.bytes == 0)
    return;
  uint64_t element = dtypeBytes(program.manifest.tensors[index].dtype);
  std::vector<FillDim> dims = joinDims(tensor, element);
  Fa4RuntimeCall::Fill fill = makeFill(index, value);
  fill.bytes = element * dims[0].size;
  size_t outer = 1;
  constexpr uint64_t kMaxPitch = INT32_MAX;
  if (dims.size() > 1 && dims[1].stride >= fill.bytes &&
      dims[1].stride <= kMaxPitch) {
    fill.rows = dims[1].size;
    fill.pitch = dims[1].stride;
    outer = 2;
  }
  std::vector<uint64_t> position(dims.size(), 0);
  for (;;) {
    fills.push_back(fill);
    size_t d = outer;
    for (; d < dims.size(); ++d) {
      fill.address += dims[d].stride;
      if (++position[d] < dims[d].size)
        break;
      fill.address -= dims[d].stride * dims[d].size;
      position[d] = 0;
    }
    if (d >= dims.size())
      return;
  }
}

void CallBuilder::extents(const Expression (&from)[3], unsigned (&to)[3],
                          const char *what, const LaunchSpec &launch) const {
  for (int i = 0; i < 3; ++i) {
    int64_t value = from[i].evaluateInteger(resolution.values);
    if (value < 1 || value > INT32_MAX)
      fail(FA4_RUNTIME_BAD_SIZE, std::string(what) + ": '" + from[i].text() +
                                     "' is " + std::to_string(value) +
                                     ", not from 1 to 2^31 - 1, at " +
                                     launch.where);
    to[i] = unsigned(value);
  }
}

void CallBuilder::checkShape(const Fa4RuntimeCall::Launch &launch,
                             const unsigned (&cluster)[3]) const {
  const Gpu &gpu = program.gpu;
  // Three numbers below 2^31.
  unsigned __int128 threads = 1, ctas = 1;
  for (int i = 0; i < 3; ++i) {
    threads *= launch.config.block[i];
    ctas *= cluster[i];
    if (launch.config.grid[i] > unsigned(gpu.maxGrid[i]))
      fail(FA4_RUNTIME_BAD_SIZE,
           "the grid of '" + launch.kernel->entry + "' has " +
               std::to_string(launch.config.grid[i]) + " CTAs in dimension " +
               std::to_string(i) + ", at most " +
               std::to_string(gpu.maxGrid[i]) + " are possible");
    if (launch.config.grid[i] % cluster[i])
      fail(FA4_RUNTIME_BAD_SIZE,
           "the grid of '" + launch.kernel->entry + "' has " +
               std::to_string(launch.config.grid[i]) + " CTAs in dimension " +
               std::to_string(i) + ", which clusters of " +
               std::to_string(cluster[i]) + " do not divide");
  }
  int limit = std::min(gpu.maxThreads, launch.kernel->maxThreads
                                           ? launch.kernel->maxThreads
                                           : gpu.maxThreads);
  if (threads > unsigned(limit))
    fail(FA4_RUNTIME_BAD_SIZE, "a CTA of '" + launch.kernel->entry + "' has " +
                                   std::to_string(uint64_t(threads)) +
                                   " threads, at most " +
                                   std::to_string(limit) + " are possible");
  constexpr unsigned kMaxCluster = 16; // Of all GPUs so far.
  if (ctas > kMaxCluster)
    fail(FA4_RUNTIME_BAD_SIZE,
         "a cluster of '" + launch.kernel->entry + "' has " +
             std::to_string(uint64_t(ctas)) + " CTAs, at most " +
             std::to_string(kMaxCluster) + " are possible");
}

TensorMapBytes CallBuilder::makeMap(const ParamSpec &param) {
  const TensorMapSpec &spec = param.map;
  TensorMapKey key;
  auto evaluate = [&](const Expression &expression, int64_t limit) {
    int64_t value = expression.evaluateInteger(resolution.values);
    if (value < 0 || value > limit)
      fail(FA4_RUNTIME_BAD_SIZE,
           "'" + expression.text() + "' is " + std::to_string(value) +
               ", not from 0 to " + std::to_string(limit) + ", at " +
               param.where);
    return value;
  };
  key.rank = int32_t(spec.dims.size());
  key.type = spec.type;
  key.swizzle = spec.swizzle;
  key.interleave = spec.interleave;
  key.fill = spec.fillNan;
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    key.dims[d] = uint64_t(evaluate(spec.dims[d], int64_t(1) << 32));
    key.box[d] = uint32_t(evaluate(spec.box[d], UINT16_MAX));
    key.elementStrides[d] =
        spec.elementStrides.empty()
            ? 1
            : uint32_t(evaluate(spec.elementStrides[d], UINT8_MAX));
    if (d)
      key.byteStrides[d - 1] =
          uint64_t(evaluate(spec.byteStrides[d - 1], INT64_MAX));
  }
  key.base = (spec.tensor >= 0 ? resolution.tensors[size_t(spec.tensor)].address
                               : mapBase) +
             uint64_t(spec.offset.evaluateInteger(resolution.values));
  // How much L2 reads at once: what CUDA's libraries ask for.
  key.promotion = 2; // CU_TENSOR_MAP_L2_PROMOTION_L2_128B
  return program.encode(key, param.where);
}

void CallBuilder::write(const ParamSpec &param, uint8_t *to) {
  switch (param.kind) {
  case ParamSpec::Kind::Bytes:
    std::copy(param.bytes.begin(), param.bytes.end(), to);
    break;
  case ParamSpec::Kind::Pointer: {
    uint64_t address = resolution.tensors[size_t(param.tensor)].address +
                       uint64_t(param.value.evaluateInteger(resolution.values));
    std::memcpy(to, &address, 8);
    break;
  }
  case ParamSpec::Kind::Value:
    encodeScalar(param.value.evaluate(resolution.values), param.dtype,
                 param.where, to);
    break;
  case ParamSpec::Kind::Map: {
    TensorMapBytes map = makeMap(param);
    std::memcpy(to, &map, sizeof(map));
    break;
  }
  case ParamSpec::Kind::Struct:
    std::fill(to, to + param.structBytes, uint8_t(0));
    for (const auto &[at, field] : param.fields)
      write(field, to + at);
    break;
  }
}

void CallBuilder::buildLaunch(size_t index) {
  const LaunchSpec &spec = program.manifest.launches[index];
  Fa4RuntimeCall::Launch &launch = call.launches[index];
  if (spec.empty && spec.empty->condition.evaluateInteger(resolution.values)) {
    for (const EmptySpec::Fill &fill : spec.empty->fills)
      fillElements(size_t(fill.tensor), fill.value, launch.fills);
    return;
  }
  launch.kernel = program.kernels[index];
  unsigned cluster[3];
  extents(spec.grid, launch.config.grid, "grid", spec);
  extents(spec.block, launch.config.block, "block", spec);
  extents(spec.cluster, cluster, "cluster", spec);
  checkShape(launch, cluster);
  int64_t shared = spec.dynamicShared.evaluateInteger(resolution.values);
  if (shared < 0 || shared > INT32_MAX)
    fail(FA4_RUNTIME_BAD_SIZE,
         "dynamic_smem is " + std::to_string(shared) + " at " + spec.where);
  int64_t clusterSize = int64_t(cluster[0]) * cluster[1] * cluster[2];
  program.configure(*launch.kernel, shared, clusterSize);
  launch.config.dynamicShared = unsigned(shared);
  unsigned &count = launch.config.numAttributes;
  if (clusterSize > 1) {
    launch.attributes[count].id = LaunchAttribute::ClusterDimension;
    std::copy(cluster, cluster + 3, launch.attributes[count++].clusterDim);
  }
  if (spec.programmatic) {
    launch.attributes[count].id =
        LaunchAttribute::ProgrammaticStreamSerialization;
    launch.attributes[count++].programmatic = 1;
  }
  launch.config.attributes = launch.attributes;
  const std::vector<Relocation> &relocations = program.relocations[index];
  for (size_t p = 0; p < spec.params.size(); ++p) {
    auto *bytes = reinterpret_cast<uint8_t *>(next);
    auto address = [&](const Relocation &r) {
      return resolution.tensors[size_t(r.tensor)].address + r.offset;
    };
    for (const Relocation &r : relocations)
      if (r.param == p)
        mapBase = address(r);
    write(spec.params[p], bytes);
    for (const Relocation &r : relocations)
      if (uint64_t value = address(r);
          r.param == p && spec.params[p].kind == ParamSpec::Kind::Bytes)
        std::memcpy(bytes + r.at, &value, 8);
    launch.params.push_back(bytes);
    next += (spec.params[p].countBytes() + sizeof(*next) - 1) / sizeof(*next);
  }
}

void CallBuilder::build() {
  resolution.resolveSizes();
  resolution.resolveTensors();
  resolution.placeTensors();
  addFills(provideWorkspace(resolution.layOutWorkspaces()));
  const std::vector<LaunchSpec> &launches = program.manifest.launches;
  size_t count = 0;
  for (const LaunchSpec &launch : launches)
    for (const ParamSpec &param : launch.params)
      count += (param.countBytes() + sizeof(TensorMapBytes) - 1) /
               sizeof(TensorMapBytes);
  call.storage = std::make_unique<TensorMapBytes[]>(count);
  next = call.storage.get();
  call.launches.resize(launches.size());
  for (size_t i = 0; i < launches.size(); ++i)
    buildLaunch(i);
}

Fa4RuntimeCall::Fa4RuntimeCall(Fa4RuntimeProgram &program,
                               const Arguments &arguments)
    : program(program) {
  ContextScope scope(program.driver, program.context);
  CallBuilder(*this, arguments).build();
}

Fa4RuntimeCall::~Fa4RuntimeCall() {
  if (!ownWorkspace)
    return;
  ownWorkspace.reset();
  try {
    program.pool->collect();
  } catch (const Failure &) {
    // The context is gone, and with it its memory.
  }
}

CUresult Fa4RuntimeCall::fillRow(const Fill &fill, uint64_t address,
                                 CUstream stream) const {
  const Driver &driver = program.driver;
  uint64_t width = fill.bytes / fill.elementBytes;
  switch (fill.elementBytes) {
  case 1:
    return driver.memset8(address, uint8_t(fill.value), width, stream);
  case 2:
    return driver.memset16(address, uint16_t(fill.value), width, stream);
  default:
    return driver.memset32(address, fill.value, width, stream);
  }
}

CUresult Fa4RuntimeCall::fillRows(const Fill &fill, CUstream stream) const {
  const Driver &driver = program.driver;
  uint64_t width = fill.bytes / fill.elementBytes;
  switch (fill.elementBytes) {
  case 1:
    return driver.memset2D8(fill.address, fill.pitch, uint8_t(fill.value),
                            width, fill.rows, stream);
  case 2:
    return driver.memset2D16(fill.address, fill.pitch, uint16_t(fill.value),
                             width, fill.rows, stream);
  default:
    return driver.memset2D32(fill.address, fill.pitch, fill.value, width,
                             fill.rows, stream);
  }
}

void Fa4RuntimeCall::fill(const Fill &fill, CUstream stream) const {
  const Driver &driver = program.driver;
  bool atOnce = fill.rows > 1 && driver.memset2D8 && driver.memset2D16 &&
                driver.memset2D32;
  CUresult result = atOnce ? fillRows(fill, stream) : 0;
  for (uint64_t row = 0; row < fill.rows && !atOnce && result == 0; ++row)
    result = fillRow(fill, fill.address + row * fill.pitch, stream);
  if (result != 0)
    driver.check(result, "the fill of a tensor");
}

void Fa4RuntimeCall::launch(const StreamState &state) const {
  const Driver &driver = program.driver;
  CUstream stream = state.stream;
  ContextScope scope(driver, program.context);
  if (state.isCaptured) {
    program.markCaptured();
    if (ownWorkspace)
      program.pool->keepForGraph(state, ownWorkspace);
  }
  for (const Fill &each : fills)
    fill(each, stream);
  for (const Launch &launch : launches) {
    for (const Fill &each : launch.fills)
      fill(each, stream);
    if (!launch.kernel)
      continue;
    LaunchConfig config = launch.config;
    config.stream = stream;
    CUresult result =
        driver.launchKernel(&config, launch.kernel->function,
                            const_cast<void **>(launch.params.data()), nullptr);
    if (result != 0)
      driver.check(result, "the launch of '" + launch.kernel->entry + "'");
  }
}
