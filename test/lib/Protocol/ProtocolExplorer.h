//===- ProtocolExplorer.h - all interleavings of a kernel's roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the protocol of a kernel in every order that the hardware may choose,
// for small numbers of passes: an independent check of ProtocolVerifier, with
// which it shares nothing but the steps of one CTA's ProtocolModel. It has no
// clocks: it executes accesses, and looks at what is in the stages.
//
// Numbers of passes and conditions are computed from sizes that it chooses
// (ProtocolInputs), as the types of the IR say, and not from the linear forms
// of the model: small sizes, multiples of what sizes are divided by, and, of
// sizes at which a type ends, those for which loops of two roles differ in
// their numbers of passes as they do for no small size. If there are too many
// passes to run them in every order, these are run in one, for who waits for
// whom. Each CTA of a cluster has the numbers of its own work tile.
//
// A state is which actions (ExplorerActions: a step of a thread, the end of an
// MMA, the end of a TMA operation) have happened, and what each stage contains.
// An asynchronous access happens as a whole at its end, which may be any time
// after its issue. A value is known by its CTA, its channel, its position and
// how many of its writes have been done.
//
// Found are: states without an action in which roles have not ended; a read of
// a stage that does not contain the complete value; a write to what contains a
// value that will still be read; a commit that overtakes a wait by a whole
// phase of an mbarrier; numbers of commits, waits, acquires and releases that
// differ at the end.
//
// Of orders that differ in actions that commute, one is run: ExplorerOrder says
// which, and why that is enough. States at which orders part are kept, so that
// none is explored twice.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_PROTOCOLEXPLORER_H
#define FA4_TEST_LIB_PROTOCOL_PROTOCOLEXPLORER_H

#include "Protocol/ProtocolCases.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"

namespace fa4::tile {

struct ExplorerOptions {
  /// The largest number of passes of a loop; 0 means one more than the longest
  /// ring has stages, or where CTAs go on from work tile to work tile two tiles
  /// of two passes.
  int64_t maxPasses = 0;
  /// If true, and `maxPasses` is 0, loops in work tiles make more passes than
  /// the longest ring has stages, too.
  bool isDeep = false;
  /// The number of states after which the exploration gives up.
  uint64_t maxStates = 2000000;
  /// If true, orders that stubborn sets show to be equivalent are left out.
  bool reduce = true;
  /// Also sizes at which integers wrap around, of which nothing but waits is
  /// run, so many events each.
  bool corners = true;
  uint64_t maxTokenEvents = 20000;
  /// Sizes that are known to be enough, or room for them; see
  /// findProtocolCases.
  ProtocolChoices *choices = nullptr;
};

struct ExplorerStatistics {
  /// States that were passed through, those of different cases as different
  /// ones.
  uint64_t states = 0;
  uint64_t transitions = 0;
  /// The number of cases, that is, of different choices of trip counts.
  uint64_t cases = 0;
  /// Different ways in which large numbers of passes differ from each other.
  uint64_t corners = 0;
  /// True if not everything was explored.
  bool gaveUp = false;
};

/// `model`: of one CTA (buildCtaModel), also of a cluster.
std::optional<ProtocolFinding>
exploreProtocol(const ProtocolModel &model, const ExplorerOptions &options = {},
                ExplorerStatistics *statistics = nullptr);

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_PROTOCOLEXPLORER_H
