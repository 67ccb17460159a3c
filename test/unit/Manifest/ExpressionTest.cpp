//===- ExpressionTest.cpp - numbers of a manifest ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Manifest/Expression.h"
#include "fa4/Manifest/Error.h"
#include "gtest/gtest.h"

using namespace fa4::manifest;

static const std::vector<std::string> names = {"sq", "heads", "open"};

/// The value where sq is 300, heads is 4 and open has no value, or the error's
/// text.
static std::string eval(const std::string &text) {
  try {
    Number value = Expression::parse(text, names)
                       .evaluate({Number(300), Number(4), std::nullopt});
    return value.isFloat ? "f" + std::to_string(value.floating)
                         : std::to_string(value.integer);
  } catch (const ManifestError &error) {
    return error.what();
  }
}

TEST(Expression, Arithmetic) {
  EXPECT_EQ(eval("1 + 2 * 3 - 4"), "3");
  EXPECT_EQ(eval("(1 + 2) * -3"), "-9");
  EXPECT_EQ(eval("7 / 2"), "3");
  EXPECT_EQ(eval("-7 / 2"), "-3");
  EXPECT_EQ(eval("-7 % 4"), "-3");
  EXPECT_EQ(eval("0x10 * heads"), "64");
  EXPECT_EQ(eval("7 / 2.0"), "f3.500000");
  EXPECT_EQ(eval("1e-1 + .5"), "f0.600000");
}

TEST(Expression, Functions) {
  EXPECT_EQ(eval("ceildiv(sq, 128) * heads"), "12");
  EXPECT_EQ(eval("align(sq, 128)"), "384");
  EXPECT_EQ(eval("min(sq, 5) + max(1, heads)"), "9");
  EXPECT_EQ(eval("1.0 / sqrt(heads)"), "f0.500000");
  EXPECT_EQ(eval("int(log2(256))"), "8");
}

TEST(Expression, Logic) {
  EXPECT_EQ(eval("sq > 256 ? 2 : 1"), "2");
  EXPECT_EQ(eval("sq <= 256 || heads == 4 && !0"), "1");
  EXPECT_EQ(eval("heads != 4 ? 1 / 0 : 7"), "7"); // Only what is taken.
}

TEST(Expression, Errors) {
  EXPECT_EQ(eval("1 +"), "expression '1 +': unexpected end");
  EXPECT_EQ(eval("1 2"), "expression '1 2': unexpected '2'");
  EXPECT_EQ(eval("(1"), "expression '(1': expected ')'");
  EXPECT_EQ(eval("foo(1)"), "expression 'foo(1)': unknown function 'foo'");
  EXPECT_EQ(eval("min(1)"), "expression 'min(1)': 'min' takes 2 argument(s)");
  EXPECT_EQ(eval("1x"), "expression '1x': malformed number '1x'");
  EXPECT_EQ(eval("sk + 1"), "expression 'sk + 1': no size is named 'sk'");
  EXPECT_EQ(eval("open + 1"),
            "expression 'open + 1': size 'open' has no value");
  EXPECT_EQ(eval("1 / 0"), "expression '1 / 0': '/': division by zero");
  EXPECT_EQ(eval("0x7FFFFFFFFFFFFFFF + 1"),
            "expression '0x7FFFFFFFFFFFFFFF + 1': '+': integer overflow");
  EXPECT_EQ(eval("1.5 % 2"), "expression '1.5 % 2': '%': needs integers");
  EXPECT_NE(eval(std::string(5000, '(')).find("too deeply"), std::string::npos);
  EXPECT_NE(eval(std::string(5000, '-')).find("too deeply"), std::string::npos);
  std::string sum = "1";
  for (unsigned i = 0; i < 5000; ++i)
    sum += " + 1";
  EXPECT_NE(eval(sum).find("too long"), std::string::npos);
}

TEST(Expression, Symbol) {
  EXPECT_EQ(Expression::parse(" heads ", names).symbol(), 1);
  EXPECT_EQ(Expression::parse("sq + 0", names).symbol(), -1);
}

TEST(Expression, Numbers) {
  EXPECT_EQ(Number::parse("12"), Number(12));
  EXPECT_EQ(Number::parse("-0x80"), Number(-128));
  EXPECT_EQ(Number::parse("-1.5"), Number(-1.5));
  EXPECT_EQ(Number::parse("1e-3"), Number(1e-3));
  EXPECT_EQ(Number::parse("-inf"), Number(-HUGE_VAL));
  for (const char *text :
       {"", "-", "--1", "x", "1x", "0x", "1 ", "9223372036854775808"})
    EXPECT_FALSE(Number::parse(text)) << text;
}
