//===- TurnOrder.cpp - turns that come ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/TurnOrder.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "fa4/Dialect/Tile/Analysis/IntegerCases.h"
#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>
#include <optional>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

using Known = std::optional<AffineSum>;

namespace {

/// A work tile at a place: the pass of the loop in which the tile comes there.
/// The loop may divide its induction variable i by a divisor d, as it does for
/// heads that take turns. Then i = q d + r with 0 <= r < d. Otherwise q = i.
struct Visit {
  SmallVector<AffineSum> coordinates;
  AffineSum number; ///< The number that orders the turns.
  AffineSum quotient, rest, induction;
  SmallVector<AffineSum> place;
  AffineSum first, last;
  AffineSum lower, upper; ///< The bounds of the loop.
  /// False for a pass that the loop would make if it had no bounds.
  bool isInLoop = true;
  /// The integers from which this visit is computed.
  llvm::DenseMap<Value, Known> known;
};

/// The unknown integers of the proof: what is required of them, and from which
/// values they were computed.
struct Integers {
  IntegerCases system;
  llvm::StringMap<AffineSum> sizes;
  std::map<std::pair<const void *, std::vector<AffineSum>>, AffineSum> opaque;
  /// Products of a sum and of a positive factor, by the factor.
  std::map<AffineSum, std::map<AffineSum, AffineSum>> products;
  /// Results of operations whose types do not rule out that they wrap around.
  SmallVector<AffineSum> mayWrap;
};

class TurnProof {
public:
  TurnProof(KernelOp kernel, AwaitTurnOp op) : kernel(kernel), op(op) {}

  LogicalResult run();
  /// Returns true if every turn, and every part of a turn, is counted at a
  /// place of its own.
  bool hasRoom();

private:
  InFlightDiagnostic fail() {
    return op.emitOpError("takes turns that are not proven to come: ");
  }
  LogicalResult checkSchedule();
  LogicalResult findLoop();
  LogicalResult prove(int64_t rank);
  LogicalResult understood(const std::optional<Visit> &visit);
  LogicalResult checkMeeting(const Visit &visit, int64_t rank);
  LogicalResult checkApart(const Visit &visit, int64_t otherRank);
  LogicalResult checkIntegers();
  LogicalResult checkComes(const Visit &visit, int64_t rank);
  LogicalResult checkAdditions(Visit visit, int64_t otherRank);
  LogicalResult checkOrder(ReduceAddOp add, ReduceAddOp otherAdd, Visit &visit,
                           Visit &other);
  LogicalResult checkOnce(ReduceAddOp add, Visit visit);
  SmallVector<ReduceAddOp> getOrdered(Value output);
  FailureOr<std::optional<Conditions>>
  overlap(ReduceAddOp add, ReduceAddOp otherAdd, Visit &visit, Visit &other);
  bool isInBounds(const Visit &visit);
  bool areApart(const Visit &visit, const Visit &other);
  bool arePartsApart(const Visit &visit, const Visit &other);
  bool hasPassForPlace(const Visit &visit, const Visit &other);

  // Visits.
  SmallVector<AffineSum> makeCoordinates(int64_t rank);
  AffineSum coordinateOf(unsigned axis, const AffineSum &number, int64_t rank);
  std::optional<Visit> makeVisit(SmallVector<AffineSum> coordinates,
                                 bool isInLoop, Known rest = std::nullopt);
  void addFactor(const AffineSum &divisor);
  void compareQuotient(Visit &visit, Value bound);
  Conditions isInLoop(const Visit &visit);
  Conditions isSamePlace(const Visit &a, const Visit &b);
  bool areImpossible(const Conditions &a, const Conditions &b) {
    Conditions both = a;
    both.insert(both.end(), b.begin(), b.end());
    return integers.system.isImpossible(both);
  }

  // Integers.
  Known get(Value value, Visit &visit);
  Known compute(Value value, Visit &visit);
  Known computeArgument(BlockArgument argument, Visit &visit);
  Known computeScalar(LoadScalarOp load, Visit &visit);
  Known computeSelect(arith::SelectOp select, Visit &visit);
  Known divide(Operation *op, Visit &visit, bool roundsUp);
  AffineSum sizeNamed(StringRef name);
  bool countsElements(Operation *op);
  Known multiply(const AffineSum &a, const AffineSum &b);
  AffineSum makeChoice(const AffineSum &a, const AffineSum &b, bool isMax);
  AffineSum makeBetween(int64_t least, int64_t most);

