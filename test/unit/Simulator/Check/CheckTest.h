//===- CheckTest.h - kernels with and without their synchronisation ------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_SIMULATOR_CHECK_CHECKTEST_H
#define FA4_TEST_UNIT_SIMULATOR_CHECK_CHECKTEST_H

#include "../Machine/KernelTest.h"
#include "fa4/Simulator/Check/HappensBefore.h"
#include <set>

namespace fa4::sim::test {

/// How a kernel is launched: `out` is its one parameter, 64 KiB of memory.
struct Launch {
  uint32_t threads = 64;
  uint32_t ctas = 1;
  uint32_t cluster = 1;
  bool programmatic = false;
  CheckOptions options;
  std::string message;           ///< Of the first report, after the run.
  std::set<Severity> severities; ///< Of all reports.
};

/// A kernel from its body; %out, %thread, %block and registers %r0..., %rd0...,
/// %p0... are declared, as are 4 KiB of shared memory `data`, two mbarriers
/// `bar` and `bar2`, and a word `slot`.
inline std::string kernelText(const std::string &body) {
  return header() + R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<64>; .reg .b64 %rd<16>; .reg .pred %p<8>;
  .reg .b32 %thread, %block, %group; .reg .b64 %out;
  .shared .align 1024 .b8 data[4096];
  .shared .align 8 .b64 bar;
  .shared .align 8 .b64 bar2;
  .shared .align 4 .b32 slot;
  ld.param.u64 %out, [out];
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  shr.u32 %group, %thread, 5;
)" + body +
         "\n  ret;\n}\n";
}

/// The kinds that five seeds report together.
inline std::set<std::string> kindsOf(const std::string &body, Launch &launch) {
  std::set<std::string> kinds;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Kernel kernel(kernelText(body));
    EXPECT_EQ(kernel.error, "");
    if (!kernel.simulator)
      return {"error"};
    kernel.buffer("out", 65536);
    kernel.config.grid = {launch.ctas, 1, 1};
    kernel.config.block = {launch.threads, 1, 1};
    kernel.config.cluster = {launch.cluster, 1, 1};
    kernel.config.programmatic = launch.programmatic;
    RunOptions options;
    options.seed = seed;
    options.keepGoing = true;
    options.maxInstructions = 2'000'000;
    options.checker = happensBeforeChecker(launch.options);
    auto result = kernel.simulator->run(kernel.config, options);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {"error"};
    }
    for (const Report &report : result->reports) {
      kinds.insert(report.kind);
      launch.severities.insert(report.severity);
      if (launch.message.empty())
        launch.message = reports(*result);
    }
  }
  return kinds;
}

/// Replaces `from`, which must be there, by `to`.
inline std::string edit(std::string text, const std::string &from,
                        const std::string &to = "") {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos)
    text.replace(at, from.size(), to);
  return text;
}

#define EXPECT_CLEAN(body, launch)                                             \
  {                                                                            \
    Launch l = launch;                                                         \
    EXPECT_EQ(kindsOf(body, l), std::set<std::string>{}) << l.message;         \
  }
/// One kind, of which hardware tolerates every finding.
#define EXPECT_STRICT(body, launch, kind)                                      \
  {                                                                            \
    Launch l = launch;                                                         \
    EXPECT_EQ(kindsOf(body, l), std::set<std::string>{kind}) << l.message;     \
    EXPECT_EQ(l.severities, std::set<Severity>{Severity::Strict});             \
  }
#define EXPECT_ERROR(body, launch, kind)                                       \
  {                                                                            \
    Launch l = launch;                                                         \
    EXPECT_EQ(kindsOf(body, l).count(kind), 1u) << "got:\n" << l.message;      \
    EXPECT_EQ(l.severities.count(Severity::Error), 1u);                        \
  }
#define EXPECT_KIND(body, launch, kind)                                        \
  {                                                                            \
    Launch l = launch;                                                         \
    EXPECT_EQ(kindsOf(body, l).count(kind), 1u) << "got:\n" << l.message;      \
  }

} // namespace fa4::sim::test

#endif // FA4_TEST_UNIT_SIMULATOR_CHECK_CHECKTEST_H
