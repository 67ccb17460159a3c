//===- AttnDecomposeBackward.cpp - attn.sdpa_backward to linalg ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttnDecompose.h"
#include "fa4/Dialect/Attn/Transforms/ModRegions.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace fa4::attn;

namespace {
class SdpaBackwardDecomposer : public AttnDecomposer {
public:
  SdpaBackwardDecomposer(RewriterBase &rewriter, SdpaBackwardOp op,
                         int64_t queryBlock)
      : AttnDecomposer(rewriter, op, queryBlock), op(op),
        out(asTensor(op.getFwdOut())), dout(asTensor(op.getDout())),
        lse(asTensor(op.getFwdLse())),
        dlse(op.getDlse() ? asTensor(op.getDlse()) : Value()) {}

  void run();

private:
  /// The rows of the forward op's results, and of their gradients, that one
  /// block of queries needs.
  struct BlockRows {
    Value dout, lse, delta;
  };
  BlockRows sliceRows(Value batch, Value head, OpFoldResult start,
                      OpFoldResult rows);
  /// rowsum(dout * out) - dlse.
  Value computeDelta(Value doutRows, Value outRows, Value dlseRows);
  Value computeProbabilities(Value products, Value lseRows,
                             const BlockIndices &indices,
                             const SequenceBounds &bounds);
  /// The gradient of q . k or, if the number `capture` is given, each score's
  /// part of that capture's.
  Value computeDs(Value products, Value probabilities, Value dp, Value delta,
                  const BlockIndices &indices, const SequenceBounds &bounds,
                  std::optional<unsigned> capture = std::nullopt);

  /// Computes dq, dk and dv of one batch and key/value head, and writes them to
  /// the shared outputs of `forall`.
  void lowerHead(scf::ForallOp forall);
  /// Rounds the f32 sums of dk or dv into a slice of `shared`.
  Value roundKeyGradient(Value sums, Value shared, const Slice &slice,
                         const SequenceBounds &bounds);
  /// Returns `init` with what `compute` gives for each head of `heads`, which
  /// is q or k: `count` numbers that begin at `count` times the head, or
  /// without `count` a number at the head. Heads are independent of each other.
  Value forEachHead(Value init, Value heads, Value count,
                    function_ref<Value(Value head)> compute);
  /// Returns an f32 tensor to which `add` has added each sequence, in order.
  Value sumOverSequences(ArrayRef<OpFoldResult> shape,
                         function_ref<Value(Value sums, Value batch)> add);
  Value lowerDsinks(Value init);
  /// Adds the sinks' gradient from the rows of one sequence to `sum` (rank 0).
  Value addDsink(Value sum, Value batch, Value head, Value sink);
  Value lowerDcapture(Value init, unsigned capture);
  /// Adds the capture's gradient from one sequence to `sums`, which has a
  /// number for each head of the group.
  Value addDcapture(Value sums, Value batch, Value kvHead, unsigned capture);

  SdpaBackwardOp op;
  Value out, dout, lse, dlse;
};
} // namespace

static Value isMinusInfinity(OpBuilder &builder, Location loc, Value value) {
  Value infinity = arith::ConstantOp::create(
      builder, loc,
      builder.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, value,
                               infinity);
}

static Value zeroF32(OpBuilder &builder, Location loc) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
}

