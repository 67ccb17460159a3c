//===- Session.cpp - run a manifest ---------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Session.h"
#include "fa4/Simulator/Ptx/Parser.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <cstring>

using namespace fa4::sim;
using llvm::StringRef;
using llvm::Twine;

/// A PTX file that some launches of the session share.
struct Session::Image {
  std::string path;
  std::shared_ptr<const ptx::Module> module;
  std::unique_ptr<Simulator> simulator;
};

Session::Session(Manifest manifest)
    : spec(std::move(manifest)), values(spec.scalars.size()),
      given(spec.scalars.size()), boundBy(spec.scalars.size()),
      memory(std::make_shared<GlobalMemory>()) {}

Session::~Session() = default;

llvm::Error Session::fail(const Twine &message) const {
  return llvm::createStringError(spec.file + ": " + message);
}

const fa4::sim::ptx::Module &Session::module(size_t launch) const {
  return *imageOf[launch]->module;
}

//===----------------------------------------------------------------------===//
// Sizes and shapes
//===----------------------------------------------------------------------===//

bool Session::isDeclared(StringRef name) const {
  return isTensor(name) || spec.findScalar(name) >= 0;
}

llvm::Error Session::noSuchName(StringRef name) const {
  std::vector<std::string> known = spec.scalars;
  for (const TensorSpec &tensor : spec.tensors)
    known.push_back(tensor.name);
  return fail("no scalar or tensor is named '" + name + "'; there are: " +
              (known.empty() ? "none" : llvm::join(known, ", ")));
}

llvm::Error Session::setSize(StringRef name, Number value) {
  int scalar = spec.findScalar(name);
  if (scalar < 0)
    return noSuchName(name);
  given[size_t(scalar)] = value;
  return llvm::Error::success();
}

llvm::Error Session::bindSize(int scalar, Number value, StringRef from) {
  auto i = size_t(scalar);
  if (!values[i]) {
    values[i] = value;
    boundBy[i] = from.str();
  } else if (!(*values[i] == value)) {
    return fail("size '" + spec.scalars[i] + "' is " + values[i]->text() +
                " from " + boundBy[i] + " but " + value.text() + " from " +
                from);
  }
  return llvm::Error::success();
}

static std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

llvm::Error Session::setArray(StringRef name, NpyArray array) {
  int index = spec.findTensor(name);
  if (index < 0)
    return noSuchName(name);
  const TensorSpec *tensor = &spec.tensors[size_t(index)];
  if (npyMeaning(array, tensor->dtype) == NpyMeaning::None)
    return fail("tensor '" + name + "' is " + dtypeName(tensor->dtype) +
                "; an array of " + array.describe() + " cannot fill it");
  if (array.shape.size() != tensor->shape.size())
    return fail("tensor '" + name + "' has " + Twine(tensor->shape.size()) +
                " dimensions, the array is " + array.describe());
  arrays[name] = std::move(array);
  return llvm::Error::success();
}

/// Determines all sizes: first from the call, then from the shapes of arrays,
/// then from defaults, and last the strides that are still open.
llvm::Error Session::resolveSizes() {
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i])
      if (auto error = bindSize(int(i), *given[i], "the call"))
        return error;
  for (const TensorSpec &tensor : spec.tensors) {
    auto array = arrays.find(tensor.name);
    for (size_t i = 0; array != arrays.end() && i < tensor.shape.size(); ++i)
      if (int symbol = tensor.shape[i].symbol(); symbol >= 0)
        if (auto error = bindSize(symbol, array->second.shape[i],
                                  "the shape of '" + tensor.name + "'"))
          return error;
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (!values[i])
      values[i] = spec.defaults[i];
  spec.addRowMajorStrides(values);
  for (size_t i = 0; i < values.size(); ++i)
    if (!values[i])
      return fail("size '" + spec.scalars[i] + "' has no value; give " +
                  spec.scalars[i] + "=N");
  return llvm::Error::success();
}

