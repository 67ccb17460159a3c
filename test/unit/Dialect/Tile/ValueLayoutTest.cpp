//===- ValueLayoutTest.cpp - which elements of a tile a thread holds ------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract of ValueLayout, on the layouts of tensor memory and on that of
// accumulators in registers, where four lanes share a row and a lane has parts
// of two rows. A softmax that is computed thread by thread, with nothing known
// but the layout, gives what the matrix gives.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/ValueLayout.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <cmath>
#include <set>
#include <vector>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

class ValueLayoutTest : public ::testing::TestWithParam<const ValueLayout *> {
protected:
  static constexpr int64_t kThreads = 128, kColumns = 32;
  MLIRContext context;
  const ValueLayout &layout = *GetParam();
  int64_t rows = layout.getNumRows(kThreads);
  int64_t elements = layout.getNumElements(kColumns);

  static SmallVector<int64_t> at(AffineMap map, int64_t number) {
    Builder b(map.getContext());
    SmallVector<Attribute> results;
    EXPECT_TRUE(succeeded(map.constantFold({b.getIndexAttr(number)}, results)));
    return llvm::map_to_vector(results, [](Attribute attr) {
      return cast<IntegerAttr>(attr).getInt();
    });
  }

  static std::vector<SmallVector<int64_t>> tabulate(AffineMap map,
                                                    int64_t count) {
    std::vector<SmallVector<int64_t>> results;
    for (int64_t number = 0; number < count; ++number)
      results.push_back(at(map, number));
    return results;
  }
  const std::vector<SmallVector<int64_t>> origins =
      tabulate(layout.getOrigin(&context, kColumns), kThreads);
  const std::vector<SmallVector<int64_t>> offsets =
      tabulate(layout.getOffset(&context), elements);

  /// The row and column of an element.
  std::pair<int64_t, int64_t> position(int64_t thread, int64_t element) {
    return {origins[thread][0] + offsets[element][0],
            origins[thread][1] + offsets[element][1]};
  }

  /// The number of an element in the row-major matrix.
  int64_t place(int64_t thread, int64_t element) {
    auto [row, column] = position(thread, element);
    return row * kColumns + column;
  }

  /// Gives each lane what the lanes of the masks have combined.
  template <typename Combine>
  void exchange(std::vector<float> &ofThread, Combine combine) {
    for (unsigned mask : layout.getReductionMasks()) {
      std::vector<float> before = ofThread;
      for (int64_t t = 0; t < kThreads; ++t)
        ofThread[t] = combine(before[t], before[t ^ mask]);
    }
  }
};

std::string nameOf(const ::testing::TestParamInfo<const ValueLayout *> &info) {
  const char *const names[] = {"Rows", "FoldedRows", "Fragment"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, ValueLayoutTest,
    ::testing::Values(getValueLayout(ValueLayoutKind::Rows),
                      getValueLayout(ValueLayoutKind::FoldedRows),
                      getValueLayout(ValueLayoutKind::Fragment)),
    nameOf);

} // namespace

TEST_P(ValueLayoutTest, EachElementIsHeldOnce) {
  std::vector<unsigned> holders(rows * kColumns);
  for (int64_t t = 0; t < kThreads; ++t)
    for (int64_t e = 0; e < elements; ++e)
      ++holders.at(place(t, e));
  for (unsigned count : holders)
    EXPECT_EQ(count, 1u);
}

