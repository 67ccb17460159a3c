//===- TileWarpSpecialize.h - tile programs to roles and channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_TILEWARPSPECIALIZE_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_TILEWARPSPECIALIZE_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Replaces the tile program of the kernel by roles and channels. Fails with an
/// error on the operation that no role can execute.
mlir::LogicalResult specializeWarps(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_TILEWARPSPECIALIZE_H
