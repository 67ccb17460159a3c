//===- SdpaBackwardProgram.cpp - the gradient's tile programs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SdpaBackwardProgram.h"
#include "AttentionProgram.h"
#include "QueryTerms.h"
#include "ScoreDerivative.h"
#include "TileBuilders.h"
#include "VisibleRange.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

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
        queries(tiles.queries), sumQueries(tiles.sumQueries),
        sumColumns(tiles.sumColumns), scale(chooseScoreScale(op)) {
    q = getArgument("q");
    k = getArgument("k");
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
    if (Region &region = op.getScoreMod(); !region.empty()) {
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

  void computePosition();
  /// The blocks of queries that see all keys of the tile by the op's mask: from
  /// `from` on, and in front of `below`. Null if there is no such bound.
  struct FullBlocks {
    Value from, below;
  };
  PositionRange keysOfTile() { return {firstKey, add(firstKey, keys - 1)}; }
  std::optional<FullBlocks> computeFullBlocksOfMod();
  MaskedSteps getMaskedSteps(const FullBlocks &full);
  FullBlocks computeQueryBlocks();
  void computeSteps(FullBlocks full);
  bool isReversed();
  KeyGradients buildLoop(Value tk, Value tv);
  KeyGradients buildStep(Value tk, Value tv, Value step,
                         const KeyGradients &state);
  Value visibleQueries(Value firstQuery);
  std::pair<Value, Value> workTilesOf(Value block);
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
  Exponents buildExponents(Value tk, Value tq, Value tterms, Value step,
                           Value firstQuery, Value queryHead);
  Value addShift(Value scores, Value firstQuery, Value queryHead);
  Value buildProbabilityGradient(Value tv, Value tdo, Value tterms,
                                 Value firstQuery, Value queryHead);
  Value productWithTerm(Value x, Value y, Value tterms, QueryTerm term);
  /// score_mod with its derivative, if the op has a score_mod, and whether the
  /// two may be infinite, or no number.
  std::optional<ScoreDerivative> derived;
  bool mayBeInfinite = false;
  void store(const KeyGradients &state);

  VectorType f32Tile() { return f32Type({keys, queries}); }
  Value product(VectorType type, Value x, bool transposeX, Value y,
                bool transposeY, Value acc = Value()) {
    return tile::MmaOp::create(b, type, x, y, acc, /*accumulate=*/Value(),
                               transposeX, transposeY);
  }

  SdpaBackwardOp op;
  int64_t keys, queries, sumQueries, sumColumns;
  ScoreScale scale;
  /// MMAs add `terms`, or lanes `shift` and `delta`; the others are null.
  Value q, k, v, dout, shift, delta, terms, sums, dk, dv;
  /// `sums` is null if dq has a kernel of its own. `turns` is null in this
  /// case, and also if the op is not deterministic.
  Value turns;

  Value kvHead, group;
  Value firstKey, numQueries, numKeys;
  /// The blocks of queries from firstBlock up to endBlock, exclusive, hold
  /// every query that sees a key of the tile. The heads of the group take
  /// turns: step s works on the block firstBlock + s / group, or endBlock - 1 -
  /// s / group if the blocks are worked on in reverse.
  Value firstBlock, endBlock, numSteps;
  Value lastBlock; ///< The last one of all blocks of queries.
  /// The steps whose blocks the band of the mask or the last query or key
  /// cuts, and those in which mask_mod may hide scores; none if nothing is
  /// known of it.
  MaskedSteps ofBand;
  std::optional<MaskedSteps> ofMask;
  /// The key of row r of the tile is seen by the queries from firstSeeing + r
  /// up to lastSeeing + r. Null if there is no such bound.
  Value firstSeeing, lastSeeing;
  /// True if queries behind the last one have to be masked. Without a
  /// score_mod, zeros suffice: these are loaded for q and dout, and the shift
  /// is -inf. But a score_mod may make a NaN of them.
  bool masksQueries = false;
};
} // namespace

void SdpaBackwardProgram::computePosition() {
  firstKey = takeWorkTile(keys);
  kvHead = head;
  group = headsOfGroup(q, k);
  numQueries = size(q, order.seq);
  numKeys = size(k, order.seq);
}

