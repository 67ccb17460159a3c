//===- ExplorerOrder.h - which orders of actions need to be run ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The explorer's partial-order reduction. Two orders of actions that differ in
// neighbours which touch no place in common (or only read it) end in the same
// state and show the same faults, so one of them is enough. In each state it
// suffices to go on with a *stubborn set* of actions (Valmari, LNCS 483, 1990;
// Godefroid, LNCS 1032, 1996, chapter 4): a set such that
//
// - for an action of the set that may happen now, the set has all others that
//   touch a place in common with it and may happen before it does;
// - for an action of the set that may not happen yet, the set has one that it
//   needs and that has not happened.
//
// Whatever actions outside of the set do first, they do neither change what the
// actions of the set do nor enable more of them.
//
// Which actions *may happen before* an action is known from what each action
// needs: a must come before b in all orders if b needs a, or needs what needs
// a. So only rivals count, actions which touch a place in common and neither of
// which must come before the other. Where an action has no rival left, it is a
// stubborn set by itself, and nothing else needs to be tried. This is no
// statement about the kernel but about the rules by which the explorer lets
// actions happen, and so it holds for faulty kernels, too. It has nothing of
// the verifier's clocks.
//
// An example: @load fills a ring of one stage, @lanes reads it, twice.
//
//   @load                      @lanes
//   l0: load 0, commit         r0: wait 0, read
//   a1: acquire                f0: release
//   l1: load 1, commit         r1: wait 1, read
//
// l0, r0, r1 and l1 touch the stage. r0 needs l0, a1 needs f0 and f0 needs r0:
// so l0 must come before r0, that before l1, and that before r1. There are no
// rivals, and one order is run of the two (a1 and what @lanes does next may
// come in either order). If @load does not acquire, l1 needs only l0, r0 and l1
// are rivals, and in the state behind l0 both are tried: l1 overwrites what r0
// still has to read.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_EXPLORERORDER_H
#define FA4_TEST_LIB_PROTOCOL_EXPLORERORDER_H

#include "Protocol/ExplorerActions.h"
#include "llvm/ADT/BitVector.h"

namespace fa4::tile {

/// The rivals of each action. Actions that never happen, because they need what
/// never happens, have none.
std::vector<llvm::SmallVector<unsigned, 0>>
findRivals(const ExplorerActions &actions);

/// Two actions of which the second one must come behind the first, but only
/// because arrivals lead from it to there that do not order accesses to the
/// memory (relaxed ones, for shared memory), while both touch a place there:
/// the second one may not find what the first one did.
std::optional<std::pair<unsigned, unsigned>>
findUnorderedPair(const ExplorerActions &actions, MemorySpace memory);

/// Chooses which of the `enabled` actions are tried in the state in which the
/// actions `done` have happened: those of a stubborn set.
llvm::SmallVector<unsigned>
chooseActions(const ExplorerActions &actions,
              llvm::ArrayRef<llvm::SmallVector<unsigned, 0>> rivals,
              const llvm::BitVector &done, llvm::ArrayRef<unsigned> enabled);

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_EXPLORERORDER_H
