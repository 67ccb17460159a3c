//===- RegisterBudgetTest.cpp - registers of each role -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/RegisterBudget.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace fa4;
using Budgets = llvm::SmallVector<unsigned>;

static const TargetDescription &sm100a() { return *lookupTarget("sm_100a"); }

static RegisterBudgets assign(llvm::ArrayRef<RoleDemand> roles,
                              llvm::StringRef chip = "sm_100a") {
  return llvm::cantFail(assignRegisterBudgets(*lookupTarget(chip), roles));
}

static std::string errorOf(llvm::ArrayRef<RoleDemand> roles) {
  auto result = assignRegisterBudgets(sm100a(), roles);
  return result ? "no error" : llvm::toString(result.takeError());
}

/// What setmaxnreg and the register file ask for.
static void expectLegal(const RegisterBudgets &budgets,
                        llvm::ArrayRef<RoleDemand> roles) {
  unsigned groups = budgets.warpgroups.size();
  EXPECT_EQ(budgets.warps, 4 * groups);
  EXPECT_EQ(budgets.entry % 8, 0u);
  EXPECT_LE(budgets.entry * groups * 128, 65536u);
  unsigned sum = 0;
  for (unsigned budget : budgets.warpgroups) {
    EXPECT_EQ(budget % 8, 0u);
    EXPECT_GE(budget, 24u);
    EXPECT_LE(budget, 256u);
    sum += budget;
  }
  EXPECT_LE(sum, budgets.entry * groups);
  ASSERT_EQ(budgets.roles.size(), roles.size());
  unsigned warp = 0;
  for (auto [index, role] : llvm::enumerate(roles)) {
    for (unsigned i = 0; i < role.warps; ++i, ++warp)
      EXPECT_LE(budgets.roles[index], budgets.warpgroups[warp / 4]);
    EXPECT_EQ(budgets.shortfall[index],
              role.wantedRegisters -
                  std::min(role.wantedRegisters, budgets.roles[index]));
  }
}

TEST(RegisterBudget, TwoComputeRolesOneLightOneAndIssuers) {
  // Four single warps share the last warpgroup; one of them is empty.
  RoleDemand roles[] = {{4, 192, 500}, {4, 192, 500}, {4, 80, 40}, {1, 48},
                        {1, 32},       {1, 40},       {1, 0}};
  RegisterBudgets budgets = assign(roles);
  expectLegal(budgets, roles);
  EXPECT_EQ(budgets.entry, 128u);
  EXPECT_EQ(budgets.warpgroups, (Budgets{192, 192, 80, 48}));
  EXPECT_EQ(budgets.roles, (Budgets{192, 192, 80, 48, 48, 48, 48}));
  EXPECT_EQ(budgets.shortfall, Budgets(7, 0));
}

TEST(RegisterBudget, SpareRegistersGoByWeight) {
  RoleDemand roles[] = {{4, 150, 500}, {4, 150, 500}, {4, 64, 40}, {2, 40}};
  RegisterBudgets budgets = assign(roles);
  expectLegal(budgets, roles);
  EXPECT_EQ(budgets.warpgroups, (Budgets{200, 200, 72, 40}));
}

TEST(RegisterBudget, SpareRegistersOfEqualDemands) {
  RoleDemand roles[] = {{4, 104, 3}, {4, 104, 1}, {4, 128}, {4, 128}};
  RegisterBudgets budgets = assign(roles);
  expectLegal(budgets, roles);
  EXPECT_EQ(budgets.warpgroups, (Budgets{136, 120, 128, 128}));
}

TEST(RegisterBudget, LastGranuleGoesToTheHeaviest) {
  RoleDemand roles[] = {{4, 120, 1}, {4, 128, 2}, {4, 128, 9}, {4, 128, 3}};
  RegisterBudgets budgets = assign(roles);
  expectLegal(budgets, roles);
  EXPECT_EQ(budgets.warpgroups, (Budgets{120, 128, 136, 128}));
}

TEST(RegisterBudget, IssuersGetNoMoreThanTheyWant) {
  RoleDemand roles[] = {{4, 30}, {4, 200, 1}};
  RegisterBudgets budgets = assign(roles);
  expectLegal(budgets, roles);
  EXPECT_EQ(budgets.warpgroups, (Budgets{32, 256}));
}

