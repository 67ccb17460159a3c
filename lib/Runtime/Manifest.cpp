//===- Manifest.cpp - what a manifest says
//---------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"
#include "Json.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <sys/stat.h>

using namespace fa4::runtime;

static constexpr DType kDTypes[] = {
    {"bool", 1, 0, false, false}, {"i8", 1, 0, false, true},
    {"u8", 1, 0, false, false},   {"i16", 2, 1, false, true},
    {"u16", 2, 1, false, false},  {"i32", 4, 3, false, true},
    {"u32", 4, 2, false, false},  {"i64", 8, 5, false, true},
    {"u64", 8, 4, false, false},  {"e4m3", 1, 0, true, true},
    {"e5m2", 1, 0, true, true},   {"f16", 2, 6, true, true},
    {"bf16", 2, 9, true, true},   {"f32", 4, 7, true, true},
    {"f64", 8, 8, true, true}};

const DType *fa4::runtime::findDType(std::string_view name) {
  for (const DType &type : kDTypes)
    if (name == type.name)
      return &type;
  return nullptr;
}

uint64_t ParamSpec::size() const {
  switch (kind) {
  case Kind::Pointer:
    return 8;
  case Kind::Value:
    return dtype->bytes;
  case Kind::Bytes:
    return bytes.size();
  case Kind::Map:
    return 128;
  case Kind::Struct:
    break;
  }
  return structBytes;
}

int Manifest::findScalar(std::string_view name) const {
  auto found = std::find(scalarNames.begin(), scalarNames.end(), name);
  return found == scalarNames.end() ? -1 : int(found - scalarNames.begin());
}

int Manifest::findTensor(std::string_view name) const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name)
      return int(i);
  return -1;
}

//===----------------------------------------------------------------------===//
// Values with their places
//===----------------------------------------------------------------------===//

namespace {

using Keys = std::initializer_list<std::string_view>;

class ManifestReader {
public:
  ManifestReader(Manifest &manifest) : manifest(manifest) {}
  void read(const Json &top);

private:
  [[noreturn]] void fail(const Json &at, const std::string &problem) const {
    fa4::runtime::fail(FA4_RUNTIME_BAD_MANIFEST,
                       manifest.name + ": " + problem +
                           (at.place.empty() ? "" : " at " + at.place));
  }
  void onlyKeys(const Json &object, Keys keys) const;
  const Json &require(const Json &object, std::string_view key) const;
  const Json &expect(const Json &value, Json::Kind kind,
                     const char *what) const;
  const std::string &string(const Json &value) const {
    return expect(value, Json::Kind::String, "a string").string;
  }
  const std::vector<Json> &array(const Json &value) const {
    return expect(value, Json::Kind::Array, "an array").array;
  }
  int64_t integer(const Json &value) const {
    return expect(value, Json::Kind::Integer, "an integer").integer;
  }
  bool boolean(const Json &value) const {
    return expect(value, Json::Kind::Bool, "true or false").boolean;
  }
  Number constant(const Json &value) const;
  Expression expression(const Json &value) const;
  std::vector<Expression> expressions(const Json &value) const;
  uint64_t address(const Json &value) const;
  int name(const Json &value, Keys names, const char *what) const;
  const DType *dtype(const Json &value) const;
  int tensor(const Json &value) const;
  void triple(const Json &value, Expression (&to)[3]) const;

  void readScalars(const Json &value);
  void readTensor(const std::string &name, const Json &value);
  void readTensorMap(const Json &value, TensorMapSpec &map) const;
  ParamSpec readParam(const Json &value, unsigned depth) const;
  LaunchSpec readLaunch(const Json &value, const Json &top) const;
  EmptySpec readEmpty(const Json &value) const;
  void readRecord(const Json &top);

  Manifest &manifest;
};

} // namespace

void ManifestReader::onlyKeys(const Json &object, Keys keys) const {
  expect(object, Json::Kind::Object, "an object");
  for (const auto &member : object.object)
    if (std::find(keys.begin(), keys.end(), member.first) == keys.end())
      fail(object, "unknown key '" + member.first + "'");
}

const Json &ManifestReader::require(const Json &object,
                                    std::string_view key) const {
  expect(object, Json::Kind::Object, "an object");
  if (const Json *value = object.find(key))
    return *value;
  fail(object, "'" + std::string(key) + "' is missing");
}

