//===- TargetDescriptionTest.cpp - the chips' tables -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace fa4;

static const TargetDescription &target(llvm::StringRef chip) {
  const TargetDescription *found = lookupTarget(chip);
  EXPECT_NE(found, nullptr) << chip.str();
  return *found;
}

TEST(TargetDescription, Lookup) {
  EXPECT_EQ(
      llvm::to_vector(knownTargets()),
      (llvm::SmallVector<llvm::StringRef>{"sm_90a", "sm_100a", "sm_103a"}));
  for (llvm::StringRef chip : knownTargets())
    EXPECT_EQ(target(chip).chip, chip);
  EXPECT_EQ(lookupTarget("sm_100"), nullptr);
  EXPECT_EQ(lookupTarget("sm_100a "), nullptr);
  EXPECT_EQ(lookupTarget(""), nullptr);
}

/// What every table must satisfy for the passes that read it.
TEST(TargetDescription, TablesAreConsistent) {
  for (llvm::StringRef chip : knownTargets()) {
    SCOPED_TRACE(chip.str());
    const TargetDescription &t = target(chip);
    EXPECT_FALSE(t.features.empty());
    EXPECT_FALSE(t.product.empty());
    EXPECT_GT(t.smCount, 0u);
    EXPECT_GT(t.clockMHz, 1000u);
    EXPECT_GT(t.l2Bytes, uint64_t(t.smCount) * t.smemBytes);
    EXPECT_EQ(t.smemBytes, 227u * 1024);
    EXPECT_EQ(t.registerFileWords / t.maxThreads % t.registerGranule, 0u);
    EXPECT_EQ(t.minRegisterBudget % t.registerGranule, 0u);
    EXPECT_EQ(t.maxRegisterBudget % t.registerGranule, 0u);
    EXPECT_EQ(t.warpgroupSize % t.warpSize, 0u);
    EXPECT_EQ(t.maxThreads % t.warpgroupSize, 0u);
    bool tensorMemory =
        t.mma.accumulatorSpace == AccumulatorSpace::TensorMemory;
    EXPECT_EQ(t.hasTensorMemory(), tensorMemory);
    EXPECT_EQ(t.tmemLanes != 0, tensorMemory);
    EXPECT_EQ(t.tmemLoadBytesPerClock != 0, tensorMemory);
    EXPECT_TRUE(tensorMemory || !t.tmemLoadReduce);
    EXPECT_EQ(t.rates.alu % t.warpSize, 0u);
    EXPECT_LE(t.rates.fma, t.rates.issueSlots * t.warpSize);
    for (const char *type : {"f16", "bf16"})
      EXPECT_TRUE(t.supportsMmaElementType(type));
    EXPECT_FALSE(t.supportsMmaElementType("f32"));
  }
}

TEST(TargetDescription, DifferencesBetweenChips) {
  EXPECT_EQ(target("sm_103a").rates.mufu, 2 * target("sm_100a").rates.mufu);
  EXPECT_TRUE(target("sm_103a").packedExp2);
  EXPECT_FALSE(target("sm_100a").packedExp2);
  EXPECT_TRUE(target("sm_103a").tmemLoadReduce);
  EXPECT_FALSE(target("sm_100a").tmemLoadReduce);
  EXPECT_FALSE(target("sm_90a").packedF32x2);
  EXPECT_EQ(target("sm_90a").tmemColumns, 0u);
}

