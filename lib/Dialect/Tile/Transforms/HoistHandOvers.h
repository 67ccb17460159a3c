//===- HoistHandOvers.h - when lanes take and give stages ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_HOISTHANDOVERS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_HOISTHANDOVERS_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Moves acquires of stages with one number for each row to the front of their
/// block, because a wait in the midst of arithmetic keeps ptxas from
/// overlapping the instructions before and behind it. The wait is short:
/// readers release such a stage at once, so it has long been free. No other
/// role can see which of two waits came first.
void hoistAcquires(RoleOp role);

/// Moves releases of values that lanes hold in registers in front of waits for
/// other roles. In attention, the MMAs of the next scores wait for the release
/// of the last scores, and the lanes wait for the MMAs that read the last
/// probabilities. If the release came behind that wait, MMAs that could run at
/// any time would wait for each other.
void hoistReleases(RoleOp role);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_HOISTHANDOVERS_H