  KernelOp kernel;
  AwaitTurnOp op;
  scf::ForOp loop;
  /// The operation that splits the induction variable, and its divisor.
  Operation *split = nullptr;
  IntegerRanges ranges;
  Integers integers;
  Operation *notUnderstood = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

AffineSum TurnProof::makeBetween(int64_t least, int64_t most) {
  AffineSum number = integers.system.makeVariable();
  integers.system.require(isAtLeast(number, least));
  integers.system.require(isAtLeast(most, number));
  return number;
}

AffineSum TurnProof::sizeNamed(StringRef name) {
  if (std::optional<int64_t> size = getStaticSize(name))
    return AffineSum(*size);
  if (auto it = integers.sizes.find(name); it != integers.sizes.end())
    return it->second;
  AffineSum size;
  if (std::optional<AlignedSize> aligned = getAlignedSize(name)) {
    AffineSum exact = sizeNamed(aligned->name);
    size = integers.system.makeVariable() * aligned->multiple;
    integers.system.require(isAtLeast(size, exact));
    integers.system.require(isMore(exact + aligned->multiple, size));
  } else {
    size = makeBetween(1, kMaxSize);
  }
  return integers.sizes[name] = size;
}

/// Returns the larger or the smaller of two numbers.
AffineSum TurnProof::makeChoice(const AffineSum &a, const AffineSum &b,
                                bool isMax) {
  AffineSum difference = isMax ? a - b : b - a;
  if (difference.isConstant())
    return difference.constant >= 0 ? a : b;
  AffineSum number = integers.system.makeVariable();
  for (const AffineSum &each : {a, b})
    integers.system.require(isMax ? isAtLeast(number, each)
                                  : isAtLeast(each, number));
  Conditions isA = isEqual(number, a), isB = isEqual(number, b);
  isA.push_back(difference);
  isB.push_back(isMore(0, difference));
  integers.system.requireOne({isA, isB});
  return number;
}

/// Returns the product of two numbers. If both are unknown, the product is an
/// unknown of its own. Two products with the same positive factor are ordered
/// as their other factors are; the same holds for a product with a constant.
Known TurnProof::multiply(const AffineSum &a, const AffineSum &b) {
  bool isFactorA = integers.products.count(a),
       isFactorB = integers.products.count(b);
  // If both are factors, the choice must not depend on their order.
  bool takesB = isFactorA && isFactorB ? b < a : isFactorB;
  const AffineSum &factor = takesB ? b : a, &other = takesB ? a : b;
  if (!isFactorA && !isFactorB) {
    if (a.isConstant())
      return b * a.constant;
    return b.isConstant() ? Known(a * b.constant) : std::nullopt;
  }
  std::map<AffineSum, AffineSum> &known = integers.products[factor];
  known.try_emplace(AffineSum(0), AffineSum(0));
  if (auto it = known.find(other); it != known.end())
    return it->second;
  AffineSum product = other.isConstant() ? factor * other.constant
                                         : integers.system.makeVariable();
  for (const auto &[x, p] : known) {
    if (x.isConstant() && other.isConstant())
      continue;
    Conditions same = isEqual(other, x), equal = isEqual(product, p);
    same.insert(same.end(), equal.begin(), equal.end());
    integers.system.requireOne(
        {{isMore(other, x), isAtLeast(product, p + factor)},
         {isMore(x, other), isAtLeast(p, product + factor)},
         same});
  }
  known[other] = product;
  return product;
}

Known TurnProof::divide(Operation *op, Visit &visit, bool roundsUp) {
  if (split && op == split)
    return visit.quotient;
  Known x = get(op->getOperand(0), visit), y = get(op->getOperand(1), visit);
  if (!x || !y)
    return std::nullopt;
  auto isNegative = [&](Value value) {
    return ranges.get(value).smin().isNegative();
  };
  bool isUnsigned = isa<arith::DivUIOp, arith::CeilDivUIOp>(op);
  if (isUnsigned &&
      (isNegative(op->getOperand(0)) || isNegative(op->getOperand(1))))
    return std::nullopt;
  if (!y->isConstant()) {
    // A quotient of two sizes. The divisor is not 0.
    if (roundsUp || isNegative(op->getOperand(0)))
      return std::nullopt;
    auto [it, isNew] = integers.opaque.try_emplace({nullptr, {*x, *y}});
    if (isNew) {
      AffineSum quotient = it->second = makeBetween(1, kMaxSize);
      integers.products[quotient];
      integers.system.require(isAtLeast(*x, *multiply(*y, quotient)));
    }
    return it->second;
  }
  int64_t divisor = y->constant;
  if (divisor <= 0)
    return std::nullopt;
  AffineSum number = *x + AffineSum(roundsUp ? divisor - 1 : 0);
  // Terms that the divisor divides leave the quotient exactly, as the number of
  // a cluster does in a coordinate.
  if (llvm::all_of(number.terms,
                   [&](auto &term) { return term.second % divisor == 0; })) {
    AffineSum quotient(llvm::divideFloorSigned(number.constant, divisor));
    for (auto [variable, multiple] : number.terms)
      quotient.terms[variable] = multiple / divisor;
    return quotient;
  }
  auto [it, isNew] = integers.opaque.try_emplace({this, {number, *y}});
  if (isNew) {
    it->second = integers.system.makeVariable();
    integers.system.require(isAtLeast(number, it->second * divisor));
    integers.system.require(
        isMore((it->second + AffineSum(1)) * divisor, number));
  }
  return it->second;
}

Known TurnProof::computeScalar(LoadScalarOp load, Visit &visit) {
  std::vector<AffineSum> indices;
  for (Value index : load.getIndices()) {
    Known known = get(index, visit);
    if (!known)
      return std::nullopt;
    indices.push_back(*known);
  }
  if (!load.getType().isInteger(32))
    return std::nullopt;
  auto [it, isNew] = integers.opaque.try_emplace(
      {load.getSource().getAsOpaquePointer(), indices});
  if (isNew)
    it->second = makeBetween(INT32_MIN, INT32_MAX);
  return it->second;
}

Known TurnProof::computeSelect(arith::SelectOp select, Visit &visit) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  Known yes = get(select.getTrueValue(), visit),
        no = get(select.getFalseValue(), visit);
  if (!compare || !yes || !no)
    return std::nullopt;
  Known a = get(compare.getLhs(), visit), b = get(compare.getRhs(), visit);
  if (!a || !b)
    return std::nullopt;
  AffineSum number = integers.system.makeVariable();
  Conditions isYes = isEqual(number, *yes), isNo = isEqual(number, *no);
  auto with = [](Conditions conditions, const AffineSum &condition) {
    conditions.push_back(condition);
    return conditions;
  };
  using Predicate = arith::CmpIPredicate;
  bool less = false, equal = false, more = false;
  switch (compare.getPredicate()) {
  case Predicate::eq:
    equal = true;
    break;
  case Predicate::ne:
    less = more = true;
    break;
  case Predicate::slt:
    less = true;
    break;
  case Predicate::sle:
    less = equal = true;
    break;
  case Predicate::sgt:
    more = true;
    break;
  case Predicate::sge:
    more = equal = true;
    break;
  default:
    return std::nullopt;
  }
  Conditions same =
      with(with(equal ? isYes : isNo, isAtLeast(*a, *b)), isAtLeast(*b, *a));
  integers.system.requireOne({with(less ? isYes : isNo, isMore(*b, *a)), same,
                              with(more ? isYes : isNo, isMore(*a, *b))});
  return number;
}

/// Returns true for a product that counts the elements of a tensor. Both
/// factors are sizes. A size may be a constant; then the other factor must be
/// the divisor of the loop.
bool TurnProof::countsElements(Operation *op) {
  auto isConstant = [](Value x) { return matchPattern(x, m_Constant()); };
  if (!isa<arith::MulIOp>(op))
    return false;
  if (llvm::none_of(op->getOperands(), isConstant))
    return true;
  Value divisor = split ? split->getOperand(1) : Value();
  return divisor && !isConstant(divisor) &&
         llvm::is_contained(op->getOperands(), divisor);
}

Known TurnProof::computeArgument(BlockArgument argument, Visit &visit) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa<WorkOp>(parent))
    return visit.coordinates[argument.getArgNumber()];
  if (loop && argument == loop.getInductionVar())
    return visit.induction;
  if (!isa<KernelOp>(parent) ||
      !isa<IndexType, IntegerType>(argument.getType()))
    return std::nullopt;
  auto [it, isNew] =
      integers.opaque.try_emplace({argument.getAsOpaquePointer(), {}});
  if (isNew)
    it->second = makeBetween(INT32_MIN, INT32_MAX);
  return it->second;
}

