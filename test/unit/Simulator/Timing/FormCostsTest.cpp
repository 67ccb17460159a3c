//===- FormCostsTest.cpp - issue costs from the forms of PTX --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Machine/KernelTest.h"
#include "fa4/Simulator/Timing/IssueCost.h"

using namespace fa4::sim;
using namespace fa4::sim::test;

namespace {

/// The costs of the instructions of a kernel; line 5 is the first of `body`.
struct Costs {
  explicit Costs(const std::string &body)
      : kernel(".version 8.0\n.target sm_90a\n.address_size 64\n"
               ".visible .entry k() { .reg .f32 %f<9>; .reg .b32 %r<9>; "
               ".reg .b64 %rd<9>; .reg .pred %p<9>; .shared .b32 s[32];\n" +
               body + "\nret;\n}\n"),
        costs(issueCostsFromForms(kernel.simulator->program())) {}

  const IssueCost &atLine(uint32_t line) const {
    for (const Inst &inst : kernel.simulator->program().insts)
      if (inst.line == line)
        return costs.of(inst);
    ADD_FAILURE() << "no instruction at line " << line;
    return costs.of(kernel.simulator->program().insts.front());
  }
  /// Of the lines 5 to `last`.
  double clocks(uint32_t last) const {
    double sum = 0;
    for (uint32_t line = 5; line <= last; ++line)
      sum += atLine(line).clocks;
    return sum;
  }

  Kernel kernel;
  IssueCosts costs;
};

TEST(FormCosts, ChainsTakeTheLatencyAndOthersAnIssueSlot) {
  Costs chain("add.f32 %f1, %f1, %f2;\nadd.f32 %f1, %f1, %f2;\n"
              "add.f32 %f1, %f1, %f2;\nadd.f32 %f1, %f1, %f2;");
  EXPECT_EQ(chain.clocks(8), 3 * 4 + 1);
  Costs others("add.f32 %f1, %f0, %f0;\nadd.f32 %f2, %f0, %f0;\n"
               "add.f32 %f3, %f0, %f0;\nadd.f32 %f4, %f0, %f0;");
  EXPECT_EQ(others.clocks(8), 4);
  EXPECT_EQ(others.atLine(5)[Pipe::Fma], 1);
}

TEST(FormCosts, ConsumersOfVariableLatencyWaitForTheLine) {
  Costs costs("ex2.approx.ftz.f32 %f1, %f2;\nadd.f32 %f3, %f4, %f5;\n"
              "add.f32 %f6, %f1, %f1;");
  EXPECT_EQ(costs.atLine(5)[Pipe::Mufu], 1);
  EXPECT_TRUE(costs.atLine(6).waits.empty());
  ASSERT_EQ(costs.atLine(7).waits.size(), 1u);
  EXPECT_EQ(costs.atLine(7).waits[0].line, 5u);
  // The independent addition has been put between the two.
  EXPECT_EQ(costs.atLine(7).waits[0].distance, 2);
}

TEST(FormCosts, WaitsReachAcrossBranches) {
  Costs costs("$L:\nadd.u32 %r1, %r1, %r2;\nld.shared.u32 %r2, [s];\n"
              "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra $L;");
  ASSERT_EQ(costs.atLine(6).waits.size(), 1u);
  EXPECT_EQ(costs.atLine(6).waits[0].line, 7u) << "of the pass before";
}

TEST(FormCosts, MovesAndWidenedNumbersAreFree) {
  Costs costs("mov.b32 %r1, %r2;\ncvt.u64.u32 %rd1, %r1;\n"
              "add.s64 %rd2, %rd1, %rd1;\nmad.lo.u32 %r3, %r4, %r5, %r6;");
  EXPECT_EQ(costs.atLine(5).slots(), 0);
  EXPECT_EQ(costs.atLine(6).slots(), 0);
  EXPECT_EQ(costs.atLine(7)[Pipe::Alu], 2);
  EXPECT_EQ(costs.atLine(8)[Pipe::FmaHeavy], 1);
  EXPECT_EQ(costs.costs.source, "table of PTX forms");
}

} // namespace
