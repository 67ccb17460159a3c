//===- TurnOrder.cpp - turns that come ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/TurnOrder.h"
#include "TurnSums.h"
#include "TurnVisits.h"
#include "fa4/Support/NestedOps.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

class TurnProof {
public:
  TurnProof(KernelOp kernel, AwaitTurnOp op, IndexForms &forms,
            std::optional<PlannedPair> pair = std::nullopt)
      : kernel(kernel), op(op), integers(kernel, forms, pair),
        visits(kernel, op, forms, integers, pair), sums(kernel, op, integers) {}

  LogicalResult run();
  /// Returns true if every turn, and every part of a turn, is counted at a
  /// place of its own.
  bool hasRoom();

private:
  InFlightDiagnostic fail() {
    return op.emitOpError("takes turns that are not proven to come: ");
  }
  LogicalResult checkSchedule();
  LogicalResult prove(int64_t rank);
  LogicalResult understood(const std::optional<Visit> &visit);
  LogicalResult checkMeeting(const Visit &visit, int64_t rank);
  LogicalResult checkApart(const Visit &visit, int64_t otherRank);
  LogicalResult checkComes(const Visit &visit, int64_t rank);
  LogicalResult checkAdditions(const Visit &visit, int64_t otherRank);
  bool isInBounds(const Visit &visit);
  bool areApart(const Visit &visit, const Visit &other);
  bool arePartsApart(const Visit &visit, const Visit &other);
  bool hasPassForPlace(const Visit &visit, const Visit &other);

  KernelOp kernel;
  AwaitTurnOp op;
  /// The integers of the visits of a check.
  TurnIntegers integers;
  TurnVisits visits;
  TurnSums sums;
};

} // namespace

LogicalResult TurnProof::checkSchedule() {
  if (kernel.getScheduleOrGrid() == Schedule::Requested)
    return fail() << "with the schedule 'clc' the hardware hands out work "
                     "tiles in an order that is not known; 'grid', 'lpt' and "
                     "'static' have one";
  OrderAttr order = kernel.getOrderAttr();
  if (order && order.getAxis() != op.getAxis())
    return fail() << "they go along axis " << op.getAxis()
                  << " of the grid, but the order of work tiles along axis "
                  << order.getAxis();
  return success();
}

bool TurnProof::isInBounds(const Visit &visit) {
  unsigned argument = cast<BlockArgument>(op.getTurns()).getArgNumber();
  return llvm::all_of(llvm::enumerate(visit.place), [&](auto index) {
    IndexForm size =
        integers.sizeNamed(kernel.getDimName(argument, index.index()));
    bool isLast = index.index() + 1 == visit.place.size();
    IndexForm most = index.value() + (isLast ? op.getParts() - 1 : 0);
    return integers.isImpossible({isMore(0, index.value())}) &&
           integers.isImpossible({isAtLeast(most, size)});
  });
}

/// Returns true if two visits never come to the same place.
bool TurnProof::areApart(const Visit &visit, const Visit &other) {
  return llvm::any_of(llvm::zip(visit.place, other.place),
                      [](auto pair) {
                        return neverEqual(std::get<0>(pair), std::get<1>(pair));
                      }) ||
         integers.isImpossible(isSamePlace(visit, other));
}

/// Returns true if the parts of a turn at one place are counted at other places
/// than the parts of a turn at another place.
bool TurnProof::arePartsApart(const Visit &visit, const Visit &other) {
  for (int64_t distance = 1; distance < int64_t(op.getParts()); ++distance) {
    Visit behind = other;
    behind.place.back() += distance;
    if (!areApart(visit, behind))
      return false;
  }
  return true;
}

/// Returns true if the work tile of `other` would come to every place of
/// `visit` if its loop had no bounds: exactly one index depends on the pass,
/// and its distance is a multiple of the index's step.
bool TurnProof::hasPassForPlace(const Visit &visit, const Visit &other) {
  if (!visits.getLoop())
    return true;
  const IndexForm::Monomial &pass = visit.quotient.begin()->first;
  unsigned found = 0;
  for (auto [index, same] : llvm::zip(visit.place, other.place)) {
    llvm::DynamicAPInt step = index.getCoefficient(pass);
    if (step == 0)
      continue;
    ++found;
    if (!llvm::all_of(index - same, [&](const auto &term) {
          return term.second % step == 0;
        }))
      return false;
  }
  return found == 1;
}