Known TurnProof::compute(Value value, Visit &visit) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument, visit);
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return AffineSum(number.getSExtValue());
  Operation *def = value.getDefiningOp();
  auto operand = [&](unsigned i) { return get(def->getOperand(i), visit); };
  auto both = [&](llvm::function_ref<Known(AffineSum, AffineSum)> fn) -> Known {
    Known a = operand(0), b = a ? operand(1) : std::nullopt;
    return b ? fn(*a, *b) : std::nullopt;
  };
  Known result =
      llvm::TypeSwitch<Operation *, Known>(def)
          .Case([&](WorkTileOp) {
            return visit.coordinates[cast<OpResult>(value).getResultNumber()];
          })
          .Case([&](memref::DimOp dim) -> Known {
            std::optional<StringRef> name = getSizeName(dim);
            return name ? Known(sizeNamed(*name)) : std::nullopt;
          })
          .Case([&](LoadScalarOp load) { return computeScalar(load, visit); })
          .Case([&](arith::IndexCastOp) { return operand(0); })
          .Case([&](arith::AddIOp) {
            return both([](auto a, auto b) { return a + b; });
          })
          .Case([&](arith::SubIOp) {
            return both([](auto a, auto b) { return a - b; });
          })
          .Case([&](arith::MulIOp) {
            return both([&](auto a, auto b) -> Known {
              Known product = multiply(a, b);
              // See TurnOrder.h.
              if (product && visit.isInLoop && countsElements(def))
                integers.system.require(isAtLeast(INT32_MAX, *product));
              return product;
            });
          })
          .Case([&](arith::MinSIOp) {
            return both(
                [&](auto a, auto b) { return makeChoice(a, b, false); });
          })
          .Case([&](arith::MaxSIOp) {
            return both([&](auto a, auto b) { return makeChoice(a, b, true); });
          })
          .Case<arith::DivUIOp, arith::FloorDivSIOp>(
              [&](auto op) { return divide(op, visit, /*roundsUp=*/false); })
          .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
              [&](auto op) { return divide(op, visit, /*roundsUp=*/true); })
          .Case([&](arith::SelectOp op) { return computeSelect(op, visit); })
          .Default(std::nullopt);
  if (result && isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(def) &&
      !countsElements(def) && !ranges.isExact(def))
    integers.mayWrap.push_back(*result);
  return result;
}