const Json &ManifestReader::expect(const Json &value, Json::Kind kind,
                                   const char *what) const {
  if (value.kind != kind)
    fail(value, std::string("expected ") + what);
  return value;
}

Expression ManifestReader::expression(const Json &value) const {
  if (value.kind == Json::Kind::Integer)
    return Expression(value.integer);
  if (value.kind == Json::Kind::Float)
    return Expression(value.floating);
  if (value.kind != Json::Kind::String)
    fail(value, "expected a number or an expression");
  try {
    return Expression::parse(value.string, manifest.scalarNames);
  } catch (const Failure &failure) {
    fail(value, failure.message);
  }
}

/// A number that depends on no size.
Number ManifestReader::constant(const Json &value) const {
  Expression parsed = value.kind == Json::Kind::String
                          ? Expression::parse(value.string, {})
                          : expression(value);
  try {
    return parsed.evaluate({});
  } catch (const Failure &failure) {
    fail(value, failure.message);
  }
}

std::vector<Expression> ManifestReader::expressions(const Json &value) const {
  std::vector<Expression> list;
  for (const Json &element : array(value))
    list.push_back(expression(element));
  return list;
}

uint64_t ManifestReader::address(const Json &value) const {
  if (value.kind == Json::Kind::Integer && value.integer >= 0)
    return uint64_t(value.integer);
  uint64_t result = 0;
  std::string_view text = value.string;
  bool isHex = text.substr(0, 2) == "0x";
  text.remove_prefix(isHex ? 2 : 0);
  auto read = std::from_chars(text.data(), text.data() + text.size(), result,
                              isHex ? 16 : 10);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size())
    fail(value, "expected an address such as \"0x700000000000\"");
  return result;
}

int ManifestReader::name(const Json &value, Keys names,
                         const char *what) const {
  auto known = std::find(names.begin(), names.end(), string(value));
  if (known == names.end())
    fail(value, std::string("unknown ") + what + " '" + value.string + "'");
  return int(known - names.begin());
}

const DType *ManifestReader::dtype(const Json &value) const {
  if (const DType *known = findDType(string(value)))
    return known;
  fail(value, "unknown dtype '" + value.string + "'");
}

int ManifestReader::tensor(const Json &value) const {
  int index = manifest.findTensor(string(value));
  if (index < 0)
    fail(value, "no tensor is named '" + value.string + "'");
  return index;
}

/// One to three numbers; the rest is 1.
void ManifestReader::triple(const Json &value, Expression (&to)[3]) const {
  std::vector<Expression> list = expressions(value);
  if (list.empty() || list.size() > 3)
    fail(value, "expected one to three numbers");
  for (size_t i = 0; i < 3; ++i)
    to[i] = i < list.size() ? list[i] : Expression(int64_t(1));
}

//===----------------------------------------------------------------------===//
// Manifests
//===----------------------------------------------------------------------===//

void ManifestReader::readScalars(const Json &value) {
  expect(value, Json::Kind::Object, "an object");
  for (const auto &[name, member] : value.object) {
    ScalarSpec scalar;
    scalar.name = name;
    if (member.kind != Json::Kind::Null)
      scalar.value = constant(member);
    manifest.scalars.push_back(std::move(scalar));
    manifest.scalarNames.push_back(name);
  }
}

void ManifestReader::readTensor(const std::string &name, const Json &value) {
  onlyKeys(value, {"dtype", "shape", "strides", "role", "address", "alignment",
                   "exclusive", "ordered", "fill", "file"});
  TensorSpec tensor;
  tensor.name = name;
  tensor.dtype = dtype(require(value, "dtype"));
  tensor.shape = expressions(require(value, "shape"));
  if (const Json *strides = value.find("strides")) {
    tensor.strides = expressions(*strides);
    if (tensor.strides.size() != tensor.shape.size())
      fail(*strides, "'strides' and 'shape' differ in length");
  }
  if (const Json *role = value.find("role"))
    tensor.role = Fa4RuntimeRole(
        this->name(*role, {"in", "out", "inout", "workspace"}, "role"));
  if (const Json *at = value.find("address"))
    tensor.address = address(*at);
  if (const Json *alignment = value.find("alignment")) {
    int64_t bytes = integer(*alignment);
    if (bytes < 1 || bytes > 256 || (bytes & (bytes - 1)))
      fail(*alignment, "an alignment is a power of two up to 256");
    tensor.alignment = uint64_t(bytes);
  }
  if (const Json *fill = value.find("fill")) {
    static constexpr const char *words[] = {"undefined", "zeros"};
    if (fill->kind != Json::Kind::String)
      tensor.fill = constant(*fill).asDouble();
    else if (fill->string == words[0])
      tensor.isUndefined = true;
    else if (fill->string != words[1] && tensor.role == FA4_RUNTIME_WORKSPACE)
      fail(*fill, "a workspace is undefined, zeros or one number; '" +
                      fill->string + "' is for the simulator");
  }
  manifest.tensors.push_back(std::move(tensor));
}

