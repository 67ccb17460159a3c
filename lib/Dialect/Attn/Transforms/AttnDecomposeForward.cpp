//===- AttnDecomposeForward.cpp - attn.sdpa to linalg --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttnDecompose.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace fa4::attn;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

namespace {
class SdpaDecomposer : public AttnDecomposer {
public:
  SdpaDecomposer(RewriterBase &rewriter, SdpaOp op, int64_t queryBlock)
      : AttnDecomposer(rewriter, op, queryBlock), hasLse(op.hasLse()) {}

  void run();

private:
  /// The rows of `out` and, if the op has one, of the LSE for a block of
  /// queries.
  struct BlockResult {
    Value out, lse;
  };
  /// Computes one block of query rows; the result is written into `init`.
  BlockResult computeBlock(Value qBlock, Value kHead, Value vHead,
                           const BlockIndices &indices,
                           const SequenceBounds &bounds, BlockResult init);
  /// Returns the row max of the scores (and of the sink), and a copy of it in
  /// which 0 stands for -inf.
  std::pair<Value, Value> computeRowMax(Value scores, Value sink);
  Value computeRowSum(Value probabilities, Value safeMax, Value sink);
  Value loadSink(Value head);
  void computeGroup(scf::ForallOp forall);
  /// Computes the outputs of an op whose key length is statically 0.
  void runWithoutKeys(ValueRange inits);

  bool hasLse;
};
} // namespace

Value SdpaDecomposer::loadSink(Value head) {
  if (!op.getSinks())
    return {};
  Value sink =
      tensor::ExtractOp::create(b, asTensor(op.getSinks()), ValueRange{head});
  return toF32(b, b.getLoc(), sink);
}

std::pair<Value, Value> SdpaDecomposer::computeRowMax(Value scores,
                                                      Value sink) {
  OpFoldResult rows = tensor::getMixedSize(b, b.getLoc(), scores, 0);
  Value init =
      linalg::FillOp::create(b, ValueRange{sink ? sink : f32(-kInfinity)},
                             ValueRange{emptyF32({rows})})
          .getResult(0);
  Value max = reduceColumns(
      scores, init,
      [](OpBuilder &builder, Location loc, ValueRange args) -> Value {
        return arith::MaximumFOp::create(builder, loc, args[0], args[1]);
      });
  // In a row that sees no key the row max is -inf. Subtracting 0 instead gives
  // exp(-inf - 0) = 0, while exp(-inf - -inf) would be NaN.
  Value safe = mapRows(
      {max}, [](OpBuilder &builder, Location loc, ValueRange args) -> Value {
        Value none = arith::ConstantOp::create(
            builder, loc, builder.getF32FloatAttr(-kInfinity));
        Value zero = arith::ConstantOp::create(builder, loc,
                                               builder.getF32FloatAttr(0.0));
        Value isNone = arith::CmpFOp::create(
            builder, loc, arith::CmpFPredicate::OEQ, args[0], none);
        return arith::SelectOp::create(builder, loc, isNone, zero, args[0]);
      });
  return {max, safe};
}

static Value expOfDifference(OpBuilder &builder, Location loc, Value x,
                             Value y) {
  Value difference = arith::SubFOp::create(builder, loc, x, y);
  return math::ExpOp::create(builder, loc, difference);
}

Value SdpaDecomposer::computeRowSum(Value probabilities, Value safeMax,
                                    Value sink) {
  OpFoldResult rows = tensor::getMixedSize(b, b.getLoc(), probabilities, 0);
  Value init =
      sink ? mapRows({safeMax},
                     [&](OpBuilder &builder, Location loc, ValueRange args) {
                       return expOfDifference(builder, loc, sink, args[0]);
                     })
           : filled({rows}, 0.0);
  return reduceColumns(
      probabilities, init,
      [](OpBuilder &builder, Location loc, ValueRange args) -> Value {
        return arith::AddFOp::create(builder, loc, args[0], args[1]);
      });
}

/// Selects 0 where the row sum is 0, that is, where no key is visible.
static Value selectIfRowIsEmpty(OpBuilder &builder, Location loc, Value rowSum,
                                double ifEmpty, Value otherwise) {
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  Value empty =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(ifEmpty));
  Value isEmpty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                        rowSum, zero);
  return arith::SelectOp::create(builder, loc, isEmpty, empty, otherwise);
}