Known TurnProof::get(Value value, Visit &visit) {
  auto it = visit.known.find(value);
  if (it != visit.known.end())
    return it->second;
  Known result = compute(value, visit);
  if (!result && !notUnderstood)
    notUnderstood = value.getDefiningOp() ? value.getDefiningOp() : op;
  visit.known[value] = result;
  return result;
}

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

/// Returns the coordinate of CTA `rank` of a cluster. Along the cluster's axis,
/// `number` counts clusters.
AffineSum TurnProof::coordinateOf(unsigned axis, const AffineSum &number,
                                  int64_t rank) {
  ClusterAttr cluster = kernel.getClusterAttr();
  return cluster && cluster.getAxis() == axis
             ? number * cluster.getSize() + AffineSum(rank)
             : number;
}

/// Returns the coordinates of an arbitrary work tile of CTA `rank` of a
/// cluster. The last cluster may have a CTA without a work tile, which takes
/// turns like all others.
SmallVector<AffineSum> TurnProof::makeCoordinates(int64_t rank) {
  SmallVector<AffineSum> coordinates;
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis) {
    ExtentAttr extent = kernel.getNumberedExtent(axis);
    AffineSum number = makeBetween(0, kMaxSize);
    integers.system.require(
        isMore(sizeNamed(extent.getSize()), number * extent.getTile()));
    coordinates.push_back(coordinateOf(axis, number, rank));
  }
  return coordinates;
}

Conditions TurnProof::isInLoop(const Visit &visit) {
  if (!loop)
    return {};
  return {isAtLeast(visit.induction, visit.lower),
          isMore(visit.upper, visit.induction)};
}

Conditions TurnProof::isSamePlace(const Visit &a, const Visit &b) {
  Conditions same;
  for (auto [x, y] : llvm::zip(a.place, b.place))
    llvm::append_range(same, isEqual(x, y));
  return same;
}

/// Makes products with the divisor of the loop comparable. The divisor is not
/// 0, because the passes of the loop divide by it. Coordinates are multiplied
/// by it, and the number of coordinates may be a constant.
void TurnProof::addFactor(const AffineSum &divisor) {
  integers.products[divisor];
  integers.system.require(isAtLeast(divisor, 1));
  for (auto extent : kernel.getGrid().getAsRange<ExtentAttr>())
    if (std::optional<int64_t> size = getStaticSize(extent.getSize()))
      (void)multiply(AffineSum(llvm::divideCeil(*size, extent.getTile())),
                     divisor);
}

