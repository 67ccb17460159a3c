//===- SmModelTest.cpp - the units of a modelled SM -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../../lib/Simulator/Timing/SmModel.h"
#include "gtest/gtest.h"

using namespace fa4::sim;
using P = fa4::TimingParameter;

namespace {

ChipModel makeChip(const char *name) {
  ChipModel chip;
  chip.chip = fa4::lookupTarget(name);
  chip.parameters = *fa4::timingParameters(name);
  return chip;
}

AsyncWork product(unsigned n, bool sharedA) {
  AsyncWork work;
  work.kind = AsyncWork::Wgmma;
  work.m = 64;
  work.n = n;
  work.k = 16;
  work.elementBits = 16;
  work.sharedA = sharedA;
  return work;
}

AsyncWork load(uint64_t bytes) {
  AsyncWork work;
  work.kind = AsyncWork::BulkLoad;
  work.bytes = bytes;
  return work;
}

TEST(SmModel, AServerDoesOneThingAfterTheOther) {
  Server server;
  EXPECT_EQ(server.take(10, 5), 10);
  EXPECT_EQ(server.take(12, 5), 15);
  EXPECT_EQ(server.take(30, 1), 30);
  EXPECT_EQ(server.free, 31);
  EXPECT_EQ(server.busy, 11);
}

// Measured on an H100: N/2 clocks, but 16 + N/4 where reading A and B takes
// longer, and 13 at least with A in registers.
TEST(SmModel, ProductsFollowEachOtherAtTheMeasuredInterval) {
  ChipModel chip = makeChip("sm_90a");
  for (auto [n, sharedA, interval] :
       {std::tuple(8u, true, 18.0), std::tuple(32u, true, 24.0),
        std::tuple(64u, true, 32.0), std::tuple(256u, true, 128.0),
        std::tuple(8u, false, 13.0), std::tuple(128u, false, 64.0)}) {
    SmModel sm(chip);
    AsyncTimes first = sm.wgmma(0, product(n, sharedA));
    AsyncTimes second = sm.wgmma(0, product(n, sharedA));
    EXPECT_EQ(second.begin - first.begin, interval) << n;
    EXPECT_EQ(second.end - first.end, interval) << n;
  }
}

TEST(SmModel, WarpsIssueLessWhileProductsExecute) {
  ChipModel chip = makeChip("sm_90a");
  SmModel sm(chip);
  IssueCost cost;
  cost[Pipe::Alu] = 10;
  double slow = 10 * chip[P::IssueUnderWgmma];
  EXPECT_EQ(sm.issueInterval(0, cost), 10);
  sm.wgmma(0, product(256, true));
  EXPECT_EQ(sm.issueInterval(0, cost), slow);
  // The product is over when half of the instructions are issued.
  EXPECT_DOUBLE_EQ(sm.issueInterval(128 - slow / 2, cost), slow / 2 + 5);
  EXPECT_EQ(sm.issueInterval(128, cost), 10);
  // Branches and the like do not use the register file.
  IssueCost control;
  control[Pipe::Control] = 3;
  EXPECT_EQ(sm.issueInterval(0, control), 3);
}

TEST(SmModel, ALoneSmReadsFasterThanManyTogether) {
  ChipModel chip = makeChip("sm_90a");
  constexpr uint64_t bytes = 32768;
  SmModel alone(chip);
  double quiet = alone.bulkLoad(0, load(bytes)).end;
  EXPECT_NEAR(quiet, chip[P::BulkLatency] + bytes / chip[P::BulkRate], 1);
  chip.busySms = 132;
  SmModel together(chip);
  EXPECT_GT(together.bulkLoad(0, load(bytes)).end, quiet + 100);
}

TEST(SmModel, SmallLoadsAreBoundByTheirNumber) {
  ChipModel chip = makeChip("sm_90a");
  SmModel sm(chip);
  double first = sm.bulkLoad(0, load(16)).end;
  EXPECT_EQ(sm.bulkLoad(0, load(16)).end - first, chip[P::BulkIssue]);
}

// The fits of TargetDescription: 136 + N/2 with A in shared memory, and an
// interval of N/2 or of what reading the operands takes.
TEST(SmModel, TensorProductsTakeTheFittedTimes) {
  ChipModel chip = makeChip("sm_100a");
  AsyncWork work = product(128, true);
  work.kind = AsyncWork::TensorMma;
  work.m = 128;
  SmModel sm(chip);
  AsyncTimes first = SmModel::tensorMma(0, work, {&sm});
  AsyncTimes second = SmModel::tensorMma(0, work, {&sm});
  EXPECT_EQ(first.end, 136 + 64);
  EXPECT_EQ(second.begin, 64);
  SmModel a(chip), b(chip);
  work.m = 256;
  work.ctas = 2;
  a.tensor.take(0, 100);
  EXPECT_EQ(SmModel::tensorMma(0, work, {&b, &a}).begin, 100)
      << "both SMs must be free";
  EXPECT_EQ(b.tensor.free, a.tensor.free);
}

TEST(SmModel, OnlyTheFirstTouchIsServedByDram) {
  ChipModel chip = makeChip("sm_90a");
  SmModel sm(chip), other(chip);
  EXPECT_EQ(sm.loadLatency(0x1000, true), chip[P::DramLatency]);
  EXPECT_EQ(sm.loadLatency(0x1040, true), chip[P::L1Latency]);
  EXPECT_EQ(sm.loadLatency(0x1040, false), chip[P::L2Latency]);
  EXPECT_EQ(other.loadLatency(0x1000, true), chip[P::L2Latency]);
}

} // namespace
