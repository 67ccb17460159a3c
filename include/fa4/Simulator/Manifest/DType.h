//===- DType.h - element types of tensors ----------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MANIFEST_DTYPE_H
#define FA4_SIMULATOR_MANIFEST_DTYPE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace fa4::sim {

enum class DType : uint8_t {
  Bool,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  E4M3, ///< float8_e4m3fn: no infinities.
  E5M2,
  F16,
  BF16,
  F32,
  F64,
};

/// Returns the type's name, for example "bf16".
llvm::StringRef dtypeName(DType type);
std::optional<DType> dtypeByName(llvm::StringRef name);
unsigned dtypeBytes(DType type);
bool isFloat(DType type);

/// Rounds `value` to nearest even, as frameworks do: a value that is too large
/// becomes infinity (NaN in e4m3). `type` is a floating type; the result is in
/// the low bits.
uint64_t encodeFloat(DType type, double value);
double decodeFloat(DType type, uint64_t bits);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MANIFEST_DTYPE_H
