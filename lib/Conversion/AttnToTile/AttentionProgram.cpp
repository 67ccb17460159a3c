//===- AttentionProgram.cpp - what tile programs of attention share ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProgram.h"
#include "ModVectorizer.h"
#include "QueryTerms.h"
#include "TileBuilders.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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
                                 const ScoreTerms *terms) {
  double scale = getScale(op) * (terms ? terms->score.factor : 1);
  bool isLinear = op.getScoreMod().empty() || terms;
  // Terms are divided by the scale.
  bool mayAdd = !terms || terms->score.terms.empty() || isTermScale(scale);
  if (isNormalScale(scale * kLog2E) && isLinear && mayAdd)
    return {std::nullopt, scale * kLog2E, 1 / scale};
  return {scale, (terms ? 1 : getLastFactor(op)) * kLog2E};
}

AttentionProgram::AttentionProgram(AttentionOpInterface op,
                                   tile::KernelOp kernel)
    : attention(op), kernel(kernel), order(getDimOrder(op.getLayout())),
      keyOrder(getKeyOrder(op)), b(op.getLoc(), op.getContext()) {
  b.setInsertionPointToStart(&kernel.getBody().front());
  zero = index(0);
  one = index(1);
}

Value AttentionProgram::takeWorkTile(int64_t rows) {
  SmallVector<Type> types(kernel.getGrid().size(), b.getIndexType());
  auto tile = tile::WorkTileOp::create(b, types);
  tileIndex = tile.getResult(0);
  head = tile.getResult(1);
  if (!order.isPacked())
    batch = tile.getResult(2);
  else if (getArgument(kTileNumbers))
    takeListedTile(tileIndex);
  return mul(tileIndex, index(rows));
}

Value AttentionProgram::readIndex(Value memref, ValueRange at) {
  return arith::IndexCastOp::create(b, b.getIndexType(),
                                    tile::LoadScalarOp::create(b, memref, at));
}

static StringRef getBoundsName(TokenSide side) {
  return side == TokenSide::Queries ? "cu_seqlens_q" : "cu_seqlens_k";
}

void AttentionProgram::takeListedTile(Value number) {
  // Passes know of a number in memory what its bounds tell. A sequence has no
  // more tiles than the list.
  batch = max(readIndex(getArgument(kTileSequences), number), 0);
  tileIndex = min(max(readIndex(getArgument(kTileNumbers), number), 0),
                  size(getArgument(kTileNumbers), 0));
  auto readTokens = [&](TokenSide side, const BoundNames &names) -> TokenRange {
    if (!getMatrix(side) || !getArgument(names.first))
      return {};
    return clampTokens(side, {readIndex(getArgument(names.first), number),
                              readIndex(getArgument(names.end), number)});
  };
  queryTokens = readTokens(TokenSide::Queries, kTileQueries);
  keyTokens = readTokens(TokenSide::Keys, kTileKeys);
  if (!queryTokens.first)
    return;
  Value aligned = mul(ceilDiv(queryTokens.first, kPackedAlignment),
                      index(kPackedAlignment));
  paddedRows.first = add(aligned, mul(batch, index(kPackedAlignment)));
  paddedRows.end =
      add(paddedRows.first, sub(queryTokens.end, queryTokens.first));
}

TokenRange AttentionProgram::readBounds(TokenSide side, Value sequence) {
  Value bounds = getArgument(getBoundsName(side));
  return {readIndex(bounds, sequence), readIndex(bounds, add(sequence, one))};
}

TokenRange AttentionProgram::clampTokens(TokenSide side,
                                         const TokenRange &bounds) {
  Value count = size(getMatrix(side), order.seq);
  Value first = min(max(bounds.first, 0), count);
  return {first, min(max(bounds.end, first), count)};
}

Value AttentionProgram::countSequences(TokenSide side) {
  return sub(size(getArgument(getBoundsName(side)), 0), one);
}

StringRef AttentionProgram::getName(Value argument) {
  return kernel.getArgName(cast<BlockArgument>(argument).getArgNumber());
}

bool AttentionProgram::isOfKeys(Value memref) {
  return llvm::is_contained({"k", "v", "dk", "dv"}, getName(memref));
}

const TokenRange &AttentionProgram::tokensOf(Value memref) {
  return isOfKeys(memref) ? keyTokens : queryTokens;
}

