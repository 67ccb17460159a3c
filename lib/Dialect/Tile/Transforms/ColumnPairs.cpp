//===- ColumnPairs.cpp - vectors of two columns, and accesses to them ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnPairs.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

SmallVector<std::pair<int64_t, int64_t>> fa4::tile::splitAccess(int64_t begin,
                                                                int64_t end) {
  SmallVector<std::pair<int64_t, int64_t>> parts;
  while (begin < end) {
    int64_t size = int64_t(llvm::bit_floor(uint64_t(end - begin)));
    parts.emplace_back(begin, begin + size);
    begin += size;
  }
  return parts;
}

Value fa4::tile::joinPairs(ValueRange parts, Location loc, OpBuilder &b) {
  if (parts.size() == 1)
    return parts.front();
  auto pair = cast<VectorType>(parts.front().getType());
  unsigned bits = pair.getElementTypeBitWidth();
  auto joined = VectorType::get({static_cast<int64_t>(2 * parts.size())},
                                pair.getElementType());
  SmallVector<Value> elements;
  auto word = VectorType::get({1}, b.getI32Type());
  for (Value part : parts) {
    if (bits == 16) {
      Value cast = vector::BitCastOp::create(b, loc, word, part);
      elements.push_back(vector::ExtractOp::create(b, loc, cast, 0));
      continue;
    }
    for (int64_t i : {0, 1})
      elements.push_back(b.createOrFold<vector::ExtractOp>(loc, part, i));
  }
  if (bits != 16)
    return vector::FromElementsOp::create(b, loc, joined, elements);
  auto words =
      VectorType::get({static_cast<int64_t>(parts.size())}, b.getI32Type());
  Value all = vector::FromElementsOp::create(b, loc, words, elements);
  return vector::BitCastOp::create(b, loc, joined, all);
}