/// If no query sees a key of the tile, one block remains, and all its queries
/// are masked. A pass may work on further blocks, in front of the first block
/// with a query that sees a key or behind the last one. All their queries are
/// masked, too.
SdpaBackwardProgram::FullBlocks SdpaBackwardProgram::computeQueryBlocks() {
  // mask_mod hides the queries outside of the range that it implies, in each
  // block. Tiles that take turns need blocks which begin in their order.
  PositionRange seeing;
  if (Region &region = op.getMaskMod(); !region.empty() && !turns)
    seeing = intersect(
        readPositions(/*full=*/false),
        buildSeeingQueries(b, region, {getCaptures(), batch, /*head=*/Value()},
                           keysOfTile()));
  MaskAttr mask = op.getMaskAttr();
  endBlock = ceilDiv(numQueries, queries);
  lastBlock = sub(endBlock, one);
  FullBlocks full;
  Value onDiagonal =
      mask ? sub(firstKey, diagonal(numQueries, numKeys)) : Value();
  if (mask && mask.getRight()) {
    firstSeeing = sub(onDiagonal, index(*mask.getRight()));
    seeing.first = seeing.first ? max(firstSeeing, seeing.first) : firstSeeing;
  }
  firstBlock = zero;
  if (seeing.first) {
    firstBlock = min(max(floorDiv(seeing.first, queries), 0), lastBlock);
    firstBlock = b.createOrFold<tile::AtMostOp>(firstBlock);
  }
  if (firstSeeing)
    full.from = ceilDiv(add(firstSeeing, keys - 1), queries);
  Value end = seeing.last ? add(seeing.last, 1) : Value();
  if (mask && mask.getLeft()) {
    lastSeeing = add(onDiagonal, *mask.getLeft());
    Value endOfBand = add(lastSeeing, keys);
    end = end ? min(endOfBand, end) : endOfBand;
  }
  if (end) {
    endBlock = max(min(ceilDiv(end, queries), endBlock), add(firstBlock, one));
    endBlock = b.createOrFold<tile::AtLeastOp>(endBlock);
  }
  if (lastSeeing)
    full.below = floorDiv(add(lastSeeing, 1), queries);
  return full;
}

/// Finds the steps that are masked: those on blocks which are not full, or
/// whose last queries or keys lie behind the end.
void SdpaBackwardProgram::computeSteps(FullBlocks full) {
  std::optional<int64_t> knownQueries = getConstantIntValue(numQueries);
  masksQueries =
      mayBeInfinite && (!knownQueries || *knownQueries % queries != 0);
  if (masksQueries) {
    Value whole = floorDiv(numQueries, queries);
    full.below = full.below ? min(full.below, whole) : whole;
  }
  // Where there are fewer keys than rows, all blocks are masked.
  std::optional<int64_t> known = getConstantIntValue(numKeys);
  if (!known || *known % keys != 0) {
    Value isCut = less(add(firstKey, keys), numKeys, arith::CmpIPredicate::sgt);
    full.from = arith::SelectOp::create(b, isCut, endBlock,
                                        full.from ? full.from : firstBlock);
  }
  ofBand = getMaskedSteps(full);
  if (std::optional<FullBlocks> fullOfMod = computeFullBlocksOfMod())
    ofMask = unite(ofBand, getMaskedSteps(*fullOfMod));
  // There is always a block. The maximum tells that to passes which do not know
  // the sizes.
  numSteps = max(mul(sub(endBlock, firstBlock), group), 1);
}

/// Returns the blocks of queries to which mask_mod shows all keys of the tile;
/// none if nothing is known of it.
std::optional<SdpaBackwardProgram::FullBlocks>
SdpaBackwardProgram::computeFullBlocksOfMod() {
  Region &region = op.getMaskMod();
  if (region.empty())
    return std::nullopt;
  PositionRange full = readPositions(/*full=*/true);
  if (!full.first)
    full = buildFullQueries(b, region, {getCaptures(), batch, /*head=*/Value()},
                            keysOfTile());
  if (full.isEmpty)
    return std::nullopt;
  FullBlocks blocks;
  if (full.first)
    blocks.from = max(ceilDiv(full.first, queries), 0);
  if (full.last)
    blocks.below = max(floorDiv(add(full.last, 1), queries), 0);
  return blocks;
}

/// Returns the steps on all other blocks.
SdpaBackwardProgram::MaskedSteps
SdpaBackwardProgram::getMaskedSteps(const FullBlocks &full) {
  auto stepsBetween = [&](Value from, Value to) {
    return mul(sub(to, from), group);
  };
  MaskedSteps steps;
  if (full.from)
    (isReversed() ? steps.from : steps.below) =
        isReversed() ? stepsBetween(full.from, endBlock)
                     : stepsBetween(firstBlock, full.from);
  if (full.below)
    (isReversed() ? steps.below : steps.from) =
        isReversed() ? stepsBetween(full.below, endBlock)
                     : stepsBetween(firstBlock, full.below);
  // A mask of steps that need none hides nothing.
  if (steps.below)
    steps.below = b.createOrFold<tile::AtLeastOp>(steps.below);
  if (steps.from)
    steps.from = b.createOrFold<tile::AtMostOp>(steps.from);
  return steps;
}