void ManifestReader::readTensorMap(const Json &value,
                                   TensorMapSpec &map) const {
  onlyKeys(value, {"tensor", "address", "offset", "dtype", "dims",
                   "byte_strides", "box", "element_strides", "swizzle",
                   "interleave", "oob_fill", "mode"});
  if (const Json *mode = value.find("mode"); mode && mode->string != "tiled")
    fail(value, "the mode of a tensor map is 'tiled', not '" + mode->string +
                    "': maps of im2col mode can only be the bytes of an "
                    "encoded one ('bytes')");
  const Json *base = value.find("tensor"), *at = value.find("address");
  if (bool(base) == bool(at))
    fail(value, "a tensor map needs either 'tensor' or 'address'");
  if (base) {
    map.tensor = tensor(*base);
    map.type = manifest.tensors[size_t(map.tensor)].dtype->tensorMapType;
  } else {
    map.address = address(*at);
    require(value, "dtype");
  }
  if (const Json *type = value.find("dtype")) {
    static constexpr std::pair<const char *, int> special[] = {
        {"f32_ftz", 10}, {"tf32", 11},      {"tf32_ftz", 12},
        {"b4x16", 13},   {"b4x16_p64", 14}, {"b6x16_p32", 15}};
    auto known = std::find_if(std::begin(special), std::end(special),
                              [&](auto &s) { return type->string == s.first; });
    map.type = known != std::end(special) ? known->second
                                          : dtype(*type)->tensorMapType;
  }
  map.dims = expressions(require(value, "dims"));
  map.box = expressions(require(value, "box"));
  if (const Json *strides = value.find("byte_strides"))
    map.byteStrides = expressions(*strides);
  if (const Json *strides = value.find("element_strides"))
    map.elementStrides = expressions(*strides);
  size_t rank = map.dims.size();
  if (rank < 1 || rank > 5)
    fail(value, "a tensor map has 1 to 5 dimensions");
  if (map.box.size() != rank)
    fail(value, "'box' and 'dims' differ in length");
  if (map.byteStrides.size() != rank - 1)
    fail(value, "'byte_strides' must have one entry less than 'dims'");
  if (!map.elementStrides.empty() && map.elementStrides.size() != rank)
    fail(value, "'element_strides' and 'dims' differ in length");
  if (const Json *swizzle = value.find("swizzle"))
    map.swizzle = name(*swizzle,
                       {"none", "32B", "64B", "128B", "128B_atom_32B",
                        "128B_atom_32B_flip_8B", "128B_atom_64B"},
                       "swizzle");
  if (const Json *interleave = value.find("interleave"))
    map.interleave = name(*interleave, {"none", "16B", "32B"}, "interleave");
  if (const Json *fill = value.find("oob_fill"))
    map.fill = name(*fill, {"zero", "nan"}, "fill");
  if (const Json *offset = value.find("offset"))
    map.offset = expression(*offset);
}

static int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

