//===- VisibleRangeTest.cpp - the positions that a mask_mod may show ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Conversion/AttnToTile/VisibleRange.h"
#include "../Dialect/Attn/RandomMaskMod.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

/// Bounds of constant positions are constants, too. One that is not there has
/// no number.
using Bounds = std::pair<std::optional<int64_t>, std::optional<int64_t>>;

/// Bounds of a range that is known to be empty.
static const Bounds kNone(1, 0);

static bool holds(const Bounds &bounds, int64_t x) {
  return (!bounds.first || *bounds.first <= x) &&
         (!bounds.second || x <= *bounds.second);
}

namespace {
class VisibleRange : public ::testing::Test {
protected:
  VisibleRange() {
    context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect,
                        math::MathDialect>();
  }

  /// Takes the text of a mask_mod's operations.
  void parse(StringRef mask) {
    std::string text = "func.func @mask(%b: index, %h: index, %i: index, "
                       "%j: index, %capture: index) -> i1 {\n" +
                       mask.str() + "\nreturn %visible : i1\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    region = &(*module->getOps<func::FuncOp>().begin()).getBody();
  }
  Bounds keys(int64_t first, int64_t last) {
    return getBounds(buildVisibleKeys, *region, first, last);
  }
  Bounds queries(int64_t first, int64_t last) {
    return getBounds(buildSeeingQueries, *region, first, last);
  }
  Bounds fullKeys(int64_t first, int64_t last) {
    return getBounds(buildFullKeys, *region, first, last);
  }
  Bounds fullQueries(int64_t first, int64_t last) {
    return getBounds(buildFullQueries, *region, first, last);
  }
  Bounds getBounds(decltype(buildVisibleKeys) build, Region &mask,
                   int64_t first, int64_t last);

  /// What the region captures.
  int64_t capture = 0;

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Region *region = nullptr;
  /// The operations that the last bounds were built with, and three constants:
  /// the two positions of the tile and the capture.
  unsigned numOperations = 0;
};
} // namespace

Bounds VisibleRange::getBounds(decltype(buildVisibleKeys) build, Region &mask,
                               int64_t first, int64_t last) {
  OwningOpRef<ModuleOp> kernel = ModuleOp::create(UnknownLoc::get(&context));
  auto b =
      ImplicitLocOpBuilder::atBlockEnd(kernel->getLoc(), kernel->getBody());
  Value begin = arith::ConstantIndexOp::create(b, first),
        end = arith::ConstantIndexOp::create(b, last),
        scalar = arith::ConstantIndexOp::create(b, capture);
  PositionRange range = build(b, mask, {scalar}, {begin, end});
  numOperations = llvm::range_size(*kernel->getBody());
  if (range.isEmpty)
    return kNone;
  auto number = [](Value bound) {
    auto known = bound ? getConstantIntValue(bound) : std::nullopt;
    EXPECT_EQ(bool(bound), bool(known)) << "a bound is no constant";
    return known;
  };
  return {number(range.first), number(range.last)};
}

TEST_F(VisibleRange, Documents) {
  parse(R"(
    %c512 = arith.constant 512 : index
    %x = arith.floordivsi %i, %c512 : index
    %y = arith.divui %j, %c512 : index
    %visible = arith.cmpi eq, %x, %y : index)");
  EXPECT_EQ(keys(640, 767), Bounds(512, 1023));
  EXPECT_EQ(keys(960, 1087), Bounds(512, 1535));
  EXPECT_EQ(queries(0, 127), Bounds(0, 511));
  EXPECT_EQ(fullKeys(640, 767), Bounds(512, 1023));
  EXPECT_EQ(fullQueries(0, 127), Bounds(0, 511));
  // No key is in the documents of both halves of the tile.
  auto [first, last] = fullKeys(960, 1087);
  EXPECT_GT(first, last);
}

