//===- ColumnLoop.h - large arithmetic as a loop over pairs of columns ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNLOOP_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNLOOP_H

#include "RowColumns.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

/// Returns true if the arithmetic on rows in a block of the role takes
/// `instructions` instructions for a pair of columns, or more.
bool hasLongArithmetic(RoleOp role, int64_t instructions);

/// Operations of one block that compute each column of a row from the same
/// column of their operands, such as those of a score_mod.
struct ColumnGroup {
  /// The instructions for a pair of columns, roughly.
  int64_t instructions = 0;
  /// The operations, in program order.
  llvm::SmallVector<mlir::Operation *> ops;
  /// The rows that the operations take from other operations.
  llvm::SmallSetVector<mlir::Value, 8> operands;
  /// The results that other operations use.
  llvm::SmallVector<mlir::Value> outputs;
};

/// Finds the operations that `value` is computed from, and the operations in
/// front of `user` that can be computed with them: in front of a write, for
/// example, operations that would need the same numbers again later. `user`
/// asks for pairs `begin` to `end` of `value`, none of which are built. Returns
/// nothing if the operations take fewer than `instructions` instructions for a
/// pair.
std::optional<ColumnGroup> findColumnGroup(mlir::Value value, int64_t begin,
                                           int64_t end, mlir::Operation *user,
                                           RowColumns &columns,
                                           int64_t instructions);

/// Builds pairs `begin` to `end` of the outputs of `group` by a loop over
/// pairs, with four or eight passes if there are as many pairs. A loop cannot
/// count through registers. It therefore carries all pairs of the operands; a
/// pass takes the first ones, moves the others up, and puts its results behind
/// them.
///
/// The operands must be built. Returns false, and builds nothing, if there are
/// too few pairs for a loop, or too many results to carry.
bool buildColumnLoop(const ColumnGroup &group, int64_t begin, int64_t end,
                     RowColumns &columns, mlir::OpBuilder &b);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_COLUMNLOOP_H
