//===- PairFigures.cpp - what two CTAs take together ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/PairRanks.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

static uint64_t bytesOf(VectorType tile) {
  return tile.getNumElements() * tile.getElementTypeBitWidth() / 8;
}

static const PairSum *findSum(const PairPlan &plan, MmaOp mma) {
  const PairSum *sum = llvm::find_if(
      plan.sums, [&](const PairSum &sum) { return sum.mma == mma; });
  return sum == plan.sums.end() ? nullptr : sum;
}

/// Returns true if an operand comes from a load. A computed operand is handed
/// over in tensor memory where that is possible.
static bool isLoaded(Value operand) {
  return llvm::any_of(getOrigins(operand, FlowThrough::Views), [](Value made) {
    return isa_and_nonnull<LoadOp>(made.getDefiningOp());
  });
}

static void countMma(MmaOp mma, const TargetDescription &target,
                     PairPlan &plan) {
  MmaShape shape{unsigned(mma.getM()), unsigned(mma.getN()),
                 unsigned(mma.getK()),
                 mma.getA().getType().getElementTypeBitWidth() / 8};
  shape.aFromShared = mma.getTransposeA() ||
                      !target.mma.aFromAccumulatorSpace || isLoaded(mma.getA());
  plan.alone.mmaBytes += target.mmaSharedBytes(shape);
  plan.alone.cycles += target.mmaCycles(shape);
  // A pair's MMA has the rows of both CTAs, or sums over the K of both.
  (findSum(plan, mma) ? shape.k : shape.m) *= kPairSize;
  shape.ctas = kPairSize;
  plan.paired.mmaBytes += target.mmaSharedBytes(shape);
  plan.paired.cycles += target.mmaCycles(shape);
}

/// Returns true if another MMA adds to the result of this one. The two results
/// take the same columns.
static bool isAddedTo(MmaOp mma) {
  return llvm::any_of(mma->getUses(), [](OpOperand &use) {
    auto next = dyn_cast<MmaOp>(use.getOwner());
    return next && next.getAcc() == use.get();
  });
}

/// Counts the columns of a result. A column of the result takes a column of
/// tensor memory, and a thread has the elements of one row. If a pair sums over
/// the axis, each CTA has half of the rows. They lie side by side in half of
/// the columns.
static void countResult(MmaOp mma, PairPlan &plan) {
  if (isAddedTo(mma))
    return;
  uint64_t columns = mma.getN();
  plan.alone.resultColumns += columns;
  plan.paired.resultColumns += columns / (findSum(plan, mma) ? kPairSize : 1);
}

/// Counts the bytes of A that lanes write to shared memory for a sum. In a
/// pair, lanes write one half for their own CTA, and the other half for a copy
/// to the other CTA.
static void countExchanges(PairPlan &plan) {
  llvm::SmallDenseSet<Value> counted;
  for (const PairSum &sum : plan.sums) {
    TypedValue<VectorType> a = MmaOp(sum.mma).getA();
    if (sum.a || !counted.insert(a).second)
      continue;
    uint64_t half = bytesOf(a.getType()) / kPairSize;
    plan.alone.exchangeBytes += 2 * half;
    uint64_t own = half, written = half, read = half, received = half;
    plan.paired.exchangeBytes += own + written + read + received;
  }
}

static void countReduction(ReduceAddOp add, PairPlan &plan) {
  uint64_t bytes = bytesOf(add.getTile().getType());
  bool isHalved = llvm::any_of(plan.sums, [&](const PairSum &sum) {
    return llvm::is_contained(sum.adds, add);
  });
  uint64_t written = bytes, read = bytes;
  plan.alone.reduceBytes += written + read;
  plan.paired.reduceBytes += (written + read) / (isHalved ? kPairSize : 1);
}

/// Returns the bytes of the loads that replace `load` in a pair. There is one
/// for each way in which the tile is used: as a whole, by halves of rows, by
/// halves of columns, and as the operand of a sum, which is half of the tiles
/// of both CTAs.
static uint64_t countPairedLoad(LoadOp load, const PairPlan &plan) {
  uint64_t bytes = bytesOf(load.getTile().getType()), result = 0;
  llvm::SmallPtrSet<OpOperand *, 4> split;
  for (int64_t dim : {0, 1}) {
    auto it = plan.splits.find({load, dim});
    if (it == plan.splits.end())
      continue;
    split.insert_range(it->second);
    result += bytes / kPairSize;
  }
  bool isWhole = false, isA = false, isB = false;
  for (OpOperand &use : load.getTile().getUses()) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    const PairSum *sum = mma ? findSum(plan, mma) : nullptr;
    bool isSumA = sum && &use == &mma.getAMutable(),
         isSumB = sum && &use == &mma.getBMutable();
    isA |= isSumA;
    isB |= isSumB;
    isWhole |= !isSumA && !isSumB && !split.contains(&use);
  }
  return result + bytes * (isWhole + isA + isB);
}