SdpaDecomposer::BlockResult
SdpaDecomposer::computeBlock(Value qBlock, Value kHead, Value vHead,
                             const BlockIndices &indices,
                             const SequenceBounds &bounds, BlockResult init) {
  Value products = computeScores(qBlock, kHead);
  Value scores = mapMatrix(
      {products}, [&](OpBuilder &builder, Location loc, ValueRange args) {
        return modifyScore(builder, loc, args[0], indices, bounds);
      });
  Value sink = loadSink(indices.head);
  auto [rowMax, safeMax] = computeRowMax(scores, sink);
  Value probabilities = mapMatrix(
      {scores, safeMax}, [](OpBuilder &builder, Location loc, ValueRange args) {
        return expOfDifference(builder, loc, args[0], args[1]);
      });
  Value rowSum = computeRowSum(probabilities, safeMax, sink);

  OpFoldResult rows = tensor::getMixedSize(b, b.getLoc(), qBlock, 0);
  OpFoldResult dim = tensor::getMixedSize(b, b.getLoc(), vHead, 1);
  Value sums =
      contract(probabilities, {0, 2}, vHead, {2, 1}, filled({rows, dim}, 0.0));
  Type outType = cast<ShapedType>(init.out.getType()).getElementType();
  BlockResult result;
  result.out = mapMatrix(
      {sums, rowSum},
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        Value quotient = arith::DivFOp::create(builder, loc, args[0], args[1]);
        Value out = selectIfRowIsEmpty(builder, loc, args[1], 0.0, quotient);
        return fromF32(builder, loc, out, outType);
      },
      init.out);
  if (hasLse)
    result.lse = mapRows(
        {rowMax, rowSum},
        [&](OpBuilder &builder, Location loc, ValueRange args) {
          Value log = math::LogOp::create(builder, loc, args[1]);
          Value lse = arith::AddFOp::create(builder, loc, args[0], log);
          return selectIfRowIsEmpty(builder, loc, args[1], -kInfinity, lse);
        },
        init.lse);
  return result;
}

void SdpaDecomposer::runWithoutKeys(ValueRange inits) {
  SmallVector<Value> outputs = {filledWith(inits[0], 0.0)};
  if (hasLse && !op.getSinks())
    outputs.push_back(filledWith(inits[1], -kInfinity));
  if (hasLse && op.getSinks()) {
    // Without keys, each row's softmax has the sink as its only entry.
    unsigned head = order.lseHead();
    auto all = llvm::to_vector(llvm::seq<unsigned>(order.lseRank()));
    outputs.push_back(generic(
        {asTensor(op.getSinks())}, inits[1], order.lseRank(), {{head}, all},
        /*reductions=*/{},
        [](OpBuilder &builder, Location loc, ValueRange args) {
          return toF32(builder, loc, args[0]);
        }));
  }
  finish(outputs);
}

/// Computes the outputs of the batch and the group of heads that one iteration
/// of `forall` is for.
void SdpaDecomposer::computeGroup(scf::ForallOp forall) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  Value batch = forall.getInductionVar(0);
  Value kvHead = forall.getInductionVar(1);
  SequenceBounds sequence = getBounds(batch);
  Value kHead =
      sliceKeys(k, batch, kvHead, sequence.keyStart, sequence.keyLength);
  Value vHead =
      sliceKeys(v, batch, kvHead, sequence.keyStart, sequence.keyLength);

  // Slices the outputs to the part of this batch and this group of heads.
  Value zero = index(0);
  Value firstHead = arith::MulIOp::create(b, kvHead, group);
  OpFoldResult groupSize = getAsOpFoldResult(group);
  ValueRange shared = forall.getRegionIterArgs();
  SmallVector<Slice> slices = {headSlice(shared[0], batch, firstHead, groupSize,
                                         sequence.queryStart,
                                         sequence.queryLength)};
  if (hasLse)
    slices.push_back(lseSlice(shared[1], batch, firstHead, groupSize,
                              sequence.queryStart, sequence.queryLength));
  SmallVector<Value> parts;
  for (auto [tensor, slice] : llvm::zip(shared, slices))
    parts.push_back(tensor::ExtractSliceOp::create(b, tensor, slice.offsets,
                                                   slice.sizes, slice.strides));
  parts = forEachQueryBlock(
      kvHead, sequence, parts,
      [&](Value head, Value headInGroup, Value firstRow, OpFoldResult rows,
          ValueRange carried) {
        OpFoldResult start = getStart(sequence, firstRow);
        Value qBlock = sliceHead(q, batch, head, start, rows);
        BlockResult init;
        init.out = sliceHead(carried[0], zero, headInGroup, firstRow, rows);
        if (hasLse)
          init.lse = sliceLse(carried[1], zero, headInGroup, firstRow, rows);
        BlockResult block = computeBlock(
            qBlock, kHead, vHead, {batch, head, firstRow}, sequence, init);
        SmallVector<Value> next = {insertHead(block.out, carried[0], zero,
                                              headInGroup, firstRow, rows)};
        if (hasLse)
          next.push_back(insertLse(block.lse, carried[1], zero, headInGroup,
                                   firstRow, rows));
        return next;
      });
  insertParts(forall, parts, slices);
}

void SdpaDecomposer::run() {
  SmallVector<Value> inits = getInitTensors();
  if (hasNoQueries())
    return finish(inits);
  if (hasNoKeys())
    return runWithoutKeys(inits);
  SmallVector<OpFoldResult> bounds = {
      getNumSequences(), tensor::getMixedSize(b, b.getLoc(), k, keyOrder.head)};
  auto forall = scf::ForallOp::create(b, bounds, inits,
                                      /*mapping=*/std::nullopt);
  SmallVector<Value> outputs(forall.getResults());
  computeGroup(forall);
  finish(outputs);
}

LogicalResult fa4::attn::decomposeSdpa(RewriterBase &rewriter, SdpaOp op,
                                       int64_t queryBlock) {
  SdpaDecomposer(rewriter, op, queryBlock).run();
  return success();
}