Value AttentionProgram::getEndOfLoads(Value memref) {
  const TokenRange &tokens = tokensOf(memref);
  bool endsInMemory = getArgument("seqlens_k") || getPageTable();
  if (!isOfKeys(memref) || !endsInMemory)
    return tokens.end;
  Value numKeys = countKeys(memref);
  return tokens.first ? add(tokens.first, numKeys) : numKeys;
}

Value AttentionProgram::size(Value memref, unsigned dim) {
  return b.createOrFold<memref::DimOp>(memref, index(dim));
}

Value AttentionProgram::headsOfGroup(Value q, Value k) {
  return fold<arith::DivUIOp>(size(q, order.head), size(k, keyOrder.head));
}

Value AttentionProgram::countQueries(Value q) {
  return queryTokens.first ? sub(queryTokens.end, queryTokens.first)
                           : size(q, order.seq);
}

Value AttentionProgram::countKeys(Value k) {
  Value room = keyTokens.first ? sub(keyTokens.end, keyTokens.first)
                               : size(k, keyOrder.seq);
  if (Value table = getPageTable())
    room = mul(room, size(table, kTablePages));
  Value lengths = getArgument("seqlens_k");
  return lengths ? min(max(readIndex(lengths, batch), 0), room) : room;
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

Value AttentionProgram::getArgument(StringRef name) {
  for (BlockArgument argument : kernel.getArguments())
    if (kernel.getArgName(argument.getArgNumber()) == name)
      return argument;
  return Value();
}

/// The LSE and its gradient are the caller's, with a number for each row of q.
const TokenRange &AttentionProgram::rowsOf(Value memref) {
  bool isOfCaller = llvm::is_contained({"lse", "dlse"}, getName(memref));
  return isOfCaller ? queryTokens : paddedRows;
}

DenseI64ArrayAttr AttentionProgram::tileDims(Value memref) {
  const DimOrder &order = orderOf(memref);
  return b.getDenseI64ArrayAttr({order.seq, order.dim});
}

SmallVector<Value> AttentionProgram::indices(Value memref, Value position,
                                             Value head) {
  const DimOrder &order = orderOf(memref);
  SmallVector<Value> result(order.rank);
  if (order.batch)
    result[*order.batch] = batch;
  Value first = tokensOf(memref).first;
  result[order.seq] = first ? add(first, position) : position;
  result[order.head] = head;
  result[order.dim] = zero;
  return result;
}

SmallVector<Value> AttentionProgram::rowIndices(Value memref, Value position,
                                                Value head) {
  SmallVector<Value> result(order.lseRank());
  if (!order.isPacked())
    result[*order.lseBatch()] = batch;
  result[order.lseHead()] = head;
  Value first = rowsOf(memref).first;
  result[order.lseSeq()] = first ? add(first, position) : position;
  return result;
}

Value AttentionProgram::loadTile(Value memref, int64_t rows, Value position,
                                 Value head) {
  auto type = cast<MemRefType>(memref.getType());
  auto tile =
      VectorType::get({rows, type.getShape().back()}, type.getElementType());
  auto load =
      tile::LoadOp::create(b, tile, memref, indices(memref, position, head),
                           /*to=*/getEndOfLoads(memref), tileDims(memref));
  if (Value table = getPageTable(); table && isOfKeys(memref))
    load.getPagesMutable().assign(table);
  return load;
}

void AttentionProgram::storeTile(Value tile, Value memref, Value position,
                                 Value head) {
  tile::StoreOp::create(b, tile, memref, indices(memref, position, head),
                        /*to=*/tokensOf(memref).end, tileDims(memref));
}

Value AttentionProgram::loadRows(Value memref, int64_t rows, Value position,
                                 Value head) {
  return tile::LoadOp::create(b, f32Type(rows), memref,
                              rowIndices(memref, position, head),
                              /*to=*/Value(), /*dims=*/DenseI64ArrayAttr());
}

void AttentionProgram::storeRows(Value values, Value memref, Value position,
                                 Value head) {
  tile::StoreOp::create(b, values, memref, rowIndices(memref, position, head),
                        /*to=*/rowsOf(memref).end,
                        /*dims=*/DenseI64ArrayAttr());
}

Value AttentionProgram::readRows(Value memref, int64_t rows, Value position,
                                 Value head) {
  return tile::LoadRowsOp::create(b, f32Type(rows), memref,
                                  rowIndices(memref, position, head),
                                  b.getI64IntegerAttr(order.lseSeq()));
}
