//===- IntegerRanges.cpp - bounds of the integers of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

using IntRange = ConstantIntRanges;
using IntRanges = ArrayRef<ConstantIntRanges>;

/// Returns the bounds of a sum, difference or product. Returns nothing if one
/// of them does not fit into the type.
static std::optional<IntRange> inferExactly(Operation *op, IntRanges operands) {
  // Twice as many bits hold every sum and product.
  unsigned bits = operands[0].smin().getBitWidth();
  IntRange wide[] = {intrange::extSIRange(operands[0], 2 * bits),
                     intrange::extSIRange(operands[1], 2 * bits)};
  IntRange exact = llvm::TypeSwitch<Operation *, IntRange>(op)
                       .Case<arith::AddIOp, index::AddOp>(
                           [&](auto) { return intrange::inferAdd(wide); })
                       .Case<arith::SubIOp, index::SubOp>(
                           [&](auto) { return intrange::inferSub(wide); })
                       .Case<arith::MulIOp, index::MulOp>(
                           [&](auto) { return intrange::inferMul(wide); });
  if (!exact.smin().isSignedIntN(bits) || !exact.smax().isSignedIntN(bits))
    return std::nullopt;
  return IntRange::fromSigned(exact.smin().trunc(bits),
                              exact.smax().trunc(bits));
}

/// Returns the bounds of a number in `range` after a cast to `bits` bits.
static IntRange inferCast(const IntRange &range, unsigned bits, bool isSigned) {
  unsigned from = range.smin().getBitWidth();
  if (bits < from)
    return intrange::truncRange(range, bits);
  if (bits == from)
    return range;
  return isSigned ? intrange::extSIRange(range, bits)
                  : intrange::extUIRange(range, bits);
}

static IntRange fromZero(int64_t last, unsigned bits) {
  return IntRange::fromSigned(APInt(bits, 0), APInt(bits, last));
}

/// Returns the bounds of a result that depends on no other integer: a constant,
/// a coordinate of the work tile, the row of a thread, or the size of a tensor.
static std::optional<IntRange> inferSource(OpResult result, unsigned bits) {
  Operation *op = result.getOwner();
  APInt number;
  if (matchPattern(result, m_ConstantInt(&number)))
    return IntRange::constant(number.sextOrTrunc(bits));
  if (std::optional<unsigned> axis = getWorkAxis(result))
    if (auto kernel = op->getParentOfType<KernelOp>())
      return fromZero(getLastWorkTile(kernel, *axis), bits);
  if (isa<RowOp>(op))
    if (auto role = op->getParentOfType<RoleOp>(); role && role.getLayout())
      return fromZero(role.getLayout()->getNumRows(role.getNumThreads()) - 1,
                      bits);
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<StringRef> name = getSizeName(dim);
    std::optional<int64_t> size =
        name ? getStaticSize(*name) : std::optional<int64_t>();
    if (size && llvm::isUInt<kIndexBits - 1>(*size))
      return IntRange::constant(APInt(bits, *size));
    return fromZero(name && !size ? kMaxSize : llvm::maxIntN(kIndexBits), bits);
  }
  return std::nullopt;
}

/// Returns true if upstream's inference is right for the operation whatever the
/// width of an index is, and without the operation's overflow flags.
static bool isInferredUpstream(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
             arith::RemUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
             arith::ShRSIOp, arith::ShRUIOp, arith::MaxSIOp, arith::MaxUIOp,
             arith::MinSIOp, arith::MinUIOp, arith::SelectOp, arith::CmpIOp>(
      op);
}

