//===- TileExploreProtocol.cpp - the roles' protocol in every order ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ProtocolExplorer.h"
#include "Protocol/TestPasses.h"
#include "Protocol/TurnExplorer.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModelBuilder.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolPeers.h"
#include "llvm/Support/FormatVariadic.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEEXPLOREPROTOCOL
#include "Protocol/TestPasses.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

/// What the rules of placement say of a CTA, or a cluster. Nothing of a cluster
/// of which the verifier makes no model: the explorer makes its own.
static std::optional<ProtocolFinding> findMisplaced(ProtocolModel model) {
  ScopedDiagnosticHandler quiet(model.kernel.getContext(),
                                [](Diagnostic &) { return success(); });
  return succeeded(addPeers(model)) ? verifyPlacement(model) : std::nullopt;
}

namespace {

struct TileExploreProtocol
    : public fa4::tile::impl::TileExploreProtocolBase<TileExploreProtocol> {
  using TileExploreProtocolBase::TileExploreProtocolBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    markAllAnalysesPreserved();
    // Passes are counted in 64 bits; nobody can wait for that many.
    constexpr int64_t mostPasses = 1 << 20;
    if (maxPasses < 0 || maxPasses > mostPasses) {
      kernel.emitError("tile-explore-protocol: max-passes must be from 0 to ")
          << mostPasses << ", got " << maxPasses.getValue();
      return signalPassFailure();
    }
    TurnStatistics turns;
    std::optional<ProtocolFinding> finding = exploreTurns(kernel, turns);
    if (turns.gaveUp)
      kernel.emitError(
          "takes turns by numbers that are not computed from sizes "
          "and work tiles alone");
    if (finding)
      finding->emit();
    if (finding || turns.gaveUp)
      return signalPassFailure();
    if (print && turns.turns)
      llvm::errs() << llvm::formatv("@{0}: {1} sizes, {2} turns\n",
                                    kernel.getSymName(), turns.cases,
                                    turns.turns)
                          .str();
    if (kernel.getBody().getOps<RoleOp>().empty())
      return;
    FailureOr<ProtocolModel> model = buildCtaModel(kernel);
    if (failed(model))
      return signalPassFailure();
    finding = findMisplaced(*model);
    ExplorerStatistics statistics;
    if (!finding) {
      ExplorerOptions options;
      options.maxPasses = maxPasses;
      options.maxStates = maxStates;
      options.reduce = reduce;
      finding = exploreProtocol(*model, options, &statistics);
    }
    if (print)
      llvm::errs() << llvm::formatv("@{0}: {1} cases, {2} states\n",
                                    kernel.getSymName(), statistics.cases,
                                    statistics.states)
                          .str();
    if (finding) {
      finding->emit();
      return signalPassFailure();
    }
    if (statistics.gaveUp) {
      kernel.emitError("protocol has more interleavings or unknown trip counts "
                       "than were explored");
      signalPassFailure();
    }
  }
};

} // namespace
