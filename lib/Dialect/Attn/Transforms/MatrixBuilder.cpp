//===- MatrixBuilder.cpp - linalg on rows and matrices ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa4::attn;

Value MatrixBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value MatrixBuilder::f32(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

Value MatrixBuilder::toF32(OpBuilder &builder, Location loc, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
}

Value MatrixBuilder::fromF32(OpBuilder &builder, Location loc, Value value,
                             Type type) {
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value MatrixBuilder::emptyF32(ArrayRef<OpFoldResult> sizes) {
  return tensor::EmptyOp::create(b, sizes, b.getF32Type());
}

Value MatrixBuilder::filled(ArrayRef<OpFoldResult> sizes, double value) {
  return linalg::FillOp::create(b, ValueRange{f32(value)},
                                ValueRange{emptyF32(sizes)})
      .getResult(0);
}

Value MatrixBuilder::filledWith(Value output, double value) {
  Type type = cast<ShapedType>(output.getType()).getElementType();
  Value element = arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  return linalg::FillOp::create(b, ValueRange{element}, ValueRange{output})
      .getResult(0);
}

Value MatrixBuilder::generic(ValueRange inputs, Value output, unsigned numLoops,
                             ArrayRef<ArrayRef<unsigned>> maps,
                             ArrayRef<unsigned> reductions, Body body) {
  SmallVector<AffineMap> affineMaps;
  for (ArrayRef<unsigned> loops : maps) {
    SmallVector<AffineExpr> exprs;
    for (unsigned loop : loops)
      exprs.push_back(b.getAffineDimExpr(loop));
    affineMaps.push_back(AffineMap::get(numLoops, 0, exprs, b.getContext()));
  }
  SmallVector<utils::IteratorType> iterators(numLoops,
                                             utils::IteratorType::parallel);
  for (unsigned loop : reductions)
    iterators[loop] = utils::IteratorType::reduction;
  auto op = linalg::GenericOp::create(
      b, output.getType(), inputs, output, affineMaps, iterators,
      [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        Value result = body(builder, loc, arguments);
        linalg::YieldOp::create(builder, loc, result);
      });
  return op.getResult(0);
}

Value MatrixBuilder::contract(Value lhs, ArrayRef<unsigned> lhsLoops, Value rhs,
                              ArrayRef<unsigned> rhsLoops, Value init) {
  return generic(
      {lhs, rhs}, init, /*numLoops=*/3, {lhsLoops, rhsLoops, {0, 1}},
      /*reductions=*/{2},
      [](OpBuilder &builder, Location loc, ValueRange args) -> Value {
        Value product =
            arith::MulFOp::create(builder, loc, toF32(builder, loc, args[0]),
                                  toF32(builder, loc, args[1]));
        return arith::AddFOp::create(builder, loc, args[2], product);
      });
}

Value MatrixBuilder::mapRows(ValueRange inputs, Body body, Value output) {
  static constexpr unsigned kRow[] = {0};
  SmallVector<ArrayRef<unsigned>> maps(inputs.size() + 1, kRow);
  if (!output)
    output = emptyF32(tensor::getMixedSizes(b, b.getLoc(), inputs[0]));
  return generic(inputs, output, /*numLoops=*/1, maps, /*reductions=*/{}, body);
}

Value MatrixBuilder::mapMatrix(ValueRange inputs, Body body, Value output) {
  static constexpr unsigned kRow[] = {0}, kBoth[] = {0, 1};
  SmallVector<ArrayRef<unsigned>> maps;
  for (Value input : inputs)
    maps.push_back(cast<ShapedType>(input.getType()).getRank() == 1
                       ? ArrayRef(kRow)
                       : ArrayRef(kBoth));
  maps.push_back(kBoth);
  if (!output)
    output = emptyF32(tensor::getMixedSizes(b, b.getLoc(), inputs[0]));
  return generic(inputs, output, /*numLoops=*/2, maps, /*reductions=*/{}, body);
}

Value MatrixBuilder::round(Value matrix, Value output) {
  Type type = cast<ShapedType>(output.getType()).getElementType();
  return mapMatrix(
      {matrix},
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        return fromF32(builder, loc, args[0], type);
      },
      output);
}

Value MatrixBuilder::reduceColumns(Value matrix, Value init, Body combine) {
  return generic({matrix}, init, /*numLoops=*/2, {{0, 1}, {0}},
                 /*reductions=*/{1}, combine);
}
