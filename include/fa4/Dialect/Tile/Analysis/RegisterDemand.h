//===- RegisterDemand.h - registers that roles need ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many registers a thread of each role needs. The figures are estimates
// from the tile values that the role's blocks hold at once. They are made
// before tile-distribute, while these values are whole tiles.
// assignRegisterBudgets divides a CTA's registers among its warpgroups by them;
// ptxas has the last word.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_REGISTERDEMAND_H
#define FA4_DIALECT_TILE_ANALYSIS_REGISTERDEMAND_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Target/RegisterBudget.h"

namespace fa4::tile {

/// Returns the demand of each role: the registers that a thread needs, and a
/// weight, which is the number of elementwise operations on the role's rows.
/// Roles that do the same work on different rows get the same demand.
llvm::SmallVector<RoleDemand>
findRegisterDemands(llvm::ArrayRef<RoleOp> roles,
                    const TargetDescription &target);

/// Returns the registers of tiles that the role must hold as a whole while it
/// waits for another tile, although it reduces no row. Only loops count in a
/// role that has some: around them, `tile-schedule` puts each computation
/// directly before its use. Returns 0 for a role that reduces rows.
unsigned registersAcrossWaits(RoleOp role);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_REGISTERDEMAND_H
