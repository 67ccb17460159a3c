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
// (1) and (2) are proven for all sizes, by linear arithmetic. The numbers of
// the turns at a place are then 0, 1, 2, ... in the order of one coordinate of
// the work tile. (3) holds because work tiles are worked on in this order: the
// first unfinished tile in it waits for nobody, if its CTA runs. The proof
// assumes of the hardware that a CTA starts no later than those with larger
// numbers (schedules `grid` and `lpt`), or that all CTAs of a launch run at the
// same time (`static`). With the schedule `clc` it is unknown in which order
// the hardware hands out work, so such kernels are refused.
//
// If turns go along the axis of a cluster, clusters take them, by their numbers
// along the axis. All of the above is then about clusters. Each CTA of a
// cluster comes to places of its own, to which only CTAs with the same number
// in their clusters come. So no CTA waits at a turn for another CTA of its
// cluster. The CTAs of the first unfinished cluster wait for each other only as
// the roles of one work tile do (ProtocolVerifier.h). A cluster starts as a
// whole, no later than those with larger numbers.
//
// For outputs whose sums have an order (tile.output = "ordered") the proof
// shows more: work tiles that add to one element do so in turns at one place,
// and each adds once. The order of the turns is then the order of the sums.
//
// The sizes are assumed to be within LaunchLimits.h, as everywhere. A product
// of two sizes counts elements of a tensor, so it does not wrap around. Nor
// does a product of a constant and the number of heads that take turns in a
// loop, because that constant is a size, too. Divisors are not 0.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_TURNORDER_H
#define FA4_DIALECT_TILE_ANALYSIS_TURNORDER_H

#include "fa4/Dialect/Tile/Analysis/PairRanks.h"

namespace fa4::tile {

/// Proves that all turns of the kernel come, and that they order the sums of
/// its ordered outputs. Emits an error on a tile.await_turn or tile.reduce_add
/// for which there is no proof.
llvm::LogicalResult verifyTurns(KernelOp kernel);

/// Returns true if the tensors that count the turns of the kernel have room for
/// the parts of each turn and for the CTAs of a cluster. This is a part of the
/// proof of verifyTurns, and emits nothing.
bool haveRoomForTurns(KernelOp kernel);

/// Returns what haveRoomForTurns would return for the program that a pair of
/// CTAs gets by the plan. The kernel has no clusters yet, and is not changed.
bool haveRoomForTurns(KernelOp kernel, const PairPlan &plan);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_TURNORDER_H
