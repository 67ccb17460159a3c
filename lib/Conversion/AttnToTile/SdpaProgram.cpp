//===- SdpaProgram.cpp - the tile program of attention ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SdpaProgram.h"
#include "CaptureReads.h"
#include "SoftmaxProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// The largest number of f32, scaled by it, is below the limits of exponents of
/// bf16 and near that of f16. A quotient of less would be
/// flushed to zero where it divides by more than 2^126 (PTX ISA, div.approx),
/// and 0 times the score of a hidden key is not a number.
static constexpr double kLeastFactor = 0x1p-98;

/// Returns true if a term may be such a number: a product with another one
/// would be infinite.
static bool mayHideKeys(const ScoreTerm &term) {
  return !holdsForSlice(term.number, [](Value value) {
    Operation *def = value.getDefiningOp();
    return def ? !isLargeNumber(*def) &&
                     !(getReadTensor(def) && isFloatOrTile(value.getType()))
               : !isFloatOrTile(value.getType());
  });
}

namespace {
class SdpaProgram : SoftmaxProgram {
public:
  SdpaProgram(SdpaOp op, tile::KernelOp kernel, const AttentionTiles &tiles,
              const std::optional<DividedKeys> &divided)
      : SoftmaxProgram(op, kernel, tiles.rows, tiles.keys),
        terms(divided ? nullptr : findScoreTerms(op.getScoreMod())),
        scale(chooseScoreScale(op, terms.get())) {
    if (divided)
      divideKeys(*divided);
    q = getArgument("q");
    k = getArgument("k");
    v = getArgument("v");
    sinks = getArgument("sinks");
    headDim = cast<MemRefType>(v.getType()).getShape().back();
    scalesWithTerm =
        terms && !scale.before && llvm::any_of(terms->score.terms, mayHideKeys);
    if (scalesWithTerm)
      scale = {scale.exponent / kLog2E, kLog2E};
  }

  void build();

private:
  SoftmaxState buildLoop(Value queries);
  Value getOwnTerms();
  Value keepEmptyRows(Value max, Value factor);
  SoftmaxState buildStep(Value queries, Value j,
                         std::optional<SoftmaxState> state);
  Value applyScoreMod(Value scores, ArrayRef<TileValue> arguments);
  Value addScoreTerms(Value scores, ArrayRef<TileValue> arguments);
  void store(SoftmaxState state);
  void storeSplit(SoftmaxState state);

  VectorType f32Tile(int64_t columns) { return f32Type({rows, columns}); }

  int64_t headDim; ///< Of v and out.
  /// score_mod, if it is linear and no other CTA works on the row; null if
  /// there is none.
  std::unique_ptr<ScoreTerms> terms;
  ScoreScale scale;
  /// True if the product with scale.before is that which adds the first term.
  bool scalesWithTerm;
  Value q, k, v;
  Value sinks; ///< Null if there are none.

  /// The operands that all exponents of a row share: an exponent is `fma(score,
  /// factor, shift)`.
  struct Exponent {
    Value factor, shift;
  };
  Exponent buildExponent(Value reference);
};
} // namespace

