//===- TileVerifyOutputs.cpp - prove that outputs are written once ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/OutputCoverage.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEVERIFYOUTPUTS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

namespace {

struct TileVerifyOutputs
    : public fa4::tile::impl::TileVerifyOutputsBase<TileVerifyOutputs> {
  void runOnOperation() override {
    if (failed(fa4::tile::verifyOutputs(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
