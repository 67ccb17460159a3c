//===- PairRanks.cpp - what two CTAs can do together ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/PairRanks.h"
#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// What differs
//===----------------------------------------------------------------------===//

RankDependence::RankDependence(KernelOp kernel, unsigned axis) {
  kernel.walk([&](Operation *op) {
    if (auto tile = dyn_cast<WorkTileOp>(op))
      add(tile.getResult(axis));
    else if (auto work = dyn_cast<WorkOp>(op))
      add(work.getCoordinates()[axis]);
  });
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses())
      follow(use);
}

void RankDependence::addAll(Operation *op) {
  for (Value result : op->getResults())
    add(result);
  for (Region &region : op->getRegions())
    for (Value argument : region.getArguments())
      add(argument);
}

void RankDependence::follow(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (BlockArgument carried = loop.getTiedLoopRegionIterArg(&use)) {
      add(carried);
      return add(loop.getTiedLoopResult(&use));
    }
    divergent.insert(loop);
    return addAll(loop);
  }
  if (isa<scf::IfOp>(op))
    divergent.insert(op);
  if (!op->hasTrait<OpTrait::IsTerminator>())
    return addAll(op);
  Operation *parent = op->getParentOp();
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop && !isa<scf::IfOp>(parent))
    return addAll(parent);
  unsigned number = use.getOperandNumber();
  add(parent->getResult(number));
  if (loop)
    add(loop.getRegionIterArg(number));
}

