//===- TimedRun.h - how long a launch takes --------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a launch by the clock of a modelled chip (docs/timing.md).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_TIMING_TIMEDRUN_H
#define FA4_SIMULATOR_TIMING_TIMEDRUN_H

#include "fa4/Simulator/Machine/Simulator.h"
#include "fa4/Simulator/Machine/Timer.h"
#include "fa4/Simulator/Timing/CriticalPath.h"
#include "fa4/Simulator/Timing/IssueCost.h"
#include "fa4/Simulator/Timing/Trace.h"
#include "fa4/Target/TimingParameters.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <set>

namespace fa4::sim {

/// Where the time of a warp went, in clocks.
struct WarpTimes {
  // (What each instruction changes comes first.)
  double issue = 0;      ///< Its own instructions.
  double contention = 0; ///< Issue slots that other warps took.
  double scoreboard = 0; ///< Results of variable latency.
  double begin = 0, end = 0;
  uint64_t instructions = 0; ///< PTX instructions.
  /// Machine instructions by pipe, and asynchronous operations by kind: what
  /// the warp is there for.
  std::array<double, numPipes> ops{};
  std::array<uint64_t, AsyncWork::Cancel + 1> work{};
  /// Pipes that were behind, by pipe.
  std::array<double, numPipes> pipes{};
  /// Barriers, groups and other waits, by the PTX line of the instruction.
  std::map<uint32_t, double> waits;
  /// The mbarriers that the warp has waited for, by the same line.
  std::map<uint32_t, std::set<std::string>> barriers;
  uint32_t cta = 0, warp = 0;
  double pipe() const {
    double sum = 0;
    for (double clocks : pipes)
      sum += clocks;
    return sum;
  }
  double waited() const {
    double sum = 0;
    for (const auto &[line, clocks] : waits)
      sum += clocks;
    return sum;
  }
};

/// The share of time for which a unit of an SM was busy: of the whole CTA, and
/// of the half of its time in the middle, when it is in its steady state.
struct UnitShare {
  std::string name;
  double share = 0, steady = 0;
};

struct TimeOptions {
  TimingParameters parameters;
  /// Every CTA is simulated; otherwise as many as it takes to know the time of
  /// all.
  bool everyCta = false;
  /// The first cluster alone is simulated, as if it were the launch.
  bool onlyFirst = false;
  /// Only the first and the last cluster are simulated (with onlyFirst the
  /// first one), each for that many clocks at most, and only what TimeResult
  /// says of a CTA is filled in. 0: no such limit, and the whole launch.
  double mostClocks = 0;
  /// Gets what happens in the first cluster. May be null.
  Trace *trace = nullptr;
};

/// How the time of a CTA answers to a parameter: the shares by which it changes
/// with the least and with the largest value that the parameter may have.
struct Sensitivity {
  std::string parameter;
  double low = 0, high = 0; ///< Values of the parameter.
  double atLow = 0, atHigh = 0;
  char confidence = 'G';
};

struct TimeResult {
  /// Of the launch, from its start to the end of its last CTA.
  double cycles = 0;
  double seconds = 0;
  double clockGHz = 0;
  /// Of products (tcgen05.mma, wgmma) in the whole launch.
  double flops = 0;
  /// Cycles below which the launch cannot be, by unit: "tensor cores".
  std::vector<std::pair<std::string, double>> bounds;
  std::string costSource;
  /// Of the CTA that took the longest of those that were simulated.
  double ctaCycles = 0;
  uint32_t ctaId[3] = {};
  std::vector<UnitShare> units;
  std::vector<WarpTimes> warps;
  CriticalPath path; ///< Of a period of its steady state.
  uint64_t simulatedCtas = 0, ctas = 0;
  unsigned busySms = 0, ctasPerSm = 1;
  std::vector<Sensitivity> sensitivity; ///< Empty if nobody asked.
  double teraflops() const { return seconds > 0 ? flops / seconds / 1e12 : 0; }
};

/// Findings go to `run`.
struct TimedResult {
  TimeResult time;
  RunResult run;
};

/// Runs a launch by the clock. `costs` are those of the program's instructions.
llvm::Expected<TimedResult>
runTimed(const Program &program, GlobalMemory &memory, const IssueCosts &costs,
         const LaunchConfig &config, const RunOptions &run,
         const TimeOptions &options);

/// Runs a launch (`run`, with `onlyFirst`) with each parameter of the chip at
/// the ends of its range, others as in `parameters`. The largest change comes
/// first; what changes nothing is left out.
llvm::Expected<std::vector<Sensitivity>> findSensitivity(
    llvm::StringRef chip, const TimingParameters &parameters,
    llvm::function_ref<llvm::Expected<TimedResult>(const TimingParameters &)>
        run);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_TIMING_TIMEDRUN_H
