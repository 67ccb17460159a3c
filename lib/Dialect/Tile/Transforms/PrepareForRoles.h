//===- PrepareForRoles.h - programs that can be cut into roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_PREPAREFORROLES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_PREPAREFORROLES_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Brings a tile program into the form that RolePartition takes: no MMA is in a
/// branch, no branch works on tiles of two roles, no zeros have to be written
/// to an accumulator, and no accumulator is stored as it is. Emits an error on
/// an operation that has no such form.
mlir::LogicalResult prepareForRoles(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_PREPAREFORROLES_H
