//===- AccessChecks.h - accesses to the stages of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_ACCESSCHECKS_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_ACCESSCHECKS_H

#include "Findings.h"

namespace fa4::tile::proof {

/// Runs accesses, and checks that no conflicting access may be under way and
/// that a read finds the value that it is meant to find.
class AccessChecks {
public:
  AccessChecks(const ProtocolModel &model, const ProofLayout &layout,
               Findings &findings)
      : model(model), layout(layout), findings(findings) {}

  void access(Machine &machine, unsigned role, const ProtocolEvent &event);

private:
  void checkOperands(const Machine &machine, unsigned role,
                     const ProtocolEvent &event);
  void read(Machine &machine, const Record &record, const Clock &clock,
            StageUse use);
  void write(Machine &machine, const Record &record, const Clock &clock,
             StageUse use);
  bool knows(const Clock &clock, const Record &by, unsigned slot,
             const Record &record, unsigned recordSlot) const;
  void reportReadOfNothing(const Machine &machine, unsigned role,
                           const ProtocolEvent &event);

  const ProtocolModel &model;
  const ProofLayout &layout;
  Findings &findings;
  /// Scratch for one access check: the clock of the accessing role. A member so
  /// that its allocation is reused.
  Clock accessClock;
};

} // namespace fa4::tile::proof

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_ACCESSCHECKS_H
