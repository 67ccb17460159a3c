//===- ValueLayout.cpp - which elements of a tile a thread holds ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/ValueLayout.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

ValueLayout::~ValueLayout() = default;

bool ValueLayout::isRowPerThread(MLIRContext *context) const {
  AffineExpr d0 = getAffineDimExpr(0, context);
  AffineExpr zero = getAffineConstantExpr(0, context);
  return getRowsPerThread() == 1 && getReductionMasks().empty() &&
         getOrigin(context, /*columns=*/2).getResult(1) == zero &&
         getOffset(context).getResults() == ArrayRef<AffineExpr>{zero, d0};
}

Type ValueLayout::getPart(VectorType tile) const {
  int64_t elements =
      tile.getRank() == 1
          ? getRowsPerThread()
          : getNumElements(tile.getNumElements() / tile.getDimSize(0));
  Type element = tile.getElementType();
  return elements == 1 ? element : VectorType::get({elements}, element);
}

static AffineMap makeMap(ArrayRef<AffineExpr> results) {
  return AffineMap::get(/*dimCount=*/1, /*symbolCount=*/0, results,
                        results.front().getContext());
}

namespace {
/// ValueLayoutKind::Rows.
class RowsLayout : public ValueLayout {
  int64_t getNumRows(int64_t threads) const override { return threads; }
  int64_t getNumElements(int64_t columns) const override { return columns; }
  int64_t getRowsPerThread() const override { return 1; }
  AffineMap getOrigin(MLIRContext *context, int64_t) const override {
    return makeMap(
        {getAffineDimExpr(0, context), getAffineConstantExpr(0, context)});
  }
  AffineMap getOffset(MLIRContext *context) const override {
    return makeMap(
        {getAffineConstantExpr(0, context), getAffineDimExpr(0, context)});
  }
  AffineMap getRowOfElement(MLIRContext *context) const override {
    return makeMap({getAffineConstantExpr(0, context)});
  }
  ArrayRef<unsigned> getReductionMasks() const override { return {}; }
};

/// ValueLayoutKind::FoldedRows, of the 128 threads of a warpgroup.
class FoldedRowsLayout : public ValueLayout {
  static constexpr int64_t kRows = 64;

  int64_t getNumRows(int64_t threads) const override { return threads / 2; }
  int64_t getNumElements(int64_t columns) const override { return columns / 2; }
  int64_t getRowsPerThread() const override { return 1; }
  AffineMap getOrigin(MLIRContext *context, int64_t columns) const override {
    AffineExpr thread = getAffineDimExpr(0, context);
    return makeMap({thread % kRows, thread.floorDiv(kRows) * (columns / 2)});
  }
  AffineMap getOffset(MLIRContext *context) const override {
    return makeMap(
        {getAffineConstantExpr(0, context), getAffineDimExpr(0, context)});
  }
  AffineMap getRowOfElement(MLIRContext *context) const override {
    return makeMap({getAffineConstantExpr(0, context)});
  }
  ArrayRef<unsigned> getReductionMasks() const override {
    static const unsigned masks[] = {kRows};
    return masks;
  }
};
} // namespace

const ValueLayout *fa4::tile::getValueLayout(ValueLayoutKind kind) {
  static const RowsLayout rows;
  static const FoldedRowsLayout folded;
  switch (kind) {
  case ValueLayoutKind::None:
    return nullptr;
  case ValueLayoutKind::Rows:
    return &rows;
  case ValueLayoutKind::FoldedRows:
    return &folded;
  }
  llvm_unreachable("no such kind of layout");
}
