//===- ValueLayoutTest.cpp - which elements of a tile a thread holds ------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract of ValueLayout, on the layout of tensor memory and on one that
// only this test has: the fragments of a matrix instruction whose accumulators
// are registers, where four lanes share a row and a lane has parts of two rows.
// A softmax that is computed thread by thread, with nothing known but the
// layout, gives what the matrix gives.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/ValueLayout.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <cmath>
#include <vector>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

/// PTX ISA, wgmma.mma_async, "Register fragments": accumulator D of m64nN. Four
/// warps have 16 rows each.
class FragmentLayout : public ValueLayout {
public:
  int64_t getNumRows(int64_t threads) const override { return threads / 2; }
  int64_t getNumElements(int64_t columns) const override { return columns / 2; }
  int64_t getRowsPerThread() const override { return 2; }
  AffineMap getOrigin(MLIRContext *context, int64_t) const override {
    AffineExpr t = getAffineDimExpr(0, context);
    return AffineMap::get(
        1, 0, {t.floorDiv(32) * 16 + (t % 32).floorDiv(4), (t % 4) * 2},
        context);
  }
  AffineMap getOffset(MLIRContext *context) const override {
    AffineExpr e = getAffineDimExpr(0, context);
    return AffineMap::get(
        1, 0, {(e.floorDiv(2) % 2) * 8, e.floorDiv(4) * 8 + e % 2}, context);
  }
  AffineMap getRowOfElement(MLIRContext *context) const override {
    AffineExpr e = getAffineDimExpr(0, context);
    return AffineMap::get(1, 0, e.floorDiv(2) % 2);
  }
  llvm::ArrayRef<unsigned> getReductionMasks() const override {
    static const unsigned masks[] = {1, 2};
    return masks;
  }
};

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

  /// The number of an element in the row-major matrix.
  int64_t place(int64_t thread, int64_t element) {
    auto origin = at(layout.getOrigin(&context, kColumns), thread),
         offset = at(layout.getOffset(&context), element);
    return (origin[0] + offset[0]) * kColumns + origin[1] + offset[1];
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

const FragmentLayout fragments;

std::string nameOf(const ::testing::TestParamInfo<const ValueLayout *> &info) {
  const char *const names[] = {"Rows", "FoldedRows", "Fragments"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, ValueLayoutTest,
    ::testing::Values(getValueLayout(ValueLayoutKind::Rows),
                      getValueLayout(ValueLayoutKind::FoldedRows), &fragments),
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

TEST_P(ValueLayoutTest, Parts) {
  Builder b(&context);
  auto matrix = VectorType::get({rows, kColumns}, b.getF32Type());
  EXPECT_EQ(layout.getPart(matrix),
            Type(VectorType::get({elements}, b.getF32Type())));
  auto rowValue = VectorType::get({rows}, b.getF32Type());
  int64_t perThread = layout.getRowsPerThread();
  EXPECT_EQ(layout.getPart(rowValue),
            perThread == 1
                ? b.getF32Type()
                : Type(VectorType::get({perThread}, b.getF32Type())));
  EXPECT_EQ(layout.isRowPerThread(&context),
            &layout == getValueLayout(ValueLayoutKind::Rows));
}
