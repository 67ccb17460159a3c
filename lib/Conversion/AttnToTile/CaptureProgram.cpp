//===- CaptureProgram.cpp - tile programs of captures' gradients ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureProgram.h"
#include "ScoreGradientProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

private:
  /// Adds the part of a block of keys to the sums.
  Value buildStep(Value step, Value sums);
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

Value CaptureProgram::buildStep(Value step, Value sums) {
  Value tk = loadTile(kernel.getArgument(1), keys, getFirstKey(step), kvHead);
  return vector::MultiDimReductionOp::create(b, buildGradient(tk, step), sums,
                                             ArrayRef<bool>{false, true},
                                             vector::CombiningKind::ADD);
}

void CaptureProgram::build() {
  auto arguments = kernel.getArguments();
  computePosition(/*q=*/arguments[0], /*k=*/arguments[1]);
  computeKeyBlocks();
  loadRowsOfTile();
  auto loop =
      scf::ForOp::create(b, zero, numBlocks, one, splat(f32Type({rows}), 0.0));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        b, buildStep(loop.getInductionVar(), loop.getRegionIterArg(0)));
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
