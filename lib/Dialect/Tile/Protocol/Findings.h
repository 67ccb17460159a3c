//===- Findings.h - counter-examples of the proof ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_FINDINGS_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_FINDINGS_H

#include "PassCounts.h"
#include "ProofLayout.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolFinding.h"

namespace fa4::tile::proof {

/// Collects the finding of a proof: the first error, the notes that explain it,
/// and the state in which it was made. Checks report here.
class Findings {
public:
  Findings(const ProtocolModel &model, const ProofLayout &layout,
           const PassCounts &passes)
      : history(model), model(model), layout(layout), passes(passes) {}

  bool any() const { return finding.has_value(); }
  /// Returns the finding, with notes on the trip counts of the loops that it is
  /// about; nothing if there is none.
  std::optional<ProtocolFinding> take();

  void report(const Machine &machine, mlir::Operation *op, std::string message);
  // These add to the finding.
  void note(mlir::Operation *op, std::string message) {
    finding->notes.push_back({op, std::move(message)});
  }
  /// Adds notes that say why the access `old` to the memory of `slot` may still
  /// be under way: what `role` has waited for, and why this does not cover
  /// `old`. `clock` is the clock of `role`.
  void noteOrder(const Machine &machine, unsigned role, const Record &old,
                 unsigned slot, const Clock &clock);
  /// Adds a note on the last step of kind `kind` on `channel` that the role has
  /// taken.
  void noteStep(const Machine &machine, int role, StepKind kind,
                unsigned channel, llvm::StringRef what);
  void nameChannel(unsigned channel) { finding->channels.push_back(channel); }
  /// Says which step waits for which role (explainProtocol).
  void explainWait(mlir::Operation *op, std::string message) {
    finding->waits.push_back({op, std::move(message)});
  }

  std::string roleName(unsigned role) const {
    return "@" + model.roles[role].name;
  }
  const std::string &label(unsigned channel) const {
    return model.channels[channel].label;
  }
  /// Describes what `role` would have to have done after the access.
  std::string describeMissing(const Record &old, unsigned role,
                              const Clock &clock) const;

  /// The steps that roles have taken, of which notes tell.
  ProtocolHistory history;

private:
  bool hasComeAfter(const Clock &clock, const Record &old) const;
  void notePasses();
  void explainOrder();

  const ProtocolModel &model;
  const ProofLayout &layout;
  const PassCounts &passes;
  std::optional<ProtocolFinding> finding;
  /// The state in which the finding was made.
  std::optional<Machine> found;
};

inline std::string inPass(int64_t pass) {
  return ProtocolHistory::inPass(pass);
}

/// Reports that no role can take a step: tells the chain of roles that wait for
/// each other.
void reportDeadlock(const ProtocolModel &model, Findings &findings,
                    const Machine &machine);

} // namespace fa4::tile::proof

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_FINDINGS_H
