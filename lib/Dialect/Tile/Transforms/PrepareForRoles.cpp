//===- PrepareForRoles.cpp - programs that can be cut into roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrepareForRoles.h"
#include "EraseDead.h"
#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "fa4/Dialect/Tile/Analysis/RolePartition.h"
#include "fa4/Dialect/Tile/Analysis/RowExponent.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Accumulators that start from zero
//===----------------------------------------------------------------------===//

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat());
}

/// Selects zeros as the loop's result if the loop made no iteration. No MMA has
/// written the accumulator then, and nobody has written the zeros from which it
/// starts.
static void selectZeros(scf::ForOp loop, unsigned index) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop.getContext());
  b.setInsertionPointAfter(loop);
  Value ran = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                    loop.getLowerBound(), loop.getUpperBound());
  Value result = loop.getResult(index);
  auto select =
      arith::SelectOp::create(b, ran, result, loop.getInitArgs()[index]);
  result.replaceAllUsesExcept(select, select);
}

/// Returns the value for each row by which `product` multiplies the carried
/// value. Returns null if the other factor is none of this kind.
static Value getFactors(arith::MulFOp product, Value carried) {
  Value other =
      product.getLhs() == carried ? product.getRhs() : product.getLhs();
  if (Value factors = getRowFactors(other))
    return factors;
  SplatElementsAttr splat;
  auto type = cast<VectorType>(product.getType());
  if (type.getRank() != 2 || !matchPattern(other, m_Constant(&splat)))
    return {};
  OpBuilder builder(product);
  auto rows = VectorType::get({type.getDimSize(0)}, type.getElementType());
  return arith::ConstantOp::create(
      builder, product.getLoc(),
      DenseElementsAttr::get(rows, splat.getSplatValue<Attribute>()));
}

/// Turns products of an accumulator on its way to the MMA into `tile.rescale`,
/// which leaves a value alone that nobody has written. `steps` leads from the
/// carried value to the MMA.
static LogicalResult rescaleAccumulators(BlockArgument arg,
                                         ArrayRef<Operation *> steps) {
  Value carried = arg;
  for (Operation *step : steps) {
    auto product = dyn_cast<arith::MulFOp>(step);
    if (!product) {
      carried = step->getResult(0);
      continue;
    }
    Value factors = getFactors(product, carried);
    if (!factors)
      return product.emitOpError(
          "multiplies an accumulator, which starts from zero, by a tile; only "
          "factors of its rows are supported");
    OpBuilder builder(product);
    auto rescale = RescaleOp::create(builder, product.getLoc(),
                                     product.getType(), carried, factors);
    product.replaceAllUsesWith(rescale.getResult());
    product.erase();
    carried = rescale.getResult();
  }
  return success();
}

/// Gives an MMA a condition if it adds to an accumulator that the loop starts
/// from zero. The MMA then does not read the accumulator in the first
/// iteration, so nobody has to write the zeros.
static LogicalResult skipZeroAccumulators(KernelOp kernel) {
  IndexForms forms;
  return fa4::checkEach(kernel, [&](MmaOp mma) -> LogicalResult {
    if (!mma.getAcc() || mma.getAccumulate())
      return success();
    if (isZero(mma.getAcc())) {
      mma.getAccMutable().clear();
      return success();
    }
    // A zero that is multiplied stays zero.
    SmallVector<Operation *> steps;
    BlockArgument arg = findCarriedFactor(mma.getAcc(), &steps);
    if (!arg || arg.getOwner() != mma->getBlock())
      return success();
    auto loop = cast<scf::ForOp>(arg.getOwner()->getParentOp());
    unsigned index = arg.getArgNumber() - 1;
    Value init = loop.getInitArgs()[index];
    if (auto select = init.getDefiningOp<arith::SelectOp>();
        select && isZero(select.getFalseValue()))
      return mma.emitOpError("adds to the result of an earlier loop, but that "
                             "loop may make no pass, so there may be nothing "
                             "to add to: not supported");
    if (isa_and_present<scf::ForOp, MmaOp>(init.getDefiningOp())) {
      // Earlier MMAs have surely written the accumulator, so this MMA always
      // adds to it.
      OpBuilder builder(mma);
      mma.getAccumulateMutable().assign(
          arith::ConstantIntOp::create(builder, mma.getLoc(), 1, 1));
      return success();
    }
    if (steps.empty() && !isZero(init) && matchPattern(init, m_Constant()))
      return mma.emitOpError(
          "adds to a constant that is not zero, which nobody "
          "writes; add the constant behind the loop");
    if (!isZero(init))
      return success();
    if (failed(rescaleAccumulators(arg, steps)))
      return failure();
    OpBuilder builder(mma);
    Value more =
        arith::CmpIOp::create(builder, mma.getLoc(), arith::CmpIPredicate::ne,
                              loop.getInductionVar(), loop.getLowerBound());
    mma.getAccumulateMutable().assign(more);
    if (!loop.getResult(index).use_empty() && !forms.runsAtLeastOnce(loop))
      selectZeros(loop, index);
    return success();
  });
}

