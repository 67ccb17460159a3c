//===- MutantCheck.cpp - what the protocol checks say about a mutant ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/MutantCheck.h"
#include "Protocol/ModelEquality.h"
#include "Protocol/ProtocolExplorer.h"
#include "Protocol/TurnExplorer.h"
#include "fa4/Dialect/Tile/Analysis/OutputCoverage.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModelBuilder.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolPeers.h"
#include "mlir/IR/Verifier.h"
#include <chrono>

using namespace mlir;
using namespace fa4::tile;

namespace {

/// Keeps the first error to itself that anybody emits.
class FirstError {
public:
  FirstError(MLIRContext *context, std::string &error)
      : handler(context, [&error](Diagnostic &diagnostic) {
          if (error.empty())
            error = diagnostic.str();
          return success();
        }) {}

private:
  ScopedDiagnosticHandler handler;
};

} // namespace

MutantResult MutantChecker::check(const ProtocolModel &model) {
  using Clock = std::chrono::steady_clock;
  MutantResult result;
  // The verifier's model of a cluster; the explorer makes its own.
  ProtocolModel ofCluster = model;
  {
    FirstError error(model.kernel->getContext(), result.rule);
    if (failed(addPeers(ofCluster)))
      return result;
  }
  if (auto finding = verifyPlacement(ofCluster)) {
    result.rule = finding->message;
    return result;
  }
  if (limits.rulesOnly)
    return result;
  auto begin = Clock::now();
  if (auto finding = verifyProtocol(ofCluster)) {
    result.verifier = Verdict::Rejected;
    result.verifierSays = finding->message;
    result.verifierPasses = finding->passes;
  }
  double time = std::chrono::duration<double>(Clock::now() - begin).count();
  seconds += time;
  slowest = std::max(slowest, time);
  ExplorerOptions options;
  options.maxPasses = limits.maxPasses;
  options.maxStates = limits.maxStates;
  // No mutant changes what numbers of passes are computed from.
  options.corners = false;
  options.choices = &choices;
  ExplorerStatistics statistics;
  options.reduce = limits.reduce;
  auto finding = exploreProtocol(model, options, &statistics);
  // What the verifier has found in a loop over work tiles may take more passes
  // than are explored as a rule.
  if (!finding && !statistics.gaveUp && result.verifier == Verdict::Rejected) {
    options.isDeep = true;
    options.choices = &deepChoices;
    finding = exploreProtocol(model, options, &statistics);
  }
  if (finding) {
    result.explorer = Verdict::Rejected;
    result.explorerSays = finding->message;
    result.explorerPasses = finding->passes;
  } else if (statistics.gaveUp) {
    result.explorer = Verdict::Unknown;
  }
  return result;
}

MutantResult MutantChecker::check(const Mutation &mutation) {
  if (mutation.changeModel) {
    ProtocolModel copy = original;
    mutation.changeModel(copy);
    return check(copy);
  }
  MutantModule mutant = apply(*mutation.changeIR);
  MutantResult result;
  if (!mutant.module) {
    result.rule = "cannot be made";
    return result;
  }
  FailureOr<ProtocolModel> model = build(mutant.kernel, result.rule);
  if (failed(model))
    return result;
  result = check(*model);
  if (mutation.isOfTurns && result.rule.empty() && !limits.rulesOnly)
    checkTurns(mutant.kernel, result);
  return result;
}

void MutantChecker::checkTurns(KernelOp kernel, MutantResult &result) const {
  std::string error;
  FirstError handler(kernel.getContext(), error);
  if (failed(verifyOutputs(kernel)) && result.verifierSays.empty()) {
    result.verifier = Verdict::Rejected;
    result.verifierSays = error;
  }
  TurnStatistics statistics;
  std::optional<ProtocolFinding> finding = exploreTurns(kernel, statistics);
  if (finding && result.explorerSays.empty()) {
    result.explorer = Verdict::Rejected;
    result.explorerSays = finding->message;
  }
  if (!finding && statistics.gaveUp && result.explorer == Verdict::Accepted)
    result.explorer = Verdict::Unknown;
}

MutantModule MutantChecker::apply(const IRChange &change) const {
  KernelOp kernel = original.kernel;
  IRMapping copies;
  MutantModule mutant;
  mutant.module =
      cast<ModuleOp>(kernel->getParentOfType<ModuleOp>()->clone(copies));
  mutant.kernel = cast<KernelOp>(copies.lookup(kernel.getOperation()));
  if (failed(change.apply(copies)))
    return {};
  return mutant;
}

FailureOr<ProtocolModel> MutantChecker::build(KernelOp kernel,
                                              std::string &error) {
  FirstError handler(kernel.getContext(), error);
  if (failed(mlir::verify(kernel)))
    return failure();
  return buildCtaModel(kernel);
}

MutantModule MutantChecker::express(const Mutation &mutation) {
  if (!mutation.changeIR)
    return {};
  MutantModule mutant = apply(*mutation.changeIR);
  if (!mutant.module)
    return {};
  ScopedDiagnosticHandler quiet(mutant.kernel.getContext(),
                                [](Diagnostic &) { return success(); });
  if (failed(mlir::verify(*mutant.module)))
    return {};
  if (!mutation.changeModel)
    return mutant;
  ProtocolModel expected = original;
  mutation.changeModel(expected);
  FailureOr<ProtocolModel> model = buildCtaModel(mutant.kernel);
  // If the changed operations no longer give a model, the mutant must be
  // rejected.
  bool isSame =
      failed(model) ? check(expected).isKilled() : areEqual(expected, *model);
  // Leaving out or doubling an operation has only one meaning. The models may
  // differ by what depends on the operation (its value, a loop that no longer
  // synchronises), but the verdicts must not.
  if (!isSame && succeeded(model) &&
      (mutation.changeIR->kind == IRChange::Erase ||
       mutation.changeIR->kind == IRChange::Duplicate))
    isSame = check(expected) == check(*model);
  return isSame ? std::move(mutant) : MutantModule();
}