llvm::Error Session::resolveTensor(const TensorSpec &tensor) {
  auto layout = toExpected([&] { return layOut(tensor, values); });
  if (!layout)
    return fail(llvm::toString(layout.takeError()));
  Tensor &result = resolved.emplace_back();
  static_cast<TensorLayout &>(result) = std::move(*layout);
  result.spec = &tensor;
  auto array = arrays.find(tensor.name);
  if (array == arrays.end() || array->second.shape == result.shape)
    return llvm::Error::success();
  return fail("tensor '" + tensor.name + "' has shape " +
              shapeText(result.shape) + ", the array is " +
              array->second.describe());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Reads the files that the manifest names, except for tensors to which the
/// call gives an array.
llvm::Error Session::readFiles() {
  for (const TensorSpec &tensor : spec.tensors) {
    if (tensor.file.empty() || arrays.contains(tensor.name))
      continue;
    auto array = readNpy(tensor.file);
    if (!array)
      return array.takeError();
    if (auto error = setArray(tensor.name, std::move(*array)))
      return error;
  }
  return llvm::Error::success();
}

/// Tensors at fixed addresses may overlap (views of one storage): they share
/// one allocation. The others get one each.
llvm::Error Session::allocate() {
  std::vector<Tensor *> fixed;
  for (Tensor &tensor : resolved)
    if (tensor.spec->address)
      fixed.push_back(&tensor);
  // Tensors at the same address stay in the order of the manifest. Comparing
  // pointers gives this order, because `resolved` is one array.
  llvm::sort(fixed, [](const Tensor *a, const Tensor *b) {
    return std::pair(*a->spec->address, a) < std::pair(*b->spec->address, b);
  });
  auto place = [&](StringRef name, uint64_t bytes,
                   uint64_t address) -> llvm::Expected<Allocation *> {
    auto allocation =
        memory->allocate(name, std::max<uint64_t>(bytes, 1), address);
    if (!allocation)
      return fail("tensor '" + name +
                  "': " + llvm::toString(allocation.takeError()));
    return *allocation;
  };
  for (size_t i = 0; i < fixed.size();) {
    uint64_t begin = *fixed[i]->spec->address;
    // GlobalMemory would choose an address.
    if (begin == 0)
      return fail("tensor '" + fixed[i]->spec->name +
                  "': address 0x0 is outside of global memory");
    if (begin > ~uint64_t(0) - fixed[i]->bytes)
      return fail("tensor '" + fixed[i]->spec->name +
                  "' reaches beyond the address space");
    uint64_t end = begin + fixed[i]->bytes;
    size_t first = i;
    for (++i; i < fixed.size() && *fixed[i]->spec->address < end; ++i)
      end = std::max(end, *fixed[i]->spec->address + fixed[i]->bytes);
    auto allocation = place(fixed[first]->spec->name, end - begin, begin);
    if (!allocation)
      return allocation.takeError();
    for (; first < i; ++first) {
      fixed[first]->address = *fixed[first]->spec->address;
      (*allocation)->ordered |= fixed[first]->spec->ordered;
    }
  }
  for (Tensor &tensor : resolved) {
    if (tensor.spec->address)
      continue;
    auto allocation = place(tensor.spec->name, tensor.bytes, 0);
    if (!allocation)
      return allocation.takeError();
    tensor.address = (*allocation)->address;
    (*allocation)->ordered = tensor.spec->ordered;
  }
  return llvm::Error::success();
}

uint8_t *Session::dataOf(const Tensor &tensor) const {
  return memory->resolve(tensor.address, tensor.bytes);
}

/// Calls f(packed index, byte offset in the tensor) for each element.
template <typename F> static void forEachElement(const Tensor &tensor, F f) {
  size_t rank = tensor.shape.size();
  unsigned bytes = dtypeBytes(tensor.spec->dtype);
  std::vector<int64_t> index(rank, 0);
  if (tensor.bytes == 0)
    return;
  int64_t count = 1;
  for (int64_t dim : tensor.shape)
    count *= dim;
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    f(i, uint64_t(offset) * bytes);
    for (size_t d = rank; d--;) {
      offset += tensor.strides[d];
      if (++index[d] < tensor.shape[d])
        break;
      offset -= index[d] * tensor.strides[d];
      index[d] = 0;
    }
  }
}