/// The maximum and the sum of a row, by lanes that know their own elements.
TEST_P(ValueLayoutTest, SoftmaxByThreads) {
  std::vector<float> matrix(rows * kColumns), result(matrix.size());
  for (size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = float((i * 7919) % 101) / 16;
  int64_t perThread = layout.getRowsPerThread();
  AffineMap rowOf = layout.getRowOfElement(&context);
  for (int64_t row = 0; row < perThread; ++row) {
    std::vector<float> most(kThreads, -INFINITY), sum(kThreads, 0);
    auto forElements = [&](auto body) {
      for (int64_t t = 0; t < kThreads; ++t)
        for (int64_t e = 0; e < elements; ++e)
          if (at(rowOf, e)[0] == row)
            body(t, place(t, e));
    };
    forElements(
        [&](int64_t t, int64_t i) { most[t] = std::max(most[t], matrix[i]); });
    exchange(most, [](float a, float b) { return std::max(a, b); });
    forElements([&](int64_t t, int64_t i) {
      result[i] = std::exp2(matrix[i] - most[t]);
      sum[t] += result[i];
    });
    exchange(sum, [](float a, float b) { return a + b; });
    forElements([&](int64_t t, int64_t i) { result[i] /= sum[t]; });
  }
  for (int64_t row = 0; row < rows; ++row) {
    const float *from = &matrix[row * kColumns];
    float most = *std::max_element(from, from + kColumns), sum = 0;
    for (int64_t i = 0; i < kColumns; ++i)
      sum += std::exp2(from[i] - most);
    for (int64_t i = 0; i < kColumns; ++i)
      EXPECT_NEAR(result[row * kColumns + i], std::exp2(from[i] - most) / sum,
                  1e-6);
  }
}

/// Packed instructions take elements 2 i and 2 i + 1 together.
TEST_P(ValueLayoutTest, PairsOfElementsAreSideBySide) {
  for (int64_t t = 0; t < kThreads; ++t)
    for (int64_t e = 0; e < elements; e += 2) {
      auto [row, column] = position(t, e);
      EXPECT_EQ(position(t, e + 1), std::pair(row, column + 1));
    }
}

TEST_P(ValueLayoutTest, EachRowValueHasOneOwner) {
  std::vector<std::set<int64_t>> owners(rows);
  for (int64_t t = 0; t < kThreads; ++t)
    for (int64_t e = 0; e < elements; ++e)
      if ((t & layout.getOwnerMask()) == 0)
        owners.at(position(t, e).first).insert(t);
  for (const std::set<int64_t> &ofRow : owners)
    EXPECT_EQ(ofRow.size(), 1u);
}

TEST_P(ValueLayoutTest, ThreadsOfARow) {
  std::vector<std::set<int64_t>> threads(rows);
  for (int64_t t = 0; t < kThreads; ++t)
    for (int64_t e = 0; e < elements; ++e)
      threads.at(position(t, e).first).insert(t);
  for (const std::set<int64_t> &ofRow : threads)
    EXPECT_EQ(int64_t(ofRow.size()), layout.getThreadsPerRow());
  EXPECT_EQ(layout.isRowPerThread(),
            layout.getThreadsPerRow() == 1 && layout.getRowsPerThread() == 1);
}

/// The elements of a row whose columns are less than a bound are the first ones
/// of the thread, as many as the bound's rank.
TEST_P(ValueLayoutTest, RankOfColumn) {
  AffineMap rank = layout.getRankOfColumn(&context);
  auto rowOf = tabulate(layout.getRowOfElement(&context), elements);
  int64_t perRow = elements / layout.getRowsPerThread();
  for (int64_t t = 0; t < kThreads; ++t) {
    int64_t origin = origins[t][1];
    for (int64_t bound = -3; bound < kColumns + 3; ++bound) {
      std::vector<int64_t> number(layout.getRowsPerThread());
      int64_t first =
          std::clamp<int64_t>(at(rank, bound - origin)[0], 0, perRow);
      for (int64_t e = 0; e < elements; ++e)
        EXPECT_EQ(number.at(rowOf[e][0])++ < first,
                  position(t, e).second < bound);
    }
  }
}

/// A thread has the same number of elements of each piece of the columns, and
/// they follow each other.
TEST_P(ValueLayoutTest, Pieces) {
  int64_t piece = layout.getPieceColumns(kColumns);
  ASSERT_EQ(kColumns % piece, 0);
  int64_t ofPiece = elements * piece / kColumns;
  for (int64_t t = 0; t < kThreads; ++t)
    for (int64_t e = 0; e < elements; ++e)
      EXPECT_EQ(position(t, e).second / piece, e / ofPiece);
}

/// The box of an element is that of the thread's origin plus that of the
/// offset.
TEST_P(ValueLayoutTest, Boxes) {
  for (int64_t box = layout.getBoxColumns(kColumns); box >= 8; box /= 2)
    for (int64_t t = 0; t < kThreads; ++t)
      for (int64_t e = 0; e < elements; ++e) {
        int64_t origin = origins[t][1], offset = offsets[e][1];
        EXPECT_EQ((origin + offset) / box, origin / box + offset / box);
      }
}

TEST_P(ValueLayoutTest, ElementsByColumn) {
  bool isByColumn = true;
  for (int64_t t = 0; t < kThreads; ++t)
    for (int64_t e = 0; e < elements; ++e)
      isByColumn &= position(t, e).second == e;
  EXPECT_EQ(layout.hasElementsByColumn(&context), isByColumn);
}

TEST_P(ValueLayoutTest, Shapes) {
  Type f32 = Builder(&context).getF32Type();
  int64_t threads = layout.getThreadsPerRow();
  auto canHold = [&](ArrayRef<int64_t> shape) {
    return layout.canHold(VectorType::get(shape, f32));
  };
  EXPECT_TRUE(canHold({rows, kColumns}));
  EXPECT_TRUE(canHold({rows, 1}));
  EXPECT_EQ(canHold({rows, kColumns + 1}), threads == 1);
  EXPECT_EQ(canHold({rows, threads, kColumns / threads}), threads != 1);
  EXPECT_FALSE(canHold({rows, 2 * threads, kColumns / threads / 2}));
  EXPECT_FALSE(canHold({rows, 1, threads, kColumns / threads}));
}

/// A thread holds of a matrix a part for each of its rows, and of row values
/// one element for each of them.
TEST_P(ValueLayoutTest, RowParts) {
  Builder b(&context);
  auto matrix = VectorType::get({rows, kColumns}, b.getF32Type());
  int64_t perRow = elements / layout.getRowsPerThread();
  EXPECT_EQ(perRow, layout.getColumnsPerThread(kColumns));
  EXPECT_EQ(layout.getRowPart(matrix),
            Type(VectorType::get({perRow}, b.getF32Type())));
  for (SmallVector<int64_t> shape : {SmallVector<int64_t>{rows}, {rows, 1}})
    EXPECT_EQ(layout.getRowPart(VectorType::get(shape, b.getF32Type())),
              b.getF32Type());
}

/// The parts of a thread are of rows at fixed distances, and each is of the
/// same columns in the order of the elements.
TEST_P(ValueLayoutTest, ElementsOfRows) {
  SmallVector<int64_t> columns = layout.getColumnsOfThread(&context, kColumns);
  EXPECT_EQ(int64_t(columns.size()), layout.getColumnsPerThread(kColumns));
  EXPECT_TRUE(llvm::is_sorted(columns));
  EXPECT_EQ(layout.getRowOffset(&context, 0), 0);
  std::set<int64_t> all;
  for (int64_t row = 0; row < layout.getRowsPerThread(); ++row) {
    SmallVector<int64_t> ofRow =
        layout.getElementsOfRow(&context, row, kColumns);
    ASSERT_EQ(ofRow.size(), columns.size());
    EXPECT_TRUE(llvm::is_sorted(ofRow));
    for (auto [element, column] : llvm::zip_equal(ofRow, columns)) {
      EXPECT_EQ(offsets[element][0], layout.getRowOffset(&context, row));
      EXPECT_EQ(offsets[element][1], column);
      all.insert(element);
    }
  }
  EXPECT_EQ(int64_t(all.size()), elements);
}

/// The registers of wgmma's accumulator (PTX ISA, "Register Fragments for
/// wgmma.mma_async.m64nNk16", D): thread 37 is in warp 1 and has lane 5.
TEST(FragmentLayout, IsThatOfTheAccumulator) {
  MLIRContext context;
  const ValueLayout &layout = *getValueLayout(ValueLayoutKind::Fragment);
  EXPECT_EQ(layout.getNumRows(128), 64);
  EXPECT_EQ(layout.getOwnerMask(), 3u);
  EXPECT_EQ(layout.getElementsOfRow(&context, 0, 16),
            (SmallVector<int64_t>{0, 1, 4, 5}));
  EXPECT_EQ(layout.getElementsOfRow(&context, 1, 16),
            (SmallVector<int64_t>{2, 3, 6, 7}));
  EXPECT_EQ(layout.getColumnsOfThread(&context, 16),
            (SmallVector<int64_t>{0, 1, 8, 9}));
  EXPECT_EQ(layout.getRowOffset(&context, 1), 8);
  Builder b(&context);
  SmallVector<Attribute> origin;
  ASSERT_TRUE(succeeded(layout.getOrigin(&context, 16)
                            .constantFold({b.getIndexAttr(37)}, origin)));
  EXPECT_EQ(cast<IntegerAttr>(origin[0]).getInt(), 16 + 1);
  EXPECT_EQ(cast<IntegerAttr>(origin[1]).getInt(), 2);
}
