//===- TurnExplorer.h - the turns of all work tiles, for small sizes ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs what the work tiles of a kernel do with turns (tile.await_turn,
// tile.pass_turn, tile.reduce_add), one work tile after the other in the order
// in which they are worked on, for sizes that it chooses: an independent check
// of TurnOrder, with which it shares nothing. It computes indices and bounds
// operation by operation (ConcreteFolder), and counts turns at each place.
//
// One order is enough. A work tile that has to wait for none behind it goes on
// in every order in which the first one that is not finished is worked on; one
// that would have to wait for such a tile waits forever where that has not
// begun, and this is what is found. How the roles of one work tile wait for
// each other is the matter of ProtocolExplorer.
//
// Found are: a place outside of the tensor that counts turns; a turn that is
// not the next one at its place; work tiles that disagree on who takes turns
// there, or differ in more than the coordinate that turns go by; a work tile
// that takes turns there and does not come, or comes twice; sums of an
// `ordered` tensor outside of a turn, or of which one element belongs to two
// places.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_TURNEXPLORER_H
#define FA4_TEST_LIB_PROTOCOL_TURNEXPLORER_H

#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"

namespace fa4::tile {

struct TurnStatistics {
  uint64_t cases = 0; ///< Choices of sizes.
  uint64_t turns = 0; ///< Turns that have been taken in all of them.
  /// An index or a bound is not computed from sizes and coordinates alone.
  bool gaveUp = false;
};

/// The kernel may be a tile program, or have roles. One without turns and
/// without `ordered` tensors has no findings.
std::optional<ProtocolFinding> exploreTurns(KernelOp kernel,
                                            TurnStatistics &statistics);

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_TURNEXPLORER_H
