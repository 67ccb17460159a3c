//===- SdpaBackwardProgram.cpp - the gradient's tile programs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SdpaBackwardProgram.h"
#include "KeyTileProgram.h"
#include "PositionForms.h"
#include "QueryTerms.h"
#include "ScoreDerivative.h"
#include "TileBuilders.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// The main kernel
//===----------------------------------------------------------------------===//

namespace {
/// The scores are transposed: rows of tiles are keys, columns are queries, so
/// that both accumulators, of dk and dv, have keys as rows.
class SdpaBackwardProgram : KeyTileProgram {
public:
  SdpaBackwardProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                      const BackwardTiles &tiles)
      : KeyTileProgram(op, kernel, tiles.keys, tiles.queries), op(op),
        sumQueries(tiles.sumQueries), sumColumns(tiles.sumColumns),
        reference(tiles.rows), linear(findScoreTerms(op.getScoreMod())),
        scale(chooseScoreScale(op, linear.get())) {
    v = getArgument("v");
    dout = getArgument("dout");
    shift = getArgument("shift");
    delta = getArgument("delta");
    terms = getArgument("terms");
    if (!tiles.hasQueryKernel())
      sums = getArgument("sums");
    dk = getArgument("dk");
    dv = getArgument("dv");
    if (sums && op.getDeterministic())
      turns = getArgument("turns");
    if (linear) {
      mayBeInfinite = !linear->isFinite();
    } else if (Region &region = op.getScoreMod(); !region.empty()) {
      derived.emplace(region);
      mayBeInfinite = !derived->isFinite();
    }
  }

  void build();

private:
  /// The gradients of the keys and values of the work tile so far.
  struct KeyGradients {
    Value dk, dv;
  };

  KeyGradients buildLoop(Value tk, Value tv);
  KeyGradients buildStep(Value tk, Value tv, Value step,
                         const KeyGradients &state);
  void addToSums(Value part, Value block, Value queryHead, int64_t row,
                 int64_t column);
  SmallVector<Value> divideQueries(Value ds);
  void addQueryGradient(ArrayRef<Value> ds, Value tk, Value block,
                        Value queryHead);
  /// The exponents of a block, and the derivative of its scores, if that is
  /// not 1.
  struct Exponents {
    Value exponents, derivative;
  };
  /// What decides which scores of a block are masked: the step in which a loop
  /// over all blocks would work on it, and its first query.
  struct MaskedStep {
    Value step, firstQuery;
  };
  Exponents buildExponents(Value tk, Value tq, Value tterms,
                           const MaskedStep &masked, Value firstQuery,
                           Value queryHead);
  Value addShift(Value scores, Value firstQuery, Value queryHead);
  Value sumKeyTerms(Value firstQuery, ArrayRef<TileValue> arguments);
  Value addLinear(Value scores, Value firstQuery, Value queryHead,
                  ArrayRef<TileValue> arguments);
  Value buildProbabilityGradient(Value tv, Value tdo, Value tterms,
                                 Value firstQuery, Value queryHead);
  Value productWithTerm(Value x, Value y, Value tterms, QueryTerm term);
  /// score_mod with its derivative, if the op has one that is not linear.
  std::optional<ScoreDerivative> derived;
  void store(const KeyGradients &state);

  VectorType f32Tile() { return f32Type({keys, queries}); }
  Value product(VectorType type, Value x, bool transposeX, Value y,
                bool transposeY, Value acc = Value()) {
    return tile::MmaOp::create(b, type, x, y, acc, /*accumulate=*/Value(),
                               transposeX, transposeY);
  }

  SdpaBackwardOp op;
  int64_t sumQueries, sumColumns;
  /// Of so many queries in a row, the first one is that of separable terms.
  int64_t reference;
  /// score_mod, if it is linear.
  std::unique_ptr<ScoreTerms> linear;
  ScoreScale scale;
  /// MMAs add `terms`, or lanes `shift` and `delta`; the others are null.
  /// `sums` is null, too, if dq has a kernel of its own.
  Value v, dout, shift, delta, terms, sums, dk, dv;
};
} // namespace

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Multiplies rows by rows, and adds a number of the query where MMAs do so.
Value SdpaBackwardProgram::productWithTerm(Value x, Value y, Value tterms,
                                           QueryTerm term) {
  Value added = tterms ? addTerm(b, term, tterms, keys) : Value();
  return product(f32Tile(), x, false, y, true, added);
}

Value SdpaBackwardProgram::addShift(Value scores, Value firstQuery,
                                    Value queryHead) {
  Value factor = splat(f32Tile(), scale.exponent);
  if (terms)
    return arith::MulFOp::create(b, scores, factor);
  return math::FmaOp::create(
      b, scores, factor,
      overRows(loadRows(shift, queries, firstQuery, queryHead), keys));
}

