//===- TurnSums.cpp - the order of sums ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TurnSums.h"
#include "fa4/Support/NestedOps.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using llvm::DynamicAPInt;

/// Returns how many elements an addition covers in each dimension of the
/// tensor.
static SmallVector<int64_t> getExtents(ReduceAddOp add) {
  SmallVector<int64_t> extents(add.getDest().getType().getRank(), 1);
  VectorType tile = add.getTile().getType();
  for (auto [dim, size] : llvm::zip(add.getTileDims(), tile.getShape()))
    extents[dim] = size;
  return extents;
}

/// Returns the conditions under which two additions to one tensor have an
/// element in common, or nothing if they never do.
FailureOr<std::optional<Conditions>> TurnSums::overlap(ReduceAddOp add,
                                                       ReduceAddOp otherAdd,
                                                       Visit &visit,
                                                       Visit &other) {
  Conditions conditions;
  for (auto [index, otherIndex, extent, otherExtent] :
       llvm::zip(add.getIndices(), otherAdd.getIndices(), getExtents(add),
                 getExtents(otherAdd))) {
    KnownForm begin = integers.get(index, visit),
              otherBegin = integers.get(otherIndex, other);
    if (!begin || !otherBegin)
      return (begin ? otherAdd : add)
          .emitOpError("adds in its turn at an index that is no linear "
                       "arithmetic on coordinates and sizes, so that the order "
                       "of the sums is not known");
    IndexForm distance = *begin - *otherBegin;
    DynamicAPInt divisor =
        gcd(getDivisor(distance), abs(distance.getCoefficient({})));
    if (divisor < std::max(extent, otherExtent)) {
      conditions.push_back(isMore(*otherBegin + otherExtent, *begin));
      conditions.push_back(isMore(*begin + extent, *otherBegin));
      continue;
    }
    // The distance is a multiple of the tile, so tiles that do not begin at the
    // same element do not overlap.
    if (neverEqual(*begin, *otherBegin))
      return std::optional<Conditions>();
    llvm::append_range(conditions, isEqual(*begin, *otherBegin));
  }
  return std::optional<Conditions>(conditions);
}

/// Returns the additions of this turn to `output`, if the sums of `output` have
/// an order.
SmallVector<ReduceAddOp> TurnSums::getOrdered(Value output) {
  SmallVector<ReduceAddOp> additions;
  unsigned argument = cast<BlockArgument>(output).getArgNumber();
  if (kernel.getOutputKind(argument) == OutputKind::Ordered)
    for (Operation *addition : op.getAdditions())
      if (auto add = cast<ReduceAddOp>(addition); add.getDest() == output)
        additions.push_back(add);
  return additions;
}

/// Checks that two additions with common elements take turns at one place.
LogicalResult TurnSums::checkOrder(ReduceAddOp add, ReduceAddOp otherAdd,
                                   Visit &visit, Visit &other) {
  FailureOr<std::optional<Conditions>> common =
      overlap(add, otherAdd, visit, other);
  if (failed(common))
    return failure();
  if (!*common)
    return success();
  for (auto [index, same] : llvm::zip(visit.place, other.place))
    if (!integers.areImpossible(**common, {isMore(index, same)}) ||
        !integers.areImpossible(**common, {isMore(same, index)})) {
      InFlightDiagnostic diagnostic = add.emitOpError(
          "may add to the same elements as work tiles that take turns at "
          "another place; the order of these sums is undefined");
      diagnostic.attachNote(otherAdd.getLoc())
          << "the addition of the other work tile";
      return diagnostic;
    }
  return success();
}

LogicalResult TurnSums::checkOnce(ReduceAddOp add, Visit &visit) {
  for (Operation *parent = add->getParentOp(); parent != op->getParentOp();
       parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface>(parent))
      return add.emitOpError("adds in a loop in its turn, so that the order of "
                             "the sums is not known");
  for (ReduceAddOp earlier : getOrdered(add.getDest())) {
    FailureOr<std::optional<Conditions>> common =
        overlap(add, earlier, visit, visit);
    if (failed(common))
      return failure();
    if (earlier == add)
      break;
    if (*common && !integers.isImpossible(**common)) {
      InFlightDiagnostic diagnostic = add.emitOpError(
          "may add to the same elements as an earlier operation in its turn; "
          "the order of these sums is undefined");
      diagnostic.attachNote(earlier.getLoc()) << "the earlier operation";
      return diagnostic;
    }
  }
  for (auto [dim, index] : llvm::enumerate(add.getIndices()))
    if (!integers.isImpossible({isMore(0, *integers.get(index, visit))}))
      return add.emitOpError("adds in its turn at an index of dimension ")
             << dim << " that may be negative";
  return success();
}

LogicalResult TurnSums::checkAdditions(Visit visit, Visit other) {
  for (BlockArgument output : kernel.getArguments()) {
    SmallVector<ReduceAddOp> additions = getOrdered(output);
    for (ReduceAddOp add : additions)
      for (ReduceAddOp otherAdd : additions)
        if (failed(checkOrder(add, otherAdd, visit, other)))
          return failure();
  }
  return success();
}

LogicalResult TurnSums::checkOnce(Visit visit) {
  for (BlockArgument output : kernel.getArguments())
    for (ReduceAddOp add : getOrdered(output))
      if (failed(checkOnce(add, visit)))
        return failure();
  return success();
}

LogicalResult fa4::tile::verifySingleTurns(KernelOp kernel) {
  llvm::SmallDenseMap<Value, ReduceAddOp> first;
  return fa4::checkEach(kernel, [&](ReduceAddOp add) -> LogicalResult {
    auto output = dyn_cast<BlockArgument>(add.getDest());
    if (!output || !add.getTurn() ||
        kernel.getOutputKind(output.getArgNumber()) != OutputKind::Ordered)
      return success();
    ReduceAddOp known = first.try_emplace(output, add).first->second;
    if (known.getTurn() == add.getTurn())
      return success();
    InFlightDiagnostic diagnostic = add.emitOpError(
        "adds in the turn of another tile.await_turn than an earlier operation "
        "that adds to this output: turns of two have no order");
    diagnostic.attachNote(known.getLoc()) << "the earlier operation";
    return diagnostic;
  });
}
