//===- DType.cpp - elements of tensors as bits ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/DType.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace fa4::sim;
using llvm::APFloat;

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
