//===- Uniformity.cpp - what all lanes of a role do alike ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/Uniformity.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

/// Proves uniformity. Values that a loop carries are assumed to be uniform
/// until the loop's body shows otherwise.
class UniformityProof {
public:
  /// If `ofWarp`, it suffices that all lanes of a warp have the same value.
  explicit UniformityProof(bool ofWarp) : ofWarp(ofWarp) {}

  bool prove(Value value) {
    if (isa<VectorType>(value.getType()))
      return false;
    if (!seen.insert(value).second)
      return true;
    if (auto argument = dyn_cast<BlockArgument>(value))
      return proveArgument(argument);
    return proveResult(cast<OpResult>(value));
  }

private:
  bool proveAll(OperandRange values) {
    return llvm::all_of(values, [&](Value value) { return prove(value); });
  }

  bool proveBounds(scf::ForOp loop) {
    return prove(loop.getLowerBound()) && prove(loop.getUpperBound()) &&
           prove(loop.getStep());
  }

  bool proveArgument(BlockArgument argument) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return argument == loop.getInductionVar()
                 ? proveBounds(loop)
                 : proveCarried(loop, argument.getArgNumber() -
                                          loop.getNumInductionVars());
    return isa<KernelOp, WorkOp>(parent);
  }

  bool proveCarried(scf::ForOp loop, unsigned number) {
    return proveBounds(loop) && prove(loop.getInitArgs()[number]) &&
           prove(loop.getYieldedValues()[number]);
  }

  bool proveResult(OpResult result) {
    Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return proveCarried(loop, number);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return prove(branch.getCondition()) &&
             prove(branch.thenYield().getOperand(number)) &&
             prove(branch.elseYield().getOperand(number));
    if (isa<AnyOp>(op))
      return ofWarp;
    // All lanes have the scalar that a wait gives.
    if (isa<WaitOp>(op))
      return true;
    if (isa<RowOp, ReadOp>(op) || op->getNumRegions() != 0)
      return false;
    return (isMemoryEffectFree(op) ||
            hasSingleEffect<MemoryEffects::Read>(op)) &&
           proveAll(op->getOperands());
  }

  bool ofWarp;
  llvm::DenseSet<Value> seen;
};

} // namespace

bool fa4::tile::isUniform(Value value) {
  return UniformityProof(/*ofWarp=*/false).prove(value);
}

/// Returns true if all lanes of a warp must execute the operation together.
/// tile.any and tile.combine take values of all lanes. Accesses to tensor
/// memory and writes of tiles are made by whole warps (PTX ISA, tcgen05.ld,
/// tcgen05.st and stmatrix: .sync.aligned).
static bool isOfWarp(Operation *op) {
  auto isTensor = [](Value channel) {
    return channel.getDefiningOp<ChannelOp>().getSpace() == MemorySpace::tmem;
  };
  if (auto read = dyn_cast<ReadOp>(op))
    return isTensor(read.getChannel());
  if (auto write = dyn_cast<WriteOp>(op))
    return isTensor(write.getChannel()) ||
           isa_and_nonnull<FromLanesOp>(write.getValue().getDefiningOp());
  return isa<AnyOp, CombineOp>(op);
}

static LogicalResult verifyAround(Operation *op, RoleOp role) {
  bool isCollective = isOfWarp(op);
  // Lanes of a role start and await MMAs together.
  bool synchronises =
      isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, MmaOp, AwaitOp>(op);
  for (Operation *around = op->getParentOp(); around != role.getOperation();
       around = around->getParentOp()) {
    // All lanes work on the same tiles.
    if (isa<WorkOp>(around))
      continue;
    auto loop = dyn_cast<scf::ForOp>(around);
    auto branch = dyn_cast<scf::IfOp>(around);
    if (!loop && !branch && isCollective)
      continue;
    if (!loop && !branch)
      return around->emitOpError("has '")
             << op->getName()
             << "' in it: only scf.for, scf.if and tile.work can";
    Value decides = branch ? branch.getCondition() : loop.getInductionVar();
    if (synchronises && !role.runsOnOneThread() && !isUniform(decides))
      return around->emitError("is decided by each lane for itself, so not all "
                               "lanes may arrive at the channel operations ")
             << (isa<MmaOp, AwaitOp>(op) ? "and MMAs in it" : "in it");
    if (isCollective && !UniformityProof(/*ofWarp=*/true).prove(decides))
      return around->emitError("lanes of a warp decide for themselves, but '")
             << op->getName() << "' in it is executed by all of them together";
  }
  return success();
}

LogicalResult fa4::tile::verifyUniformity(RoleOp role) {
  return fa4::checkEach(role, [&](Operation *op) -> LogicalResult {
    if (auto commit = dyn_cast<CommitOp>(op);
        commit && commit.getValue() && !role.runsOnOneThread() &&
        !isa<VectorType>(commit.getValue().getType()) &&
        !isUniform(commit.getValue()))
      return commit.emitError("commits a scalar that lanes compute, each for "
                              "itself: it may differ among them");
    if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, MmaOp, AwaitOp, LoadOp,
            StoreOp, ReduceAddOp, ExchangeOp>(op) ||
        isOfWarp(op))
      return verifyAround(op, role);
    return success();
  });
}