ParamSpec ManifestReader::readParam(const Json &value, unsigned depth) const {
  onlyKeys(value, {"tensor", "offset", "value", "type", "bytes", "tensormap",
                   "struct", "size", "at", "name"});
  ParamSpec param;
  param.place = value.place;
  const Json *pointer = value.find("tensor"), *scalar = value.find("value"),
             *bytes = value.find("bytes"), *map = value.find("tensormap"),
             *fields = value.find("struct");
  if (!!pointer + !!scalar + !!bytes + !!map + !!fields != 1)
    fail(value, "a parameter has exactly one of 'tensor', 'value', 'bytes', "
                "'tensormap', 'struct'");
  if (depth > 4)
    fail(value, "structs are nested too deeply");
  if (pointer) {
    param.kind = ParamSpec::Kind::Pointer;
    param.tensor = tensor(*pointer);
    if (const Json *offset = value.find("offset"))
      param.value = expression(*offset);
  } else if (scalar) {
    param.kind = ParamSpec::Kind::Value;
    param.value = expression(*scalar);
    const Json *type = value.find("type");
    param.dtype = type ? dtype(*type) : findDType("i32");
  } else if (bytes) {
    const std::string &text = string(*bytes);
    for (size_t i = 0; i < text.size(); i += 2) {
      int high = hexDigit(text[i]),
          low = i + 1 < text.size() ? hexDigit(text[i + 1]) : -1;
      if (high < 0 || low < 0)
        fail(*bytes, "expected pairs of hexadecimal digits");
      param.bytes.push_back(uint8_t(high << 4 | low));
    }
  } else if (map) {
    param.kind = ParamSpec::Kind::Map;
    readTensorMap(*map, param.map);
  } else {
    param.kind = ParamSpec::Kind::Struct;
    int64_t size = integer(require(value, "size"));
    if (size < 0 || size > 32764)
      fail(value, "a parameter has at most 32764 bytes");
    param.structBytes = uint64_t(size);
    for (const Json &element : array(*fields)) {
      ParamSpec field = readParam(element, depth + 1);
      int64_t at = integer(require(element, "at"));
      if (at < 0 || uint64_t(at) + field.size() > param.structBytes)
        fail(element, "the field is outside of the struct");
      param.fields.emplace_back(uint64_t(at), std::move(field));
    }
  }
  return param;
}

