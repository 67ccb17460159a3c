//===- AttnToNVVM.cpp - attention ops to GPU kernels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/AttnToNVVM.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

static void addTile(OpPassManager &pm, const KernelOptions &options) {
  AttnToTileOptions tile;
  tile.chip = options.chip;
  pm.addPass(createAttnToTile(tile));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static void addLazyRescale(OpPassManager &pm, const KernelOptions &options) {
  TileLazyRescaleOptions rescale;
  rescale.threshold = options.rescaleThreshold;
  pm.addNestedPass<KernelOp>(createTileLazyRescale(rescale));
}

static void addSchedule(OpPassManager &pm, const KernelOptions &options) {
  TileScheduleOptions schedule;
  schedule.splitArrival = options.splitArrival;
  schedule.verify = options.verify;
  pm.addNestedPass<KernelOp>(createTileSchedule(schedule));
}

static void addSplitExp(OpPassManager &pm, const KernelOptions &options) {
  TileSplitExpOptions split;
  split.fraction = options.expFraction;
  pm.addNestedPass<KernelOp>(createTileSplitExp(split));
}

static void addAllocate(OpPassManager &pm, const KernelOptions &options) {
  TileAllocateOptions allocate;
  allocate.verify = options.verify;
  pm.addNestedPass<KernelOp>(createTileAllocate(allocate));
}

/// Not verified: tile-to-nvvm does so, once for all that is behind
/// tile-allocate.
static void addDistribute(OpPassManager &pm, const KernelOptions &) {
  TileDistributeOptions distribute;
  distribute.verify = false;
  pm.addNestedPass<KernelOp>(createTileDistribute(distribute));
}

static void addNVVM(OpPassManager &pm, const KernelOptions &options) {
  TileToNVVMOptions lower;
  lower.verify = options.verify;
  pm.addPass(createTileToNVVM(lower));
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

template <std::unique_ptr<Pass> (*create)()>
static void addKernelPass(OpPassManager &pm, const KernelOptions &) {
  pm.addNestedPass<KernelOp>(create());
}

static constexpr KernelLevel levels[] = {
    {"tile", "tile programs", addTile},
    {"subtile", "MMAs of the target's size", addKernelPass<createTileSubtile>},
    {"lazy-rescale", "accumulators are rescaled when it pays", addLazyRescale},
    {"warp-specialize", "roles and channels",
     addKernelPass<createTileWarpSpecialize>},
    {"schedule", "pipelined roles, stages", addSchedule},
    {"split-exp", "exponentials for each unit", addSplitExp},
    {"allocate", "memory and barriers of channels", addAllocate},
    {"split-loop", "a loop for each kind of block",
     addKernelPass<createTileSplitLoop>},
    {"distribute", "a thread's part of each tile", addDistribute},
    {"unroll", "fragments and pairs of columns",
     addKernelPass<createTileUnroll>},
    {"nvvm", "LLVM and NVVM dialects", addNVVM},
};

ArrayRef<KernelLevel> fa4::getKernelLevels() { return levels; }

std::optional<unsigned> fa4::findKernelLevel(StringRef name) {
  for (auto [i, level] : llvm::enumerate(getKernelLevels()))
    if (level.name == name)
      return i;
  return std::nullopt;
}

KernelOptions AttnToNVVMOptions::get() const {
  KernelOptions options;
  options.chip = chip;
  options.rescaleThreshold = rescaleThreshold;
  options.splitArrival = splitArrival;
  options.expFraction = expFraction;
  options.verify = verify;
  return options;
}

void fa4::buildAttnToNVVMPipeline(OpPassManager &pm,
                                  const AttnToNVVMOptions &options) {
  auto find = [](const std::string &name) -> std::optional<unsigned> {
    if (name.empty())
      return std::nullopt;
    if (std::optional<unsigned> level = findKernelLevel(name))
      return level;
    llvm::reportFatalUsageError(
        llvm::Twine("attn-to-nvvm: there is no level '") + name + "'");
  };
  std::optional<unsigned> from = find(options.from), to = find(options.to);
  if (from && options.chip.hasValue())
    llvm::reportFatalUsageError(
        llvm::Twine(
            "attn-to-nvvm: chip is an option for attention ops; kernels "
            "of the level '") +
        options.from + "' say which chip they are for");
  unsigned begin = from ? *from + 1 : 0;
  unsigned end = to ? *to + 1 : getKernelLevels().size();
  for (unsigned i = begin; i < end; ++i)
    getKernelLevels()[i].addPasses(pm, options.get());
}

void fa4::registerAttnToNVVMPipeline() {
  PassPipelineRegistration<AttnToNVVMOptions>(
      "attn-to-nvvm",
      "Compile attention ops to kernels in the LLVM and NVVM dialects",
      buildAttnToNVVMPipeline);
}
