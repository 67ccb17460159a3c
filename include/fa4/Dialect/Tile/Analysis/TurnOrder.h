//===- TurnOrder.h - turns that come ----------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Work tiles wait for each other at tile.await_turn. Nobody waits forever if
//
// (1) each work tile that comes to a place is one of those that take turns
//     there, comes once, and all of them agree on which these are,
// (2) all that take turns come, and
// (3) those whose turn is earlier have been begun, or are begun by somebody who
//     waits for nobody else.
//
// (1) and (2) are proven for all sizes, by linear arithmetic. Then the numbers
// of the turns at a place are 0, 1, 2, ... in the order of one coordinate of
// the work tile. (3) holds because this is the order in which work tiles are
// worked on: of all that are not finished, the first one in this order waits
// for nobody, if its CTA runs. That a CTA starts no later than those with
// larger numbers (schedules `grid` and `lpt`), or that all CTAs of a launch run
// at the same time (`static`) is assumed of the hardware. In which order it
// hands out the work of others (`clc`) is not known, so that these kernels are
// refused.
//
// Where turns go along the axis of a cluster, it is clusters that take them, by
// their numbers along the axis, and all of this is about clusters: each CTA of
// a cluster comes to places of its own, to which only CTAs come that have the
// same number in their clusters. So none waits for another one of its cluster
// at a turn, and those of the first cluster that is not finished wait for each
// other only as the roles of one work tile do (ProtocolVerifier.h). A cluster
// starts as a whole, no later than those with larger numbers.
//
// Of outputs whose sums have an order (tile.output = "ordered") it is proven,
// too, that work tiles which add to one element do so in turns at one place,
// and each of them once, so that the order of turns is that of the sums.
//
// Assumed of sizes, as everywhere: LaunchLimits.h. A product of two sizes
// counts elements of a tensor, and so does not wrap around; nor does one of a
// constant and the number of heads that take turns in a loop, as the constant
// is a size, too. Divisors are not 0.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_TURNORDER_H
#define FA4_DIALECT_TILE_ANALYSIS_TURNORDER_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Proves that all turns of the kernel come, and order the sums of its ordered
/// outputs. Emits an error on the tile.await_turn, or on the tile.reduce_add,
/// of which this is not shown.
llvm::LogicalResult verifyTurns(KernelOp kernel);

/// Whether the tensors that count the turns of the kernel have room for the
/// parts of each, and for the CTAs of a cluster, which is a part of what
/// verifyTurns proves. Emits an error where it understands less than that.
bool haveRoomForTurns(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_TURNORDER_H
