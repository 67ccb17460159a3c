//===- ManifestReader.cpp - JSON to manifests ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestReader.h"
#include "fa4/Manifest/Error.h"
#include <algorithm>
#include <cmath>

using namespace fa4::manifest;

namespace {

class ManifestReader {
public:
  ManifestReader(Manifest &manifest) : manifest(manifest) {}
  void read(const Json &top);
  void readRecord(const Json &top);

private:
  Expression expression(const Json &value) const;
  std::vector<Expression> expressions(const Json &value) const;
  void triple(const Json &value, Expression (&to)[3]) const;
  int tensor(const Json &value) const;
  std::string path(const Json &value) const;

  void readScalars(const Json &value);
  void readRequirement(const Json &value);
  void readTensor(const std::string &name, const Json &value);
  void readShape(const Json &value, TensorSpec &tensor) const;
  void readAddress(const Json &value, TensorSpec &tensor) const;
  ParamSpec readParam(const Json &value, unsigned depth) const;
  void readStruct(const Json &value, ParamSpec &param, unsigned depth) const;
  TensorMapSpec readTensorMap(const Json &value) const;
  void readDimensions(const Json &value, TensorMapSpec &map) const;
  EmptySpec readEmpty(const Json &value) const;
  LaunchSpec readLaunch(const Json &value, const Json &top) const;
  void readRecordedTensor(const std::string &name, const Json &value);
  VariableSpec readVariable(const std::string &name, const Json &value) const;

  Manifest &manifest;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Expression ManifestReader::expression(const Json &value) const {
  if (value.is(Json::Kind::Integer))
    return Expression(value.integer());
  if (value.is(Json::Kind::Float))
    return Expression(Number(value.floating()));
  if (!value.is(Json::Kind::String))
    value.fail("expected a number or an expression");
  try {
    return Expression::parse(value.string(), manifest.scalars);
  } catch (const ManifestError &error) {
    value.fail(error.what());
  }
}

std::vector<Expression> ManifestReader::expressions(const Json &value) const {
  std::vector<Expression> list;
  for (const Json &element : value.elements())
    list.push_back(expression(element));
  return list;
}

/// Reads one to three numbers; the rest is 1.
void ManifestReader::triple(const Json &value, Expression (&to)[3]) const {
  std::vector<Expression> list = expressions(value);
  if (list.empty() || list.size() > 3)
    value.fail("expected one to three numbers");
  list.resize(3, Expression(1));
  std::move(list.begin(), list.end(), to);
}

int ManifestReader::tensor(const Json &value) const {
  int index = manifest.findTensor(value.string());
  if (index < 0)
    value.fail("no tensor is named '" + value.string() + "'");
  return index;
}

/// Reads a path that is relative to the folder of the manifest.
std::string ManifestReader::path(const Json &value) const {
  const std::string &relative = value.string();
  size_t slash = manifest.file.rfind('/');
  if (relative.substr(0, 1) == "/" || slash == std::string::npos)
    return relative;
  return manifest.file.substr(0, slash + 1) + relative;
}

/// Reads a number that depends on no size.
static Number readConstant(const Json &value) {
  if (value.is(Json::Kind::Integer))
    return Number(value.integer());
  if (value.is(Json::Kind::Float))
    return Number(value.floating());
  if (!value.is(Json::Kind::String))
    value.fail("expected a number or an expression");
  try {
    return Expression::parse(value.string(), {}).evaluate({});
  } catch (const ManifestError &error) {
    value.fail(error.what());
  }
}

static DType readDType(const Json &value) {
  if (std::optional<DType> known = dtypeByName(value.string()))
    return *known;
  value.fail("unknown dtype '" + value.string() + "'");
}

/// Whether each element of a tensor can be the number.
static bool isFillOf(DType type, double value) {
  return isFloat(type) ||
         (value == std::floor(value) && std::fabs(value) < 0x1p63);
}

//===----------------------------------------------------------------------===//
// Sizes and tensors
//===----------------------------------------------------------------------===//

static bool isName(const std::string &text) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && isLetter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return isLetter(c) || (c >= '0' && c <= '9');
         });
}

void ManifestReader::readScalars(const Json &value) {
  for (const auto &[name, member] : value.members()) {
    if (!isName(name))
      member.fail("'" + name + "' is no name for a size");
    manifest.scalars.push_back(name);
    manifest.defaults.emplace_back();
    if (!member.is(Json::Kind::Null))
      manifest.defaults.back() = readConstant(member);
  }
}

void ManifestReader::readRequirement(const Json &value) {
  value.onlyKeys({"condition", "message"});
  const Json &message = value.require("message");
  manifest.requirements.push_back({expression(value.require("condition")),
                                   message.string(), value.place()});
}

