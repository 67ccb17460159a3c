//===- RowColumns.cpp - the columns of rows, built pair by pair ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowColumns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4::tile;

void RowColumns::allocate(Value value) {
  if (!isRow(value.getType()))
    return;
  Columns &all = columns[value];
  all.pairs.resize(numPairs(value.getType()));
  all.elements.resize(2 * numPairs(value.getType()));
}

void RowColumns::forFragments(
    Type type, llvm::function_ref<void(int64_t, int64_t)> body) const {
  int64_t count = numPairs(type);
  for (int64_t begin = 0; begin < count; begin += fragment / 2)
    body(begin, std::min(begin + fragment / 2, count));
}

Value RowColumns::getElement(Value value, int64_t column, OpBuilder &b) {
  const Columns &known = columns.find(value)->second;
  if (known.elements[column])
    return known.elements[column];
  return vector::ExtractOp::create(b, value.getLoc(), known.pairs[column / 2],
                                   column % 2);
}

bool RowColumns::isBuilt(Value value, int64_t begin, int64_t end) {
  const Columns &known = columns.find(value)->second;
  return llvm::all_of(llvm::seq(begin, end),
                      [&](int64_t pair) { return bool(known.pairs[pair]); });
}

bool RowColumns::isBitOperand(OpOperand &operand) {
  auto select = dyn_cast<arith::SelectOp>(operand.getOwner());
  return select && operand.getOperandNumber() == 0 &&
         masks.isColumnMask(operand.get());
}

bool RowColumns::isUniform(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  return isa<vector::BroadcastOp>(op) ||
         (constant && isa<SplatElementsAttr>(constant.getValue()));
}

bool RowColumns::buildUniform(Operation *op, OpBuilder &b) {
  if (!isUniform(op))
    return false;
  Location loc = op->getLoc();
  VectorType type = pairType(op->getResult(0).getType());
  Value pair, element;
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op)) {
    element = getScalar(broadcast.getSource());
    pair = vector::BroadcastOp::create(b, loc, type, element);
  } else {
    auto splat =
        cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
    pair = arith::ConstantOp::create(b, loc, splat.resizeSplat(type));
    element =
        arith::ConstantOp::create(b, loc, splat.getSplatValue<TypedAttr>());
  }
  Columns &known = (*this)[op->getResult(0)];
  llvm::fill(known.pairs, pair);
  llvm::fill(known.elements, element);
  return true;
}

void RowColumns::set(Value row, int64_t pair, ValueRange values, OpBuilder &b) {
  Columns &known = (*this)[row];
  bool isPair = values.size() == 1;
  known.elements[2 * pair] = isPair ? Value() : values[0];
  known.elements[2 * pair + 1] = isPair ? Value() : values[1];
  known.pairs[pair] =
      isPair ? values.front()
             : vector::FromElementsOp::create(b, row.getLoc(),
                                              pairType(row.getType()), values);
}

void RowColumns::build(Operation *op, int64_t pair, OpBuilder &b) {
  SmallVector<Value, 2> values;
  if (isPerColumn(op))
    for (int64_t column : {2 * pair, 2 * pair + 1})
      values.push_back(buildElement(op, column, b));
  else
    values.push_back(buildPair(op, pair, b));
  set(op->getResult(0), pair, values, b);
}

/// Builds one column of an operation that takes or gives integers, or that is a
/// condition that is known as words of bits.
Value RowColumns::buildElement(Operation *op, int64_t column, OpBuilder &b) {
  Value result = op->getResult(0);
  if (masks.isColumnMask(result))
    return masks.getBit(result, column, b);
  if (isa<vector::StepOp>(op))
    return arith::ConstantIndexOp::create(b, op->getLoc(), column);
  if (sums.isSum(result))
    return sums.get(result, column, b);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(
        b, op->getLoc(),
        cast<DenseElementsAttr>(constant.getValue())
            .getValues<TypedAttr>()[column]);
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    // The bits of a word become predicates.
    if (!knowsConditions && isBitOperand(operand))
      operands.push_back(masks.getBit(value, column, b));
    else
      operands.push_back(isRow(value.getType()) ? getElement(value, column, b)
                                                : getScalar(value));
  }
  return b
      .create(op->getLoc(), op->getName().getIdentifier(), operands,
              getElementTypeOrSelf(result), op->getAttrs())
      ->getResult(0);
}

/// Every so many pairs a sum begins anew, so that rounding errors of numbers
/// beyond 2^24 do not add up.
static constexpr int64_t kSumsInARow = 16;

/// Builds a pair of `x + [c, c + d, c + 2 d, ...]`, where x is the same in all
/// columns, as the sum of the pair in front and `[2 d, 2 d]`, which is in a
/// register already. An instruction on pairs takes no constants: two further
/// instructions would make those of each pair. Returns null for other
/// operations.
Value RowColumns::buildNextSum(Operation *op, int64_t pair, OpBuilder &b) {
  auto sum = dyn_cast<arith::AddFOp>(op);
  if (!sum || pair % kSumsInARow == 0 ||
      !sum->getParentOfType<KernelOp>().getTarget().packedF32x2)
    return {};
  auto constant = sum.getRhs().getDefiningOp<arith::ConstantOp>();
  Operation *other = sum.getLhs().getDefiningOp();
  Value before = getPair(sum, pair - 1);
  if (!constant || isUniform(constant) || !other || !isUniform(other) ||
      !before || before.getParentBlock() != b.getInsertionBlock())
    return {};
  auto numbers =
      cast<DenseElementsAttr>(constant.getValue()).getValues<APFloat>();
  APFloat step = numbers[2 * pair] - numbers[2 * pair - 2];
  if (step.compare(numbers[2 * pair + 1] - numbers[2 * pair - 1]) !=
      APFloat::cmpEqual)
    return {};
  VectorType type = pairType(sum.getType());
  Value steps = arith::ConstantOp::create(b, sum.getLoc(),
                                          DenseElementsAttr::get(type, step));
  return arith::AddFOp::create(b, sum.getLoc(), before, steps);
}

/// Builds a pair of columns of another operation.
Value RowColumns::buildPair(Operation *op, int64_t pair, OpBuilder &b) {
  if (Value sum = buildNextSum(op, pair, b))
    return sum;
  VectorType type = pairType(op->getResult(0).getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto values =
        cast<DenseElementsAttr>(constant.getValue()).getValues<Attribute>();
    return arith::ConstantOp::create(
        b, op->getLoc(),
        DenseElementsAttr::get(
            type, ArrayRef<Attribute>{values[2 * pair], values[2 * pair + 1]}));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isRow(operand.getType()) ? getPair(operand, pair)
                                                : getScalar(operand));
  if (auto exp2 = dyn_cast<Exp2Op>(op)) {
    if (!llvm::is_contained(exp2.getPairs(), pair))
      return math::Exp2Op::create(b, op->getLoc(), operands.front());
    return Exp2Op::create(b, op->getLoc(), operands.front().getType(),
                          operands.front(), exp2.getCoefficients(),
                          ArrayRef<int64_t>{0});
  }
  return b
      .create(op->getLoc(), op->getName().getIdentifier(), operands, type,
              op->getAttrs())
      ->getResult(0);
}