/// Returns in how many parts a tile can be loaded, one after another. It has
/// parts if its columns are only the K dimension of MMAs' B.
static int64_t countParts(LoadOp load) {
  VectorType type = load.getTile().getType();
  for (OpOperand &use : load.getTile().getUses()) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    if (!mma || &use != &mma.getBMutable() || !mma.getTransposeB())
      return 1;
  }
  int64_t span = type.getRank() == 2 ? getSwizzleSpan(type) : 0;
  return span ? type.getDimSize(1) * type.getElementTypeBitWidth() / 8 / span
              : 1;
}

/// Returns true if lanes work between two MMAs that read the tile: the second
/// MMA multiplies what lanes compute from the result of the first. MMAs of the
/// next tile are issued in between, so two tiles are in use at any time.
static bool isHeldForLanes(LoadOp load) {
  Block *block = load->getBlock();
  SetVector<Operation *> behind;
  auto addUsers = [&](Operation *op) {
    for (Operation *user : op->getUsers())
      if (Operation *ancestor = block->findAncestorOpInBlock(*user))
        behind.insert(ancestor);
  };
  for (Operation *user : load.getTile().getUsers())
    if (isa<MmaOp>(user))
      addUsers(user);
  for (unsigned i = 0; i < behind.size(); ++i) {
    auto mma = dyn_cast<MmaOp>(behind[i]);
    if (mma && llvm::is_contained(mma->getOperands(), load.getTile()))
      return true;
    if (!mma)
      addUsers(behind[i]);
  }
  return false;
}

/// Adds the figures of a load of `bytes`. If it `isHeld`, two tiles are in use
/// while the next one is loaded.
static void countLoad(LoadOp load, uint64_t bytes, bool isHeld,
                      PairFigures &figures) {
  figures.bufferBytes += bytes;
  figures.loadBytes += bytes;
  figures.loadBytesInParts += bytes;
  if (!load->getParentOfType<scf::ForOp>())
    return;
  figures.loadedBytes += bytes;
  uint64_t more = isHeld ? bytes : 0;
  figures.loadBytes += bytes + more;
  figures.loadBytesInParts += bytes / countParts(load) + more;
}

void fa4::tile::countPairFigures(KernelOp kernel, PairPlan &plan) {
  kernel.walk([&](Operation *op) {
    if (auto mma = dyn_cast<MmaOp>(op)) {
      countMma(mma, kernel.getTarget(), plan);
      countResult(mma, plan);
    }
    if (auto add = dyn_cast<ReduceAddOp>(op))
      countReduction(add, plan);
    auto load = dyn_cast<LoadOp>(op);
    if (!load)
      return;
    countLoad(load, bytesOf(load.getTile().getType()), isHeldForLanes(load),
              plan.alone);
    // In a pair, each use by rows or by columns has a load of its own.
    countLoad(load, countPairedLoad(load, plan), /*isHeld=*/false, plan.paired);
  });
  countExchanges(plan);
}

void fa4::tile::printPairFigures(KernelOp kernel, const PairPlan &plan,
                                 llvm::raw_ostream &os) {
  os << "@" << kernel.getSymName() << ": "
     << (kernel.getCluster() ? "pairs of CTAs"
                             : "no pairs of CTAs, which would be")
     << " along axis " << plan.axis << " of the grid\n"
     << "  of a work tile                            pair     alone\n";
  auto row = [&](StringRef what, uint64_t paired, uint64_t alone) {
    os << llvm::formatv("  {0,-36} {1,+9} {2,+9}\n", what, paired, alone);
  };
  const PairFigures &paired = plan.paired, &alone = plan.alone;
  row("cycles of MMAs", paired.cycles, alone.cycles);
  row("shared memory: bytes MMAs read", paired.mmaBytes, alone.mmaBytes);
  row("  bytes loads write in loops", paired.loadedBytes, alone.loadedBytes);
  if (!plan.sums.empty()) {
    row("  bytes lanes write, CTAs exchange", paired.exchangeBytes,
        alone.exchangeBytes);
    row("  bytes reductions write and read", paired.reduceBytes,
        alone.reduceBytes);
  }
  row("  bytes of a tile of each load", paired.bufferBytes, alone.bufferBytes);
  row("tensor memory: columns of results", paired.resultColumns,
      alone.resultColumns);
  row("registers of a thread for results", paired.resultColumns,
      alone.resultColumns);
}
