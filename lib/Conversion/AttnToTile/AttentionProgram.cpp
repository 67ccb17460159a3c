//===- AttentionProgram.cpp - what tile programs of attention share ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProgram.h"
#include "CaptureReads.h"
#include "ModVectorizer.h"
#include "QueryTerms.h"
#include "TileBuilders.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

double fa4::getScale(AttentionOpInterface op) {
  if (FloatAttr attr = op.getScaleAttr())
    return attr.getValueAsDouble();
  auto q = cast<ShapedType>(op.getQ().getType());
  return 1.0 / std::sqrt(double(q.getShape().back()));
}

bool fa4::isNormalScale(double scale) {
  return scale >= std::numeric_limits<float>::min() &&
         scale <= std::numeric_limits<float>::max();
}

static double getLastFactor(AttentionOpInterface op) {
  Region &region = op.getScoreMod();
  return region.empty() ? 1 : findScoreProduct(region).factor;
}

double fa4::getGradientScale(AttentionOpInterface op) {
  std::optional<LinearScore> linear = findLinearScore(op.getScoreMod());
  return getScale(op) * (linear ? linear->factor : getLastFactor(op));
}

ScoreScale fa4::chooseScoreScale(AttentionOpInterface op,
                                 const LinearScore *linear) {
  double scale = getScale(op) * (linear ? linear->factor : 1);
  bool isLinear = op.getScoreMod().empty() || linear;
  // Terms are divided by the scale.
  bool mayAdd = !linear || linear->terms.empty() ||
                (scale >= kLeastTermScale && scale <= 1 / kLeastTermScale);
  if (isNormalScale(scale * kLog2E) && isLinear && mayAdd)
    return {std::nullopt, scale * kLog2E, 1 / scale};
  return {scale, (linear ? 1 : getLastFactor(op)) * kLog2E};
}

AttentionProgram::AttentionProgram(AttentionOpInterface op,
                                   tile::KernelOp kernel)
    : attention(op), kernel(kernel), order(getDimOrder(op.getLayout())),
      b(op.getLoc(), op.getContext()) {
  b.setInsertionPointToStart(&kernel.getBody().front());
  zero = index(0);
  one = index(1);
}

Value AttentionProgram::takeWorkTile(int64_t rows) {
  Type type = b.getIndexType();
  auto tile = tile::WorkTileOp::create(b, TypeRange{type, type, type});
  tileIndex = tile.getResult(0);
  head = tile.getResult(1);
  batch = tile.getResult(2);
  return mul(tileIndex, index(rows));
}

Value AttentionProgram::size(Value memref, unsigned dim) {
  return b.createOrFold<memref::DimOp>(memref, index(dim));
}

Value AttentionProgram::headsOfGroup(Value q, Value k) {
  return fold<arith::DivUIOp>(size(q, order.head), size(k, order.head));
}

Value AttentionProgram::diagonal(Value numQueries, Value numKeys) {
  MaskAttr mask = attention.getMaskAttr();
  return mask && mask.getAlignment() == MaskAlignment::BottomRight
             ? sub(numKeys, numQueries)
             : zero;
}

Value AttentionProgram::splat(VectorType type, double value) {
  return fa4::splat(b, type, value);
}

Value AttentionProgram::overColumns(Value rowValues, int64_t columns) {
  int64_t rows = cast<VectorType>(rowValues.getType()).getNumElements();
  return broadcastTo(b, {rowValues, /*overRows=*/true}, true, true, rows,
                     columns);
}

Value AttentionProgram::overRows(Value columnValues, int64_t rows) {
  int64_t columns = cast<VectorType>(columnValues.getType()).getNumElements();
  return broadcastTo(b, {columnValues, false, /*overColumns=*/true}, true, true,
                     rows, columns);
}

Value AttentionProgram::positions(int64_t n, Value start) {
  auto type = VectorType::get({n}, b.getIndexType());
  Value steps = vector::StepOp::create(b, type);
  Value starts = vector::BroadcastOp::create(b, type, start);
  return arith::AddIOp::create(b, steps, starts);
}

/// Rounds f32 numbers to the elements of `memref`.
Value AttentionProgram::round(Value tile, Value memref) {
  auto type = cast<VectorType>(tile.getType());
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (element == type.getElementType())
    return tile;
  return arith::TruncFOp::create(b, type.cloneWith(std::nullopt, element),
                                 tile);
}

Value AttentionProgram::widen(Value tile) {
  auto type = cast<VectorType>(tile.getType());
  if (type.getElementType().isF32())
    return tile;
  return arith::ExtFOp::create(b, f32Type(type.getShape()), tile);
}

