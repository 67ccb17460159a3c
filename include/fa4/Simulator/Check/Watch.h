//===- Watch.h - who writes to a place ------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_CHECK_WATCH_H
#define FA4_SIMULATOR_CHECK_WATCH_H

#include "fa4/Simulator/Machine/Simulator.h"

namespace fa4::sim {

/// Some bytes whose writers are told.
struct WatchPlace {
  MemSpace space = MemSpace::Global; ///< Global, or Shared in every CTA.
  uint64_t address = 0; ///< Of the space; shared: the offset in the window.
  uint32_t bytes = 4;   ///< 1 to 8.
};

/// A write that touches a watched place.
struct WatchEvent {
  unsigned place = 0; ///< Index into the places.
  ReportSite site;    ///< Who issued the write; `what` is empty.
  bool isAsync = false;
  uint64_t value = 0; ///< The place's bytes behind the write.
  uint64_t time = 0;  ///< Simulated nanoseconds of the cluster.
};

/// Calls `tell` for every write to one of the places, when its effect is there:
/// for an asynchronous operation when it is complete. `tell` may be called from
/// several threads at once. All else goes to the checker that `inner` makes
/// (may be empty). For RunOptions::checker.
CheckerFactory watchWrites(std::vector<WatchPlace> places,
                           std::function<void(const WatchEvent &)> tell,
                           CheckerFactory inner);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_CHECK_WATCH_H
