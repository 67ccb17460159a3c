//===- ModProgram.cpp - programs that apply regions ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModProgram.h"
#include "CaptureReads.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

SmallVector<TileValue> ModProgram::getModArguments(Value batch, Value queryHead,
                                                   TileValue queries,
                                                   TileValue keys,
                                                   int64_t rows) {
  SmallVector<TileValue> arguments = {{batch}, {queryHead}, queries, keys};
  for (unsigned i = 0; i != attention.getCaptures().size(); ++i)
    arguments.push_back(readCapture(i, queryHead, rows));
  return arguments;
}

SmallVector<Value> ModProgram::getCaptures() {
  return llvm::map_to_vector(
      llvm::seq(attention.getCaptures().size()),
      [&](size_t i) { return getArgument(getCaptureName(i)); });
}

TileValue ModProgram::readCapture(unsigned number, Value queryHead,
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
  return {readNumber(argument, queryHead, rows), /*overRows=*/true};
}

Value ModProgram::readNumber(Value vector, Value queryHead, int64_t rows) {
  Type element = cast<MemRefType>(vector.getType()).getElementType();
  return tile::LoadRowsOp::create(b, VectorType::get({rows}, element), vector,
                                  queryHead, /*dim=*/IntegerAttr());
}

SmallVector<Value> ModProgram::inlineScoreMod(Region &region, Value scores,
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

SmallVector<ModProgram::TileTerm>
ModProgram::buildTerms(const ScoreTerms &terms, TermKind kind, double unit,
                       ArrayRef<TileValue> arguments, int64_t rows,
                       int64_t columns) {
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

bool ModProgram::isWeighted(const TileTerm &term) {
  return !matchPattern(term.weight.value, m_OneFloat());
}

Value ModProgram::multiplyTerm(const TileTerm &term, int64_t rows,
                               int64_t columns) {
  Value number = broadcastTo(b, term.number, true, true, rows, columns);
  if (!isWeighted(term))
    return number;
  return arith::MulFOp::create(
      b, number, broadcastTo(b, term.weight, true, true, rows, columns));
}

Value ModProgram::addTerms(ArrayRef<TileTerm> terms, TileValue sum,
                           int64_t rows, int64_t columns) {
  auto spread = [&](const TileValue &value) {
    return broadcastTo(b, value, sum.overRows, sum.overColumns, rows, columns);
  };
  for (const TileTerm &term : terms) {
    Value number = spread(term.number);
    sum.value =
        isWeighted(term)
            ? math::FmaOp::create(b, number, spread(term.weight), sum.value)
                  .getResult()
            : arith::AddFOp::create(b, sum.value, number);
  }
  return sum.value;
}

TileValue ModProgram::multiplyWeights(ArrayRef<TileValue> weights,
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

Value ModProgram::sumOwnTerms(const ScoreTerms &terms, Value firstQuery,
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

ModProgram::ModifiedScores
ModProgram::applyScoreMod(std::optional<ScoreDerivative> &derived, Value scores,
                          ArrayRef<TileValue> arguments) {
  if (!derived)
    return {scores, Value()};
  SmallVector<Value> values =
      inlineScoreMod(derived->region, scores, arguments,
                     {derived->results.value, derived->results.derivative});
  return {values[0], values[1]};
}

Value ModProgram::multiplyDerivative(Value p, Value derivative,
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
