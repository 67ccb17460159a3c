//===- FloatTest.cpp - floating-point instructions ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounded arithmetic is compared with APFloat on special and random values.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <random>

using namespace fa4::sim::test;
using llvm::APFloat;
using llvm::APInt;

namespace {

const llvm::fltSemantics &semantics(unsigned width, bool isBf16 = false) {
  return width == 64   ? APFloat::IEEEdouble()
         : width == 32 ? APFloat::IEEEsingle()
         : isBf16      ? APFloat::BFloat()
                       : APFloat::IEEEhalf();
}

/// Special values and random ones around them.
std::vector<uint64_t> values(unsigned width, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> specials;
  if (width == 32)
    specials = {0,          0x80000000, 0x3F800000, 0xBF800000, 0x7F800000,
                0xFF800000, 0x7FC00000, 0x00000001, 0x80000001, 0x007FFFFF,
                0x00800000, 0x7F7FFFFF, 0x34000000, 0x33800000};
  else if (width == 64)
    specials = {0, 0x8000000000000000, 0x3FF0000000000000, 0x7FF0000000000000,
                1, 0x000FFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0x3CA0000000000000};
  else
    specials = {0,      0x8000, 0x3C00, 0x3F80, 0x7C00, 0x7F80,
                0x7E00, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0x7F7F};
  while (specials.size() < 32)
    specials.push_back(random());
  std::shuffle(specials.begin(), specials.end(), random);
  uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  // Exponents near each other make rounding interesting.
  if (width == 32)
    for (unsigned i = 0; i < 32; i += 3)
      specials[i] = (specials[i] & 0x807FFFFF) | (120 + random() % 16) << 23;
  for (uint64_t &v : specials)
    v &= mask;
  return specials;
}

uint64_t flushBits(uint64_t v) { return v & 0x7F800000 ? v : v & 0x80000000; }

struct Rounding {
  const char *name;
  llvm::RoundingMode mode;
};
const Rounding roundings[] = {{"rn", llvm::RoundingMode::NearestTiesToEven},
                              {"rz", llvm::RoundingMode::TowardZero},
                              {"rm", llvm::RoundingMode::TowardNegative},
                              {"rp", llvm::RoundingMode::TowardPositive}};

uint64_t expected(const std::string &op, unsigned width, bool isBf16,
                  llvm::RoundingMode mode, bool ftz, uint64_t a, uint64_t b,
                  uint64_t c) {
  if (ftz) {
    a = flushBits(a);
    b = flushBits(b);
    c = flushBits(c);
  }
  const llvm::fltSemantics &s = semantics(width, isBf16);
  APFloat x(s, APInt(width, a)), y(s, APInt(width, b)), z(s, APInt(width, c));
  if (op == "add")
    x.add(y, mode);
  else if (op == "sub")
    x.subtract(y, mode);
  else if (op == "mul")
    x.multiply(y, mode);
  else if (op == "div")
    x.divide(y, mode);
  else
    x.fusedMultiplyAdd(y, z, mode);
  uint64_t r = x.bitcastToAPInt().getZExtValue();
  if (x.isNaN())
    return width == 32 ? 0x7FFFFFFF : width == 16 ? 0x7FFF : r;
  return ftz ? flushBits(r) : r;
}

class Rounded : public testing::TestWithParam<std::tuple<const char *, int>> {};

TEST_P(Rounded, SameAsAPFloatInF32) {
  std::string op = std::get<0>(GetParam());
  const Rounding &rounding = roundings[std::get<1>(GetParam())];
  for (bool ftz : {false, true})
    for (unsigned seed = 0; seed < 8; ++seed) {
      auto a = values(32, 3 * seed), b = values(32, 3 * seed + 1),
           c = values(32, 3 * seed + 2);
      std::string text = op + "." + rounding.name + (ftz ? ".ftz" : "") +
                         ".f32 %d, %a, %b" + (op == "fma" ? ", %c;" : ";");
      auto d = evaluate(text, "b32", {"b32", "b32", "b32"}, {a, b, c});
      for (unsigned l = 0; l < 32; ++l)
        EXPECT_EQ(d[l],
                  expected(op, 32, false, rounding.mode, ftz, a[l], b[l], c[l]))
            << text << std::hex << " " << a[l] << " " << b[l] << " " << c[l];
    }
}

TEST_P(Rounded, SameAsAPFloatInF64) {
  std::string op = std::get<0>(GetParam());
  const Rounding &rounding = roundings[std::get<1>(GetParam())];
  for (unsigned seed = 0; seed < 4; ++seed) {
    auto a = values(64, 3 * seed), b = values(64, 3 * seed + 1),
         c = values(64, 3 * seed + 2);
    std::string text = op + "." + rounding.name + ".f64 %d, %a, %b" +
                       (op == "fma" ? ", %c;" : ";");
    auto d = evaluate(text, "b64", {"b64", "b64", "b64"}, {a, b, c});
    for (unsigned l = 0; l < 32; ++l) {
      uint64_t e =
          expected(op, 64, false, rounding.mode, false, a[l], b[l], c[l]);
      if (std::isnan(llvm::bit_cast<double>(e)))
        EXPECT_TRUE(std::isnan(llvm::bit_cast<double>(d[l])));
      else
        EXPECT_EQ(d[l], e) << text << std::hex << a[l] << " " << b[l];
    }
  }
}

TEST_P(Rounded, SameAsAPFloatInPairs) {
  std::string op = std::get<0>(GetParam());
  if (op == "div")
    return;
  const Rounding &rounding = roundings[std::get<1>(GetParam())];
  for (bool ftz : {false, true}) {
    auto al = values(32, 1), ah = values(32, 2), bl = values(32, 3),
         bh = values(32, 4), cl = values(32, 5), ch = values(32, 6);
    std::vector<uint64_t> a(32), b(32), c(32);
    for (unsigned l = 0; l < 32; ++l) {
      a[l] = ah[l] << 32 | al[l];
      b[l] = bh[l] << 32 | bl[l];
      c[l] = ch[l] << 32 | cl[l];
    }
    std::string text = op + "." + rounding.name + (ftz ? ".ftz" : "") +
                       ".f32x2 %d, %a, %b" + (op == "fma" ? ", %c;" : ";");
    auto d = evaluate(text, "b64", {"b64", "b64", "b64"}, {a, b, c});
    for (unsigned l = 0; l < 32; ++l) {
      EXPECT_EQ(uint32_t(d[l]), expected(op, 32, false, rounding.mode, ftz,
                                         al[l], bl[l], cl[l]));
      EXPECT_EQ(d[l] >> 32, expected(op, 32, false, rounding.mode, ftz, ah[l],
                                     bh[l], ch[l]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Rounded,
                         testing::Combine(testing::Values("add", "sub", "mul",
                                                          "fma", "div"),
                                          testing::Range(0, 4)));

TEST(Half, SameAsAPFloat) {
  for (bool isBf16 : {false, true})
    for (const char *op : {"add", "sub", "mul", "fma"})
      for (unsigned seed = 0; seed < 12; ++seed) {
        auto a = values(16, 3 * seed), b = values(16, 3 * seed + 1),
             c = values(16, 3 * seed + 2);
        std::string type = isBf16 ? "bf16" : "f16";
        std::string text = std::string(op) + ".rn." + type + " %d, %a, %b" +
                           (std::string(op) == "fma" ? ", %c;" : ";");
        auto d = evaluate(text, "b16", {"b16", "b16", "b16"}, {a, b, c});
        for (unsigned l = 0; l < 32; ++l)
          EXPECT_EQ(d[l], expected(op, 16, isBf16,
                                   llvm::RoundingMode::NearestTiesToEven, false,
                                   a[l], b[l], c[l]))
              << text << std::hex << " " << a[l] << " " << b[l] << " " << c[l];
      }
}

class FloatInstruction : public testing::TestWithParam<Case> {};

TEST_P(FloatInstruction, GivesTheManualsResult) { GetParam().check(); }

using S = std::vector<std::string>;
const S b32x1{"b32"}, b32x2{"b32", "b32"}, b32x3{"b32", "b32", "b32"},
    b16x2{"b16", "b16"};
const uint64_t nan32 = 0x7FC00001, one = 0x3F800000, two = 0x40000000,
               minus1 = 0xBF800000, tiny = 1;

INSTANTIATE_TEST_SUITE_P(
    Values, FloatInstruction,
    testing::Values(
        Case{"add.sat.f32 %d, %a, %b;", "b32", b32x2, {one, one}, one},
        Case{"add.sat.f32 %d, %a, %b;", "b32", b32x2, {nan32, one}, 0},
        Case{"mul.sat.f32 %d, %a, %b;", "b32", b32x2, {minus1, one}, 0},
        Case{"min.f32 %d, %a, %b;", "b32", b32x2, {nan32, one}, one},
        Case{"min.NaN.f32 %d, %a, %b;", "b32", b32x2, {nan32, one}, 0x7FFFFFFF},
        Case{"max.f32 %d, %a, %b;", "b32", b32x2, {nan32, nan32}, 0x7FFFFFFF},
        Case{"max.f32 %d, %a, %b;", "b32", b32x2, {0x80000000, 0}, 0},
        Case{"min.f32 %d, %a, %b;", "b32", b32x2, {0, 0x80000000}, 0x80000000},
        Case{"max.f32 %d, %a, %b, %c;", "b32", b32x3, {one, two, minus1}, two},
        Case{"min.ftz.f32 %d, %a, %b, %c;", "b32", b32x3, {one, tiny, two}, 0},
        Case{"max.NaN.abs.f32 %d, %a, %b, %c;",
             "b32",
             b32x3,
             {one, 0xC0000000, one},
             two},
        Case{"max.xorsign.abs.f32 %d, %a, %b;",
             "b32",
             b32x2,
             {minus1, two},
             0xC0000000},
        Case{"max.f16x2 %d, %a, %b;",
             "b32",
             b32x2,
             {0x3C007E00, 0xBC003C00},
             0x3C003C00},
        Case{"min.bf16 %d, %a, %b;", "b16", b16x2, {0x3F80, 0xBF80}, 0xBF80},
        Case{"fma.rn.relu.f16 %d, %a, %b, %a;",
             "b16",
             b16x2,
             {0xBC00, 0x3C00},
             0},
        Case{"fma.rn.bf16x2 %d, %a, %b, %a;",
             "b32",
             b32x2,
             {0x3F803F80, 0x40003F80},
             0x40404000},
        Case{"add.f16x2 %d, %a, %b;",
             "b32",
             b32x2,
             {0x3C003C00, 0x3C000000},
             0x40003C00},
        Case{"add.f32.bf16 %d, %a, %b;",
             "b32",
             {"b16", "b32"},
             {0x3F80, one},
             two},
        Case{"fma.rn.f32.f16 %d, %a, %b, %c;",
             "b32",
             {"b16", "b16", "b32"},
             {0x4000, 0x3C00, one},
             0x40400000},
        Case{"abs.ftz.f32 %d, %a;", "b32", b32x1, {0x80000001}, 0},
        Case{"neg.f32 %d, %a;", "b32", b32x1, {one}, minus1},
        Case{"neg.bf16x2 %d, %a;", "b32", b32x1, {0x3F80BF80}, 0xBF803F80},
        Case{"rcp.rn.f32 %d, %a;", "b32", b32x1, {two}, 0x3F000000},
        Case{"rcp.approx.ftz.f32 %d, %a;", "b32", b32x1, {tiny}, 0x7F800000},
        Case{"sqrt.rn.f32 %d, %a;", "b32", b32x1, {two}, 0x3FB504F3},
        Case{"sqrt.rp.f32 %d, %a;", "b32", b32x1, {two}, 0x3FB504F4},
        Case{"ex2.approx.ftz.f32 %d, %a;",
             "b32",
             b32x1,
             {0x41200000},
             0x44800000},
        Case{"ex2.approx.ftz.f32 %d, %a;", "b32", b32x1, {0xC3000000}, 0},
        Case{"ex2.approx.f32 %d, %a;", "b32", b32x1, {0xFF800000}, 0},
        Case{"lg2.approx.f32 %d, %a;", "b32", b32x1, {0x44800000}, 0x41200000},
        Case{"lg2.approx.ftz.f32 %d, %a;", "b32", b32x1, {tiny}, 0xFF800000},
        Case{"ex2.approx.ftz.bf16x2 %d, %a;",
             "b32",
             b32x1,
             {0x3F804000},
             0x40004080},
        Case{"tanh.approx.f32 %d, %a;", "b32", b32x1, {0}, 0},
        Case{"copysign.f32 %d, %a, %b;",
             "b32",
             b32x2,
             {minus1, two},
             0xC0000000},
        Case{"testp.notanumber.f32 %d, %a;", "pred", b32x1, {nan32}, 1},
        Case{"testp.subnormal.f32 %d, %a;", "pred", b32x1, {tiny}, 1},
        Case{"setp.lt.ftz.f32 %d, %a, %b;", "pred", b32x2, {0, tiny}, 0},
        Case{"setp.lt.f32 %d, %a, %b;", "pred", b32x2, {0, tiny}, 1},
        Case{"setp.ne.f32 %d, %a, %b;", "pred", b32x2, {nan32, one}, 0},
        Case{"setp.neu.f32 %d, %a, %b;", "pred", b32x2, {nan32, one}, 1},
        Case{"setp.nan.or.f32 %d, %a, %b, %c;",
             "pred",
             {"b32", "b32", "pred"},
             {one, one, 1},
             1},
        Case{"{.reg .pred %x; setp.gt.f16x2 %x|%d, %a, %b;}",
             "pred",
             b32x2,
             {0x40003C00, 0x3C003C00},
             1},
        Case{"set.gt.bf16x2.bf16x2 %d, %a, %b;",
             "b32",
             b32x2,
             {0x40003F80, 0x3F803F80},
             0x3F800000},
        Case{"mov.f32 %d, 0f3F800000;", "b32", b32x1, {0}, one},
        Case{"add.f32 %d, %a, 0fBF800000;", "b32", b32x1, {one}, 0},
        Case{"mov.b32 %d, 0f7FFFFFFF;", "b32", b32x1, {0}, 0x7FFFFFFF},
        Case{"mov.f64 %d, 0d3FF0000000000000;",
             "b64",
             {"b64"},
             {0},
             0x3FF0000000000000}));

/// The manual's bounds: ex2, lg2 (outside of [0.5, 2]), rcp, rsqrt, sqrt.
TEST(Approximate, WithinTheManualsBounds) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> range(0.01f, 60.0f);
  std::vector<uint64_t> a(32);
  for (uint64_t &v : a)
    v = bits(range(random));
  auto relative = [&](const char *text, double (*f)(double), double bound) {
    auto d = evaluate(text, "b32", {"b32"}, {a});
    for (unsigned l = 0; l < 32; ++l) {
      double exact = f(real(a[l]));
      EXPECT_LE(std::fabs(real(d[l]) - exact), bound * std::fabs(exact))
          << text;
    }
  };
  double eps = std::ldexp(1.0, -22);
  relative(
      "ex2.approx.ftz.f32 %d, %a;", [](double x) { return std::exp2(x); }, eps);
  relative("rcp.approx.ftz.f32 %d, %a;", [](double x) { return 1 / x; }, eps);
  relative(
      "rsqrt.approx.f32 %d, %a;", [](double x) { return 1 / std::sqrt(x); },
      eps);
  relative(
      "sqrt.approx.f32 %d, %a;", [](double x) { return std::sqrt(x); }, eps);
  relative(
      "tanh.approx.f32 %d, %a;", [](double x) { return std::tanh(x); },
      std::ldexp(1.0, -11));
  relative(
      "div.full.f32 %d, %a, 0f40400000;", [](double x) { return x / 3; }, eps);
}

} // namespace
