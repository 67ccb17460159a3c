//===- RowWork.cpp - the work of a tile program's iteration ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RowWork.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::tile;
using fa4::TargetDescription;

/// The number of instructions of a wait (address, test, branch) or of an
/// arrival.
static constexpr double kChannelInstructions = 4;

static bool isMatrix(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 2;
}

/// Returns the number of elements that one thread holds of a tile of `kernel`.
static double elementsOf(Type type, KernelOp kernel) {
  if (!isMatrix(type))
    return 1;
  auto matrix = cast<VectorType>(type);
  return getMatrixLayout(kernel, matrix).getNumElements(matrix.getDimSize(1));
}

static bool isTensorMemory(Value channel) {
  auto op = channel.getDefiningOp<ChannelOp>();
  return op && op.getSpace() == MemorySpace::tmem;
}

/// Returns the bytes that one thread holds of a tile.
static double bytesOf(Type type, KernelOp kernel) {
  return elementsOf(type, kernel) *
         cast<VectorType>(type).getElementTypeBitWidth() / 8;
}

static PipeWork reductionWork(vector::MultiDimReductionOp op,
                              const TargetDescription &target) {
  PipeWork work;
  double columns =
      elementsOf(op.getSource().getType(), op->getParentOfType<KernelOp>());
  using Kind = vector::CombiningKind;
  if (op.getKind() == Kind::ADD || op.getKind() == Kind::MUL)
    work.fma = columns;
  else
    work.alu = target.threeInputMax ? columns / 2 : columns;
  return work;
}

/// Returns the work of one operation without regions in one thread. Scalars are
/// computed once for each warp or less and do not count.
static PipeWork operationWork(Operation *op, const TargetDescription &target) {
  PipeWork work;
  bool tile = llvm::any_of(op->getResultTypes(), llvm::IsaPred<VectorType>);
  auto kernel = op->getParentOfType<KernelOp>();
  double columns = tile ? elementsOf(op->getResult(0).getType(), kernel) : 0;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](vector::MultiDimReductionOp op) {
        work = reductionWork(op, target);
      })
      .Case([&](WaitOp op) {
        work.other = kChannelInstructions;
        if (op.getValue() && isTensorMemory(op.getChannel()) &&
            !op.getValue().use_empty() &&
            !llvm::all_of(op.getValue().getUsers(), llvm::IsaPred<RescaleOp>))
          work.tmemLoadBytes = bytesOf(op.getValue().getType(), kernel);
      })
      .Case([&](CommitOp op) {
        work.other = kChannelInstructions;
        if (op.getValue() && isTensorMemory(op.getChannel()) &&
            !op.getValue().getDefiningOp<RescaleOp>())
          work.tmemStoreBytes = bytesOf(op.getValue().getType(), kernel);
      })
      .Case<AcquireOp, ReleaseOp>(
          [&](auto) { work.other = kChannelInstructions; })
      // A rescaling is rare, so only the test of its factor counts.
      .Case([&](RescaleOp) { work.alu = 1; })
      .Case<Exp2Op, math::Exp2Op, math::ExpOp, math::LogOp, math::Log2Op,
            math::SqrtOp, math::RsqrtOp, arith::DivFOp>(
          [&](auto) { work.mufu = columns; })
      .Case([&](math::TanhOp) {
        work.mufu = 2 * columns;
        work.fma = 3 * columns;
      })
      .Case<math::SinOp, math::CosOp>([&](auto) {
        work.mufu = columns;
        work.fma = 3 * columns;
        work.alu = columns;
      })
      // The special function unit counts bits, too.
      .Case<math::CtPopOp, math::CountLeadingZerosOp>(
          [&](auto) { work.mufu = columns; })
      .Case([&](math::CountTrailingZerosOp) { work.mufu = 2 * columns; })
      .Case<arith::AddFOp, arith::SubFOp, arith::MulFOp, math::FmaOp>(
          [&](auto) { work.fma = columns; })
      .Case([&](arith::TruncFOp) { work.conversions = columns / 2; })
      .Case<vector::BroadcastOp, vector::ShapeCastOp, vector::StepOp,
            vector::ExtractStridedSliceOp, arith::ConstantOp>([](auto) {})
      .Default([&](Operation *) { work.alu = columns; });
  return work;
}

