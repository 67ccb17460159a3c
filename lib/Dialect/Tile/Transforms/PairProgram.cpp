//===- PairProgram.cpp - the program of a pair of CTAs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairProgram.h"
#include "fa4/Dialect/Tile/Analysis/RankDependence.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;
using namespace fa4::tile;

namespace {

class PairWriter {
public:
  PairWriter(KernelOp kernel, const PairPlan &plan)
      : kernel(kernel), plan(plan), ranks(kernel, plan.axis),
        b(kernel.getContext()) {}

  void run();

private:
  void writeSplit(LoadOp load, int64_t dim, ArrayRef<OpOperand *> uses);
  void writeSum(const PairSum &sum);
  void writeTurn(const PairTurn &pairTurn);
  Value loadForSum(LoadOp load, unsigned index, unsigned summedDim, bool isA);
  Value hasTile(const PairSum &sum);
  Value exchange(const PairSum &sum);
  void computeRank();
  Value computeAt(Value other, Value value);
  void writeBound(Operation *op);
  Value constant(int64_t number) {
    return arith::ConstantIndexOp::create(b, loc, number);
  }

  KernelOp kernel;
  const PairPlan &plan;
  RankDependence ranks;
  OpBuilder b;
  Location loc = UnknownLoc::get(kernel.getContext());
  /// The coordinate of the work tile along the axis, the coordinate of the
  /// pair's first work tile, the number of the pair, and the number of the CTA
  /// in it.
  Value coordinate, first, pair, rank;
  /// True in a CTA that has a work tile. Null until something depends on it.
  Value isPresent;
  /// Values that have been made zero in a CTA without a work tile.
  DenseSet<Value> checked;
  /// The loads for sums over both CTAs. The key is the load of one CTA, the
  /// dimension of its tile that is summed over, and whether the load is the A
  /// of the sum.
  std::map<std::tuple<Operation *, unsigned, bool>, Value> sumLoads;
  /// The loads that sums no longer use.
  llvm::SetVector<LoadOp> replaced;
};

} // namespace

/// Gives the uses of a tile by rows or by columns a load of their own, if the
/// tile has other uses as well.
void PairWriter::writeSplit(LoadOp load, int64_t dim,
                            ArrayRef<OpOperand *> uses) {
  if (!llvm::all_of(load.getTile().getUses(), [&](OpOperand &use) {
        return llvm::is_contained(uses, &use);
      })) {
    b.setInsertionPointAfter(load);
    load = cast<LoadOp>(b.clone(*load));
    for (OpOperand *use : uses)
      use->set(load.getTile());
  }
  load.setSplit(dim);
}

/// Computes the number of the pair by a division, because the quotient is the
/// same in both CTAs, and so are values computed from it.
void PairWriter::computeRank() {
  WorkTileOp nested;
  kernel.walk([&](Operation *op) {
    if (auto tile = dyn_cast<WorkTileOp>(op)) {
      coordinate = tile.getResult(plan.axis);
      if (!isa<KernelOp>(op->getParentOp()))
        nested = tile;
    } else if (auto work = dyn_cast<WorkOp>(op)) {
      coordinate = work.getCoordinates()[plan.axis];
    }
    return coordinate ? WalkResult::interrupt() : WalkResult::advance();
  });
  // The values that are computed here are used outside of the region, too.
  if (nested)
    nested->moveBefore(&kernel.getFunctionBody().front().front());
  b.setInsertionPointAfterValue(coordinate);
  loc = coordinate.getLoc();
  Value size = constant(kPairSize);
  pair = arith::DivUIOp::create(b, loc, coordinate, size);
  first = arith::MulIOp::create(b, loc, pair, size);
  rank = arith::SubIOp::create(b, loc, coordinate, first);
}

/// Computes `value` again for the work tile whose coordinate is `other`.
Value PairWriter::computeAt(Value other, Value value) {
  if (!ranks.differs(value))
    return value;
  Operation *op = value.getDefiningOp();
  if (!op || isa<WorkTileOp>(op))
    return other;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, computeAt(other, operand));
  return b.clone(*op, mapping)
      ->getResult(cast<OpResult>(value).getResultNumber());
}

/// Replaces the bound by the wider one of the pair's two bounds.
void PairWriter::writeBound(Operation *op) {
  b.setInsertionPoint(op);
  loc = op->getLoc();
  Value bound = op->getOperand(0);
  if (ranks.differs(bound)) {
    Value second = arith::AddIOp::create(b, loc, first, constant(1));
    Value one = computeAt(first, bound), other = computeAt(second, bound);
    bound = isa<AtMostOp>(op)
                ? arith::MinSIOp::create(b, loc, one, other).getResult()
                : arith::MaxSIOp::create(b, loc, one, other).getResult();
  }
  op->getResult(0).replaceAllUsesWith(bound);
  op->erase();
}

/// Loads the rows or columns over which both CTAs sum. In the other dimension,
/// an A has the part for this CTA's half of the result, and a B is split.
Value PairWriter::loadForSum(LoadOp load, unsigned index, unsigned summedDim,
                             bool isA) {
  Value &loaded = sumLoads[{load, summedDim, isA}];
  if (loaded)
    return loaded;
  replaced.insert(load);
  b.setInsertionPointAfter(load);
  loc = load.getLoc();
  VectorType tile = load.getTile().getType();
  SmallVector<int64_t> shape(tile.getShape());
  SmallVector<Value> indices(load.getIndices());
  shape[summedDim] *= kPairSize;
  indices[index] = computeAt(first, indices[index]);
  if (isA) {
    unsigned dim = 1 - summedDim;
    shape[dim] /= kPairSize;
    Value &other = indices[load.getTileDims()[dim]];
    Value offset = arith::MulIOp::create(b, loc, rank, constant(shape[dim]));
    other = arith::AddIOp::create(b, loc, other, offset);
  }
  auto all = LoadOp::create(
      b, loc, VectorType::get(shape, tile.getElementType()), load.getSource(),
      indices, load.getTo(), load.getDimsAttr());
  if (Value pages = load.getPages())
    all.getPagesMutable().assign(pages);
  if (!isA)
    all.setSplit(1 - summedDim);
  return loaded = all;
}

