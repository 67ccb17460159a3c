//===- ExpSplitTest.cpp - exponentials to take from the MUFU -----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ExpSplit.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace fa4;
using namespace fa4::tile;

static const TargetDescription &target(llvm::StringRef chip) {
  return *lookupTarget(chip);
}

/// Attention with bf16 tiles of 128 keys and two tiles of 128 queries: row
/// maximum, scaling, exponentials and conversion, row sum.
static RowWork attention(llvm::StringRef chip, unsigned headDim,
                         bool recurrence) {
  const TargetDescription &t = target(chip);
  RowWork work;
  work.before.alu = t.threeInputMax ? 66 : 128;
  work.before.tmemLoadBytes = 4 * 128;
  work.elementwise.mufu = 128;
  work.elementwise.fma = 128;
  work.elementwise.conversions = 64;
  work.elementwise.tmemStoreBytes = 2 * 128;
  // The factor of the old sum, the sum, and the loop's other instructions.
  work.beside.mufu = 1;
  work.beside.fma = 136;
  work.beside.other = 60;
  uint64_t qk = t.mmaCycles({128, 128, headDim, 2, true});
  uint64_t pv = t.mmaCycles({128, headDim, 128, 2, false});
  work.mmaCycles = 2 * (qk + pv);
  if (recurrence)
    work.recurrence =
        Recurrence{/*leadFragments=*/3,
                   /*consumerLead=*/pv * 0.75,
                   /*consumerRest=*/pv * 0.25,
                   /*producer=*/double(qk),
                   /*latency=*/
                   double(t.latency.mmaShared + t.latency.mbarrierRoundTrip +
                          t.latency.tmemLoad + t.latency.tmemStore)};
  return work;
}

static ExpSplit split(llvm::StringRef chip, const RowWork &work,
                      std::optional<unsigned> pairs = std::nullopt) {
  return llvm::cantFail(computeExpSplit(target(chip), work, pairs));
}

static std::string printed(const ExpSplit &split) {
  std::string text;
  llvm::raw_string_ostream os(text);
  split.print(os);
  return text;
}

TEST(ExpSplit, BoundsOfHeadDim128) {
  ExpBounds bounds =
      computeExpBounds(target("sm_100a"), attention("sm_100a", 128, true), 0);
  EXPECT_EQ(bounds.mma, 2048);
  EXPECT_EQ(bounds.mufu, 256 * 129 / 16.);
  EXPECT_EQ(bounds.fma, 256 * (128 + 136) / 128.);
  EXPECT_EQ(bounds.alu, 256 * (66 + 64) / 64.);
  // 8 warps, 4 slots; FMAs in pairs.
  EXPECT_EQ(bounds.issue, 8 * (129 + 132 + 66 + 64 + 60) / 4.);
  EXPECT_EQ(bounds.tmem, 256.);
  // Maximum 132, 96 exponentials 768, then MMAs and latencies.
  EXPECT_EQ(bounds.recurrence, 132 + 768 + 512 + 512 + 136 + 120 + 52 + 28);
  EXPECT_EQ(bounds.limiter(), "recurrence");
}

TEST(ExpSplit, CostOfAPair) {
  RowWork work = attention("sm_100a", 128, false);
  ExpBounds none = computeExpBounds(target("sm_100a"), work, 0);
  ExpBounds one = computeExpBounds(target("sm_100a"), work, 1);
  EXPECT_EQ(one.mufu - none.mufu, -2 * 256 / 16.);
  EXPECT_EQ(one.fma - none.fma, 2 * 6 * 256 / 128.);
  EXPECT_EQ(one.alu - none.alu, 4 * 256 / 64.);
  EXPECT_EQ(one.issue - none.issue, (6 + 4 - 2) * 8 / 4.);
  // Without packed operations, twice the slots.
  RowWork hopper = attention("sm_90a", 128, false);
  EXPECT_EQ(computeExpBounds(target("sm_90a"), hopper, 1).issue -
                computeExpBounds(target("sm_90a"), hopper, 0).issue,
            (12 + 4 - 2) * 8 / 4.);
}

