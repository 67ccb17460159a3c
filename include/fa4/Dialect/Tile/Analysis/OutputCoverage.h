//===- OutputCoverage.h - which elements of an output are written ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides whether the stores of a kernel write each element of an output
// exactly once. A missing store leaves elements unwritten; a repeated store
// writes some of them twice.
//
// Each index of a store is read as a sum (IndexForms.h):
//
//   index of dimension d  =  P * coordinate  +  constant
//
// where the coordinate is one of tile.work_tile, or the pass of a loop around
// the store. All stores of the output must agree on the coordinate and on P.
// Dimension d is then cut into blocks of P elements, and the coordinate names
// the block. The blocks are all there and none is visited twice if
//
//  - P is the tile of the coordinate's grid extent, whose size is that of d
//    (for a loop: it starts at 0 and ends with the dimension), and
//  - the coordinate belongs to no other dimension, and no coordinate to none.
//
// A dimension without a coordinate is one block of its static size. What
// remains are the constants: each store writes a box inside of a block (of the
// tile's size in the dimensions that the tile spans, of size 1 in the others).
// The boxes of all stores must not overlap, and together be the block.
//
//   out[256 w + 0 .. 256 w + 128) and out[256 w + 128 .. 256 w + 256)
//     = blocks of 256 rows, in which [0, 128) and [128, 256) are written
//
// A store under an `scf.if` counts if the other branch has the same store.
// About everything else (indices that are no such sum, loops that do not end
// with the dimension) the analysis knows nothing. That is an error if
// `tile.output` claims that each element is written once; `"partial"` claims
// nothing. Without `tile.output` it is a remark.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_OUTPUTCOVERAGE_H
#define FA4_DIALECT_TILE_ANALYSIS_OUTPUTCOVERAGE_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Checks for each memref argument that the kernel's stores to it do what its
/// `tile.output` says. Without `tile.output`, they must do what OutputKind says
/// of the operations that write the argument. Emits an error on the kernel or a
/// store and fails if they do not. Emits a remark with the reason if the
/// analysis does not know and there is no `tile.output`.
mlir::LogicalResult verifyOutputs(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_OUTPUTCOVERAGE_H
