//===- RegisterSlotsTest.cpp - registers that share their places ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"
#include "fa4/Simulator/Machine/Program.h"

using namespace fa4::sim;
using namespace fa4::sim::test;

namespace {

/// Runs a warp with %r1 = tid.x, and stores %r2 of each thread.
struct RegisterRun {
  RegisterRun(const std::string &body, uint64_t seed = 0)
      : kernel(header() +
               ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<40>;\n"
               ".reg .b64 %rd<20>;\n.reg .pred %p<9>;\n"
               "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n" +
               body +
               "mad.wide.u32 %rd9, %r1, 4, %rd1;\n"
               "st.global.b32 [%rd9], %r2;\nret;\n}\n") {
    EXPECT_EQ(kernel.error, "");
    if (!kernel.simulator)
      return;
    kernel.buffer("out", 4 * warpSize);
    kernel.config.block = {warpSize, 1, 1};
    result = kernel.run(seed);
    EXPECT_TRUE(result.ok()) << reports(result);
  }
  uint32_t operator[](unsigned i) { return kernel.data<uint32_t>("out")[i]; }
  Kernel kernel;
  RunResult result;
};

// A register for each of 1000 values, of which few are needed at a time, shares
// its place with others.
TEST(RegisterSlots, FewPlacesForManyRegisters) {
  std::string body = "add.u32 %v0, %r1, 1;\n";
  for (unsigned i = 1; i < 1000; ++i)
    body += "add.u32 %v" + std::to_string(i) + ", %v" + std::to_string(i - 1) +
            ", " + std::to_string(i) + ";\n";
  RegisterRun run(".reg .b32 %v<1000>;\n" + body + "mov.u32 %r2, %v999;\n");
  for (unsigned t = 0; t < 32; ++t)
    EXPECT_EQ(run[t], t + 1 + 999 * 1000 / 2);
  EXPECT_LT(run.kernel.simulator->program().registerBytes, 32 * 128u);
}

// Values that are needed on ways that the order of the text does not show:
// around a loop, of an iteration before, behind a branch backwards, and by
// lanes that take another way than the rest of their warp.
TEST(RegisterSlots, ValuesThatAreStillNeeded) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    RegisterRun run(R"(
      mov.u32 %r2, 0; mov.u32 %r3, 0; add.u32 %r4, %r1, 100;
      bra start;
    late:                    // Needs %r4, which no text behind `start` reads.
      add.u32 %r2, %r2, %r4;
      bra end;
    start:
      mov.u32 %r5, 1000;
    loop:
      add.u32 %r2, %r2, %r5; // Of before the loop, then of the turn before.
      add.u32 %r6, %r3, 1;
      add.u32 %r7, %r6, 10;
      mov.u32 %r5, %r7;
      and.b32 %r8, %r1, 1;
      setp.eq.u32 %p2, %r8, 0;
      @%p2 bra even;
      mul.lo.u32 %r9, %r6, 3;
      add.u32 %r2, %r2, %r9;
      bra join;
    even:
      mul.lo.u32 %r10, %r6, 5;
      add.u32 %r11, %r10, 1;
      add.u32 %r2, %r2, %r11;
    join:
      mov.u32 %r3, %r6;
      setp.lt.u32 %p1, %r3, 4;
      @%p1 bra loop;
      mov.u32 %r12, 7;
      setp.gt.u32 %p3, %r1, 15;
      @%p3 mov.u32 %r12, 70000;
      add.u32 %r13, %r12, 1;
      add.u32 %r2, %r2, %r13;
      bra late;
    end:
    )",
                    seed);
    for (unsigned t = 0; t < 32; ++t) {
      uint32_t sum = 1000 + 11 + 12 + 13 + (t > 15 ? 70001 : 8) + t + 100;
      for (unsigned i = 1; i <= 4; ++i)
        sum += t % 2 ? 3 * i : 5 * i + 1;
      EXPECT_EQ(run[t], sum) << t;
    }
  }
}

// Two results of one instruction, and a source that is needed until both are
// there.
TEST(RegisterSlots, ResultsBesideTheirSources) {
  RegisterRun run(R"(
    mul.wide.u32 %rd2, %r1, -1;
    mov.b64 {%r3, %r4}, %rd2;
    mov.b64 %rd3, {%r4, %r3};
    mov.b64 {%r5, %r6}, %rd3;
    shfl.sync.bfly.b32 %r7|%p1, %r5, 1, 31, -1;
    add.u32 %r2, %r6, %r7;
  )");
  auto product = [](uint64_t t) { return t * 0xFFFFFFFFu; };
  for (unsigned t = 0; t < 32; ++t)
    EXPECT_EQ(run[t], uint32_t(product(t)) + uint32_t(product(t ^ 1) >> 32));
}

} // namespace