TEST_F(VisibleRange, Prefix) {
  parse(R"(
    %c100 = arith.constant 100 : index
    %past = arith.cmpi sge, %i, %j : index
    %prefix = arith.cmpi slt, %j, %c100 : index
    %visible = arith.ori %past, %prefix : i1)");
  EXPECT_EQ(keys(0, 63), Bounds(std::nullopt, 99));
  EXPECT_EQ(keys(128, 191), Bounds(std::nullopt, 191));
  // Each query sees the keys of the prefix.
  EXPECT_EQ(queries(64, 127), Bounds());
  EXPECT_EQ(queries(128, 191).first, 128);
  // The first query of the tile sees the fewest keys.
  EXPECT_EQ(fullKeys(0, 63), Bounds(std::nullopt, 99));
  EXPECT_EQ(fullKeys(128, 191), Bounds(std::nullopt, 128));
  EXPECT_EQ(fullQueries(0, 63), Bounds());
  EXPECT_EQ(fullQueries(128, 191), Bounds(191, std::nullopt));
}

// Of two ranges with a gap between them, the longer one counts.
TEST_F(VisibleRange, FullRangesWithAGap) {
  parse(R"(
    %c10 = arith.constant 10 : index
    %distance = arith.subi %i, %j : index
    %back = arith.subi %j, %i : index
    %near1 = arith.cmpi slt, %distance, %c10 : index
    %near2 = arith.cmpi slt, %back, %c10 : index
    %near = arith.andi %near1, %near2 : i1
    %first = arith.cmpi slt, %j, %c10 : index
    %visible = arith.ori %near, %first : i1)");
  EXPECT_EQ(fullKeys(100, 103), Bounds(94, 109));
  EXPECT_EQ(fullKeys(100, 115), Bounds(0, 9));
}

TEST_F(VisibleRange, QuotientsOfSums) {
  parse(R"(
    %c3 = arith.constant 3 : i32
    %c8 = arith.constant 8 : i32
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %sum = arith.addi %j32, %c3 : i32
    %x = arith.shrsi %sum, %c3 : i32
    %y = arith.floordivsi %i32, %c8 : i32
    %visible = arith.cmpi sgt, %x, %y : i32)");
  // (j + 3) floordiv 8 >= 3.
  EXPECT_EQ(keys(16, 20), Bounds(21, std::nullopt));
  EXPECT_EQ(queries(16, 20), Bounds(std::nullopt, 15));
}

TEST_F(VisibleRange, ConditionsOnTheTileOnly) {
  parse(R"(
    %c8 = arith.constant 8 : index
    %visible = arith.cmpi slt, %i, %c8 : index)");
  auto [first, last] = keys(8, 15);
  EXPECT_GT(first, last);
  EXPECT_EQ(keys(7, 14).first, std::nullopt);
  EXPECT_EQ(queries(0, 3), Bounds(std::nullopt, 7));
}

// A capture of any size bounds what it is compared with.
TEST_F(VisibleRange, Captures) {
  parse(R"(
    %distance = arith.subi %i, %j : index
    %visible = arith.cmpi sle, %distance, %capture : index)");
  capture = 10;
  EXPECT_EQ(keys(64, 127), Bounds(54, std::nullopt));
  EXPECT_EQ(queries(64, 127), Bounds(std::nullopt, 137));
  for (int64_t least : {INT64_C(-2147483648), INT64_C(-2147483647)}) {
    capture = least;
    EXPECT_GT(keys(64, 127).first, int64_t(1) << 29);
  }
  capture = 2147483647;
  EXPECT_LT(keys(64, 127).first, 0);
  // Of two captures, and of a sum with one, nothing is known.
  parse(R"(
    %sum = arith.addi %j, %capture : index
    %visible = arith.cmpi sle, %sum, %i : index)");
  EXPECT_EQ(keys(64, 127), Bounds());
}

// What the bounds do not need is not left behind, and what bounds nothing
// builds nothing.
TEST_F(VisibleRange, NoBounds) {
  parse(R"(
    %c8 = arith.constant 8 : index
    %x = arith.floordivsi %i, %c8 : index
    %visible = arith.cmpi ne, %x, %j : index)");
  EXPECT_EQ(keys(0, 7), Bounds());
  EXPECT_EQ(numOperations, 3u);
  EXPECT_EQ(fullKeys(0, 7), kNone);
  EXPECT_EQ(numOperations, 3u);
}