/// Whether the strides show that no two elements share an address: each stride
/// steps over all that the smaller ones reach. Strides that do not show it may
/// still belong to such a tensor.
static bool hasNestedStrides(const Tensor &tensor) {
  std::vector<std::pair<int64_t, int64_t>> dims; // Stride, size.
  for (auto [stride, size] : llvm::zip_equal(tensor.strides, tensor.shape))
    if (size > 1)
      dims.emplace_back(stride, size);
  llvm::sort(dims);
  int64_t reach = 0;
  for (auto [stride, size] : dims) {
    if (stride <= reach)
      return false;
    reach += stride * (size - 1);
  }
  return true;
}

/// Whether two elements, of one tensor or of two, share a byte. The elements of
/// interleaved views, such as the queries and the output of one packed array,
/// do not, though the ranges of their addresses overlap.
static bool shareBytes(const Tensor &a, const Tensor &b) {
  if (&a == &b && hasNestedStrides(a))
    return false;
  uint64_t begin = std::max(a.address, b.address);
  uint64_t end = std::min(a.address + a.bytes, b.address + b.bytes);
  if (begin >= end)
    return false;
  llvm::BitVector taken(end - begin);
  auto forEachByte = [&](const Tensor &tensor, auto function) {
    unsigned bytes = dtypeBytes(tensor.spec->dtype);
    forEachElement(tensor, [&](int64_t, uint64_t offset) {
      for (uint64_t byte = tensor.address + offset, last = byte + bytes;
           byte < last; ++byte)
        if (byte >= begin && byte < end)
          function(byte - begin);
    });
  };
  bool isTwice = false, isShared = false;
  forEachByte(a, [&](uint64_t byte) {
    isTwice |= taken[byte];
    taken.set(byte);
  });
  if (&a == &b)
    return isTwice;
  forEachByte(b, [&](uint64_t byte) { isShared |= taken[byte]; });
  return isShared;
}

/// Tensors at fixed addresses may be views of one storage. One that a kernel
/// writes while it still reads others must not be.
llvm::Error Session::checkExclusive() const {
  for (const Tensor &tensor : resolved) {
    if (!tensor.spec->exclusive)
      continue;
    if (shareBytes(tensor, tensor))
      return fail("tensor '" + tensor.spec->name + "' of shape " +
                  shapeText(tensor.shape) + " and strides " +
                  shapeText(tensor.strides) +
                  " has two elements at one address, but is written and must "
                  "be memory of its own");
    for (const Tensor &other : resolved)
      if (&other != &tensor && shareBytes(tensor, other))
        return fail("tensor '" + tensor.spec->name + "' shares memory with '" +
                    other.spec->name +
                    "', but is written and must be memory of its own");
  }
  return llvm::Error::success();
}

namespace {
/// Normally distributed numbers: splitmix64 makes the bits, Box-Muller the
/// distribution.
class Generator {
public:
  Generator(uint64_t seed, StringRef name) : state(seed) {
    for (char c : name)
      state = next() ^ uint8_t(c);
  }
  double normal() {
    double u = uniform(), v = uniform();
    return std::sqrt(-2 * std::log(1 - u)) * std::cos(6.283185307179586 * v);
  }

private:
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  uint64_t state;
};
} // namespace

/// Writes a value of a tensor's type. One of an integer type is an integer.
static void writeElement(DType type, double value, uint8_t *to) {
  uint64_t bits =
      isFloat(type) ? encodeFloat(type, value) : uint64_t(int64_t(value));
  for (unsigned b = 0; b < dtypeBytes(type); ++b)
    to[b] = uint8_t(bits >> (8 * b));
}

