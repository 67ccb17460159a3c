//===- KernelTest.cpp - run small PTX kernels in tests --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace fa4::sim;
using namespace fa4::sim::test;

std::vector<uint64_t>
fa4::sim::test::evaluate(const std::string &instruction,
                         const std::string &resultClass,
                         const std::vector<std::string> &classes,
                         const std::vector<std::vector<uint64_t>> &inputs) {
  static const char *names[] = {"%a", "%b", "%c", "%e", "%f"};
  auto load = [](const std::string &cls, const std::string &name,
                 unsigned offset) {
    std::string at = "[%rd1+" + std::to_string(offset) + "];\n";
    if (cls == "pred")
      return "ld.global.b32 %t, " + at + "setp.ne.b32 " + name + ", %t, 0;\n";
    return "ld.global." + cls + " " + name + ", " + at;
  };
  std::string text = header() +
                     ".visible .entry k(.param .u64 in, .param .u64 "
                     "out)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %t, "
                     "%lane;\n.reg ." +
                     resultClass + " %d;\n";
  for (size_t i = 0; i < classes.size(); ++i)
    text += ".reg ." + classes[i] + " " + names[i] + ";\n";
  text += "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n"
          "mov.u32 %lane, %tid.x;\nmad.wide.u32 %rd1, %lane, 64, %rd1;\n"
          "mad.wide.u32 %rd2, %lane, 8, %rd2;\n";
  for (size_t i = 0; i < classes.size(); ++i)
    text += load(classes[i], names[i], 8 * i);
  text += instruction + "\n";
  if (resultClass == "pred")
    text += "selp.b32 %t, 1, 0, %d;\nst.global.b32 [%rd2], %t;\n";
  else
    text += "st.global." + resultClass + " [%rd2], %d;\n";
  text += "ret;\n}\n";
  Kernel kernel(text);
  EXPECT_EQ(kernel.error, "") << text;
  if (!kernel.simulator)
    return std::vector<uint64_t>(32);
  std::vector<uint64_t> in(32 * 8), out(32);
  for (size_t i = 0; i < inputs.size(); ++i)
    for (unsigned lane = 0; lane < 32; ++lane)
      in[lane * 8 + i] =
          inputs[i][std::min<size_t>(lane, inputs[i].size() - 1)];
  kernel.buffer("in", in.size() * 8, in.data());
  kernel.buffer("out", out.size() * 8);
  kernel.config.block = {32, 1, 1};
  RunResult result = kernel.run();
  EXPECT_TRUE(result.ok()) << reports(result);
  std::memcpy(out.data(), kernel.data<uint8_t>("out"), out.size() * 8);
  return out;
}
