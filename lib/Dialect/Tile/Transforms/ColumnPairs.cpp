//===- ColumnPairs.cpp - vectors of two columns, and accesses to them ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnPairs.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4::tile;

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

/// Returns true if an operation on rows can be built for pairs of columns.
static bool isSupported(Operation *op) {
  if (isa<scf::ForOp, scf::IfOp, scf::YieldOp, WorkOp, vector::StepOp,
          arith::ConstantOp, vector::ReductionOp, ReadOp, WriteOp, Exp2Op,
          FromLanesOp, ToLanesOp>(op))
    return true;
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return !isa<VectorType>(broadcast.getSource().getType());
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    auto isOdd = [](Attribute a) { return cast<IntegerAttr>(a).getInt() % 2; };
    return !llvm::any_of(slice.getOffsets(), isOdd) &&
           !slice.hasNonUnitStrides();
  }
  if (auto extract = dyn_cast<vector::ExtractOp>(op))
    return !extract.hasDynamicPosition();
  return OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1;
}

LogicalResult fa4::tile::verifyRows(RoleOp role) {
  return fa4::checkEach(role, [](Operation *op) -> LogicalResult {
    // These take and give whole tiles.
    if (isa<MmaOp, AwaitOp>(op))
      return success();
    bool hasRow = false;
    auto check = [&](Value value) {
      auto row = dyn_cast<VectorType>(value.getType());
      if (row && getHome(value) == ValueHome::Place)
        return true;
      if (row && row.getRank() == 2 && isa<FromLanesOp, ToLanesOp, WriteOp>(op))
        return true;
      hasRow |= bool(row);
      if (!row || (row.getRank() == 1 && !row.isScalable() &&
                   row.getNumElements() % 2 == 0))
        return true;
      op->emitOpError("has ") << row << ", not an even number of columns";
      return false;
    };
    if (!llvm::all_of(op->getOperands(), check) ||
        !llvm::all_of(op->getResults(), check))
      return failure();
    if (!hasRow || isSupported(op))
      return success();
    return op->emitOpError("cannot be split into pairs of columns");
  });
}
