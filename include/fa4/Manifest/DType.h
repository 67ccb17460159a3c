//===- DType.h - element types of tensors ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_MANIFEST_DTYPE_H
#define FA4_MANIFEST_DTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace fa4::manifest {

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
const char *dtypeName(DType type);
std::optional<DType> dtypeByName(std::string_view name);
unsigned dtypeBytes(DType type);
bool isFloat(DType type);
/// Whether the type has negative numbers.
bool isSigned(DType type);
/// Returns the type's number in CUtensorMapDataType; fp8 and 8-bit integers are
/// bytes.
uint8_t tensorMapType(DType type);

} // namespace fa4::manifest

#endif // FA4_MANIFEST_DTYPE_H
