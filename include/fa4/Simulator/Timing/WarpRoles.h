//===- WarpRoles.h - what the warps of a CTA are there for -----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warp-specialised kernels give each warp a role. Which one can be told from
// what the warp has executed, whoever has written the kernel:
//
//   MMA         issues products (tcgen05.mma, wgmma)
//   load        issues copies from global memory (bulk copies, cp.async)
//   store       issues bulk copies or reductions to global memory
//   softmax     executes exponentials: more than a few machine instructions
//               in a hundred go to the multifunction unit
//   correction  reads and writes tensor memory, without exponentials
//   epilogue    reads tensor memory, and neither writes it nor has exponentials
//
// A warp may have several; one that has none is "other".
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_TIMING_WARPROLES_H
#define FA4_SIMULATOR_TIMING_WARPROLES_H

#include "fa4/Simulator/Timing/TimedRun.h"

namespace fa4::sim {

/// Warps of a warpgroup that did the same.
struct WarpRole {
  enum Duty : unsigned {
    Mma = 1,
    Load = 2,
    Store = 4,
    Softmax = 8,
    Correction = 16,
    Epilogue = 32,
  };
  unsigned duties = 0; ///< Of Duty.
  std::vector<const WarpTimes *> warps;
  /// The mean of the warps; `begin` to `end` is the time of all of them, and
  /// `instructions` their sum.
  WarpTimes mean;

  /// "warps 4-7", "CTA 1 warp 12".
  std::string name() const;
  /// "MMA", "load + store".
  std::string label() const;
};

/// The warps of the longest CTA of a result, which has to outlive the roles.
std::vector<WarpRole> findRoles(const TimeResult &time);

/// Roles of two kernels that do the same; null where one kernel has nothing
/// like it.
using RolePair = std::pair<const WarpRole *, const WarpRole *>;

/// Pairs the roles of two kernels: first those with the same duties, then those
/// that share most of them. Each role is in one pair; pairs are in the order of
/// `a`, and what only `b` has comes last.
std::vector<RolePair> matchRoles(const std::vector<WarpRole> &a,
                                 const std::vector<WarpRole> &b);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_TIMING_WARPROLES_H
