//===- PairRanks.cpp - what two CTAs can do together ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/PairRanks.h"
#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "fa4/Dialect/Tile/Analysis/RankDependence.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using llvm::formatv;

namespace {

/// Finds how CTAs that are neighbours along one axis can work in pairs.
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
    for (PairTurn &turn : plan.turns)
      if (!obstacle)
        checkTurn(turn);
    if (!obstacle && !fa4::containsOp<MmaOp>(kernel))
      reject(kernel, "has no MMA that two CTAs could issue together");
    if (obstacle)
      return *obstacle;
    countPairFigures(kernel, plan);
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
  void checkBound(Operation *op);
  void checkDivergence(Operation *op);
  void checkMma(MmaOp mma);
  void checkOperandB(MmaOp mma);
  void checkSum(MmaOp mma, LoadOp b);
  void checkOperandA(PairSum &sum);
  void checkUsers(PairSum &sum);
  void checkStore(Operation *op, Value dest, OperandRange indices);
  void checkTurn(PairTurn &turn);
  std::optional<unsigned> findBlockIndex(LoadOp load, int64_t dim);
  bool isBehindTensor(Value dest, OperandRange indices);
  std::optional<int64_t> factorOfCoordinate(Value index);
  int64_t multipleOfCoordinate(Value index);

  KernelOp kernel;
  unsigned axis;
  RankDependence ranks;
  IndexForms forms;
  /// The reductions of MMAs that sum over the axis.
  llvm::SmallPtrSet<Operation *, 2> summing;
  PairPlan plan;
  std::optional<PairObstacle> obstacle;
};

} // namespace

void PairFinder::check(Operation *op) {
  if (isa<AtMostOp, AtLeastOp>(op))
    return checkBound(op);
  if (auto turn = dyn_cast<AwaitTurnOp>(op))
    plan.turns.push_back({turn, /*rows=*/0});
  if (auto store = dyn_cast<StoreOp>(op))
    return checkStore(op, store.getDest(), store.getIndices());
  if (auto add = dyn_cast<ReduceAddOp>(op); add && !summing.contains(add))
    return checkStore(op, add.getDest(), add.getIndices());
  if (!isa<LoadOp, MmaOp, ReduceAddOp, AwaitTurnOp>(op))
    return;
  checkDivergence(op);
  if (auto mma = dyn_cast<MmaOp>(op); mma && !obstacle)
    checkMma(mma);
}

/// Checks a bound: each CTA of a pair must be able to compute the bounds of
/// both from the coordinates of the work tiles.
void PairFinder::checkBound(Operation *op) {
  // Values are shared, so that there may be far more paths than values.
  llvm::SetVector<Value> open;
  open.insert(op->getOperand(0));
  for (size_t i = 0; i != open.size(); ++i) {
    Value value = open[i];
    Operation *made = value.getDefiningOp();
    if (!ranks.differs(value) || isa_and_nonnull<WorkTileOp>(made))
      continue;
    if (!made || made->getNumRegions() != 0 || !isPure(made))
      return reject(op, "has a bound that the other CTA of a pair cannot "
                        "compute from the coordinates of the work tile");
    open.insert_range(made->getOperands());
  }
}

void PairFinder::checkDivergence(Operation *op) {
  if (Operation *around = ranks.getDivergence(op))
    reject(around, isa<scf::ForOp>(around)
                       ? "may make another number of passes in each CTA "
                         "of a pair, but has operations of both in it"
                       : "may be decided differently in each CTA of a "
                         "pair, but has operations of both in it");
}

/// Checks the shape of an MMA (PTX ISA, tcgen05.mma, shapes of .kind::f16 with
/// .cta_group::2).
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
}

/// Checks that each CTA can load half of B. B must be a load that is the same
/// in both CTAs, or, for a sum over the axis, the load of the work tile's own
/// block.
void PairFinder::checkOperandB(MmaOp mma) {
  auto load = mma.getB().getDefiningOp<LoadOp>();
  if (!load)
    return reject(mma, "has a B that is not loaded, so that the CTAs of a pair "
                       "would have to exchange halves of it");
  if (ranks.differs(load.getTile()))
    return checkSum(mma, load);
  if (load.getInner() && mma.getTransposeB())
    return reject(load, "loads elements of several rows, which the CTAs of a "
                        "pair would have to cut");
  int64_t dim = mma.getTransposeB() ? 0 : 1;
  plan.splits[{load, dim}].push_back(&mma.getBMutable());
}

