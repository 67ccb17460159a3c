//===- TileVerifyProtocol.cpp - prove the roles' protocol ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEVERIFYPROTOCOL
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

namespace {

struct TileVerifyProtocol
    : public fa4::tile::impl::TileVerifyProtocolBase<TileVerifyProtocol> {
  using TileVerifyProtocolBase::TileVerifyProtocolBase;

  void runOnOperation() override {
    ProtocolStatistics statistics;
    if (failed(verifyProtocol(getOperation(), &statistics)))
      signalPassFailure();
    if (print)
      // Kernels are processed in parallel, so a line is written as a whole.
      llvm::errs() << llvm::formatv("@{0}: {1} steps, {2} states\n",
                                    getOperation().getSymName(),
                                    statistics.steps, statistics.states)
                          .str();
    markAllAnalysesPreserved();
  }
};

} // namespace
