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

/// Returns what a map of one dimension gives for a number.
static int64_t evaluate(AffineMap map, unsigned result, int64_t number) {
  AffineExpr expr = map.getResult(result).replace(
      getAffineDimExpr(0, map.getContext()),
      getAffineConstantExpr(number, map.getContext()));
  return cast<AffineConstantExpr>(expr).getValue();
}

SmallVector<int64_t> ValueLayout::getElementsOfRow(MLIRContext *context,
                                                   int64_t row,
                                                   int64_t columns) const {
  AffineMap rowOf = getRowOfElement(context);
  SmallVector<int64_t> elements;
  for (int64_t e = 0, count = getNumElements(columns); e < count; ++e)
    if (evaluate(rowOf, 0, e) == row)
      elements.push_back(e);
  return elements;
}

SmallVector<int64_t> ValueLayout::getColumnsOfThread(MLIRContext *context,
                                                     int64_t columns) const {
  AffineMap offset = getOffset(context);
  return llvm::map_to_vector(
      getElementsOfRow(context, /*row=*/0, columns),
      [&](int64_t element) { return evaluate(offset, 1, element); });
}

int64_t ValueLayout::getRowOffset(MLIRContext *context, int64_t row) const {
  // Elements are of one row after the other in the first ones.
  AffineMap rowOf = getRowOfElement(context), offset = getOffset(context);
  int64_t element = 0;
  while (evaluate(rowOf, 0, element) != row)
    ++element;
  return evaluate(offset, 0, element);
}

Type ValueLayout::getRowPart(VectorType tile) const {
  int64_t elements =
      isRowValue(tile)
          ? 1
          : getColumnsPerThread(tile.getNumElements() / tile.getDimSize(0));
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

/// ValueLayoutKind::Fragment, of the 128 threads of a warpgroup. The elements
/// of a thread are in the order of the registers of an accumulator.
class FragmentLayout : public ValueLayout {
  int64_t getNumRows(int64_t threads) const override { return threads / 2; }
  int64_t getNumElements(int64_t columns) const override { return columns / 2; }
  int64_t getRowsPerThread() const override { return 2; }
  AffineMap getOrigin(MLIRContext *context, int64_t) const override {
    AffineExpr thread = getAffineDimExpr(0, context);
    return makeMap(
        {thread.floorDiv(32) * 16 + (thread % 32).floorDiv(4), thread % 4 * 2});
  }
  AffineMap getOffset(MLIRContext *context) const override {
    AffineExpr element = getAffineDimExpr(0, context);
    return makeMap(
        {element.floorDiv(2) % 2 * 8, element.floorDiv(4) * 8 + element % 2});
  }
  AffineMap getRowOfElement(MLIRContext *context) const override {
    return makeMap({getAffineDimExpr(0, context).floorDiv(2) % 2});
  }
  /// Columns 8 i and 8 i + 1 from the origin are the thread's.
  AffineMap getRankOfColumn(MLIRContext *context) const override {
    AffineExpr column = getAffineDimExpr(0, context);
    return makeMap({(column + 7).floorDiv(8) + (column + 6).floorDiv(8)});
  }
  ArrayRef<unsigned> getReductionMasks() const override {
    static const unsigned masks[] = {1, 2};
    return masks;
  }
  int64_t getPieceColumns(int64_t) const override { return 8; }
};
} // namespace

const ValueLayout *fa4::tile::getValueLayout(ValueLayoutKind kind) {
  static const RowsLayout rows;
  static const FoldedRowsLayout folded;
  static const FragmentLayout fragment;
  switch (kind) {
  case ValueLayoutKind::None:
    return nullptr;
  case ValueLayoutKind::Rows:
    return &rows;
  case ValueLayoutKind::FoldedRows:
    return &folded;
  case ValueLayoutKind::Fragment:
    return &fragment;
  }
  llvm_unreachable("no such kind of layout");
}