/// Checks that each work tile that takes turns at the place of `visit` comes
/// there.
LogicalResult TurnProof::checkComes(const Visit &visit, int64_t rank) {
  unsigned axis = op.getAxis();
  SmallVector<IndexForm> coordinates = visit.coordinates;
  IndexForm tile = integers.makeUnknown();
  coordinates[axis] = visits.coordinateOf(axis, tile, rank);
  std::optional<Visit> other =
      visits.make(coordinates, /*isInLoop=*/false, visit.rest);
  if (!other)
    return failure();
  Conditions there = isSamePlace(visit, *other);
  there.push_back(isAtLeast(tile, visit.first));
  there.push_back(isAtLeast(visit.last, tile));
  ExtentAttr extent = kernel.getNumberedExtent(axis);
  bool isInGrid = integers.areImpossible(there, {isMore(0, tile)}) &&
                  integers.areImpossible(
                      there, {isAtLeast(tile * extent.getTile(),
                                        integers.sizeNamed(extent.getSize()))});
  bool comes = hasPassForPlace(visit, *other) && isInGrid;
  if (visits.getLoop() && comes)
    comes = integers.areImpossible(there,
                                   {isMore(other->lower, other->induction)}) &&
            integers.areImpossible(there,
                                   {isAtLeast(other->induction, other->upper)});
  if (!comes)
    return fail() << "a work tile from 'first' to 'last' may not come to the "
                     "place, and those behind it would wait forever";
  return success();
}

LogicalResult TurnProof::understood(const std::optional<Visit> &visit) {
  if (visit)
    return success();
  InFlightDiagnostic diagnostic = fail();
  diagnostic << "who takes turns, where, or in which passes of the loop, is "
                "no linear arithmetic on coordinates and sizes";
  Operation *where = visits.getNotUnderstood();
  diagnostic.attachNote(where->getLoc()) << "see this operation";
  return diagnostic;
}

/// Checks that work tiles that meet at a place differ only in the number that
/// orders the turns, and agree on which tiles take turns there. The tiles are
/// worked on by CTAs with the same number in their clusters.
LogicalResult TurnProof::checkMeeting(const Visit &visit, int64_t rank) {
  unsigned axis = op.getAxis();
  std::optional<Visit> other = visits.make(rank);
  if (failed(understood(other)))
    return failure();
  if (!arePartsApart(visit, *other))
    return fail() << "a part of a turn may be counted where one at another "
                     "place is";
  Conditions same = isSamePlace(visit, *other);
  for (auto [i, pair] :
       llvm::enumerate(llvm::zip(visit.coordinates, other->coordinates)))
    if (i != axis && !integers.areImpossible(
                         same, {isMore(std::get<0>(pair), std::get<1>(pair))}))
      return fail() << "work tiles that differ in coordinate " << i
                    << " may come to one place, but turns go along axis "
                    << axis;
  for (auto [i, pair] :
       llvm::enumerate(llvm::zip(visit.coordinates, other->coordinates)))
    if (i != axis)
      llvm::append_range(same, isEqual(std::get<0>(pair), std::get<1>(pair)));
  if (!integers.areImpossible(same, {isMore(visit.first, other->first)}) ||
      !integers.areImpossible(same, {isMore(visit.last, other->last)}))
    return fail() << "work tiles that come to one place may not agree on which "
                     "are the first and the last one there";
  return success();
}

/// Checks that CTAs with different numbers in their clusters never meet.
LogicalResult TurnProof::checkApart(const Visit &visit, int64_t otherRank) {
  std::optional<Visit> other = visits.make(otherRank);
  if (failed(understood(other)))
    return failure();
  if (!arePartsApart(visit, *other) || !areApart(visit, *other))
    return fail() << "CTAs that have different numbers in their clusters may "
                     "come to one place";
  return success();
}

LogicalResult TurnProof::checkAdditions(const Visit &visit, int64_t otherRank) {
  std::optional<Visit> other = visits.make(otherRank);
  return failed(understood(other)) ? failure()
                                   : sums.checkAdditions(visit, *other);
}

