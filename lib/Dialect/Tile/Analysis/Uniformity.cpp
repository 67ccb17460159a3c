//===- Uniformity.cpp - what all lanes of a role do alike ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/Uniformity.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

/// Values carried around a loop are taken to be uniform until shown otherwise.
class UniformityProof {
public:
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
    return isa<KernelOp>(parent);
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
    if (isa<RowOp, AnyOp, ReadOp>(op) || op->getNumRegions() != 0)
      return false;
    return (isMemoryEffectFree(op) ||
            hasSingleEffect<MemoryEffects::Read>(op)) &&
           proveAll(op->getOperands());
  }

  llvm::DenseSet<Value> seen;
};

} // namespace

bool fa4::tile::isUniform(Value value) {
  return UniformityProof().prove(value);
}

static LogicalResult verifyAround(Operation *op, RoleOp role) {
  bool synchronises = isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op);
  for (Operation *around = op->getParentOp(); around != role.getOperation();
       around = around->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(around);
    auto branch = dyn_cast<scf::IfOp>(around);
    if (!loop && !branch)
      return around->emitOpError("has '")
             << op->getName() << "' in it: only scf.for and scf.if can";
    Value decides = branch ? branch.getCondition() : loop.getInductionVar();
    if (synchronises && !role.getIssue() && !isUniform(decides))
      return around->emitError("synchronises as lanes decide, each for itself: "
                               "not all of them may arrive");
  }
  return success();
}

LogicalResult fa4::tile::verifyUniformity(RoleOp role) {
  WalkResult result = role.walk([&](Operation *op) -> WalkResult {
    if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, MmaOp, LoadOp, StoreOp,
            ReduceAddOp>(op))
      return verifyAround(op, role);
    return success();
  });
  return failure(result.wasInterrupted());
}