/// Facts that passes rely on: a role of lanes reaches all lanes of tensor
/// memory, one thread issues, and MMAs are started where their results can be
/// held: by one thread if they go to tensor memory, else by a warpgroup, which
/// holds a fragment of them.
TEST(TargetDescription, KindsOfRoles) {
  for (llvm::StringRef chip : knownTargets()) {
    const TargetDescription &t = target(chip);
    EXPECT_EQ(t.roles.vector.warps, t.warpsPerWarpgroup());
    EXPECT_EQ(t.roles.vector.layout, ValueLayoutKind::Rows);
    EXPECT_FALSE(t.roles.vector.oneThread);
    if (t.hasTensorMemory()) {
      EXPECT_EQ(t.roles.vector.warps * t.warpSize, t.tmemLanes);
    }
    EXPECT_TRUE(t.roles.issuer.oneThread);
    EXPECT_EQ(t.roles.issuer.layout, ValueLayoutKind::None);
    EXPECT_EQ(t.roles.issuer.startsMmas, t.hasTensorMemory());
    EXPECT_FALSE(t.roles.vector.startsMmas);
    EXPECT_EQ(t.roles.matrix.startsMmas, !t.hasTensorMemory());
    EXPECT_FALSE(t.roles.matrix.oneThread);
    if (t.hasTensorMemory()) {
      EXPECT_EQ(t.roles.matrix.warps, 0u);
      EXPECT_EQ(t.roles.matrix.layout, ValueLayoutKind::None);
    } else {
      EXPECT_EQ(t.roles.matrix.warps, t.warpsPerWarpgroup());
      EXPECT_EQ(t.roles.matrix.layout, ValueLayoutKind::Fragment);
    }
    EXPECT_EQ(t.roles.idle.warps, 0u);
  }
}

/// A CTA has the rows of the largest instruction, or in a pair those of the
/// smallest one, too.
TEST(TargetDescription, RowsOfMmas) {
  const TargetDescription &blackwell = target("sm_100a");
  EXPECT_TRUE(blackwell.supportsMmaRows(128, 1));
  EXPECT_FALSE(blackwell.supportsMmaRows(64, 1));
  EXPECT_TRUE(blackwell.supportsMmaRows(128, 2));
  EXPECT_TRUE(blackwell.supportsMmaRows(64, 2));
  EXPECT_FALSE(blackwell.supportsMmaRows(32, 2));
  EXPECT_TRUE(target("sm_90a").supportsMmaRows(64, 1));
  EXPECT_FALSE(target("sm_90a").supportsMmaRows(128, 1));
}

namespace {
struct Measured {
  unsigned m, n;
  bool aFromShared;
  unsigned ctas;
  unsigned cycles;
};
} // namespace

/// Cycles per tcgen05.mma of K = 32 bytes on a B200, from the difference of
/// sequences of 256 and 128 (SemiAnalysis, microbench-blackwell,
/// umma_throughput).
static constexpr Measured kB200[] = {
    {128, 64, true, 1, 48},   {128, 128, true, 1, 64},
    {128, 256, true, 1, 128}, {128, 64, false, 1, 32},
    {128, 128, false, 1, 64}, {128, 256, false, 1, 128},
    {64, 64, true, 1, 32},    {64, 128, true, 1, 64},
    {64, 256, true, 1, 128},  {64, 64, false, 1, 32},
    {64, 128, false, 1, 64},  {64, 256, false, 1, 128},
    {256, 64, true, 2, 43},   {256, 128, true, 2, 64},
    {256, 256, true, 2, 128}, {256, 64, false, 2, 32},
    {256, 128, false, 2, 64}, {256, 256, false, 2, 128},
    {128, 64, true, 2, 25},   {128, 128, true, 2, 32},
    {128, 256, true, 2, 64},  {128, 64, false, 2, 17},
    {128, 128, false, 2, 32}, {128, 256, false, 2, 64},
};

TEST(TargetDescription, MmaCyclesReproduceMeasurements) {
  for (const Measured &row : kB200) {
    SCOPED_TRACE("m " + std::to_string(row.m) + " n " + std::to_string(row.n) +
                 (row.aFromShared ? " SS " : " TS ") +
                 std::to_string(row.ctas));
    // bf16, and fp8 with twice the elements in the same bytes.
    for (unsigned bytes : {2u, 1u})
      EXPECT_NEAR(target("sm_100a").mmaCycles({row.m, row.n, 32 / bytes, bytes,
                                               row.aFromShared, row.ctas}),
                  row.cycles, 3);
  }
}