/// Makes a visit of the work tile, in an arbitrary pass of the loop. If not
/// `isInLoop`, the pass may lie outside of the loop's bounds.
std::optional<Visit> TurnProof::makeVisit(SmallVector<AffineSum> coordinates,
                                          bool isInLoop, Known rest) {
  Visit visit;
  visit.coordinates = std::move(coordinates);
  visit.isInLoop = isInLoop;
  if (loop) {
    visit.quotient = visit.induction = integers.system.makeVariable();
    if (split) {
      Known divisor = get(split->getOperand(1), visit);
      if (!divisor)
        return std::nullopt;
      if (!divisor->isConstant())
        addFactor(*divisor);
      visit.rest = rest ? *rest : makeBetween(0, kMaxSize);
      integers.system.require(isMore(*divisor, visit.rest));
      Known product = multiply(visit.quotient, *divisor);
      if (!product)
        return std::nullopt;
      visit.induction = *product + visit.rest;
    }
    Known lower = get(loop.getLowerBound(), visit),
          upper = get(loop.getUpperBound(), visit);
    if (!lower || !upper)
      return std::nullopt;
    if (split) {
      integers.system.requireOne(
          {{visit.quotient}, {isMore(0, visit.quotient)}});
      compareQuotient(visit, loop.getUpperBound());
    }
    visit.lower = *lower;
    visit.upper = *upper;
    if (isInLoop)
      integers.system.require(this->isInLoop(visit));
  }
  for (Value index : op.getIndices()) {
    Known known = get(index, visit);
    if (!known)
      return std::nullopt;
    visit.place.push_back(*known);
  }
  Known first = get(op.getFirst(), visit), last = get(op.getLast(), visit),
        number = get(op.getTile(), visit);
  if (!first || !last || !number)
    return std::nullopt;
  visit.number = *number;
  visit.first = *first;
  visit.last = *last;
  return visit;
}

/// Adds the fact that q in i = q d + r is below x or at least x, for x = 0 and
/// for each x d that decides the loop's upper bound. It holds because q and x
/// are integers, but the search would find it only with difficulty.
void TurnProof::compareQuotient(Visit &visit, Value bound) {
  Operation *def = bound.getDefiningOp();
  if (!def || !isa<arith::MaxSIOp, arith::MinSIOp, arith::MulIOp>(def))
    return;
  if (!isa<arith::MulIOp>(def)) {
    for (Value operand : def->getOperands())
      compareQuotient(visit, operand);
    return;
  }
  Known divisor = get(split->getOperand(1), visit);
  for (unsigned i : {0, 1}) {
    Known factor = get(def->getOperand(i), visit),
          other = get(def->getOperand(1 - i), visit);
    if (factor && other && divisor && *factor == *divisor)
      integers.system.requireOne({{isAtLeast(visit.quotient, *other)},
                                  {isMore(*other, visit.quotient)}});
  }
}

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

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

LogicalResult TurnProof::findLoop() {
  for (Operation *parent = op->getParentOp(); !isa<RoleOp, KernelOp>(parent);
       parent = parent->getParentOp()) {
    if (isa<WorkOp>(parent))
      continue;
    auto around = dyn_cast<scf::ForOp>(parent);
    if (!around)
      return fail() << "the operation is in a branch";
    if (loop)
      return fail() << "the operation is in two loops";
    if (getConstantIntValue(around.getStep()) != 1)
      return fail() << "the step of the loop around it is not 1";
    loop = around;
  }
  if (!loop)
    return success();
  for (Operation *user : loop.getInductionVar().getUsers())
    if (isa<arith::DivUIOp, arith::FloorDivSIOp>(user) && !split &&
        user->getOperand(0) == loop.getInductionVar() &&
        !ranges.get(user->getOperand(0)).smin().isNegative() &&
        loop.isDefinedOutsideOfLoop(user->getOperand(1)))
      split = user;
  return success();
}

bool TurnProof::isInBounds(const Visit &visit) {
  unsigned argument = cast<BlockArgument>(op.getTurns()).getArgNumber();
  return llvm::all_of(llvm::enumerate(visit.place), [&](auto index) {
    AffineSum size = sizeNamed(kernel.getDimName(argument, index.index()));
    bool isLast = index.index() + 1 == visit.place.size();
    AffineSum most = index.value() + AffineSum(isLast ? op.getParts() - 1 : 0);
    return integers.system.isImpossible({isMore(0, index.value())}) &&
           integers.system.isImpossible({isAtLeast(most, size)});
  });
}

/// Returns true if two numbers always differ because of a common divisor. The
/// search would find that, too, but only after it has read all requirements.
static bool neverEqual(const AffineSum &a, const AffineSum &b) {
  AffineSum difference = a - b;
  int64_t divisor = 0;
  for (auto [variable, multiple] : difference.terms)
    divisor = std::gcd(divisor, multiple);
  return divisor == 0 ? difference.constant != 0
                      : difference.constant % divisor != 0;
}

/// Returns true if two visits never come to the same place.
bool TurnProof::areApart(const Visit &visit, const Visit &other) {
  return llvm::any_of(llvm::zip(visit.place, other.place),
                      [](auto pair) {
                        return neverEqual(std::get<0>(pair), std::get<1>(pair));
                      }) ||
         integers.system.isImpossible(isSamePlace(visit, other));
}