Value AttentionProgram::addColumns(Value tile, Value sums) {
  return vector::MultiDimReductionOp::create(
      b, tile, sums, ArrayRef<bool>{false, true}, vector::CombiningKind::ADD);
}

ValueRange AttentionProgram::repeat(
    Value steps, ArrayRef<Value> init,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, zero, steps, one, init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b,
                       body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop.getResults();
}

Value AttentionProgram::repeat(Value steps, Value init,
                               llvm::function_ref<Value(Value, Value)> body) {
  return repeat(steps, ArrayRef(init),
                [&](Value step, ValueRange before) -> SmallVector<Value> {
                  return {body(step, before.front())};
                })
      .front();
}

SmallVector<TileValue> AttentionProgram::getModArguments(Value batch,
                                                         Value queryHead,
                                                         TileValue queries,
                                                         TileValue keys,
                                                         int64_t rows) {
  SmallVector<TileValue> arguments = {{batch}, {queryHead}, queries, keys};
  for (unsigned i = 0; i != attention.getCaptures().size(); ++i)
    arguments.push_back(readCapture(i, queryHead, rows));
  return arguments;
}

SmallVector<Value> AttentionProgram::getCaptures() {
  return llvm::map_to_vector(
      llvm::seq(attention.getCaptures().size()),
      [&](size_t i) { return getArgument(getCaptureName(i)); });
}

TileValue AttentionProgram::readCapture(unsigned number, Value queryHead,
                                        int64_t rows) {
  Value argument = getArgument(getCaptureName(number));
  auto vector = dyn_cast<MemRefType>(argument.getType());
  if (!vector || isTable(attention, number))
    return {argument};
  // The number is read in front of the loop if the head is known there.
  // Otherwise each pass would wait for memory.
  OpBuilder::InsertionGuard guard(b);
  Operation *loop = b.getBlock()->getParentOp();
  if (isa<scf::ForOp>(loop) &&
      !loop->isAncestor(queryHead.getParentBlock()->getParentOp()))
    b.setInsertionPoint(loop);
  Value read = tile::LoadRowsOp::create(
      b, VectorType::get({rows}, vector.getElementType()), argument, queryHead,
      /*dim=*/IntegerAttr());
  return {read, /*overRows=*/true};
}

Value AttentionProgram::getArgument(StringRef name) {
  for (BlockArgument argument : kernel.getArguments())
    if (kernel.getArgName(argument.getArgNumber()) == name)
      return argument;
  return Value();
}

SmallVector<Value>
AttentionProgram::inlineScoreMod(Region &region, Value scores,
                                 ArrayRef<TileValue> arguments,
                                 ValueRange results) {
  ArrayRef<int64_t> shape = cast<VectorType>(scores.getType()).getShape();
  SmallVector<TileValue> all = {{scores, true, true}};
  llvm::append_range(all, arguments);
  SmallVector<TileValue> inlined =
      inlineMod(b, region, all, results, shape[0], shape[1]);
  return llvm::map_to_vector(inlined, [&](const TileValue &value) {
    return broadcastTo(b, value, true, true, shape[0], shape[1]);
  });
}

SmallVector<AttentionProgram::TileTerm>
AttentionProgram::buildTerms(const ScoreTerms &terms, TermKind kind,
                             double unit, ArrayRef<TileValue> arguments,
                             int64_t rows, int64_t columns) {
  auto chosen = llvm::make_filter_range(terms.score.terms, kind);
  SmallVector<Value> values;
  for (const ScoreTerm &term : chosen) {
    values.push_back(term.number);
    llvm::append_range(values, term.weights);
  }
  SmallVector<TileValue> all = {TileValue() /*the score*/};
  llvm::append_range(all, arguments);
  SmallVector<TileValue> inlined =
      inlineMod(b, *terms.region, all, values, rows, columns);
  ArrayRef<TileValue> rest = inlined;
  SmallVector<TileTerm> built;
  for (const ScoreTerm &term : chosen) {
    size_t numWeights = term.weights.size();
    TileValue weight = multiplyWeights(rest.slice(1, numWeights),
                                       term.coefficient * unit, rows);
    built.push_back({rest.front(), weight});
    rest = rest.drop_front(1 + numWeights);
  }
  return built;
}

Value AttentionProgram::multiplyTerm(const TileTerm &term, int64_t rows,
                                     int64_t columns) {
  Value number = broadcastTo(b, term.number, true, true, rows, columns);
  if (matchPattern(term.weight.value, m_OneFloat()))
    return number;
  return arith::MulFOp::create(
      b, number, broadcastTo(b, term.weight, true, true, rows, columns));
}

