//===- ScoreRegion.cpp - expressions as regions of attn.sdpa --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreRegion.h"
#include "ElementRange.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fa4::attn;

ScoreRegionWriter::ScoreRegionWriter(const AttentionMatch &match,
                                     ElementTracer &tracer, Location loc)
    : match(match), tracer(tracer), loc(loc) {
  if (hasScoreMod())
    collect(match.scores);
  for (const ScoreMask &mask : match.masks)
    collect(mask.condition);
}

bool ScoreRegionWriter::hasScoreMod() const {
  return !isEqual(skipCasts(match.scores), skipCasts(match.product));
}

void ScoreRegionWriter::collect(ElementRef element) {
  if (isEqual(element, match.product))
    return;
  if (element->value)
    captures.insert(element->value);
  for (ElementRef arg : element->args)
    collect(arg);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static bool isWideInteger(Type type) {
  return type.isInteger() && type.getIntOrFloatBitWidth() > 32;
}

/// Whether a wide integer may be computed in 32 bits.
bool ScoreRegionWriter::isNarrow(ElementRef element) {
  return isWideInteger(element->type) &&
         getRange(element, [&](unsigned dim) {
           return getIndexRange(tracer.getSize(dim));
         }).has_value();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static bool isNarrowFloat(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
}

static Value castFloat(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(b, loc, type, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

Value ScoreRegionWriter::emitIndex(OpBuilder &b, AffineExpr index) {
  return affine::expandAffineExpr(b, loc, index, dims, {});
}

/// The operation on what its operands became: narrow floats are f32, and wide
/// integers that fit i32.
Value ScoreRegionWriter::emitApply(OpBuilder &b, ElementRef element) {
  // A score that was rounded to a narrow type is not rounded.
  bool isCast =
      element->isa<arith::ExtFOp>() || element->isa<arith::TruncFOp>();
  if (isCast && element->type.getIntOrFloatBitWidth() <= 32)
    return castFloat(b, loc, emit(b, element->args.front()), b.getF32Type());
  bool isNarrowed = isNarrow(element);
  // Operands stay wide together, and where the result does.
  bool areWide = isWideInteger(element->type) && !isNarrowed;
  for (ElementRef arg : element->args)
    areWide |= isWideInteger(arg->type) && !isNarrow(arg);
  SmallVector<Value> operands;
  for (ElementRef arg : element->args) {
    Value operand = emit(b, arg);
    if (areWide && isWideInteger(arg->type) && operand.getType() != arg->type)
      operand = arith::ExtSIOp::create(b, loc, arg->type, operand);
    operands.push_back(operand);
  }
  Type type = isNarrowFloat(element->type) ? b.getF32Type()
              : isNarrowed                 ? b.getI32Type()
                                           : element->type;
  // A conversion between integers may have nothing left to do.
  if (operands[0].getType() == type &&
      (element->isa<arith::ExtSIOp>() || element->isa<arith::ExtUIOp>() ||
       element->isa<arith::TruncIOp>()))
    return operands[0];
  OperationState state(loc, *element->op);
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(element->attributes.getValue());
  return b.create(state)->getResult(0);
}

Value ScoreRegionWriter::emit(OpBuilder &b, ElementRef element) {
  if (isEqual(element, match.product))
    return score;
  auto capture = [&] {
    auto found = llvm::find(captures, element->value);
    return captured[found - captures.begin()];
  };
  Value value;
  switch (element->kind) {
  case Element::Leaf: {
    SmallVector<Value> indices;
    for (AffineExpr index : element->indices)
      indices.push_back(emitIndex(b, index));
    value = tensor::ExtractOp::create(b, loc, capture(), indices);
    break;
  }
  case Element::Gather: {
    SmallVector<Value> indices;
    for (ElementRef arg : element->args)
      indices.push_back(emit(b, arg));
    value = tensor::ExtractOp::create(b, loc, capture(), indices);
    break;
  }
  case Element::Scalar:
    value = capture();
    break;
  case Element::Index:
    return emitIndex(b, element->indices.front());
  case Element::Constant: {
    TypedAttr number = element->constant;
    if (isNarrowFloat(element->type))
      number = b.getF32FloatAttr(*element->getConstant());
    else if (isNarrow(element))
      number = b.getI32IntegerAttr(cast<IntegerAttr>(number).getInt());
    return arith::ConstantOp::create(b, loc, number);
  }
  case Element::Apply:
    return emitApply(b, element);
  }
  return isNarrowFloat(element->type) ? castFloat(b, loc, value, b.getF32Type())
                                      : value;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Where a condition does not hold, with the comparisons themselves turned
/// around: these are what masks are recognized by.
ElementRef ScoreRegionWriter::negate(ElementRef condition) {
  Type type = condition->type;
  if (condition->isa<arith::CmpIOp>()) {
    auto predicate =
        condition->attributes.getAs<arith::CmpIPredicateAttr>("predicate");
    Builder b(type.getContext());
    auto inverse = arith::CmpIPredicateAttr::get(
        type.getContext(), arith::invertPredicate(predicate.getValue()));
    return tracer.apply(
        *condition->op,
        b.getDictionaryAttr(b.getNamedAttr("predicate", inverse)), type,
        condition->args);
  }
  if (condition->isa<arith::OrIOp>())
    return tracer.apply<arith::AndIOp>(
        type, {negate(condition->args[0]), negate(condition->args[1])});
  if (condition->isa<arith::AndIOp>())
    return tracer.apply<arith::OrIOp>(
        type, {negate(condition->args[0]), negate(condition->args[1])});
  Builder b(type.getContext());
  return tracer.apply<arith::XOrIOp>(
      type, {condition, tracer.constant(b.getBoolAttr(true))});
}

Block *ScoreRegionWriter::addBlock(OpBuilder &b, Region &region, bool isScore) {
  SmallVector<Type> types(kNumIndexArgs, b.getIndexType());
  if (isScore)
    types.insert(types.begin(), b.getF32Type());
  llvm::append_range(types, getCaptures().getTypes());
  Block *block = b.createBlock(&region, {}, types,
                               SmallVector<Location>(types.size(), loc));
  unsigned first = isScore ? 1 : 0;
  score = isScore ? block->getArgument(0) : Value();
  captured = block->getArguments().drop_front(first + kNumIndexArgs);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  dims.assign(tracer.getNumDims(), zero);
  const int positions[] = {match.batch, match.head, match.query, match.key};
  for (auto [i, position] : llvm::enumerate(positions))
    if (position >= 0)
      dims[position] = block->getArgument(first + i);
  return block;
}

void ScoreRegionWriter::writeScoreMod(OpBuilder &b, Region &region) {
  OpBuilder::InsertionGuard guard(b);
  addBlock(b, region, /*isScore=*/true);
  Value result = castFloat(b, loc, emit(b, match.scores), b.getF32Type());
  YieldOp::create(b, loc, result);
}

void ScoreRegionWriter::writeMaskMod(OpBuilder &b, Region &region) {
  OpBuilder::InsertionGuard guard(b);
  addBlock(b, region, /*isScore=*/false);
  Value all;
  for (const ScoreMask &mask : match.masks) {
    Value visible =
        emit(b, mask.isHidden ? negate(mask.condition) : mask.condition);
    all = all ? arith::AndIOp::create(b, loc, all, visible) : visible;
  }
  YieldOp::create(b, loc, all);
}
