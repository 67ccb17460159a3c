//===- ScoreGradientProgram.cpp - ds of tiles of queries ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreGradientProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

ScoreGradientProgram::ScoreGradientProgram(SdpaBackwardOp op,
                                           tile::KernelOp kernel, int64_t rows,
                                           int64_t keys, unsigned wrt)
    : QueryTileProgram(op, kernel, rows, keys),
      linear(wrt == 0 ? findScoreTerms(op.getScoreMod()) : nullptr),
      scale(chooseScoreScale(op, linear.get())) {
  if (Region &region = op.getScoreMod(); !region.empty() && !linear) {
    derived.emplace(region, wrt);
    mayBeInfinite = !derived->isFinite();
  }
}

void ScoreGradientProgram::loadRowsOfTile() {
  rowShift = readRows(getArgument("shift"), rows, firstRow, head);
  rowDelta = readRows(getArgument("delta"), rows, firstRow, head);
  tq = loadTile(getArgument("q"), rows, firstRow, head);
  tdout = loadTile(getArgument("dout"), rows, firstRow, head);
}

Value ScoreGradientProgram::getFirstKey(Value step) {
  return mul(sub(lastBlock, step), index(keys));
}

/// rowShift has what the queries of the tile add beyond its first one.
Value ScoreGradientProgram::buildWeights(Value scores, Value step,
                                         Value firstKey) {
  if (scale.before)
    scores = arith::MulFOp::create(b, scores, splat(f32Tile(), *scale.before));
  SmallVector<TileValue> arguments = getArgumentsOfBlock(firstKey);
  SmallVector<TileTerm> all;
  if (linear)
    all = buildTermsOfBlock(*linear, kLog2E, arguments);
  ModifiedScores modified = applyScoreMod(derived, scores, arguments);
  Value exponents =
      math::FmaOp::create(b, modified.scores, splat(f32Tile(), scale.exponent),
                          overColumns(rowShift, keys));
  exponents = addTerms(
      all, {exponents, /*overRows=*/true, /*overColumns=*/true}, rows, keys);
  exponents = maskBlock(
      exponents, step, ofBand, ofMask, arguments,
      [&] { return visibleKeys(firstKey); },
      /*inParts=*/bool(derived));
  return multiplyDerivative(math::Exp2Op::create(b, exponents),
                            modified.derivative, mayBeInfinite);
}

Value ScoreGradientProgram::buildGradient(Value tk, Value step) {
  Value firstKey = getFirstKey(step);
  Value weights = buildWeights(product(tq, tk), step, firstKey);
  Value tv = loadTile(getArgument("v"), keys, firstKey, kvHead);
  Value difference =
      arith::SubFOp::create(b, product(tdout, tv), overColumns(rowDelta, keys));
  return arith::MulFOp::create(b, weights, difference);
}
