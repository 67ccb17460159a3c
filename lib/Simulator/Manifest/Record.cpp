//===- Record.cpp - recorded launches as manifests ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Record.h"

using namespace fa4::sim;
using llvm::StringRef;

bool fa4::sim::isRecord(const JsonPlace &top) { return top.has("kernel"); }

static bool readTensor(StringRef name, const JsonPlace &place,
                       Manifest &manifest) {
  TensorSpec tensor;
  tensor.name = name.str();
  if (!place.onlyKeys({"dtype", "shape", "strides", "address", "file"}))
    return false;
  auto dtype = place.require("dtype"), shape = place.require("shape");
  auto strides = place.require("strides"), address = place.require("address");
  if (!dtype || !shape || !strides || !address)
    return false;
  uint64_t base;
  if (!readDType(*dtype, tensor.dtype) || !shape->read(tensor.shape) ||
      !strides->read(tensor.strides) || !address->readAddress(base))
    return false;
  if (tensor.strides.size() != tensor.shape.size())
    return strides->fail("'strides' and 'shape' differ in length");
  tensor.address = base;
  if (auto file = place.find("file")) {
    if (!file->read(tensor.file))
      return false;
    tensor.file = resolvePath(manifest.file, tensor.file);
  }
  // A tensor with a number for a name is a workspace, which kernels expect to
  // be zero. The record does not say which of the other tensors are inputs, so
  // all of them may be.
  unsigned number;
  StringRef digits = name;
  if (digits.consume_front("t") && !digits.getAsInteger(10, number))
    tensor.role = Role::Workspace;
  manifest.tensors.push_back(std::move(tensor));
  return true;
}

static bool readParam(const JsonPlace &place, ParamSpec &param) {
  param.where = place.where();
  if (!place.onlyKeys({"bytes", "tensormap"}))
    return false;
  if (auto bytes = place.find("bytes"))
    return bytes->readHex(param.bytes);
  auto map = place.require("tensormap");
  uint64_t base;
  auto address = map ? map->require("address") : std::nullopt;
  if (!address || !address->readAddress(base))
    return false;
  param.kind = ParamSpec::Kind::Map;
  param.map.address = base;
  return bool(map->require("dtype")) && readTensorMap(*map, param.map);
}

static bool readVariable(StringRef name, const JsonPlace &place,
                         const Manifest &manifest, LaunchSpec &launch) {
  VariableSpec variable;
  variable.name = name.str();
  if (!place.onlyKeys({"address", "file"}))
    return false;
  auto address = place.require("address");
  if (!address || !address->readAddress(variable.address))
    return false;
  if (!variable.address)
    return address->fail("a variable's address is not 0");
  if (auto file = place.find("file")) {
    if (!file->read(variable.file))
      return false;
    variable.file = resolvePath(manifest.file, variable.file);
  }
  launch.variables.push_back(std::move(variable));
  return true;
}

static bool readTriple(const JsonPlace &place, Expression (&triple)[3]) {
  std::vector<Expression> list;
  if (!place.read(list))
    return false;
  if (list.size() != 3)
    return place.fail("expected three numbers");
  std::copy(list.begin(), list.end(), triple);
  return true;
}

bool fa4::sim::readRecord(const JsonPlace &top, Manifest &manifest) {
  if (!top.onlyKeys({"kernel", "ptx", "grid", "block", "cluster",
                     "dynamic_smem", "params", "tensors", "variables"}))
    return false;
  LaunchSpec launch;
  auto kernel = top.require("kernel"), ptx = top.require("ptx"),
       grid = top.require("grid"), block = top.require("block"),
       cluster = top.require("cluster"), shared = top.require("dynamic_smem"),
       params = top.require("params"), tensors = top.require("tensors");
  if (!kernel || !ptx || !grid || !block || !cluster || !shared || !params ||
      !tensors)
    return false;
  if (!kernel->read(launch.entry) || !ptx->read(launch.ptx) ||
      !readTriple(*grid, launch.grid) || !readTriple(*block, launch.block) ||
      !readTriple(*cluster, launch.cluster) ||
      !shared->read(launch.dynamicShared))
    return false;
  launch.ptx = resolvePath(manifest.file, launch.ptx);
  bool ok = params->forEach([&](JsonPlace element) {
    launch.params.emplace_back();
    return readParam(element, launch.params.back());
  });
  if (auto variables = top.find("variables"))
    ok = ok && variables->forEachMember([&](StringRef name, JsonPlace member) {
      return readVariable(name, member, manifest, launch);
    });
  manifest.launches.push_back(std::move(launch));
  return ok && tensors->forEachMember([&](StringRef name, JsonPlace member) {
    return readTensor(name, member, manifest);
  });
}

llvm::Expected<Manifest> fa4::sim::joinRecords(StringRef path,
                                               std::vector<Manifest> parts) {
  Manifest result;
  result.file = path.str();
  for (Manifest &part : parts) {
    for (TensorSpec &tensor : part.tensors) {
      const TensorSpec *known = result.findTensor(tensor.name);
      if (!known)
        result.tensors.push_back(std::move(tensor));
      else if (known->address != tensor.address || known->dtype != tensor.dtype)
        return llvm::createStringError(part.file + ": tensor '" + tensor.name +
                                       "' differs from an earlier launch's");
    }
    for (SizeSpec &size : part.sizes)
      result.sizes.push_back(std::move(size));
    for (LaunchSpec &launch : part.launches)
      result.launches.push_back(std::move(launch));
  }
  return result;
}
