//===- RoleBuilder.h - roles and channels from a partition ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEBUILDER_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEBUILDER_H

#include "fa4/Dialect/Tile/Analysis/RolePartition.h"
#include "fa4/Target/TargetDescription.h"

namespace fa4::tile {

/// Replaces the body of a tile program by one `tile.role` for each role of the
/// partition and one `tile.channel` for each value that one role makes and
/// another uses. Each role keeps a copy of the loops with its own operations.
/// Emits an error if a value cannot cross from one role to another.
mlir::LogicalResult buildRoles(KernelOp kernel, const RolePartition &partition,
                               const TargetDescription &target);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ROLEBUILDER_H