/// Sets the contents that a tensor has before the first launch.
llvm::Error Session::fillTensor(Tensor &tensor, const PrepareOptions &options) {
  const TensorSpec &s = *tensor.spec;
  unsigned bytes = dtypeBytes(s.dtype);
  uint8_t *data = dataOf(tensor);
  auto array = arrays.find(s.name);
  if (array != arrays.end()) {
    std::vector<uint8_t> packed = toTensorBytes(array->second, s.dtype);
    forEachElement(tensor, [&](int64_t i, uint64_t offset) {
      std::memcpy(data + offset, &packed[i * bytes], bytes);
    });
    tensor.hasContents = true;
    return llvm::Error::success();
  }
  bool needed = s.role == Role::In || s.role == Role::InOut;
  Fill fill = s.fill;
  if (fill == Fill::Default && needed && options.randomInputs &&
      isFloat(s.dtype))
    fill = Fill::Random;
  if (fill == Fill::Default && s.role == Role::In && options.mayBeZeros)
    fill = Fill::Zeros;
  if (fill == Fill::Default && s.role == Role::In)
    return fail("tensor '" + s.name + "' has no contents; give " + s.name +
                "=FILE.npy");
  if (fill == Fill::Default)
    fill = s.role == Role::Out ? Fill::Undefined : Fill::Zeros;
  tensor.hasContents = fill != Fill::Undefined;
  if (fill == Fill::Random && !isFloat(s.dtype))
    return fail("tensor '" + s.name +
                "': a random fill needs a floating-point type");
  if (fill == Fill::Value && !isFloat(s.dtype) &&
      (s.fillValue != std::floor(s.fillValue) ||
       std::fabs(s.fillValue) >= 0x1p63))
    return fail("tensor '" + s.name + "': the fill is no integer");
  if (fill == Fill::Undefined || fill == Fill::Zeros)
    return llvm::Error::success();
  Generator generator(options.fillSeed, s.name);
  forEachElement(tensor, [&](int64_t i, uint64_t offset) {
    double value = fill == Fill::Random ? generator.normal()
                   : fill == Fill::Iota ? double(i)
                                        : s.fillValue;
    writeElement(s.dtype, value, data + offset);
  });
  return llvm::Error::success();
}

void Session::findZeroInputs(const PrepareOptions &options) {
  std::vector<std::string> inputs, integers;
  bool anyContents = false;
  for (const TensorSpec &tensor : spec.tensors) {
    if (tensor.role != Role::In && tensor.role != Role::InOut)
      continue;
    bool isRandom = options.randomInputs && isFloat(tensor.dtype);
    if (arrays.contains(tensor.name) || tensor.fill != Fill::Default ||
        isRandom) {
      anyContents = true;
      continue;
    }
    inputs.push_back(tensor.name);
    if (!isFloat(tensor.dtype))
      integers.push_back(tensor.name);
  }
  if (!anyContents)
    zeros = std::move(inputs);
  else if (options.randomInputs)
    zeros = std::move(integers);
}

llvm::Error Session::fill(const PrepareOptions &options) {
  findZeroInputs(options);
  for (Tensor &tensor : resolved)
    if (auto error = fillTensor(tensor, options))
      return error;
  for (const auto &allocation : memory->allocations()) {
    bool defined = llvm::any_of(resolved, [&](const Tensor &tensor) {
      return tensor.hasContents &&
             memory->find(tensor.address) == allocation.get();
    });
    if (!defined)
      undefined.push_back(allocation.get());
  }
  return llvm::Error::success();
}

void Session::reset() {
  for (auto &[allocation, bytes] : snapshot)
    std::memcpy(allocation->data, bytes.data(), bytes.size());
  for (Allocation *allocation : undefined)
    allocation->undefine();
}

