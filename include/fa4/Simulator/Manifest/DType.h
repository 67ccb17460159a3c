//===- DType.h - elements of tensors as bits -------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MANIFEST_DTYPE_H
#define FA4_SIMULATOR_MANIFEST_DTYPE_H

#include "fa4/Manifest/DType.h"
#include <cstdint>

namespace fa4::sim {

using namespace manifest;

/// Rounds `value` to nearest even, as frameworks do: a value that is too large
/// becomes infinity (NaN in e4m3). `type` is a floating type; the result is in
/// the low bits.
uint64_t encodeFloat(DType type, double value);
double decodeFloat(DType type, uint64_t bits);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MANIFEST_DTYPE_H