/// Computes exp(x - lse), and 0 in rows that see no key.
static Value expMinusLse(OpBuilder &builder, Location loc, Value x, Value lse) {
  Value difference = arith::SubFOp::create(builder, loc, x, lse);
  Value exp = math::ExpOp::create(builder, loc, difference);
  return arith::SelectOp::create(builder, loc,
                                 isMinusInfinity(builder, loc, lse),
                                 zeroF32(builder, loc), exp);
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

Value SdpaBackwardDecomposer::computeDelta(Value doutRows, Value outRows,
                                           Value dlseRows) {
  OpFoldResult rows = tensor::getMixedSize(b, b.getLoc(), doutRows, 0);
  Value delta =
      generic({doutRows, outRows}, filled({rows}, 0.0), /*numLoops=*/2,
              {{0, 1}, {0, 1}, {0}}, /*reductions=*/{1},
              [](OpBuilder &builder, Location loc, ValueRange args) -> Value {
                Value product = arith::MulFOp::create(
                    builder, loc, toF32(builder, loc, args[0]),
                    toF32(builder, loc, args[1]));
                return arith::AddFOp::create(builder, loc, args[2], product);
              });
  if (!dlseRows)
    return delta;
  return mapRows({delta, dlseRows}, [](OpBuilder &builder, Location loc,
                                       ValueRange args) {
    return arith::SubFOp::create(builder, loc, args[0], args[1]).getResult();
  });
}

SdpaBackwardDecomposer::BlockRows
SdpaBackwardDecomposer::sliceRows(Value batch, Value head, OpFoldResult start,
                                  OpFoldResult rows) {
  BlockRows block;
  block.dout = sliceHead(dout, batch, head, start, rows);
  block.lse = sliceLse(lse, batch, head, start, rows);
  Value outRows = sliceHead(out, batch, head, start, rows);
  Value dlseRows = dlse ? sliceLse(dlse, batch, head, start, rows) : Value();
  block.delta = computeDelta(block.dout, outRows, dlseRows);
  return block;
}

Value SdpaBackwardDecomposer::computeProbabilities(
    Value products, Value lseRows, const BlockIndices &indices,
    const SequenceBounds &bounds) {
  return mapMatrix({products, lseRows}, [&](OpBuilder &builder, Location loc,
                                            ValueRange args) {
    Value score = modifyScore(builder, loc, args[0], indices, bounds);
    return expMinusLse(builder, loc, score, args[1]);
  });
}

Value SdpaBackwardDecomposer::computeDs(Value products, Value probabilities,
                                        Value dp, Value delta,
                                        const BlockIndices &indices,
                                        const SequenceBounds &bounds,
                                        std::optional<unsigned> capture) {
  return mapMatrix(
      {products, probabilities, dp, delta},
      [&](OpBuilder &builder, Location loc, ValueRange args) -> Value {
        Value derivative;
        modifyScore(builder, loc, args[0], indices, bounds, &derivative,
                    capture);
        ImplicitLocOpBuilder bl(loc, builder);
        Value difference = arith::SubFOp::create(bl, args[2], args[3]);
        Value product = arith::MulFOp::create(
            bl, arith::MulFOp::create(bl, args[1], difference), derivative);
        // A hidden key contributes nothing. Its score_mod derivative may be any
        // number, even NaN, and is not used.
        Value zero = zeroF32(bl, loc);
        Value isZero =
            arith::CmpFOp::create(bl, arith::CmpFPredicate::OEQ, args[1], zero);
        return arith::SelectOp::create(bl, isZero, zero, product);
      });
}

//===----------------------------------------------------------------------===//
// dq, dk, dv
//===----------------------------------------------------------------------===//

void SdpaBackwardDecomposer::lowerHead(scf::ForallOp forall) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  Value batch = forall.getInductionVar(0), kvHead = forall.getInductionVar(1);
  ValueRange shared = forall.getRegionIterArgs();
  SequenceBounds bounds = getBounds(batch);
  Value kHead = sliceHead(k, batch, kvHead, bounds.keyStart, bounds.keyLength);
  Value vHead = sliceHead(v, batch, kvHead, bounds.keyStart, bounds.keyLength);
  OpFoldResult dim = tensor::getMixedSize(b, b.getLoc(), kHead, 1);
  OpFoldResult valueDim = tensor::getMixedSize(b, b.getLoc(), vHead, 1);

  Value zero = index(0);
  Value firstHead = arith::MulIOp::create(b, kvHead, group);
  Slice dqSlice =
      headSlice(shared[0], batch, firstHead, getAsOpFoldResult(group),
                bounds.queryStart, bounds.queryLength);
  Value dqPart = tensor::ExtractSliceOp::create(b, shared[0], dqSlice.offsets,
                                                dqSlice.sizes, dqSlice.strides);
  SmallVector<Value> carried = {dqPart, filled({bounds.keyLength, dim}, 0.0),
                                filled({bounds.keyLength, valueDim}, 0.0)};

  carried = forEachQueryBlock(
      kvHead, bounds, carried,
      [&](Value head, Value headInGroup, Value firstRow, OpFoldResult rows,
          ValueRange carried) -> SmallVector<Value> {
        OpFoldResult start = getStart(bounds, firstRow);
        BlockIndices indices = {batch, head, firstRow};
        Value qBlock = sliceHead(q, batch, head, start, rows);
        BlockRows block = sliceRows(batch, head, start, rows);

        Value products = computeScores(qBlock, kHead);
        Value p = computeProbabilities(products, block.lse, indices, bounds);
        Value dp = computeScores(block.dout, vHead);
        Value ds = computeDs(products, p, dp, block.delta, indices, bounds);

        Value dq =
            contract(ds, {0, 2}, kHead, {2, 1}, filled({rows, dim}, 0.0));
        Value rounded =
            round(dq, sliceHead(carried[0], zero, headInGroup, firstRow, rows));
        return {
            insertHead(rounded, carried[0], zero, headInGroup, firstRow, rows),
            contract(ds, {2, 0}, qBlock, {2, 1}, carried[1]),
            contract(p, {2, 0}, block.dout, {2, 1}, carried[2])};
      });

  SmallVector<Value> parts = {carried[0]};
  SmallVector<Slice> slices = {dqSlice};
  for (unsigned i : {1u, 2u}) {
    slices.push_back(headSlice(shared[i], batch, kvHead, b.getIndexAttr(1),
                               bounds.keyStart, bounds.keyCapacity));
    parts.push_back(
        roundKeyGradient(carried[i], shared[i], slices.back(), bounds));
  }
  insertParts(forall, parts, slices);
}