/// Runs all checks for the CTAs with number `rank` in their clusters.
LogicalResult TurnProof::prove(int64_t rank) {
  std::optional<Visit> visit = visits.make(rank);
  if (failed(understood(visit)))
    return failure();
  if (!integers.isExact())
    return fail() << "an index may wrap around";
  if (!integers.isImpossible({isMore(visit->first, visit->number)}) ||
      !integers.isImpossible({isMore(visit->number, visit->last)}))
    return fail() << "a work tile may come to a place where it is not one of "
                     "those from 'first' to 'last'";
  // Each of the following checks is about two visits. It starts from a copy,
  // because requirements of the other checks would only slow the search.
  const TurnIntegers one = integers;
  if (failed(checkComes(*visit, rank)))
    return failure();
  integers = one;
  std::optional<Visit> again = visits.make(visit->coordinates, true);
  if (failed(understood(again)))
    return failure();
  Conditions same = isSamePlace(*visit, *again);
  if (!integers.areImpossible(same,
                              {isMore(visit->induction, again->induction)}))
    return fail() << "a work tile may come to a place in two passes of its "
                     "loop, and would wait for itself";
  for (int64_t other = 0; other < kernel.getClusterSize(); ++other) {
    integers = one;
    if (failed(other == rank ? checkMeeting(*visit, rank)
                             : checkApart(*visit, other)))
      return failure();
    integers = one;
    if (failed(checkAdditions(*visit, other)))
      return failure();
  }
  integers = one;
  if (failed(sums.checkOnce(*visit)))
    return failure();
  if (!isInBounds(*visit))
    return fail() << "a place may be outside of the tensor that counts turns";
  return success();
}

LogicalResult TurnProof::run() {
  if (failed(checkSchedule()))
    return failure();
  if (StringRef obstacle = visits.findLoop(); !obstacle.empty())
    return fail() << obstacle;
  for (int64_t rank = 0; rank < kernel.getClusterSize(); ++rank) {
    visits.begin();
    if (failed(prove(rank)))
      return failure();
  }
  return success();
}

bool TurnProof::hasRoom() {
  if (!visits.findLoop().empty())
    return false;
  for (int64_t rank = 0; rank < visits.getClusterSize(); ++rank)
    for (int64_t otherRank = 0; otherRank < visits.getClusterSize();
         ++otherRank) {
      visits.begin();
      std::optional<Visit> visit = visits.make(rank);
      if (!visit || !isInBounds(*visit))
        return false;
      std::optional<Visit> other = visits.make(otherRank);
      if (!other || !arePartsApart(*visit, *other) ||
          (rank != otherRank && !areApart(*visit, *other)))
        return false;
    }
  return true;
}

bool fa4::tile::haveRoomForTurns(KernelOp kernel) {
  IndexForms forms;
  return !fa4::anyIn(kernel, [&](AwaitTurnOp op) {
    return !TurnProof(kernel, op, forms).hasRoom();
  });
}

bool fa4::tile::haveRoomForTurns(KernelOp kernel, const PairPlan &plan) {
  IndexForms forms;
  return llvm::all_of(plan.turns, [&](const PairTurn &turn) {
    PlannedPair pair{plan.axis, turn.rows};
    return TurnProof(kernel, turn.op, forms, pair).hasRoom();
  });
}

LogicalResult fa4::tile::verifyTurns(KernelOp kernel) {
  llvm::SmallDenseMap<Value, AwaitTurnOp> first;
  IndexForms forms;
  auto check = [&](AwaitTurnOp op) -> LogicalResult {
    auto [known, isNew] = first.try_emplace(op.getTurns(), op);
    if (!isNew) {
      InFlightDiagnostic diagnostic =
          op.emitOpError("takes turns that another operation counts, too: "
                         "each needs an argument of its own");
      diagnostic.attachNote(known->second.getLoc()) << "the other operation";
      return diagnostic;
    }
    return TurnProof(kernel, op, forms).run();
  };
  return failure(failed(fa4::checkEach(kernel, check)) ||
                 failed(verifySingleTurns(kernel)));
}