/// Returns the position of the load's index along dimension `dim` of its tile,
/// if this index selects the block of the work tile (block n ends where block n
/// + 1 begins) and all other indices, and the row at which the load ends, are
/// the same in both CTAs.
std::optional<unsigned> PairFinder::findBlockIndex(LoadOp load, int64_t dim) {
  unsigned position = load.getTileDims()[dim];
  if (load.getInner() || (load.getTo() && ranks.differs(load.getTo())))
    return std::nullopt;
  for (auto [i, index] : llvm::enumerate(load.getIndices()))
    if (i != position && ranks.differs(index))
      return std::nullopt;
  if (factorOfCoordinate(load.getIndices()[position]) !=
      load.getTile().getType().getDimSize(dim))
    return std::nullopt;
  return position;
}

/// Plans an MMA whose B differs between the CTAs as a sum over the axis.
void PairFinder::checkSum(MmaOp mma, LoadOp b) {
  PairSum sum;
  sum.mma = mma;
  sum.b = b;
  std::optional<unsigned> index = findBlockIndex(b, mma.getTransposeB());
  if (!index)
    return reject(mma, "has a B that may differ between the CTAs of a pair, "
                       "which have one between them, and does not sum over "
                       "the axis of the pair");
  if (mma.getAcc())
    return reject(mma, "sums over the axis of the pair to an accumulator, but "
                       "only memory has the sums of all CTAs");
  sum.bIndex = *index;
  auto extent = cast<ExtentAttr>(kernel.getGrid()[axis]);
  std::optional<int64_t> size = getStaticSize(extent.getSize());
  sum.mayLackTile =
      !size || llvm::divideCeil(*size, extent.getTile()) % kPairSize != 0;
  if (sum.mayLackTile && !isBehindTensor(b.getSource(), b.getIndices()))
    return reject(b, "is not behind the end of its tensor where a CTA of a "
                     "pair has no work tile, because their number is odd, but "
                     "the pair sums over its rows");
  checkOperandA(sum);
  if (!obstacle)
    checkUsers(sum);
  if (!obstacle)
    plan.sums.push_back(std::move(sum));
}

/// Checks A of a sum. Each CTA needs the rows of both CTAs, and half of the
/// columns. A load can fetch them, or lanes of the two CTAs hand them to each
/// other.
void PairFinder::checkOperandA(PairSum &sum) {
  MmaOp mma = sum.mma;
  sum.a = mma.getA().getDefiningOp<LoadOp>();
  if (!sum.a) {
    if (!mma.getTransposeA())
      reject(mma, "sums over the columns of a tile that lanes compute, which "
                  "the CTAs of a pair cannot exchange; they exchange rows");
    return;
  }
  std::optional<unsigned> index = findBlockIndex(sum.a, !mma.getTransposeA());
  if (!index)
    return reject(sum.a, "is summed over the axis of the pair, but is not the "
                         "block of the work tile");
  sum.aIndex = *index;
  if (sum.mayLackTile && !isBehindTensor(sum.a.getSource(), sum.a.getIndices()))
    reject(sum.a, "is not behind the end of its tensor where a CTA of a pair "
                  "has no work tile, because their number is odd, but the pair "
                  "sums over it");
}

/// Checks the users of a sum's result. Each CTA has half of the rows, so every
/// user must add them to memory, at the same place in both CTAs.
void PairFinder::checkUsers(PairSum &sum) {
  for (Operation *user : sum.mma->getUsers()) {
    auto add = dyn_cast<ReduceAddOp>(user);
    if (!add)
      return reject(user, "uses a sum over the axis of the pair, of which each "
                          "CTA has half of the rows; only tile.reduce_add can");
    if (llvm::any_of(add.getIndices(),
                     [&](Value index) { return ranks.differs(index); }))
      return reject(add, "adds a sum over the axis of the pair to places that "
                         "may differ between its CTAs");
    summing.insert(add);
    sum.adds.push_back(add);
  }
}