// An integer that may wrap around bounds nothing.
TEST_F(VisibleRange, WrapAround) {
  parse(R"(
    %large = arith.constant 1048576 : index
    %x = arith.muli %j, %large : index
    %visible = arith.cmpi sle, %x, %i : index)");
  EXPECT_EQ(keys(0, 63), Bounds());
  EXPECT_EQ(queries(0, 63), Bounds());
  EXPECT_EQ(fullKeys(0, 63), kNone);
  parse(R"(
    %least = arith.constant -2147483648 : i32
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %x = arith.subi %j32, %least : i32
    %visible = arith.cmpi sle, %x, %i32 : i32)");
  EXPECT_EQ(keys(0, 63), Bounds());
}

// A hundred thousand quotients of quotients need no stack.
TEST_F(VisibleRange, ManyQuotients) {
  std::string text = "%two = arith.constant 2 : index\n"
                     "%x0 = arith.floordivsi %j, %two : index\n";
  unsigned count = 0;
  auto divide = [&](unsigned end) {
    for (; count != end; ++count)
      text += llvm::formatv("%x{1} = arith.floordivsi %x{0}, %two : index\n",
                            count, count + 1)
                  .str();
    parse(text +
          llvm::formatv("%visible = arith.cmpi sle, %x{0}, %i : index", count)
              .str());
  };
  divide(5); // By 64.
  EXPECT_EQ(keys(1, 3), Bounds(std::nullopt, 255));
  // Beyond 2^29, where a product with 64 would wrap around.
  EXPECT_GE(*keys(536870911, 536870911).second, int64_t(1) << 29);
  divide(100000);
  EXPECT_EQ(keys(1, 3), Bounds());
}

// A mask shows all queries of a tile each key of a full range, and does so for
// queries.
TEST_F(VisibleRange, RandomMasksShowAllOfAFullRange) {
  constexpr unsigned kSeeds = 400;
  unsigned found = 0;
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    RandomOp random(context, seed);
    Region &mask = random.get().getMaskMod();
    bool isFound = false;
    for (int64_t row = 0; row < kQueries; ++row) {
      Bounds seen = getBounds(buildFullKeys, mask, row & ~1, row | 1);
      Bounds seeing =
          getBounds(buildFullQueries, mask, row / 3 * 3, row / 3 * 3 + 2);
      for (bool unknown : {false, true})
        for (int64_t x = 0; x < kKeys; ++x) {
          isFound |= holds(seen, x) || holds(seeing, x);
          ASSERT_TRUE(!holds(seen, x) || evaluateMaskMod(mask, row, x, unknown))
              << random.source << "\nat i = " << row << ", j = " << x;
          ASSERT_TRUE(!holds(seeing, x) ||
                      evaluateMaskMod(mask, x, row, unknown))
              << random.source << "\nat i = " << x << ", j = " << row;
        }
    }
    found += isFound;
  }
  EXPECT_GT(found, kSeeds / 5);
}

// Tiles of a query or three, so that most positions lie outside.
TEST_F(VisibleRange, RandomMasksKeepWhatIsVisible) {
  constexpr unsigned kSeeds = 400;
  unsigned bounded = 0;
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    RandomOp random(context, seed);
    Region &mask = random.get().getMaskMod();
    bool isBounded = false;
    for (int64_t row = 0; row < kQueries; ++row) {
      Bounds seen = getBounds(buildVisibleKeys, mask, row & ~1, row | 1);
      Bounds seeing =
          getBounds(buildSeeingQueries, mask, row / 3 * 3, row / 3 * 3 + 2);
      isBounded |= seen != Bounds() || seeing != Bounds();
      for (bool unknown : {false, true})
        for (int64_t x = 0; x < kKeys; ++x) {
          ASSERT_TRUE(holds(seen, x) || !evaluateMaskMod(mask, row, x, unknown))
              << random.source << "\nat i = " << row << ", j = " << x;
          ASSERT_TRUE(holds(seeing, x) ||
                      !evaluateMaskMod(mask, x, row, unknown))
              << random.source << "\nat i = " << x << ", j = " << row;
        }
    }
    bounded += isBounded;
  }
  EXPECT_GT(bounded, kSeeds / 3);
}
