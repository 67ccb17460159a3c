//===- HappensBefore.h - the happens-before engine -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds races, missing fences and waits from what a run synchronises, not from
// what its schedule happened to do. docs/simulator-memory-model.md says which
// instruction makes which edge.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_CHECK_HAPPENSBEFORE_H
#define FA4_SIMULATOR_CHECK_HAPPENSBEFORE_H

#include "fa4/Simulator/Machine/Simulator.h"

namespace fa4::sim {

struct CheckOptions {
  /// Whether tcgen05.fence::before/after_thread_sync must stand where the
  /// manual asks for them. Auto: only in kernels that contain any of these
  /// fences, because other kernels that work on hardware rely on mbarrier waits
  /// alone.
  enum TensorFences { Auto, Required, Ignored } tensorFences = Auto;
  /// If true, reads of shared or tensor memory that nothing has written are
  /// reported.
  bool uninitialised = true;
};

/// Returns the checker for RunOptions::checker.
CheckerFactory happensBeforeChecker(CheckOptions options = {});

} // namespace fa4::sim

#endif // FA4_SIMULATOR_CHECK_HAPPENSBEFORE_H
