//===- RowWork.h - the work of a tile program's iteration ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_ROWWORK_H
#define FA4_DIALECT_TILE_ANALYSIS_ROWWORK_H

#include "fa4/Dialect/Tile/Analysis/ExpSplit.h"
#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Returns true for `math.exp2` and `tile.exp2` of a matrix.
bool isTileExponential(mlir::Operation *op);

/// Returns the exponentials of matrices in the loops of a kernel's roles, in
/// program order.
llvm::SmallVector<mlir::Operation *> collectTileExponentials(KernelOp kernel);

/// Returns the cycles that the tensor cores take for an MMA of one CTA.
uint64_t countMmaCycles(MmaOp op, const fa4::TargetDescription &target);

/// What one iteration of the kernel's roles takes around `exp`, which is one of
/// `tiles` exponentials of a kernel: what its own role does for the tile, its
/// part of what other roles do, the MMAs of all of them, and the dependence
/// cycle from the exponential through the MMAs that consume it and make its
/// tile.
///
/// All exponentials count as the special function unit's, those of `tile.exp2`
/// too: what the polynomial costs is computeExpBounds' to add.
///
/// Counts operations in loops. Of the branches of an `scf.if` the one with less
/// work is taken to be the usual one: masks are for a few blocks only; so are
/// rescalings of accumulators.
RowWork countRowWork(mlir::Operation *exp, unsigned tiles,
                     const fa4::TargetDescription &target);

/// Returns what bounds an iteration of the kernel's loops around its
/// exponentials: cycles on each unit, with all exponentials on the special
/// function unit and as they are distributed in the IR. None for a kernel that
/// has no roles or no such exponentials.
std::optional<ExpSplit> computeRoofline(KernelOp kernel);

/// Prints the roofline of a kernel, if it has one.
void printRoofline(KernelOp kernel, llvm::raw_ostream &os);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROWWORK_H
