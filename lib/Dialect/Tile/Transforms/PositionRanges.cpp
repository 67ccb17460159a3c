//===- PositionRanges.cpp - between which numbers scalars of a kernel are
//---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PositionRanges.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4::tile;

static ConstantIntRanges signedRange(unsigned width, int64_t low,
                                     int64_t high) {
  auto bound = [&](int64_t value) {
    return APInt(width, static_cast<uint64_t>(value), /*isSigned=*/true);
  };
  return ConstantIntRanges::fromSigned(bound(low), bound(high));
}

static scf::ForOp getLoopOfInductionVar(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop =
      argument
          ? dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp())
          : scf::ForOp();
  return loop && loop.getInductionVar() == value ? loop : scf::ForOp();
}

/// One coordinate of the work tile: as many as tiles are in the largest size.
static int64_t largestCoordinate(OpResult coordinate) {
  auto kernel = coordinate.getOwner()->getParentOfType<KernelOp>();
  unsigned axis = coordinate.getResultNumber();
  if (!kernel || axis >= kernel.getGrid().size())
    return kMaxSize;
  int64_t tile = cast<ExtentAttr>(kernel.getGrid()[axis]).getTile();
  return llvm::divideCeil(kMaxSize, tile) - 1;
}

ConstantIntRanges PositionRanges::compute(Value value) {
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  ConstantIntRanges unknown = ConstantIntRanges::maxRange(width);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return ConstantIntRanges::constant(constant);
  if (scf::ForOp loop = getLoopOfInductionVar(value)) {
    APInt begin = get(loop.getLowerBound()).smin();
    APInt end = get(loop.getUpperBound()).smax();
    // A loop with no iteration has no value of the variable.
    APInt last = end.isMinSignedValue() ? end : end - 1;
    return begin.sle(last) ? ConstantIntRanges::fromSigned(begin, last)
                           : unknown;
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<memref::DimOp>(op))
    return signedRange(width, 0, kMaxSize);
  if (isa_and_nonnull<WorkTileOp>(op))
    return signedRange(width, 0, largestCoordinate(cast<OpResult>(value)));
  if (auto row = dyn_cast_or_null<RowOp>(op)) {
    auto role = op->getParentOfType<RoleOp>();
    return role ? signedRange(width, 0, 32 * role.getWarps() - 1) : unknown;
  }
  auto arithmetic = dyn_cast_or_null<InferIntRangeInterface>(op);
  if (!arithmetic || op->getNumRegions() != 0)
    return unknown;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands()) {
    if (!operand.getType().isIntOrIndex())
      return unknown;
    operands.push_back(get(operand));
  }
  ConstantIntRanges range = unknown;
  arithmetic.inferResultRanges(
      operands, [&](Value result, const ConstantIntRanges &inferred) {
        if (result == value)
          range = inferred;
      });
  return range;
}

ConstantIntRanges PositionRanges::get(Value value) {
  fa4::visitPostOrder<Value>(
      value, [&](Value v) { return ranges.contains(v); },
      [](Value v, SmallVectorImpl<Value> &needed) {
        ValueRange operands;
        if (Operation *op = v.getDefiningOp())
          operands = op->getOperands();
        else if (scf::ForOp loop = getLoopOfInductionVar(v))
          operands = loop->getOperands().take_front(2);
        for (Value operand : operands)
          if (operand.getType().isIntOrIndex())
            needed.push_back(operand);
      },
      [&](Value v) { ranges.try_emplace(v, compute(v)); });
  return ranges.find(value)->second;
}
