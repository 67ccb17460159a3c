//===- AttnToNVVM.cpp - attention ops to GPU kernels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/AttnToNVVM.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Dialect/LLVMIR/Transforms/Passes.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Pipelines/TileSchedule.h"
#include "fa4/Support/PipelineWithOptions.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

static void addTile(OpPassManager &pm, const KernelOptions &options) {
  AttnToTileOptions tile;
  tile.chip = options.chip;
  tile.smallerTiles = options.smallerTiles;
  tile.splitKeys = options.splitKeys;
  pm.addPass(createAttnToTile(tile));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static void addPairCtas(OpPassManager &pm, const KernelOptions &options) {
  TilePairCtasOptions pair;
  pair.pairs = options.pairs;
  pm.addNestedPass<KernelOp>(createTilePairCtas(pair));
}

static void addLazyRescale(OpPassManager &pm, const KernelOptions &options) {
  TileLazyRescaleOptions rescale;
  rescale.threshold = options.rescaleThreshold;
  pm.addNestedPass<KernelOp>(createTileLazyRescale(rescale));
}

TilePlanOptions fa4::getPlanOptions(const KernelOptions &options) {
  TilePlanOptions plan;
  plan.schedule = options.schedule;
  plan.splitArrival = options.splitArrival;
  plan.mmasAhead = options.mmasAhead;
  return plan;
}

static void addPlan(OpPassManager &pm, const KernelOptions &options) {
  pm.addNestedPass<KernelOp>(createTilePlan(getPlanOptions(options)));
}

static void addAssignWork(OpPassManager &pm, const KernelOptions &options) {
  TileAssignWorkOptions assign;
  assign.schedule = options.schedule;
  pm.addNestedPass<KernelOp>(createTileAssignWork(assign));
}

static void addSchedule(OpPassManager &pm, const KernelOptions &options) {
  addTileSchedule(pm.nest<KernelOp>(), getPlanOptions(options),
                  TileStagesOptions(), options.verify);
}

static void addSplitExp(OpPassManager &pm, const KernelOptions &options) {
  TileSplitExpOptions split;
  split.fraction = options.expFraction;
  pm.addNestedPass<KernelOp>(createTileSplitExp(split));
}

static void addShareBuffers(OpPassManager &pm, const KernelOptions &options) {
  TileShareBuffersOptions share;
  share.verify = options.verify;
  pm.addNestedPass<KernelOp>(createTileShareBuffers(share));
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
  pm.addNestedPass<KernelOp>(createTileFloatPositions());
}

static void addNVVM(OpPassManager &pm, const KernelOptions &options) {
  TileToNVVMOptions lower;
  lower.verify = options.verify;
  pm.addPass(createTileToNVVM(lower));
  pm.addNestedPass<LLVM::LLVMFuncOp>(createLLVMMergeBranches());
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
    {"pair-ctas", "which CTAs issue MMAs together", addPairCtas},
    {"lazy-rescale", "accumulators are rescaled when it pays", addLazyRescale},
    {"plan", "what has been chosen by trying it", addPlan},
    {"assign-work", "CTAs and their work tiles", addAssignWork},
    {"warp-specialize", "roles and channels",
     addKernelPass<createTileWarpSpecialize>},
    {"schedule", "pipelined roles, stages", addSchedule, "share-buffers"},
    {"split-exp", "exponentials for each unit", addSplitExp},
    {"share-buffers", "channels that use the same memory", addShareBuffers},
    {"allocate", "memory and barriers of channels", addAllocate, "nvvm"},
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

void fa4::addKernelLevel(OpPassManager &pm, unsigned level, unsigned end,
                         KernelOptions options) {
  std::optional<unsigned> later = findKernelLevel(levels[level].provenAgainBy);
  options.verify &= !later || *later >= end;
  levels[level].addPasses(pm, options);
}

AttnToNVVMOptions::AttnToNVVMOptions() {
  KernelOptions::declareAll([&](StringRef name, StringRef description,
                                auto member) {
    using T = std::decay_t<decltype(KernelOptions().*member)>;
    auto option =
        std::make_shared<PassOptions::Option<T, KernelOptions::Parser<T>>>(
            *this, name, llvm::cl::desc(description),
            llvm::cl::init(KernelOptions().*member));
    copiers.push_back([from = option.get(), member](KernelOptions &options) {
      options.*member = from->getValue();
    });
    declared.push_back(std::move(option));
  });
}

KernelOptions AttnToNVVMOptions::get() const {
  KernelOptions options;
  options.chip = chip;
  for (const auto &copy : copiers)
    copy(options);
  return options;
}

std::string fa4::listKernelLevels() {
  return llvm::join(
      llvm::map_range(getKernelLevels(),
                      [](const KernelLevel &level) { return level.name; }),
      ", ");
}

std::optional<std::string> KernelOptions::check() const {
  if (smallerTiles < 0)
    return llvm::formatv("smaller-tiles must not be negative, got {0}",
                         smallerTiles);
  // Both are also false for NaN. The passes know the types and the sizes that
  // narrow these ranges.
  if (!(rescaleThreshold >= 0 && std::isfinite(rescaleThreshold)))
    return llvm::formatv("rescale-threshold must be a finite number that is "
                         "not negative, got {0}",
                         llvm::format("%g", rescaleThreshold));
  if (schedule != "auto" && !symbolizeSchedule(schedule))
    return llvm::formatv("schedule must be auto, grid, static, lpt or clc, got "
                         "'{0}'",
                         schedule);
  if (!llvm::is_contained({"auto", "on", "off"}, llvm::StringRef(pairs)))
    return llvm::formatv("pairs must be auto, on or off, got '{0}'", pairs);
  if (expFraction != -1 && !(expFraction >= 0 && expFraction <= 1))
    return llvm::formatv("exp-fraction must be from 0 to 0.75 (in rows of 128 "
                         "columns), or -1 for one that is computed, got {0}",
                         llvm::format("%g", expFraction));
  return std::nullopt;
}

std::optional<std::string> AttnToNVVMOptions::check() const {
  for (const std::string &name : {std::string(from), std::string(to)})
    if (!name.empty() && !findKernelLevel(name))
      return llvm::formatv("there is no level '{0}'; the levels are {1}", name,
                           listKernelLevels());
  if (!from.empty() && !to.empty() &&
      *findKernelLevel(from) > *findKernelLevel(to))
    return llvm::formatv("the level '{0}' to start from comes after '{1}', "
                         "the last one; the levels are {2}",
                         std::string(from), std::string(to),
                         listKernelLevels());
  if (!from.empty() && chip.hasValue())
    return llvm::formatv("chip is an option for attention ops; kernels of the "
                         "level '{0}' say which chip they are for",
                         std::string(from));
  return get().check();
}

LogicalResult fa4::buildAttnToNVVMPipeline(
    OpPassManager &pm, const AttnToNVVMOptions &options,
    llvm::function_ref<LogicalResult(const Twine &)> emitError) {
  if (std::optional<std::string> problem = options.check())
    return emitError("attn-to-nvvm: " + Twine(*problem));
  unsigned begin =
      options.from.empty() ? 0 : *findKernelLevel(options.from) + 1;
  unsigned end = options.to.empty() ? getKernelLevels().size()
                                    : *findKernelLevel(options.to) + 1;
  for (unsigned i = begin; i < end; ++i)
    addKernelLevel(pm, i, end, options.get());
  return success();
}

void fa4::registerAttnToNVVMPipeline() {
  registerPipelineWithOptions<AttnToNVVMOptions>(
      "attn-to-nvvm",
      "Compile attention ops to kernels in the LLVM and NVVM dialects",
      buildAttnToNVVMPipeline);
}
