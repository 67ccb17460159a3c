//===- WideLanesTest.cpp - all lanes together and lane by lane ------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp all of whose lanes execute uses the host's wide vectors. The bits of a
// lane must be those that it computes where another lane stands aside.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"
#include <random>

using namespace fa4::sim;
using namespace fa4::sim::test;

namespace {

/// 64 threads compute `instruction` of %a, %b, %c, registers of 64 bits, and of
/// their halves %a0, %a1, ...; guarded, so that `left` lanes of each warp do
/// not take part.
std::vector<uint64_t> compute(const std::string &instruction,
                              const std::vector<uint64_t> &input, int left) {
  Kernel kernel(header() + R"(
.visible .entry k(.param .u64 x, .param .u64 y)
.reqntid 64
{
  .reg .f32 %a0, %a1, %b0, %b1, %c0, %c1, %d0, %d1;
  .reg .b64 %a, %b, %c, %d, %p, %o;
  .reg .b32 %t, %l;
  .reg .pred %q;
  mov.u32 %t, %tid.x;
  and.b32 %l, %t, 31;
  setp.ge.s32 %q, %l, )" +
                std::to_string(left) +
                R"(;
  ld.param.u64 %p, [x];
  ld.param.u64 %o, [y];
  mad.wide.u32 %p, %t, 8, %p;
  mad.wide.u32 %o, %t, 8, %o;
  ld.global.b64 %a, [%p];
  ld.global.b64 %b, [%p + 512];
  ld.global.b64 %c, [%p + 1024];
  mov.b64 {%a0, %a1}, %a;
  mov.b64 {%b0, %b1}, %b;
  mov.b64 {%c0, %c1}, %c;
  mov.b64 %d, 0;
  mov.b64 {%d0, %d1}, %d;
)" + instruction +
                R"(
  st.global.b64 [%o], %d;
  ret;
}
)");
  EXPECT_EQ(kernel.error, "");
  kernel.buffer("x", input.size() * 8, input.data());
  kernel.buffer("y", 64 * 8);
  kernel.config.block = {64, 1, 1};
  RunResult result = kernel.run();
  EXPECT_EQ(result.findings, 0u) << reports(result);
  const uint64_t *out = kernel.data<uint64_t>("y");
  return std::vector<uint64_t>(out, out + 64);
}

TEST(WideLanes, SameBitsAsLaneByLane) {
  constexpr uint32_t specials[] = {0,          0x80000000, 1,
                                   0x807FFFFF, 0x7F800000, 0xFF800000,
                                   0x7FC00001, 0x00800000, 0x7F7FFFFF};
  std::mt19937 random(5);
  auto number = [&]() -> uint32_t {
    uint32_t bits = random();
    return bits % 3 == 0   ? specials[bits / 8 % std::size(specials)]
           : bits % 3 == 1 ? (bits & 0x807FFFFF) | (100 + bits % 50) << 23
                           : bits;
  };
  std::vector<std::string> instructions;
  for (std::string op : {"add.rn.f32x2 ", "sub.rn.ftz.f32x2 ", "mul.rn.f32x2 ",
                         "mul.rn.ftz.f32x2 "})
    instructions.push_back("@%q " + op + "%d, %a, %b;");
  for (std::string op : {"fma.rn.f32x2 ", "fma.rn.ftz.f32x2 "})
    instructions.push_back("@%q " + op + "%d, %a, %b, %c;");
  auto both = [](const std::string &op, bool three) {
    std::string text;
    for (std::string half : {"0", "1"})
      text += "@%q " + op + " %d" + half + ", %a" + half + ", %b" + half +
              (three ? ", %c" + half : "") + ";\n";
    return text + "@%q mov.b64 %d, {%d0, %d1};";
  };
  for (const char *op : {"add.rn.f32", "sub.rn.ftz.f32", "mul.rn.sat.f32",
                         "max.f32", "min.ftz.NaN.f32"})
    instructions.push_back(both(op, false));
  for (const char *op :
       {"fma.rn.f32", "fma.rn.ftz.sat.f32", "max.NaN.f32", "min.ftz.f32"})
    instructions.push_back(both(op, true));
  for (const std::string &instruction : instructions) {
    SCOPED_TRACE(instruction);
    std::vector<uint64_t> input(3 * 64);
    for (uint64_t &value : input)
      value = uint64_t(number()) << 32 | number();
    std::vector<uint64_t> together = compute(instruction, input, 0);
    std::vector<uint64_t> alone = compute(instruction, input, 1);
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(alone[i], i % 32 ? together[i] : 0) << "lane " << i;
  }
}

} // namespace
