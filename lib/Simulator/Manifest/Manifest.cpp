//===- Manifest.cpp - reading manifests -----------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Manifest.h"
#include "JsonReader.h"
#include "Record.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace fa4::sim;
using llvm::StringRef;
using llvm::Twine;

bool Manifest::isStride(StringRef size) const {
  return llvm::any_of(tensors, [&](const TensorSpec &tensor) {
    return llvm::any_of(tensor.strides, [&](const Expression &stride) {
      return stride.symbol() == size;
    });
  });
}

void Manifest::addRowMajorStrides(SizeMap &values) const {
  constexpr int64_t limit = int64_t(1) << 40;
  auto isOpen = [&](const Expression &stride) {
    StringRef symbol = stride.symbol();
    return !symbol.empty() && !values.contains(symbol) &&
           llvm::any_of(sizes,
                        [&](const SizeSpec &s) { return s.name == symbol; });
  };
  for (const TensorSpec &tensor : tensors) {
    if (llvm::none_of(tensor.strides, isOpen))
      continue;
    __int128 packed = 1;
    for (size_t d = tensor.shape.size(); d-- > 0;) {
      if (isOpen(tensor.strides[d]))
        values[tensor.strides[d].symbol()] = Number(int64_t(packed));
      auto size = tensor.shape[d].evaluateInteger(values);
      if (!size) {
        llvm::consumeError(size.takeError());
        break;
      }
      packed = std::min<__int128>(packed * std::max<int64_t>(*size, 1), limit);
    }
  }
}

const TensorSpec *Manifest::findTensor(StringRef name) const {
  for (const TensorSpec &tensor : tensors)
    if (tensor.name == name)
      return &tensor;
  return nullptr;
}

std::string fa4::sim::resolvePath(StringRef file, StringRef relative) {
  if (llvm::sys::path::is_absolute(relative))
    return relative.str();
  llvm::SmallString<128> path(llvm::sys::path::parent_path(file));
  llvm::sys::path::append(path, relative);
  return path.str().str();
}

//===----------------------------------------------------------------------===//
// Pieces that manifests and records share
//===----------------------------------------------------------------------===//

bool fa4::sim::readDType(const JsonPlace &place, DType &type) {
  std::string name;
  if (!place.read(name))
    return false;
  auto known = dtypeByName(name);
  if (!known)
    return place.fail("unknown dtype '" + name + "'");
  type = *known;
  return true;
}

std::optional<TensorMapType> fa4::sim::tensorMapType(DType type) {
  switch (type) {
  case DType::Bool:
  case DType::I8:
  case DType::U8:
  case DType::E4M3:
  case DType::E5M2:
    return TensorMapType::U8;
  case DType::I16:
  case DType::U16:
    return TensorMapType::U16;
  case DType::I32:
    return TensorMapType::S32;
  case DType::U32:
    return TensorMapType::U32;
  case DType::I64:
    return TensorMapType::S64;
  case DType::U64:
    return TensorMapType::U64;
  case DType::F16:
    return TensorMapType::F16;
  case DType::BF16:
    return TensorMapType::BF16;
  case DType::F32:
    return TensorMapType::F32;
  case DType::F64:
    return TensorMapType::F64;
  }
  return std::nullopt;
}

/// Reads the type of the elements, which may be one of TMA's own.
static bool readElementType(const JsonPlace &dtype, TensorMapType &type) {
  std::string name;
  if (!dtype.read(name))
    return false;
  auto special = llvm::StringRef(name);
  if (special == "tf32")
    type = TensorMapType::TF32;
  else if (special == "tf32_ftz")
    type = TensorMapType::TF32Ftz;
  else if (special == "f32_ftz")
    type = TensorMapType::F32Ftz;
  else if (special == "b4x16")
    type = TensorMapType::B4x16;
  else if (special == "b4x16_p64")
    type = TensorMapType::B4x16P64;
  else if (special == "b6x16_p32")
    type = TensorMapType::B6x16P32;
  else if (auto known = dtypeByName(name))
    type = *tensorMapType(*known);
  else
    return dtype.fail("unknown dtype '" + name + "'");
  return true;
}

