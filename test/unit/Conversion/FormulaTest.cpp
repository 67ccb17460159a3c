//===- FormulaTest.cpp - numbers of a manifest ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Conversion/TileToNVVM/Formula.h"
#include "gtest/gtest.h"

using namespace fa4::tile;

static const Formula a = Formula::name("a"), b = Formula::name("b");

// Brackets stand where the text would mean something else without them, and
// nowhere else.
TEST(Formula, Brackets) {
  EXPECT_EQ(((a + b) * a).str(), "(a + b) * a");
  EXPECT_EQ((a * (a + b)).str(), "a * (a + b)");
  EXPECT_EQ((a + a * b).str(), "a + a * b");
  EXPECT_EQ((a * (a * b)).str(), "a * a * b");
  EXPECT_EQ((a * (a / b)).str(), "a * (a / b)");
  EXPECT_EQ((a / b * a).str(), "a / b * a");
  EXPECT_EQ((a / (a * b)).str(), "a / (a * b)");
  EXPECT_EQ((a * (a / b * a)).str(), "a * (a / b * a)");
  EXPECT_EQ(((a + b) / 2).str(), "(a + b) / 2");
  EXPECT_EQ(ceilDiv(a + b, 2).str(), "ceildiv(a + b, 2)");
  EXPECT_EQ((Formula(2) * min(a + b, a)).str(), "2 * min(a + b, a)");
  EXPECT_EQ((a + b).isMultipleOf(16), "(a + b) % 16 == 0");
  EXPECT_EQ((a * b).isMultipleOf(16), "a * b % 16 == 0");
  EXPECT_EQ((a + b).isFrom(0, 7), "a + b >= 0 && a + b <= 7");
}

TEST(Formula, Numbers) {
  EXPECT_EQ((Formula(2) * 3 + 4).getNumber(), 10);
  EXPECT_EQ(ceilDiv(Formula(300), 128).getNumber(), 3);
  EXPECT_EQ((Formula(1) * a * 1 / 1).str(), "a");
  EXPECT_FALSE((a * 2).getNumber());
  EXPECT_EQ((Formula(INT64_MAX) * 2).getNumber(), INT64_MAX);
}

TEST(Formula, Divisors) {
  EXPECT_EQ((Formula(2) * Formula::size("align(Sq, 128)") * a).getDivisor(),
            256);
  EXPECT_EQ((Formula(2) * a + 4).getDivisor(), 2);
  EXPECT_EQ((Formula(2) * a + 3).getDivisor(), 1);
  EXPECT_EQ(Formula(48).getDivisor(), 48);
}
