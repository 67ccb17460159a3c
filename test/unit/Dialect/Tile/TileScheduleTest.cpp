//===- TileScheduleTest.cpp - a schedule computes the same ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Runs the kernels of the lit tests symbolically, before and after scheduling:
// each value is the hash of how it was computed. Roles are first run one by
// one, which gives their channel operations in order, as control flow depends
// on scalars only; then all together, one operation at a time, to see whether
// they get stuck. No value may be used behind its release.

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace fa4::tile;

namespace {
/// Label of a channel and number of a value in it.
using Place = std::pair<std::string, uint64_t>;

struct Trace {
  /// Channel operations of each role in order.
  std::vector<std::vector<Operation *>> roles;
  /// What was committed, and what was stored to global memory, in order.
  std::map<Place, uint64_t> committed;
  std::vector<uint64_t> stored;
};

class Runner {
public:
  Runner(KernelOp kernel, int64_t size) : kernel(kernel), size(size) {}

  Trace run() {
    for (auto [i, arg] : llvm::enumerate(kernel.getBody().getArguments()))
      values[arg] = arg.getType().isIndex() ? size : i + 1;
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      trace.roles.emplace_back();
      counts.clear();
      waited.clear();
      released.clear();
      run(role.getBody().front());
    }
    return std::move(trace);
  }

private:
  void run(Block &block) {
    for (Operation &op : block)
      run(&op);
  }
  std::string labelOf(Operation *op) {
    return op->getOperand(0).getDefiningOp<ChannelOp>().getLabel().str();
  }
  uint64_t next(Operation *op) {
    return counts[{labelOf(op), op->getName().getStringRef().str()}]++;
  }
  void run(Operation *op);
  void run(scf::ForOp loop);
  uint64_t evaluate(Operation *op);

  KernelOp kernel;
  int64_t size;
  Trace trace;
  llvm::DenseMap<Value, uint64_t> values;
  std::map<std::pair<std::string, std::string>, uint64_t> counts;
  /// Values that the role has waited for, by their hash, and how many of each
  /// channel it has released.
  std::map<uint64_t, Place> waited;
  std::map<std::string, uint64_t> released;
};
} // namespace

static uint64_t hashOf(const Twine &what, ArrayRef<uint64_t> operands) {
  uint64_t hash = llvm::xxh3_64bits(what.str());
  for (uint64_t operand : operands)
    hash = (hash ^ operand) * 0x9E3779B97F4A7C15ull + (hash >> 29);
  return hash;
}

void Runner::run(scf::ForOp loop) {
  SmallVector<uint64_t> carried;
  for (Value init : loop.getInitArgs())
    carried.push_back(values[init]);
  int64_t end = values[loop.getUpperBound()], step = values[loop.getStep()];
  for (int64_t i = values[loop.getLowerBound()]; i < end; i += step) {
    values[loop.getInductionVar()] = i;
    for (auto [arg, value] : llvm::zip(loop.getRegionIterArgs(), carried))
      values[arg] = value;
    run(*loop.getBody());
    for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
      carried[i] = values[yielded];
  }
  for (auto [result, value] : llvm::zip(loop.getResults(), carried))
    values[result] = value;
}

/// Indices and conditions are numbers, all else is a hash.
uint64_t Runner::evaluate(Operation *op) {
  SmallVector<uint64_t> in;
  for (Value operand : op->getOperands()) {
    in.push_back(values[operand]);
    if (auto of = waited.find(in.back()); of != waited.end())
      EXPECT_LE(released[of->second.first], of->second.second)
          << "used behind its release: " << of->second.first;
  }
  IntegerAttr constant;
  bool isScalar =
      op->getNumResults() == 1 && op->getResult(0).getType().isIntOrIndex();
  if (isScalar && matchPattern(op, m_Constant(&constant)))
    return constant.getInt();
  if (isa<memref::DimOp>(op))
    return size;
  if (isScalar && in.size() == 2) {
    int64_t a = in[0], b = in[1];
    if (isa<arith::AddIOp>(op))
      return a + b;
    if (isa<arith::SubIOp>(op))
      return a - b;
    if (isa<arith::MulIOp>(op))
      return a * b;
    if (isa<arith::MaxSIOp>(op))
      return std::max(a, b);
    if (isa<arith::MinSIOp>(op))
      return std::min(a, b);
    if (isa<arith::CeilDivSIOp>(op))
      return a <= 0 ? a / b : (a - 1) / b + 1;
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return arith::applyCmpPredicate(compare.getPredicate(),
                                      APInt(64, in[0], true),
                                      APInt(64, in[1], true));
  }
  // A condition that does not hold makes the accumulator irrelevant.
  if (auto mma = dyn_cast<MmaOp>(op); mma && mma.getAccumulate())
    if (!std::exchange(in.back(), 1))
      in[2] = 0;
  std::string text = op->getName().getStringRef().str();
  llvm::raw_string_ostream(text) << op->getAttrDictionary();
  return hashOf(text, in);
}

