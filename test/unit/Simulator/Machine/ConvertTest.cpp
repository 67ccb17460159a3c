//===- ConvertTest.cpp - cvt ----------------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

using S = std::vector<std::string>;
const S b32x1{"b32"}, b32x2{"b32", "b32"}, b32x3{"b32", "b32", "b32"};

class Conversion : public testing::TestWithParam<Case> {};
TEST_P(Conversion, GivesTheManualsResult) { GetParam().check(); }

uint64_t f(float x) { return bits(x); }

INSTANTIATE_TEST_SUITE_P(
    Scalar, Conversion,
    testing::Values(
        Case{"cvt.rzi.s32.f32 %d, %a;", "b32", b32x1, {f(-1.7f)}, uint32_t(-1)},
        Case{"cvt.rni.s32.f32 %d, %a;", "b32", b32x1, {f(2.5f)}, 2},
        Case{"cvt.rmi.s32.f32 %d, %a;", "b32", b32x1, {f(-1.2f)}, uint32_t(-2)},
        Case{"cvt.rpi.u32.f32 %d, %a;", "b32", b32x1, {f(1.2f)}, 2},
        Case{"cvt.rzi.u32.f32 %d, %a;", "b32", b32x1, {f(-5.f)}, 0},
        Case{"cvt.rzi.s32.f32 %d, %a;", "b32", b32x1, {f(1e20f)}, 0x7FFFFFFF},
        Case{"cvt.rzi.s32.f32 %d, %a;", "b32", b32x1, {0x7FC00000}, 0},
        Case{"cvt.rzi.s64.f64 %d, %a;",
             "b64",
             {"b64"},
             {bits64(-3.9)},
             uint64_t(-3)},
        Case{"cvt.rni.f32.f32 %d, %a;", "b32", b32x1, {f(3.5f)}, f(4.f)},
        Case{"cvt.rmi.ftz.f32.f32 %d, %a;",
             "b32",
             b32x1,
             {0x80000001},
             0x80000000},
        Case{"cvt.rn.f32.s32 %d, %a;", "b32", b32x1, {16777217}, f(16777216.f)},
        Case{"cvt.rp.f32.s32 %d, %a;", "b32", b32x1, {16777217}, f(16777218.f)},
        Case{"cvt.rz.f32.u64 %d, %a;", "b32", {"b64"}, {~0ull}, 0x5F7FFFFF},
        Case{"cvt.rn.f32.u64 %d, %a;", "b32", {"b64"}, {~0ull}, 0x5F800000},
        Case{"cvt.rn.f32.f64 %d, %a;",
             "b32",
             {"b64"},
             {bits64(1 + 1e-12)},
             f(1.f)},
        Case{"cvt.rp.f32.f64 %d, %a;",
             "b32",
             {"b64"},
             {bits64(1 + 1e-12)},
             0x3F800001},
        Case{"cvt.f64.f32 %d, %a;", "b64", b32x1, {f(1.5f)}, bits64(1.5)},
        Case{"cvt.sat.f32.f32 %d, %a;", "b32", b32x1, {f(2.f)}, f(1.f)},
        Case{"cvt.ftz.f64.f32 %d, %a;", "b64", b32x1, {1}, 0},
        Case{"cvt.f32.f16 %d, %a;", "b32", {"b16"}, {0x3C01}, f(1.0009765625f)},
        Case{"cvt.f32.bf16 %d, %a;", "b32", {"b16"}, {0x3F81}, 0x3F810000},
        Case{"cvt.rn.f16.f32 %d, %a;", "b16", b32x1, {f(65520.f)}, 0x7C00},
        Case{"cvt.rz.f16.f32 %d, %a;", "b16", b32x1, {f(65520.f)}, 0x7BFF},
        Case{"cvt.rn.satfinite.f16.f32 %d, %a;",
             "b16",
             b32x1,
             {f(1e9f)},
             0x7BFF},
        Case{"cvt.rn.relu.bf16.f32 %d, %a;", "b16", b32x1, {f(-3.f)}, 0},
        Case{
            "cvt.rna.tf32.f32 %d, %a;", "b32", b32x1, {0x3F801000}, 0x3F802000},
        Case{"cvt.rn.tf32.f32 %d, %a;", "b32", b32x1, {0x3F801000}, 0x3F800000},
        Case{"cvt.rn.bf16.s32 %d, %a;", "b16", b32x1, {257}, 0x4380},
        Case{"cvt.rzi.u16.f16 %d, %a;", "b16", {"b16"}, {0x4248}, 3},
        // A result that is narrower than its register is extended.
        Case{"cvt.s8.s32 %d, %a;", "b16", b32x1, {0x1FF}, 0xFFFF},
        Case{"cvt.u8.s32 %d, %a;", "b16", b32x1, {0x1FF}, 0xFF},
        Case{"cvt.s8.s32 %d, %a;", "b32", b32x1, {0x80}, 0xFFFFFF80},
        Case{"{.reg .b16 %x; cvt.s8.s32 %x, %a; cvt.rn.f32.s16 %d, %x;}",
             "b32",
             b32x1,
             {0xFE},
             f(-2.f)}));

