//===- TurnVisits.cpp - work tiles at the places of turns ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TurnVisits.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using Kind = IndexSymbol::Kind;

Conditions fa4::tile::isSamePlace(const Visit &a, const Visit &b) {
  Conditions same;
  for (auto [x, y] : llvm::zip(a.place, b.place))
    llvm::append_range(same, isEqual(x, y));
  return same;
}

TurnVisits::TurnVisits(KernelOp kernel, AwaitTurnOp op, IndexForms &forms,
                       TurnIntegers &integers, std::optional<PlannedPair> pair)
    : kernel(kernel), op(op), forms(forms), integers(integers), pair(pair),
      cluster(pair
                  ? ClusterAttr::get(kernel.getContext(), kPairSize, pair->axis)
                  : kernel.getClusterAttr()) {}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

StringRef TurnVisits::findLoop() {
  for (Operation *parent = op->getParentOp(); !isa<RoleOp, KernelOp>(parent);
       parent = parent->getParentOp()) {
    if (isa<WorkOp>(parent))
      continue;
    auto around = dyn_cast<scf::ForOp>(parent);
    if (!around)
      return "the operation is in a branch";
    if (loop)
      return "the operation is in two loops";
    if (getConstantIntValue(around.getStep()) != 1)
      return "the step of the loop around it is not 1";
    loop = around;
  }
  if (loop)
    findSplit();
  findElementCounts();
  return "";
}

/// Finds the division of the induction variable. A divisor that may be negative
/// is none: quotient and rest would be others.
void TurnVisits::findSplit() {
  Value induction = loop.getInductionVar();
  if (forms.getRanges().get(induction).smin().isNegative())
    return;
  for (Operation *user : induction.getUsers()) {
    if (user->getNumResults() != 1 || user->getOperand(0) != induction)
      continue;
    std::optional<unsigned> symbol = forms.get(user->getResult(0)).getSymbol();
    if (!symbol || forms.getSymbol(*symbol).kind != Kind::FloorDiv ||
        !loop.isDefinedOutsideOfLoop(user->getOperand(1)))
      continue;
    IndexForm divisor = forms.get(user->getOperand(1));
    if (!divisor.isZero() && forms.isNonNegative(divisor)) {
      split = user;
      return;
    }
  }
}

/// Finds the products that count the elements of a tensor. Both factors of such
/// a product are sizes. A size may be a constant; then the other factor must be
/// the divisor of the loop.
void TurnVisits::findElementCounts() {
  SmallVector<Value> roots(op.getIndices());
  roots.append({op.getFirst(), op.getLast()});
  if (loop)
    roots.append({loop.getLowerBound(), loop.getUpperBound()});
  for (Operation *add : op.getAdditions())
    llvm::append_range(roots, cast<ReduceAddOp>(add).getIndices());
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  for (Value root : roots)
    (void)getBackwardSlice(root, &slice, options);
  auto isConstant = [](Value x) { return matchPattern(x, m_Constant()); };
  Value divisor = split ? split->getOperand(1) : Value();
  for (Operation *product : slice) {
    if (!isa<arith::MulIOp>(product))
      continue;
    if (llvm::none_of(product->getOperands(), isConstant) ||
        (divisor && !isConstant(divisor) &&
         llvm::is_contained(product->getOperands(), divisor)))
      elementCounts.push_back(forms.get(product->getOperand(0)) *
                              forms.get(product->getOperand(1)));
  }
}

void TurnVisits::begin() {
  integers = TurnIntegers(kernel, forms, pair);
  for (const IndexForm &count : elementCounts)
    integers.assumeExact(count);
}

/// Makes products with the divisor of the loop comparable. The divisor is not
/// 0, because the passes of the loop divide by it. Coordinates are multiplied
/// by it, and the number of coordinates may be a constant.
void TurnVisits::addDivisor(const IndexForm &divisor) {
  integers.addFactor(divisor);
  integers.require(isAtLeast(divisor, 1));
  for (auto extent : kernel.getGrid().getAsRange<ExtentAttr>())
    if (std::optional<int64_t> size = getStaticSize(extent.getSize()))
      integers.compareProduct(divisor,
                              llvm::divideCeil(*size, extent.getTile()));
}

/// Returns the form divided by the divisor of the loop, if the divisor divides
/// each of its terms.
std::optional<IndexForm> TurnVisits::divideByDivisor(const IndexForm &form) {
  IndexForm divisor = forms.get(split->getOperand(1));
  IndexForm quotient;
  if (std::optional<unsigned> symbol = divisor.getSymbol())
    quotient = form.getMultiplier(*symbol);
  else if (std::optional<llvm::DynamicAPInt> number = divisor.getConstant())
    for (const auto &[monomial, coefficient] : form)
      quotient.addTerm(monomial, coefficient / *number);
  return quotient * divisor == form ? std::optional(quotient) : std::nullopt;
}

/// Adds the fact that q in i = q d + r is below x or at least x, for x = 0 and
/// for each x d that decides the loop's upper bound. It holds because q and x
/// are integers, but the search would find it only with difficulty.
void TurnVisits::compareQuotient(Visit &visit, const IndexForm &bound) {
  if (std::optional<unsigned> number = bound.getSymbol()) {
    const IndexSymbol &symbol = forms.getSymbol(*number);
    if (llvm::is_contained({Kind::Min, Kind::Max, Kind::SignedResidue},
                           symbol.kind)) {
      for (const IndexForm &operand : symbol.operands)
        compareQuotient(visit, operand);
      return;
    }
  }
  std::optional<IndexForm> factor = divideByDivisor(bound);
  KnownForm other =
      factor && !factor->isZero() ? integers.get(*factor, visit) : std::nullopt;
  if (other)
    integers.requireOne({{isAtLeast(visit.quotient, *other)},
                         {isMore(*other, visit.quotient)}});
}

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