Value AttentionProgram::addTerms(ArrayRef<TileTerm> terms, TileValue sum,
                                 int64_t rows, int64_t columns) {
  auto spread = [&](const TileValue &value) {
    return broadcastTo(b, value, sum.overRows, sum.overColumns, rows, columns);
  };
  for (const TileTerm &term : terms) {
    Value number = spread(term.number);
    sum.value =
        matchPattern(term.weight.value, m_OneFloat())
            ? arith::AddFOp::create(b, sum.value, number).getResult()
            : math::FmaOp::create(b, number, spread(term.weight), sum.value);
  }
  return sum.value;
}

TileValue AttentionProgram::multiplyWeights(ArrayRef<TileValue> weights,
                                            double factor, int64_t rows) {
  TileValue product = {
      arith::ConstantOp::create(b, b.getF32FloatAttr(float(factor)))};
  for (const TileValue &weight : weights) {
    // Weights are the same for all columns.
    bool overRows = product.overRows || weight.overRows;
    auto spread = [&](const TileValue &value) {
      return broadcastTo(b, value, overRows, /*overColumns=*/false, rows, 0);
    };
    product = {b.createOrFold<arith::MulFOp>(spread(weight), spread(product)),
               overRows};
  }
  return product;
}

Value AttentionProgram::sumOwnTerms(const ScoreTerms &terms, Value firstQuery,
                                    Value reference, int64_t rows) {
  TileValue common = {reference};
  auto add = [&](Value sum, double unit, TileValue queries) {
    SmallVector<TileValue> arguments =
        getModArguments(batch, head, queries, /*keys=*/common, rows);
    return addTerms(
        buildTerms(terms, movesRows, unit, arguments, rows, /*columns=*/0),
        {sum, /*overRows=*/true}, rows, /*columns=*/0);
  };
  Value own = add(splat(f32Type({rows}), 0.0), 1,
                  {positions(rows, firstQuery), /*overRows=*/true});
  return add(own, -1, common);
}

AttentionProgram::ModifiedScores
AttentionProgram::applyScoreMod(std::optional<ScoreDerivative> &derived,
                                Value scores, ArrayRef<TileValue> arguments) {
  if (!derived)
    return {scores, Value()};
  SmallVector<Value> values =
      inlineScoreMod(derived->region, scores, arguments,
                     {derived->results.value, derived->results.derivative});
  return {values[0], values[1]};
}

Value AttentionProgram::multiplyDerivative(Value p, Value derivative,
                                           bool mayBeInfinite) {
  if (!derivative)
    return p;
  Value product = arith::MulFOp::create(b, p, derivative);
  if (!mayBeInfinite)
    return product;
  Value none = splat(cast<VectorType>(p.getType()), 0.0);
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, p, none);
  return arith::SelectOp::create(b, isNone, none, product);
}

DenseI64ArrayAttr AttentionProgram::tileDims() {
  return b.getDenseI64ArrayAttr({order.seq, order.dim});
}

SmallVector<Value> AttentionProgram::indices(Value position, Value head) {
  SmallVector<Value> result(order.rank);
  result[*order.batch] = batch;
  result[order.seq] = position;
  result[order.head] = head;
  result[order.dim] = zero;
  return result;
}

SmallVector<Value> AttentionProgram::rowIndices(Value position, Value head) {
  SmallVector<Value> result(order.lseRank());
  result[*order.lseBatch()] = batch;
  result[order.lseHead()] = head;
  result[order.lseSeq()] = position;
  return result;
}

Value AttentionProgram::loadTile(Value memref, int64_t rows, Value position,
                                 Value head) {
  auto type = cast<MemRefType>(memref.getType());
  auto tile =
      VectorType::get({rows, type.getShape().back()}, type.getElementType());
  return tile::LoadOp::create(b, tile, memref, indices(position, head),
                              tileDims());
}

void AttentionProgram::storeTile(Value tile, Value memref, Value position,
                                 Value head) {
  tile::StoreOp::create(b, tile, memref, indices(position, head),
                        /*to=*/Value(), tileDims());
}

Value AttentionProgram::loadRows(Value memref, int64_t rows, Value position,
                                 Value head) {
  return tile::LoadOp::create(b, f32Type(rows), memref,
                              rowIndices(position, head),
                              /*dims=*/DenseI64ArrayAttr());
}

void AttentionProgram::storeRows(Value values, Value memref, Value position,
                                 Value head) {
  tile::StoreOp::create(b, values, memref, rowIndices(position, head),
                        /*to=*/Value(), /*dims=*/DenseI64ArrayAttr());
}

Value AttentionProgram::readRows(Value memref, int64_t rows, Value position,
                                 Value head) {
  return tile::LoadRowsOp::create(b, f32Type(rows), memref,
                                  rowIndices(position, head),
                                  b.getI64IntegerAttr(order.lseSeq()));
}
