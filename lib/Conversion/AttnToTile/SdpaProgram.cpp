//===- SdpaProgram.cpp - the tile program of attention ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SdpaProgram.h"
#include "CaptureReads.h"
#include "QueryTileProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();
static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
/// The largest number of f32, scaled by it, is below the limits of exponents of
/// bf16 and near that of f16. A quotient of less would be
/// flushed to zero where it divides by more than 2^126 (PTX ISA, div.approx),
/// and 0 times the score of a hidden key is not a number.
static constexpr double kLeastFactor = 0x1p-98;

/// Numbers of a score_mod that are at least this large hide keys.
static constexpr double kLargeNumber = 0x1p16;

static bool isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

static bool isLargeNumber(Operation &op) {
  APFloat number(0.0f);
  APInt integer;
  if (matchPattern(&op, m_ConstantFloat(&number)))
    return number.isFinite() &&
           std::abs(number.convertToDouble()) >= kLargeNumber;
  return matchPattern(&op, m_ConstantInt(&integer)) &&
         integer.abs().uge(uint64_t(kLargeNumber));
}

/// Returns true if scores may exceed the limit of exponents although q and k
/// are ordinary numbers. This is so if a score_mod hides keys by a number such
/// as -1e10, which is a constant or captured.
static bool mayExceedLimit(SdpaOp op) {
  Region &region = op.getScoreMod();
  return !region.empty() &&
         (llvm::any_of(op.getCaptures().getTypes(), isFloat) ||
          llvm::any_of(region.front(), isLargeNumber));
}

/// Returns true if a term may be such a number: a product with another one
/// would be infinite.
static bool mayHideKeys(const ScoreTerm &term) {
  return !holdsForSlice(term.number, [](Value value) {
    Operation *def = value.getDefiningOp();
    return def ? !isLargeNumber(*def) &&
                     !(getReadTensor(def) && isFloat(value.getType()))
               : !isFloat(value.getType());
  });
}

namespace {
/// The values that the loop over key blocks carries.
struct SoftmaxState {
  /// The sum of p v: rows x head dim. Null if nothing has been added.
  Value sum;
  /// Row max of the scores so far, times scale.exponent, and row sum of p.
  Value max, normalizer;
};

class SdpaProgram : QueryTileProgram {
public:
  SdpaProgram(SdpaOp op, tile::KernelOp kernel, const AttentionTiles &tiles)
      : QueryTileProgram(op, kernel, tiles.rows, tiles.keys), op(op),
        terms(findScoreTerms(op.getScoreMod())),
        scale(chooseScoreScale(op, terms.get())),
        hasFullRange(mayExceedLimit(op)) {
    q = getArgument("q");
    k = getArgument("k");
    v = getArgument("v");
    out = getArgument("out");
    lse = op.hasLse() ? getArgument("lse") : Value();
    sinks = getArgument("sinks");
    headDim = cast<MemRefType>(v.getType()).getShape().back();
    chooseExponentLimit();
    scalesWithTerm =
        terms && !scale.before && llvm::any_of(terms->score.terms, mayHideKeys);
    if (scalesWithTerm)
      scale = {scale.exponent / kLog2E, kLog2E};
  }

  void build();

private:
  void chooseExponentLimit();
  SoftmaxState buildLoop(Value queries);
  SoftmaxState startWithSink();
  Value getReference(Value max);
  SoftmaxState buildStep(Value queries, Value j,
                         std::optional<SoftmaxState> state);
  Value applyScoreMod(Value scores, ArrayRef<TileValue> arguments);
  Value addScoreTerms(Value scores, ArrayRef<TileValue> arguments);
  Value rejectLargeScores(SoftmaxState state);
  void store(SoftmaxState state);

  VectorType f32Rows() { return f32Type({rows}); }
  VectorType f32Tile(int64_t columns) { return f32Type({rows, columns}); }

  SdpaOp op;
  int64_t headDim; ///< Of v and out.
  /// score_mod, if it is linear; null if there is none.
  std::unique_ptr<ScoreTerms> terms;
  ScoreScale scale;
  /// True if the product with scale.before is that which adds the first term.
  bool scalesWithTerm;
  Value q, k, v, out;
  Value lse, sinks; ///< Null if there are none.

  /// Bound of a row's largest exponent; see chooseExponentLimit.
  double exponentLimit;

  /// The operands that all exponents of a row share: an exponent is `fma(score,
  /// factor, shift)`.
  struct Exponent {
    Value factor, shift;
  };
  Exponent buildExponent(Value reference);
  /// True if scores may exceed exponentLimit without an error of the caller.
  bool hasFullRange;
};
} // namespace

