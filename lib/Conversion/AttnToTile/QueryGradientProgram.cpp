//===- QueryGradientProgram.cpp - the tile program of dq ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryGradientProgram.h"
#include "ScoreGradientProgram.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
/// Rows of tiles are queries, so that the accumulator of dq stays in tensor
/// memory, and no other CTA adds to it.
class QueryGradientProgram : ScoreGradientProgram {
public:
  QueryGradientProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                       const BackwardTiles &tiles)
      : ScoreGradientProgram(op, kernel, tiles.queryRows, tiles.queryKeys,
                             /*wrt=*/0),
        factor(getGradientScale(op)) {}

  void build();

private:
  /// Adds the part of a block of keys to the sums of dq.
  Value buildStep(Value step, Value sums);

  double factor;
};
} // namespace

Value QueryGradientProgram::buildStep(Value step, Value sums) {
  step = getStepOfBlock(step);
  Value tk = loadTile(getArgument("k"), keys, getFirstKey(step), kvHead);
  Value ds = round(buildGradient(tk, step), getArgument("q"));
  return tile::MmaOp::create(b, cast<VectorType>(sums.getType()), ds, tk, sums,
                             /*accumulate=*/Value(), /*transpose_a=*/false,
                             /*transpose_b=*/false);
}

void QueryGradientProgram::build() {
  Value q = getArgument("q"), dq = getArgument("dq");
  computePosition(q, getArgument("k"));
  computeKeyBlocks();
  loadRowsOfTile();
  VectorType type =
      f32Type({rows, cast<MemRefType>(q.getType()).getShape().back()});
  Value sums = repeat(numBlocks, splat(type, 0.0), [&](Value step, Value sums) {
    return buildStep(step, sums);
  });
  Value scaled = arith::MulFOp::create(b, sums, splat(type, factor));
  storeTile(round(scaled, dq), dq, firstRow, head);
}

void fa4::buildQueryGradientProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                    const BackwardTiles &tiles) {
  QueryGradientProgram(op, kernel, tiles).build();
}
