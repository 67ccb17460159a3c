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

/// Finds pairs of tensor-memory channels of one stage, `s` from a role that
/// issues MMAs to a role of lanes and `p` (or several parts of it) back, where
/// `p` can be written over `s`, and makes `p` in_place_of(s), its parts side by
/// side. Acquires and releases of both are erased: ownership goes around. It
/// needs that
///
/// - the lanes wait for `s` once for each commit of `p`, compute `p` from it,
///   and use it no more when they commit;
/// - in the issuing role, whatever the trip counts, MMAs that write `s` and
///   MMAs that read all parts of the `p` made from it take turns;
/// - all parts together are no larger than `s`.
///
/// Where several `s` would do, the one that is waited for last.
void formInPlaceRings(KernelOp kernel);

/// Puts other results of the same role's MMAs in place of the accumulators of
/// such rings, where the order of the roles allows it as it is: in program
/// order, whatever the trip counts, the other result (the guest) is written
/// when all parts have been read, and the accumulator when the guest has been
/// acquired again, so that its readers are done.
void shareInTurn(KernelOp kernel);

/// Puts one more result of MMAs (the guest) in place of an accumulator (the
/// host), where this needs additional waiting; returns false if there is none.
/// The host is the accumulator of a ring, or one for which the issuing role can
/// tell when it has been read: it waits, once for each value, for something
/// that each consumer of the host commits after the last read. The host then
/// loses its acquires and releases. The guest must be written once between two
/// writes of the host; its acquires move before the writes of the host.
/// So the role waits for the guest's readers there: the guest's consumers must
/// release each value without waiting for what the role does next.
///
/// If that cannot be, a guest that has room beside the parts of a ring gets
/// those columns. It may then be written while the next value of the host is
/// alive, as soon as the lanes have read it, and they say so (HandBack.h). The
/// guest is acquired before the next write of the host.
bool shareInTurnWaiting(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_INPLACERINGS_H