/// The MMAs and the MUFU balance; only the dependence cycle asks for a share:
/// little would do if the tiles did not share the pipes.
TEST(ExpSplit, HeadDim128) {
  ExpSplit roofline = split("sm_100a", attention("sm_100a", 128, false));
  EXPECT_TRUE(roofline.pairs.empty());
  ExpSplit chosen = split("sm_100a", attention("sm_100a", 128, true));
  EXPECT_EQ(chosen.pairs.size(), 128u / 2 / kExpShareLimit);
  EXPECT_EQ(chosen.chosen.largest(), 2048);
  EXPECT_LT(chosen.chosen.contended, 0.8 * chosen.none.contended);
}

/// A trip of 2048 cycles of MMAs and latencies and of work that takes the MUFU
/// 128 * 129 / 16 = 1032 cycles, where the other tile has as much to do: T is
/// where 2048 - 1032 + 1032 * T / (T - 1032) = T.
TEST(ExpSplit, TilesShareThePipes) {
  RowWork work;
  work.elementwise.mufu = 129;
  work.recurrence.emplace();
  work.recurrence->latency = 1016;
  ExpBounds bounds = computeExpBounds(target("sm_100a"), work, 0);
  EXPECT_EQ(bounds.recurrence, 2048);
  double t = bounds.contended;
  EXPECT_NEAR(t, 1016 + 1032 * t / (t - 1032), 1);
  EXPECT_GT(t, 2500);
  // Alone, a tile has the pipes to itself.
  work.tiles = 1;
  EXPECT_EQ(computeExpBounds(target("sm_100a"), work, 0).contended, 2048);
  // Who has a buffer more waits for no trip.
  work.tiles = 2;
  work.recurrence->distance = 2;
  EXPECT_LT(computeExpBounds(target("sm_100a"), work, 0).contended, 2100);
}

/// The MUFU takes twice the MMAs' time.
TEST(ExpSplit, HeadDim64) {
  for (bool recurrence : {false, true}) {
    ExpSplit chosen = split("sm_100a", attention("sm_100a", 64, recurrence));
    EXPECT_EQ(chosen.none.limiter(), "MUFU");
    EXPECT_EQ(chosen.pairs.size(), 128u / 2 / kExpShareLimit);
    EXPECT_LT(chosen.share(), 0.5);
    EXPECT_LT(chosen.chosen.largest(), 0.76 * chosen.none.largest());
    EXPECT_LE(chosen.chosen.contended, chosen.none.contended);
  }
}

/// The MUFU is twice as fast.
TEST(ExpSplit, FastMufuNeedsNoHelp) {
  EXPECT_TRUE(split("sm_103a", attention("sm_103a", 128, false)).pairs.empty());
  EXPECT_TRUE(split("sm_103a", attention("sm_103a", 128, true)).pairs.empty());
  EXPECT_TRUE(split("sm_103a", attention("sm_103a", 64, false)).pairs.empty());
}

/// The polynomial is made of instructions on pairs of f32, which Hopper does
/// not have: its MUFU does all exponentials, also where it is the bound.
TEST(ExpSplit, NoPolynomialWithoutPairs) {
  RowWork work = attention("sm_90a", 64, false);
  work.mmaCycles = 0;
  ExpSplit chosen = split("sm_90a", work);
  EXPECT_EQ(chosen.none.limiter(), "MUFU");
  EXPECT_TRUE(chosen.pairs.empty());
  EXPECT_TRUE(split("sm_90a", work, 0).pairs.empty());
  auto asked = computeExpSplit(target("sm_90a"), work, 1);
  ASSERT_FALSE(bool(asked));
  EXPECT_EQ(llvm::toString(asked.takeError()),
            "sm_90a has no instructions on pairs of f32, of which the "
            "polynomial is made");
}

/// The choice is the least that is as good as any, for every amount of MMA.
TEST(ExpSplit, ChoiceIsLeastOfTheBest) {
  for (llvm::StringRef chip : {"sm_100a", "sm_103a"}) {
    for (unsigned mma = 500; mma < 3000; mma += 125) {
      RowWork work = attention(chip, 64, false);
      work.mmaCycles = mma;
      ExpSplit chosen = split(chip, work);
      double least = chosen.none.contended;
      unsigned end =
          std::min(emulatablePairs(work), work.columns / 2 / kExpShareLimit);
      for (unsigned pairs = 0; pairs <= end; ++pairs) {
        double cycles = computeExpBounds(target(chip), work, pairs).contended;
        least = std::min(least, cycles);
        if (pairs < chosen.pairs.size())
          EXPECT_GT(cycles, chosen.chosen.contended);
      }
      EXPECT_LE(chosen.chosen.contended, least * (1 + kRatePrecision));
      EXPECT_LE(chosen.chosen.contended, chosen.none.contended);
      if (mma >= chosen.none.mufu)
        EXPECT_TRUE(chosen.pairs.empty());
    }
  }
}

