//===- IndexForms.cpp - the integers of a kernel as forms ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using llvm::DynamicAPInt;

/// Integers with more bits are symbols without bounds.
static constexpr unsigned kMaxBits = 64;

static bool isSmallInteger(Type type) {
  unsigned bits = getIntegerBits(type);
  return bits > 0 && bits <= kMaxBits;
}

static IndexBounds toBounds(const ConstantIntRanges &range) {
  return {DynamicAPInt(range.smin()), DynamicAPInt(range.smax())};
}

/// Returns the number of loops around a value that is defined in `region`.
static unsigned countLoops(Region *region) {
  unsigned depth = 0;
  for (; region; region = region->getParentRegion())
    depth += isa_and_nonnull<scf::ForOp, WorkOp>(region->getParentOp());
  return depth;
}

/// Returns the bounds that the form of `value` and the type give it, for all
/// passes of the loops around it.
ConstantIntRanges IndexForms::getRange(Value value) {
  unsigned bits = getIntegerBits(value.getType());
  if (!isSmallInteger(value.getType()))
    return ConstantIntRanges::maxRange(bits);
  IndexBounds bounds = symbols.getBounds(get(value));
  IndexBounds limits = IndexSymbols::getLimits(bits, /*isSigned=*/true);
  DynamicAPInt least = *limits.low, most = *limits.high;
  if (bounds.low && *bounds.low > least)
    least = *bounds.low;
  if (bounds.high && *bounds.high < most)
    most = *bounds.high;
  if (least > most)
    return ConstantIntRanges::maxRange(bits);
  return ConstantIntRanges::fromSigned(
      APInt(bits, int64_t(least), /*isSigned=*/true),
      APInt(bits, int64_t(most), /*isSigned=*/true));
}

