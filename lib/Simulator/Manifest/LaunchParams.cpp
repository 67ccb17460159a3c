//===- LaunchParams.cpp - grids and parameter bytes of a manifest ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/Session.h"
#include <cstring>

using namespace fa4::sim;
using llvm::StringRef;
using llvm::Twine;

llvm::Expected<uint64_t> Session::integerOf(const Expression &expression,
                                            uint64_t limit) {
  auto value = evaluateInteger(expression, values);
  if (!value)
    return value.takeError();
  if (*value < 0 || uint64_t(*value) > limit)
    return llvm::createStringError("'" + expression.text() + "' is " +
                                   Twine(*value) + ", not from 0 to " +
                                   Twine(limit));
  return uint64_t(*value);
}

llvm::Error Session::makeTriple(const Expression (&from)[3], Dim3 &to,
                                StringRef what) {
  uint32_t *parts[] = {&to.x, &to.y, &to.z};
  for (unsigned i = 0; i < 3; ++i) {
    auto value = integerOf(from[i], UINT32_MAX);
    if (!value)
      return fail(what + ": " + llvm::toString(value.takeError()));
    *parts[i] = uint32_t(*value);
  }
  return llvm::Error::success();
}

template <typename T>
static std::vector<uint8_t> bytesOf(const T &value, size_t bytes = sizeof(T)) {
  std::vector<uint8_t> result(bytes);
  std::memcpy(result.data(), &value, bytes);
  return result;
}

llvm::Expected<TensorMap> Session::makeMap(const ParamSpec &param) {
  const TensorMapSpec &from = param.map;
  TensorMap map;
  map.rank = uint8_t(from.dims.size());
  map.type = TensorMapType(from.type);
  map.swizzle = TensorMapSwizzle(from.swizzle);
  map.interleave = from.interleave;
  map.fillNan = from.fillNan;
  uint64_t base = from.address ? *from.address : tensorOf(from.tensor).address;
  // Dimensions of a map may be such that nobody accesses the first elements,
  // which then need not be in the tensor.
  auto offset = evaluateInteger(from.offset, values);
  if (!offset)
    return offset.takeError();
  map.address = base + uint64_t(*offset);
  auto list = [&](const std::vector<Expression> &expressions, auto *to,
                  uint64_t limit) -> llvm::Error {
    for (size_t i = 0; i < expressions.size(); ++i) {
      auto value = integerOf(expressions[i], limit);
      if (!value)
        return value.takeError();
      to[i] = *value;
    }
    return llvm::Error::success();
  };
  if (auto error = list(from.dims, map.dims, uint64_t(1) << 32))
    return std::move(error);
  if (auto error = list(from.byteStrides, map.byteStrides, INT64_MAX))
    return std::move(error);
  if (auto error = list(from.box, map.box, UINT16_MAX))
    return std::move(error);
  if (auto error = list(from.elementStrides, map.elementStrides, UINT8_MAX))
    return std::move(error);
  if (auto error = map.verify())
    return std::move(error);
  return map;
}

/// Returns the bytes of a scalar parameter, or an error that says which value
/// does not fit.
static llvm::Expected<std::vector<uint8_t>> encodeScalar(const Number &number,
                                                         DType type) {
  unsigned bytes = dtypeBytes(type);
  if (isFloat(type))
    return bytesOf(encodeFloat(type, number.asDouble()), bytes);
  StringRef name = dtypeName(type);
  auto misfit = [&](const Twine &value) {
    return llvm::createStringError("value " + value + " does not fit " + name);
  };
  if (number.isFloat)
    return misfit(number.text());
  int64_t value = number.integer;
  unsigned bits = 8 * bytes;
  if (bits < 64) {
    int64_t low = isSigned(type) ? -(int64_t(1) << (bits - 1)) : 0;
    int64_t high = (int64_t(1) << (isSigned(type) ? bits - 1 : bits)) - 1;
    if (type == DType::Bool)
      high = 1;
    if (value < low || value > high)
      return misfit(Twine(value));
  }
  return bytesOf(value, bytes);
}