llvm::Expected<MemoryPlace> Session::place(StringRef text) const {
  MemoryPlace result;
  StringRef name = text.take_until([](char c) { return c == '['; });
  if (!isTensor(name)) {
    StringRef address = text;
    if (address.consume_front("shared:"))
      result.space = MemSpace::Shared;
    if (address.getAsInteger(0, result.address))
      return fail("'" + text +
                  "' is no place: TENSOR[INDEX,...], an address such as "
                  "0x700000000000, or shared:OFFSET is");
    if (result.space == MemSpace::Global &&
        !memory->resolve(result.address, result.bytes))
      return fail("no tensor has four bytes at " + text);
    return result;
  }
  const Tensor &tensor = tensorOf(spec.findTensor(name));
  StringRef list = text.drop_front(name.size());
  llvm::SmallVector<StringRef> parts;
  llvm::SmallVector<int64_t> index;
  if (!list.consume_front("[") || !list.consume_back("]"))
    return fail("'" + text + "' is no element of '" + name + "'; " + name +
                "[0] is");
  list.split(parts, ',');
  for (StringRef part : parts)
    if (part.trim().getAsInteger(0, index.emplace_back()))
      return fail("'" + text + "': '" + part + "' is no index");
  size_t rank = tensor.shape.size();
  if (index.size() == 1 && rank > 1) {
    int64_t rest = index.front();
    index.assign(rank, 0);
    for (size_t d = rank; d-- > 1;
         rest /= std::max<int64_t>(tensor.shape[d], 1))
      index[d] = rest % std::max<int64_t>(tensor.shape[d], 1);
    index[0] = rest;
  }
  bool isInside = index.size() == rank;
  int64_t element = 0;
  for (size_t d = 0; isInside && d < rank; ++d) {
    isInside = index[d] >= 0 && index[d] < tensor.shape[d];
    element += index[d] * tensor.strides[d];
  }
  if (!isInside)
    return fail("'" + text + "' is outside of '" + name + "', whose shape is " +
                shapeText(tensor.shape));
  result.type = tensor.spec->dtype;
  result.bytes = dtypeBytes(*result.type);
  result.address = tensor.address + uint64_t(element) * result.bytes;
  return result;
}

//===----------------------------------------------------------------------===//
// Preparing and running
//===----------------------------------------------------------------------===//

/// Gives the variables of a launch's module the contents that its record has.
/// Those of an earlier launch are what that launch leaves.
llvm::Error Session::fillVariables(const LaunchSpec &launch) {
  for (const VariableSpec &variable : launch.variables) {
    const Allocation *known = memory->find(variable.address);
    if (!known || known->address != variable.address ||
        known->name != "." + variable.name)
      return fail(launch.file + " has no variable '" + variable.name + "'");
    if (variable.file.empty() || !filled.insert(variable.address).second)
      continue;
    auto array = readNpy(variable.file);
    if (!array)
      return array.takeError();
    if (array->data.size() != known->bytes)
      return fail(variable.file + " has " + Twine(array->data.size()) +
                  " bytes, the variable '" + variable.name + "' " +
                  Twine(known->bytes));
    std::memcpy(known->data, array->data.data(), known->bytes);
  }
  return llvm::Error::success();
}

llvm::Error Session::loadModules() {
  for (const LaunchSpec &launch : spec.launches) {
    auto known = llvm::find_if(
        images, [&](const auto &image) { return image->path == launch.file; });
    if (known != images.end()) {
      if (auto error = fillVariables(launch))
        return error;
      imageOf.push_back(known->get());
      continue;
    }
    auto image = std::make_unique<Image>();
    image->path = launch.file;
    if (auto given = modules.find(launch.file); given != modules.end()) {
      image->module = given->second;
    } else {
      auto module = ptx::parseFile(launch.file);
      if (!module)
        return module.takeError();
      image->module = *module;
    }
    VariablePlaces places;
    for (const VariableSpec &variable : launch.variables)
      places[variable.name] = variable.address;
    auto simulator = Simulator::create(image->module, memory, places);
    if (!simulator)
      return simulator.takeError();
    image->simulator = std::move(*simulator);
    if (auto error = fillVariables(launch))
      return error;
    imageOf.push_back(image.get());
    images.push_back(std::move(image));
  }
  return llvm::Error::success();
}

