//===- TileBuilders.cpp - constants and parts of tiles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

Value fa4::splat(ImplicitLocOpBuilder &b, VectorType type, double value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type,
                                b.getFloatAttr(type.getElementType(), value)));
}

Value fa4::slice(ImplicitLocOpBuilder &b, Value tile, int64_t firstRow,
                 int64_t firstColumn, int64_t rows, int64_t columns) {
  return vector::ExtractStridedSliceOp::create(
      b, tile, ArrayRef<int64_t>{firstRow, firstColumn},
      ArrayRef<int64_t>{rows, columns}, ArrayRef<int64_t>{1, 1});
}