/// Reads what a map has for each dimension of its tensor.
static bool readDimensions(const JsonPlace &place, TensorMapSpec &map) {
  auto list = [&](StringRef key, std::vector<Expression> &values) {
    auto member = place.find(key);
    return !member || member->read(values);
  };
  auto dims = place.require("dims"), box = place.require("box");
  if (!dims || !dims->read(map.dims) || !box || !box->read(map.box) ||
      !list("byte_strides", map.byteStrides) ||
      !list("element_strides", map.elementStrides))
    return false;
  size_t rank = map.dims.size();
  if (rank < 1 || rank > 5)
    return dims->fail("a tensor map has 1 to 5 dimensions");
  if (map.box.size() != rank)
    return box->fail("'box' and 'dims' differ in length");
  if (map.byteStrides.size() != rank - 1)
    return place.fail("'byte_strides' must have one entry less than 'dims'");
  if (!map.elementStrides.empty() && map.elementStrides.size() != rank)
    return place.fail("'element_strides' and 'dims' differ in length");
  return true;
}

/// Reads how boxes lie in shared memory, and what stands for elements outside
/// of the tensor.
static bool readModes(const JsonPlace &place, TensorMapSpec &map) {
  unsigned index = 0;
  if (auto swizzle = place.find("swizzle")) {
    if (!swizzle->readName(index,
                           {"none", "32B", "64B", "128B", "128B_atom_32B",
                            "128B_atom_32B_flip_8B", "128B_atom_64B"},
                           "swizzle"))
      return false;
    map.swizzle = TensorMapSwizzle(index);
  }
  if (auto interleave = place.find("interleave")) {
    if (!interleave->readName(index, {"none", "16B", "32B"}, "interleave"))
      return false;
    map.interleave = uint8_t(index);
  }
  if (auto fill = place.find("oob_fill")) {
    if (!fill->readName(index, {"zero", "nan"}, "fill"))
      return false;
    map.fillNan = index == 1;
  }
  return true;
}

bool fa4::sim::readTensorMap(const JsonPlace &place, TensorMapSpec &map) {
  if (!place.onlyKeys({"tensor", "address", "offset", "dtype", "dims",
                       "byte_strides", "box", "element_strides", "swizzle",
                       "interleave", "oob_fill"}))
    return false;
  auto dtype = place.find("dtype");
  if ((dtype && !readElementType(*dtype, map.type)) ||
      !readDimensions(place, map) || !readModes(place, map))
    return false;
  auto offset = place.find("offset");
  return !offset || offset->read(map.offset);
}

//===----------------------------------------------------------------------===//
// Manifests
//===----------------------------------------------------------------------===//

namespace {

class ManifestReader {
public:
  ManifestReader(Manifest &manifest) : manifest(manifest) {}
  bool read(const JsonPlace &top);

private:
  bool readSizes(const JsonPlace &place);
  bool readTensor(StringRef name, const JsonPlace &place);
  bool readFill(const JsonPlace &place, TensorSpec &tensor);
  bool readAlignment(const JsonPlace &place, TensorSpec &tensor);
  bool readRequirement(const JsonPlace &place);
  bool readEmpty(const JsonPlace &place, LaunchSpec &launch);
  static bool readFillValue(const JsonPlace &place, DType dtype,
                            EmptySpec::Fill &fill);
  bool readLaunch(const JsonPlace &place, const JsonPlace &top);
  bool readParam(const JsonPlace &place, ParamSpec &param, unsigned depth);
  bool readStruct(const JsonPlace &place, ParamSpec &param, unsigned depth);
  bool readMapParam(const JsonPlace &place, ParamSpec &param);
  bool readTriple(const JsonPlace &place, Expression (&triple)[3]);
  bool checkTensor(const JsonPlace &place, std::string &name);

  Manifest &manifest;
};

} // namespace