/// Returns true if the value is proven to be at least 0, by its own bounds or
/// by the bounds of its form.
bool IndexForms::isNonNegative(Value value) {
  return ranges.get(value).smin().isNonNegative() || isNonNegative(get(value));
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

IndexForm IndexForms::getOpaque(Value value, IndexBounds bounds) {
  IndexSymbol symbol{Kind::Opaque};
  symbol.value = value;
  symbol.bounds = std::move(bounds);
  symbol.depth = countLoops(value.getParentRegion());
  return symbols.get(std::move(symbol));
}

/// A large number is a symbol, so that coefficients stay small.
IndexForm IndexForms::getNumber(const APInt &number) {
  if (number.getSignificantBits() <= 32)
    return number.getSExtValue();
  DynamicAPInt value(number);
  IndexSymbol symbol{Kind::Number, 0, {IndexForm(value)}};
  symbol.bounds = {value, value};
  return symbols.get(std::move(symbol));
}

IndexForm IndexForms::getCoordinate(Value value, unsigned axis) {
  IndexSymbol symbol{Kind::WorkCoordinate, axis};
  symbol.bounds = toBounds(ranges.get(value));
  symbol.depth = countLoops(value.getParentRegion());
  return symbols.get(std::move(symbol));
}

IndexForm IndexForms::getSize(StringRef name) {
  std::optional<int64_t> size = getStaticSize(name);
  int64_t most = llvm::maxIntN(kIndexBits);
  if (size && *size <= most)
    return *size;
  IndexSymbol symbol{Kind::Size};
  symbol.name = name;
  symbol.bounds = {DynamicAPInt(0), DynamicAPInt(size ? most : kMaxSize)};
  return symbols.get(std::move(symbol));
}

IndexForm IndexForms::getClusterNumber(KernelOp kernel, unsigned depth) {
  unsigned axis = kernel.getClusterAttr().getAxis();
  IndexSymbol symbol{Kind::ClusterNumber, axis};
  int64_t last = getLastWorkTile(kernel, axis) / kernel.getClusterSize();
  symbol.bounds = {DynamicAPInt(0), DynamicAPInt(last)};
  symbol.depth = depth;
  return symbols.get(std::move(symbol));
}

/// Returns true if equal operands give equal results of `op`, in every role and
/// in every thread.
static bool isFunction(Operation *op) {
  if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
    return false;
  return isa<memref::DimOp, LoadScalarOp, GatherOp>(op) ||
         isa_and_nonnull<arith::ArithDialect, index::IndexDialect,
                         math::MathDialect, affine::AffineDialect>(
             op->getDialect());
}

/// Returns the attributes that tell operations of one name apart. Flags that
/// promise not to wrap are left out, because they do not change a result.
static Attribute getAttributes(Operation *op) {
  auto attributes =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  if (!attributes)
    return {};
  NamedAttrList kept(attributes);
  bool hasFlags = bool(kept.erase("overflowFlags"));
  hasFlags |= bool(kept.erase("isExact"));
  return hasFlags ? kept.getDictionary(op->getContext()) : attributes;
}

/// Returns the kind of a result. Where signed and unsigned division differ,
/// `isNatural` says that all operands are numbers from 0 on.
static IndexSymbol::Kind getKind(Operation *op, bool isNatural) {
  using Kind = IndexSymbol::Kind;
  return llvm::TypeSwitch<Operation *, Kind>(op)
      .Case<arith::FloorDivSIOp, index::FloorDivSOp>(
          [](auto) { return Kind::FloorDiv; })
      .Case<arith::CeilDivSIOp, index::CeilDivSOp>(
          [](auto) { return Kind::CeilDiv; })
      .Case<arith::DivUIOp, arith::DivSIOp, index::DivUOp, index::DivSOp>(
          [&](auto) { return isNatural ? Kind::FloorDiv : Kind::Function; })
      .Case<arith::CeilDivUIOp, index::CeilDivUOp>(
          [&](auto) { return isNatural ? Kind::CeilDiv : Kind::Function; })
      .Case([](arith::CmpIOp) { return Kind::Compare; })
      .Case([](arith::SelectOp) { return Kind::Select; })
      .Case<LoadScalarOp, GatherOp>([](auto) { return Kind::Scalar; })
      .Default(Kind::Function);
}

/// Returns the symbol of an operation's result. If the operation has no
/// effects, its operands and attributes decide the symbol.
IndexForm IndexForms::getFunction(OpResult result) {
  Operation *op = result.getOwner();
  bool isShared = isFunction(op);
  SmallVector<ConstantIntRanges> operandRanges;
  for (Value operand : op->getOperands())
    operandRanges.push_back(isShared ? getRange(operand)
                                     : ConstantIntRanges::maxRange(0));
  IndexBounds bounds;
  if (isSmallInteger(result.getType()))
    bounds = toBounds(IntegerRanges::infer(result, operandRanges));
  if (!isShared)
    return getOpaque(result, bounds);
  bool isNatural = llvm::all_of(
      operandRanges, [](auto &range) { return range.smin().isNonNegative(); });
  IndexSymbol symbol{getKind(op, isNatural), result.getResultNumber()};
  symbol.bounds = std::move(bounds);
  symbol.identity = {op->getName().getAsOpaquePointer(),
                     getAttributes(op).getAsOpaquePointer(),
                     result.getType().getAsOpaquePointer()};
  for (Value operand : op->getOperands()) {
    IndexForm form = get(operand);
    symbol.identity.push_back(operand.getType().getAsOpaquePointer());
    symbol.depth = std::max(symbol.depth, symbols.getDepth(form));
    symbol.operands.push_back(std::move(form));
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    symbol.number = unsigned(compare.getPredicate());
  return symbols.get(std::move(symbol));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

IndexForm IndexForms::computeArgument(BlockArgument argument) {
  unsigned bits = getIntegerBits(argument.getType());
  IndexBounds bounds;
  if (isSmallInteger(argument.getType()))
    bounds = IndexSymbols::getLimits(bits, /*isSigned=*/true);
  auto loop = dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop || argument != loop.getInductionVar() || !ranges.isCounted(loop))
    return getOpaque(argument, std::move(bounds));
  IndexForm lower = get(loop.getLowerBound()), step = get(loop.getStep());
  if (induction == Induction::Whole) {
    // Loops with equal bounds and steps run through the same values, in
    // whichever role they are.
    bounds.low = symbols.getBounds(lower).low;
    IndexSymbol symbol{
        Kind::Induction, 0, {lower, get(loop.getUpperBound()), step}};
    symbol.bounds = std::move(bounds);
    return symbols.get(std::move(symbol));
  }
  auto [pass, offset] = getPass(loop);
  IndexForm value = lower + step * (IndexForm::ofSymbol(pass) - offset);
  return IndexSymbols::isLarge(value) ? getOpaque(argument, std::move(bounds))
                                      : value;
}

/// A shift to the left by a constant is a product.
IndexForm IndexForms::getShifted(OpResult result) {
  Operation *op = result.getOwner();
  unsigned bits = getIntegerBits(result.getType());
  APInt shift;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&shift)) ||
      shift.uge(std::min(bits, 31u)))
    return getFunction(result);
  return symbols.getResidue(
      get(op->getOperand(0)) * (int64_t(1) << shift.getZExtValue()), bits,
      /*isSigned=*/true);
}