/// wgmma on an H200, 32 in a group, less the group's latency over 32.
TEST(TargetDescription, WgmmaCyclesReproduceMeasurements) {
  const TargetDescription &t = target("sm_90a");
  EXPECT_NEAR(t.mmaCycles({64, 8, 16, 2}), 19.7 - 82 / 32., 3);
  EXPECT_NEAR(t.mmaCycles({64, 64, 16, 2}), 34.2 - 82 / 32., 3);
  EXPECT_NEAR(t.mmaCycles({64, 128, 16, 2}), 66.3 - 82 / 32., 3);
  EXPECT_NEAR(t.mmaCycles({64, 256, 16, 2}), 130.5 - 82 / 32., 3);
  EXPECT_NEAR(t.mmaLatency({64, 64, 16, 2}), 113, 9);
  EXPECT_NEAR(t.mmaLatency({64, 128, 16, 2}), 148, 9);
  EXPECT_NEAR(t.mmaLatency({64, 256, 16, 2}), 218, 9);
}

TEST(TargetDescription, MmaCyclesOfTiles) {
  const TargetDescription &t = target("sm_100a");
  // Peak: 2 * 128 * 128 * 128 operations at 8192 per clock.
  EXPECT_EQ(t.mmaCycles({128, 128, 128, 2}), 2 * 128 * 128 * 128 / 8192u);
  EXPECT_EQ(t.mmaCycles({128, 128, 64, 2}), 256u);
  EXPECT_EQ(t.mmaCycles({128, 64, 128, 2, false}), 256u);
  // Half of that in fp8.
  EXPECT_EQ(t.mmaCycles({128, 128, 128, 1}), 256u);
  // Rows, columns beyond one instruction, and parts of one.
  EXPECT_EQ(t.mmaCycles({256, 128, 128, 2}), 1024u);
  EXPECT_EQ(t.mmaCycles({128, 512, 16, 2}), 256u);
  EXPECT_EQ(t.mmaCycles({128, 320, 16, 2}), 128u + 48);
  EXPECT_EQ(t.mmaCycles({100, 120, 10, 2}), t.mmaCycles({128, 128, 16, 2}));
  // wgmma has half the rows and so half the rate.
  EXPECT_EQ(target("sm_90a").mmaCycles({128, 128, 128, 2}),
            2 * 128 * 128 * 128 / 4096u);
}

TEST(TargetDescription, MmaSharedBytes) {
  const TargetDescription &t = target("sm_100a");
  EXPECT_EQ(t.mmaSharedBytes({128, 128, 128, 2}), 2u * 128 * 128 * 2);
  EXPECT_EQ(t.mmaSharedBytes({128, 128, 128, 2, false}), 128u * 128 * 2);
  // Two CTAs read half of B each.
  EXPECT_EQ(t.mmaSharedBytes({256, 128, 128, 2, true, 2}),
            128u * 128 * 2 + 64 * 128 * 2);
}

TEST(TargetDescription, MmaLatency) {
  const TargetDescription &t = target("sm_100a");
  EXPECT_EQ(t.mmaLatency({128, 128, 16, 2}), 200u);
  EXPECT_EQ(t.mmaLatency({128, 128, 16, 2, false}), 168u);
  EXPECT_EQ(t.mmaLatency({256, 128, 16, 2, true, 2}), 229u);
  EXPECT_EQ(t.mmaLatency({256, 128, 16, 2, false, 2}), 197u);
}

TEST(TargetDescription, MmaInstructions) {
  const TargetDescription &t = target("sm_100a");
  EXPECT_TRUE(t.isMmaInstruction(128, 16));
  EXPECT_TRUE(t.isMmaInstruction(128, 256));
  EXPECT_TRUE(t.isMmaInstruction(64, 8));
  EXPECT_TRUE(t.isMmaInstruction(256, 64, 2));
  EXPECT_TRUE(t.isMmaInstruction(128, 64, 2));
  EXPECT_FALSE(t.isMmaInstruction(128, 8));
  EXPECT_FALSE(t.isMmaInstruction(128, 272));
  EXPECT_FALSE(t.isMmaInstruction(128, 0));
  EXPECT_FALSE(t.isMmaInstruction(256, 64));
  EXPECT_FALSE(t.isMmaInstruction(32, 64));
  EXPECT_FALSE(t.isMmaInstruction(128, 128, 4));
  EXPECT_TRUE(target("sm_90a").isMmaInstruction(64, 24));
  EXPECT_FALSE(target("sm_90a").isMmaInstruction(128, 64));
  EXPECT_FALSE(target("sm_90a").isMmaInstruction(128, 64, 2));
}
