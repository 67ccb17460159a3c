//===- PassCounts.h - how many passes loops make ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PASSCOUNTS_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PASSCOUNTS_H

#include "ProofState.h"

namespace fa4::tile::proof {

/// What the proof assumes and counts of the passes of loops.
class PassCounts {
public:
  explicit PassCounts(const ProtocolModel &model) : model(model) {}

  /// Adds the least number of passes of each loop whose number does not depend
  /// on the passes of other loops.
  void assumePlain(ProtocolFacts &facts) const;
  /// Adds the least number of passes of each loop inside the given passes of
  /// the loops around it. One role's question may follow from what another
  /// role's loop surely does.
  void assumeLeast(ProtocolFacts &facts,
                   llvm::ArrayRef<int64_t> instance) const;
  /// Adds facts about the unknowns in `form` that are the larger of 0 and
  /// another form.
  void relateClamped(ProtocolFacts &facts, const LinearForm &form) const;
  /// Returns the least number of passes that all loops together make.
  int64_t countPasses(const Machine &machine) const;

private:
  int64_t leastPasses(const Machine &machine, const ProtocolLoop &loop,
                      llvm::ArrayRef<int64_t> instance) const;

  const ProtocolModel &model;
};

} // namespace fa4::tile::proof

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PASSCOUNTS_H