IntRange IntegerRanges::infer(OpResult result, IntRanges operands) {
  Operation *op = result.getOwner();
  unsigned bits = getIntegerBits(result.getType());
  if (auto source = bits ? inferSource(result, bits) : std::nullopt)
    return *source;
  IntRange all = IntRange::maxRange(bits);
  bool isOfIntegers = bits && llvm::all_of(operands, [](const IntRange &range) {
                        return range.smin().getBitWidth() != 0;
                      });
  if (!isOfIntegers)
    return all;
  return llvm::TypeSwitch<Operation *, IntRange>(op)
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp, index::AddOp,
            index::SubOp, index::MulOp>(
          [&](auto) { return inferExactly(op, operands).value_or(all); })
      .Case<arith::TruncIOp, arith::ExtSIOp, arith::IndexCastOp,
            index::CastSOp>(
          [&](auto) { return inferCast(operands[0], bits, true); })
      .Case<arith::ExtUIOp, arith::IndexCastUIOp, index::CastUOp>(
          [&](auto) { return inferCast(operands[0], bits, false); })
      .Case([&](arith::ShLIOp) { return intrange::inferShl(operands); })
      .Case([&](index::MaxSOp) { return intrange::inferMaxS(operands); })
      .Case([&](index::MinSOp) { return intrange::inferMinS(operands); })
      .Default([&](Operation *) {
        if (isInferredUpstream(op))
          cast<InferIntRangeInterface>(op).inferResultRanges(
              operands, [&](Value value, const IntRange &range) {
                if (value == result)
                  all = range;
              });
        return all;
      });
}

bool IntegerRanges::isExact(Operation *op) {
  IntRange operands[] = {get(op->getOperand(0)), get(op->getOperand(1))};
  return inferExactly(op, operands).has_value();
}

bool IntegerRanges::hasPositiveStep(scf::ForOp loop) {
  return get(loop.getStep()).smin().isStrictlyPositive();
}

bool IntegerRanges::isCounted(scf::ForOp loop) {
  IntRange lower = get(loop.getLowerBound()), upper = get(loop.getUpperBound());
  if (!hasPositiveStep(loop))
    return false;
  // Where no bound is negative, the signed and the unsigned comparison agree.
  if (loop.getUnsignedCmp() &&
      (lower.smin().isNegative() || upper.smin().isNegative()))
    return false;
  if (upper.smax().isMinSignedValue())
    return true;
  bool overflow;
  (void)(upper.smax() - 1).sadd_ov(get(loop.getStep()).smax(), overflow);
  return !overflow;
}

/// Returns the loop whose induction variable `value` is, or null.
static scf::ForOp getLoopOfInductionVar(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop =
      argument
          ? dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp())
          : scf::ForOp();
  return loop && loop.getInductionVar() == value ? loop : scf::ForOp();
}

/// Adds the values whose bounds `compute` needs for the bounds of `value`.
static void getNeededValues(Value value, SmallVectorImpl<Value> &needed) {
  if (scf::ForOp loop = getLoopOfInductionVar(value))
    llvm::append_values(needed, loop.getLowerBound(), loop.getUpperBound(),
                        loop.getStep());
  else if (Operation *op = value.getDefiningOp();
           op && op->getNumRegions() == 0)
    llvm::append_range(needed, op->getOperands());
}

/// Requires that the bounds of all values of getNeededValues are known.
IntRange IntegerRanges::compute(Value value) {
  IntRange all = IntRange::maxRange(getIntegerBits(value.getType()));
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto kernel = parent ? parent->getParentOfType<KernelOp>() : KernelOp();
        kernel && getWorkAxis(value))
      return fromZero(getLastWorkTile(kernel, *getWorkAxis(value)),
                      getIntegerBits(value.getType()));
    scf::ForOp loop = getLoopOfInductionVar(value);
    if (!loop || !isCounted(loop))
      return all;
    IntRange lower = get(loop.getLowerBound()),
             upper = get(loop.getUpperBound());
    // A loop that makes no pass has no induction variable.
    if (upper.smax().sle(lower.smin()))
      return all;
    return IntRange::fromSigned(lower.smin(), upper.smax() - 1);
  }
  Operation *op = value.getDefiningOp();
  if (op->getNumRegions() != 0)
    return all;
  SmallVector<IntRange> operands = llvm::map_to_vector(
      op->getOperands(), [&](Value operand) { return get(operand); });
  return infer(cast<OpResult>(value), operands);
}

IntRange IntegerRanges::get(Value value) {
  visitPostOrder<Value>(
      value, [&](Value v) { return ranges.contains(v); }, getNeededValues,
      [&](Value v) { ranges.try_emplace(v, compute(v)); });
  return ranges.find(value)->second;
}