/// Returns what a linear score_mod adds to the exponents of a key, a row here:
/// one number for all queries of the tile. Null if there are no such terms.
Value SdpaBackwardProgram::sumKeyTerms(Value firstQuery,
                                       ArrayRef<TileValue> arguments) {
  if (!linear->score.hasTerm(isSeparable))
    return Value();
  SmallVector<TileValue> ofReference(arguments);
  Value first = firstQuery;
  if (queries != reference)
    first = mul(floorDiv(firstQuery, reference), index(reference));
  ofReference[kQuery] = {first};
  TileValue none = {splat(f32Type({keys}), 0.0), /*overRows=*/true};
  return addTerms(
      buildTerms(*linear, isSeparable, kLog2E, ofReference, keys, queries),
      none, keys, queries);
}

/// Adds the shift and the terms of a linear score_mod. Terms are computed
/// first: they may be read from memory.
Value SdpaBackwardProgram::addLinear(Value scores, Value firstQuery,
                                     Value queryHead,
                                     ArrayRef<TileValue> arguments) {
  SmallVector<TileTerm> mixed =
      buildTerms(*linear, isMixed, kLog2E, arguments, keys, queries);
  Value ofKeys = sumKeyTerms(firstQuery, arguments), sum;
  if (ofKeys && terms) {
    sum = math::FmaOp::create(b, scores, splat(f32Tile(), scale.exponent),
                              overColumns(ofKeys, queries));
  } else {
    sum = addShift(scores, firstQuery, queryHead);
    if (ofKeys)
      sum = arith::AddFOp::create(b, sum, overColumns(ofKeys, queries));
  }
  return addTerms(mixed, {sum, /*overRows=*/true, /*overColumns=*/true}, keys,
                  queries);
}

/// V dO^T - delta
Value SdpaBackwardProgram::buildProbabilityGradient(Value tv, Value tdo,
                                                    Value tterms,
                                                    Value firstQuery,
                                                    Value queryHead) {
  Value dp = productWithTerm(tv, tdo, tterms, QueryTerm::ProbabilityGradient);
  if (terms)
    return dp;
  return arith::SubFOp::create(
      b, dp, overRows(loadRows(delta, queries, firstQuery, queryHead), keys));
}

/// The exponents are masked rather than the scores, because ptxas 13.0 then
/// spills less.
SdpaBackwardProgram::Exponents
SdpaBackwardProgram::buildExponents(Value tk, Value tq, Value tterms,
                                    const MaskedStep &masked, Value firstQuery,
                                    Value queryHead) {
  Value scores = productWithTerm(tk, tq, tterms, QueryTerm::Scores);
  if (scale.before)
    scores = arith::MulFOp::create(b, scores, splat(f32Tile(), *scale.before));
  SmallVector<TileValue> arguments = getModArguments(
      batch, queryHead,
      {positions(queries, firstQuery), false, /*overColumns=*/true},
      {positions(keys, firstKey), /*overRows=*/true}, keys);
  Exponents result;
  Value exponents;
  if (linear) {
    exponents = addLinear(scores, firstQuery, queryHead, arguments);
  } else {
    ModifiedScores modified = applyScoreMod(derived, scores, arguments);
    result.derivative = modified.derivative;
    exponents = addShift(modified.scores, firstQuery, queryHead);
  }
  result.exponents = maskBlock(
      exponents, masked.step, ofBand, ofMask, arguments,
      [&] { return visibleQueries(masked.firstQuery); },
      /*inParts=*/bool(derived));
  return result;
}

//===----------------------------------------------------------------------===//
// Sums of dq
//===----------------------------------------------------------------------===//

/// Adds to the sums of a block of queries, from a column on. The place at which
/// work tiles take turns is the block's first row.
void SdpaBackwardProgram::addToSums(Value part, Value block, Value queryHead,
                                    int64_t row, int64_t column) {
  Value firstQuery = add(mul(block, index(queries)), row);
  Value turn;
  if (turns) {
    auto [first, last] = workTilesOf(block);
    turn = tile::AwaitTurnOp::create(
        b, tile::TurnType::get(b.getContext()), turns,
        rowIndices(turns, firstQuery, queryHead), tileIndex, first, last);
  }
  SmallVector<Value> place = indices(sums, firstQuery, queryHead);
  if (column != 0)
    place[order.dim] = index(column);
  tile::ReduceAddOp::create(b, part, sums, place,
                            /*to=*/queryTokens.end, turn, tileDims(sums));
  if (turns)
    tile::PassTurnOp::create(b, turn);
}

