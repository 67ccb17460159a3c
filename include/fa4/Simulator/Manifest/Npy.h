//===- Npy.h - numpy's array files -----------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The .npy format, versions 1 to 3 (numpy.lib.format), for plain numbers of
// either byte order and either memory order. An element of `V1` or `V2` (what
// numpy makes of ml_dtypes' types) is raw bits.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MANIFEST_NPY_H
#define FA4_SIMULATOR_MANIFEST_NPY_H

#include "fa4/Simulator/Manifest/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <string>
#include <vector>

namespace fa4::sim {

struct NpyArray {
  char kind = 'f'; ///< numpy's: b bool, i, u, f, V raw.
  unsigned itemBytes = 4;
  std::vector<int64_t> shape;
  std::vector<uint8_t> data; ///< Row-major, little-endian.

  int64_t count() const;
  /// "float32 [2, 3]".
  std::string describe() const;
};

/// Errors begin with the buffer's name.
llvm::Expected<NpyArray> parseNpy(llvm::MemoryBufferRef buffer);
llvm::Expected<NpyArray> readNpy(llvm::StringRef path);
/// The contents of a .npy file, version 1.
std::string encodeNpy(const NpyArray &array);

/// May an array of this type give the contents of a tensor of `type`, and how?
///   Value: numbers, rounded to `type`;  Bits: the elements' bits as they are.
enum class NpyMeaning : uint8_t { None, Value, Bits };
NpyMeaning npyMeaning(const NpyArray &array, DType type);

/// The bits of each element, of an array whose meaning is not None.
std::vector<uint8_t> toTensorBytes(const NpyArray &array, DType type);

/// bf16 and fp8 become float32; with `raw` their bits as uint16 and uint8.
/// `bytes`: packed row-major elements.
NpyArray fromTensorBytes(llvm::ArrayRef<uint8_t> bytes, DType type,
                         std::vector<int64_t> shape, bool raw);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MANIFEST_NPY_H