void ManifestReader::readShape(const Json &value, TensorSpec &tensor) const {
  tensor.dtype = readDType(value.require("dtype"));
  const Json &shape = value.require("shape");
  tensor.shape = expressions(shape);
  if (tensor.shape.size() > 16)
    shape.fail("a tensor has at most 16 dimensions");
  const Json *strides = value.find("strides");
  if (!strides)
    return;
  tensor.strides = expressions(*strides);
  if (tensor.strides.size() != tensor.shape.size())
    strides->fail("'strides' and 'shape' differ in length");
}

/// Memory that the simulator makes is aligned to 256 bytes.
void ManifestReader::readAddress(const Json &value, TensorSpec &tensor) const {
  if (const Json *address = value.find("address"))
    tensor.address = address->address();
  const Json *alignment = value.find("alignment");
  if (!alignment)
    return;
  int64_t bytes = alignment->integer();
  if (bytes < 1 || bytes > 256 || (bytes & (bytes - 1)))
    alignment->fail("an alignment is a power of two up to 256");
  tensor.alignment = uint64_t(bytes);
  if (tensor.address && *tensor.address % tensor.alignment)
    alignment->fail("the address of '" + tensor.name +
                    "' is not a multiple of " + std::to_string(bytes));
}

void ManifestReader::readTensor(const std::string &name, const Json &value) {
  value.onlyKeys({"dtype", "shape", "strides", "role", "address", "alignment",
                  "exclusive", "ordered", "fill", "file"});
  if (manifest.findScalar(name) >= 0)
    value.fail("'" + name + "' is both a size and a tensor");
  TensorSpec tensor;
  tensor.name = name;
  readShape(value, tensor);
  if (const Json *role = value.find("role"))
    tensor.role = Role(role->name({"in", "out", "inout", "workspace"}, "role"));
  readAddress(value, tensor);
  if (const Json *exclusive = value.find("exclusive"))
    tensor.exclusive = exclusive->boolean();
  if (const Json *ordered = value.find("ordered"))
    tensor.ordered = ordered->boolean();
  if (const Json *fill = value.find("fill")) {
    if (fill->is(Json::Kind::String)) {
      tensor.fill = Fill(
          1 + fill->name({"undefined", "zeros", "random", "iota"}, "fill"));
    } else {
      tensor.fill = Fill::Value;
      tensor.fillValue = readConstant(*fill).asDouble();
    }
  }
  if (const Json *file = value.find("file"))
    tensor.file = path(*file);
  manifest.tensors.push_back(std::move(tensor));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Reads the type of a map's elements, which may be one of TMA's own.
static uint8_t readElementType(const Json &value) {
  static constexpr std::pair<const char *, uint8_t> kSpecial[] = {
      {"f32_ftz", 10}, {"tf32", 11},      {"tf32_ftz", 12},
      {"b4x16", 13},   {"b4x16_p64", 14}, {"b6x16_p32", 15}};
  for (auto [name, type] : kSpecial)
    if (value.string() == name)
      return type;
  return tensorMapType(readDType(value));
}

/// Reads what a map has for each dimension of its tensor.
void ManifestReader::readDimensions(const Json &value,
                                    TensorMapSpec &map) const {
  const Json &dims = value.require("dims"), &box = value.require("box");
  map.dims = expressions(dims);
  map.box = expressions(box);
  if (const Json *strides = value.find("byte_strides"))
    map.byteStrides = expressions(*strides);
  if (const Json *strides = value.find("element_strides"))
    map.elementStrides = expressions(*strides);
  size_t rank = map.dims.size();
  if (rank < 1 || rank > 5)
    dims.fail("a tensor map has 1 to 5 dimensions");
  if (map.box.size() != rank)
    box.fail("'box' and 'dims' differ in length");
  if (map.byteStrides.size() != rank - 1)
    value.fail("'byte_strides' must have one entry less than 'dims'");
  if (!map.elementStrides.empty() && map.elementStrides.size() != rank)
    value.fail("'element_strides' and 'dims' differ in length");
}

TensorMapSpec ManifestReader::readTensorMap(const Json &value) const {
  value.onlyKeys({"tensor", "address", "offset", "dtype", "dims",
                  "byte_strides", "box", "element_strides", "swizzle",
                  "interleave", "oob_fill", "mode"});
  if (const Json *mode = value.find("mode"); mode && mode->string() != "tiled")
    value.fail("the mode of a tensor map is 'tiled', not '" + mode->string() +
               "': maps of im2col mode can only be the bytes of an encoded one "
               "('bytes')");
  const Json *base = value.find("tensor"), *address = value.find("address");
  if (bool(base) == bool(address))
    value.fail("a tensor map needs either 'tensor' or 'address'");
  TensorMapSpec map;
  if (base) {
    map.tensor = tensor(*base);
    map.type = tensorMapType(manifest.tensors[size_t(map.tensor)].dtype);
  } else {
    map.address = address->address();
    value.require("dtype");
  }
  if (const Json *type = value.find("dtype"))
    map.type = readElementType(*type);
  readDimensions(value, map);
  if (const Json *swizzle = value.find("swizzle"))
    map.swizzle =
        uint8_t(swizzle->name({"none", "32B", "64B", "128B", "128B_atom_32B",
                               "128B_atom_32B_flip_8B", "128B_atom_64B"},
                              "swizzle"));
  if (const Json *interleave = value.find("interleave"))
    map.interleave =
        uint8_t(interleave->name({"none", "16B", "32B"}, "interleave"));
  if (const Json *fill = value.find("oob_fill"))
    map.fillNan = fill->name({"zero", "nan"}, "fill") == 1;
  if (const Json *offset = value.find("offset"))
    map.offset = expression(*offset);
  return map;
}

void ManifestReader::readStruct(const Json &value, ParamSpec &param,
                                unsigned depth) const {
  const Json &size = value.require("size");
  int64_t bytes = size.integer();
  if (bytes < 0 || bytes > 32764)
    size.fail("a parameter has at most 32764 bytes");
  param.structBytes = uint64_t(bytes);
  for (const Json &element : value.require("struct").elements()) {
    ParamSpec field = readParam(element, depth + 1);
    const Json &at = element.require("at");
    if (at.integer() < 0 ||
        uint64_t(at.integer()) + field.countBytes() > param.structBytes)
      at.fail("a field of " + std::to_string(field.countBytes()) +
              " bytes is outside of the struct");
    param.fields.emplace_back(uint64_t(at.integer()), std::move(field));
  }
}

ParamSpec ManifestReader::readParam(const Json &value, unsigned depth) const {
  value.onlyKeys({"tensor", "offset", "value", "type", "bytes", "tensormap",
                  "struct", "size", "at", "name"});
  ParamSpec param;
  param.where = value.place();
  const Json *pointer = value.find("tensor"), *scalar = value.find("value"),
             *bytes = value.find("bytes"), *map = value.find("tensormap"),
             *fields = value.find("struct");
  if (!!pointer + !!scalar + !!bytes + !!map + !!fields != 1)
    value.fail("a parameter has exactly one of 'tensor', 'value', 'bytes', "
               "'tensormap', 'struct'");
  if (depth > 4)
    value.fail("structs are nested too deeply");
  if (pointer) {
    param.kind = ParamSpec::Kind::Pointer;
    param.tensor = tensor(*pointer);
    if (const Json *offset = value.find("offset"))
      param.value = expression(*offset);
  } else if (scalar) {
    param.kind = ParamSpec::Kind::Value;
    param.value = expression(*scalar);
    if (const Json *type = value.find("type"))
      param.dtype = readDType(*type);
  } else if (bytes) {
    param.bytes = bytes->bytes();
  } else if (map) {
    param.kind = ParamSpec::Kind::Map;
    param.map = readTensorMap(*map);
  } else {
    param.kind = ParamSpec::Kind::Struct;
    readStruct(value, param, depth);
  }
  return param;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Reads a number, or the text of one: JSON has no infinity.
static double readFillValue(const Json &value) {
  std::optional<Number> number = value.is(Json::Kind::String)
                                     ? Number::parse(value.string())
                                     : readConstant(value);
  if (!number)
    value.fail("expected a number, or a text such as \"-inf\"");
  return number->asDouble();
}

EmptySpec ManifestReader::readEmpty(const Json &value) const {
  value.onlyKeys({"condition", "fills"});
  EmptySpec empty;
  empty.where = value.place();
  empty.condition = expression(value.require("condition"));
  for (const Json &element : value.require("fills").elements()) {
    element.onlyKeys({"tensor", "value"});
    const Json &number = element.require("value");
    EmptySpec::Fill fill;
    fill.tensor = tensor(element.require("tensor"));
    fill.value = readFillValue(number);
    const TensorSpec &filled = manifest.tensors[size_t(fill.tensor)];
    if (!isFillOf(filled.dtype, fill.value))
      number.fail("the fill of '" + filled.name + "' must be an integer");
    empty.fills.push_back(fill);
  }
  return empty;
}

/// Reads one launch. If the launch names no PTX file, that of the manifest's
/// top level counts.
LaunchSpec ManifestReader::readLaunch(const Json &value,
                                      const Json &top) const {
  LaunchSpec launch;
  launch.where = value.place().empty() ? "the launch" : value.place();
  const Json *own = value.find("ptx");
  const Json &ptx = own ? *own : top.require("ptx");
  launch.ptx = ptx.string();
  launch.file = path(ptx);
  if (const Json *entry = value.find("entry"))
    launch.entry = entry->string();
  triple(value.require("grid"), launch.grid);
  triple(value.require("block"), launch.block);
  std::fill_n(launch.cluster, 3, Expression(1));
  if (const Json *cluster = value.find("cluster"))
    triple(*cluster, launch.cluster);
  if (const Json *shared = value.find("dynamic_smem"))
    launch.dynamicShared = expression(*shared);
  if (const Json *programmatic = value.find("programmatic"))
    launch.programmatic = programmatic->boolean();
  if (const Json *empty = value.find("empty"))
    launch.empty = readEmpty(*empty);
  if (const Json *params = value.find("params"))
    for (const Json &param : params->elements())
      launch.params.push_back(readParam(param, 0));
  return launch;
}

void ManifestReader::read(const Json &top) {
  top.onlyKeys({"version", "comment", "ptx", "sizes", "requires", "tensors",
                "launches", "entry", "grid", "block", "cluster", "dynamic_smem",
                "programmatic", "empty", "params"});
  if (const Json *version = top.find("version");
      version && version->integer() != 1)
    version->fail("manifest version " + std::to_string(version->integer()) +
                  " is not known");
  if (const Json *sizes = top.find("sizes"))
    readScalars(*sizes);
  if (const Json *requirements = top.find("requires"))
    for (const Json &element : requirements->elements())
      readRequirement(element);
  if (const Json *tensors = top.find("tensors"))
    for (const auto &[name, member] : tensors->members())
      readTensor(name, member);
  const Json *launches = top.find("launches");
  if (!launches) {
    manifest.launches.push_back(readLaunch(top, top));
    return;
  }
  if (top.find("grid"))
    top.fail("'grid' beside 'launches'");
  if (launches->elements().empty())
    launches->fail("there is nothing to launch");
  for (const Json &launch : launches->elements()) {
    launch.onlyKeys({"comment", "ptx", "entry", "grid", "block", "cluster",
                     "dynamic_smem", "programmatic", "empty", "params"});
    manifest.launches.push_back(readLaunch(launch, top));
  }
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

void ManifestReader::readRecordedTensor(const std::string &name,
                                        const Json &value) {
  value.onlyKeys({"dtype", "shape", "strides", "address", "file"});
  value.require("strides");
  value.require("address");
  readTensor(name, value);
  // A tensor with a number for a name is a workspace, which kernels expect to
  // be zero. The record does not say which of the other tensors are inputs, so
  // all of them may be.
  if (name.size() > 1 && name[0] == 't' &&
      name.find_first_not_of("0123456789", 1) == std::string::npos)
    manifest.tensors.back().role = Role::Workspace;
}

VariableSpec ManifestReader::readVariable(const std::string &name,
                                          const Json &value) const {
  value.onlyKeys({"address", "file"});
  VariableSpec variable;
  variable.name = name;
  const Json &address = value.require("address");
  variable.address = address.address();
  if (!variable.address)
    address.fail("a variable's address is not 0");
  if (const Json *file = value.find("file"))
    variable.file = path(*file);
  return variable;
}

void ManifestReader::readRecord(const Json &top) {
  top.onlyKeys({"kernel", "ptx", "grid", "block", "cluster", "dynamic_smem",
                "params", "tensors", "variables"});
  for (const char *key : {"cluster", "dynamic_smem"})
    top.require(key);
  for (const auto &[name, member] : top.require("tensors").members())
    readRecordedTensor(name, member);
  for (const Json &param : top.require("params").elements()) {
    param.onlyKeys({"bytes", "tensormap"});
    if (const Json *map = param.find("tensormap"))
      map->require("address");
  }
  LaunchSpec launch = readLaunch(top, top);
  launch.entry = top.require("kernel").string();
  if (const Json *variables = top.find("variables"))
    for (const auto &[name, member] : variables->members())
      launch.variables.push_back(readVariable(name, member));
  manifest.launches.push_back(std::move(launch));
}

bool fa4::manifest::isRecord(const Json &top) { return top.find("kernel"); }

void fa4::manifest::readDocument(const Json &top, Manifest &manifest) {
  ManifestReader reader(manifest);
  isRecord(top) ? reader.readRecord(top) : reader.read(top);
}
