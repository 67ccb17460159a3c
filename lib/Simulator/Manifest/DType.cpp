//===- DType.cpp - element types of tensors -------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/DType.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace fa4::sim;
using llvm::APFloat;

namespace {
struct Info {
  llvm::StringRef name;
  unsigned bytes;
  bool isFloat;
};
} // namespace

/// The table's rows are in the order of the enumerators of DType.
static constexpr Info table[] = {
    {"bool", 1, false}, {"i8", 1, false},  {"u8", 1, false},  {"i16", 2, false},
    {"u16", 2, false},  {"i32", 4, false}, {"u32", 4, false}, {"i64", 8, false},
    {"u64", 8, false},  {"e4m3", 1, true}, {"e5m2", 1, true}, {"f16", 2, true},
    {"bf16", 2, true},  {"f32", 4, true},  {"f64", 8, true},
};

llvm::StringRef fa4::sim::dtypeName(DType type) {
  return table[unsigned(type)].name;
}

std::optional<DType> fa4::sim::dtypeByName(llvm::StringRef name) {
  for (unsigned i = 0; i < std::size(table); ++i)
    if (table[i].name == name)
      return DType(i);
  return std::nullopt;
}

unsigned fa4::sim::dtypeBytes(DType type) {
  return table[unsigned(type)].bytes;
}

bool fa4::sim::isFloat(DType type) { return table[unsigned(type)].isFloat; }

static const llvm::fltSemantics &semantics(DType type) {
  switch (type) {
  case DType::E4M3:
    return APFloat::Float8E4M3FN();
  case DType::E5M2:
    return APFloat::Float8E5M2();
  case DType::F16:
    return APFloat::IEEEhalf();
  case DType::BF16:
    return APFloat::BFloat();
  case DType::F32:
    return APFloat::IEEEsingle();
  default:
    return APFloat::IEEEdouble();
  }
}

/// Rounds to bf16 from the bits of a double that is exactly a float. Nearly all
/// values are, and this way is much faster than the general one.
static std::optional<uint64_t> encodeBf16(double value) {
  float narrow = float(value);
  if (double(narrow) != value || std::isnan(value))
    return std::nullopt;
  uint32_t bits = llvm::bit_cast<uint32_t>(narrow);
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

uint64_t fa4::sim::encodeFloat(DType type, double value) {
  if (type == DType::F64)
    return llvm::bit_cast<uint64_t>(value);
  if (type == DType::F32)
    return llvm::bit_cast<uint32_t>(float(value));
  if (type == DType::BF16)
    if (auto bits = encodeBf16(value))
      return *bits;
  APFloat number(value);
  bool inexact;
  number.convert(semantics(type), APFloat::rmNearestTiesToEven, &inexact);
  return number.bitcastToAPInt().getZExtValue();
}

double fa4::sim::decodeFloat(DType type, uint64_t bits) {
  if (type == DType::F64)
    return llvm::bit_cast<double>(bits);
  if (type == DType::F32)
    return llvm::bit_cast<float>(uint32_t(bits));
  if (type == DType::BF16)
    return llvm::bit_cast<float>(uint32_t(bits) << 16);
  APFloat number(semantics(type), llvm::APInt(8 * dtypeBytes(type), bits));
  bool inexact;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}
