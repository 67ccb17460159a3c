//===- TensorMap.h - a TMA tensor map as 128 bytes -------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hardware's CUtensorMap is opaque. A launch of the simulator passes this
// struct in its place: 128 bytes, self-contained, so that a kernel may copy
// it, and tensormap.replace may edit it (PTX ISA, "Tensors").
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_TENSORMAP_H
#define FA4_SIMULATOR_MACHINE_TENSORMAP_H

#include "llvm/Support/Error.h"
#include <cstdint>

namespace fa4::sim {

/// Element types, numbered as CUtensorMapDataType.
enum class TensorMapType : uint8_t {
  U8 = 0,
  U16 = 1,
  U32 = 2,
  S32 = 3,
  U64 = 4,
  S64 = 5,
  F16 = 6,
  F32 = 7,
  F64 = 8,
  BF16 = 9,
  F32Ftz = 10,
  TF32 = 11,
  TF32Ftz = 12,
};
/// Numbered as CUtensorMapSwizzle.
enum class TensorMapSwizzle : uint8_t {
  None = 0,
  B32 = 1,
  B64 = 2,
  B128 = 3,
  B128Atom32B = 4,
  B128Atom32BFlip8B = 5,
  B128Atom64B = 6,
};

struct TensorMap {
  static constexpr uint32_t magicValue = 0x50414D54; // "TMAP"

  uint32_t magic = magicValue;
  uint8_t rank = 0; ///< 1..5.
  TensorMapType type = TensorMapType::U8;
  TensorMapSwizzle swizzle = TensorMapSwizzle::None;
  uint8_t interleave = 0;       ///< 0 none, 1 16 B, 2 32 B.
  uint64_t address = 0;         ///< Global address, 16-byte aligned.
  uint64_t dims[5] = {};        ///< Elements; dims[0] is contiguous.
  uint64_t byteStrides[4] = {}; ///< Of dims[1]..dims[rank-1], in bytes.
  uint16_t box[5] = {};         ///< Elements of a box, 1..256.
  uint8_t elementStrides[5] = {1, 1, 1, 1, 1};
  uint8_t fillNan = 0; ///< Out of bounds: 0 zeros, 1 NaN.
  uint8_t reserved[24] = {};

  unsigned elementBytes() const;
  /// Checks the rules of cuTensorMapEncodeTiled; the error names the rule.
  llvm::Error verify() const;
};
static_assert(sizeof(TensorMap) == 128, "a tensor map is 128 bytes");

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_TENSORMAP_H
