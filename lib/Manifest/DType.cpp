//===- DType.cpp - element types of tensors ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Manifest/DType.h"
#include <iterator>

using namespace fa4::manifest;

namespace {
struct Info {
  const char *name;
  unsigned bytes;
  uint8_t tensorMapType;
  bool isFloat, isSigned;
};
} // namespace

/// The table's rows are in the order of the enumerators of DType.
static constexpr Info kTable[] = {
    {"bool", 1, 0, false, false}, {"i8", 1, 0, false, true},
    {"u8", 1, 0, false, false},   {"i16", 2, 1, false, true},
    {"u16", 2, 1, false, false},  {"i32", 4, 3, false, true},
    {"u32", 4, 2, false, false},  {"i64", 8, 5, false, true},
    {"u64", 8, 4, false, false},  {"e4m3", 1, 0, true, true},
    {"e5m2", 1, 0, true, true},   {"f16", 2, 6, true, true},
    {"bf16", 2, 9, true, true},   {"f32", 4, 7, true, true},
    {"f64", 8, 8, true, true}};

const char *fa4::manifest::dtypeName(DType type) {
  return kTable[unsigned(type)].name;
}

std::optional<DType> fa4::manifest::dtypeByName(std::string_view name) {
  for (unsigned i = 0; i < std::size(kTable); ++i)
    if (kTable[i].name == name)
      return DType(i);
  return std::nullopt;
}

unsigned fa4::manifest::dtypeBytes(DType type) {
  return kTable[unsigned(type)].bytes;
}

bool fa4::manifest::isFloat(DType type) {
  return kTable[unsigned(type)].isFloat;
}

bool fa4::manifest::isSigned(DType type) {
  return kTable[unsigned(type)].isSigned;
}

uint8_t fa4::manifest::tensorMapType(DType type) {
  return kTable[unsigned(type)].tensorMapType;
}
