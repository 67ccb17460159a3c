//===- TimedRunTest.cpp - how long launches take --------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Timing/TimedRun.h"
#include "../Machine/KernelTest.h"
#include "fa4/Target/TargetDescription.h"

using namespace fa4::sim;
using namespace fa4::sim::test;
using P = fa4::TimingParameter;

namespace {

std::string hopper(const std::string &parameters, const std::string &body) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(" +
         parameters +
         ") {\n.reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;"
         " .reg .pred %p<9>; .shared .align 8 .b64 bar[2];\n" +
         body + "\nret;\n}\n";
}

/// A loop of `count`, a register, dependent additions.
std::string chain(const std::string &count, const std::string &label) {
  return label + ":\nadd.f32 %f1, %f1, %f2;\nsub.u32 " + count + ", " + count +
         ", 1;\nsetp.ne.u32 %p1, " + count + ", 0;\n@%p1 bra " + label + ";\n";
}

TimedResult run(
    Kernel &kernel, TimeOptions options,
    llvm::function_ref<void(const Program &, IssueCosts &)> change =
        [](const Program &, IssueCosts &) {}) {
  EXPECT_EQ(kernel.error, "");
  options.parameters = *fa4::timingParameters("sm_90a");
  const Program &program = kernel.simulator->program();
  IssueCosts costs = issueCostsFromForms(program);
  change(program, costs);
  return llvm::cantFail(runTimed(program, kernel.simulator->memory(), costs,
                                 kernel.config, RunOptions(), options));
}

TimedResult run(Kernel &kernel, bool everyCta = false) {
  TimeOptions options;
  options.everyCta = everyCta;
  return run(kernel, options);
}

TEST(TimedRun, TheKernelSeesTheClockOfTheModel) {
  Kernel kernel(hopper(".param .u64 out",
                       "ld.param.u64 %rd1, [out];\nmov.u32 %r1, 100;\n"
                       "mov.u64 %rd2, %clock64;\n" +
                           chain("%r1", "$L") +
                           "mov.u64 %rd3, %clock64;\nsub.u64 %rd3, %rd3, %rd2;"
                           "\nst.global.u64 [%rd1], %rd3;"));
  kernel.buffer("out", 8);
  kernel.config.block = {32, 1, 1};
  TimedResult result = run(kernel);
  EXPECT_TRUE(result.run.ok()) << reports(result.run);
  double seen = *kernel.data<uint64_t>("out");
  EXPECT_GT(seen, 100 * 8);
  EXPECT_LT(seen, 100 * 16);
  EXPECT_GT(result.time.cycles, seen);
  EXPECT_EQ(result.time.simulatedCtas, 1u);
}

// A release to the cluster is a fence of all memory, for which the thread and
// its arrival wait; a relaxed arrival is none.
TEST(TimedRun, AReleaseToTheClusterIsAFence) {
  auto time = [](const std::string &order) {
    Kernel kernel(
        hopper("", "mov.u32 %r1, %tid.x;\nmov.u32 %r3, bar;\n"
                   "setp.ne.u32 %p2, %r1, 0;\n"
                   "@!%p2 mbarrier.init.shared.b64 [%r3], 32;\nbar.sync 0;\n"
                   "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra $OTHER;\n"
                   "$W:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r3], 0;\n"
                   "@!%p4 bra $W;\nret;\n$OTHER:\nmbarrier.arrive" +
                       order + ".shared.b64 _, [%r3];"));
    kernel.config.block = {64, 1, 1};
    TimedResult result = run(kernel);
    EXPECT_TRUE(result.run.ok()) << reports(result.run);
    return std::pair(result.time.warps[0].end, result.time.warps[1].end);
  };
  auto [waiting, arriving] = time(".release.cluster");
  auto [soon, relaxed] = time(".relaxed.cluster");
  double fence = (*fa4::timingParameters("sm_90a"))[P::MembarGpu];
  EXPECT_NEAR(waiting - soon, fence, 0.1 * fence);
  EXPECT_NEAR(arriving - relaxed, fence, 0.1 * fence);
  EXPECT_EQ(time(".release.cta"), std::pair(soon, relaxed));
}

// Warp 0 waits for warp 1, which computes for long: the time of warp 0 goes
// into its wait, at its line.
TEST(TimedRun, WaitsAreNamedByTheirLine) {
  Kernel kernel(hopper(
      "", "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 500;\nmov.u32 %r3, bar;\n"
          "setp.ne.u32 %p2, %r1, 0;\n"
          "@!%p2 mbarrier.init.shared.b64 [%r3], 32;\nbar.sync 0;\n"
          "setp.ge.u32 %p3, %r1, 32;\n@%p3 bra $OTHER;\n"
          "$W:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r3], 0;\n"
          "@!%p4 bra $W;\nret;\n$OTHER:\n" +
              chain("%r2", "$L") + "mbarrier.arrive.shared.b64 _, [%r3];"));
  kernel.config.block = {64, 1, 1};
  TimedResult result = run(kernel);
  ASSERT_TRUE(result.run.ok()) << reports(result.run);
  ASSERT_EQ(result.time.warps.size(), 2u);
  const WarpTimes &waiting = result.time.warps[0], &busy = result.time.warps[1];
  constexpr uint32_t waitLine = 15;
  ASSERT_TRUE(waiting.waits.count(waitLine));
  EXPECT_GT(waiting.waits.at(waitLine), 500 * 8);
  EXPECT_GT(waiting.end, busy.end) << "a hand-off behind the arrival";
  EXPECT_GT(busy.issue, 500 * 8);
  // A wait that sleeps costs no instructions.
  EXPECT_LT(waiting.instructions, 50u);
}

// Lanes that wait for the rest of their warp go on when that arrives, at
// whatever bar.warp.sync, or exits.
TEST(TimedRun, LanesWaitForTheRestOfTheirWarp) {
  for (const char *rest : {"bra $JOIN;", "bar.warp.sync -1;\nret;", "ret;"}) {
    Kernel kernel(hopper("", "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 100;\n"
                             "setp.ne.u32 %p2, %r1, 0;\n@%p2 bra $JOIN;\n" +
                                 chain("%r2", "$L") + rest +
                                 "\n$JOIN:\nbar.warp.sync -1;"));
    kernel.config.block = {64, 1, 1};
    TimedResult result = run(kernel);
    EXPECT_TRUE(result.run.ok()) << rest << reports(result.run);
    ASSERT_EQ(result.time.warps.size(), 2u);
    EXPECT_GT(result.time.warps[0].end, 100 * 8) << rest;
    EXPECT_LT(result.time.warps[1].end, 100) << rest;
  }
}

// The work of a CTA grows with its number; a few tell the time of all.
TEST(TimedRun, SamplesPredictTheWholeLaunch) {
  std::string text =
      hopper("", "mov.u32 %r1, %ctaid.x;\nadd.u32 %r1, %r1, 8;\n" +
                     chain("%r1", "$L"));
  Kernel sampled(text), whole(text);
  for (Kernel *kernel : {&sampled, &whole}) {
    kernel->config.block = {32, 1, 1};
    kernel->config.dynamicSharedBytes = 100 << 10;
    kernel->config.grid = {600, 1, 1};
  }
  TimedResult few = run(sampled), all = run(whole, /*everyCta=*/true);
  EXPECT_LT(few.time.simulatedCtas, 60u);
  EXPECT_EQ(all.time.simulatedCtas, 600u);
  EXPECT_EQ(few.time.busySms, 132u);
  EXPECT_EQ(few.time.ctasPerSm, 2u) << "by shared memory";
  EXPECT_NEAR(few.time.cycles / all.time.cycles, 1, 0.05);
}

// A persistent kernel, a tile for each turn of its loop, and tiles left over
// for the first CTAs. Where all tiles are the same work, the first CTA and the
// beginning of a few others tell the time of all; where some are heavier, in
// the first CTA or in others, as many CTAs are simulated as if nothing was
// known of tiles.
TEST(TimedRun, TilesOfAPersistentKernel) {
  // What costs nothing makes a long launch of a quick test.
  std::string free;
  for (unsigned i = 0; i < 100; ++i)
    free += "mov.u32 %r5, %r6;\n";
  auto time = [&](const std::string &work, unsigned tiles, bool isKnown) {
    Kernel kernel(hopper(
        "", "mov.u32 %r1, %ctaid.x;\n$TILE:\n" + work + "$L:\n" + free +
                "sub.u32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra $L;\n"
                "add.u32 %r1, %r1, 20;\nsetp.lt.u32 %p2, %r1, " +
                std::to_string(tiles) + ";\n@%p2 bra $TILE;"));
    kernel.config.block = {32, 1, 1};
    kernel.config.grid = {20, 1, 1};
    if (isKnown)
      kernel.config.widestGrid = {tiles, 1, 1};
    TimedResult result = run(kernel);
    EXPECT_TRUE(result.run.ok()) << reports(result.run);
    return std::pair(result.time.cycles, result.time.simulatedCtas);
  };
  constexpr unsigned many = 10 * 20 + 7, few = 2 * 20 + 7;
  const std::string even = "mov.u32 %r2, 2000;\n";
  auto unknown = time(even, many, false);
  EXPECT_EQ(unknown.second, 3u);
  EXPECT_EQ(time(even, many, true), std::pair(unknown.first, uint64_t(1)));
  const std::string longer = "mov.u32 %r2, 9000;\n";
  unknown = time(longer, few, false);
  EXPECT_EQ(unknown.second, 3u);
  EXPECT_EQ(time(longer, few, true), std::pair(unknown.first, uint64_t(2)));
  // Without a rest all CTAs do the same.
  EXPECT_EQ(time(longer, 60, true), time(longer, 60, false));
  // The last turn of the first CTA, all turns of CTAs in the middle, the second
  // turn of the last CTA.
  for (const char *heavy : {"setp.eq.u32 %p3, %r1, 200;\n",
                            "rem.u32 %r3, %r1, 20;\nsetp.eq.u32 %p3, %r3, 9;\n",
                            "setp.eq.u32 %p3, %r1, 39;\n"}) {
    std::string work = even + heavy + "@%p3 mov.u32 %r2, 3000;\n";
    EXPECT_EQ(time(work, many, true), time(work, many, false)) << heavy;
  }
  // The manifest's tiles are not what the kernel's turns are.
  std::string twice = even + "add.u32 %r1, %r1, 20;\n";
  EXPECT_EQ(time(twice, many, true), time(twice, many, false));
}

// The first and the last CTA, for some clocks at most: the last one is longer.
TEST(TimedRun, EndsOfALaunch) {
  std::string text =
      hopper("", "mov.u32 %r1, %ctaid.x;\nadd.u32 %r1, %r1, 8;\n" +
                     chain("%r1", "$L"));
  Kernel kernel(text);
  kernel.config.block = {32, 1, 1};
  kernel.config.grid = {600, 1, 1};
  TimeOptions options;
  options.mostClocks = 1e6;
  TimedResult whole = run(kernel, options);
  EXPECT_EQ(whole.time.simulatedCtas, 2u);
  EXPECT_EQ(whole.time.ctaId[0], 599u);
  EXPECT_LT(whole.time.ctaCycles, 1e6);
  options.mostClocks = 2000;
  TimedResult cut = run(kernel, options);
  EXPECT_TRUE(cut.run.ok()) << reports(cut.run);
  EXPECT_EQ(cut.time.ctaId[0], 599u);
  EXPECT_EQ(cut.time.ctaCycles, 2000);
  EXPECT_FALSE(cut.time.units.empty());
}

// The last CTA waits for what nobody does; the first one ends.
TEST(TimedRun, TheFirstOfTheEnds) {
  Kernel kernel(
      hopper("", "mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ret;\n"
                 "mov.u32 %r3, bar;\nmbarrier.init.shared.b64 [%r3], 33;\n"
                 "$W:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r3], 0;\n"
                 "@!%p4 bra $W;"));
  kernel.config.block = {32, 1, 1};
  kernel.config.grid = {600, 1, 1};
  TimeOptions options;
  options.mostClocks = 1e9;
  TimedResult ends = run(kernel, options);
  ASSERT_EQ(ends.run.findings, 1u);
  EXPECT_EQ(ends.run.reports[0].kind, "hang");
  options.onlyFirst = true;
  TimedResult first = run(kernel, options);
  EXPECT_TRUE(first.run.ok()) << reports(first.run);
  EXPECT_EQ(first.time.simulatedCtas, 1u);
}

// A spilled register that is loaded right before its use: each pass of the loop
// waits for L1, less the distance that the assembler has put between the two.
TEST(TimedRun, SpilledRegisters) {
  Kernel kernel(hopper("", "mov.u32 %r1, 100;\n" + chain("%r1", "$L")));
  kernel.config.block = {32, 1, 1};
  auto spill = [&](bool isOther, float distance) {
    auto change = [&](const Program &program, IssueCosts &costs) {
      const Inst *producer = nullptr;
      for (const Inst &inst : program.insts) {
        if (inst.opcode == "add.f32")
          producer = &inst;
        bool isConsumer = isOther ? inst.opcode.starts_with("setp")
                                  : inst.opcode == "add.f32";
        if (!producer || !isConsumer)
          continue;
        IssueCost &cost = costs.of(*producer);
        cost[Pipe::Lsu] = cost.localOps = 1;
        cost.localBytes = 4;
        if (isOther)
          costs.of(inst).waits.push_back({producer->line, distance, true});
        else
          cost.localDistance = distance;
      }
    };
    return run(kernel, {}, change).time.ctaCycles;
  };
  double without = run(kernel).time.ctaCycles;
  double latency = (*fa4::timingParameters("sm_90a"))[P::L1Latency];
  EXPECT_NEAR(spill(false, 8) - without, 100 * (latency - 8), 110);
  EXPECT_NEAR(spill(true, 8) - without, 100 * (latency - 8), 110);
  EXPECT_NEAR(spill(false, 60), without, 110);
  EXPECT_NEAR(spill(true, 60), without, 110);
}

// CTAs of two lengths in turns: no line between samples predicts them.
TEST(TimedRun, SamplesOfPeriodicWorkAreSpread) {
  std::string text = hopper("", "mov.u32 %r1, %ctaid.x;\nand.b32 %r1, %r1, 7;\n"
                                "mad.lo.u32 %r1, %r1, 100, 10;\n" +
                                    chain("%r1", "$L"));
  Kernel sampled(text), whole(text);
  for (Kernel *kernel : {&sampled, &whole}) {
    kernel->config.block = {32, 1, 1};
    kernel->config.dynamicSharedBytes = 100 << 10;
    kernel->config.grid = {1199, 1, 1};
  }
  double few = run(sampled).time.cycles;
  double all = run(whole, /*everyCta=*/true).time.cycles;
  EXPECT_NEAR(few / all, 1, 0.15);
}

TEST(TimedRun, AHangIsAFinding) {
  Kernel kernel(
      hopper("", "mov.u32 %r3, bar;\nmbarrier.init.shared.b64 [%r3], 2;\n"
                 "$W:\nmbarrier.try_wait.parity.shared.b64 %p4, [%r3], 0;\n"
                 "@!%p4 bra $W;"));
  TimedResult result = run(kernel);
  ASSERT_EQ(result.run.findings, 1u);
  EXPECT_EQ(result.run.reports[0].kind, "hang");
}

TEST(TimedRun, LaunchesThatCannotBeMadeAreErrors) {
  Kernel kernel(hopper("", ""));
  kernel.config.block = {2048, 1, 1};
  TimeOptions options;
  options.parameters = *fa4::timingParameters("sm_90a");
  const Program &program = kernel.simulator->program();
  auto result = runTimed(program, kernel.simulator->memory(),
                         issueCostsFromForms(program), kernel.config,
                         RunOptions(), options);
  ASSERT_FALSE(bool(result));
  EXPECT_NE(llvm::toString(result.takeError()).find("1024 threads"),
            std::string::npos);
}

} // namespace
