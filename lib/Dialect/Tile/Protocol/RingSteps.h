//===- RingSteps.h - steps on the rings of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_RINGSTEPS_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_RINGSTEPS_H

#include "Findings.h"

namespace fa4::tile::proof {

/// Runs acquires, commits, waits and releases, and checks their turns: each
/// value is committed, waited for, released and acquired once, in this order.
class RingSteps {
public:
  RingSteps(const ProtocolModel &model, const ProofLayout &layout,
            Findings &findings)
      : model(model), layout(layout), findings(findings) {}

  /// Returns true if the role's next event does not have to wait.
  bool isEnabled(const Machine &machine, unsigned role) const;
  void acquire(Machine &machine, unsigned role, const ProtocolEvent &event);
  void commit(Machine &machine, unsigned role, const ProtocolEvent &event);
  void wait(Machine &machine, unsigned role, const ProtocolEvent &event);
  void release(Machine &machine, unsigned role, const ProtocolEvent &event);
  /// Checks at the end of all roles that both sides of each channel have taken
  /// the same number of steps.
  void checkEnd(const Machine &machine);

private:
  void explainStarved(const Machine &machine, unsigned channel);

  const ProtocolModel &model;
  const ProofLayout &layout;
  Findings &findings;
};

} // namespace fa4::tile::proof

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_RINGSTEPS_H
