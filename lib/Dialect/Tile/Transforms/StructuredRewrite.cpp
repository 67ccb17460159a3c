//===- StructuredRewrite.cpp - control flow around rewritten values ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StructuredRewrite.h"

using namespace mlir;
using namespace fa4::tile;

StructuredRewrite::~StructuredRewrite() = default;

SmallVector<Type> StructuredRewrite::getTypes(Value value) {
  SmallVector<Type> types;
  if (isa<VectorType>(value.getType()))
    appendTypes(value, types);
  else
    types.push_back(value.getType());
  return types;
}

SmallVector<Value> StructuredRewrite::getAllValues(ValueRange from,
                                                   ValueRange targets,
                                                   OpBuilder &b) {
  SmallVector<Value> values;
  for (auto [value, target] : llvm::zip_equal(from, targets))
    if (isa<VectorType>(value.getType()))
      appendValues(value, target, b, values);
    else
      values.push_back(scalars.lookupOrDefault(value));
  return values;
}

void StructuredRewrite::setAllValues(ValueRange from, ValueRange to) {
  for (Value value : from) {
    size_t count = getTypes(value).size();
    if (isa<VectorType>(value.getType()))
      setValues(value, to.take_front(count));
    else
      scalars.map(value, to.front());
    to = to.drop_front(count);
  }
}

LogicalResult StructuredRewrite::rebuildBlock(Block &from, OpBuilder &b) {
  for (Operation &op : from)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(lower(op, b)))
      return failure();
  return success();
}

LogicalResult StructuredRewrite::rebuildRegion(Region &from, Region &to,
                                               ValueRange results) {
  // The builder has made a terminator if nothing is yielded.
  if (!to.front().empty())
    to.front().back().erase();
  OpBuilder b = OpBuilder::atBlockEnd(&to.front());
  if (failed(rebuildBlock(from.front(), b)))
    return failure();
  Operation &yield = from.front().back();
  beginYield(yield, b);
  scf::YieldOp::create(b, yield.getLoc(),
                       getAllValues(yield.getOperands(), results, b));
  return success();
}

LogicalResult StructuredRewrite::rebuild(scf::ForOp op, OpBuilder &b) {
  auto loop = scf::ForOp::create(
      b, op.getLoc(), scalars.lookupOrDefault(op.getLowerBound()),
      scalars.lookupOrDefault(op.getUpperBound()),
      scalars.lookupOrDefault(op.getStep()),
      getAllValues(op.getInitArgs(), op.getRegionIterArgs(), b));
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  setAllValues(op.getRegionIterArgs(), loop.getRegionIterArgs());
  setAllValues(op.getResults(), loop.getResults());
  return rebuildRegion(op.getRegion(), loop.getRegion(), op.getResults());
}

LogicalResult StructuredRewrite::rebuild(scf::IfOp op, OpBuilder &b) {
  SmallVector<Type> types;
  for (Value result : op.getResults())
    llvm::append_range(types, getTypes(result));
  auto branch = scf::IfOp::create(b, op.getLoc(), types,
                                  scalars.lookupOrDefault(op.getCondition()),
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/!op.getElseRegion().empty());
  branch->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  setAllValues(op.getResults(), branch.getResults());
  for (auto [from, to] : llvm::zip(op->getRegions(), branch->getRegions()))
    if (!from.empty() && failed(rebuildRegion(from, to, op.getResults())))
      return failure();
  return success();
}

LogicalResult StructuredRewrite::rebuild(WorkOp op, OpBuilder &b) {
  auto work = WorkOp::create(b, op.getLoc(), op.getCoordinates().size());
  scalars.map(op.getCoordinates(), work.getCoordinates());
  OpBuilder inside(work.getNext());
  if (failed(rebuildBlock(op.getBody().front(), inside)))
    return failure();
  if (Value number = op.getNext().getNumber())
    work.getNext().getNumberMutable().assign(scalars.lookupOrDefault(number));
  return success();
}

LogicalResult StructuredRewrite::rebuildBody(Region &body) {
  Block &old = body.front(), &fresh = body.emplaceBlock();
  for (BlockArgument argument : old.getArguments())
    scalars.map(argument,
                fresh.addArgument(argument.getType(), argument.getLoc()));
  OpBuilder b = OpBuilder::atBlockEnd(&fresh);
  if (failed(rebuildBlock(old, b))) {
    fresh.erase();
    return failure();
  }
  old.dropAllDefinedValueUses();
  old.erase();
  return success();
}