llvm::Expected<std::vector<uint8_t>>
Session::makeParam(const ParamSpec &param) {
  switch (param.kind) {
  case ParamSpec::Kind::Bytes:
    return param.bytes;
  case ParamSpec::Kind::Pointer: {
    auto offset = integerOf(param.value, INT64_MAX);
    if (!offset)
      return offset.takeError();
    return bytesOf(tensorOf(param.tensor).address + *offset);
  }
  case ParamSpec::Kind::Value: {
    auto number = toExpected([&] { return param.value.evaluate(values); });
    if (!number)
      return number.takeError();
    return encodeScalar(*number, param.dtype);
  }
  case ParamSpec::Kind::Map: {
    auto map = makeMap(param);
    if (!map)
      return map.takeError();
    auto bytes = map->encode();
    return std::vector<uint8_t>(bytes.begin(), bytes.end());
  }
  case ParamSpec::Kind::Struct:
    break;
  }
  std::vector<uint8_t> result(param.structBytes);
  for (const auto &[offset, field] : param.fields) {
    auto bytes = makeParam(field);
    if (!bytes)
      return bytes;
    std::copy(bytes->begin(), bytes->end(), result.begin() + offset);
  }
  return result;
}

llvm::Expected<bool> Session::findEmpty(const LaunchSpec &launch) const {
  if (!launch.empty)
    return false;
  auto isEmpty = evaluateInteger(launch.empty->condition, values);
  if (!isEmpty)
    return fail(llvm::toString(isEmpty.takeError()) + " at " +
                launch.empty->where);
  return *isEmpty != 0;
}

/// Returns the grid for as many SMs as there can be (LaunchConfig::widestGrid).
/// Zeros if the manifest's grid does not go by the number of SMs.
Dim3 Session::findWidestGrid(const LaunchSpec &launch) const {
  int smCount = spec.findScalar("sm_count");
  if (smCount < 0)
    return {0, 0, 0};
  Values many = values;
  many[size_t(smCount)] = Number(int64_t(INT32_MAX));
  uint32_t parts[3];
  for (unsigned i = 0; i < 3; ++i) {
    std::optional<int64_t> value = launch.grid[i].tryInteger(many);
    if (!value || *value < 0 || *value > INT32_MAX)
      return {0, 0, 0};
    parts[i] = uint32_t(*value);
  }
  return {parts[0], parts[1], parts[2]};
}

llvm::Expected<LaunchConfig> Session::makeConfig(const LaunchSpec &launch) {
  LaunchConfig config;
  config.entry = launch.entry;
  if (auto error = makeTriple(launch.grid, config.grid, "grid"))
    return std::move(error);
  if (auto error = makeTriple(launch.block, config.block, "block"))
    return std::move(error);
  if (auto error = makeTriple(launch.cluster, config.cluster, "cluster"))
    return std::move(error);
  auto shared = integerOf(launch.dynamicShared, UINT32_MAX);
  if (!shared)
    return fail("dynamic_smem: " + llvm::toString(shared.takeError()));
  config.dynamicSharedBytes = uint32_t(*shared);
  config.programmatic = launch.programmatic;
  config.widestGrid = findWidestGrid(launch);
  for (const ParamSpec &param : launch.params) {
    auto bytes = makeParam(param);
    if (!bytes)
      return fail(llvm::toString(bytes.takeError()) + " at " + param.where);
    config.params.push_back(std::move(*bytes));
  }
  return config;
}

llvm::Error Session::makeConfigs() {
  for (const LaunchSpec &launch : spec.launches) {
    auto isEmpty = findEmpty(launch);
    if (!isEmpty)
      return isEmpty.takeError();
    emptyLaunches.push_back(*isEmpty);
    if (*isEmpty) {
      configs.emplace_back();
      configs.back().entry = launch.entry;
      configs.back().grid = {0, 0, 0};
      continue;
    }
    auto config = makeConfig(launch);
    if (!config)
      return config.takeError();
    configs.push_back(std::move(*config));
  }
  return llvm::Error::success();
}