/// Calls `add` with the work of each operation of a block and of its regions.
static void
forWork(Block &block, const TargetDescription &target,
        llvm::function_ref<void(Operation *, const PipeWork &)> add) {
  auto sum = [&](Region &region) {
    PipeWork work;
    if (!region.empty())
      forWork(region.front(), target,
              [&](Operation *, const PipeWork &w) { work += w; });
    return work;
  };
  for (Operation &op : block) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      PipeWork then = sum(branch.getThenRegion()),
               otherwise = sum(branch.getElseRegion());
      add(&op, then.total() < otherwise.total() ? then : otherwise);
    } else if (op.getNumRegions() == 0) {
      add(&op, operationWork(&op, target));
    } else {
      for (Region &region : op.getRegions())
        add(&op, sum(region));
    }
  }
}

/// Returns the outermost loops of a role's work on one tile.
static auto loopsOf(RoleOp role) {
  return KernelOp::getWorkBlock(role.getBody()).getOps<scf::ForOp>();
}

/// Counts the work of the exponential's own role in one iteration. Operations
/// count in program order: between reductions, lanes work on one fragment after
/// another.
static void countOwnRole(Operation *exp, Block &body, RowWork &work,
                         const TargetDescription &target) {
  Operation *position = body.findAncestorOpInBlock(*exp);
  // If a block has several exponentials, the work between two of them belongs
  // to the later one.
  bool after = false, pastReduction = false;
  PipeWork pending;
  forWork(body, target, [&](Operation *op, const PipeWork &amount) {
    bool matrix = llvm::any_of(op->getResultTypes(), isMatrix);
    after |= op == position;
    if (!after) {
      if (isa<vector::MultiDimReductionOp>(op)) {
        work.before += pending;
        pending = {};
        pastReduction = true;
        work.before += amount;
      } else if (matrix && pastReduction && !isa<WaitOp>(op)) {
        pending += amount;
      } else {
        work.before += amount;
      }
      return;
    }
    auto commit = dyn_cast<CommitOp>(op);
    bool along =
        op == position ||
        (matrix && OpTrait::hasElementwiseMappableTraits(op)) ||
        (commit && commit.getValue() && isMatrix(commit.getValue().getType()));
    (along ? work.elementwise : work.beside) += amount;
  });
  work.elementwise += pending;
}

//===----------------------------------------------------------------------===//
// MMAs
//===----------------------------------------------------------------------===//

uint64_t fa4::tile::countMmaCycles(MmaOp op, const TargetDescription &target) {
  unsigned bytes = op.getA().getType().getElementTypeBitWidth() / 8;
  unsigned ctas = op->getParentOfType<KernelOp>().getClusterSize();
  return target.mmaCycles(
      {static_cast<unsigned>(op.getM()) * ctas,
       static_cast<unsigned>(op.getN()), static_cast<unsigned>(op.getK()),
       bytes, /*aFromShared=*/!liesInTensorMemory(op.getA()), ctas});
}

static SmallVector<MmaOp> mmasInLoops(KernelOp kernel) {
  SmallVector<MmaOp> mmas;
  for (auto role : kernel.getBody().getOps<RoleOp>())
    for (scf::ForOp loop : loopsOf(role))
      llvm::append_range(mmas, fa4::collectOps<MmaOp>(loop));
  return mmas;
}

/// Returns true if `value` is computed from `source`.
static bool isComputedFrom(Value value, Value source) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.omitUsesFromAbove = false;
  if (failed(getBackwardSlice(value, &slice, options)))
    return false;
  return slice.contains(source.getDefiningOp());
}

