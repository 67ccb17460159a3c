//===- LaneOps.cpp - what a thread computes, as LLVM dialect ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneOps.h"
#include "fa4/Conversion/LaneMathToLLVM/LaneMathToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns true for a type that LLVM has, too: a number, or a vector of
/// numbers. LLVM has no `index`, no float of 8 bits and no vectors of vectors.
static bool isLaneType(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Type element = getElementTypeOrSelf(type);
  return (!vector || (vector.getRank() == 1 && !vector.isScalable())) &&
         (element.isSignlessInteger() ||
          isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element));
}

//===----------------------------------------------------------------------===//
// arith
//===----------------------------------------------------------------------===//

static Value lowerArithmetic(LaneBuilder &b, Operation *op) {
  return lowerToSame<SameInLLVM<arith::MaximumFOp, LLVM::MaximumOp>,
                     SameInLLVM<arith::MinimumFOp, LLVM::MinimumOp>,
                     SameInLLVM<arith::AddFOp, LLVM::FAddOp>,
                     SameInLLVM<arith::SubFOp, LLVM::FSubOp>,
                     SameInLLVM<arith::MulFOp, LLVM::FMulOp>,
                     SameInLLVM<arith::NegFOp, LLVM::FNegOp>,
                     SameInLLVM<arith::AddIOp, LLVM::AddOp>,
                     SameInLLVM<arith::SubIOp, LLVM::SubOp>,
                     SameInLLVM<arith::MulIOp, LLVM::MulOp>,
                     SameInLLVM<arith::ShLIOp, LLVM::ShlOp>,
                     SameInLLVM<arith::ShRUIOp, LLVM::LShrOp>,
                     SameInLLVM<arith::AndIOp, LLVM::AndOp>,
                     SameInLLVM<arith::OrIOp, LLVM::OrOp>,
                     SameInLLVM<arith::XOrIOp, LLVM::XOrOp>,
                     SameInLLVM<arith::SelectOp, LLVM::SelectOp>>(b, op);
}

static Value lowerCompare(LaneBuilder &b, arith::CmpIOp op) {
  return LLVM::ICmpOp::create(
      b, op.getType(), static_cast<LLVM::ICmpPredicate>(op.getPredicate()),
      op.getLhs(), op.getRhs());
}

static Value lowerTruncation(LaneBuilder &b, arith::TruncFOp op) {
  // lowerLaneMath has lowered other roundings that PTX has.
  auto mode = op.getRoundingmode();
  if (mode && *mode != arith::RoundingMode::to_nearest_even)
    return {};
  return LLVM::FPTruncOp::create(b, op.getType(), op.getIn());
}

//===----------------------------------------------------------------------===//
// vector
//===----------------------------------------------------------------------===//

static Value lowerExtract(LaneBuilder &b, vector::ExtractOp op) {
  ArrayRef<int64_t> position = op.getStaticPosition();
  // Handled here because upstream's pattern folds this in place, and a dialect
  // conversion cannot roll an in-place fold back.
  if (llvm::is_contained(position, vector::ExtractOp::kPoisonIndex))
    return b.poison(op.getType());
  if (position.size() != 1 || position.front() < 0)
    return {};
  // LLVM has to split vectors of one element again, one by one.
  auto cast = op.getSource().getDefiningOp<vector::BitCastOp>();
  if (cast && cast.getType().getNumElements() == 1)
    return LLVM::BitcastOp::create(b, op.getType(), cast.getSource());
  return b.extract(op.getSource(), position.front());
}

/// Returns the elements that a vector is made of, which may have been cast to
/// another type and back, or an empty range.
static ValueRange findElements(Value vector) {
  Value source = vector;
  while (auto *cast = source.getDefiningOp()) {
    if (!isa<vector::BitCastOp, LLVM::BitcastOp>(cast))
      break;
    source = cast->getOperand(0);
  }
  auto built = source.getDefiningOp<vector::FromElementsOp>();
  return built && source.getType() == vector.getType() ? built.getElements()
                                                       : ValueRange();
}

static Value lowerSlice(LaneBuilder &b, vector::ExtractStridedSliceOp op) {
  int64_t first = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  if (op.hasNonUnitStrides())
    return {};
  int64_t count = op.getType().getNumElements();
  // LLVM would search the whole vector for each element of its parts.
  if (ValueRange elements = findElements(op.getSource()); !elements.empty())
    return b.fromElements(op.getType(), elements.slice(first, count));
  SmallVector<int32_t> mask;
  for (int64_t i = 0; i < count; ++i)
    mask.push_back(static_cast<int32_t>(first + i));
  return LLVM::ShuffleVectorOp::create(b, op.getType(), op.getSource(),
                                       b.poison(op.getSource().getType()),
                                       b.getDenseI32ArrayAttr(mask));
}

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

/// Returns the value that takes the place of the operation's result, or null.
static Value lower(LaneBuilder &b, Operation *op) {
  if (Value value = lowerLaneMath(b, op))
    return value;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::ConstantOp op) { return b.constant(op.getValue()); })
      .Case([&](vector::ExtractOp op) { return lowerExtract(b, op); })
      .Case([&](vector::FromElementsOp op) {
        return b.fromElements(op.getType(), op.getElements());
      })
      .Case([&](vector::ExtractStridedSliceOp op) { return lowerSlice(b, op); })
      .Case([&](vector::BitCastOp op) {
        return LLVM::BitcastOp::create(b, op.getType(), op.getSource());
      })
      .Case([&](arith::TruncFOp op) { return lowerTruncation(b, op); })
      .Case([&](arith::CmpIOp op) { return lowerCompare(b, op); })
      .Default([&](Operation *op) { return lowerArithmetic(b, op); });
}

void fa4::tile::lowerLaneOps(LLVM::LLVMFuncOp function) {
  LaneBuilder builder(function.getLoc(), &function.front());
  // Uses come before definitions, so that an operation whose users have been
  // folded into others is seen without uses, and patterns of several operations
  // are seen as they were.
  function.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op->getNumResults() != 1)
      return;
    if (op->use_empty() && isMemoryEffectFree(op))
      return op->erase();
    if (!isLaneType(op->getResult(0).getType()) ||
        !llvm::all_of(op->getOperandTypes(), isLaneType))
      return;
    builder.setLoc(op->getLoc());
    builder.setInsertionPoint(op);
    Value lowered = lower(builder, op);
    if (!lowered)
      return;
    op->getResult(0).replaceAllUsesWith(lowered);
    op->erase();
  });
}
