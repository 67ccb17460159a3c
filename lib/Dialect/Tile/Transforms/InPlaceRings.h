//===- InPlaceRings.h - tensor memory that values use in turn ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_INPLACERINGS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_INPLACERINGS_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Puts values that lanes compute from an accumulator in its place. The
/// accumulator `s` goes from a role that issues MMAs to a role of lanes; `p`,
/// or several parts of it, goes back. All are tensor-memory channels of one
/// stage. The result is in_place_of(s) for `p`, with its parts side by side.
/// Acquires and releases of both are erased, because ownership goes around. The
/// conditions are:
///
/// - the lanes wait for `s` once for each commit of `p`, compute `p` from it,
///   and use it no more when they commit;
/// - in the issuing role, whatever the trip counts, MMAs that write `s` and
///   MMAs that read all parts of the `p` made from it take turns;
/// - all parts together are no larger than `s`.
///
/// If several `s` qualify, the one for which the lanes wait last is taken.
void formInPlaceRings(KernelOp kernel);

/// Puts other results of the same role's MMAs (guests) in place of the
/// accumulators of such rings. The order of the roles must allow it without a
/// change, whatever the trip counts: the role writes the guest when all parts
/// have been read, and writes the accumulator when it has acquired the guest
/// again, so that the guest's readers are done.
void shareInTurn(KernelOp kernel);

/// Puts one more result of MMAs (the guest) in place of an accumulator (the
/// host) where this needs additional waiting. Returns false if there is none.
///
/// The host is the accumulator of a ring, or one for which the issuing role can
/// tell when it has been read: the role waits, once for each value, for
/// something that each consumer of the host commits after the last read. The
/// host then loses its acquires and releases.
///
/// The guest must be written once between two writes of the host. Its acquires
/// move before the writes of the host, so the role waits for the guest's
/// readers there. The guest's consumers must therefore release each value
/// without waiting for what the role does next.
///
/// If that cannot be, a guest that has room beside the parts of a ring gets the
/// columns there. Lanes then say when they have read the host (HandBack.h), and
/// the guest may be written while the next value of the host is alive. The
/// guest is acquired before the next write of the host.
bool shareInTurnWaiting(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_INPLACERINGS_H
