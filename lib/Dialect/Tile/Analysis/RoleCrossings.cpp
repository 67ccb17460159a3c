//===- RoleCrossings.cpp - values that cross between roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RoleCrossings.h"
#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns true if an MMA of the role reads from memory what lanes of the same
/// role compute. Otherwise a role has its own values.
bool RoleCrossings::isReadBack(Operation *op, Value value) const {
  Operation *def = value.getDefiningOp();
  return def && !isa<LoadOp, MmaOp>(def) &&
         RolePartition::isReadFromMemory(op, value);
}

void RoleCrossings::add(Operation *user, Value value, unsigned to) {
  ValueOrigin origin = partition->getOrigin(value);
  if (origin.role == to && !isReadBack(user, value))
    return;
  bool inLoop = isa<BlockArgument>(value);
  for (Crossing &known : crossings) {
    if (known.to != to)
      continue;
    if (origin.loop ? known.loop == origin.loop && known.index == origin.index
                    : known.value == value) {
      known.eachIteration |= inLoop;
      return;
    }
  }
  crossings.push_back(
      {value, origin.role, to, origin.loop, origin.index, inLoop, ChannelOp()});
}

/// Checks that a role which carries a value through a loop also made its
/// initial value.
LogicalResult RoleCrossings::checkInits(scf::ForOp loop) const {
  for (auto [init, arg] :
       llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs())) {
    if (!partition->isData(arg) || !partition->isData(init))
      continue;
    unsigned from = partition->getOrigin(init).role;
    unsigned to = partition->getOrigin(arg).role;
    if (from == to || matchPattern(init, m_Constant()))
      continue;
    return loop.emitOpError("carries a tile through role '")
           << nameOf(to) << "' that starts from a tile of role '"
           << nameOf(from)
           << "': an accumulator starts from zero, or goes on where another "
              "loop has left it";
  }
  return success();
}

LogicalResult RoleCrossings::add(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (failed(checkInits(loop)) || failed(add(*loop.getBody())))
        return failure();
      continue;
    }
    if (auto work = dyn_cast<WorkOp>(op)) {
      if (failed(add(work.getBody().front())))
        return failure();
      continue;
    }
    std::optional<unsigned> to = partition->getRole(&op);
    if (!to)
      continue;
    for (Value value : partition->getDataOperands(&op))
      add(&op, value, *to);
  }
  return success();
}

/// Checks that a loop whose accumulator begins anew makes at least one pass: a
/// role waits for the accumulator behind the loop.
LogicalResult RoleCrossings::checkNewBeginnings() {
  IndexForms forms;
  for (Crossing &crossing : crossings)
    if (crossing.beginsAnew() && !forms.runsAtLeastOnce(crossing.loop))
      return scf::ForOp(crossing.loop)
                 .emitOpError("runs more than once in a CTA and carries an "
                              "accumulator that role '")
             << nameOf(crossing.to)
             << "' works on in each pass, but may make no pass: not supported";
  return success();
}

Crossing *RoleCrossings::findHandOverTo(const Crossing &crossing) {
  for (Crossing &other : crossings)
    if (findHandOver(other) == &crossing)
      return &other;
  return nullptr;
}

Crossing *RoleCrossings::findHandOver(const Crossing &crossing) {
  if (crossing.loop)
    return nullptr;
  Value value = crossing.value;
  bool isAccumulator = llvm::any_of(value.getUses(), [](OpOperand &use) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    return mma && use.get() == mma.getAcc();
  });
  if (!isAccumulator)
    return nullptr;
  for (Crossing &other : crossings)
    if (other.eachIteration && other.to == crossing.from &&
        other.from == crossing.to && other.value.getType() == value.getType() &&
        other.loop.getBody() == value.getParentBlock() &&
        llvm::is_contained(partition->getDataOperands(value.getDefiningOp()),
                           Value(other.loop.getRegionIterArg(other.index))))
      return &other;
  return nullptr;
}

Operation *RoleCrossings::getAsyncMaker(const Crossing &crossing) {
  Value value = crossing.value;
  if (crossing.loop)
    value = scf::ForOp(crossing.loop).getYieldedValues()[crossing.index];
  value = getLastMade(value);
  Operation *op = value ? value.getDefiningOp() : nullptr;
  return isa_and_nonnull<LoadOp, MmaOp>(op) ? op : nullptr;
}

/// Returns true if the role to which a value crosses leaves it in memory.
bool RoleCrossings::isReadByMmasOnly(const Crossing &crossing) const {
  return !crossing.loop &&
         llvm::all_of(crossing.value.getUsers(), [&](Operation *user) {
           return partition->getRole(user) != crossing.to ||
                  RolePartition::isReadFromMemory(user, crossing.value) ||
                  crossing.from == crossing.to;
         });
}

Crossing *RoleCrossings::findShared(const Crossing &crossing) {
  if ((!getAsyncMaker(crossing) && !isReadByMmasOnly(crossing)) ||
      crossing.eachIteration)
    return nullptr;
  for (Crossing &other : crossings) {
    if (&other == &crossing)
      return nullptr;
    bool isSame = crossing.loop ? other.loop == crossing.loop &&
                                      other.index == crossing.index
                                : !other.loop && other.value == crossing.value;
    if (isSame && !other.eachIteration && other.from == crossing.from &&
        (getAsyncMaker(other) || isReadByMmasOnly(other)))
      return &other;
  }
  return nullptr;
}

FailureOr<RoleCrossings>
RoleCrossings::compute(KernelOp kernel, const RolePartition &partition) {
  RoleCrossings crossings(partition);
  if (failed(crossings.add(kernel.getBody().front())) ||
      failed(crossings.checkNewBeginnings()))
    return failure();
  return crossings;
}
