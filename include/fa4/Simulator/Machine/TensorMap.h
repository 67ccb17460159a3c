//===- TensorMap.h - a TMA tensor map as 128 bytes -------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor map in memory is what the driver's cuTensorMapEncodeTiled writes, to
// the bit, so that recorded launches may pass their bytes, kernels may copy a
// map, and tensormap.replace may edit it. All of a tiled map's meaning is in
// its first 64 bytes, and CuTe-DSL's grouped GEMM copies no more than those;
// the driver's other 64 repeat what follows from them, and nothing here reads
// them.
//
// The layout, in 32-bit words. It was read off the driver's results (13.0, one
// argument changed at a time), off ptxas's code for tensormap.replace on shared
// memory, which edits the words, and off recorded launches; the three agree.
//
//   0, 1     global address
//   2        bits 0-3   mode: 0 or 2 tiled (sm_90's driver writes 0, CuTe-DSL
//                       for sm_100 writes 2), 1 im2col
//            bits 4-6   rank - 1
//            bits 7-10  element type, as tensormap.replace numbers it
//            bits 11-12 interleave; 13-14 and 22 swizzle; 15 NaN fill
//            bit 16     f32 is rounded to tf32
//            bits 17-18 L2 promotion; 19-20 atomicity of the 128-byte swizzle
//            bit 21     cleared by a new atomicity, set in CuTe-DSL's maps for
//                       sm_100; no difference is known
//   3-6      byte strides of dimensions 1 to 4, without their low 4 bits
//   7        bits 32 to 35 of words 3 to 6: four bits each
//   8-12     dimensions - 1
//   13       element strides - 1, three bits each; box[0] - 1 in the high byte
//   14       box[1] - 1 to box[4] - 1, a byte each
//   15       0 (of im2col maps: the pixels)
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_TENSORMAP_H
#define FA4_SIMULATOR_MACHINE_TENSORMAP_H

#include "llvm/Support/Error.h"
#include <array>
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
  B4x16 = 13,    ///< 16U4_ALIGN8B: 16 elements in 8 bytes.
  B4x16P64 = 14, ///< 16U4_ALIGN16B: 8 bytes of padding behind them.
  B6x16P32 = 15, ///< 16U6_ALIGN16B: 12 bytes, and 4 of padding. A store takes
                 ///< 16 bytes of shared memory with 6 bits in each (b6p2x16).
};
/// Swizzles, numbered as in CUtensorMapSwizzle.
enum class TensorMapSwizzle : uint8_t {
  None = 0,
  B32 = 1,
  B64 = 2,
  B128 = 3,
  B128Atom32B = 4,
  B128Atom32BFlip8B = 5,
  B128Atom64B = 6,
};

/// What a tensor map says. Defaults are of all-zero bytes, but for the rank.
struct TensorMap {
  static constexpr size_t objectBytes = 128; ///< Size of one in memory.
  static constexpr size_t meaningBytes = 64; ///< Those that say something.

  uint8_t rank = 0; ///< 1..5.
  TensorMapType type = TensorMapType::U8;
  TensorMapSwizzle swizzle = TensorMapSwizzle::None;
  uint8_t interleave = 0;       ///< 0 none, 1 16 B, 2 32 B.
  uint64_t address = 0;         ///< Global address, 16-byte aligned.
  uint64_t dims[5] = {};        ///< Elements, 1..2^32; dims[0] is contiguous.
  uint64_t byteStrides[4] = {}; ///< Of dims[1]..dims[rank-1], in bytes.
  uint16_t box[5] = {};         ///< Elements of a box, 1..256.
  uint8_t elementStrides[5] = {1, 1, 1, 1, 1};
  uint8_t fillNan = 0; ///< Out of bounds: 0 zeros, 1 NaN.

  unsigned elementBits() const; ///< In global memory.
  /// Elements of less than a byte that shared memory has in places of 16 bytes
  /// for each 16 of them.
  bool isPadded() const {
    return type == TensorMapType::B4x16P64 || type == TensorMapType::B6x16P32;
  }
  /// Bytes of shared memory for `elements` neighbours.
  uint32_t sharedBytes(uint32_t elements) const {
    return isPadded() ? elements : elements * elementBits() / 8;
  }
  /// Checks the rules of cuTensorMapEncodeTiled; the error names the rule.
  llvm::Error verify() const;

  /// The map in the hardware's layout; the values must pass `verify`.
  std::array<uint8_t, objectBytes> encode() const;
  /// The meaning of a map's first `meaningBytes` bytes. An error if they are
  /// no tiled map: another mode, or bits that no tiled map sets. What follows
  /// from the rules of the driver is for `verify` to say.
  static llvm::Expected<TensorMap> decode(const uint8_t *bytes);
};

/// Fields of a map that tensormap.replace writes (PTX ISA), in the order of its
/// table.
enum class TensorMapField : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  Interleave,
  Swizzle,
  Atomicity,
  Fill,
};

/// Where in a map a field is: runs of bits, the value's lowest bits first.
struct TensorMapBits {
  struct Run {
    uint8_t word;  ///< 32-bit word of the map.
    uint8_t shift; ///< Lowest bit in it.
    uint8_t bits;
  };
  Run runs[2];
  unsigned count = 1;

  uint64_t read(const uint8_t *map) const;
  void write(uint8_t *map, uint64_t value) const;
};
/// The bits of a field's dimension `i` (0 for fields of the whole map).
TensorMapBits tensorMapBits(TensorMapField field, unsigned i = 0);

/// Writes the value of a tensormap.replace into a map; false when the field
/// cannot take the value. Bits that the field does not hold stay.
bool replaceTensorMapField(uint8_t *map, TensorMapField field, unsigned i,
                           uint64_t value);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_TENSORMAP_H
