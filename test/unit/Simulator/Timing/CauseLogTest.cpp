//===- CauseLogTest.cpp - the period of a chain of causes -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../../lib/Simulator/Timing/CauseLog.h"
#include "gtest/gtest.h"

using namespace fa4::sim;

namespace {

/// Writes a chain: each moment has the one before it as its cause.
struct Chain {
  explicit Chain(size_t capacity = 1 << 12) : log(capacity) {}

  void add(double after, Moment::Kind kind, uint16_t number, uint32_t line) {
    at += after;
    Moment moment(at, last, line, kind);
    moment.number = number;
    moment.isOperation = kind == Moment::Began;
    last = log.add(moment);
  }
  /// A warp works and issues four products, the last of which another one waits
  /// for.
  void period(uint16_t warp, double work) {
    add(work, Moment::Issued, warp, 20);
    add(5, Moment::Began, Trace::TensorCores, 21);
    for (unsigned i = 0; i < 3; ++i)
      add(100, Moment::Began, Trace::TensorCores, 21);
    add(150, Moment::Ended, Trace::TensorCores, 22);
    add(0, Moment::Woke, warp, 10);
  }
  CriticalPath path() { return log.findPath(last, 0, at); }

  CauseLog log;
  double at = 0;
  uint64_t last = 0;
};

TEST(CauseLog, APeriodEndsWhereTheSameWaitEndsAgain) {
  Chain chain;
  for (unsigned i = 0; i < 40; ++i)
    chain.period(0, 700);
  CriticalPath path = chain.path();
  ASSERT_EQ(path.steps.size(), 3u);
  EXPECT_EQ(path.period, 700 + 5 + 300 + 150);
  EXPECT_EQ(path.mean, path.period);
  EXPECT_GE(path.share, 0.95);
  const CriticalStep &work = path.steps[0], &products = path.steps[1];
  EXPECT_EQ(work.kind, CriticalStep::Warp);
  EXPECT_EQ(work.cycles, 700);
  EXPECT_EQ(work.fromLine, 10u);
  EXPECT_EQ(work.toLine, 20u);
  EXPECT_EQ(products.kind, CriticalStep::Unit);
  EXPECT_EQ(products.operations, 4u);
  EXPECT_EQ(products.cycles, 455);
  EXPECT_EQ(products.fromLine, 21u);
  EXPECT_EQ(products.toLine, 22u);
  EXPECT_EQ(path.steps[2].kind, CriticalStep::HandOff);
}

// A loop over products within the loop is no period, and neither is the loop
// over tiles around it.
TEST(CauseLog, ThePeriodIsThatOfTheLoopThatTakesTheTime) {
  Chain chain;
  for (unsigned tile = 0; tile < 10; ++tile) {
    for (unsigned i = 0; i < 16; ++i)
      chain.period(0, 500);
    chain.add(90, Moment::Signalled, 0, 40);
    chain.add(30, Moment::Woke, 8, 50);
    chain.add(60, Moment::Signalled, 8, 60);
    chain.add(30, Moment::Woke, 0, 10);
  }
  CriticalPath path = chain.path();
  EXPECT_EQ(path.period, 500 + 455);
  EXPECT_GT(path.alike, 80u);
}

// Which warp of a warpgroup is the last changes; the period does not.
TEST(CauseLog, WarpsOfAWarpgroupStandForEachOther) {
  Chain chain;
  for (unsigned i = 0; i < 40; ++i)
    chain.period(i * 7 % 4, 600 + i * 3 % 5);
  CriticalPath path = chain.path();
  EXPECT_EQ(path.steps.size(), 3u);
  EXPECT_GE(path.period, 600 + 455);
  EXPECT_LE(path.period, 604 + 455);
  EXPECT_GT(path.alike, 20u);
}

// One unit that is always busy is the whole path.
TEST(CauseLog, OperationsThatFollowEachOtherAreAPeriodEach) {
  Chain chain;
  for (unsigned i = 0; i < 100; ++i)
    chain.add(128, Moment::Began, Trace::TensorCores, 33);
  CriticalPath path = chain.path();
  ASSERT_EQ(path.steps.size(), 1u);
  EXPECT_EQ(path.period, 128);
  EXPECT_EQ(path.steps[0].operations, 1u);
}

TEST(CauseLog, OldMomentsAreForgotten) {
  Chain chain(64);
  for (unsigned i = 0; i < 1000; ++i)
    chain.period(0, 700);
  EXPECT_EQ(chain.log.find(1), nullptr);
  EXPECT_NE(chain.log.find(chain.last), nullptr);
  EXPECT_EQ(chain.path().period, 1155);
}

TEST(CauseLog, WithoutARepetitionThereIsNoPath) {
  Chain chain;
  EXPECT_TRUE(chain.path().steps.empty());
  for (unsigned i = 0; i < 10; ++i)
    chain.add(10, i % 2 ? Moment::Woke : Moment::Signalled, 0, i);
  EXPECT_TRUE(chain.path().steps.empty());
}

} // namespace
