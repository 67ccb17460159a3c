//===- InPlaceRings.h - values that replace the accumulator they come from
//---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_INPLACERINGS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_INPLACERINGS_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/MapVector.h"

namespace fa4::tile {

/// Finds pairs of tensor-memory channels of one stage, `s` from a role that
/// issues MMAs to a role of lanes and `p` (or several parts of it) back, where
/// `p` can be written over `s`, and makes `p` in_place_of(s). Acquires and
/// releases of both are erased: ownership goes around. It needs that
///
/// - the lanes wait for `s` once for each commit of `p`, compute `p` from it,
/// and
///   use it no more when they commit;
/// - in the issuing role, whatever the trip counts, MMAs that write `s` and
///   MMAs that read all parts of the `p` made from it take turns;
/// - all parts together are no larger than `s`.
///
/// Where several `s` would do, the one that is waited for last.
void formInPlaceRings(KernelOp kernel);

/// For the accumulators of such rings, other results of the same role's MMAs
/// that can have their columns at other times: in program order, whatever the
/// trip counts, the guest is written when all parts have been read, and the
/// accumulator when the guest has been acquired again, so that its readers are
/// done. Acquires and releases of guests stay as they are.
llvm::MapVector<ChannelOp, llvm::SmallVector<ChannelOp>>
findRingGuests(KernelOp kernel);

/// Makes guests, one a ring, of channels that are written once between two
/// writes of the accumulator, but acquired too late: moves their acquires
/// before the writes of the accumulator. These then wait for the guest's
/// readers, which costs time, so it is for kernels that need the columns.
/// Returns whether there were any.
bool acquireGuestsEarly(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_INPLACERINGS_H
