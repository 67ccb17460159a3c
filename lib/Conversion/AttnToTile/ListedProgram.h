//===- ListedProgram.h - programs whose blocks a call lists ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_LISTEDPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_LISTEDPROGRAM_H

#include "MaskedProgram.h"

namespace fa4 {

/// A program whose work tiles have rows of one side, and which loops over the
/// blocks of the other side that the op's list has for these rows, if it has
/// lists. For example, with tiles of 128 queries and blocks of 384 queries and
/// 128 keys, which are visited in halves, tile 4 has list 1; its 5th step
/// visits the second half of the third block of that list.
class ListedProgram : protected MaskedProgram {
protected:
  /// `rows` are those of the tiles, and `columns` those of a step.
  ListedProgram(attn::AttentionOpInterface op, tile::KernelOp kernel,
                TokenSide rows, int64_t columns);

  bool hasList() { return bool(attention.getBlockList()); }
  /// Finds the list for the tile that begins with row `first`, of a head of
  /// `numHeads`, which as many heads of the list belong to. Returns the number
  /// of steps, which is 0 for rows behind the last list.
  mlir::Value findList(mlir::Value first, mlir::Value ofHead,
                       mlir::Value numHeads);
  /// Returns the number of the block of `columns` columns that the `step`-th
  /// step visits, of `numColumns`. A number of no listed block stands for the
  /// one behind the last.
  mlir::Value getListedBlock(mlir::Value step, mlir::Value numColumns);
  /// Does the same as maskSteps. `inParts` tells that the scores of a row fit
  /// into registers part by part only, as beside a derivative: the branch of
  /// maskSteps, which a list leaves in the loop, would need all of them.
  mlir::Value maskBlock(mlir::Value tile, mlir::Value step,
                        const MaskedSteps &ofBand,
                        const std::optional<MaskedSteps> &ofMask,
                        llvm::ArrayRef<TileValue> arguments,
                        llvm::function_ref<mlir::Value()> visible,
                        bool inParts);

private:
  const int64_t listedColumns;
  llvm::StringRef list, counts;       ///< The names of the arguments.
  unsigned sizeOfRows, sizeOfColumns; ///< In the op's block_size.
  llvm::SmallVector<mlir::Value> at;  ///< The indices of the tile's list.
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_LISTEDPROGRAM_H