/// An exponent is fma(score, c, -m) with m = round(c * row max): of the row's
/// largest score the exponent is the rounding error of m, not 0. All that is
/// summed in the row has this same factor, which cancels, unless the type that
/// probabilities are rounded to overflows. An error of up to half of the
/// type's largest exponent is allowed. The error is up to 2^-25 of the power
/// of two above m, so that m may be up to 2^24 times the largest exponent:
/// 2^28 for f16, 2^31 for bf16.
void SdpaProgram::chooseExponentLimit() {
  auto element =
      cast<FloatType>(cast<MemRefType>(v.getType()).getElementType());
  int exponent = APFloat::semanticsMaxExponent(element.getFloatSemantics()) + 1;
  exponentLimit = std::ldexp(double(exponent), 24);
}

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

/// Returns what exponents are relative to. Where all scores so far are -inf, or
/// so low that their exponentials relative to 0 are 0, this is 0. Relative to a
/// maximum of -inf they would not be numbers.
Value SdpaProgram::getReference(Value max) {
  Value tooLow = hasFullRange
                     ? arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max,
                                             splat(f32Rows(), -kInfinity))
                     : arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, max,
                                             splat(f32Rows(), -exponentLimit));
  return arith::SelectOp::create(b, tooLow, splat(f32Rows(), 0.0), max);
}

/// Returns the state of rows whose only score is that of the sink, which is not
/// multiplied by the scale. Its exponential is 1 relative to itself, or 0 where
/// the sink is -inf. Scores of a linear score_mod lack what their query adds,
/// and so does the sink.
SoftmaxState SdpaProgram::startWithSink() {
  Value rowSinks = widen(readNumber(sinks, head, rows));
  if (terms && terms->score.hasTerm(movesRows))
    rowSinks = arith::SubFOp::create(
        b, rowSinks, sumOwnTerms(*terms, firstRow, firstRow, rows));
  SoftmaxState state;
  state.max = arith::MulFOp::create(b, rowSinks, splat(f32Rows(), kLog2E));
  state.normalizer = math::Exp2Op::create(
      b, arith::SubFOp::create(b, state.max, getReference(state.max)));
  return state;
}

/// Builds the state behind block j. The state before is absent if there is only
/// one block.
SoftmaxState SdpaProgram::buildStep(Value queries, Value j,
                                    std::optional<SoftmaxState> state) {
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

SoftmaxState SdpaProgram::buildLoop(Value queries) {
  std::optional<SoftmaxState> start;
  if (sinks)
    start = startWithSink();
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

/// The normalizer, or NaN in rows whose largest score is beyond the limit, is
/// infinite or is not a number. It is 0 only in rows that see no key.
Value SdpaProgram::rejectLargeScores(SoftmaxState state) {
  Value magnitude = math::AbsFOp::create(b, state.max);
  double limit =
      hasFullRange ? double(std::numeric_limits<float>::max()) : exponentLimit;
  Value inRange = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, magnitude,
                                        splat(f32Rows(), limit));
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, state.max,
                                      splat(f32Rows(), -kInfinity));
  return arith::SelectOp::create(b, arith::OrIOp::create(b, inRange, empty),
                                 state.normalizer, splat(f32Rows(), kNaN));
}

/// out = sum / normalizer and lse = ln(2) (max + log2 normalizer), or 0 and
/// -inf for a row that sees no key.
void SdpaProgram::store(SoftmaxState state) {
  Value rowZero = splat(f32Rows(), 0.0);
  Value normalizer = rejectLargeScores(state);
  Value empty =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, normalizer, rowZero);
  Value quotient = arith::DivFOp::create(b, splat(f32Rows(), 1.0), normalizer);
  Value inverse = arith::SelectOp::create(b, empty, rowZero, quotient);
  Value normalized =
      arith::MulFOp::create(b, state.sum, overColumns(inverse, headDim));
  storeTile(round(normalized, out), out, firstRow, head);
  if (!lse)
    return;
  Value log = math::Log2Op::create(b, normalizer);
  Value base2 = arith::AddFOp::create(b, log, state.max);
  Value natural = arith::MulFOp::create(b, base2, splat(f32Rows(), kLn2));
  if (terms && terms->score.hasTerm(movesRows))
    natural = arith::AddFOp::create(
        b, natural, sumOwnTerms(*terms, firstRow, firstRow, rows));
  Value result =
      arith::SelectOp::create(b, empty, splat(f32Rows(), -kInfinity), natural);
  storeRows(result, lse, firstRow, head);
}

void SdpaProgram::build() {
  computePosition(q, k);
  computeKeyBlocks();
  store(buildLoop(loadTile(q, rows, firstRow, head)));
}

void fa4::buildSdpaProgram(SdpaOp op, tile::KernelOp kernel,
                           const AttentionTiles &tiles) {
  SdpaProgram(op, kernel, tiles).build();
}