/// Returns the value of a cast to another width. An unsigned cast gives the
/// same number as a signed one, except where it widens a negative number.
IndexForm IndexForms::getCast(OpResult result, bool isSigned) {
  Value operand = result.getOwner()->getOperand(0);
  unsigned bits = getIntegerBits(result.getType());
  unsigned from = getIntegerBits(operand.getType());
  if (!isSigned && bits > from && !isNonNegative(operand))
    return symbols.getResidue(get(operand), from, /*isSigned=*/false);
  bool isKept =
      bits >= from || (ranges.get(operand).smin().isSignedIntN(bits) &&
                       ranges.get(operand).smax().isSignedIntN(bits));
  return isKept ? get(operand)
                : symbols.getResidue(get(operand), bits, /*isSigned=*/true);
}

IndexForm IndexForms::computeResult(OpResult result) {
  Operation *op = result.getOwner();
  auto operand = [&](unsigned i) { return get(op->getOperand(i)); };
  auto arithmetic = [&](const IndexForm &exact) {
    if (IndexSymbols::isLarge(exact))
      return getFunction(result);
    return ranges.isExact(op)
               ? exact
               : symbols.getResidue(exact, getIntegerBits(result.getType()),
                                    /*isSigned=*/true);
  };
  auto minOrMax = [&](Kind kind, bool isSigned) {
    if (!isSigned &&
        !(isNonNegative(op->getOperand(0)) && isNonNegative(op->getOperand(1))))
      return getFunction(result);
    return symbols.getMinOrMax(kind, operand(0), operand(1));
  };
  return llvm::TypeSwitch<Operation *, IndexForm>(op)
      .Case<arith::AddIOp, index::AddOp>(
          [&](auto) { return arithmetic(operand(0) + operand(1)); })
      .Case<arith::SubIOp, index::SubOp>(
          [&](auto) { return arithmetic(operand(0) - operand(1)); })
      .Case<arith::MulIOp, index::MulOp>(
          [&](auto) { return arithmetic(operand(0) * operand(1)); })
      .Case<arith::ShLIOp, index::ShlOp>(
          [&](auto) { return getShifted(result); })
      .Case<arith::TruncIOp, arith::ExtSIOp, arith::IndexCastOp,
            index::CastSOp>([&](auto) { return getCast(result, true); })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp, index::CastUOp>(
          [&](auto) { return getCast(result, false); })
      .Case<arith::MinSIOp, index::MinSOp>(
          [&](auto) { return minOrMax(Kind::Min, true); })
      .Case<arith::MaxSIOp, index::MaxSOp>(
          [&](auto) { return minOrMax(Kind::Max, true); })
      .Case<arith::MinUIOp, index::MinUOp>(
          [&](auto) { return minOrMax(Kind::Min, false); })
      .Case<arith::MaxUIOp, index::MaxUOp>(
          [&](auto) { return minOrMax(Kind::Max, false); })
      .Case([&](memref::DimOp dim) {
        std::optional<StringRef> name = getSizeName(dim);
        return name ? getSize(*name) : getFunction(result);
      })
      .Default([&](Operation *) { return getFunction(result); });
}

/// Returns the value that `wait` gives, if this is the value committed in the
/// same pass of tile.work, or the only value of the kernel. For this, the
/// channel must have one commit, the role one wait, and both must stand
/// directly in the body of the tile.work or of the role. Returns null
/// otherwise.
static Value findCommitted(WaitOp wait) {
  auto role = wait->getParentOfType<RoleOp>();
  CommitOp commit;
  for (Operation *user : wait.getChannel().getUsers()) {
    if (auto other = dyn_cast<CommitOp>(user)) {
      if (commit)
        return {};
      commit = other;
    } else if (isa<WaitOp>(user) && user != wait &&
               user->getParentOfType<RoleOp>() == role) {
      return {};
    }
  }
  if (!commit)
    return {};
  Operation *from = commit->getParentOp(), *to = wait->getParentOp();
  bool isOnce = isa<RoleOp>(from) && isa<RoleOp>(to);
  bool isOnceATile = isa<WorkOp>(from) && isa<WorkOp>(to);
  return isOnce || isOnceATile ? commit.getValue() : Value();
}

IndexForm IndexForms::computeWaited(WaitOp wait) {
  Value committed = findCommitted(wait);
  // Roles that wait for each other's scalars in a circle hang, so there is no
  // value to find.
  if (!committed || !waited.insert(wait).second)
    return getFunction(cast<OpResult>(wait.getValue()));
  IndexForm result = get(committed);
  waited.erase(wait);
  return result;
}