/// Returns the factor c of an index that is c times the coordinate plus
/// something that is the same in both CTAs. Returns nothing if the index has no
/// such form.
std::optional<int64_t> PairFinder::factorOfCoordinate(Value index) {
  if (!ranks.differs(index))
    return 0;
  IndexForm rest = forms.get(index);
  llvm::DynamicAPInt factor = forms.getSymbols().takeCoordinate(rest, axis);
  bool restDiffers =
      forms.getSymbols().dependsOn(rest, [&](const IndexSymbol &symbol) {
        return (symbol.kind == IndexSymbol::Kind::WorkCoordinate &&
                symbol.number == axis) ||
               (symbol.value && ranks.differs(symbol.value));
      });
  return restDiffers ? std::nullopt : std::optional(int64_t(factor));
}

/// Returns a factor c such that the index is c times the coordinate plus a
/// number that is not negative; 0 if no such factor is found.
int64_t PairFinder::multipleOfCoordinate(Value index) {
  IndexForm rest = forms.get(index);
  llvm::DynamicAPInt factor = forms.getSymbols().takeCoordinate(rest, axis);
  return factor > 0 && forms.isNonNegative(rest) ? int64_t(factor) : 0;
}

/// Returns true if `step` times the number of work tiles along an axis is at
/// least the size of the dimension `dim`. The dimension must have the axis's
/// size, or this size rounded up to a multiple.
static bool reachesEnd(int64_t step, ExtentAttr extent, StringRef dim) {
  if (step < extent.getTile())
    return false;
  if (dim == extent.getSize())
    return true;
  if (std::optional<DerivedSize> aligned = getAlignedSize(dim))
    return aligned->name == extent.getSize() && step % aligned->number == 0;
  std::optional<int64_t> end = getStaticSize(dim),
                         size = getStaticSize(extent.getSize());
  return end && size &&
         *end <= step * int64_t(llvm::divideCeil(*size, extent.getTile()));
}

/// Returns true if a CTA without a work tile would write only behind the end of
/// the tensor, where nothing is written.
bool PairFinder::isBehindTensor(Value dest, OperandRange indices) {
  auto extent = cast<ExtentAttr>(kernel.getGrid()[axis]);
  auto argument = dyn_cast<BlockArgument>(dest);
  if (!argument || argument.getOwner()->getParentOp() != kernel)
    return false;
  for (auto [dim, index] : llvm::enumerate(indices))
    if (reachesEnd(multipleOfCoordinate(index), extent,
                   kernel.getDimName(argument.getArgNumber(), dim)))
      return true;
  return false;
}

/// Checks a store of the last pair: if the number of work tiles is odd, one of
/// its CTAs has no work tile.
void PairFinder::checkStore(Operation *op, Value dest, OperandRange indices) {
  if (!isBehindTensor(dest, indices))
    reject(op, "does not write behind the end of its tensor where a CTA of a "
               "pair has no work tile, because their number is odd");
}

/// Checks turns, and counts the rows that each CTA of a pair adds in them. A
/// sum over the axis gives each CTA half of the rows.
void PairFinder::checkTurn(PairTurn &pairTurn) {
  AwaitTurnOp turn = pairTurn.op;
  if (turn.getAxis() != axis)
    return reject(turn, formatv("orders work tiles along axis {0} of the grid, "
                                "but those of a pair are neighbours along axis "
                                "{1}",
                                turn.getAxis(), axis)
                            .str());
  SmallVector<Operation *> additions = turn.getAdditions();
  if (additions.empty() || !llvm::all_of(additions, [&](Operation *add) {
        return summing.contains(add);
      }))
    return reject(turn, "orders work tiles that each add for themselves, so "
                        "the two tiles of a pair would wait for each other");
  auto differs = [&](Value value) { return ranks.differs(value); };
  if (llvm::any_of(turn.getIndices(), differs) || differs(turn.getFirst()) ||
      differs(turn.getLast()))
    return reject(turn, "takes turns at a place, or with work tiles, that may "
                        "differ between the CTAs of a pair");
  for (Operation *add : additions) {
    int64_t rows = cast<VectorType>(cast<ReduceAddOp>(add).getTile().getType())
                       .getDimSize(0);
    pairTurn.rows = std::max(pairTurn.rows, rows / kPairSize);
  }
}

std::variant<PairPlan, PairObstacle> fa4::tile::findPairPlan(KernelOp kernel) {
  if (!kernel.getTarget().mma.pairs)
    return PairObstacle{kernel, ("is for '" + kernel.getChip() +
                                 "', whose CTAs do not work in pairs")
                                    .str()};
  if (!kernel.getBody().getOps<RoleOp>().empty())
    return PairObstacle{kernel, "has roles already"};
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
