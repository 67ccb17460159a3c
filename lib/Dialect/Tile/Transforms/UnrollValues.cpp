//===- UnrollValues.cpp - the columns of rows, built when needed ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnrollValues.h"
#include "ColumnLoop.h"
#include "fa4/Support/PostOrder.h"

using namespace mlir;
using namespace fa4::tile;

/// The first pair of the source that a slice begins with.
static int64_t getSliceOffset(vector::ExtractStridedSliceOp op) {
  return cast<IntegerAttr>(op.getOffsets()[0]).getInt() / 2;
}

void UnrollValues::buildSlice(vector::ExtractStridedSliceOp op, int64_t begin,
                              int64_t end) {
  int64_t offset = getSliceOffset(op);
  Columns &to = columns[op.getResult()], &from = columns[op.getSource()];
  std::copy(from.pairs.begin() + begin + offset,
            from.pairs.begin() + end + offset, to.pairs.begin() + begin);
  std::copy(from.elements.begin() + 2 * (begin + offset),
            from.elements.begin() + 2 * (end + offset),
            to.elements.begin() + 2 * begin);
}

/// Columns of integers are built one pair after the other, each from its first
/// operation to its last: a fragment of each of them would be in registers at a
/// time if they were built operation by operation.
void UnrollValues::addNeededParts(const Part &part,
                                  SmallVectorImpl<Part> &needed) {
  Operation *op = part.value.getDefiningOp();
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    int64_t offset = getSliceOffset(slice);
    needed.push_back(
        {slice.getSource(), part.begin + offset, part.end + offset});
    return;
  }
  if (isa<ReadOp>(op) || columns.isOfColumnNumber(part.value))
    return;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isRow(value.getType()) || columns.isBitOperand(operand))
      continue;
    if (!columns.integers.isOfPositions(value)) {
      needed.push_back({value, part.begin, part.end});
      continue;
    }
    for (int64_t pair = part.begin; pair < part.end; ++pair)
      needed.push_back({value, pair, pair + 1});
  }
}

void UnrollValues::buildPart(const Part &part, OpBuilder &b) {
  auto [value, begin, end] = part;
  Operation *op = value.getDefiningOp();
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op))
    return buildSlice(slice, begin, end);
  if (auto from = dyn_cast<ReadOp>(op))
    return reads.read(from, begin, end, b);
  if (columns.buildUniform(op, b))
    return;
  for (int64_t pair = begin; pair < end; ++pair) {
    if (columns.getPair(value, pair))
      continue;
    fresh.insert({value, pair});
    columns.build(op, pair, b);
    builtIntegers |= isPerColumn(op) && columns.integers.isOfPositions(value) &&
                     !isa<vector::StepOp>(op) &&
                     !columns.isOfColumnNumber(value);
  }
}

/// Builds `value` with all that it is computed from as a loop, if that is much.
bool UnrollValues::buildByLoop(Value value, int64_t begin, int64_t end,
                               OpBuilder &b) {
  while (auto slice = value.getDefiningOp<vector::ExtractStridedSliceOp>()) {
    begin += getSliceOffset(slice);
    end += getSliceOffset(slice);
    value = slice.getSource();
  }
  std::optional<ColumnGroup> group =
      findColumnGroup(value, begin, end, user, columns, loopInstructions);
  if (!group)
    return false;
  for (Value operand : group->operands)
    if (!columns.isOfColumnNumber(operand))
      build(operand, begin, end, b);
  if (!buildColumnLoop(*group, begin, end, columns, b))
    return false;
  for (Operation *op : group->ops)
    inLoops.insert(op);
  for (Value output : group->outputs) {
    inLoops.erase(output.getDefiningOp());
    for (int64_t pair = begin; pair < end; ++pair)
      fresh.insert({output, pair});
  }
  return true;
}

void UnrollValues::build(Value value, int64_t begin, int64_t end,
                         OpBuilder &b) {
  if (end - begin > 1)
    buildByLoop(value, begin, end, b);
  fa4::visitPostOrder<Part>(
      {value, begin, end},
      [&](const Part &part) {
        return columns.isBuilt(part.value, part.begin, part.end);
      },
      [&](const Part &part, SmallVectorImpl<Part> &needed) {
        addNeededParts(part, needed);
      },
      [&](const Part &part) { buildPart(part, b); });
  // What is read from memory takes long, so that the next columns are on their
  // way while these are worked on.
  if (end - begin == 1 || !mayKeepOrder)
    return;
  for (Value read : findReads(value)) {
    int64_t last = std::min(2 * end - begin, numPairs(read.getType()));
    for (int64_t pair = end; pair < last; ++pair)
      build(read, pair, pair + 1, b);
  }
}

