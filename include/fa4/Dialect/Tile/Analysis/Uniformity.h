//===- Uniformity.h - what all lanes of a role do alike ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An mbarrier counts the arrivals of all lanes of a role, so all lanes have to
// come to each channel operation equally often. They do if the loops and
// branches around it are decided by values that are the same in all lanes:
// constants, arguments of the kernel, the work tile, induction variables, and
// values computed from these.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_UNIFORMITY_H
#define FA4_DIALECT_TILE_ANALYSIS_UNIFORMITY_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Returns true if a value is proven to be the same in all lanes of the role
/// that computes it. Tiles are distributed over lanes and therefore never
/// uniform.
bool isUniform(mlir::Value value);

/// Checks three things. All lanes of a role execute its channel operations
/// equally often. These and asynchronous operations are in nothing but scf.for
/// and scf.if. All lanes of a warp come together to operations that a warp
/// executes as a whole (accesses to tensor memory, tile.any). Emits an error on
/// the loop, branch or other operation around one that fails.
mlir::LogicalResult verifyUniformity(RoleOp role);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_UNIFORMITY_H
