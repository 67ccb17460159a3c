//===- ModVectorizer.cpp - score_mod and mask_mod regions on tiles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModVectorizer.h"
#include "CaptureReads.h"
#include "PositionArithmetic.h"
#include "fa4/Conversion/LaneMathToLLVM/LaneMathToLLVM.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fa4;

static bool isElementType(Type type) {
  return type.isIndex() ||
         (type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 32);
}

bool fa4::isElementwise(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), isElementType) &&
         llvm::all_of(op->getResultTypes(), isElementType) &&
         (isa<arith::ConstantOp>(op) ||
          (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
               op->getDialect()) &&
           OpTrait::hasElementwiseMappableTraits(op)));
}

static bool isVectorizable(Operation *op) {
  return isElementwise(op) && op->getNumResults() == 1 && tile::isLaneMath(op);
}

Operation *fa4::findUnvectorizable(Region &region) {
  for (Operation &op : region.front())
    if (!op.hasTrait<OpTrait::IsTerminator>() && !isVectorizable(&op) &&
        !getReadTensor(&op))
      return &op;
  return nullptr;
}

Value fa4::broadcastTo(ImplicitLocOpBuilder &b, TileValue value, bool overRows,
                       bool overColumns, int64_t rows, int64_t columns) {
  if (value.overRows == overRows && value.overColumns == overColumns)
    return value.value;
  SmallVector<int64_t> shape;
  if (overRows)
    shape.push_back(rows);
  if (overColumns)
    shape.push_back(columns);
  Type element = getElementTypeOrSelf(value.value.getType());
  Value source = value.value;
  // vector.broadcast aligns trailing dimensions, so a value over rows needs
  // another dimension first.
  if (value.overRows && overColumns)
    source = vector::ShapeCastOp::create(b, VectorType::get({rows, 1}, element),
                                         source);
  return vector::BroadcastOp::create(b, VectorType::get(shape, element),
                                     source);
}

/// Returns the operations of the region from which `results` are computed.
static llvm::DenseSet<Operation *> findSources(ValueRange results) {
  llvm::DenseSet<Operation *> found;
  SmallVector<Value> waiting(results);
  while (!waiting.empty())
    if (Operation *op = waiting.pop_back_val().getDefiningOp();
        op && found.insert(op).second)
      llvm::append_range(waiting, op->getOperands());
  return found;
}

SmallVector<TileValue> fa4::inlineMod(ImplicitLocOpBuilder &b, Region &region,
                                      ArrayRef<TileValue> arguments,
                                      ValueRange results, int64_t rows,
                                      int64_t columns) {
  DenseMap<Value, TileValue> values;
  for (auto [argument, value] : llvm::zip(region.getArguments(), arguments))
    values[argument] = value;
  PositionArithmetic positions(region);
  const llvm::DenseSet<Operation *> needed = findSources(results);
  for (Operation &op : region.front()) {
    if (!needed.contains(&op))
      continue;
    Value table = getReadTensor(&op);
    // The number at the query head has been read.
    if (table && !isa<MemRefType>(values.at(table).value.getType())) {
      values[op.getResult(0)] = values.at(table);
      continue;
    }
    bool overRows = false, overColumns = false;
    for (Value operand : op.getOperands()) {
      overRows |= values.at(operand).overRows;
      overColumns |= values.at(operand).overColumns;
    }
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(operand == table
                             ? values.at(table).value
                             : broadcastTo(b, values.at(operand), overRows,
                                           overColumns, rows, columns));
    if (Value cheaper = positions.build(b, op, operands)) {
      values[op.getResult(0)] = {cheaper, overRows, overColumns};
      continue;
    }
    SmallVector<int64_t> shape;
    if (overRows)
      shape.push_back(rows);
    if (overColumns)
      shape.push_back(columns);
    Type type = op.getResult(0).getType();
    if (!shape.empty())
      type = VectorType::get(shape, type);
    Operation *copy;
    if (table) {
      copy = tile::GatherOp::create(b, type, operands.front(),
                                    ArrayRef(operands).drop_front());
    } else {
      copy = b.insert(op.clone());
      copy->setOperands(operands);
      copy->getResult(0).setType(type);
    }
    values[op.getResult(0)] = {copy->getResult(0), overRows, overColumns};
  }
  return llvm::map_to_vector(results,
                             [&](Value value) { return values.at(value); });
}