INSTANTIATE_TEST_SUITE_P(
    Packed, Conversion,
    testing::Values(Case{"cvt.rn.bf16x2.f32 %d, %a, %b;",
                         "b32",
                         b32x2,
                         {f(1.f), f(2.f)},
                         0x3F804000},
                    Case{"cvt.rn.f16x2.f32 %d, %a, %b;",
                         "b32",
                         b32x2,
                         {f(1.f), f(2.f)},
                         0x3C004000},
                    Case{"cvt.rz.bf16x2.f32 %d, %a, %b;",
                         "b32",
                         b32x2,
                         {0x3F80FFFF, 0xBF80FFFF},
                         0x3F80BF80},
                    Case{"cvt.rn.relu.bf16x2.f32 %d, %a, %b;",
                         "b32",
                         b32x2,
                         {f(-1.f), f(2.f)},
                         0x00004000},
                    Case{"cvt.rs.bf16x2.f32 %d, %a, %b, %c;",
                         "b32",
                         b32x3,
                         {0x3F808000, 0x3F808000, 0x80007FFF},
                         0x3F813F80},
                    Case{"cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {f(1.f), f(1000.f)},
                         0x387E},
                    Case{"cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {0x7FC00000, f(-0.f)},
                         0x7F80},
                    Case{"cvt.rn.satfinite.relu.e4m3x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {f(-1.f), f(1.0625f)},
                         0x0038},
                    Case{"cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {f(1.f), f(1e6f)},
                         0x3C7B},
                    Case{"cvt.rn.satfinite.e4m3x2.f16x2 %d, %a;",
                         "b16",
                         b32x1,
                         {0x3C004000},
                         0x3840},
                    Case{"cvt.rn.f16x2.e4m3x2 %d, %a;",
                         "b32",
                         {"b16"},
                         {0x3840},
                         0x3C004000},
                    Case{"cvt.rn.f16x2.e5m2x2 %d, %a;",
                         "b32",
                         {"b16"},
                         {0x3C7C},
                         0x3C007C00},
                    Case{"{.reg .b8 %x; cvt.rn.satfinite.e2m1x2.f32 %x, %a, "
                         "%b; cvt.u32.u8 %d, %x;}",
                         "b32",
                         b32x2,
                         {f(6.f), f(-1.5f)},
                         0x7B},
                    Case{"cvt.rn.satfinite.e2m3x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {f(7.5f), f(0.125f)},
                         0x1F01},
                    Case{"cvt.rn.satfinite.e3m2x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {f(28.f), f(1.f)},
                         0x1F0C},
                    Case{"cvt.rz.satfinite.ue8m0x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {f(3.f), f(1.f)},
                         0x807F},
                    Case{"cvt.rp.satfinite.ue8m0x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {f(3.f), f(1.f)},
                         0x817F},
                    // -128 / 64 * 2^6 and 3 / 64 * 2^5; 1.5 * 2^-1, -2 * 2^3.
                    Case{"cvt.rn.satfinite.scaled::n2::ue8m0.bf16x2.s2f6x2 "
                         "%d, %a, %b;",
                         "b32",
                         {"b16", "b16"},
                         {0x8003, 0x8584},
                         0xC3003FC0},
                    Case{"cvt.rn.scaled::n2::ue8m0.bf16x2.e4m3x2 %d, %a, %b;",
                         "b32",
                         {"b16", "b16"},
                         {0x3CC0, 0x7E82},
                         0x3F40C180},
                    // Without .satfinite what is too large is NaN.
                    Case{"cvt.rp.ue8m0x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {f(3.f), f(INFINITY)},
                         0x81FF},
                    Case{"cvt.rp.satfinite.ue8m0x2.f32 %d, %a, %b;",
                         "b16",
                         b32x2,
                         {f(3e38f), f(INFINITY)},
                         0xFEFE},
                    Case{"cvt.rn.bf16x2.ue8m0x2 %d, %a;",
                         "b32",
                         {"b16"},
                         {0x807F},
                         0x40003F80}));