/// Keys beyond seqlens_k are seen by no query, so their rows become 0.
Value SdpaBackwardDecomposer::roundKeyGradient(Value sums, Value shared,
                                               const Slice &slice,
                                               const SequenceBounds &bounds) {
  Value part = tensor::ExtractSliceOp::create(b, shared, slice.offsets,
                                              slice.sizes, slice.strides);
  if (op.getSeqlensK())
    part = filledWith(part, 0.0);
  Value zero = index(0);
  OpFoldResult first = b.getIndexAttr(0);
  Value rounded =
      round(sums, sliceHead(part, zero, zero, first, bounds.keyLength));
  return insertHead(rounded, part, zero, zero, first, bounds.keyLength);
}

//===----------------------------------------------------------------------===//
// Gradients of what a head has few numbers of
//===----------------------------------------------------------------------===//

Value SdpaBackwardDecomposer::forEachHead(
    Value init, Value heads, Value count,
    function_ref<Value(Value head)> compute) {
  SmallVector<OpFoldResult> bounds = {
      tensor::getMixedSize(b, b.getLoc(), heads, order.head)};
  auto forall =
      scf::ForallOp::create(b, bounds, init, /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  Value head = forall.getInductionVar(0);
  Value part = compute(head);
  Value first =
      count ? arith::MulIOp::create(b, head, count).getResult() : head;
  OpFoldResult one = b.getIndexAttr(1);
  OpFoldResult size = count ? getAsOpFoldResult(count) : one;
  b.setInsertionPointToEnd(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(
      b, part, forall.getRegionIterArgs()[0], SmallVector<OpFoldResult>{first},
      SmallVector<OpFoldResult>{size}, SmallVector<OpFoldResult>{one});
  return forall.getResult(0);
}

Value SdpaBackwardDecomposer::sumOverSequences(
    ArrayRef<OpFoldResult> shape,
    function_ref<Value(Value sums, Value batch)> add) {
  auto loop = scf::ForOp::create(b, index(0), getNumSequences(), index(1),
                                 filled(shape, 0.0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b,
                       add(loop.getRegionIterArg(0), loop.getInductionVar()));
  return loop.getResult(0);
}

//===----------------------------------------------------------------------===//
// dsinks
//===----------------------------------------------------------------------===//

Value SdpaBackwardDecomposer::addDsink(Value sum, Value batch, Value head,
                                       Value sink) {
  SequenceBounds bounds = getBounds(batch);
  BlockRows block =
      sliceRows(batch, head, bounds.queryStart, bounds.queryLength);
  return generic(
      {block.lse, block.delta}, sum, /*numLoops=*/1, {{0}, {0}, {}},
      /*reductions=*/{0},
      [&](OpBuilder &builder, Location loc, ValueRange args) -> Value {
        Value p = expMinusLse(builder, loc, sink, args[0]);
        Value term = arith::MulFOp::create(builder, loc, p, args[1]);
        return arith::SubFOp::create(builder, loc, args[2], term);
      });
}

Value SdpaBackwardDecomposer::lowerDsinks(Value init) {
  Type type = cast<ShapedType>(init.getType()).getElementType();
  return forEachHead(init, q, /*count=*/Value(), [&](Value head) -> Value {
    Value sink = toF32(b, b.getLoc(),
                       tensor::ExtractOp::create(b, asTensor(op.getSinks()),
                                                 ValueRange{head}));
    Value sum = sumOverSequences({}, [&](Value sum, Value batch) {
      return addDsink(sum, batch, head, sink);
    });
    Value total = tensor::ExtractOp::create(b, sum, ValueRange{});
    return tensor::FromElementsOp::create(
        b, ValueRange{fromF32(b, b.getLoc(), total, type)});
  });
}

//===----------------------------------------------------------------------===//
// dcaptures
//===----------------------------------------------------------------------===//

Value SdpaBackwardDecomposer::addDcapture(Value sums, Value batch, Value kvHead,
                                          unsigned capture) {
  SequenceBounds bounds = getBounds(batch);
  Value kHead = sliceHead(k, batch, kvHead, bounds.keyStart, bounds.keyLength);
  Value vHead = sliceHead(v, batch, kvHead, bounds.keyStart, bounds.keyLength);
  auto addBlock = [&](Value head, Value headInGroup, Value firstRow,
                      OpFoldResult rows,
                      ValueRange carried) -> SmallVector<Value> {
    OpFoldResult start = getStart(bounds, firstRow);
    BlockIndices indices = {batch, head, firstRow};
    BlockRows block = sliceRows(batch, head, start, rows);
    Value products =
        computeScores(sliceHead(q, batch, head, start, rows), kHead);
    Value p = computeProbabilities(products, block.lse, indices, bounds);
    Value dp = computeScores(block.dout, vHead);
    Value terms =
        computeDs(products, p, dp, block.delta, indices, bounds, capture);
    Value sum = tensor::FromElementsOp::create(
        b, RankedTensorType::get({}, b.getF32Type()),
        ValueRange{tensor::ExtractOp::create(b, carried[0], headInGroup)});
    sum = generic(terms, sum, /*numLoops=*/2, {{0, 1}, {}},
                  /*reductions=*/{0, 1},
                  [](OpBuilder &builder, Location loc, ValueRange args) {
                    return arith::AddFOp::create(builder, loc, args[1], args[0])
                        .getResult();
                  });
    return {tensor::InsertOp::create(
        b, tensor::ExtractOp::create(b, sum, ValueRange{}), carried[0],
        headInGroup)};
  };
  return forEachQueryBlock(kvHead, bounds, sums, addBlock).front();
}

Value SdpaBackwardDecomposer::lowerDcapture(Value init, unsigned capture) {
  return forEachHead(init, k, group, [&](Value kvHead) {
    return sumOverSequences({getAsOpFoldResult(group)},
                            [&](Value sums, Value batch) {
                              return addDcapture(sums, batch, kvHead, capture);
                            });
  });
}

void SdpaBackwardDecomposer::run() {
  SmallVector<Value> inits = getInitTensors();
  if (hasNoQueries() || hasNoKeys()) {
    SmallVector<Value> outputs;
    for (Value init : ValueRange(inits).take_front(3))
      outputs.push_back(filledWith(init, 0.0));
    // Without keys, a sink still has a gradient: the one that comes through the
    // LSE.
    if (op.hasDsinks())
      outputs.push_back(hasNoQueries() ? filledWith(inits[3], 0.0)
                                       : lowerDsinks(inits[3]));
    for (Value init : ArrayRef(inits).drop_front(op.getFirstDcapture()))
      outputs.push_back(filledWith(init, 0.0));
    return finish(outputs);
  }
  SmallVector<OpFoldResult> bounds = {
      getNumSequences(), tensor::getMixedSize(b, b.getLoc(), k, order.head)};
  auto forall =
      scf::ForallOp::create(b, bounds, ValueRange(inits).take_front(3),
                            /*mapping=*/std::nullopt);
  lowerHead(forall);
  SmallVector<Value> outputs(forall.getResults());
  if (op.hasDsinks())
    outputs.push_back(lowerDsinks(inits[3]));
  for (auto [init, capture] : llvm::zip(
           ArrayRef(inits).drop_front(op.getFirstDcapture()), op.getWrt()))
    outputs.push_back(lowerDcapture(init, capture));
  finish(outputs);
}

LogicalResult fa4::attn::decomposeSdpaBackward(RewriterBase &rewriter,
                                               SdpaBackwardOp op,
                                               int64_t queryBlock) {
  if (!op.getScoreMod().empty() &&
      failed(verifyDifferentiable(op, op.getScoreMod())))
    return failure();
  for (int64_t capture : op.getWrt())
    if (failed(verifyDifferentiable(op, op.getScoreMod(),
                                    kNumScoreModArgs + capture)))
      return failure();
  SdpaBackwardDecomposer(rewriter, op, queryBlock).run();
  return success();
}
