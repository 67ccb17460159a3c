//===- RegisterDemand.h - registers that roles need ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many registers a thread of each role needs, from the tile values that its
// blocks hold at once, as long as these are whole tiles: before
// tile-distribute. The figures are estimates from which assignRegisterBudgets
// divides a CTA's registers among its warpgroups; ptxas has the last word.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_REGISTERDEMAND_H
#define FA4_DIALECT_TILE_ANALYSIS_REGISTERDEMAND_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Target/RegisterBudget.h"

namespace fa4::tile {

/// Returns the demand of each role: the registers that a thread needs, and a
/// weight, which is the number of elementwise operations on its rows. Roles
/// that do the same for different rows get the same demand.
llvm::SmallVector<RoleDemand>
findRegisterDemands(llvm::ArrayRef<RoleOp> roles,
                    const TargetDescription &target);

/// Returns the registers of tiles that a loop of the role, or a role without
/// loops, must hold as a whole, although it reduces no row: it uses them again
/// when it has waited for another tile. 0 for a role that reduces rows. Around
/// loops, `tile-schedule` puts each computation directly before its use.
unsigned registersAcrossWaits(RoleOp role);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_REGISTERDEMAND_H