/// Returns the reads of memory in the block of `value` that it is computed from
/// column by column.
ArrayRef<Value> UnrollValues::findReads(Value value) {
  auto [known, isNew] = readsOf.try_emplace(value);
  if (!isNew)
    return known->second;
  llvm::SetVector<Value> sources;
  sources.insert(value);
  SmallVector<Value, 1> found;
  for (unsigned i = 0; i < sources.size(); ++i) {
    Operation *op = sources[i].getDefiningOp();
    if (!op || op->getBlock() != value.getParentBlock() ||
        op->getNumRegions() != 0)
      continue;
    if (isa<GatherOp>(op))
      found.push_back(sources[i]);
    for (Value operand : op->getOperands())
      if (isRow(operand.getType()))
        sources.insert(operand);
  }
  return readsOf[value] = std::move(found);
}

void UnrollValues::buildAll(Value value, OpBuilder &b) {
  columns.forFragments(value.getType(), [&](int64_t begin, int64_t end) {
    build(value, begin, end, b);
    endFragment(value.getLoc(), b);
  });
}

void UnrollValues::endFragment(Location loc, OpBuilder &b, bool keepsOrder) {
  if (mayKeepOrder && (keepsOrder || builtIntegers))
    KeepOrderOp::create(b, loc);
  builtIntegers = false;
}

void UnrollValues::buildCaptured(Operation &op, OpBuilder &b) {
  op.walk([&](Operation *inner) {
    if (inner == &op)
      return;
    bool isMask = inner->getNumResults() == 1 &&
                  columns.masks.isColumnMask(inner->getResult(0));
    for (OpOperand &use : inner->getOpOperands()) {
      Value operand = use.get();
      if (!isRow(operand.getType()) ||
          op.isAncestor(operand.getParentBlock()->getParentOp()))
        continue;
      bool asBits = columns.masks.isColumnMask(operand);
      if (asBits)
        columns.masks.makeWords(operand, b);
      if (!asBits || !(isMask || columns.isBitOperand(use)))
        buildAll(operand, b);
    }
  });
}

bool UnrollValues::buildEarly(WriteOp write, OpBuilder &b) {
  llvm::SmallSetVector<int64_t, 16> pairs;
  for (const Pair &each : fresh)
    pairs.insert(each.second);
  // The pairs that can be computed from numbers in registers.
  llvm::DenseSet<Pair> available;
  bool isAnyBuilt = false;
  for (Operation &op : *write->getBlock()) {
    if (&op == write)
      break;
    if (op.getNumResults() != 1 || !isRow(op.getResult(0).getType()))
      continue;
    Value result = op.getResult(0);
    for (int64_t pair : pairs) {
      if (pair >= numPairs(result.getType()))
        continue;
      Source source = getSource(&op, pair, available);
      if (source == Source::None)
        continue;
      available.insert({result, pair});
      if (source != Source::Fresh)
        continue;
      build(result, pair, pair + 1, b);
      isAnyBuilt = true;
    }
  }
  return isAnyBuilt;
}

/// Says what a pair of the operation's result can be computed from.
UnrollValues::Source
UnrollValues::getSource(Operation *op, int64_t pair,
                        const llvm::DenseSet<Pair> &available) {
  auto isThere = [&](Value value) {
    return isa_and_nonnull<arith::ConstantOp, vector::BroadcastOp>(
               value.getDefiningOp()) ||
           columns.getPair(value, pair);
  };
  if (isThere(op->getResult(0)))
    return Source::Registers;
  if (!OpTrait::hasElementwiseMappableTraits(op) || inLoops.contains(op) ||
      columns.masks.isColumnMask(op->getResult(0)))
    return Source::None;
  bool isFresh = false;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isRow(value.getType()) || columns.isBitOperand(operand))
      continue;
    if (!isThere(value) && !available.contains({value, pair}))
      return Source::None;
    isFresh |= fresh.contains({value, pair}) &&
               isa<FloatType>(getElementTypeOrSelf(value));
  }
  return isFresh ? Source::Fresh : Source::Registers;
}
