//===- AttnToTile.cpp - attention ops to tile kernels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "AttentionProgram.h"
#include "DividedKeys.h"
#include "ExpandMath.h"
#include "FlattenBranches.h"
#include "GradientConversion.h"
#include "KernelLaunch.h"
#include "LimitScores.h"
#include "PackedTiles.h"
#include "PositionArithmetic.h"
#include "ScoreTerms.h"
#include "SdpaProgram.h"
#include "VisibleBlocks.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Dialect/Attn/IR/SimplifyMods.h"
#include <limits>

namespace fa4 {
#define GEN_PASS_DEF_ATTNTOTILE
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

static void convert(SdpaOp op, const TargetDescription &target,
                    const TileChoice &choice, SymbolTable &symbols) {
  Conversion conversion(op, target, symbols);
  const DimNames &names = conversion.names;
  SmallVector<Value> destinations = getDestinations(conversion);
  if (auto divided = findDividedKeys(op, target, choice)) {
    convertDividedKeys(conversion, *divided, destinations);
    return conversion.finish(destinations);
  }
  AttentionTiles tiles =
      chooseAttentionTiles(target, getHeadDims(op), getTileRequest(op, choice));
  std::optional<VisibleBlocks> visible =
      launchVisibleBlocks(conversion, {MaskSide::Queries, tiles.rows});
  std::optional<PackedTiles> packed =
      launchPackedTiles(conversion, {TokenSide::Queries, tiles.rows});
  KernelLaunch launch(conversion);
  launch.addMatrices();
  launch.addBlockList();
  launch.addCapturedVectors();
  if (op.getSinks())
    launch.addSinks(op.getSinks());
  if (visible)
    addVisibleBlocks(launch, *visible);
  if (packed)
    addPackedTiles(launch, *packed);
  // The values with which a call without keys fills its rows: no row sees a
  // key. A call without sequences or queries has no rows.
  StringRef kind = getOutputKind(names);
  launch.addOutput("out", destinations[0], names.queries(), kind, 0.0f);
  if (op.hasLse())
    launch.addOutput("lse", destinations[1], names.rows(), kind,
                     -std::numeric_limits<float>::infinity());
  launch.addCapturedScalars();
  launch.emit("_kernel", countWorkTiles(launch, packed, 0, tiles.rows),
              [&](tile::KernelOp kernel) {
                buildSdpaProgram(op, kernel, tiles, /*divided=*/std::nullopt);
              });
  conversion.finish(destinations);
}

/// Lets each of several launches of a function begin before the one in front of
/// it has ended.
static void overlapLaunches(FunctionOpInterface function,
                            const SymbolTable &symbols) {
  auto launches =
      llvm::to_vector(function.getFunctionBody().getOps<tile::LaunchOp>());
  if (launches.size() < 2)
    return;
  for (tile::LaunchOp launch : launches)
    if (auto kernel = symbols.lookup<tile::KernelOp>(launch.getKernel()))
      kernel->setAttr(tile::kProgrammaticLaunchAttr,
                      UnitAttr::get(kernel.getContext()));
}

namespace {
struct AttnToTile : public fa4::impl::AttnToTileBase<AttnToTile> {
  using AttnToTileBase::AttnToTileBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const TargetDescription *target = lookupTarget(chip);
    if (!target) {
      module.emitError("no target '")
          << chip << "'; known are " << llvm::join(knownTargets(), ", ");
      return signalPassFailure();
    }
    int64_t mostKeys = target->mma.maxColumns;
    if (keys != 0 && (keys < kKeyStep || keys > mostKeys || keys % kKeyStep)) {
      module.emitError("attn-to-tile: keys must be a multiple of ")
          << kKeyStep << " up to " << mostKeys
          << ", or 0 for a number that is chosen; got " << keys.getValue();
      return signalPassFailure();
    }
    if (smallerTiles < 0) {
      module.emitError("attn-to-tile: smaller-tiles must not be negative; got ")
          << smallerTiles.getValue();
      return signalPassFailure();
    }
    SmallVector<AttentionOpInterface> ops;
    module.walk([&](AttentionOpInterface op) { ops.push_back(op); });
    bool failed = false;
    for (AttentionOpInterface op : ops)
      failed |= mlir::failed(check(op, *target));
    if (failed)
      return signalPassFailure();
    SymbolTable symbols(module);
    for (AttentionOpInterface op : ops) {
      flattenBranches(op);
      simplifyMods(op);
      decideComparisons(op.getMaskMod());
      simplifyMods(op);
      limitConstantScores(op.getScoreMod());
      foldScoreFactor(op);
      expandMath(op.getMaskMod());
      // A gradient expands score_mod when it has taken the derivative.
      if (isa<SdpaOp>(op.getOperation()))
        expandMath(op.getScoreMod());
      if (auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation()))
        convertGradient(backward, *target, getChoice(), symbols);
      else
        convert(cast<SdpaOp>(op.getOperation()), *target, getChoice(), symbols);
    }
    for (auto function : module.getOps<FunctionOpInterface>())
      overlapLaunches(function, symbols);
  }

  TileChoice getChoice() const { return {keys, smallerTiles, splitKeys}; }

  LogicalResult check(AttentionOpInterface op,
                      const TargetDescription &target) {
    auto function = op->getParentOfType<FunctionOpInterface>();
    if (!function || function->getParentOp() != getOperation())
      return op->emitOpError("must be in a function of the module");
    return checkLegality(op, target, getChoice());
  }
};
} // namespace
