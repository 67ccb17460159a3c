//===- TensorBox.h - one box of a tensor map -----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_TENSORBOX_H
#define FA4_LIB_SIMULATOR_ASYNC_TENSORBOX_H

#include "Swizzle.h"
#include "fa4/Simulator/Machine/Checker.h"
#include "llvm/ADT/SmallVector.h"

namespace fa4::sim {

/// The box of `map` at `coordinates`: rows along dimension 0, which lie behind
/// one another in shared memory (dimension 1 fastest).
struct TensorBox {
  TensorBox(const TensorMap &map, const int32_t *coordinates);

  uint32_t rows = 1;     ///< Product of the outer dimensions of the box.
  uint32_t rowBytes = 0; ///< Of a row in shared memory.
  uint32_t bytes() const { return rows * rowBytes; }
  /// Less, where shared memory has padding, which an mbarrier does not count:
  /// CUTLASS's kernels expect so, and the manual does not say.
  uint32_t globalRowBytes = 0;
  uint32_t transactionBytes() const { return rows * globalRowBytes; }
  /// The bytes [rowBegin, rowEnd) of a row of global memory that are in bounds,
  /// for every row that is.
  uint32_t rowBegin = 0, rowEnd = 0;

  /// Returns the global address of byte rowBegin of a row, or 0 if the row is
  /// out of bounds.
  uint64_t rowAddress(uint32_t row) const;
  /// Returns the ranges of global memory that are in bounds.
  llvm::SmallVector<AccessRange, 4> ranges() const;
  /// Returns the ranges of the box's shared memory, at a shared address, that
  /// lie in bounds: what a store copies.
  llvm::SmallVector<AccessRange, 4> sharedRanges(uint32_t address) const;
  /// Copies rows [begin, end) from global memory to shared memory at
  /// `window` + swizzled (base + ...), filling what is outside. `toHost` maps
  /// a global address to host memory by its offset.
  void load(uint8_t *window, uint32_t base, intptr_t toHost, uint32_t begin,
            uint32_t end) const;
  /// Gathers a row from shared memory, as it is in global memory.
  void readShared(const uint8_t *window, uint32_t base, uint32_t row,
                  uint8_t *to) const;

  const TensorMap map;
  int32_t at[5];
  uint32_t extent[5]; ///< Elements of the box that are in shared memory.
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_TENSORBOX_H
