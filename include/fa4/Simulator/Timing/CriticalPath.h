//===- CriticalPath.h - what decides the time of a period ------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CTA takes as long as the longest chain of things of which each waited for
// the one before it: a warp works until it arrives on a barrier, another warp
// has been waiting for that and issues a product, the tensor cores execute the
// product, and so on. In a loop the chain repeats itself. The steps of one
// period say what has to get shorter for the loop to get faster; all else only
// waits.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_TIMING_CRITICALPATH_H
#define FA4_SIMULATOR_TIMING_CRITICALPATH_H

#include "fa4/Simulator/Timing/Trace.h"
#include <cstdint>
#include <vector>

namespace fa4::sim {

/// One link of the chain.
struct CriticalStep {
  enum Kind : uint8_t {
    /// A warp executes, from the end of a wait to an arrival or to the issue of
    /// an operation.
    Warp,
    /// A unit works on operations, from the issue of the first (or from the
    /// beginning of one in front of it in the unit's queue) to the end of the
    /// last.
    Unit,
    /// From an arrival, or the end of an operation, until a waiting warp goes
    /// on.
    HandOff,
  };
  Kind kind = Warp;
  /// The warp or the unit; of a hand-off, the warp that goes on.
  Trace::Track agent;
  /// 0 for the cluster itself; other clusters on the same SM have a number.
  uint32_t cluster = 0;
  double cycles = 0;
  /// PTX lines at which the step begins and ends.
  uint32_t fromLine = 0, toLine = 0;
  unsigned operations = 0; ///< Of a unit.
  /// Where the cycles of a warp go (as in WarpTimes). The rest are latencies of
  /// its own fences, arrivals and the like.
  double issue = 0, contention = 0, pipe = 0, scoreboard = 0;
};

struct CriticalPath {
  /// The chain of one period, in order of time. Empty if the CTA's chain does
  /// not repeat itself.
  std::vector<CriticalStep> steps;
  double period = 0; ///< The sum of the steps' cycles.
  double begin = 0;  ///< The clock at which the first step begins.
  /// Periods with the same steps, in the stretch of the CTA's time that was
  /// searched, their mean, and the share of the stretch that they take.
  unsigned alike = 0;
  double mean = 0, share = 0;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_TIMING_CRITICALPATH_H
