//===- ModelledTime.h - a kernel under the clock of the simulator ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the report: a CTA of the kernel runs under the clock of fa4-sim
// (docs/timing.md), and its steady state stands beside the roofline, which is
// counted on the IR.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_COMPILE_MODELLEDTIME_H
#define FA4_COMPILE_MODELLEDTIME_H

#include "fa4/Dialect/Tile/Analysis/ExpSplit.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fa4 {

/// The steady state of a CTA: what happens in the middle half of its time.
struct ModelledTime {
  /// Where the costs of instructions come from.
  std::string costs;
  /// The sizes of the launch, "B = 1, Sk = 4096, Sq = 4096".
  std::string sizes;
  /// Tensors of integers that the kernel reads. They are zeros, and where they
  /// decide on the work there is none.
  std::vector<std::string> zeros;
  uint32_t cta[3] = {};
  double clocks = 0; ///< Of the CTA, or as many of them as were simulated.
  bool isWhole = true;
  /// The name of each unit of the SM, and the share of time for which it is
  /// busy; those that are busy the longest first.
  std::vector<std::pair<std::string, double>> units;

  /// Prints the units as a table. With a roofline, and several iterations in
  /// the steady state, also the cycles of an iteration on each unit, beside
  /// those of the roofline, and whether the two disagree.
  void print(llvm::StringRef kernel, const tile::ExpSplit *roofline,
             llvm::raw_ostream &os) const;
};

/// The names of the sizes along which a kernel's copies move boxes of more than
/// one element: lengths, where others are numbers of heads and of batches.
/// `manifest` is the text of a manifest (docs/simulator-manifest.md).
llvm::Expected<std::set<std::string>> findLengths(llvm::StringRef manifest);

/// Runs CTAs of a kernel under the clock, for a bounded number of clocks and on
/// one thread, so that the result is always the same. Sizes that the manifest
/// leaves open are 4096 for `lengths`, else 1, or so large that all SMs have
/// work. Costs of instructions come from machine code if `ptxas` is the path of
/// one, and an nvdisasm is found, else from the table of PTX forms. The error
/// says in one line why there is no time.
llvm::Expected<ModelledTime> modelTime(llvm::StringRef manifest,
                                       llvm::StringRef ptx,
                                       const std::set<std::string> &lengths,
                                       llvm::StringRef ptxas);

} // namespace fa4

#endif // FA4_COMPILE_MODELLEDTIME_H
