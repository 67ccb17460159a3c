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
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// The elements of a work tile, one for each thread of a warpgroup.
static constexpr int64_t kElements = 128;
/// The splits that are merged at a time.
static constexpr int64_t kTogether = 4;

/// Returns the number of parts of a row.
static int64_t countParts(SdpaOp op) {
  return llvm::divideCeil(
      cast<ShapedType>(op.getV().getType()).getShape().back(), kElements);
}

int64_t fa4::countMergedTiles(SdpaOp op, const DividedKeys &divided) {
  return divided.queries * divided.heads * countParts(op);
}

namespace {
class MergeSplitsProgram : SoftmaxProgram {
public:
  MergeSplitsProgram(SdpaOp op, tile::KernelOp kernel,
                     const DividedKeys &divided)
      : SoftmaxProgram(op, kernel, /*rows=*/kElements, /*keys=*/0),
        divided(divided) {}

  void build();

private:
  void takeElements();
  SoftmaxState start();
  SoftmaxState readSplit(Value number, Value count);
  SoftmaxState addSplits(Value first, Value count, const SoftmaxState &before);
  void store(const SoftmaxState &state);
  Value overElements(Value scalar) {
    return vector::BroadcastOp::create(b, f32Rows(), scalar);
  }

  const DividedKeys &divided;
  Value query, firstColumn;
  Value splitRow; ///< The row in what splits have written.
};
} // namespace

/// The work tiles of a key/value head are the parts of the rows of its heads,
/// query by query.
void MergeSplitsProgram::takeElements() {
  takeWorkTile(rows);
  int64_t parts = countParts(op);
  firstColumn =
      mul(fold<arith::RemUIOp>(tileIndex, index(parts)), index(kElements));
  Value row = fold<arith::DivUIOp>(tileIndex, index(parts));
  query = fold<arith::DivUIOp>(row, index(divided.heads));
  Value headOfGroup = fold<arith::RemUIOp>(row, index(divided.heads));
  splitRow = add(mul(query, index(divided.headRows)), headOfGroup);
  workHead = head;
  head = add(mul(workHead, index(divided.heads)), headOfGroup);
}

SoftmaxState MergeSplitsProgram::start() {
  SoftmaxState state;
  if (Value sinks = getArgument("sinks")) {
    state = startWithSink(widen(readNumber(sinks, head, rows)));
  } else {
    state.max = splat(f32Rows(), -kInfinity);
    state.normalizer = splat(f32Rows(), 0.0);
  }
  state.sum = splat(f32Rows(), 0.0);
  return state;
}

/// A split beyond the last one has nothing: what is read there is 0.
SoftmaxState MergeSplitsProgram::readSplit(Value number, Value count) {
  SmallVector<Value> at = {batch, workHead, number, splitRow};
  auto read = [&](StringRef name) -> Value {
    return tile::LoadScalarOp::create(b, getArgument(name), at);
  };
  Value none = arith::ConstantOp::create(b, b.getF32FloatAttr(-kInfinity));
  Value isThere = less(number, count, arith::CmpIPredicate::slt);
  SoftmaxState state;
  state.max =
      overElements(arith::SelectOp::create(b, isThere, read(kSplitMax), none));
  state.normalizer = overElements(read(kSplitNormalizer));
  at.push_back(firstColumn);
  state.sum = tile::LoadRowsOp::create(b, f32Rows(), getArgument(kSplitSum), at,
                                       b.getI64IntegerAttr(at.size() - 1));
  return state;
}

SoftmaxState MergeSplitsProgram::addSplits(Value first, Value count,
                                           const SoftmaxState &before) {
  SmallVector<SoftmaxState> states = {before};
  for (int64_t i : llvm::seq(kTogether))
    states.push_back(readSplit(add(first, i), count));
  SoftmaxState all{splat(f32Rows(), 0.0), before.max, splat(f32Rows(), 0.0)};
  for (const SoftmaxState &state : ArrayRef(states).drop_front())
    all.max = arith::MaximumFOp::create(b, all.max, state.max);
  Value reference = getReference(all.max);
  for (const SoftmaxState &state : states) {
    Value factor =
        math::Exp2Op::create(b, arith::SubFOp::create(b, state.max, reference));
    all.sum = math::FmaOp::create(b, state.sum, factor, all.sum);
    all.normalizer =
        math::FmaOp::create(b, state.normalizer, factor, all.normalizer);
  }
  return all;
}

/// All elements of the row have its LSE: that of its first part's first one is
/// stored.
void MergeSplitsProgram::store(const SoftmaxState &state) {
  SmallVector<Value> at = indices(out, query, head);
  at[order.dim] = firstColumn;
  tile::StoreOp::create(b, computeOut(state), out, at, /*to=*/Value(),
                        b.getDenseI64ArrayAttr({int64_t(order.dim)}));
  if (!lse)
    return;
  Value isFirst = less(firstColumn, one, arith::CmpIPredicate::slt);
  tile::StoreOp::create(
      b, computeLse(state, /*own=*/Value()), lse, rowIndices(lse, query, head),
      arith::SelectOp::create(b, isFirst, add(query, one), zero),
      b.getDenseI64ArrayAttr({int64_t(order.lseSeq())}));
}

void MergeSplitsProgram::build() {
  takeElements();
  Value count = size(getArgument(kSplitSum), kSplitDim);
  SoftmaxState init = start();
  ValueRange last =
      repeat(ceilDiv(count, kTogether), {init.sum, init.max, init.normalizer},
             [&](Value step, ValueRange before) -> SmallVector<Value> {
               Value first = mul(step, index(kTogether));
               SoftmaxState all =
                   addSplits(first, count, {before[0], before[1], before[2]});
               return {all.sum, all.max, all.normalizer};
             });
  store({last[0], last[1], last[2]});
}

void fa4::buildMergeSplitsProgram(SdpaOp op, tile::KernelOp kernel,
                                  const DividedKeys &divided) {
  MergeSplitsProgram(op, kernel, divided).build();
}
