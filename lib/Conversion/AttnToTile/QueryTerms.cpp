//===- QueryTerms.cpp - numbers that MMAs add to scores ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryTerms.h"
#include "ModVectorizer.h"
#include "TileBuilders.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4;

/// Returns the parts of numbers, the largest one first, each as it is in bf16.
static SmallVector<Value> divide(ImplicitLocOpBuilder &b, Value number) {
  auto type = cast<VectorType>(number.getType());
  VectorType narrow = type.cloneWith(std::nullopt, b.getBF16Type());
  Value limit = splat(b, type, kLargestTerm);
  number = arith::MinimumFOp::create(b, number, limit);
  number = arith::MaximumFOp::create(b, number, splat(b, type, -kLargestTerm));
  SmallVector<Value> parts;
  for (int64_t part = 0; part < kTermParts; ++part) {
    Value rounded = arith::TruncFOp::create(b, narrow, number);
    parts.push_back(arith::ExtFOp::create(b, type, rounded));
    number = arith::SubFOp::create(b, number, parts.back());
  }
  return parts;
}

Value fa4::packTerms(ImplicitLocOpBuilder &b, Value ofScores,
                     Value ofGradient) {
  int64_t rows = cast<VectorType>(ofScores.getType()).getNumElements();
  auto type = VectorType::get({rows, kAllTermColumns}, b.getF32Type());
  auto indices = type.cloneWith(std::nullopt, b.getIndexType());
  Value columns = vector::BroadcastOp::create(
      b, indices,
      vector::StepOp::create(
          b, VectorType::get({kAllTermColumns}, b.getIndexType())));
  Value packed = splat(b, type, 0.0);
  for (auto [term, number] :
       llvm::enumerate(SmallVector<Value>{ofScores, ofGradient}))
    for (auto [i, part] : llvm::enumerate(divide(b, number))) {
      Value column = arith::ConstantOp::create(
          b, DenseElementsAttr::get(indices,
                                    b.getIndexAttr(term * kTermColumns + i)));
      Value isPart =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, columns, column);
      Value wide = broadcastTo(b, {part, /*overRows=*/true}, true, true, rows,
                               kAllTermColumns);
      packed = arith::SelectOp::create(b, isPart, wide, packed);
    }
  return arith::TruncFOp::create(
      b, type.cloneWith(std::nullopt, b.getBF16Type()), packed);
}

/// The first of a query's numbers.
static SmallVector<Value> getFirst(ImplicitLocOpBuilder &b, ValueRange rows) {
  SmallVector<Value> indices(rows);
  indices.push_back(arith::ConstantIndexOp::create(b, 0));
  return indices;
}

/// Queries are the last dimension but one.
static DenseI64ArrayAttr getDims(ImplicitLocOpBuilder &b, ValueRange rows) {
  int64_t columns = rows.size();
  return b.getDenseI64ArrayAttr({columns - 1, columns});
}

Value fa4::loadTerms(ImplicitLocOpBuilder &b, Value memref, int64_t queries,
                     ValueRange rows) {
  auto type = VectorType::get({queries, kAllTermColumns}, b.getBF16Type());
  return tile::LoadOp::create(b, type, memref, getFirst(b, rows),
                              /*to=*/Value(), getDims(b, rows));
}

void fa4::storeTerms(ImplicitLocOpBuilder &b, Value terms, Value memref,
                     ValueRange rows, Value to) {
  tile::StoreOp::create(b, terms, memref, getFirst(b, rows), to,
                        getDims(b, rows));
}

Value fa4::addTerm(ImplicitLocOpBuilder &b, QueryTerm term, Value terms,
                   int64_t rows) {
  int64_t queries = cast<VectorType>(terms.getType()).getDimSize(0);
  Value ones =
      splat(b, VectorType::get({rows, kTermColumns}, b.getBF16Type()), 1.0);
  Value taken =
      slice(b, terms, 0, int64_t(term) * kTermColumns, queries, kTermColumns);
  return tile::MmaOp::create(
      b, VectorType::get({rows, queries}, b.getF32Type()), ones, taken,
      /*acc=*/Value(), /*accumulate=*/Value(), /*transpose_a=*/false,
      /*transpose_b=*/true);
}