EmptySpec ManifestReader::readEmpty(const Json &value) const {
  onlyKeys(value, {"condition", "fills"});
  EmptySpec empty;
  empty.condition = expression(require(value, "condition"));
  for (const Json &element : array(require(value, "fills"))) {
    onlyKeys(element, {"tensor", "value"});
    EmptySpec::Fill fill;
    fill.tensor = tensor(require(element, "tensor"));
    const Json &number = require(element, "value");
    // JSON has no infinity.
    if (number.string == "inf" || number.string == "-inf")
      fill.value = number.string[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    else
      fill.value = constant(number).asDouble();
    empty.fills.push_back(fill);
  }
  return empty;
}

LaunchSpec ManifestReader::readLaunch(const Json &value,
                                      const Json &top) const {
  LaunchSpec launch;
  launch.place = value.place.empty() ? "the launch" : value.place;
  const Json *ptx = value.find("ptx");
  launch.ptx = string(ptx ? *ptx : require(top, "ptx"));
  if (const Json *entry = value.find("entry"))
    launch.entry = string(*entry);
  triple(require(value, "grid"), launch.grid);
  triple(require(value, "block"), launch.block);
  for (Expression &extent : launch.cluster)
    extent = Expression(int64_t(1));
  if (const Json *cluster = value.find("cluster"))
    triple(*cluster, launch.cluster);
  if (const Json *shared = value.find("dynamic_smem"))
    launch.dynamicShared = expression(*shared);
  if (const Json *dependent = value.find("programmatic"))
    launch.isDependent = boolean(*dependent);
  if (const Json *empty = value.find("empty"))
    launch.empty = readEmpty(*empty);
  if (const Json *params = value.find("params"))
    for (const Json &param : array(*params))
      launch.params.push_back(readParam(param, 0));
  return launch;
}

void ManifestReader::readRecord(const Json &top) {
  onlyKeys(top, {"kernel", "ptx", "grid", "block", "cluster", "dynamic_smem",
                 "params", "tensors"});
  LaunchSpec launch;
  launch.place = "the launch";
  launch.entry = string(require(top, "kernel"));
  launch.ptx = string(require(top, "ptx"));
  triple(require(top, "grid"), launch.grid);
  triple(require(top, "block"), launch.block);
  triple(require(top, "cluster"), launch.cluster);
  launch.dynamicShared = expression(require(top, "dynamic_smem"));
  const Json &tensors = require(top, "tensors");
  for (const auto &[name, member] :
       expect(tensors, Json::Kind::Object, "an object").object) {
    require(member, "strides");
    require(member, "address");
    readTensor(name, member);
    // A tensor with a number for a name is a workspace, which kernels expect to
    // be zero.
    if (name.size() > 1 && name[0] == 't' &&
        name.find_first_not_of("0123456789", 1) == std::string::npos)
      manifest.tensors.back().role = FA4_RUNTIME_WORKSPACE;
  }
  for (const Json &param : array(require(top, "params")))
    launch.params.push_back(readParam(param, 0));
  manifest.launches.push_back(std::move(launch));
}

void ManifestReader::read(const Json &top) {
  if (top.find("kernel"))
    return readRecord(top);
  onlyKeys(top, {"version", "comment", "ptx", "sizes", "requires", "tensors",
                 "launches", "entry", "grid", "block", "cluster",
                 "dynamic_smem", "programmatic", "empty", "params"});
  if (const Json *version = top.find("version"))
    if (integer(*version) != 1)
      fail(*version, "manifest version " + std::to_string(version->integer) +
                         " is not known");
  if (const Json *sizes = top.find("sizes"))
    readScalars(*sizes);
  if (const Json *requirements = top.find("requires"))
    for (const Json &element : array(*requirements)) {
      onlyKeys(element, {"condition", "message"});
      manifest.requirements.push_back(
          {expression(require(element, "condition")),
           string(require(element, "message"))});
    }
  if (const Json *tensors = top.find("tensors"))
    for (const auto &[name, member] :
         expect(*tensors, Json::Kind::Object, "an object").object) {
      if (manifest.findScalar(name) >= 0)
        fail(member, "'" + name + "' is both a size and a tensor");
      readTensor(name, member);
    }
  const Json *launches = top.find("launches");
  if (launches && array(*launches).empty())
    fail(*launches, "there is nothing to launch");
  if (!launches) {
    manifest.launches.push_back(readLaunch(top, top));
    return;
  }
  if (top.find("grid"))
    fail(top, "'grid' beside 'launches'");
  for (const Json &launch : array(*launches)) {
    onlyKeys(launch, {"comment", "ptx", "entry", "grid", "block", "cluster",
                      "dynamic_smem", "programmatic", "empty", "params"});
    manifest.launches.push_back(readLaunch(launch, top));
  }
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Manifest fa4::runtime::parseManifest(std::string_view text,
                                     const std::string &name) {
  Manifest manifest;
  manifest.name = name;
  ManifestReader(manifest).read(parseJson(text, name));
  return manifest;
}

static bool isFolder(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool fa4::runtime::fileExists(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

std::string fa4::runtime::readFile(const std::string &path) {
  if (isFolder(path))
    fail(FA4_RUNTIME_BAD_FILE, path + ": it is a folder");
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  if (stream)
    text.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream || stream.bad())
    fail(FA4_RUNTIME_BAD_FILE,
         path + ": " + std::strerror(errno ? errno : EIO));
  return text;
}

std::string fa4::runtime::resolvePath(const std::string &file,
                                      const std::string &relative) {
  size_t slash = file.rfind('/');
  if (relative.substr(0, 1) == "/" || slash == std::string::npos)
    return relative;
  return file.substr(0, slash + 1) + relative;
}

/// Appends a launch of a record to those in front of it, which have the same
/// tensors, or fewer.
static void join(Manifest &result, Manifest part) {
  std::vector<int> renumbered;
  for (TensorSpec &tensor : part.tensors) {
    int known = result.findTensor(tensor.name);
    renumbered.push_back(known >= 0 ? known : int(result.tensors.size()));
    if (known < 0)
      result.tensors.push_back(std::move(tensor));
    else if (result.tensors[size_t(known)].address != tensor.address ||
             result.tensors[size_t(known)].dtype != tensor.dtype)
      fail(FA4_RUNTIME_BAD_MANIFEST, part.name + ": tensor '" + tensor.name +
                                         "' differs from an earlier launch's");
  }
  for (LaunchSpec &launch : part.launches) {
    launch.place = part.name;
    for (ParamSpec &param : launch.params)
      if (param.map.tensor >= 0)
        param.map.tensor = renumbered[size_t(param.map.tensor)];
    result.launches.push_back(std::move(launch));
  }
}

Manifest fa4::runtime::readManifest(const std::string &path) {
  if (!isFolder(path))
    return parseManifest(readFile(path), path);
  Manifest result;
  result.name = path;
  for (unsigned i = 0;; ++i) {
    std::string file = path + "/launch-" + std::to_string(i) + ".json";
    if (!fileExists(file))
      break;
    Manifest part = parseManifest(readFile(file), file);
    if (!part.scalars.empty())
      fail(FA4_RUNTIME_BAD_MANIFEST, file + ": it is no recorded launch");
    join(result, std::move(part));
  }
  if (result.launches.empty())
    fail(FA4_RUNTIME_BAD_FILE, path + ": no launch-0.json in it");
  return result;
}
