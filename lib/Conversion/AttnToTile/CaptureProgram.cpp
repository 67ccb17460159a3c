//===- CaptureProgram.cpp - tile programs of captures' gradients ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureProgram.h"
#include "QueryTileProgram.h"
#include "ScoreDerivative.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
/// Rows of tiles are queries, so that each thread sums over the keys of its row
/// alone, always in the same order.
class CaptureProgram : QueryTileProgram {
public:
  CaptureProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                 const BackwardTiles &tiles, unsigned capture)
      : QueryTileProgram(op, kernel, tiles.captureRows, tiles.captureKeys),
        scale(chooseScoreScale(op)),
        derived(op.getScoreMod(), kNumScoreModArgs + capture),
        mayBeInfinite(!derived.isFinite()) {}

  void build();

private:
  /// Adds the part of a block of keys to the sums.
  Value buildStep(Value tq, Value tdout, Value step, Value sums);
  /// Returns the block's probabilities times the derivative of its scores.
  Value buildWeights(Value scores, Value step, Value firstKey);
  Value product(Value x, Value y) {
    return tile::MmaOp::create(b, f32Tile(), x, y, /*acc=*/Value(),
                               /*accumulate=*/Value(), /*transpose_a=*/false,
                               /*transpose_b=*/true);
  }
  VectorType f32Tile() { return f32Type({rows, keys}); }

  ScoreScale scale;
  ScoreDerivative derived;
  bool mayBeInfinite;
  Value rowShift, rowDelta;
};

/// Rows of tiles are heads, as where the gradient of sinks is summed.
class CaptureSumProgram : AttentionProgram {
public:
  CaptureSumProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                    const BackwardTiles &tiles)
      : AttentionProgram(op, kernel), heads(tiles.heads),
        queries(tiles.sinkQueries) {}

  void build();

private:
  int64_t heads, queries;
};
} // namespace

Value CaptureProgram::buildWeights(Value scores, Value step, Value firstKey) {
  if (scale.before)
    scores = arith::MulFOp::create(b, scores, splat(f32Tile(), *scale.before));
  SmallVector<TileValue> arguments = getModArguments(
      batch, head, {positions(rows, firstRow), /*overRows=*/true},
      {positions(keys, firstKey), false, /*overColumns=*/true}, rows);
  SmallVector<Value> values =
      inlineScoreMod(derived.region, scores, arguments,
                     {derived.results.value, derived.results.derivative});
  Value exponents =
      math::FmaOp::create(b, values[0], splat(f32Tile(), scale.exponent),
                          overColumns(rowShift, keys));
  exponents = maskSteps(applyMaskMod(exponents, arguments), step, maskedBelow,
                        maskedFrom, [&] { return visibleKeys(firstKey); });
  Value p = math::Exp2Op::create(b, exponents);
  Value weights = arith::MulFOp::create(b, p, values[1]);
  if (!mayBeInfinite)
    return weights;
  // A key of probability 0 contributes nothing, whatever the derivative is.
  Value none = splat(f32Tile(), 0.0);
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, p, none);
  return arith::SelectOp::create(b, isNone, none, weights);
}

Value CaptureProgram::buildStep(Value tq, Value tdout, Value step, Value sums) {
  Value firstKey = mul(sub(lastBlock, step), index(keys));
  Value tk = loadTile(kernel.getArgument(1), keys, firstKey, kvHead);
  Value weights = buildWeights(product(tq, tk), step, firstKey);
  Value tv = loadTile(kernel.getArgument(2), keys, firstKey, kvHead);
  Value difference =
      arith::SubFOp::create(b, product(tdout, tv), overColumns(rowDelta, keys));
  return vector::MultiDimReductionOp::create(
      b, arith::MulFOp::create(b, weights, difference), sums,
      ArrayRef<bool>{false, true}, vector::CombiningKind::ADD);
}

void CaptureProgram::build() {
  auto arguments = kernel.getArguments();
  computePosition(/*q=*/arguments[0], /*k=*/arguments[1]);
  computeKeyBlocks();
  rowShift = readRows(arguments[4], rows, firstRow, head);
  rowDelta = readRows(arguments[5], rows, firstRow, head);
  Value tq = loadTile(arguments[0], rows, firstRow, head);
  Value tdout = loadTile(arguments[3], rows, firstRow, head);
  auto loop =
      scf::ForOp::create(b, zero, numBlocks, one, splat(f32Type({rows}), 0.0));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b, buildStep(tq, tdout, loop.getInductionVar(),
                                      loop.getRegionIterArg(0)));
  }
  storeRows(loop.getResult(0), getArgument("parts"), firstRow, head);
}

void CaptureSumProgram::build() {
  Value parts = kernel.getArgument(0), dcapture = kernel.getArgument(1);
  Value firstHead =
      mul(tile::WorkTileOp::create(b, TypeRange{b.getIndexType()}).getResult(0),
          index(heads));
  Value blocks = floorDiv(size(parts, order.lseSeq()), queries);
  Value steps = max(mul(size(parts, *order.lseBatch()), blocks), 1);
  auto loop =
      scf::ForOp::create(b, zero, steps, one, splat(f32Type({heads}), 0.0));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value step = loop.getInductionVar();
    Value sequence = fold<arith::DivUIOp>(step, blocks);
    Value block = sub(step, mul(sequence, blocks));
    Value tile = tile::LoadOp::create(
        b, f32Type({heads, queries}), parts,
        ValueRange{sequence, firstHead, mul(block, index(queries))},
        /*dims=*/DenseI64ArrayAttr());
    Value sums = vector::MultiDimReductionOp::create(
        b, tile, loop.getRegionIterArg(0), ArrayRef<bool>{false, true},
        vector::CombiningKind::ADD);
    scf::YieldOp::create(b, sums);
  }
  tile::StoreOp::create(b, loop.getResult(0), dcapture, firstHead,
                        /*to=*/Value(), /*dims=*/DenseI64ArrayAttr());
}

void fa4::buildCaptureProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                              const BackwardTiles &tiles, unsigned capture) {
  CaptureProgram(op, kernel, tiles, capture).build();
}

void fa4::buildCaptureSumProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                 const BackwardTiles &tiles) {
  CaptureSumProgram(op, kernel, tiles).build();
}
