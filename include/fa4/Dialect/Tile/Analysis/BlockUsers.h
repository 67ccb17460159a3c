//===- BlockUsers.h - where a block uses values ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_BLOCKUSERS_H
#define FA4_DIALECT_TILE_ANALYSIS_BLOCKUSERS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace fa4::tile {

/// Return the first (or last) operation of `block` that uses one of `values`,
/// itself or in its regions. Null if the block has none.
mlir::Operation *getFirstUser(mlir::ValueRange values, mlir::Block &block);
mlir::Operation *getLastUser(mlir::ValueRange values, mlir::Block &block);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_BLOCKUSERS_H