/// Work tiles take turns at a block of queries from the first tile of keys to
/// the last one, which begins no earlier (see tile-assign-work). Where a bound
/// leaves out queries in front of the keys, a tile would reach its first block
/// before those in front of it have come there, and wait; from the last block
/// on, all tiles come to a block at about the time of their turn.
bool SdpaBackwardProgram::isReversed() {
  MaskAttr mask = op.getMaskAttr();
  return turns && mask && mask.getRight();
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
  if (!firstSeeing && !lastSeeing && !masksQueries)
    return overColumns(isKey, queries);
  Value first = firstSeeing ? positions(keys, sub(firstSeeing, firstQuery))
                            : overRow(zero);
  first = arith::SelectOp::create(b, isKey, first, overRow(index(queries)));
  Value visible = less(columns, overColumns(first, queries), Predicate::sge);
  if (!lastSeeing && !masksQueries)
    return visible;
  Value last =
      lastSeeing ? positions(keys, sub(lastSeeing, firstQuery)) : Value();
  if (masksQueries) {
    Value end = overRow(sub(sub(numQueries, firstQuery), one));
    last = last ? arith::MinSIOp::create(b, last, end) : end;
  }
  Value notBehind = less(columns, overColumns(last, queries), Predicate::sle);
  return arith::AndIOp::create(b, visible, notBehind);
}

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
                                    Value step, Value firstQuery,
                                    Value queryHead) {
  Value scores = productWithTerm(tk, tq, tterms, QueryTerm::Scores);
  if (scale.before)
    scores = arith::MulFOp::create(b, scores, splat(f32Tile(), *scale.before));
  SmallVector<TileValue> arguments = getModArguments(
      batch, queryHead,
      {positions(queries, firstQuery), false, /*overColumns=*/true},
      {positions(keys, firstKey), /*overRows=*/true}, keys);
  ModifiedScores modified = applyScoreMod(derived, scores, arguments);
  Exponents result;
  result.derivative = modified.derivative;
  Value exponents = addShift(modified.scores, firstQuery, queryHead);
  result.exponents = maskSteps(exponents, step, ofBand, ofMask, arguments,
                               [&] { return visibleQueries(firstQuery); });
  return result;
}

//===----------------------------------------------------------------------===//
// Sums of dq
//===----------------------------------------------------------------------===//

/// Returns the first and the last work tile that have the block of queries in
/// their loops (see computeQueryBlocks): tile n begins with the block
///   clamp(floor((keys n - diagonal - right) / queries), 0, lastBlock)
/// and goes on to the one in front of
///   ceil((keys n - diagonal + left + keys) / queries)
/// but has one block at least.
std::pair<Value, Value> SdpaBackwardProgram::workTilesOf(Value block) {
  MaskAttr mask = op.getMaskAttr();
  Value first = zero, last = sub(ceilDiv(size(k, order.seq), keys), one);
  if (!mask)
    return {first, last};
  Value onDiagonal =
      add(mul(block, index(queries)), diagonal(numQueries, numKeys));
  if (mask.getRight()) {
    Value seeing =
        floorDiv(add(onDiagonal, *mask.getRight() + queries - 1), keys);
    Value isLast = less(block, lastBlock, arith::CmpIPredicate::eq);
    last = arith::SelectOp::create(b, isLast, last, min(seeing, last));
  }
  if (mask.getLeft()) {
    Value seen = floorDiv(sub(onDiagonal, index(*mask.getLeft())), keys);
    Value isFirst = less(block, zero, arith::CmpIPredicate::eq);
    first = arith::SelectOp::create(b, isFirst, zero, max(seen, 0));
  }
  return {first, last};
}

/// Adds to the sums of a block of queries, from a column on. The place at which
/// work tiles take turns is the block's first row.
void SdpaBackwardProgram::addToSums(Value part, Value block, Value queryHead,
                                    int64_t row, int64_t column) {
  Value firstQuery = add(mul(block, index(queries)), row);
  Value turn;
  if (turns) {
    auto [first, last] = workTilesOf(block);
    turn = tile::AwaitTurnOp::create(b, tile::TurnType::get(b.getContext()),
                                     turns, rowIndices(firstQuery, queryHead),
                                     tileIndex, first, last);
  }
  SmallVector<Value> place = indices(firstQuery, queryHead);
  if (column != 0)
    place[order.dim] = index(column);
  tile::ReduceAddOp::create(b, part, sums, place, turn, tileDims());
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
  Value queryBlock =
      isReversed() ? sub(sub(endBlock, one), passed) : add(firstBlock, passed);
  Value queryHead = add(mul(kvHead, group), sub(step, mul(passed, group)));
  Value firstQuery = mul(queryBlock, index(queries));

  // P^T = exp2(c score_mod(S^T) + shift)
  Value tq = loadTile(q, queries, firstQuery, queryHead);
  Value tterms =
      terms ? loadTerms(b, terms, queries, rowIndices(firstQuery, queryHead))
            : Value();
  Exponents block = buildExponents(tk, tq, tterms, step, firstQuery, queryHead);
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
  addQueryGradient(parts, tk, queryBlock, queryHead);
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
  computeSteps(computeQueryBlocks());
  Value tk = loadTile(k, keys, firstKey, kvHead);
  Value tv = loadTile(v, keys, firstKey, kvHead);
  store(buildLoop(tk, tv));
}

void fa4::buildSdpaBackwardProgram(SdpaBackwardOp op, tile::KernelOp kernel,
                                   const BackwardTiles &tiles) {
  SdpaBackwardProgram(op, kernel, tiles).build();
}
