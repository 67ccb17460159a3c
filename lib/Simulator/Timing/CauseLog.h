//===- CauseLog.h - which moment waited for which --------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A moment is a point of time that something else may have waited for. Each
// names its cause: the one moment without which it would have been earlier.
//
//   Woke       a wait of a warp ends           <- Signalled, Ended
//   Signalled  a warp arrives at a barrier     <- its last Woke
//   Issued     a warp issues an operation      <- its last Woke
//   Began      a unit begins an operation      <- Issued, or the unit's last
//                                                 Began if it was busy
//   Ended      the operation is over           <- Began
//
// From the last moment of a CTA, causes lead back to its beginning along the
// chain that decided its time.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TIMING_CAUSELOG_H
#define FA4_LIB_SIMULATOR_TIMING_CAUSELOG_H

#include "fa4/Simulator/Timing/CriticalPath.h"

namespace fa4::sim {

/// The clocks of a warp since its last wait, by what they went to.
struct WorkParts {
  float issue = 0, contention = 0, pipe = 0, scoreboard = 0;
};

struct Moment {
  enum Kind : uint8_t { Woke, Signalled, Issued, Began, Ended };
  Moment(double at = 0, uint64_t cause = 0, uint32_t line = 0, Kind kind = Woke)
      : at(at), cause(cause), line(line), kind(kind) {}

  double at;
  uint64_t cause; ///< The number of a moment; 0 if there is none.
  uint32_t line;  ///< Of the PTX.
  Kind kind;
  /// A unit has something to do for the operation.
  bool isOperation = false;
  uint16_t cluster = 0;         ///< Of those on the same SMs.
  uint16_t cta = 0, number = 0; ///< As those of Trace::Track.
  WorkParts parts;              ///< Of Signalled and Issued.

  Trace::Track agent() const { return {cta, number}; }
};

/// The moments of the clusters that share SMs. Old ones are forgotten.
class CauseLog {
public:
  /// `capacity` moments are kept.
  explicit CauseLog(size_t capacity) : capacity(capacity) {}

  /// Returns the number of the moment.
  uint64_t add(const Moment &moment) {
    if (ring.size() < capacity)
      ring.push_back(moment);
    else
      ring[count % capacity] = moment;
    return ++count;
  }
  /// Null for number 0 and for moments that are forgotten.
  const Moment *find(uint64_t number) const {
    if (number == 0 || number + capacity <= count)
      return nullptr;
    return &ring[(number - 1) % capacity];
  }

  /// Finds the period of the chain that leads to a moment, in the middle of the
  /// time from `start` to `end`.
  CriticalPath findPath(uint64_t last, double start, double end) const;

private:
  size_t capacity;
  uint64_t count = 0;
  std::vector<Moment> ring;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TIMING_CAUSELOG_H