void Runner::run(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return run(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Region &region = values[branch.getCondition()] ? branch.getThenRegion()
                                                   : branch.getElseRegion();
    if (region.empty())
      return;
    run(region.front());
    for (auto [result, yielded] :
         llvm::zip(branch.getResults(),
                   region.front().getTerminator()->getOperands()))
      values[result] = values[yielded];
    return;
  }
  if (isa<scf::YieldOp>(op))
    return;
  if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op))
    trace.roles.back().push_back(op);
  if (isa<ReleaseOp>(op))
    released[labelOf(op)]++;
  if (isa<AcquireOp, ReleaseOp>(op))
    return;
  if (auto commit = dyn_cast<CommitOp>(op)) {
    trace.committed[{labelOf(op), next(op)}] = values[commit.getValue()];
    return;
  }
  if (auto wait = dyn_cast<WaitOp>(op)) {
    uint64_t number = next(op), value = hashOf(labelOf(op), {number});
    waited[value] = {labelOf(op), number};
    values[wait.getValue()] = value;
    return;
  }
  uint64_t value = evaluate(op);
  if (isa<StoreOp, ReduceAddOp>(op))
    trace.stored.push_back(value);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    values[result] = value + i;
}

/// Runs all roles until none can go on, and says which operation each one that
/// has not ended stands at.
static std::string runTogether(const Trace &trace) {
  llvm::DenseMap<ChannelOp, int64_t> full, acquired, released;
  std::vector<size_t> at(trace.roles.size());
  auto tryRun = [&](Operation *op) {
    auto channel = op->getOperand(0).getDefiningOp<ChannelOp>();
    int64_t stages = channel.getStages();
    full.insert({channel, channel.getInitial().value_or(0)});
    if (isa<AcquireOp>(op) && acquired[channel] - released[channel] >= stages)
      return false;
    if (isa<WaitOp>(op) && full[channel] == 0)
      return false;
    acquired[channel] += isa<AcquireOp>(op);
    released[channel] += isa<ReleaseOp>(op);
    full[channel] += isa<CommitOp>(op) - isa<WaitOp>(op);
    return true;
  };
  for (bool any = true; any;) {
    any = false;
    for (auto [role, ops] : llvm::enumerate(trace.roles))
      for (; at[role] < ops.size() && tryRun(ops[at[role]]); ++at[role])
        any = true;
  }
  std::string stuck;
  llvm::raw_string_ostream os(stuck);
  for (auto [role, ops] : llvm::enumerate(trace.roles))
    if (at[role] < ops.size())
      os << *ops[at[role]] << "\n";
  return stuck;
}

namespace {
class TileSchedule : public ::testing::TestWithParam<const char *> {
protected:
  TileSchedule() {
    context.loadDialect<TileDialect, arith::ArithDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect,
                        vector::VectorDialect>();
  }

  OwningOpRef<ModuleOp> parse() {
    return parseSourceFile<ModuleOp>(
        std::string(FA4_TILE_TESTS "/") + GetParam(), &context);
  }

  /// Not proven: the files read what loops without passes leave undefined.
  OwningOpRef<ModuleOp> schedule(const TilePlanOptions &options) {
    OwningOpRef<ModuleOp> module = parse();
    PassManager passes(&context);
    passes.addNestedPass<KernelOp>(createTilePlan(options));
    passes.addNestedPass<KernelOp>(createTileSplitValues());
    passes.addNestedPass<KernelOp>(createTilePipeline());
    passes.addNestedPass<KernelOp>(createTileOrder());
    passes.addNestedPass<KernelOp>(createTileStages());
    EXPECT_TRUE(succeeded(passes.run(*module)));
    return module;
  }

  MLIRContext context;
};
} // namespace

TEST_P(TileSchedule, ComputesTheSame) {
  TilePlanOptions options;
  options.splitArrival = false;
  options.splitStores = false;
  OwningOpRef<ModuleOp> before = parse(), after = schedule(options);
  for (auto [original, scheduled] :
       llvm::zip(before->getOps<KernelOp>(), after->getOps<KernelOp>()))
    for (int64_t size : {0, 1, 2, 3, 64, 200, 500}) {
      Trace a = Runner(original, size).run(), b = Runner(scheduled, size).run();
      EXPECT_EQ(a.committed, b.committed);
      EXPECT_EQ(a.stored, b.stored);
    }
}

TEST_P(TileSchedule, DoesNotDeadlock) {
  for (bool split : {false, true})
    for (int64_t stages : {1, 8}) {
      TilePlanOptions options;
      options.splitArrival = split;
      options.maxStages = stages;
      OwningOpRef<ModuleOp> module = schedule(options);
      for (auto kernel : module->getOps<KernelOp>())
        for (int64_t size : {0, 1, 2, 3, 64, 200, 500})
          EXPECT_EQ(runTogether(Runner(kernel, size).run()), "");
    }
}

/// The pass gives a ring that is used in both stages the second one; the test
/// above can see that it is needed.
using TileScheduleOfBackward = TileSchedule;
TEST_P(TileScheduleOfBackward, NeedsItsStages) {
  OwningOpRef<ModuleOp> module = schedule(TilePlanOptions());
  KernelOp kernel = *module->getOps<KernelOp>().begin();
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    if (channel.getLabel() == "q") {
      ASSERT_EQ(channel.getStages(), 2u);
      channel.setStages(1);
    }
  EXPECT_EQ(runTogether(Runner(kernel, 1).run()), "");
  EXPECT_NE(runTogether(Runner(kernel, 2).run()), "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, TileSchedule,
                         ::testing::Values("Inputs/attention-roles.mlir",
                                           "tile-order.mlir",
                                           "tile-stages.mlir",
                                           "tile-pipeline-backward.mlir"));
INSTANTIATE_TEST_SUITE_P(Kernels, TileScheduleOfBackward,
                         ::testing::Values("tile-pipeline-backward.mlir"));