/// Checks that each MMA's result has the rows that a role holds: one for each
/// thread, or half as many in a pair of CTAs.
static LogicalResult checkRows(KernelOp kernel,
                               const TargetDescription &target) {
  return fa4::checkEach(kernel, [&](MmaOp mma) -> LogicalResult {
    if (target.supportsMmaRows(mma.getM(), kernel.getClusterSize()))
      return success();
    InFlightDiagnostic error = mma.emitOpError("has ")
                               << mma.getM() << " rows; the MMA of "
                               << target.chip << " that is supported has "
                               << target.mma.rows;
    if (target.supportsMmaRows(target.mma.minRows, kernel.getClusterSize()))
      error << " or " << target.mma.minRows << " in each CTA of a pair";
    return error << " (see tile-subtile)";
  });
}

/// Checks that tiles which are split over the CTAs of a cluster are operands of
/// MMAs and nothing else. Which operands they are is checked once there are
/// roles.
static LogicalResult checkSplitLoads(KernelOp kernel) {
  return fa4::checkEach(kernel, [](LoadOp load) -> LogicalResult {
    if (!load.getSplit())
      return success();
    for (OpOperand *end : getEnds(load.getTile(), FlowThrough::Views)) {
      Operation *user = end->getOwner();
      if (isa<MmaOp>(user))
        continue;
      InFlightDiagnostic error = load.emitOpError(
          "is split over the CTAs of a cluster, each of which has a part of "
          "the tile for MMAs, but '");
      error << user->getName() << "' uses all of the tile";
      error.attachNote(user->getLoc()) << "the tile is used here";
      return error;
    }
    return success();
  });
}

/// Inserts a tile.copy for each accumulator that is stored as it is: a TMA
/// store reads shared memory, which an MMA cannot write. Stored constants get
/// an operation of their own.
static void copyStoredValues(KernelOp kernel) {
  kernel.walk([](Operation *op) {
    if (!isa<StoreOp, ReduceAddOp>(op))
      return;
    Value tile = op->getOperand(0);
    OpBuilder builder(op);
    // Lanes make a stored constant. The zeros from which an accumulator starts
    // are not made by anybody, so the two must be different values.
    if (Operation *def = tile.getDefiningOp();
        def && def->hasTrait<OpTrait::ConstantLike>())
      return op->setOperand(0, builder.clone(*def)->getResult(0));
    Value made = getLastMade(tile);
    if (!made || !made.getDefiningOp<MmaOp>())
      return;
    op->setOperand(0, CopyOp::create(builder, op->getLoc(), tile));
  });
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Returns the operations in `branch` from which `mma` is computed, in order,
/// and `mma` itself. Returns nothing if one of them may not run where the
/// branch is not taken.
static SmallVector<Operation *> getSpeculated(MmaOp mma, scf::IfOp branch) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return branch->isProperAncestor(op); };
  if (failed(getBackwardSlice(mma.getOperation(), &slice, options)) ||
      !llvm::all_of(slice, [](Operation *op) {
        return op->getNumRegions() == 0 && isPure(op);
      }))
    return {};
  return slice.takeVector();
}

/// Moves MMAs out of branches. In a program an MMA is arithmetic, so passes
/// sink it into the only branch that uses it. But the role that issues MMAs
/// takes no branches.
static void hoistMmas(KernelOp kernel) {
  for (MmaOp mma : fa4::collectOps<MmaOp>(kernel))
    while (auto branch = dyn_cast<scf::IfOp>(mma->getParentOp())) {
      SmallVector<Operation *> ops = getSpeculated(mma, branch);
      if (ops.empty())
        break;
      for (Operation *op : ops)
        op->moveBefore(branch);
    }
}

/// Returns true for work on the elements of a matrix. Positions, constants, and
/// values of a row or column do not count, because each user may have its own.
static bool isMatrixWork(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() ||
      isa<vector::BroadcastOp, vector::ShapeCastOp>(op))
    return false;
  return llvm::any_of(op->getResultTypes(), [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector && vector.getRank() == 2 &&
           !vector.getElementType().isIntOrIndex();
  });
}