llvm::Error Session::prepare(const PrepareOptions &options) {
  if (auto error = readFiles())
    return error;
  if (auto error = resolveSizes())
    return error;
  auto isGood =
      toExpected([&] { return spec.checkRequirements(values), true; });
  if (!isGood)
    return fail(llvm::toString(isGood.takeError()));
  resolved.reserve(spec.tensors.size());
  for (const TensorSpec &tensor : spec.tensors)
    if (auto error = resolveTensor(tensor))
      return error;
  if (auto error = allocate())
    return error;
  if (auto error = checkExclusive())
    return error;
  if (auto error = fill(options))
    return error;
  arrays.clear();
  if (auto error = loadModules())
    return error;
  if (auto error = makeConfigs())
    return error;
  for (const auto &allocation : memory->allocations())
    if (options.mayReset)
      snapshot.emplace_back(
          allocation.get(),
          std::vector<uint8_t>(allocation->data,
                               allocation->data + allocation->bytes));
  for (Allocation *allocation : undefined)
    allocation->undefine();
  return llvm::Error::success();
}

/// Writes the elements of results for which nothing runs, and nothing else.
void Session::fillEmpty(const EmptySpec &empty) {
  for (const EmptySpec::Fill &fill : empty.fills) {
    const Tensor &tensor = tensorOf(fill.tensor);
    if (tensor.bytes == 0)
      continue;
    DType type = tensor.spec->dtype;
    uint8_t *data = dataOf(tensor);
    const Allocation *allocation = memory->find(tensor.address);
    uint64_t begin = tensor.address - allocation->address;
    forEachElement(tensor, [&](int64_t, uint64_t offset) {
      writeElement(type, fill.value, data + offset);
      if (!allocation->initialised)
        for (unsigned b = 0; b < dtypeBytes(type); b += 4)
          allocation->setWritten(begin + offset + b);
    });
  }
}

llvm::Error Session::runWith(
    size_t launch,
    llvm::function_ref<llvm::Error(Simulator &, const LaunchConfig &)> execute,
    bool isChecked) {
  if (isEmpty(launch)) {
    fillEmpty(*spec.launches[launch].empty);
    return llvm::Error::success();
  }
  llvm::Error error = execute(*imageOf[launch]->simulator, configs[launch]);
  // The checker has noted what the launch has written. Without one, everything
  // may have been.
  for (Allocation *allocation : undefined)
    allocation->initialised |= !isChecked;
  if (error)
    return fail("launch " + Twine(launch) + ": " +
                llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Expected<RunResult> Session::run(size_t launch,
                                       const RunOptions &options) {
  RunResult result;
  auto execute = [&](Simulator &simulator,
                     const LaunchConfig &config) -> llvm::Error {
    auto done = simulator.run(config, options);
    if (!done)
      return done.takeError();
    result = std::move(*done);
    return llvm::Error::success();
  };
  if (llvm::Error error = runWith(launch, execute, bool(options.checker)))
    return std::move(error);
  return result;
}

llvm::Expected<NpyArray> Session::array(StringRef name, bool raw) const {
  if (!isTensor(name))
    return fail("no tensor is named '" + name + "'");
  const Tensor &tensor = tensorOf(spec.findTensor(name));
  unsigned bytes = dtypeBytes(tensor.spec->dtype);
  std::vector<uint8_t> packed;
  const uint8_t *data = dataOf(tensor);
  forEachElement(tensor, [&](int64_t, uint64_t offset) {
    packed.insert(packed.end(), data + offset, data + offset + bytes);
  });
  return fromTensorBytes(packed, tensor.spec->dtype, tensor.shape, raw);
}
