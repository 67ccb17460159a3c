//===- TileExploreProtocol.cpp - the roles' protocol in every order ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ProtocolExplorer.h"
#include "Protocol/TestPasses.h"
#include "llvm/Support/FormatVariadic.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEEXPLOREPROTOCOL
#include "Protocol/TestPasses.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

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
    if (kernel.getBody().getOps<RoleOp>().empty())
      return;
    FailureOr<ProtocolModel> model = ProtocolModel::build(kernel);
    if (failed(model))
      return signalPassFailure();
    std::optional<ProtocolFinding> finding = verifyPlacement(*model);
    ExplorerStatistics statistics;
    if (!finding) {
      if (maxPasses < 0) {
        kernel.emitError("tile-explore-protocol: max-passes must not be "
                         "negative, got ")
            << maxPasses;
        return signalPassFailure();
      }
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