/// Returns the results of the branch in groups that share no work on matrices.
static SmallVector<SmallVector<unsigned>> groupResults(scf::IfOp branch) {
  llvm::EquivalenceClasses<unsigned> groups;
  llvm::DenseMap<Operation *, unsigned> userOf;
  for (unsigned i = 0; i < branch.getNumResults(); ++i) {
    groups.insert(i);
    llvm::SetVector<Operation *> slice;
    for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()}) {
      BackwardSliceOptions options;
      options.inclusive = true;
      options.filter = [&](Operation *op) { return branch->isAncestor(op); };
      (void)getBackwardSlice(yield.getOperand(i), &slice, options);
    }
    for (Operation *op : slice)
      if (branch->isAncestor(op) && isMatrixWork(op))
        groups.unionSets(i, userOf.try_emplace(op, i).first->second);
  }
  llvm::MapVector<unsigned, SmallVector<unsigned>> members;
  for (unsigned i = 0; i < branch.getNumResults(); ++i)
    members[groups.getLeaderValue(i)].push_back(i);
  return llvm::map_to_vector(members, [](auto &group) { return group.second; });
}

/// Returns a copy of the branch that has only the given results.
static scf::IfOp copyBranch(scf::IfOp branch, ArrayRef<unsigned> results) {
  OpBuilder builder(branch);
  auto types = llvm::map_to_vector(
      results, [&](unsigned i) { return branch.getResultTypes()[i]; });
  auto copy = scf::IfOp::create(builder, branch.getLoc(), types,
                                branch.getCondition(), /*withElseRegion=*/true);
  for (auto [from, to] : llvm::zip(branch->getRegions(), copy->getRegions())) {
    IRMapping map;
    Block &block = to.front();
    auto inside = OpBuilder::atBlockEnd(&block);
    for (Operation &op : from.front().without_terminator())
      inside.clone(op, map);
    Operation *yield = from.front().getTerminator();
    auto values = llvm::map_to_vector(results, [&](unsigned i) {
      return map.lookupOrDefault(yield->getOperand(i));
    });
    scf::YieldOp::create(inside, yield->getLoc(), values);
    eraseDead(block);
  }
  return copy;
}

/// Splits branches that work on different tiles. Canonicalization merges
/// branches by one condition, and a merged branch would tie its tiles to one
/// role.
static void splitBranches(KernelOp kernel) {
  auto mayMerge = [](scf::IfOp branch) {
    return branch.getNumResults() > 1 && isMemoryEffectFree(branch);
  };
  for (scf::IfOp branch : fa4::collectOpsIf(kernel, mayMerge)) {
    SmallVector<SmallVector<unsigned>> groups = groupResults(branch);
    if (groups.size() == 1)
      continue;
    for (ArrayRef<unsigned> results : groups) {
      scf::IfOp copy = copyBranch(branch, results);
      for (auto [i, value] : llvm::zip(results, copy.getResults()))
        branch.getResult(i).replaceAllUsesWith(value);
    }
    branch.erase();
  }
}

/// Gives each use of a loaded vector that is broadcast to a matrix a broadcast
/// of its own, as one that is shared would tie its users to one role.
static void separateBroadcasts(KernelOp kernel) {
  auto isOfLoad = [](vector::BroadcastOp op) {
    return op.getSource().getDefiningOp<LoadOp>() != nullptr;
  };
  for (auto op : fa4::collectOps<vector::BroadcastOp>(kernel))
    if (isOfLoad(op))
      for (OpOperand &use : llvm::make_early_inc_range(op->getUses()))
        if (!op->hasOneUse())
          use.set(OpBuilder(op).clone(*op)->getResult(0));
}

/// Gives each MMA that adds to the result of another one a copy of that one: an
/// accumulator holds one sum. The sums may belong to different roles.
static void separateSums(KernelOp kernel) {
  auto mmas = fa4::collectOps<MmaOp>(kernel);
  for (MmaOp next : llvm::reverse(mmas))
    if (auto first =
            next.getAcc() ? next.getAcc().getDefiningOp<MmaOp>() : MmaOp();
        first && !first->hasOneUse())
      next.getAccMutable().assign(OpBuilder(next).clone(*first)->getResult(0));
}

LogicalResult fa4::tile::prepareForRoles(KernelOp kernel) {
  if (failed(checkRows(kernel, kernel.getTarget())))
    return failure();
  // MMAs and loads have effects once they are in a role, so dead ones are
  // erased before.
  eraseDead(kernel.getBody().front());
  if (failed(checkSplitLoads(kernel)))
    return failure();
  hoistMmas(kernel);
  splitBranches(kernel);
  separateBroadcasts(kernel);
  separateSums(kernel);
  if (failed(skipZeroAccumulators(kernel)))
    return failure();
  // Factors that were broadcast for products have no use now.
  eraseDead(kernel.getBody().front());
  copyStoredValues(kernel);
  return success();
}
