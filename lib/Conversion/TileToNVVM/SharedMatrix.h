//===- SharedMatrix.h - operands of MMAs in shared memory ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_SHAREDMATRIX_H
#define FA4_LIB_CONVERSION_TILETONVVM_SHAREDMATRIX_H

#include "RoleCode.h"

namespace fa4::tile {

/// The number of columns of A that one instruction takes, for 16-bit elements
/// (PTX ISA, tcgen05.mma and wgmma.mma_async, matrix shape).
inline constexpr int64_t kStep = 16;

/// Which bytes of shared memory an operand covers. What a descriptor says of
/// that is the same for tcgen05.mma and wgmma.mma_async, which encode it
/// differently (PTX ISA, "Matrix Descriptor Format" of both). All distances are
/// in units of 16 bytes.
struct SharedMatrix {
  const Buffer *buffer = nullptr;
  Handle handle;
  /// True if the K dimension runs along the rows of the tile in memory.
  bool majorK = true;

  /// Returns the distance of K step `step` from the start of the stage.
  int64_t getOffset(int64_t step) const {
    int64_t row = handle.row, column = handle.column;
    (majorK ? column : row) += step * kStep;
    return buffer->elementOffset(row, column) / 16;
  }
  /// Returns the distance between blocks of `span` bytes along M or N (the
  /// leading dimension offset). It is not used if K runs along the rows.
  int64_t getLeading() const { return majorK ? 1 : buffer->boxBytes() / 16; }
  /// Returns the distance between groups of 8 rows (the stride dimension
  /// offset).
  int64_t getStride() const { return 8 * buffer->span / 16; }

  /// Sets the members for an operand whose tile the role has waited for. Emits
  /// an error on the MMA if `value` is no such tile.
  mlir::LogicalResult find(MmaOp op, mlir::Value value, bool majorK,
                           const llvm::DenseMap<mlir::Value, Handle> &handles,
                           const KernelLayout &layout);

  /// Checks that the operand begins where a descriptor can begin.
  mlir::LogicalResult check(MmaOp op) const;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_SHAREDMATRIX_H