/// Returns the cycles of an MMA and of the MMAs in its block to whose results
/// it adds.
static uint64_t countAccumulatedCycles(MmaOp last,
                                       const TargetDescription &target) {
  uint64_t cycles = 0;
  for (MmaOp mma = last; mma && mma->getBlock() == last->getBlock();
       mma = mma.getAcc() ? mma.getAcc().getDefiningOp<MmaOp>() : MmaOp())
    cycles += countMmaCycles(mma, target);
  return cycles;
}

/// Returns true if the commit stands before `consumer` in a loop, but belongs
/// to the next iteration: another commit, behind the loop's start, has served
/// the first one.
static bool isIterationAhead(CommitOp commit, MmaOp consumer) {
  if (commit->getBlock() != consumer->getBlock() ||
      !commit->isBeforeInBlock(consumer))
    return false;
  Operation *loop = commit->getParentOp();
  return llvm::any_of(commit.getChannel().getUsers(), [&](Operation *user) {
    return isa<CommitOp>(user) && user->getBlock() == loop->getBlock() &&
           user->isBeforeInBlock(loop);
  });
}

/// Finds the dependence cycle exponential -> MMA that consumes it -> MMA of the
/// next scores -> exponential, if the program has one.
static std::optional<Recurrence>
findRecurrence(Operation *exp, RoleOp role, ArrayRef<MmaOp> mmas,
               const TargetDescription &target) {
  SmallVector<ChannelOp> results;
  ChannelOp source;
  role.walk([&](Operation *op) {
    if (auto commit = dyn_cast<CommitOp>(op)) {
      if (commit.getValue() && isMatrix(commit.getValue().getType()) &&
          isComputedFrom(commit.getValue(), exp->getResult(0)))
        results.push_back(commit.getChannel().getDefiningOp<ChannelOp>());
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      if (wait.getValue() && isMatrix(wait.getValue().getType()) && !source &&
          isComputedFrom(exp->getResult(0), wait.getValue()))
        source = wait.getChannel().getDefiningOp<ChannelOp>();
    }
  });
  if (!source || results.empty())
    return std::nullopt;
  Recurrence recurrence;
  recurrence.distance = source.getStages();
  SmallVector<MmaOp> consumers;
  CommitOp made;
  auto isFrom = [&](Value operand) {
    return llvm::any_of(getSourceChannels(operand), [&](ChannelOp channel) {
      return llvm::is_contained(results, channel);
    });
  };
  for (MmaOp mma : mmas) {
    if (isFrom(mma.getA()) || isFrom(mma.getB()))
      consumers.push_back(mma);
    for (Operation *user : mma->getUsers())
      if (auto commit = dyn_cast<CommitOp>(user);
          commit && commit.getChannel() == source.getChannel()) {
        recurrence.producer = countAccumulatedCycles(mma, target);
        made = commit;
      }
  }
  if (consumers.empty() || recurrence.producer == 0)
    return std::nullopt;
  for (auto [i, mma] : llvm::enumerate(consumers))
    (i == 0 ? recurrence.consumerLead : recurrence.consumerRest) +=
        countMmaCycles(mma, target);
  if (consumers.size() > 1)
    recurrence.leadFragments = elementsOf(results.front().getTileType(),
                                          role->getParentOfType<KernelOp>()) /
                               kExpFragmentColumns;
  recurrence.isAhead = isIterationAhead(made, consumers.front());
  recurrence.latency = target.latency.mmaShared +
                       target.latency.mbarrierRoundTrip +
                       target.latency.tmemLoad + target.latency.tmemStore;
  return recurrence;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

bool fa4::tile::isTileExponential(Operation *op) {
  return isa<Exp2Op, math::Exp2Op>(op) && isMatrix(op->getResult(0).getType());
}

SmallVector<Operation *> fa4::tile::collectTileExponentials(KernelOp kernel) {
  SmallVector<Operation *> result;
  for (auto role : kernel.getBody().getOps<RoleOp>())
    if (!role.runsOnOneThread())
      for (scf::ForOp loop : loopsOf(role))
        llvm::append_range(result, fa4::collectOpsIf(loop, isTileExponential));
  return result;
}

SmallVector<Operation *>
fa4::tile::findLastExponentials(ArrayRef<Operation *> exponentials) {
  SmallVector<Operation *> last;
  // Operations from which an exponential behind them in their block is
  // computed.
  llvm::DenseSet<Operation *> feeds;
  for (Operation *exp : llvm::reverse(exponentials)) {
    if (!feeds.contains(exp))
      last.push_back(exp);
    SmallVector<Operation *> worklist = {exp};
    while (!worklist.empty())
      for (Value operand : worklist.pop_back_val()->getOperands())
        if (Operation *def = operand.getDefiningOp();
            def && def->getBlock() == exp->getBlock() &&
            feeds.insert(def).second)
          worklist.push_back(def);
  }
  std::reverse(last.begin(), last.end());
  return last;
}

RowWork fa4::tile::countRowWork(Operation *exp, unsigned tiles,
                                const TargetDescription &target) {
  auto kernel = exp->getParentOfType<KernelOp>();
  auto own = exp->getParentOfType<RoleOp>();
  auto type = cast<VectorType>(exp->getResult(0).getType());
  RowWork work;
  work.tiles = tiles;
  work.rows = type.getDimSize(0);
  work.columns = type.getDimSize(1);
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    if (role.runsOnOneThread())
      continue;
    PipeWork others;
    bool hasExponential = false;
    for (scf::ForOp loop : loopsOf(role)) {
      if (loop->isAncestor(exp)) {
        countOwnRole(exp, *loop.getBody(), work, target);
        continue;
      }
      hasExponential |= fa4::anyIn(loop, isTileExponential);
      forWork(*loop.getBody(), target,
              [&](Operation *, const PipeWork &amount) { others += amount; });
    }
    // A role with an exponential of its own works on another tile, which is
    // counted separately.
    if (role != own && !hasExponential)
      work.beside += others.scaled(1.0 / tiles);
  }
  SmallVector<MmaOp> mmas = mmasInLoops(kernel);
  for (MmaOp mma : mmas)
    work.mmaCycles += countMmaCycles(mma, target);
  work.recurrence = findRecurrence(exp, own, mmas, target);
  return work;
}