IndexForm TurnVisits::coordinateOf(unsigned axis, const IndexForm &number,
                                   int64_t rank) {
  return cluster && cluster.getAxis() == axis
             ? number * cluster.getSize() + rank
             : number;
}

/// Returns the coordinates of an arbitrary work tile of CTA `rank` of a
/// cluster. The last cluster may have a CTA without a work tile, which takes
/// turns like all others.
SmallVector<IndexForm> TurnVisits::makeCoordinates(int64_t rank) {
  SmallVector<IndexForm> coordinates;
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis) {
    auto extent = cast<ExtentAttr>(kernel.getGrid()[axis]);
    IndexForm number = integers.makeBetween(0, kMaxSize);
    integers.require(
        isMore(integers.sizeNamed(extent.getSize()),
               coordinateOf(axis, number, /*rank=*/0) * extent.getTile()));
    coordinates.push_back(coordinateOf(axis, number, rank));
  }
  return coordinates;
}

KnownForm TurnVisits::get(Value value, Visit &visit) {
  KnownForm known = integers.get(value, visit);
  if (known || notUnderstood)
    return known;
  // The operation is one whose operands are understood.
  notUnderstood = op;
  while (Operation *def = value.getDefiningOp()) {
    notUnderstood = def;
    auto operands = def->getOperands();
    auto next = llvm::find_if(operands, [&](Value operand) {
      return isa<IndexType, IntegerType>(operand.getType()) &&
             !integers.get(operand, visit);
    });
    if (next == operands.end())
      break;
    value = *next;
  }
  return std::nullopt;
}

/// Makes the pass of the loop. Returns false if it is not understood.
bool TurnVisits::enterLoop(Visit &visit, bool isInLoop, KnownForm rest) {
  auto set = [&](Value value, const IndexForm &number) {
    visit.known[*forms.get(value).getSymbol()] = number;
  };
  visit.quotient = visit.induction = integers.makeUnknown();
  if (split) {
    KnownForm divisor = get(split->getOperand(1), visit);
    if (!divisor)
      return false;
    if (!divisor->getConstant())
      addDivisor(*divisor);
    visit.rest = rest ? *rest : integers.makeBetween(0, kMaxSize);
    integers.require(isMore(*divisor, visit.rest));
    integers.compareProduct(*divisor, visit.quotient);
    visit.induction = visit.quotient * *divisor + visit.rest;
    set(split->getResult(0), visit.quotient);
  }
  set(loop.getInductionVar(), visit.induction);
  KnownForm lower = get(loop.getLowerBound(), visit),
            upper = get(loop.getUpperBound(), visit);
  if (!lower || !upper)
    return false;
  if (split) {
    integers.requireOne({{visit.quotient}, {isMore(0, visit.quotient)}});
    compareQuotient(visit, forms.get(loop.getUpperBound()));
  }
  visit.lower = *lower;
  visit.upper = *upper;
  if (isInLoop) {
    integers.require(isAtLeast(visit.induction, visit.lower));
    integers.require(isMore(visit.upper, visit.induction));
  }
  return true;
}

/// Makes the turn of a work tile the turn of its pair. The visit then has the
/// numbers that it has in the pair program (PairProgram.cpp), which differs
/// from the program of a work tile in three things that visits are made of:
///
/// - Coordinates along the axis are those of pair n, `2 n + rank`; coordinateOf
///   makes them.
/// - A bound is the wider one of both work tiles, which
///   TurnIntegers::getBoundOfPair returns.
/// - Turns are numbered by pairs, and the last index of the place is `rank *
///   rows` larger; this function does both, as PairWriter::writeTurn does.
///
/// All other values of a visit are computed by the same operations in both
/// programs.
void TurnVisits::takeTurnOfPair(Visit &visit) {
  const llvm::DynamicAPInt size(kPairSize);
  const IndexForm &coordinate = visit.coordinates[pair->axis];
  visit.number = integers.divide(coordinate, size);
  visit.first = integers.divide(visit.first, size);
  visit.last = integers.divide(visit.last, size);
  IndexForm rank = coordinate - visit.number * kPairSize;
  visit.place.back() += rank * pair->rows;
}

std::optional<Visit> TurnVisits::make(SmallVector<IndexForm> coordinates,
                                      bool isInLoop, KnownForm rest) {
  Visit visit;
  visit.coordinates = std::move(coordinates);
  if (loop && !enterLoop(visit, isInLoop, rest))
    return std::nullopt;
  for (Value index : op.getIndices()) {
    KnownForm known = get(index, visit);
    if (!known)
      return std::nullopt;
    visit.place.push_back(*known);
  }
  KnownForm first = get(op.getFirst(), visit), last = get(op.getLast(), visit),
            number = get(op.getTile(), visit);
  if (!first || !last || !number)
    return std::nullopt;
  if (isInLoop)
    integers.requireExact(visit);
  visit.number = *number;
  visit.first = *first;
  visit.last = *last;
  if (pair)
    takeTurnOfPair(visit);
  return visit;
}
