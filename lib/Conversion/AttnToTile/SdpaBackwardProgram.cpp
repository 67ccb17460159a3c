//===- SdpaBackwardProgram.cpp - the gradient's tile programs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SdpaBackwardProgram.h"
#include "AttentionProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// Before and after
//===----------------------------------------------------------------------===//

namespace {
/// The kernels that work on each row of queries by itself.
class RowProgram : AttentionProgram {
public:
  RowProgram(SdpaBackwardOp op, tile::KernelOp kernel, int64_t rows)
      : AttentionProgram(op, kernel), op(op), rows(rows),
        firstRow(takeWorkTile(rows)) {}

  void preprocess();
  void postprocess();

private:
  Value widen(Value tile) {
    auto type = cast<VectorType>(tile.getType());
    if (type.getElementType().isF32())
      return tile;
    return arith::ExtFOp::create(b, f32Type(type.getShape()), tile);
  }

  SdpaBackwardOp op;
  int64_t rows;
  Value firstRow;
};
} // namespace

void RowProgram::preprocess() {
  auto arguments = kernel.getArguments();
  Value out = arguments[0], dout = arguments[1], lse = arguments[2];
  Value dlse = op.getDlse() ? arguments[3] : BlockArgument();
  ValueRange results = arguments.take_back(3);
  VectorType rowType = f32Type({rows});

  Value rowLse = loadRows(lse, rows, firstRow, head);
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, rowLse,
                                      splat(rowType, -kInfinity));
  Value shift = arith::MulFOp::create(b, rowLse, splat(rowType, -kLog2E));
  shift = arith::SelectOp::create(b, empty, splat(rowType, -kInfinity), shift);
  storeRows(shift, results[0], firstRow, head);

  Value product =
      arith::MulFOp::create(b, widen(loadTile(dout, rows, firstRow, head)),
                            widen(loadTile(out, rows, firstRow, head)));
  Value delta = vector::MultiDimReductionOp::create(
      b, product, splat(rowType, 0.0), ArrayRef<bool>{false, true},
      vector::CombiningKind::ADD);
  if (dlse)
    delta =
        arith::SubFOp::create(b, delta, loadRows(dlse, rows, firstRow, head));
  storeRows(delta, results[1], firstRow, head);

  int64_t headDim = cast<MemRefType>(results[2].getType()).getShape().back();
  storeTile(splat(f32Type({rows, headDim}), 0.0), results[2], firstRow, head);
}

void RowProgram::postprocess() {
  Value sums = kernel.getArgument(0), dq = kernel.getArgument(1);
  Value tile = loadTile(sums, rows, firstRow, head);
  Value factor = splat(cast<VectorType>(tile.getType()), getScale(op));
  Value scaled = arith::MulFOp::create(b, tile, factor);
  storeTile(round(scaled, dq), dq, firstRow, head);
}

//===----------------------------------------------------------------------===//
// The main kernel
//===----------------------------------------------------------------------===//

namespace {
/// The scores are transposed: rows of tiles are keys, columns are queries, so
/// that both accumulators, of dk and dv, have keys as rows.
class SdpaBackwardProgram : AttentionProgram {
public:
  SdpaBackwardProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                      const BackwardTiles &tiles)
      : AttentionProgram(op, kernel), op(op), keys(tiles.keys),
        queries(tiles.queries), scale(chooseScoreScale(op)) {
    auto arguments = kernel.getArguments();
    q = arguments[0];
    k = arguments[1];
    v = arguments[2];
    dout = arguments[3];
    shift = arguments[4];
    delta = arguments[5];
    sums = arguments[6];
    dk = arguments[7];
    dv = arguments[8];
  }

  void build();

private:
  /// The gradients of the keys and values of the work tile so far.
  struct KeyGradients {
    Value dk, dv;
  };

  void computePosition();
  void computeQueryBlocks();
  KeyGradients buildLoop(Value tk, Value tv);
  KeyGradients buildStep(Value tk, Value tv, Value step,
                         const KeyGradients &state);
  Value visibleQueries(Value firstQuery);
  void store(const KeyGradients &state);

  VectorType f32Tile() { return f32Type({keys, queries}); }
  Value product(VectorType type, Value x, bool transposeX, Value y,
                bool transposeY, Value acc = Value()) {
    return tile::MmaOp::create(b, type, x, y, acc, /*accumulate=*/Value(),
                               transposeX, transposeY);
  }

