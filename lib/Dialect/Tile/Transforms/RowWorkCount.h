//===- RowWorkCount.h - the work of a tile program's iteration ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ROWWORKCOUNT_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ROWWORKCOUNT_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Target/ExpSplit.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace fa4::tile {

/// Exponentials of matrices that threads hold, in loops of a kernel's roles, in
/// program order.
llvm::SmallVector<mlir::math::Exp2Op> collectTileExponentials(KernelOp kernel);

/// What one iteration of the kernel's roles takes around `exp`, which is one of
/// `tiles` exponentials of a kernel: what its own role does for the tile, its
/// part of what other roles do, the MMAs of all of them, and the dependence
/// cycle from the exponential through the MMAs that consume it and make its
/// tile.
///
/// Counts operations in loops. Of the branches of an `scf.if` the one with less
/// work is taken to be the usual one: masks are for a few blocks only; so are
/// rescalings of accumulators.
fa4::RowWork countRowWork(mlir::math::Exp2Op exp, unsigned tiles,
                          const fa4::TargetDescription &target);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROWWORKCOUNT_H
