//===- PositionForms.cpp - the integers of a mask_mod ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PositionForms.h"
#include "CaptureReads.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

/// Quotients of quotients beyond this depth have no form: each would add
/// operations to the bounds.
static constexpr unsigned kMaxDivisions = 8;

Value PositionForms::negate(Value x) {
  if (auto sub = x.getDefiningOp<arith::SubIOp>())
    if (matchPattern(sub.getLhs(), m_Zero()))
      return sub.getRhs();
  return fold<arith::SubIOp>(index(0), x);
}

static bool isInteger(Type type) {
  return type.isIndex() ||
         (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() >= kIndexBits);
}

static std::optional<int64_t> getConstant(const MaybeForm &form) {
  if (!form || form->factor != 0 || form->low != form->high)
    return std::nullopt;
  return getConstantIntValue(form->low);
}

MaybeForm PositionForms::addForms(const PositionForm &x,
                                  const PositionForm &y) {
  PositionForm sum = x.unknown ? x : y;
  if (x.unknown && y.unknown) {
    if (x.unknown != y.unknown)
      return std::nullopt;
    sum.factor = x.factor + y.factor;
    if (sum.factor == 0)
      sum.unknown = nullptr;
  }
  sum.low = fold<arith::AddIOp>(x.low, y.low);
  sum.high = x.low == x.high && y.low == y.high
                 ? sum.low
                 : fold<arith::AddIOp>(x.high, y.high);
  sum.end = x.end + y.end;
  sum.isNonNegative = x.isNonNegative && y.isNonNegative;
  return sum;
}

PositionForm PositionForms::multiply(const PositionForm &x, int64_t factor) {
  PositionForm product = x;
  auto times = [&](Value value) {
    return factor == -1 ? negate(value)
                        : fold<arith::MulIOp>(value, index(factor));
  };
  product.low = times(x.low);
  product.high = x.low == x.high ? product.low : times(x.high);
  if (factor < 0)
    std::swap(product.low, product.high);
  product.factor *= factor;
  if (product.factor == 0)
    product.unknown = nullptr;
  product.end = (x.end - 1) * std::abs(factor) + 1;
  product.isNonNegative = x.isNonNegative && factor >= 0;
  return product;
}

MaybeForm PositionForms::divide(Operation *op, const PositionForm &x,
                                int64_t divisor) {
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op)) {
    if (divisor < 0 || divisor >= kIndexBits - 1)
      return std::nullopt;
    divisor = int64_t(1) << divisor;
  }
  // A signed division of a negative number rounds towards zero, and to an
  // unsigned one a negative number is a large one.
  bool roundsDown = isa<arith::FloorDivSIOp, arith::ShRSIOp>(op);
  if (divisor <= 0 || (!roundsDown && !x.isNonNegative))
    return std::nullopt;
  PositionForm quotient;
  quotient.end = x.end / divisor + 2;
  quotient.isNonNegative = x.isNonNegative;
  if (x.unknown) {
    unsigned divisions = x.unknown->divisions + 1;
    if (divisions > kMaxDivisions)
      return std::nullopt;
    quotient.low = quotient.high = index(0);
    quotient.factor = 1;
    quotient.unknown = std::make_shared<PositionUnknown>(
        PositionUnknown{std::make_shared<PositionForm>(x), divisor, divisions});
    return quotient;
  }
  quotient.low = fold<arith::FloorDivSIOp>(x.low, index(divisor));
  quotient.high = x.low == x.high
                      ? quotient.low
                      : fold<arith::FloorDivSIOp>(x.high, index(divisor));
  return quotient;
}

MaybeForm PositionForms::computeBinary(Operation *op) {
  MaybeForm x = forms.lookup(op->getOperand(0)),
            y = forms.lookup(op->getOperand(1));
  if (!x || !y || x->isCapture || y->isCapture)
    return std::nullopt;
  std::optional<int64_t> left = getConstant(x), right = getConstant(y);
  if (isa<arith::AddIOp>(op))
    return addForms(*x, *y);
  if (isa<arith::SubIOp>(op)) {
    MaybeForm difference = addForms(*x, multiply(*y, -1));
    if (difference && x->isNonNegative && y->isNonNegative)
      difference->end = std::max(x->end, y->end);
    return difference;
  }
  if (isa<arith::MulIOp>(op)) {
    if (!left && !right)
      return std::nullopt;
    return right ? multiply(*x, *right) : multiply(*y, *left);
  }
  return right ? divide(op, *x, *right) : std::nullopt;
}

bool PositionForms::isArithmetic(Operation *op) {
  return isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp,
                         arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp,
                         arith::ShRSIOp, arith::ShRUIOp, arith::IndexCastOp>(
      op);
}

/// The form of a number of the kernel, if it has the bits of an index.
MaybeForm PositionForms::makeCapture(Value number) {
  Type type = number.getType();
  if (!type.isIndex() && !type.isInteger(kIndexBits))
    return std::nullopt;
  PositionForm form;
  form.isCapture = true;
  form.low = form.high =
      b.createOrFold<arith::IndexCastOp>(b.getIndexType(), number);
  return form;
}

MaybeForm PositionForms::getCapture(BlockArgument argument) {
  if (argument.getArgNumber() < kNumMaskModArgs)
    return std::nullopt;
  Value scalar = arguments.captures[argument.getArgNumber() - kNumMaskModArgs];
  return scalar ? makeCapture(scalar) : std::nullopt;
}

/// An element of a captured tensor that is the same for the whole work tile.
/// Tensors have elements for each batch and head of a call.
MaybeForm PositionForms::getElement(Operation *read) {
  auto tensor = cast<BlockArgument>(getReadTensor(read));
  Value memref = arguments.captures[tensor.getArgNumber() - kNumMaskModArgs];
  if (!memref || !read->getResult(0).getType().isInteger(kIndexBits))
    return std::nullopt;
  SmallVector<Value> indices;
  for (Value index : read->getOperands().drop_front()) {
    indices.push_back(index == block.getArgument(kBatch)  ? arguments.batch
                      : index == block.getArgument(kHead) ? arguments.head
                                                          : Value());
    if (!indices.back())
      return std::nullopt;
  }
  return makeCapture(tile::LoadScalarOp::create(b, memref, indices));
}

MaybeForm PositionForms::computeForm(Value value) {
  PositionForm form;
  form.isNonNegative = true;
  if (value == tilePosition) {
    form.low = tile.first;
    form.high = tile.last;
    return form;
  }
  if (value == unknownPosition) {
    form.low = form.high = index(0);
    form.factor = 1;
    form.unknown = std::make_shared<PositionUnknown>();
    return form;
  }
  if (!isInteger(value.getType()))
    return std::nullopt;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getSignificantBits() > kIndexBits)
      return std::nullopt;
    int64_t number = constant.getSExtValue();
    form.low = form.high = index(number);
    form.end = std::abs(number) + 1;
    form.isNonNegative = number >= 0;
    return form;
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getCapture(argument);
  Operation *op = value.getDefiningOp();
  if (getReadTensor(op))
    return getElement(op);
  if (!isArithmetic(op))
    return std::nullopt;
  return isa<arith::IndexCastOp>(op) ? forms.lookup(op->getOperand(0))
                                     : computeBinary(op);
}