/// Returns true if the parts of a turn at one place are counted at other places
/// than the parts of a turn at another place.
bool TurnProof::arePartsApart(const Visit &visit, const Visit &other) {
  for (int64_t distance = 1; distance < int64_t(op.getParts()); ++distance) {
    Visit behind = other;
    behind.place.back() = behind.place.back() + AffineSum(distance);
    if (!areApart(visit, behind))
      return false;
  }
  return true;
}

/// Returns true if the work tile of `other` would come to every place of
/// `visit` if its loop had no bounds: exactly one index depends on the pass,
/// and its distance is a multiple of the index's step.
bool TurnProof::hasPassForPlace(const Visit &visit, const Visit &other) {
  if (!loop)
    return true;
  unsigned pass = visit.quotient.terms.begin()->first, found = 0;
  for (auto [index, same] : llvm::zip(visit.place, other.place)) {
    auto it = index.terms.find(pass);
    if (it == index.terms.end())
      continue;
    ++found;
    AffineSum distance = index - same;
    auto isMultiple = [&](int64_t number) { return number % it->second == 0; };
    if (!isMultiple(distance.constant) ||
        !llvm::all_of(distance.terms,
                      [&](auto &term) { return isMultiple(term.second); }))
      return false;
  }
  return found == 1;
}

/// Checks that each work tile that takes turns at the place of `visit` comes
/// there.
LogicalResult TurnProof::checkComes(const Visit &visit, int64_t rank) {
  unsigned axis = op.getAxis();
  SmallVector<AffineSum> coordinates = visit.coordinates;
  AffineSum tile = integers.system.makeVariable();
  coordinates[axis] = coordinateOf(axis, tile, rank);
  std::optional<Visit> other =
      makeVisit(coordinates, /*isInLoop=*/false, visit.rest);
  if (!other)
    return failure();
  Conditions there = isSamePlace(visit, *other);
  there.push_back(isAtLeast(tile, visit.first));
  there.push_back(isAtLeast(visit.last, tile));
  ExtentAttr extent = kernel.getNumberedExtent(axis);
  bool isInGrid =
      areImpossible(there, {isMore(0, tile)}) &&
      areImpossible(there, {isAtLeast(tile * extent.getTile(),
                                      sizeNamed(extent.getSize()))});
  bool comes = hasPassForPlace(visit, *other) && isInGrid;
  if (loop && comes)
    comes = areImpossible(there, {isMore(other->lower, other->induction)}) &&
            areImpossible(there, {isAtLeast(other->induction, other->upper)});
  if (!comes)
    return fail() << "a work tile from 'first' to 'last' may not come to the "
                     "place, and those behind it would wait forever";
  return success();
}

LogicalResult TurnProof::checkIntegers() {
  for (const AffineSum &sum : integers.mayWrap)
    if (!integers.system.isImpossible({isMore(sum, INT32_MAX)}) ||
        !integers.system.isImpossible({isMore(INT32_MIN, sum)}))
      return fail() << "an index may wrap around";
  return success();
}

LogicalResult TurnProof::understood(const std::optional<Visit> &visit) {
  if (visit)
    return success();
  InFlightDiagnostic diagnostic = fail();
  diagnostic << "who takes turns, where, or in which passes of the loop, is "
                "no linear arithmetic on coordinates and sizes";
  Operation *where = notUnderstood ? notUnderstood : split;
  diagnostic.attachNote(where->getLoc()) << "see this operation";
  return diagnostic;
}

/// Checks that work tiles that meet at a place differ only in the number that
/// orders the turns, and agree on which tiles take turns there. The tiles are
/// worked on by CTAs with the same number in their clusters.
LogicalResult TurnProof::checkMeeting(const Visit &visit, int64_t rank) {
  unsigned axis = op.getAxis();
  std::optional<Visit> other = makeVisit(makeCoordinates(rank), true);
  if (failed(understood(other)))
    return failure();
  if (!arePartsApart(visit, *other))
    return fail() << "a part of a turn may be counted where one at another "
                     "place is";
  Conditions same = isSamePlace(visit, *other);
  for (auto [i, pair] :
       llvm::enumerate(llvm::zip(visit.coordinates, other->coordinates)))
    if (i != axis &&
        !areImpossible(same, {isMore(std::get<0>(pair), std::get<1>(pair))}))
      return fail() << "work tiles that differ in coordinate " << i
                    << " may come to one place, but turns go along axis "
                    << axis;
  for (auto [i, pair] :
       llvm::enumerate(llvm::zip(visit.coordinates, other->coordinates)))
    if (i != axis)
      llvm::append_range(same, isEqual(std::get<0>(pair), std::get<1>(pair)));
  if (!areImpossible(same, {isMore(visit.first, other->first)}) ||
      !areImpossible(same, {isMore(visit.last, other->last)}))
    return fail() << "work tiles that come to one place may not agree on which "
                     "are the first and the last one there";
  return success();
}