Operation *RankDependence::getDivergence(Operation *op) const {
  for (; op; op = op->getParentOp())
    if (divergent.contains(op))
      return op;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

static uint64_t countBytes(LoadOp load) {
  VectorType tile = load.getTile().getType();
  return tile.getNumElements() * tile.getElementTypeBitWidth() / 8;
}

namespace {

/// Looks for pairs along one axis.
class PairFinder {
public:
  PairFinder(KernelOp kernel, unsigned axis)
      : kernel(kernel), axis(axis), ranks(kernel, axis) {
    plan.axis = axis;
  }

  std::variant<PairPlan, PairObstacle> run() {
    kernel.walk([&](Operation *op) {
      check(op);
      return obstacle ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!obstacle && plan.splits.empty())
      reject(kernel, "has no MMA that two CTAs could issue together");
    if (obstacle)
      return *obstacle;
    countLoads();
    auto extent = cast<ExtentAttr>(kernel.getGrid()[axis]);
    std::optional<int64_t> size = getStaticSize(extent.getSize());
    plan.isSingle = size && *size <= extent.getTile();
    return plan;
  }

private:
  void reject(Operation *op, const Twine &reason) {
    obstacle = PairObstacle{op, reason.str()};
  }
  void check(Operation *op);
  void checkMma(MmaOp mma);
  void checkOperandB(MmaOp mma);
  void checkStore(Operation *op, Value dest, OperandRange indices);
  bool isBehindTensor(Value dest, OperandRange indices);
  int64_t multipleOfCoordinate(Value index);
  void countMma(MmaOp mma);
  void countLoads();

  KernelOp kernel;
  unsigned axis;
  RankDependence ranks;
  IntegerRanges ranges;
  PairPlan plan;
  std::optional<PairObstacle> obstacle;
};

} // namespace

void PairFinder::check(Operation *op) {
  if (isa<AwaitTurnOp>(op))
    return reject(op, "orders work tiles, of which the two of a pair would "
                      "wait for each other");
  if (auto store = dyn_cast<StoreOp>(op))
    return checkStore(op, store.getDest(), store.getIndices());
  if (auto add = dyn_cast<ReduceAddOp>(op))
    return checkStore(op, add.getDest(), add.getIndices());
  if (!isa<LoadOp, MmaOp>(op))
    return;
  if (Operation *around = ranks.getDivergence(op))
    return reject(around, isa<scf::ForOp>(around)
                              ? "may make another number of passes in each CTA "
                                "of a pair, but has operations of both in it"
                              : "may be decided differently in each CTA of a "
                                "pair, but has operations of both in it");
  if (auto mma = dyn_cast<MmaOp>(op))
    checkMma(mma);
}

/// PTX ISA, tcgen05.mma, shapes of .kind::f16 with .cta_group::2.
void PairFinder::checkMma(MmaOp mma) {
  constexpr int64_t columns = 32;
  const MmaUnit &unit = kernel.getTarget().mma;
  if (mma.getM() != unit.rows)
    return reject(mma, formatv("has {0} rows; the half of a pair's MMA that a "
                               "CTA has is one of {1}",
                               mma.getM(), unit.rows)
                           .str());
  if (mma.getN() % columns != 0 || mma.getN() > unit.maxColumns)
    return reject(mma, formatv("has {0} columns; an MMA of a pair has a "
                               "multiple of {1} up to {2}",
                               mma.getN(), columns, unit.maxColumns)
                           .str());
  if (Value condition = mma.getAccumulate();
      condition && ranks.differs(condition))
    return reject(mma, "accumulates under a condition that may differ between "
                       "the CTAs of a pair");
  checkOperandB(mma);
  if (!obstacle)
    countMma(mma);
}

/// Each CTA loads half of B, so B is a load of which both would load the same,
/// and all MMAs that read it must read the same halves as their B.
void PairFinder::checkOperandB(MmaOp mma) {
  auto load = mma.getB().getDefiningOp<LoadOp>();
  if (!load)
    return reject(mma, "has a B that is not loaded, so that the CTAs of a pair "
                       "would have to exchange halves of it");
  if (ranks.differs(load.getTile()))
    return reject(mma, "has a B that may differ between the CTAs of a pair, "
                       "which have one between them");
  int64_t dim = mma.getTransposeB() ? 0 : 1;
  for (OpOperand &use : load.getTile().getUses()) {
    auto user = dyn_cast<MmaOp>(use.getOwner());
    if (!user || &use != &user.getBMutable())
      return reject(use.getOwner(),
                    "uses all of a tile of which each CTA of a pair would have "
                    "half, as it is the B of an MMA");
    if ((user.getTransposeB() ? 0 : 1) != dim)
      return reject(user, "reads rows as columns of B where another MMA reads "
                          "columns, so that no half of the tile would do for "
                          "both");
  }
  if (plan.splits.insert({load, dim}).second)
    plan.bufferBytesSaved += countBytes(load) / 2;
}

void PairFinder::countMma(MmaOp mma) {
  const TargetDescription &target = kernel.getTarget();
  MmaShape shape{unsigned(mma.getM()), unsigned(mma.getN()),
                 unsigned(mma.getK()),
                 mma.getA().getType().getElementTypeBitWidth() / 8};
  // What is computed is handed over in tensor memory where that is possible.
  shape.aFromShared =
      mma.getTransposeA() || !target.mma.aFromAccumulatorSpace ||
      llvm::any_of(getOrigins(mma.getA(), FlowThrough::Views), [](Value made) {
        return isa_and_nonnull<LoadOp>(made.getDefiningOp());
      });
  plan.sharedBytesAlone += target.mmaSharedBytes(shape);
  plan.cyclesAlone += target.mmaCycles(shape);
  shape.m *= 2;
  shape.ctas = 2;
  plan.sharedBytesPaired += target.mmaSharedBytes(shape);
  plan.cyclesPaired += target.mmaCycles(shape);
}

void PairFinder::countLoads() {
  kernel.walk([&](LoadOp load) {
    uint64_t bytes = countBytes(load);
    if (load->getParentOfType<scf::ForOp>())
      bytes *= 2;
    plan.loadBytesAlone += bytes;
    plan.loadBytesPaired += plan.splits.contains(load) ? bytes / 2 : bytes;
  });
}

/// Returns a c such that the index is c times the coordinate, plus something
/// that is not negative; 0 if there is none.
int64_t PairFinder::multipleOfCoordinate(Value index) {
  if (auto sum = index.getDefiningOp<arith::AddIOp>()) {
    for (auto [a, b] : {std::pair(sum.getLhs(), sum.getRhs()),
                        std::pair(sum.getRhs(), sum.getLhs())})
      if (int64_t multiple = multipleOfCoordinate(a);
          multiple && !ranges.get(b).smin().isNegative())
        return multiple;
    return 0;
  }
  auto isCoordinate = [&](Value value) {
    auto tile = value.getDefiningOp<WorkTileOp>();
    return tile && tile.getResult(axis) == value;
  };
  if (auto product = index.getDefiningOp<arith::MulIOp>()) {
    APInt factor;
    for (auto [a, b] : {std::pair(product.getLhs(), product.getRhs()),
                        std::pair(product.getRhs(), product.getLhs())})
      if (isCoordinate(a) && matchPattern(b, m_ConstantInt(&factor)) &&
          factor.isStrictlyPositive())
        return factor.getSExtValue();
    return 0;
  }
  return isCoordinate(index) ? 1 : 0;
}

/// Whether a CTA behind the last work tile writes behind the end of a dimension
/// of the tensor, where nothing is written.
bool PairFinder::isBehindTensor(Value dest, OperandRange indices) {
  auto extent = cast<ExtentAttr>(kernel.getGrid()[axis]);
  auto argument = dyn_cast<BlockArgument>(dest);
  if (!argument || argument.getOwner()->getParentOp() != kernel)
    return false;
  for (auto [dim, index] : llvm::enumerate(indices))
    if (kernel.getDimName(argument.getArgNumber(), dim) == extent.getSize() &&
        multipleOfCoordinate(index) >= extent.getTile())
      return true;
  return false;
}

/// With an odd number of work tiles, the last pair has a CTA without one.
void PairFinder::checkStore(Operation *op, Value dest, OperandRange indices) {
  if (!isBehindTensor(dest, indices))
    reject(op, "does not write behind the end of its tensor where a CTA of a "
               "pair has no work tile, because their number is odd");
}

std::variant<PairPlan, PairObstacle> fa4::tile::findPairPlan(KernelOp kernel) {
  if (!kernel.getTarget().mma.pairs)
    return PairObstacle{kernel, ("is for '" + kernel.getChip() +
                                 "', whose CTAs do not work in pairs")
                                    .str()};
  if (!kernel.getBody().getOps<RoleOp>().empty())
    return PairObstacle{kernel, "has roles already"};
  if (kernel.getScheduleOrGrid() != Schedule::Grid)
    return PairObstacle{
        kernel,
        formatv("has the schedule '{0}', but pairs work on the tiles of "
                "a 'grid' only",
                stringifySchedule(kernel.getScheduleOrGrid()))};
  std::optional<PairObstacle> first;
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis) {
    auto found = PairFinder(kernel, axis).run();
    if (std::holds_alternative<PairPlan>(found))
      return found;
    if (!first)
      first = std::get<PairObstacle>(found);
  }
  return *first;
}