/// Returns the kernel of whose clusters `value` is the number, or null.
static KernelOp getKernelOfClusterNumber(Value value) {
  auto quotient = value.getDefiningOp<arith::DivUIOp>();
  auto kernel = quotient ? quotient->getParentOfType<KernelOp>() : KernelOp();
  ClusterAttr cluster = kernel ? kernel.getClusterAttr() : ClusterAttr();
  bool isNumber = cluster && getClusterNumberAxis(value, cluster.getSize()) ==
                                 cluster.getAxis();
  return isNumber ? kernel : KernelOp();
}

IndexForm IndexForms::compute(Value value) {
  if (std::optional<unsigned> axis = getWorkAxis(value))
    return getCoordinate(value, *axis);
  if (KernelOp kernel = getKernelOfClusterNumber(value)) {
    IndexForm coordinate = get(value.getDefiningOp()->getOperand(0));
    return getClusterNumber(kernel, symbols.getDepth(coordinate));
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument);
  Operation *op = value.getDefiningOp();
  if (auto wait = dyn_cast<WaitOp>(op))
    return computeWaited(wait);
  bool isOfIntegers = isSmallInteger(value.getType()) &&
                      (isa<memref::DimOp>(op) ||
                       llvm::all_of(op->getOperandTypes(), isSmallInteger));
  APInt number;
  if (isOfIntegers && matchPattern(value, m_ConstantInt(&number)))
    return getNumber(number.sextOrTrunc(getIntegerBits(value.getType())));
  return isOfIntegers ? computeResult(cast<OpResult>(value))
                      : getFunction(cast<OpResult>(value));
}

/// Adds the operands whose forms `compute` needs for the form of `value`.
static void getNeededValues(Value value, SmallVectorImpl<Value> &needed) {
  Operation *op = value.getDefiningOp();
  if (op && isFunction(op) && !isa<memref::DimOp>(op))
    llvm::append_range(needed, op->getOperands());
}

IndexForm IndexForms::get(Value value) {
  visitPostOrder<Value>(
      value, [&](Value v) { return forms.contains(v); }, getNeededValues,
      [&](Value v) {
        IndexForm form = compute(v);
        forms[v] = std::move(form);
      });
  return forms.lookup(value);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

IndexForms::Pass IndexForms::getPass(scf::ForOp loop) {
  IndexForm lower = get(loop.getLowerBound()), step = get(loop.getStep());
  int64_t offset = 0;
  std::optional<DynamicAPInt> by = step.getConstant();
  DynamicAPInt from = lower.getCoefficient({});
  // All constants that are no symbols are small.
  if (by && *by > 0 && from > 0 && from <= std::numeric_limits<int32_t>::max())
    offset = int64_t(from / *by);
  lower = lower - step * offset;
  unsigned depth = countLoops(&loop.getRegion());
  IndexSymbol symbol{Kind::Pass, depth, {lower, step}};
  // If the loop may wrap around, its induction variable is not `lower + pass *
  // step`, so no other loop shares its passes.
  if (!ranges.isCounted(loop))
    symbol.identity.push_back(loop.getOperation());
  symbol.bounds.low = DynamicAPInt(0);
  symbol.depth = depth;
  return {*symbols.get(std::move(symbol)).getSymbol(), offset};
}

bool IndexForms::runsAtLeastOnce(scf::ForOp loop) {
  if (loop.getUnsignedCmp() && !(isNonNegative(loop.getLowerBound()) &&
                                 isNonNegative(loop.getUpperBound())))
    return false;
  return isNonNegative(get(loop.getUpperBound()) - get(loop.getLowerBound()) -
                       1);
}

IndexForm IndexForms::getTripCount(scf::ForOp loop) {
  IndexForm lower = get(loop.getLowerBound()),
            upper = get(loop.getUpperBound()), step = get(loop.getStep()),
            length = upper - lower;
  IndexSymbol trips{Kind::Trips};
  trips.bounds.low = DynamicAPInt(0);
  trips.depth = std::max({symbols.getDepth(lower), symbols.getDepth(upper),
                          symbols.getDepth(step)});
  if (!ranges.isCounted(loop)) {
    // The number of passes is unknown, but equal in all loops with the same
    // bounds, step and comparison.
    trips.operands = {lower, upper, step};
    trips.number = loop.getUnsignedCmp();
    trips.identity = {loop.getStep().getType().getAsOpaquePointer()};
    return symbols.get(std::move(trips));
  }
  if (step == 1 && isNonNegative(length))
    return length;
  trips.operands = {length, step};
  return symbols.get(std::move(trips));
}

IndexForm IndexForms::getTripCount(WorkOp) {
  IndexSymbol tiles{Kind::WorkTiles};
  tiles.bounds.low = DynamicAPInt(0);
  return symbols.get(std::move(tiles));
}