TEST(ExpSplit, PlacementIsEven) {
  RowWork work = attention("sm_100a", 128, true);
  EXPECT_EQ(emulatablePairs(work), 48u);
  for (unsigned count = 0; count <= 48; ++count) {
    SCOPED_TRACE(count);
    ExpSplit chosen = split("sm_100a", work, count);
    ASSERT_EQ(chosen.pairs.size(), count);
    EXPECT_TRUE(llvm::is_sorted(chosen.pairs));
    auto fragments = chosen.pairsPerFragment();
    ASSERT_EQ(fragments.size(), 4u);
    EXPECT_EQ(fragments[3], 0u);
    EXPECT_EQ(fragments[0] + fragments[1] + fragments[2], count);
    for (unsigned i = 0; i < 3; ++i)
      EXPECT_NEAR(fragments[i], count / 3.0, 1);
    for (unsigned i = 1; i < count; ++i)
      EXPECT_NEAR(chosen.pairs[i] - chosen.pairs[i - 1], 48.0 / count, 1);
    for (unsigned pair = 0; pair < 64; ++pair)
      EXPECT_EQ(chosen.isEmulated(pair),
                llvm::is_contained(chosen.pairs, pair));
  }
}

TEST(ExpSplit, OneFragmentIsAllMufu) {
  RowWork work = attention("sm_100a", 64, true);
  work.columns = 32;
  work.elementwise = work.elementwise.scaled(0.25);
  EXPECT_EQ(emulatablePairs(work), 0u);
  EXPECT_TRUE(split("sm_100a", work).pairs.empty());
}

/// More buffers for the producer's result take the cycle off the bound.
TEST(ExpSplit, RecurrenceDistance) {
  RowWork work = attention("sm_100a", 64, true);
  double one = computeExpBounds(target("sm_100a"), work, 0).recurrence;
  work.recurrence->distance = 2;
  EXPECT_EQ(computeExpBounds(target("sm_100a"), work, 0).recurrence, one / 2);
}

/// Two warps leave half of the SM's partitions idle.
TEST(ExpSplit, FewWarps) {
  RowWork work = attention("sm_100a", 64, false);
  work.tiles = 1;
  double whole = computeExpBounds(target("sm_100a"), work, 0).mufu;
  work.rows = 64;
  EXPECT_EQ(computeExpBounds(target("sm_100a"), work, 0).mufu, whole);
}

TEST(ExpSplit, Print) {
  EXPECT_EQ(
      printed(split("sm_100a", attention("sm_100a", 64, true), 24)),
      "exp2 on sm_100a: 48 of 128 a row by a polynomial of degree 3 (37.5 %)\n"
      "pairs of each fragment: 8, 8, 8, 0\n"
      "cycles an iteration of 2 x 128 rows:\n"
      "  bound              none   chosen\n"
      "  MMA                1024     1024\n"
      "  MUFU               2064     1296\n"
      "  FMA                 528     1104\n"
      "  ALU                 520      904\n"
      "  issue               902     1286\n"
      "  tensor memory       256      256\n"
      "  recurrence         1812     1428\n"
      "  largest            2064     1428\n"
      "  pipes shared       2582     1846\n"
      "bound by: MUFU, then recurrence\n");
}

TEST(ExpSplit, Errors) {
  RowWork work = attention("sm_100a", 64, true);
  auto errorOf = [&](std::optional<unsigned> pairs = std::nullopt) {
    auto result = computeExpSplit(target("sm_100a"), work, pairs);
    return result ? "no error" : llvm::toString(result.takeError());
  };
  EXPECT_EQ(errorOf(49), "49 pairs of exponentials cannot be emulated; a row "
                         "of 128 columns has 48 pairs outside of its last "
                         "fragment");
  work.columns = 80;
  EXPECT_EQ(errorOf(), "a row of 80 columns is not whole fragments of 32");
  work.columns = 0;
  EXPECT_EQ(errorOf(), "a row of 0 columns is not whole fragments of 32");
  work.columns = 128;
  work.rows = 0;
  EXPECT_EQ(errorOf(), "no rows to exponentiate");
}