/// Returns the parts of dS^T with `sumQueries` queries.
SmallVector<Value> SdpaBackwardProgram::divideQueries(Value ds) {
  if (sumQueries == queries)
    return {ds};
  SmallVector<Value> parts;
  for (int64_t first = 0; first < queries; first += sumQueries)
    parts.push_back(slice(b, ds, 0, first, keys, sumQueries));
  return parts;
}

/// dQ += dS K, `sumQueries` rows of `sumColumns` columns at a time.
void SdpaBackwardProgram::addQueryGradient(ArrayRef<Value> ds, Value tk,
                                           Value block, Value queryHead) {
  int64_t headDim = cast<VectorType>(tk.getType()).getDimSize(1);
  for (int64_t column = 0; column < headDim; column += sumColumns) {
    int64_t count = std::min(sumColumns, headDim - column);
    Value columns = tk;
    if (count != headDim)
      columns = slice(b, tk, 0, column, keys, count);
    for (auto [number, rows] : llvm::enumerate(ds)) {
      Value part =
          product(f32Type({sumQueries, count}), rows, true, columns, false);
      addToSums(part, block, queryHead, number * sumQueries, column);
    }
  }
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Builds the work on one block of queries of one head.
SdpaBackwardProgram::KeyGradients
SdpaBackwardProgram::buildStep(Value tk, Value tv, Value step,
                               const KeyGradients &state) {
  Value passed = fold<arith::DivUIOp>(step, group);
  Value queryBlock = getQueryBlock(passed);
  Value queryHead = add(mul(kvHead, group), sub(step, mul(passed, group)));
  Value loaded = getLoadedBlock(queryBlock);
  Value firstQuery = mul(loaded, index(queries));
  MaskedStep masked = {getStepOfBlock(step, queryBlock), firstQuery};
  if (loaded != queryBlock)
    masked.firstQuery = mul(queryBlock, index(queries));

  // P^T = exp2(c score_mod(S^T) + shift)
  Value tq = loadTile(q, queries, firstQuery, queryHead);
  Value tterms = terms ? loadTerms(b, terms, queries,
                                   rowIndices(terms, firstQuery, queryHead))
                       : Value();
  Exponents block =
      buildExponents(tk, tq, tterms, masked, firstQuery, queryHead);
  Value p = math::Exp2Op::create(b, block.exponents);
  // The derivative is needed no longer once it has met the probabilities, which
  // leave their registers for the product.
  Value weights = multiplyDerivative(p, block.derivative, mayBeInfinite);

  // dV += P^T dO
  Value tdo = loadTile(dout, queries, firstQuery, queryHead);
  KeyGradients next;
  next.dv = product(cast<VectorType>(state.dv.getType()), round(p, q), false,
                    tdo, false, state.dv);

  // dS^T = P^T score_mod' (V dO^T - delta)
  Value difference =
      buildProbabilityGradient(tv, tdo, tterms, firstQuery, queryHead);
  Value ds = round(arith::MulFOp::create(b, weights, difference), q);

  // dK += dS^T Q, dQ += dS K
  SmallVector<Value> parts = divideQueries(ds);
  next.dk = product(cast<VectorType>(state.dk.getType()), ds, false, tq, false,
                    state.dk);
  if (!sums)
    return next;
  addQueryGradient(parts, tk, loaded, queryHead);
  return next;
}

SdpaBackwardProgram::KeyGradients SdpaBackwardProgram::buildLoop(Value tk,
                                                                 Value tv) {
  auto zeros = [&](Value tile) {
    return splat(f32Type(cast<VectorType>(tile.getType()).getShape()), 0.0);
  };
  Value init[] = {zeros(tk), zeros(tv)};
  ValueRange last = repeat(
      numSteps, init, [&](Value step, ValueRange before) -> SmallVector<Value> {
        KeyGradients next = buildStep(tk, tv, step, {before[0], before[1]});
        return {next.dk, next.dv};
      });
  return {last[0], last[1]};
}

void SdpaBackwardProgram::store(const KeyGradients &state) {
  storeTile(round(state.dv, dv), dv, firstKey, kvHead);
  Value factor =
      splat(cast<VectorType>(state.dk.getType()), getGradientScale(op));
  Value scaled = arith::MulFOp::create(b, state.dk, factor);
  storeTile(round(scaled, dk), dk, firstKey, kvHead);
}

void SdpaBackwardProgram::build() {
  computePosition();
  computeSteps();
  Value tk = loadTile(k, keys, firstKey, kvHead);
  Value tv = loadTile(v, keys, firstKey, kvHead);
  store(buildLoop(tk, tv));
}

void fa4::buildSdpaBackwardProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                   const BackwardTiles &tiles) {
  SdpaBackwardProgram(op, kernel, tiles).build();
}