TEST(RegisterBudget, ShortageIsShared) {
  RoleDemand roles[] = {{4, 240, 500}, {4, 240, 500}, {4, 96, 40}, {1, 56}};
  RegisterBudgets budgets = assign(roles);
  expectLegal(budgets, roles);
  EXPECT_EQ(budgets.warpgroups[0], budgets.warpgroups[1]);
  EXPECT_EQ(budgets.warpgroups[3], 56u);
  // 456 for demands of 576: about four fifths each.
  EXPECT_NEAR(budgets.warpgroups[0], 240 * 456 / 576., 8);
  // (Its granule is half of theirs: it gets what is too little for both.)
  EXPECT_NEAR(budgets.warpgroups[2], 96 * 456 / 576., 16);
  EXPECT_GT(budgets.shortfall[0], 0u);
}

/// With accumulators in registers: one warpgroup that loads, two that compute.
TEST(RegisterBudget, ThreeWarpgroups) {
  RoleDemand roles[] = {{1, 24}, {3, 0}, {4, 232, 500}, {4, 232, 500}};
  RegisterBudgets budgets = assign(roles, "sm_90a");
  expectLegal(budgets, roles);
  EXPECT_EQ(budgets.entry, 168u);
  EXPECT_EQ(budgets.warpgroups, (Budgets{24, 240, 240}));
  EXPECT_EQ(budgets.roles, (Budgets{24, 24, 240, 240}));
}

TEST(RegisterBudget, RoleOfSeveralWarpgroups) {
  RoleDemand roles[] = {{8, 144, 10}, {6, 100, 10}, {2, 120}};
  RegisterBudgets budgets = assign(roles);
  expectLegal(budgets, roles);
  EXPECT_EQ(budgets.warpgroups[0], budgets.warpgroups[1]);
  // Its second warpgroup has more, for the role that it shares it with.
  EXPECT_GE(budgets.warpgroups[3], 120u);
  EXPECT_EQ(budgets.roles[1],
            std::min(budgets.warpgroups[2], budgets.warpgroups[3]));
}

TEST(RegisterBudget, OneWarp) {
  RoleDemand role{1, 256, 1};
  RegisterBudgets budgets = assign(role);
  expectLegal(budgets, role);
  EXPECT_EQ(budgets.entry, 256u);
  EXPECT_EQ(budgets.roles, Budgets{256});
}

TEST(RegisterBudget, FullCta) {
  llvm::SmallVector<RoleDemand> roles(8, RoleDemand{4, 64, 1});
  RegisterBudgets budgets = assign(roles);
  expectLegal(budgets, roles);
  EXPECT_EQ(budgets.entry, 64u);
  EXPECT_EQ(budgets.warpgroups, Budgets(8, 64));
}

TEST(RegisterBudget, LegalForManyDemands) {
  // A fixed sequence of demands of all kinds.
  unsigned state = 1;
  auto next = [&](unsigned limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
  };
  for (unsigned i = 0; i < 500; ++i) {
    llvm::SmallVector<RoleDemand> roles;
    for (unsigned group = 0, end = 1 + next(8); group < end; ++group) {
      if (next(3) == 0)
        for (unsigned warp = 0; warp < 4; ++warp)
          roles.push_back({1, next(80), 0});
      else
        roles.push_back({4, next(257), next(1000)});
    }
    RegisterBudgets budgets = assign(roles);
    expectLegal(budgets, roles);
    RegisterBudgets again = assign(roles);
    EXPECT_EQ(budgets.roles, again.roles);
  }
}

TEST(RegisterBudget, Errors) {
  EXPECT_EQ(errorOf({}), "no roles to give registers to");
  EXPECT_EQ(errorOf({{4, 64, 1}, {0, 64, 1}}), "role 1 has no warps");
  EXPECT_EQ(errorOf({{30, 24}, {3, 24}}),
            "role 1 ends beyond the 32 warps of a CTA on sm_100a");
  EXPECT_EQ(errorOf({{~0u, 24}}),
            "role 0 ends beyond the 32 warps of a CTA on sm_100a");
  EXPECT_EQ(errorOf({{4, 257, 1}}),
            "role 0 wants 257 registers per thread; sm_100a has at most 256");
  EXPECT_EQ(errorOf({{1, 24}, {4, 64, 1}}),
            "role 1 has warps 1 to 4, of more than one warpgroup, and does not "
            "begin at a multiple of 4: setmaxnreg is one for a warpgroup");
}
