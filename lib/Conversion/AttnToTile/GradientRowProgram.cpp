//===- GradientRowProgram.cpp - before and after the main kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientRowProgram.h"
#include "ModProgram.h"
#include "QueryTerms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

namespace {
/// The kernels that work on each row of queries by itself.
class RowProgram : ModProgram {
public:
  RowProgram(SdpaBackwardOp op, tile::KernelOp kernel,
             const BackwardTiles &tiles)
      : ModProgram(op, kernel), op(op), rows(tiles.rows),
        firstRow(takeWorkTile(rows)), terms(findScoreTerms(op.getScoreMod())) {}

  void clear();
  void preprocess();
  void postprocess();

private:
  Value isEmpty(Value rowLse);
  Value isBeyondLse(Value shift);

  SdpaBackwardOp op;
  int64_t rows;
  Value firstRow;
  Value numQueries; ///< Of the work tile's sequence.
  std::unique_ptr<ScoreTerms> terms;
};
} // namespace

/// An LSE that is at least this large has a rounding error that changes
/// probabilities by a factor of two or more, in f32 up to infinity.
static constexpr double kLargestLse = 0x1p24;

/// Builds the condition that an LSE (in units of log2) is so large that
/// probabilities cannot be computed from it. A score_mod that masks a whole
/// row, by -1e10 for example, makes such an LSE. The row's gradient is then 0,
/// as if the row saw no key; otherwise it would spoil the gradients of all
/// keys.
Value RowProgram::isBeyondLse(Value shift) {
  VectorType rowType = f32Type({rows});
  Value magnitude = math::AbsFOp::create(b, shift);
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, magnitude,
                               splat(rowType, kLargestLse));
}

/// Builds the condition that a row sees no key, or lies behind the last one.
Value RowProgram::isEmpty(Value rowLse) {
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, rowLse,
                                      splat(f32Type({rows}), -kInfinity));
  Value end = vector::BroadcastOp::create(
      b, VectorType::get({rows}, b.getIndexType()), numQueries);
  Value isBehind =
      less(positions(rows, firstRow), end, arith::CmpIPredicate::sge);
  return arith::OrIOp::create(b, empty, isBehind);
}

/// Stores zeros to all arguments: numbers of rows that no work tile of packed
/// sequences writes are read, and multiplied by probabilities of 0.
void RowProgram::clear() {
  for (Value memref : kernel.getArguments()) {
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<int64_t> shape = {rows};
    bool hasColumns = type.getRank() > order.lseRank();
    if (hasColumns)
      shape.push_back(type.getShape().back());
    auto tile = VectorType::get(shape, type.getElementType());
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(tile));
    if (hasColumns)
      storeTerms(b, zeros, memref, rowIndices(memref, firstRow, head),
                 /*to=*/Value());
    else
      storeRows(zeros, memref, firstRow, head);
  }
}

void RowProgram::preprocess() {
  Value out = getArgument("out"), dout = getArgument("dout");
  VectorType rowType = f32Type({rows});
  numQueries = countQueries(out);

  Value rowLse = readRows(getArgument("lse"), rows, firstRow, head);
  Value empty = isEmpty(rowLse);
  Value shift = arith::MulFOp::create(b, rowLse, splat(rowType, -kLog2E));
  if (!op.getScoreMod().empty())
    empty = arith::OrIOp::create(b, empty, isBeyondLse(shift));
  Value none = splat(rowType, -kInfinity);
  shift = arith::SelectOp::create(b, empty, none, shift);
  if (Value result = getArgument("shift"))
    storeRows(shift, result, firstRow, head);
  // Other kernels compute scores without the numbers that queries have of their
  // own. The tile's first query is the reference there (SdpaBackwardProgram).
  if (terms && terms->score.hasTerm(movesRows))
    shift =
        math::FmaOp::create(b, sumOwnTerms(*terms, firstRow, firstRow, rows),
                            splat(rowType, kLog2E), shift);
  if (Value result = getArgument("moved_shift"))
    storeRows(shift, result, firstRow, head);

  Value product =
      arith::MulFOp::create(b, widen(loadTile(dout, rows, firstRow, head)),
                            widen(loadTile(out, rows, firstRow, head)));
  Value delta = addColumns(product, splat(rowType, 0.0));
  if (op.getDlse())
    delta = arith::SubFOp::create(
        b, delta, readRows(getArgument("dlse"), rows, firstRow, head));
  if (Value result = getArgument("delta"))
    storeRows(delta, result, firstRow, head);
  if (Value result = getArgument("terms")) {
    // What MMAs add is multiplied by the factor of q.k in exponents.
    ScoreScale scale = chooseScoreScale(op, terms.get());
    Value factor = splat(rowType, 1 / scale.exponent);
    Value ofScores = arith::MulFOp::create(b, shift, factor);
    Value ofGradient = arith::SubFOp::create(b, splat(rowType, 0.0), delta);
    storeTerms(b, packTerms(b, ofScores, ofGradient), result,
               rowIndices(result, firstRow, head), paddedRows.end);
  }

  if (Value sums = getArgument("sums")) {
    int64_t headDim = cast<MemRefType>(sums.getType()).getShape().back();
    storeTile(splat(f32Type({rows, headDim}), 0.0), sums, firstRow, head);
  }
  if (Value turns = getArgument("turns")) {
    auto counts = VectorType::get({rows}, b.getI32Type());
    storeRows(arith::ConstantOp::create(b, b.getZeroAttr(counts)), turns,
              firstRow, head);
  }
}

void RowProgram::postprocess() {
  Value sums = getArgument("sums"), dq = getArgument("dq");
  Value tile = loadTile(sums, rows, firstRow, head);
  Value factor = splat(cast<VectorType>(tile.getType()), getGradientScale(op));
  Value scaled = arith::MulFOp::create(b, tile, factor);
  storeTile(round(scaled, dq), dq, firstRow, head);
}

void fa4::buildClearProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                            const BackwardTiles &tiles) {
  RowProgram(op, kernel, tiles).clear();
}

void fa4::buildPreprocessProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                 const BackwardTiles &tiles) {
  RowProgram(op, kernel, tiles).preprocess();
}

void fa4::buildPostprocessProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                  const BackwardTiles &tiles) {
  RowProgram(op, kernel, tiles).postprocess();
}
