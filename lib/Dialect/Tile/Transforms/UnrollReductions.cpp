//===- UnrollReductions.cpp - reductions of rows, pair by pair ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnrollReductions.h"

using namespace mlir;
using namespace fa4::tile;

/// The number of independent partial results of a reduction. Four hide the
/// latency of one step.
static constexpr unsigned kAccumulators = 4;

static Value combine(vector::ReductionOp op, Value a, Value b,
                     OpBuilder &builder) {
  return vector::makeArithReduction(builder, op.getLoc(), op.getKind(), a, b);
}

/// Combines `values` as a balanced tree.
static Value combineAll(vector::ReductionOp op, SmallVector<Value> values,
                        OpBuilder &b) {
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(combine(op, values[i], values[i + 1], b));
    if (values.size() % 2)
      next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

/// Returns true for sums and products, which the FMA pipe computes on two f32
/// at once.
static bool isPacked(vector::ReductionOp op) {
  using Kind = vector::CombiningKind;
  return op.getDest().getType().isF32() &&
         (op.getKind() == Kind::ADD || op.getKind() == Kind::MUL);
}

/// Folds those of the pairs `begin` to `end` into the partial results that are
/// built and have not been folded yet.
void UnrollReductions::foldPairs(vector::ReductionOp op, int64_t begin,
                                 int64_t end, OpBuilder &b) {
  Partial &partial = partials[op];
  int64_t count = numPairs(op.getVector().getType());
  partial.folded.resize(count);
  partial.acc.resize(std::min<int64_t>(kAccumulators, count));
  for (int64_t pair = begin; pair < end; ++pair) {
    Value next = columns.getPair(op.getVector(), pair);
    if (!next || partial.folded[pair])
      continue;
    partial.folded.set(pair);
    Value &acc = partial.acc[pair % partial.acc.size()];
    acc = acc ? combine(op, acc, next, b) : next;
  }
}

void UnrollReductions::foldEarly(WriteOp write, OpBuilder &b) {
  for (Operation *op = write->getNextNode(); op; op = op->getNextNode())
    if (auto reduction = dyn_cast<vector::ReductionOp>(op);
        reduction && isPacked(reduction))
      foldPairs(reduction, 0, numPairs(reduction.getVector().getType()), b);
}

/// Reduces pairs to one pair, and this pair to an element.
Value UnrollReductions::reducePairs(vector::ReductionOp op, OpBuilder &b) {
  columns.forFragments(op.getVector().getType(),
                       [&](int64_t begin, int64_t end) {
                         values.build(op.getVector(), begin, end, b);
                         foldPairs(op, begin, end, b);
                         values.endFragment(op.getLoc(), b);
                       });
  Value pair = combineAll(op, partials[op].acc, b);
  Value low = vector::ExtractOp::create(b, op.getLoc(), pair, 0);
  Value high = vector::ExtractOp::create(b, op.getLoc(), pair, 1);
  return combine(op, low, high, b);
}

/// Reduces elements. Each step folds two elements into an accumulator, which is
/// one instruction with three operands for maxima and minima.
Value UnrollReductions::reduceElements(vector::ReductionOp op, OpBuilder &b) {
  SmallVector<Value> acc(
      std::min<int64_t>(kAccumulators, numPairs(op.getVector().getType())));
  if (op.getAcc())
    acc[0] = columns.getScalar(op.getAcc());
  columns.forFragments(
      op.getVector().getType(), [&](int64_t begin, int64_t end) {
        values.build(op.getVector(), begin, end, b);
        for (int64_t pair = begin; pair < end; ++pair) {
          Value &partial = acc[pair % acc.size()];
          for (int64_t column : {2 * pair, 2 * pair + 1}) {
            Value next = columns.getElement(op.getVector(), column, b);
            partial = partial ? combine(op, partial, next, b) : next;
          }
        }
        values.endFragment(op.getLoc(), b);
      });
  Value result = acc[0];
  for (Value partial : ArrayRef<Value>(acc).drop_front())
    result = combine(op, result, partial, b);
  return result;
}

void UnrollReductions::lower(vector::ReductionOp op, OpBuilder &b) {
  bool packed = isPacked(op);
  Value result = packed ? reducePairs(op, b) : reduceElements(op, b);
  if (packed && op.getAcc())
    result = combine(op, columns.getScalar(op.getAcc()), result, b);
  columns.scalars.map(op.getDest(), result);
}