  SdpaBackwardOp op;
  int64_t keys, queries;
  ScoreScale scale;
  Value q, k, v, dout, shift, delta, sums, dk, dv;

  Value kvHead, group;
  Value firstKey, numQueries, numKeys;
  /// The blocks of queries from firstBlock on hold every query that sees a key
  /// of the tile. The heads of the group take turns: step s works on the block
  /// firstBlock + s / group.
  Value firstBlock, numSteps;
  /// The steps below maskedBelow and from maskedFrom on are masked; null if
  /// there are none.
  Value maskedBelow, maskedFrom;
  /// The key of row r of the tile is seen by the queries from firstSeeing + r
  /// up to lastSeeing + r. Null if there is no such bound.
  Value firstSeeing, lastSeeing;
};
} // namespace

void SdpaBackwardProgram::computePosition() {
  firstKey = takeWorkTile(keys);
  kvHead = head;
  group = headsOfGroup(q, k);
  numQueries = size(q, order.seq);
  numKeys = size(k, order.seq);
}

/// If no query sees a key of the tile, one block remains, in which all are
/// masked.
void SdpaBackwardProgram::computeQueryBlocks() {
  MaskAttr mask = op.getMaskAttr();
  Value endBlock = ceilDiv(numQueries, queries);
  Value lastBlock = sub(endBlock, one);
  Value fullFrom, fullBelow;
  firstBlock = zero;
  if (mask) {
    Value onDiagonal = sub(firstKey, diagonal(numQueries, numKeys));
    if (mask.getRight()) {
      firstSeeing = sub(onDiagonal, index(*mask.getRight()));
      firstBlock = min(max(floorDiv(firstSeeing, queries), 0), lastBlock);
      fullFrom = ceilDiv(add(firstSeeing, keys - 1), queries);
    }
    if (mask.getLeft()) {
      lastSeeing = add(onDiagonal, *mask.getLeft());
      Value end = ceilDiv(add(lastSeeing, keys), queries);
      endBlock = max(min(end, endBlock), add(firstBlock, one));
      fullBelow = floorDiv(add(lastSeeing, 1), queries);
    }
  }
  // Where there are fewer keys than rows, all blocks are masked.
  std::optional<int64_t> known = getConstantIntValue(numKeys);
  if (!known || *known % keys != 0) {
    Value isCut = less(add(firstKey, keys), numKeys, arith::CmpIPredicate::sgt);
    fullFrom = arith::SelectOp::create(b, isCut, endBlock,
                                       fullFrom ? fullFrom : firstBlock);
  }
  auto stepOf = [&](Value block) { return mul(sub(block, firstBlock), group); };
  if (fullFrom)
    maskedBelow = stepOf(fullFrom);
  if (fullBelow)
    maskedFrom = stepOf(fullBelow);
  // There is always a block; the maximum says so to whom the sizes do not.
  numSteps = max(stepOf(endBlock), 1);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Builds one comparison for each side of the band: the column against a limit
/// of the row. No query sees a key behind the last one.
Value SdpaBackwardProgram::visibleQueries(Value firstQuery) {
  using Predicate = arith::CmpIPredicate;
  auto rowType = VectorType::get({keys}, b.getIndexType());
  auto tileType = VectorType::get({keys, queries}, b.getIndexType());
  auto overRow = [&](Value scalar) -> Value {
    return vector::BroadcastOp::create(b, rowType, scalar);
  };
  Value columns = vector::BroadcastOp::create(
      b, tileType,
      vector::StepOp::create(b, VectorType::get({queries}, b.getIndexType())));
  Value isKey = less(vector::StepOp::create(b, rowType),
                     overRow(sub(numKeys, firstKey)), Predicate::slt);
  if (!firstSeeing && !lastSeeing)
    return overColumns(isKey, queries);
  Value first = firstSeeing ? positions(keys, sub(firstSeeing, firstQuery))
                            : overRow(zero);
  first = arith::SelectOp::create(b, isKey, first, overRow(index(queries)));
  Value visible = less(columns, overColumns(first, queries), Predicate::sge);
  if (!lastSeeing)
    return visible;
  Value last = positions(keys, sub(lastSeeing, firstQuery));
  Value notBehind = less(columns, overColumns(last, queries), Predicate::sle);
  return arith::AndIOp::create(b, visible, notBehind);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Builds the work on one block of queries of one head.
SdpaBackwardProgram::KeyGradients
SdpaBackwardProgram::buildStep(Value tk, Value tv, Value step,
                               const KeyGradients &state) {
  Value passed = fold<arith::DivUIOp>(step, group);
  Value block = add(firstBlock, passed);
  Value queryHead = add(mul(kvHead, group), sub(step, mul(passed, group)));
  Value firstQuery = mul(block, index(queries));

  // P^T = exp2(c S^T + shift)
  Value tq = loadTile(q, queries, firstQuery, queryHead);
  Value scores = product(f32Tile(), tk, false, tq, true);
  if (scale.before)
    scores = arith::MulFOp::create(b, scores, splat(f32Tile(), *scale.before));
  Value exponents = math::FmaOp::create(
      b, scores, splat(f32Tile(), scale.exponent),
      overRows(loadRows(shift, queries, firstQuery, queryHead), keys));
  // The exponents are masked, and not the scores, because ptxas 13.0 spills
  // less so.
  exponents = maskSteps(exponents, step, maskedBelow, maskedFrom,
                        [&] { return visibleQueries(firstQuery); });
  Value p = math::Exp2Op::create(b, exponents);

  // dV += P^T dO
  Value tdo = loadTile(dout, queries, firstQuery, queryHead);
  KeyGradients next;
  next.dv = product(cast<VectorType>(state.dv.getType()), round(p, q), false,
                    tdo, false, state.dv);

  // dS^T = P^T (V dO^T - delta)
  Value dp = product(f32Tile(), tv, false, tdo, true);
  Value difference = arith::SubFOp::create(
      b, dp, overRows(loadRows(delta, queries, firstQuery, queryHead), keys));
  Value ds = round(arith::MulFOp::create(b, p, difference), q);

  // dK += dS^T Q, dQ += dS K
  next.dk = product(cast<VectorType>(state.dk.getType()), ds, false, tq, false,
                    state.dk);
  int64_t headDim = cast<VectorType>(tk.getType()).getShape().back();
  Value part = product(f32Type({queries, headDim}), ds, true, tk, false);
  tile::ReduceAddOp::create(b, part, sums, indices(firstQuery, queryHead),
                            tileDims());
  return next;
}

SdpaBackwardProgram::KeyGradients SdpaBackwardProgram::buildLoop(Value tk,
                                                                 Value tv) {
  auto zeros = [&](Value tile) {
    return splat(f32Type(cast<VectorType>(tile.getType()).getShape()), 0.0);
  };
  auto loop = scf::ForOp::create(b, zero, numSteps, one,
                                 ValueRange{zeros(tk), zeros(tv)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange carried = loop.getRegionIterArgs();
  KeyGradients next =
      buildStep(tk, tv, loop.getInductionVar(), {carried[0], carried[1]});
  scf::YieldOp::create(b, ValueRange{next.dk, next.dv});
  return {loop.getResult(0), loop.getResult(1)};
}

void SdpaBackwardProgram::store(const KeyGradients &state) {
  storeTile(round(state.dv, dv), dv, firstKey, kvHead);
  Value factor = splat(cast<VectorType>(state.dk.getType()), getScale(op));
  Value scaled = arith::MulFOp::create(b, state.dk, factor);
  storeTile(round(scaled, dk), dk, firstKey, kvHead);
}

void SdpaBackwardProgram::build() {
  computePosition();
  computeQueryBlocks();
  Value tk = loadTile(k, keys, firstKey, kvHead);
  Value tv = loadTile(v, keys, firstKey, kvHead);
  store(buildLoop(tk, tv));
}

void fa4::buildPreprocessProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                 const BackwardTiles &tiles) {
  RowProgram(op, kernel, tiles.queries).preprocess();
}

void fa4::buildSdpaBackwardProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                   const BackwardTiles &tiles) {
  SdpaBackwardProgram(op, kernel, tiles).build();
}

void fa4::buildPostprocessProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                  const BackwardTiles &tiles) {
  RowProgram(op, kernel, tiles.queries).postprocess();
}
