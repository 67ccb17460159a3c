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
  /// Returns the type and shape in words, for example "float32 [2, 3]".
  std::string describe() const;
};

/// Reads a .npy file. An error begins with the buffer's name.
llvm::Expected<NpyArray> parseNpy(llvm::MemoryBufferRef buffer);
llvm::Expected<NpyArray> readNpy(llvm::StringRef path);
/// The contents of a .npy file, version 1.
std::string encodeNpy(const NpyArray &array);

/// How the elements of an array become the contents of a tensor of `type`:
///  Value: they are numbers, and are rounded to `type`; Bits: their bits are
///  taken as they are; None: an array of this type cannot give the contents.
enum class NpyMeaning : uint8_t { None, Value, Bits };
NpyMeaning npyMeaning(const NpyArray &array, DType type);

/// Returns the bits of each element. The meaning of the array must not be None.
std::vector<uint8_t> toTensorBytes(const NpyArray &array, DType type);

/// Makes an array from `bytes`, which are packed row-major elements of `type`.
/// bf16 and fp8 become float32; with `raw`, their bits become uint16 and uint8.
NpyArray fromTensorBytes(llvm::ArrayRef<uint8_t> bytes, DType type,
                         std::vector<int64_t> shape, bool raw);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MANIFEST_NPY_H
