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

/// Returns those of the exponentials, as collectTileExponentials orders them,
/// from which no other one of their block is computed. A dependence cycle
/// through an exponential goes on through those that are computed from it, so
/// these stand for all.
llvm::SmallVector<mlir::Operation *>
findLastExponentials(llvm::ArrayRef<mlir::Operation *> exponentials);

/// Returns the cycles that the tensor cores take for an MMA of one CTA.
uint64_t countMmaCycles(MmaOp op, const fa4::TargetDescription &target);

/// Counts the work of one iteration of the kernel's roles around `exp`, which
/// is one of `tiles` exponentials of a kernel: the work of its own role on the
/// tile, its share of the other roles' work, the MMAs of all tiles, and the
/// dependence cycle from the exponential through the MMAs that consume it and
/// make its tile.
///
/// All exponentials count for the special function unit, also those of
/// `tile.exp2`: computeExpBounds adds the cost of the polynomial.
///
/// Counts operations in loops. For an `scf.if`, the branch with less work is
/// counted as the usual one, because masks concern only a few blocks, and
/// accumulators are rarely rescaled.
RowWork countRowWork(mlir::Operation *exp, unsigned tiles,
                     const fa4::TargetDescription &target);

/// Returns the bounds of an iteration of the kernel's loops around its
/// exponentials: cycles on each unit, once with all exponentials on the special
/// function unit and once as they are distributed in the IR. Returns nothing
/// for a kernel without roles or without such exponentials.
std::optional<ExpSplit> computeRoofline(KernelOp kernel);

/// Prints the roofline of a kernel, if it has one.
void printRoofline(KernelOp kernel, llvm::raw_ostream &os);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROWWORK_H