/// Returns true in a CTA that has a work tile. If the number of work tiles is
/// odd, the last pair has a CTA without one.
Value PairWriter::hasTile(const PairSum &sum) {
  if (isPresent)
    return isPresent;
  b.setInsertionPointAfterValue(coordinate);
  loc = coordinate.getLoc();
  LoadOp load = sum.b;
  auto extent = cast<ExtentAttr>(kernel.getGrid()[plan.axis]);
  Value size =
      memref::DimOp::create(b, loc, load.getSource(), constant(sum.bIndex));
  Value begin =
      arith::MulIOp::create(b, loc, coordinate, constant(extent.getTile()));
  return isPresent = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                           begin, size);
}

/// Hands the half of A over that the other CTA sums over. In a CTA without a
/// work tile, A is made zero first.
Value PairWriter::exchange(const PairSum &sum) {
  MmaOp mma = sum.mma;
  TypedValue<VectorType> a = mma.getA();
  VectorType type = a.getType();
  if (sum.mayLackTile && !checked.contains(a)) {
    Value present = hasTile(sum);
    b.setInsertionPointAfterValue(a);
    loc = a.getLoc();
    Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    auto part = arith::SelectOp::create(b, loc, present, a, none);
    a.replaceAllUsesExcept(part, part);
    checked.insert(part);
  }
  b.setInsertionPoint(mma);
  loc = mma.getLoc();
  auto rows = VectorType::get(
      {type.getDimSize(0) * kPairSize, type.getDimSize(1) / kPairSize},
      type.getElementType());
  return ExchangeOp::create(b, loc, rows, mma.getA());
}

void PairWriter::writeSum(const PairSum &sum) {
  MmaOp mma = sum.mma;
  Value all = loadForSum(sum.b, sum.bIndex, mma.getTransposeB() ? 1 : 0,
                         /*isA=*/false);
  Value rows = sum.a
                   ? loadForSum(sum.a, sum.aIndex, mma.getTransposeA() ? 0 : 1,
                                /*isA=*/true)
                   : exchange(sum);
  b.setInsertionPoint(mma);
  loc = mma.getLoc();
  VectorType type = mma.getResultType();
  auto half =
      VectorType::get({type.getDimSize(0) / kPairSize, type.getDimSize(1)},
                      type.getElementType());
  auto product = MmaOp::create(b, loc, half, rows, all, /*acc=*/Value(),
                               /*accumulate=*/Value(), mma.getTransposeA(),
                               mma.getTransposeB());
  for (ReduceAddOp add : sum.adds) {
    b.setInsertionPoint(add);
    loc = add.getLoc();
    unsigned row = add.getTileDims()[0];
    Value offset =
        arith::MulIOp::create(b, loc, rank, constant(half.getDimSize(0)));
    Value index = arith::AddIOp::create(b, loc, add.getIndices()[row], offset);
    add.getTileMutable().assign(product);
    add.getIndicesMutable()[row].assign(index);
  }
  mma.erase();
}

/// Makes pairs take turns in place of CTAs. TurnVisits::takeTurnOfPair
/// describes the same turns to the proof that there is room for them.
void PairWriter::writeTurn(const PairTurn &pairTurn) {
  AwaitTurnOp turn = pairTurn.op;
  b.setInsertionPoint(turn);
  loc = turn.getLoc();
  auto pairOf = [&](Value tile) -> Value {
    return arith::FloorDivSIOp::create(b, loc, tile, constant(kPairSize));
  };
  turn.getTileMutable().assign(pair);
  turn.getFirstMutable().assign(pairOf(turn.getFirst()));
  turn.getLastMutable().assign(pairOf(turn.getLast()));
  OpOperand &place = *std::prev(turn.getIndicesMutable().end());
  Value offset = arith::MulIOp::create(b, loc, rank, constant(pairTurn.rows));
  place.assign(arith::AddIOp::create(b, loc, place.get(), offset));
}

void PairWriter::run() {
  kernel.setClusterAttr(
      ClusterAttr::get(kernel.getContext(), kPairSize, plan.axis));
  for (const auto &[split, uses] : plan.splits)
    writeSplit(split.first, split.second, uses);
  SmallVector<Operation *> bounds =
      fa4::collectOps<AtMostOp, AtLeastOp>(kernel);
  if (plan.sums.empty() && bounds.empty())
    return;
  computeRank();
  for (const PairSum &sum : plan.sums)
    writeSum(sum);
  for (const PairTurn &turn : plan.turns)
    writeTurn(turn);
  // Bounds come last, because their operands depend on each other.
  for (Operation *bound : bounds)
    writeBound(bound);
  // Loads that only the sums of a single CTA have used are no longer needed.
  for (LoadOp load : replaced)
    if (load->use_empty())
      load.erase();
}

void fa4::tile::writePairProgram(KernelOp kernel, const PairPlan &plan) {
  PairWriter(kernel, plan).run();
}

void fa4::tile::writeOwnBounds(KernelOp kernel) {
  for (Operation *op : fa4::collectOps<AtMostOp, AtLeastOp>(kernel)) {
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  }
}
