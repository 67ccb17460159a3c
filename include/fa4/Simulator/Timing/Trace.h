//===- Trace.h - what happened when in a timed CTA -------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trace for Perfetto and Chrome's viewer: a track for each warp with its
// waits, a track for each unit with the operations that it works on, and arrows
// from the arrival that completes the phase of an mbarrier to the warps that
// wait for it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_TIMING_TRACE_H
#define FA4_SIMULATOR_TIMING_TRACE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fa4::sim {

class Trace {
public:
  /// Units have tracks behind those of the warps.
  enum Unit : uint32_t {
    TensorCores = 1000,
    BulkLoads,
    BulkStores,
    TensorStores,
    Others
  };
  struct Track {
    uint32_t cta = 0;    ///< Rank in the cluster.
    uint32_t number = 0; ///< A warp, or a unit.
  };
  struct Slice {
    Track track;
    double begin = 0, end = 0; ///< Clocks.
    uint32_t line = 0;         ///< Of the PTX.
    llvm::StringRef opcode;    ///< Lives as long as the program.
  };
  struct Arrow {
    Track from, to;
    double begin = 0, end = 0;
  };

  /// The end of a phase of an mbarrier, by its offset in shared memory.
  struct Phase {
    uint32_t cta = 0;
    uint32_t offset = 0;
    double at = 0;
  };

  /// What comes behind that many slices is left out.
  static constexpr size_t mostSlices = 1'000'000;
  void add(const Slice &slice) {
    if (slices.size() < mostSlices)
      slices.push_back(slice);
  }
  void add(const Arrow &arrow) {
    if (arrows.size() < mostSlices)
      arrows.push_back(arrow);
  }
  void add(const Phase &phase) {
    if (phases.size() < mostSlices)
      phases.push_back(phase);
  }

  /// "warp 3", "tensor cores".
  static std::string nameOf(const Track &track);

  /// Returns the JSON that viewers read. A microsecond of it is a clock.
  std::string json() const;

  std::vector<Slice> slices;
  std::vector<Arrow> arrows;
  std::vector<Phase> phases;
  /// What warps are there for, by CTA and warp: a part of the tracks' names.
  std::map<std::pair<uint32_t, uint32_t>, std::string> roles;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_TIMING_TRACE_H