std::optional<ExpSplit> fa4::tile::computeRoofline(KernelOp kernel) {
  const TargetDescription &target = kernel.getTarget();
  SmallVector<Operation *> exponentials = collectTileExponentials(kernel);
  if (exponentials.empty())
    return std::nullopt;
  // All exponentials of a kernel are alike, so the first one stands for them.
  Operation *exp = exponentials.front();
  RowWork work = countRowWork(exp, exponentials.size(), target);
  ExpSplit split;
  if (auto op = dyn_cast<Exp2Op>(exp)) {
    work.degree = op.getCoefficients().size();
    split.pairs.assign(op.getPairs().begin(), op.getPairs().end());
  }
  split.chip = target.chip;
  split.tiles = work.tiles;
  split.rows = work.rows;
  split.columns = work.columns;
  split.degree = work.degree;
  split.none = computeExpBounds(target, work, 0);
  split.chosen = computeExpBounds(target, work, split.pairs.size());
  return split;
}

void fa4::tile::printRoofline(KernelOp kernel, raw_ostream &os) {
  std::optional<ExpSplit> split = computeRoofline(kernel);
  if (!split)
    return;
  os << "roofline of @" << kernel.getSymName() << "\n";
  split->print(os);
  os << llvm::formatv("MMAs are busy in {0:P0} of it at most\n",
                      split->chosen.mma / split->chosen.largest());
}
