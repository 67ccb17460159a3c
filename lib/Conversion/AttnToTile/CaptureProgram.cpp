//===- CaptureProgram.cpp - tile programs of captures' gradients ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureProgram.h"
#include "ScoreGradientProgram.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
class CaptureProgram : ScoreGradientProgram {
public:
  CaptureProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                 const BackwardTiles &tiles, unsigned capture)
      : ScoreGradientProgram(op, kernel, tiles.captureRows, tiles.captureKeys,
                             kNumScoreModArgs + capture) {}

  void build();
};
} // namespace

void CaptureProgram::build() {
  Value k = getArgument("k");
  computePosition(getArgument("q"), k);
  computeKeyBlocks();
  loadRowsOfTile();
  Value sums = repeat(numBlocks, splat(f32Type({rows}), 0.0),
                      [&](Value step, Value sums) {
                        step = getStepOfBlock(step);
                        Value tk = loadTile(k, keys, getFirstKey(step), kvHead);
                        return addColumns(buildGradient(tk, step), sums);
                      });
  sums =
      b.createOrFold<arith::MulFOp>(sums, splat(f32Type({rows}), getFactor()));
  storeRows(sums, getArgument("parts"), firstRow, head);
}

void fa4::buildCaptureProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                              const BackwardTiles &tiles, unsigned capture) {
  CaptureProgram(op, kernel, tiles, capture).build();
}