/// In a row whose reference m is beyond the limit, the rounding error of m
/// would overflow. Two different scores differ by so much there that the
/// largest one alone has a weight, and the others 0: all that exponents must
/// keep is which scores are the largest. The largest power of two `t` of at
/// most `min(1, limit / abs(m))` brings them below the limit:
///
///     fma(score, c * t, -m * t)
///
/// Both products are exact, so that the largest score's exponent is t times the
/// rounding error of m, as much as at the limit.
SdpaProgram::Exponent SdpaProgram::buildExponent(Value reference) {
  Value shift = arith::NegFOp::create(b, reference);
  if (!hasFullRange)
    return {splat(f32Tile(keys), scale.exponent), overColumns(shift, keys)};
  Value magnitude = math::AbsFOp::create(b, reference);
  Value quotient =
      arith::DivFOp::create(b, splat(f32Rows(), exponentLimit), magnitude);
  Value t = arith::MinimumFOp::create(b, quotient, splat(f32Rows(), 1.0));
  t = arith::MaximumFOp::create(b, t, splat(f32Rows(), kLeastFactor));
  // Without the mantissa.
  auto words = VectorType::get({rows}, b.getI32Type());
  Value exponentField = arith::ConstantOp::create(
      b, DenseElementsAttr::get(words, b.getI32IntegerAttr(0x7f800000)));
  t = arith::BitcastOp::create(
      b, f32Rows(),
      arith::AndIOp::create(b, arith::BitcastOp::create(b, words, t),
                            exponentField));
  Value factor = arith::MulFOp::create(b, splat(f32Rows(), scale.exponent), t);
  shift = arith::MulFOp::create(b, shift, t);
  return {overColumns(factor, keys), overColumns(shift, keys)};
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// What queries have beyond the tile's first one is added to the LSE. A number
/// that hides keys, such as -1e38, is added to the scaled scores: divided by
/// the scale, it would be infinite.
Value SdpaProgram::addScoreTerms(Value scores, ArrayRef<TileValue> arguments) {
  SmallVector<TileTerm> all = buildTermsOfBlock(*terms, scale.unit, arguments);
  if (scalesWithTerm) {
    // A term that has no weight needs no product of its own.
    auto *first = llvm::find_if_not(all, isWeighted);
    std::swap(all.front(), first == all.end() ? all.front() : *first);
    Value term = multiplyTerm(all.front(), rows, keys);
    scores = math::FmaOp::create(b, scores, splat(f32Tile(keys), *scale.before),
                                 term);
    all.erase(all.begin());
  }
  return addTerms(all, {scores, /*overRows=*/true, /*overColumns=*/true}, rows,
                  keys);
}

Value SdpaProgram::applyScoreMod(Value scores, ArrayRef<TileValue> arguments) {
  Region &region = op.getScoreMod();
  if (region.empty())
    return scores;
  if (terms)
    return addScoreTerms(scores, arguments);
  return inlineScoreMod(region, scores, arguments,
                        findScoreProduct(region).number)
      .front();
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Returns what scores of a linear score_mod lack, the numbers that their query
/// adds; null if it adds none.
Value SdpaProgram::getOwnTerms() {
  if (!terms || !terms->score.hasTerm(movesRows))
    return Value();
  return sumOwnTerms(*terms, firstRow, firstRow, rows);
}

/// Builds the state behind block j. The state before is absent if there is only
/// one block.
SoftmaxState SdpaProgram::buildStep(Value queries, Value j,
                                    std::optional<SoftmaxState> state) {
  j = getStepOfBlock(j);
  Value firstKey = mul(sub(lastBlock, j), index(keys));
  Value tk = loadTile(k, keys, firstKey, kvHead);
  Value scores = tile::MmaOp::create(
      b, f32Tile(keys), queries, tk, /*acc=*/Value(), /*accumulate=*/Value(),
      /*transpose_a=*/false, /*transpose_b=*/true);
  if (scale.before && !scalesWithTerm)
    scores =
        arith::MulFOp::create(b, scores, splat(f32Tile(keys), *scale.before));
  SmallVector<TileValue> arguments = getArgumentsOfBlock(firstKey);
  scores = maskSteps(applyScoreMod(scores, arguments), j, ofBand, ofMask,
                     arguments, [&] { return visibleKeys(firstKey); });

  SoftmaxState next;
  Value rowZero = splat(f32Rows(), 0.0);
  // A row that sees a score which is NaN must give NaN, so this maximum
  // propagates NaN.
  Value blockMax = vector::MultiDimReductionOp::create(
      b, scores, splat(f32Rows(), -kInfinity), ArrayRef<bool>{false, true},
      vector::CombiningKind::MAXIMUMF);
  next.max =
      arith::MulFOp::create(b, blockMax, splat(f32Rows(), scale.exponent));
  if (state)
    next.max = arith::MaximumFOp::create(b, state->max, next.max);
  Value reference = getReference(next.max);
  Value factor, normalizer = rowZero;
  if (state)
    factor = math::Exp2Op::create(
        b, arith::SubFOp::create(b, state->max, reference));
  if (split && state)
    factor = keepEmptyRows(state->max, factor);

  Exponent exponent = buildExponent(reference);
  Value exponents =
      math::FmaOp::create(b, scores, exponent.factor, exponent.shift);
  Value p = math::Exp2Op::create(b, exponents);
  Value narrow = round(p, v);
  if (state)
    normalizer = arith::MulFOp::create(b, state->normalizer, factor);
  next.normalizer = vector::MultiDimReductionOp::create(
      b, p, normalizer, ArrayRef<bool>{false, true},
      vector::CombiningKind::ADD);

  Value tv = loadTile(v, keys, firstKey, kvHead);
  Value rescaled;
  if (state && state->sum)
    rescaled =
        arith::MulFOp::create(b, state->sum, overColumns(factor, headDim));
  next.sum = tile::MmaOp::create(b, f32Tile(headDim), narrow, tv, rescaled,
                                 /*accumulate=*/Value(), /*transpose_a=*/false,
                                 /*transpose_b=*/false);
  return next;
}

/// Returns 1 in rows that have summed nothing: 0 stays 0, and nobody needs to
/// read it. tile-lazy-rescale does the same where results do not depend on the
/// maximum, but a split stores it.
Value SdpaProgram::keepEmptyRows(Value max, Value factor) {
  Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max,
                                        splat(f32Rows(), -kInfinity));
  return arith::SelectOp::create(b, isEmpty, splat(f32Rows(), 1.0), factor);
}

SoftmaxState SdpaProgram::buildLoop(Value queries) {
  std::optional<SoftmaxState> start;
  if (sinks) {
    // As scores do, the sink lacks what the query adds.
    Value rowSinks = widen(readNumber(sinks, head, rows));
    if (Value own = getOwnTerms())
      rowSinks = arith::SubFOp::create(b, rowSinks, own);
    start = startWithSink(rowSinks);
  }
  // A single block is computed without a loop: folding a loop of one step would
  // leave a sum whose first term is zero times a factor.
  if (getConstantIntValue(numBlocks) == int64_t(1))
    return buildStep(queries, zero, start);
  Value init[] = {splat(f32Tile(headDim), 0.0),
                  start ? start->max : splat(f32Rows(), -kInfinity),
                  start ? start->normalizer : splat(f32Rows(), 0.0)};
  ValueRange last = repeat(
      numBlocks, init, [&](Value j, ValueRange before) -> SmallVector<Value> {
        SoftmaxState next = buildStep(
            queries, j, SoftmaxState{before[0], before[1], before[2]});
        return {next.sum, next.max, next.normalizer};
      });
  return {last[0], last[1], last[2]};
}

void SdpaProgram::store(SoftmaxState state) {
  storeTile(computeOut(state), out, firstRow, head);
  if (lse)
    storeRows(computeLse(state, getOwnTerms()), lse, firstRow, head);
}

/// What the merge kernel goes on with.
void SdpaProgram::storeSplit(SoftmaxState state) {
  SmallVector<Value> at = {batch, workHead, split, zero};
  auto storeNumbers = [&](Value values, StringRef name) {
    tile::StoreOp::create(b, values, getArgument(name), at, /*to=*/Value(),
                          /*dims=*/DenseI64ArrayAttr());
  };
  storeNumbers(state.max, kSplitMax);
  storeNumbers(state.normalizer, kSplitNormalizer);
  at.push_back(zero);
  storeNumbers(state.sum, kSplitSum);
}

void SdpaProgram::build() {
  computePosition(q, k);
  computeKeyBlocks();
  SoftmaxState state = buildLoop(loadQueries(q));
  if (split)
    storeSplit(state);
  else
    store(state);
}

void fa4::buildSdpaProgram(SdpaOp op, tile::KernelOp kernel,
                           const AttentionTiles &tiles,
                           const std::optional<DividedKeys> &divided) {
  SdpaProgram(op, kernel, tiles, divided).build();
}
