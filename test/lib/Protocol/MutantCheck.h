//===- MutantCheck.h - what the protocol checks say about a mutant ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_MUTANTCHECK_H
#define FA4_TEST_LIB_PROTOCOL_MUTANTCHECK_H

#include "Protocol/Mutations.h"
#include "Protocol/ProtocolCases.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fa4::tile {

enum class Verdict { Accepted, Rejected, Unknown };

struct MutantResult {
  /// The rule that rejects the mutant before any run: in an operation's
  /// verifier, in the model, or in the placement.
  std::string rule;
  Verdict verifier = Verdict::Accepted;
  Verdict explorer = Verdict::Accepted;
  std::string verifierSays, explorerSays;
  /// The passes of the counter-examples.
  int64_t verifierPasses = 0, explorerPasses = 0;

  bool isKilled() const {
    return !rule.empty() || verifier == Verdict::Rejected ||
           explorer == Verdict::Rejected;
  }
  bool disagrees() const {
    return verifier != explorer && verifier != Verdict::Unknown &&
           explorer != Verdict::Unknown;
  }
  bool operator==(const MutantResult &other) const {
    return rule.empty() == other.rule.empty() && verifier == other.verifier &&
           explorer == other.explorer;
  }
};

struct CheckLimits {
  int64_t maxPasses = 0;
  uint64_t maxStates = 2000000;
  /// If false, the explorer runs orders that are equivalent, too.
  bool reduce = true;
  /// If true, neither verifier nor explorer runs; only placement, barriers and
  /// fences are checked.
  bool rulesOnly = false;
};

/// A copy of a module with one mutation applied.
struct MutantModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  KernelOp kernel;
};

/// Judges mutants of one kernel, whose models are of one CTA.
class MutantChecker {
public:
  MutantChecker(const ProtocolModel &original, CheckLimits limits)
      : original(original), limits(limits) {}

  MutantResult check(const ProtocolModel &model);
  MutantResult check(const Mutation &mutation);

  /// Returns the mutant as valid IR. Returns null if there is none, or if the
  /// IR does not mean what the mutation of the model means.
  MutantModule express(const Mutation &mutation);

  double seconds = 0, slowest = 0;

private:
  MutantModule apply(const IRChange &change) const;
  /// Adds what the proof and the explorer of turns say.
  void checkTurns(KernelOp kernel, MutantResult &result) const;
  /// Builds the model, or sets `error` to the first error of the operations'
  /// verifiers.
  llvm::FailureOr<ProtocolModel> build(KernelOp kernel, std::string &error);

  const ProtocolModel &original;
  CheckLimits limits;
  /// Sizes for which the roles of the kernel go all ways; those of its mutants
  /// go the same.
  ProtocolChoices choices, deepChoices;
};

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_MUTANTCHECK_H