/// Checks that CTAs with different numbers in their clusters never meet.
LogicalResult TurnProof::checkApart(const Visit &visit, int64_t otherRank) {
  std::optional<Visit> other = makeVisit(makeCoordinates(otherRank), true);
  if (failed(understood(other)))
    return failure();
  if (!arePartsApart(visit, *other) || !areApart(visit, *other))
    return fail() << "CTAs that have different numbers in their clusters may "
                     "come to one place";
  return success();
}

//===----------------------------------------------------------------------===//
// What is added in turns
//===----------------------------------------------------------------------===//

/// Returns the largest number that divides the sum for all values of its
/// variables, or 0 for a sum that is 0.
static int64_t getDivisor(const AffineSum &sum) {
  int64_t divisor = std::abs(sum.constant);
  for (auto [variable, multiple] : sum.terms)
    divisor = std::gcd(divisor, multiple);
  return divisor;
}

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
FailureOr<std::optional<Conditions>> TurnProof::overlap(ReduceAddOp add,
                                                        ReduceAddOp otherAdd,
                                                        Visit &visit,
                                                        Visit &other) {
  Conditions conditions;
  for (auto [index, otherIndex, extent, otherExtent] :
       llvm::zip(add.getIndices(), otherAdd.getIndices(), getExtents(add),
                 getExtents(otherAdd))) {
    Known begin = get(index, visit), otherBegin = get(otherIndex, other);
    if (!begin || !otherBegin)
      return (begin ? otherAdd : add)
          .emitOpError("adds in its turn at an index that is no linear "
                       "arithmetic on coordinates and sizes, so that the order "
                       "of the sums is not known");
    AffineSum distance = *begin - *otherBegin;
    int64_t divisor = getDivisor(distance);
    if (divisor < std::max(extent, otherExtent)) {
      conditions.push_back(
          isMore(*otherBegin + AffineSum(otherExtent), *begin));
      conditions.push_back(isMore(*begin + AffineSum(extent), *otherBegin));
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
SmallVector<ReduceAddOp> TurnProof::getOrdered(Value output) {
  SmallVector<ReduceAddOp> additions;
  unsigned argument = cast<BlockArgument>(output).getArgNumber();
  if (kernel.getOutputKind(argument) == OutputKind::Ordered)
    for (Operation *addition : op.getAdditions())
      if (auto add = cast<ReduceAddOp>(addition); add.getDest() == output)
        additions.push_back(add);
  return additions;
}

/// Checks that two additions with common elements take turns at one place.
LogicalResult TurnProof::checkOrder(ReduceAddOp add, ReduceAddOp otherAdd,
                                    Visit &visit, Visit &other) {
  FailureOr<std::optional<Conditions>> common =
      overlap(add, otherAdd, visit, other);
  if (failed(common))
    return failure();
  if (!*common)
    return success();
  for (auto [index, same] : llvm::zip(visit.place, other.place))
    if (!areImpossible(**common, {isMore(index, same)}) ||
        !areImpossible(**common, {isMore(same, index)})) {
      InFlightDiagnostic diagnostic = add.emitOpError(
          "may add to the same elements as work tiles that take turns at "
          "another place; the order of these sums is undefined");
      diagnostic.attachNote(otherAdd.getLoc())
          << "the addition of the other work tile";
      return diagnostic;
    }
  return success();
}

/// Checks that one turn adds to an element at most once, because additions of
/// one turn have no order. Also checks that no addition begins in front of the
/// tensor.
LogicalResult TurnProof::checkOnce(ReduceAddOp add, Visit visit) {
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
    if (*common && !integers.system.isImpossible(**common)) {
      InFlightDiagnostic diagnostic = add.emitOpError(
          "may add to the same elements as an earlier operation in its turn; "
          "the order of these sums is undefined");
      diagnostic.attachNote(earlier.getLoc()) << "the earlier operation";
      return diagnostic;
    }
  }
  for (auto [dim, index] : llvm::enumerate(add.getIndices()))
    if (!integers.system.isImpossible({isMore(0, *get(index, visit))}))
      return add.emitOpError("adds in its turn at an index of dimension ")
             << dim << " that may be negative";
  return success();
}

/// Checks that work tiles which add to one element of an ordered output take
/// turns at one place.
LogicalResult TurnProof::checkAdditions(Visit visit, int64_t otherRank) {
  std::optional<Visit> other = makeVisit(makeCoordinates(otherRank), true);
  if (failed(understood(other)))
    return failure();
  for (BlockArgument output : kernel.getArguments()) {
    SmallVector<ReduceAddOp> additions = getOrdered(output);
    for (ReduceAddOp add : additions)
      for (ReduceAddOp otherAdd : additions)
        if (failed(checkOrder(add, otherAdd, visit, *other)))
          return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Runs all checks for the CTAs with number `rank` in their clusters.
LogicalResult TurnProof::prove(int64_t rank) {
  std::optional<Visit> visit = makeVisit(makeCoordinates(rank), true);
  if (failed(understood(visit)) || failed(checkIntegers()))
    return failure();
  if (!integers.system.isImpossible({isMore(visit->first, visit->number)}) ||
      !integers.system.isImpossible({isMore(visit->number, visit->last)}))
    return fail() << "a work tile may come to a place where it is not one of "
                     "those from 'first' to 'last'";
  // Each of the following checks is about two visits. It starts from a copy,
  // because requirements of the other checks would only slow the search.
  const Integers one = integers;
  if (failed(checkComes(*visit, rank)))
    return failure();
  integers = one;
  std::optional<Visit> again = makeVisit(visit->coordinates, true);
  if (failed(understood(again)))
    return failure();
  Conditions same = isSamePlace(*visit, *again);
  if (!areImpossible(same, {isMore(visit->induction, again->induction)}))
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
  for (BlockArgument output : kernel.getArguments())
    for (ReduceAddOp add : getOrdered(output))
      if (failed(checkOnce(add, *visit)))
        return failure();
  if (!isInBounds(*visit))
    return fail() << "a place may be outside of the tensor that counts turns";
  return success();
}

LogicalResult TurnProof::run() {
  if (failed(checkSchedule()) || failed(findLoop()))
    return failure();
  for (int64_t rank = 0; rank < kernel.getClusterSize(); ++rank) {
    integers = Integers();
    if (failed(prove(rank)))
      return failure();
  }
  return success();
}

bool TurnProof::hasRoom() {
  if (failed(findLoop()))
    return false;
  for (int64_t rank = 0; rank < kernel.getClusterSize(); ++rank)
    for (int64_t otherRank = 0; otherRank < kernel.getClusterSize();
         ++otherRank) {
      integers = Integers();
      std::optional<Visit> visit = makeVisit(makeCoordinates(rank), true);
      if (!visit || !isInBounds(*visit))
        return false;
      std::optional<Visit> other = makeVisit(makeCoordinates(otherRank), true);
      if (!other || !arePartsApart(*visit, *other) ||
          (rank != otherRank && !areApart(*visit, *other)))
        return false;
    }
  return true;
}

bool fa4::tile::haveRoomForTurns(KernelOp kernel) {
  WalkResult result = kernel.walk([&](AwaitTurnOp op) {
    return TurnProof(kernel, op).hasRoom() ? WalkResult::advance()
                                           : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Checks that a single operation takes the turns of each ordered output,
/// because turns of different operations have no order.
static LogicalResult checkSingle(KernelOp kernel) {
  llvm::SmallDenseMap<Value, ReduceAddOp> first;
  WalkResult result = kernel.walk([&](ReduceAddOp add) -> WalkResult {
    auto output = dyn_cast<BlockArgument>(add.getDest());
    if (!output || !add.getTurn() ||
        kernel.getOutputKind(output.getArgNumber()) != OutputKind::Ordered)
      return WalkResult::advance();
    ReduceAddOp known = first.try_emplace(output, add).first->second;
    if (known.getTurn() == add.getTurn())
      return WalkResult::advance();
    InFlightDiagnostic diagnostic = add.emitOpError(
        "adds in the turn of another tile.await_turn than an earlier operation "
        "that adds to this output: turns of two have no order");
    diagnostic.attachNote(known.getLoc()) << "the earlier operation";
    return diagnostic;
  });
  return failure(result.wasInterrupted());
}

LogicalResult fa4::tile::verifyTurns(KernelOp kernel) {
  llvm::SmallDenseMap<Value, AwaitTurnOp> first;
  WalkResult result = kernel.walk([&](AwaitTurnOp op) -> WalkResult {
    auto [known, isNew] = first.try_emplace(op.getTurns(), op);
    if (!isNew) {
      InFlightDiagnostic diagnostic =
          op.emitOpError("takes turns that another operation counts, too: "
                         "each needs an argument of its own");
      diagnostic.attachNote(known->second.getLoc()) << "the other operation";
      return diagnostic;
    }
    return TurnProof(kernel, op).run();
  });
  return failure(result.wasInterrupted() || failed(checkSingle(kernel)));
}
