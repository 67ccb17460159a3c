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

/// Returns the operation at which `user` has read its operands: an MMA that
/// lanes have started reads them until it is awaited.
mlir::Operation *getEndOfUse(mlir::Operation *user);

/// Returns the operation of `block` behind which nothing in the block reads the
/// stage that `waited`, the value of a wait, lies in. Null if nothing does.
mlir::Operation *getLastRead(mlir::Value waited, mlir::Block &block);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_BLOCKUSERS_H
