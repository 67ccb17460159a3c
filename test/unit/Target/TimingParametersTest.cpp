//===- TimingParametersTest.cpp - the table of the clock ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/TimingParameters.h"
#include "fa4/Target/TargetDescription.h"
#include "gtest/gtest.h"
#include <set>

using namespace fa4;
using P = TimingParameter;

TEST(TimingParameters, EveryChipHasATable) {
  for (llvm::StringRef chip : knownTargets()) {
    ASSERT_EQ(timingTable(chip).size(), numTimingParameters) << chip.str();
    std::set<std::string> names;
    for (const TimingParameterInfo &info : timingTable(chip)) {
      EXPECT_TRUE(names.insert(info.name.str()).second) << info.name.str();
      EXPECT_LE(info.low, 1) << info.name.str();
      EXPECT_GE(info.high, 1) << info.name.str();
      EXPECT_GE(info.value, 0) << info.name.str();
      EXPECT_NE(llvm::StringRef("ABCDG").find(info.confidence),
                llvm::StringRef::npos)
          << info.name.str();
      EXPECT_FALSE(info.source.empty()) << info.name.str();
    }
  }
  EXPECT_TRUE(timingTable("sm_80").empty());
  EXPECT_FALSE(timingParameters("sm_80"));
}

TEST(TimingParameters, NamesLeadToParameters) {
  EXPECT_EQ(findTimingParameter("mufu.interval"), P::MufuInterval);
  EXPECT_FALSE(findTimingParameter("mufu"));
  TimingParameters parameters = *timingParameters("sm_90a");
  parameters.set(P::MufuInterval, 3);
  EXPECT_EQ(parameters[P::MufuInterval], 3);
  EXPECT_EQ((*timingParameters("sm_90a"))[P::MufuInterval], 8);
}

// The compiler's table of a chip and the clock's must not disagree.
TEST(TimingParameters, RatesAreThoseOfTheTarget) {
  constexpr unsigned lanes = 32, subPartitions = 4;
  for (llvm::StringRef chip : knownTargets()) {
    TimingParameters parameters = *timingParameters(chip);
    const TargetDescription &target = *lookupTarget(chip);
    auto rate = [&](P interval) {
      return lanes * subPartitions / parameters[interval];
    };
    EXPECT_EQ(rate(P::FmaInterval), target.rates.fma) << chip.str();
    EXPECT_EQ(rate(P::AluInterval), target.rates.alu) << chip.str();
    EXPECT_EQ(rate(P::MufuInterval), target.rates.mufu) << chip.str();
  }
}
