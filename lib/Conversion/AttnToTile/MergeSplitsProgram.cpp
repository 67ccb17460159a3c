//===- MergeSplitsProgram.cpp - the results of splits, merged ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeSplitsProgram.h"
#include "SoftmaxProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

static int64_t countColumns(SdpaOp op) {
  return cast<ShapedType>(op.getV().getType()).getShape().back();
}

int64_t fa4::countMergedTiles(SdpaOp op, const DividedKeys &divided) {
  return countColumns(op) / kMergedColumns *
         (divided.heads == 1 ? 1 : divided.queries);
}

namespace {
class MergeSplitsProgram : SoftmaxProgram {
public:
  MergeSplitsProgram(SdpaOp op, tile::KernelOp kernel,
                     const DividedKeys &divided)
      : SoftmaxProgram(op, kernel, kMergedRows, /*keys=*/0), divided(divided),
        isOfHeads(divided.heads != 1) {}

  void build();

private:
  SoftmaxState start();
  SoftmaxState addSplit(Value number, const SoftmaxState &before);
  SmallVector<Value> getSplitIndices(Value number) {
    return {batch, workHead, number, firstSplitRow};
  }
  void store(const SoftmaxState &state);

  VectorType f32Part() { return f32Type({rows, kMergedColumns}); }

  const DividedKeys &divided;
  /// True if a tile's rows are heads of one query, false if they are queries of
  /// one head.
  const bool isOfHeads;
  Value query; ///< The first one of the tile.
  Value firstColumn;
  Value firstSplitRow; ///< The tile's first row in what splits have written.
};
} // namespace

SoftmaxState MergeSplitsProgram::start() {
  Value sinks = getArgument("sinks");
  SoftmaxState state;
  if (sinks) {
    Value rowSinks =
        isOfHeads ? tile::LoadRowsOp::create(
                        b,
                        VectorType::get(
                            {rows},
                            cast<MemRefType>(sinks.getType()).getElementType()),
                        sinks, head, b.getI64IntegerAttr(0))
                        .getResult()
                  : readNumber(sinks, head, rows);
    state = startWithSink(widen(rowSinks));
  } else {
    state.max = splat(f32Rows(), -std::numeric_limits<double>::infinity());
    state.normalizer = splat(f32Rows(), 0.0);
  }
  state.sum = splat(f32Part(), 0.0);
  return state;
}

SoftmaxState MergeSplitsProgram::addSplit(Value number,
                                          const SoftmaxState &before) {
  SmallVector<Value> at = getSplitIndices(number);
  auto read = [&](StringRef name) -> Value {
    return tile::LoadRowsOp::create(b, f32Rows(), getArgument(name), at,
                                    b.getI64IntegerAttr(at.size() - 1));
  };
  SoftmaxState own{Value(), read(kSplitMax), read(kSplitNormalizer)};
  at.push_back(firstColumn);
  own.sum = tile::LoadOp::create(b, f32Part(), getArgument(kSplitSum), at,
                                 /*to=*/Value(), /*dims=*/DenseI64ArrayAttr());
  SoftmaxState both;
  both.max = arith::MaximumFOp::create(b, before.max, own.max);
  Value reference = getReference(both.max);
  auto getFactor = [&](const SoftmaxState &state) -> Value {
    return math::Exp2Op::create(b,
                                arith::SubFOp::create(b, state.max, reference));
  };
  Value factor = getFactor(before), ownFactor = getFactor(own);
  auto merge = [&](Value a, Value f, Value c, Value g) -> Value {
    return math::FmaOp::create(b, a, f, arith::MulFOp::create(b, c, g));
  };
  both.normalizer = merge(before.normalizer, factor, own.normalizer, ownFactor);
  both.sum = merge(before.sum, overColumns(factor, kMergedColumns), own.sum,
                   overColumns(ownFactor, kMergedColumns));
  return both;
}

/// A tile of heads ends with the group: the heads behind it are another tile's.
void MergeSplitsProgram::store(const SoftmaxState &state) {
  Value end = isOfHeads ? add(head, divided.heads) : Value();
  SmallVector<Value> at = indices(out, query, head);
  at[order.dim] = firstColumn;
  tile::StoreOp::create(
      b, computeOut(state), out, at, end,
      b.getDenseI64ArrayAttr(
          {isOfHeads ? order.head : order.seq, int64_t(order.dim)}));
  if (!lse)
    return;
  // The tiles of all columns have the LSE; the first one stores it.
  Value isFirst = less(firstColumn, one, arith::CmpIPredicate::slt);
  Value all = isOfHeads ? end : index(divided.queries);
  unsigned dim = isOfHeads ? order.lseHead() : order.lseSeq();
  tile::StoreOp::create(b, computeLse(state, /*own=*/Value()), lse,
                        rowIndices(lse, query, head),
                        arith::SelectOp::create(b, isFirst, all, zero),
                        b.getDenseI64ArrayAttr({int64_t(dim)}));
}

void MergeSplitsProgram::build() {
  takeWorkTile(rows);
  int64_t parts = countColumns(op) / kMergedColumns;
  Value part = fold<arith::RemUIOp>(tileIndex, index(parts));
  firstColumn = mul(part, index(kMergedColumns));
  query = isOfHeads ? fold<arith::DivUIOp>(tileIndex, index(parts)) : zero;
  firstSplitRow = mul(query, index(divided.headRows));
  workHead = head;
  head = mul(workHead, index(divided.heads));
  SoftmaxState init = start();
  ValueRange last =
      repeat(size(getArgument(kSplitSum), kSplitDim),
             {init.sum, init.max, init.normalizer},
             [&](Value number, ValueRange before) -> SmallVector<Value> {
               SoftmaxState both =
                   addSplit(number, {before[0], before[1], before[2]});
               return {both.sum, both.max, both.normalizer};
             });
  store({last[0], last[1], last[2]});
}

void fa4::buildMergeSplitsProgram(SdpaOp op, tile::KernelOp kernel,
                                  const DividedKeys &divided) {
  MergeSplitsProgram(op, kernel, divided).build();
}