uint16_t narrow(uint32_t value, const llvm::fltSemantics &to, bool saturate) {
  APFloat x(APFloat::IEEEsingle(), APInt(32, value));
  bool lost;
  if (x.isNaN())
    return uint16_t(APFloat::getNaN(to).bitcastToAPInt().getZExtValue());
  bool negative = x.isNegative();
  x.convert(to, llvm::RoundingMode::NearestTiesToEven, &lost);
  if (saturate && !x.isFinite())
    x = APFloat::getLargest(to, negative);
  return uint16_t(x.bitcastToAPInt().getZExtValue());
}

/// Every conversion from f32 against APFloat.
TEST(Narrow, SameAsAPFloat) {
  std::mt19937 random(7);
  struct {
    const char *text;
    const llvm::fltSemantics &to;
    bool saturate;
    unsigned width;
  } forms[] = {
      {"cvt.rn.bf16x2.f32 %d, %a, %b;", APFloat::BFloat(), false, 16},
      {"cvt.rn.f16x2.f32 %d, %a, %b;", APFloat::IEEEhalf(), false, 16},
      {"{.reg .b16 %x; cvt.rn.satfinite.e5m2x2.f32 %x, %a, %b; cvt.u32.u16 "
       "%d, %x;}",
       APFloat::Float8E5M2(), true, 8},
      {"{.reg .b16 %x; cvt.rn.satfinite.e4m3x2.f32 %x, %a, %b; cvt.u32.u16 "
       "%d, %x;}",
       APFloat::Float8E4M3FN(), true, 8}};
  for (auto &form : forms)
    for (unsigned round = 0; round < 20; ++round) {
      std::vector<uint64_t> a(32), b(32);
      for (unsigned l = 0; l < 32; ++l) {
        a[l] = round & 1 ? (random() & 0x807FFFFF) | (100 + random() % 50) << 23
                         : uint32_t(random());
        b[l] = (random() & 0x807FFFFF) | (110 + random() % 40) << 23;
      }
      auto d = evaluate(form.text, "b32", {"b32", "b32"}, {a, b});
      for (unsigned l = 0; l < 32; ++l) {
        uint32_t mask = (1u << form.width) - 1;
        float x = real(a[l]);
        if (x == x)
          EXPECT_EQ(d[l] >> form.width, narrow(a[l], form.to, form.saturate))
              << form.text << std::hex << a[l];
        EXPECT_EQ(d[l] & mask, narrow(b[l], form.to, form.saturate))
            << form.text << std::hex << b[l];
      }
    }
}

} // namespace