static bool isName(StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

bool ManifestReader::readSizes(const JsonPlace &place) {
  return place.forEachMember([&](StringRef name, JsonPlace member) {
    SizeSpec size;
    size.name = name.str();
    if (!isName(name))
      return member.fail("'" + name + "' is no name for a size");
    if (!member.isNull()) {
      Expression value;
      if (!member.read(value))
        return false;
      auto number = value.evaluate({});
      if (!number)
        return member.fail(llvm::toString(number.takeError()));
      size.value = *number;
    }
    manifest.sizes.push_back(std::move(size));
    return true;
  });
}

bool ManifestReader::readFill(const JsonPlace &place, TensorSpec &tensor) {
  if (place.isString()) {
    unsigned index;
    static constexpr Fill kinds[] = {Fill::Undefined, Fill::Zeros, Fill::Random,
                                     Fill::Iota};
    if (!place.readName(index, {"undefined", "zeros", "random", "iota"},
                        "fill"))
      return false;
    tensor.fill = kinds[index];
    return true;
  }
  Expression value;
  if (!place.read(value))
    return false;
  auto number = value.evaluate({});
  if (!number)
    return place.fail(llvm::toString(number.takeError()));
  tensor.fill = Fill::Value;
  tensor.fillValue = number->asDouble();
  return true;
}

/// Memory that the simulator makes is aligned to 256 bytes.
bool ManifestReader::readAlignment(const JsonPlace &place, TensorSpec &tensor) {
  int64_t value;
  if (!place.read(value))
    return false;
  if (value < 1 || value > 256 || !llvm::isPowerOf2_64(uint64_t(value)))
    return place.fail("an alignment is a power of two up to 256");
  tensor.alignment = uint64_t(value);
  if (tensor.address && *tensor.address % tensor.alignment)
    return place.fail("the address of '" + tensor.name +
                      "' is not a multiple of " + Twine(value));
  return true;
}

bool ManifestReader::readRequirement(const JsonPlace &place) {
  RequirementSpec requirement;
  requirement.where = place.where();
  if (!place.onlyKeys({"condition", "message"}))
    return false;
  auto condition = place.require("condition"),
       message = place.require("message");
  if (!condition || !condition->read(requirement.condition) || !message ||
      !message->read(requirement.message))
    return false;
  manifest.requirements.push_back(std::move(requirement));
  return true;
}

bool ManifestReader::readTensor(StringRef name, const JsonPlace &place) {
  TensorSpec tensor;
  tensor.name = name.str();
  if (!place.onlyKeys({"dtype", "shape", "strides", "role", "address",
                       "alignment", "exclusive", "ordered", "fill", "file"}))
    return false;
  auto dtype = place.require("dtype"), shape = place.require("shape");
  if (!dtype || !readDType(*dtype, tensor.dtype) || !shape ||
      !shape->read(tensor.shape))
    return false;
  if (tensor.shape.size() > 16)
    return shape->fail("a tensor has at most 16 dimensions");
  if (auto strides = place.find("strides")) {
    if (!strides->read(tensor.strides))
      return false;
    if (tensor.strides.size() != tensor.shape.size())
      return strides->fail("'strides' and 'shape' differ in length");
  }
  if (auto role = place.find("role")) {
    unsigned index;
    if (!role->readName(index, {"in", "out", "inout", "workspace"}, "role"))
      return false;
    tensor.role = Role(index);
  }
  if (auto address = place.find("address")) {
    uint64_t value;
    if (!address->readAddress(value))
      return false;
    tensor.address = value;
  }
  if (auto alignment = place.find("alignment"))
    if (!readAlignment(*alignment, tensor))
      return false;
  if (auto exclusive = place.find("exclusive"))
    if (!exclusive->read(tensor.exclusive))
      return false;
  if (auto ordered = place.find("ordered"))
    if (!ordered->read(tensor.ordered))
      return false;
  if (auto fill = place.find("fill"))
    if (!readFill(*fill, tensor))
      return false;
  if (auto file = place.find("file")) {
    if (!file->read(tensor.file))
      return false;
    tensor.file = resolvePath(manifest.file, tensor.file);
  }
  manifest.tensors.push_back(std::move(tensor));
  return true;
}

bool ManifestReader::checkTensor(const JsonPlace &place, std::string &name) {
  if (!place.read(name))
    return false;
  if (!manifest.findTensor(name))
    return place.fail("no tensor is named '" + name + "'");
  return true;
}

bool ManifestReader::readTriple(const JsonPlace &place,
                                Expression (&triple)[3]) {
  for (Expression &value : triple)
    value = Expression(int64_t(1));
  std::vector<Expression> list;
  if (!place.read(list))
    return false;
  if (list.empty() || list.size() > 3)
    return place.fail("expected one to three numbers");
  std::copy(list.begin(), list.end(), triple);
  return true;
}

bool ManifestReader::readMapParam(const JsonPlace &place, ParamSpec &param) {
  param.kind = ParamSpec::Kind::Map;
  auto tensor = place.find("tensor"), address = place.find("address");
  if (bool(tensor) == bool(address))
    return place.fail("a tensor map needs either 'tensor' or 'address'");
  if (tensor) {
    if (!checkTensor(*tensor, param.map.tensor))
      return false;
    auto type = tensorMapType(manifest.findTensor(param.map.tensor)->dtype);
    param.map.type = *type;
  } else {
    uint64_t value;
    if (!address->readAddress(value) || !place.require("dtype"))
      return false;
    param.map.address = value;
  }
  return readTensorMap(place, param.map);
}

bool ManifestReader::readStruct(const JsonPlace &place, ParamSpec &param,
                                unsigned depth) {
  param.kind = ParamSpec::Kind::Struct;
  auto size = place.require("size");
  auto fields = size ? place.find("struct") : std::nullopt;
  int64_t bytes;
  if (!fields || !size->read(bytes))
    return false;
  if (bytes < 0 || bytes > 32764)
    return size->fail("a parameter has at most 32764 bytes");
  param.structBytes = uint64_t(bytes);
  return fields->forEach([&](JsonPlace element) {
    auto at = element.require("at");
    int64_t offset;
    if (!at || !at->read(offset))
      return false;
    if (offset < 0 || offset > bytes)
      return at->fail("the field is outside of the struct");
    param.fields.emplace_back(uint64_t(offset), ParamSpec());
    return readParam(element, param.fields.back().second, depth + 1);
  });
}

bool ManifestReader::readParam(const JsonPlace &place, ParamSpec &param,
                               unsigned depth) {
  param.where = place.where();
  unsigned kinds = 0;
  for (StringRef key : {"tensor", "value", "bytes", "tensormap", "struct"})
    kinds += place.has(key);
  if (kinds != 1)
    return place.fail("a parameter has exactly one of 'tensor', 'value', "
                      "'bytes', 'tensormap', 'struct'");
  if (depth > 4)
    return place.fail("structs are nested too deeply");
  if (!place.onlyKeys({"tensor", "offset", "value", "type", "bytes",
                       "tensormap", "struct", "size", "at", "name"}))
    return false;
  if (auto tensor = place.find("tensor")) {
    param.kind = ParamSpec::Kind::Pointer;
    auto offset = place.find("offset");
    return checkTensor(*tensor, param.tensor) &&
           (!offset || offset->read(param.value));
  }
  if (auto value = place.find("value")) {
    param.kind = ParamSpec::Kind::Value;
    auto type = place.find("type");
    return value->read(param.value) && (!type || readDType(*type, param.dtype));
  }
  if (auto bytes = place.find("bytes"))
    return bytes->readHex(param.bytes);
  if (auto map = place.find("tensormap"))
    return readMapParam(*map, param);
  return readStruct(place, param, depth);
}

bool ManifestReader::readEmpty(const JsonPlace &place, LaunchSpec &launch) {
  if (!place.onlyKeys({"condition", "fills"}))
    return false;
  EmptySpec empty;
  empty.where = place.where();
  auto condition = place.require("condition"), fills = place.require("fills");
  if (!condition || !condition->read(empty.condition) || !fills)
    return false;
  bool ok = fills->forEach([&](JsonPlace element) {
    if (!element.onlyKeys({"tensor", "value"}))
      return false;
    auto tensor = element.require("tensor"), value = element.require("value");
    EmptySpec::Fill fill;
    if (!tensor || !checkTensor(*tensor, fill.tensor) || !value ||
        !readFillValue(*value, manifest.findTensor(fill.tensor)->dtype, fill))
      return false;
    empty.fills.push_back(std::move(fill));
    return true;
  });
  launch.empty = std::move(empty);
  return ok;
}

/// Reads a number, or the text of one: JSON has no infinity.
bool ManifestReader::readFillValue(const JsonPlace &place, DType dtype,
                                   EmptySpec::Fill &fill) {
  std::optional<Number> number;
  if (place.isString()) {
    std::string text;
    if (!place.read(text))
      return false;
    number = Number::parse(text);
  } else if (Expression value; place.read(value)) {
    if (auto constant = value.evaluate({}))
      number = *constant;
    else
      llvm::consumeError(constant.takeError());
  }
  if (!number)
    return place.fail("expected a number, or a text such as \"-inf\"");
  fill.value = number->asDouble();
  if (isFloat(dtype) ||
      (fill.value == std::floor(fill.value) && std::fabs(fill.value) < 0x1p63))
    return true;
  return place.fail("the fill of '" + fill.tensor + "' must be an integer");
}

/// Reads one launch. If the launch names no PTX file, that of the manifest's
/// top level counts.
bool ManifestReader::readLaunch(const JsonPlace &place, const JsonPlace &top) {
  LaunchSpec launch;
  auto ptx = place.find("ptx") ? place.find("ptx") : top.require("ptx");
  if (!ptx || !ptx->read(launch.ptx))
    return false;
  launch.ptx = resolvePath(manifest.file, launch.ptx);
  auto entry = place.find("entry");
  if (entry && !entry->read(launch.entry))
    return false;
  auto grid = place.require("grid"), block = place.require("block");
  if (!grid || !readTriple(*grid, launch.grid) || !block ||
      !readTriple(*block, launch.block))
    return false;
  for (Expression &value : launch.cluster)
    value = Expression(int64_t(1));
  auto cluster = place.find("cluster");
  if (cluster && !readTriple(*cluster, launch.cluster))
    return false;
  auto shared = place.find("dynamic_smem");
  if (shared && !shared->read(launch.dynamicShared))
    return false;
  auto programmatic = place.find("programmatic");
  if (programmatic && !programmatic->read(launch.programmatic))
    return false;
  auto empty = place.find("empty");
  if (empty && !readEmpty(*empty, launch))
    return false;
  auto params = place.find("params");
  bool ok = !params || params->forEach([&](JsonPlace element) {
    launch.params.emplace_back();
    return readParam(element, launch.params.back(), 0);
  });
  manifest.launches.push_back(std::move(launch));
  return ok;
}

bool ManifestReader::read(const JsonPlace &top) {
  if (!top.onlyKeys({"version", "comment", "ptx", "sizes", "requires",
                     "tensors", "launches", "entry", "grid", "block", "cluster",
                     "dynamic_smem", "programmatic", "empty", "params"}))
    return false;
  if (auto version = top.find("version")) {
    int64_t number;
    if (!version->read(number))
      return false;
    if (number != 1)
      return version->fail("manifest version " + Twine(number) +
                           " is not known");
  }
  auto sizes = top.find("sizes");
  if (sizes && !readSizes(*sizes))
    return false;
  auto requirements = top.find("requires");
  if (requirements && !requirements->forEach([&](JsonPlace element) {
        return readRequirement(element);
      }))
    return false;
  auto tensors = top.find("tensors");
  if (tensors && !tensors->forEachMember([&](StringRef name, JsonPlace member) {
        return readTensor(name, member);
      }))
    return false;
  for (const SizeSpec &size : manifest.sizes)
    if (manifest.findTensor(size.name))
      return top.fail("'" + size.name + "' is both a size and a tensor");
  auto launches = top.find("launches");
  if (!launches)
    return readLaunch(top, top);
  if (top.has("grid"))
    return top.fail("'grid' beside 'launches'");
  return launches->forEach([&](JsonPlace launch) {
    return launch.onlyKeys({"comment", "ptx", "entry", "grid", "block",
                            "cluster", "dynamic_smem", "programmatic", "empty",
                            "params"}) &&
           readLaunch(launch, top);
  });
}

llvm::Expected<Manifest> fa4::sim::parseManifest(llvm::MemoryBufferRef buffer) {
  Manifest manifest;
  manifest.file = buffer.getBufferIdentifier().str();
  auto document = parseJson(buffer.getBuffer());
  if (!document)
    return llvm::createStringError(manifest.file + ": " +
                                   llvm::toString(document.takeError()));
  JsonErrors errors;
  JsonPlace top(*document, "", errors);
  bool ok = isRecord(top) ? readRecord(top, manifest)
                          : ManifestReader(manifest).read(top);
  if (!ok || errors.any())
    return llvm::createStringError(manifest.file + ": " + errors.first);
  return manifest;
}

static llvm::Expected<Manifest> readOne(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  return parseManifest((*buffer)->getMemBufferRef());
}

llvm::Expected<Manifest> fa4::sim::readManifest(StringRef path) {
  if (!llvm::sys::fs::is_directory(path))
    return readOne(path);
  std::vector<Manifest> parts;
  for (unsigned i = 0;; ++i) {
    llvm::SmallString<128> file(path);
    llvm::sys::path::append(file, "launch-" + Twine(i) + ".json");
    if (!llvm::sys::fs::exists(file))
      break;
    auto part = readOne(file);
    if (!part)
      return part.takeError();
    parts.push_back(std::move(*part));
  }
  if (parts.empty())
    return llvm::createStringError(path + ": no launch-0.json in it");
  return joinRecords(path, std::move(parts));
}
