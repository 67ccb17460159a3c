//===- IntegerTest.cpp - integer and logic instructions -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected values are worked out by hand from the manual's descriptions.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace fa4::sim::test;

namespace {

struct Case {
  const char *instruction;
  const char *result;
  std::vector<std::string> classes;
  std::vector<uint64_t> inputs;
  uint64_t expected;
};

class IntegerInstruction : public testing::TestWithParam<Case> {};

TEST_P(IntegerInstruction, GivesTheManualsResult) {
  const Case &c = GetParam();
  EXPECT_EQ(evaluate1(c.instruction, c.result, c.classes, c.inputs), c.expected)
      << c.instruction;
}

using S = std::vector<std::string>;
const S b32x2{"b32", "b32"}, b32x3{"b32", "b32", "b32"}, b64x2{"b64", "b64"};

INSTANTIATE_TEST_SUITE_P(
    Arithmetic, IntegerInstruction,
    testing::Values(
        Case{"add.s32 %d, %a, %b;", "b32", b32x2, {0x7FFFFFFF, 1}, 0x80000000},
        Case{"add.sat.s32 %d, %a, %b;", "b32", b32x2, {0x7FFFFFFF, 1}, 0x7FFFFFFF},
        Case{"sub.sat.s32 %d, %a, %b;", "b32", b32x2, {0x80000000, 1}, 0x80000000},
        Case{"add.u64 %d, %a, %b;", "b64", b64x2, {~0ull, 2}, 1},
        Case{"sub.u16 %d, %a, %b;", "b16", {"b16", "b16"}, {0, 1}, 0xFFFF},
        Case{"add.u16x2 %d, %a, %b;", "b32", b32x2, {0x0001FFFF, 0x00020001}, 0x00030000},
        Case{"add.cc.u32 %d, %a, %b; addc.u32 %d, 0, 0;", "b32", b32x2, {0xFFFFFFFF, 1}, 1},
        Case{"sub.cc.u32 %d, %a, %b; subc.u32 %d, 5, 0;", "b32", b32x2, {0, 1}, 4},
        Case{"mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d, %a, %b, 0;", "b32", b32x3,
             {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, 0xFFFFFFFF},
        Case{"mul.lo.s32 %d, %a, %b;", "b32", b32x2, {0xFFFFFFFF, 7}, uint32_t(-7)},
        Case{"mul.hi.s32 %d, %a, %b;", "b32", b32x2, {0xFFFFFFFF, 7}, 0xFFFFFFFF},
        Case{"mul.hi.u32 %d, %a, %b;", "b32", b32x2, {0xFFFFFFFF, 7}, 6},
        Case{"mul.hi.u64 %d, %a, %b;", "b64", b64x2, {~0ull, 3}, 2},
        Case{"mul.wide.s32 %d, %a, %b;", "b64", b32x2, {0xFFFFFFFF, 7}, uint64_t(-7)},
        Case{"mul.wide.u32 %d, %a, %b;", "b64", b32x2, {0xFFFFFFFF, 7}, 0x6FFFFFFF9},
        Case{"mul.wide.u16 %d, %a, %b;", "b32", {"b16", "b16"}, {0xFFFF, 0xFFFF}, 0xFFFE0001},
        Case{"mad.wide.s32 %d, %a, %b, %c;", "b64", {"b32", "b32", "b64"}, {uint32_t(-2), 3, 1}, uint64_t(-5)},
        Case{"mad.hi.sat.s32 %d, %a, %b, %c;", "b32", b32x3, {0x40000000, 0x40000000, 0x7FFFFFFF}, 0x7FFFFFFF},
        Case{"mul24.lo.s32 %d, %a, %b;", "b32", b32x2, {0x00800000, 2}, 0xFF000000},
        Case{"mul24.hi.u32 %d, %a, %b;", "b32", b32x2, {0xFFFFFF, 0xFFFFFF}, 0xFFFFFE00},
        Case{"sad.u32 %d, %a, %b, %c;", "b32", b32x3, {3, 10, 100}, 107},
        Case{"div.s32 %d, %a, %b;", "b32", b32x2, {uint32_t(-7), 2}, uint32_t(-3)},
        Case{"rem.s32 %d, %a, %b;", "b32", b32x2, {uint32_t(-7), 2}, uint32_t(-1)},
        Case{"div.u32 %d, %a, %b;", "b32", b32x2, {7, 0}, 0xFFFFFFFF},
        Case{"div.s32 %d, %a, %b;", "b32", b32x2, {0x80000000, 0xFFFFFFFF}, 0x80000000},
        Case{"abs.s32 %d, %a;", "b32", {"b32"}, {uint32_t(-5)}, 5},
        Case{"neg.s64 %d, %a;", "b64", {"b64"}, {5}, uint64_t(-5)},
        Case{"min.s32 %d, %a, %b;", "b32", b32x2, {uint32_t(-1), 1}, uint32_t(-1)},
        Case{"min.u32 %d, %a, %b;", "b32", b32x2, {uint32_t(-1), 1}, 1},
        Case{"max.relu.s32 %d, %a, %b;", "b32", b32x2, {uint32_t(-1), uint32_t(-2)}, 0},
        Case{"max.s16x2 %d, %a, %b;", "b32", b32x2, {0xFFFF0001, 0x00010000}, 0x00010001},
        Case{"dp4a.s32.u32 %d, %a, %b, %c;", "b32", b32x3, {0xFF020304, 0x01010101, 10}, 18},
        Case{"dp2a.lo.u32.u32 %d, %a, %b, %c;", "b32", b32x3, {0x00020003, 0x00000504, 1}, 23},
        Case{"dp2a.hi.u32.u32 %d, %a, %b, %c;", "b32", b32x3, {0x00020003, 0x05040000, 1}, 23}));

INSTANTIATE_TEST_SUITE_P(
    Bits, IntegerInstruction,
    testing::Values(
        Case{"popc.b64 %d, %a;", "b32", {"b64"}, {0xF0F0F0F0F0F0F0F0}, 32},
        Case{"clz.b32 %d, %a;", "b32", {"b32"}, {0x00010000}, 15},
        Case{"clz.b64 %d, %a;", "b32", {"b64"}, {0}, 64},
        Case{"brev.b32 %d, %a;", "b32", {"b32"}, {1}, 0x80000000},
        Case{"bfind.u32 %d, %a;", "b32", {"b32"}, {0x00010000}, 16},
        Case{"bfind.s32 %d, %a;", "b32", {"b32"}, {0xFFFFFFFE}, 0},
        Case{"bfind.shiftamt.u32 %d, %a;", "b32", {"b32"}, {0x00010000}, 15},
        Case{"bfind.u32 %d, %a;", "b32", {"b32"}, {0}, 0xFFFFFFFF},
        Case{"fns.b32 %d, %a, %b, %c;", "b32", b32x3, {0xAA, 2, 2}, 5},
        Case{"fns.b32 %d, %a, %b, %c;", "b32", b32x3, {0xAA, 4, uint32_t(-1)}, 3},
        Case{"bfe.u32 %d, %a, %b, %c;", "b32", b32x3, {0x12345678, 8, 8}, 0x56},
        Case{"bfe.s32 %d, %a, %b, %c;", "b32", b32x3, {0x0000F000, 12, 4}, 0xFFFFFFFF},
        Case{"bfe.s32 %d, %a, %b, %c;", "b32", b32x3, {0x80000000, 28, 10}, 0xFFFFFFF8},
        Case{"bfe.u32 %d, %a, %b, %c;", "b32", b32x3, {0x12345678, 40, 8}, 0},
        Case{"bfi.b32 %d, %a, %b, 8, 4;", "b32", b32x2, {0xFF, 0}, 0xF00},
        Case{"bfi.b32 %d, %a, %b, 32, 4;", "b32", b32x2, {0xFF, 7}, 7},
        Case{"bmsk.clamp.b32 %d, %a, %b;", "b32", b32x2, {4, 8}, 0xFF0},
        Case{"szext.clamp.s32 %d, %a, %b;", "b32", b32x2, {0xFF, 8}, 0xFFFFFFFF},
        Case{"szext.wrap.u32 %d, %a, %b;", "b32", b32x2, {0xFFFF, 8}, 0xFF},
        Case{"shl.b32 %d, %a, %b;", "b32", b32x2, {1, 32}, 0},
        Case{"shr.s32 %d, %a, %b;", "b32", b32x2, {0x80000000, 40}, 0xFFFFFFFF},
        Case{"shr.u64 %d, %a, %b;", "b64", {"b64", "b32"}, {~0ull, 63}, 1},
        Case{"shf.l.wrap.b32 %d, %a, %b, %c;", "b32", b32x3, {0x80000000, 1, 33}, 3},
        Case{"shf.r.clamp.b32 %d, %a, %b, %c;", "b32", b32x3, {1, 7, 40}, 7},
        Case{"prmt.b32 %d, %a, %b, 0x7531;", "b32", b32x2, {0x33221100, 0x77665544}, 0x77553311},
        Case{"prmt.b32 %d, %a, %b, 0x0008;", "b32", b32x2, {0x00000080, 0}, 0x808080FF},
        Case{"prmt.b32.f4e %d, %a, %b, 1;", "b32", b32x2, {0x33221100, 0x77665544}, 0x44332211},
        Case{"prmt.b32.b4e %d, %a, %b, 1;", "b32", b32x2, {0x33221100, 0x77665544}, 0x66770011},
        Case{"prmt.b32.rc8 %d, %a, %b, 2;", "b32", b32x2, {0x33221100, 0}, 0x22222222},
        Case{"prmt.b32.rc16 %d, %a, %b, 1;", "b32", b32x2, {0x33221100, 0}, 0x33223322},
        Case{"lop3.b32 %d, %a, %b, %c, 0xE8;", "b32", b32x3, {0xF0, 0xCC, 0xAA}, 0xE8},
        Case{"lop3.b32 %d, %a, %b, %c, 0x1A;", "b32", b32x3, {0xF0, 0xCC, 0xAA}, 0x1A},
        Case{"and.b64 %d, %a, %b;", "b64", b64x2, {0xFF00, 0x0FF0}, 0x0F00},
        Case{"xor.b16 %d, %a, %b;", "b16", {"b16", "b16"}, {0xFF, 0xF0F0}, 0xF00F},
        Case{"not.b32 %d, %a;", "b32", {"b32"}, {0xFFFF0000}, 0x0000FFFF},
        Case{"cnot.b32 %d, %a;", "b32", {"b32"}, {0}, 1},
        Case{"and.pred %d, %a, !%b;", "pred", {"pred", "pred"}, {1, 0}, 1}));

INSTANTIATE_TEST_SUITE_P(
    Comparison, IntegerInstruction,
    testing::Values(
        Case{"setp.lt.s32 %d, %a, %b;", "pred", b32x2, {uint32_t(-1), 0}, 1},
        Case{"setp.lt.u32 %d, %a, %b;", "pred", b32x2, {uint32_t(-1), 0}, 0},
        Case{"setp.lo.u32 %d, %a, %b;", "pred", b32x2, {0, 1}, 1},
        Case{"setp.eq.and.s64 %d, %a, %b, !%c;", "pred", {"b64", "b64", "pred"}, {5, 5, 1}, 0},
        Case{"set.gt.u32.s32 %d, %a, %b;", "b32", b32x2, {1, 0}, 0xFFFFFFFF},
        Case{"set.gt.f32.s32 %d, %a, %b;", "b32", b32x2, {1, 0}, 0x3F800000},
        Case{"selp.b32 %d, %a, %b, %c;", "b32", {"b32", "b32", "pred"}, {1, 2, 0}, 2},
        Case{"slct.u32.s32 %d, %a, %b, %c;", "b32", b32x3, {1, 2, uint32_t(-1)}, 2},
        Case{"slct.u32.f32 %d, %a, %b, %c;", "b32", b32x3, {1, 2, 0x80000000}, 1}));

INSTANTIATE_TEST_SUITE_P(
    Move, IntegerInstruction,
    testing::Values(
        Case{"mov.b64 %d, {%a, %b};", "b64", b32x2, {1, 2}, 0x200000001},
        Case{"mov.b64 {%t, _}, %a; mov.b32 %d, %t;", "b32", {"b64"}, {0x200000001}, 1},
        Case{"mov.b64 {_, %d}, %a;", "b32", {"b64"}, {0x200000001}, 2},
        Case{"mov.b32 %d, {%a, %b};", "b32", {"b16", "b16"}, {1, 2}, 0x20001},
        Case{"{.reg .b128 %q; mov.b128 %q, {%a, %b}; mov.b128 {_, %d}, %q;}", "b64", b64x2, {1, 2}, 2},
        Case{"cvt.s64.s32 %d, %a;", "b64", {"b32"}, {uint32_t(-3)}, uint64_t(-3)},
        Case{"cvt.u64.u32 %d, %a;", "b64", {"b32"}, {uint32_t(-3)}, 0xFFFFFFFD},
        Case{"cvt.u32.u8 %d, %a;", "b32", {"b32"}, {0x1FF}, 0xFF},
        Case{"cvt.s32.s8 %d, %a;", "b32", {"b32"}, {0x1FF}, 0xFFFFFFFF},
        Case{"cvt.sat.u8.s32 %d, %a;", "b32", {"b32"}, {uint32_t(-3)}, 0},
        Case{"cvt.sat.s16.s32 %d, %a;", "b16", {"b32"}, {70000}, 0x7FFF},
        Case{"cvt.pack.sat.s16.s32 %d, %a, %b;", "b32", b32x2, {70000, uint32_t(-2)}, 0x7FFFFFFE},
        Case{"cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", "b32", b32x3, {300, 2, 0x1234}, 0x1234FF02}));

TEST(Lop3, PredicateResult) {
  EXPECT_EQ(evaluate1("{.reg .b32 %x; lop3.or.b32 %x|%d, %a, %b, %c, 0x80, "
                      "%e;}",
                      "pred", {"b32", "b32", "b32", "pred"}, {1, 1, 2, 0}),
            0u);
  EXPECT_EQ(evaluate1("{.reg .b32 %x; lop3.or.b32 %x|%d, %a, %b, %c, 0x80, "
                      "%e;}",
                      "pred", {"b32", "b32", "b32", "pred"}, {1, 1, 1, 0}),
            1u);
}

} // namespace
