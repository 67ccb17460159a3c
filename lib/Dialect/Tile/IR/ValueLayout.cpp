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

unsigned ValueLayout::getOwnerMask() const {
  unsigned bits = 0;
  for (unsigned mask : getReductionMasks())
    bits |= mask;
  return bits;
}

AffineMap ValueLayout::getRankOfColumn(MLIRContext *context) const {
  return AffineMap::getMultiDimIdentityMap(/*numDims=*/1, context);
}

bool ValueLayout::hasElementsByColumn(MLIRContext *context) const {
  return getOrigin(context, /*columns=*/2).getResult(1) ==
             getAffineConstantExpr(0, context) &&
         getOffset(context).getResult(1) == getAffineDimExpr(0, context);
}

/// Returns true for a vector of row values, and for a matrix of one column,
/// which is another form of them.
static bool isRowValue(VectorType tile) {
  return tile.getNumElements() == tile.getDimSize(0);
}

bool ValueLayout::canHold(VectorType matrix) const {
  int64_t threads = getThreadsPerRow();
  if (matrix.getRank() == 2)
    return isRowValue(matrix) || matrix.getDimSize(1) % threads == 0;
  return matrix.getRank() == 3 && threads != 1 &&
         matrix.getDimSize(1) == threads;
}

Type ValueLayout::getPart(VectorType tile) const {
  int64_t elements =
      isRowValue(tile)
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
};

/// ValueLayoutKind::FoldedRows, of the 128 threads of a warpgroup. A thread
/// holds elements of one row side by side, as in RowsLayout.
class FoldedRowsLayout : public RowsLayout {
  static constexpr int64_t kRows = 64;

  int64_t getNumRows(int64_t threads) const override { return threads / 2; }
  int64_t getNumElements(int64_t columns) const override { return columns / 2; }
  AffineMap getOrigin(MLIRContext *context, int64_t columns) const override {
    AffineExpr thread = getAffineDimExpr(0, context);
    return makeMap({thread % kRows, thread.floorDiv(kRows) * (columns / 2)});
  }
  ArrayRef<unsigned> getReductionMasks() const override {
    static const unsigned masks[] = {kRows};
    return masks;
  }
  /// A thread has nothing of the columns of the other half.
  int64_t getPieceColumns(int64_t columns) const override { return columns; }
  int64_t getBoxColumns(int64_t columns) const override { return columns / 2; }
  /// As A, the tile would have to be in both halves of the lanes (PTX ISA,
  /// tcgen05, "Data Path Layout B").
  bool isMmaOperand() const override { return false; }
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
