//===- MaskedProgram.cpp - programs whose blocks are masked ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskedProgram.h"
#include "VisibleBlocksProgram.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

PositionRange MaskedProgram::readPositions(bool full) {
  auto read = [&](StringRef name) -> Value {
    Value numbers = getArgument(name);
    if (!numbers)
      return Value();
    unsigned heads = order.lseHead();
    bool hasHeads = cast<MemRefType>(numbers.getType()).getDimSize(heads) != 1;
    SmallVector<Value> at =
        rowIndices(numbers, tileIndex, hasHeads ? head : zero);
    Value number = arith::IndexCastOp::create(
        b, b.getIndexType(), tile::LoadScalarOp::create(b, numbers, at));
    // Passes know of a number in memory what its bounds tell.
    return min(max(number, -1), index(kMaxSize));
  };
  return full ? PositionRange{read(kFirstFull), read(kLastFull)}
              : PositionRange{read(kFirstVisible), read(kLastVisible)};
}

Value MaskedProgram::hide(Value tile, Value visible) {
  return arith::SelectOp::create(
      b, visible, tile,
      splat(cast<VectorType>(tile.getType()),
            -std::numeric_limits<double>::infinity()));
}

Value MaskedProgram::applyMaskMod(Value tile, ArrayRef<TileValue> arguments) {
  Region &region = attention.getMaskMod();
  if (region.empty())
    return tile;
  ArrayRef<int64_t> shape = cast<VectorType>(tile.getType()).getShape();
  int64_t rows = shape[0], columns = shape[1];
  TileValue visible =
      inlineMod(b, region, arguments,
                region.front().getTerminator()->getOperands(), rows, columns)
          .front();
  return hide(tile, broadcastTo(b, visible, true, true, rows, columns));
}

Value MaskedProgram::isMasked(Value step, const MaskedSteps &steps) {
  using Predicate = arith::CmpIPredicate;
  Value masked;
  std::optional<int64_t> known =
      steps.below ? getConstantIntValue(steps.below) : std::nullopt;
  if (steps.below && !(known && *known <= 0))
    masked = less(step, steps.below, Predicate::slt);
  if (steps.from) {
    Value notBelow = less(step, steps.from, Predicate::sge);
    masked =
        masked ? Value(arith::OrIOp::create(b, masked, notBelow)) : notBelow;
  }
  return masked;
}

MaskedProgram::MaskedSteps MaskedProgram::unite(const MaskedSteps &x,
                                                const MaskedSteps &y) {
  MaskedSteps both{x.below ? x.below : y.below, x.from ? x.from : y.from};
  if (x.below && y.below)
    both.below = max(x.below, y.below);
  if (x.from && y.from)
    both.from = min(x.from, y.from);
  return both;
}

Value MaskedProgram::maskAlways(Value tile, ArrayRef<TileValue> arguments,
                                Value visible) {
  return hide(applyMaskMod(tile, arguments), visible);
}

Value MaskedProgram::maskSteps(Value tile, Value step,
                               const MaskedSteps &ofBand,
                               const std::optional<MaskedSteps> &ofMask,
                               ArrayRef<TileValue> arguments,
                               llvm::function_ref<Value()> visible) {
  Value isBand = isMasked(step, ofBand);
  if (!ofMask)
    tile = applyMaskMod(tile, arguments);
  Value masked = ofMask ? isMasked(step, *ofMask) : isBand;
  if (!masked)
    return tile;
  auto branch =
      scf::IfOp::create(b, tile.getType(), masked, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value hidden = ofMask ? applyMaskMod(tile, arguments) : tile;
  scf::YieldOp::create(b, isBand ? hide(hidden, visible()) : hidden);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, tile);
  return branch.getResult(0);
}
