//===- ExpSplit.h - exponentials to take from the MUFU ---------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many of a row's exponentials to compute by a polynomial on the FMA pipe
// (Exp2Polynomial.h) rather than on the MUFU, and which.
//
// The model is a lower bound of the cycles of one iteration of a loop in which
// `tiles` tiles of rows are in flight, every thread works on one row, and MMAs
// run beside. It has the two bounds of software pipelining:
//   - resources: the work of all tiles on each pipe over the pipe's rate;
//   - recurrence: the MMA that makes a tile's next input cannot run before the
//     MMA that consumes its present result has, so one trip around this cycle,
//     during which this tile has the pipes to itself, takes at most one
//     iteration per buffer of the input.
//
// The model leaves out: latencies but those named in Recurrence (of arithmetic,
// TMEM loads and stores, and shuffles), the competition of warps for issue
// slots inside a stage, bank and register-port conflicts, spills, barriers of
// roles that it is not told about, and clocks that drop under load. Nor does it
// use an ex2 of packed 16-bit operands where a chip has one (packedExp2): that
// rounds before every use, not only the conversion's. Real time is longer;
// which share is best holds as far as these delay all choices alike.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_EXPSPLIT_H
#define FA4_TARGET_EXPSPLIT_H

#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

namespace fa4 {

/// Columns of a row that are exponentiated, converted and stored together; a
/// row is whole fragments.
inline constexpr unsigned kExpFragmentColumns = 32;

/// At most one in so many pairs is emulated unless more are asked for. The
/// model has no bound for registers, of which each pair in flight takes about
/// ten more: with 46 of 128 exponentials emulated ptxas 13.0 and 13.5 spill
/// some kernels at 192 registers, with 32 none that were tried.
inline constexpr unsigned kExpShareLimit = 4;

/// The rates in the tables are known to about this precision (measured: 15.93
/// for 16); a share that gains less is not worth its instructions.
inline constexpr double kRatePrecision = 0.01;

/// Work of one thread on one row, in thread-level operations.
struct PipeWork {
  /// ex2, lg2, rcp: the MUFU.
  double mufu = 0;
  /// f32 add, mul and fma, one per element also where two are packed.
  double fma = 0;
  /// max, min, select, compare, shift, logic.
  double alu = 0;
  /// Instructions that convert two f32 each to 16 bits; they use the ALU.
  double conversions = 0;
  /// Instructions that need an issue slot and none of these pipes.
  double other = 0;
  double tmemLoadBytes = 0;
  double tmemStoreBytes = 0;

  PipeWork &operator+=(const PipeWork &rhs);
  /// All of it `factor` times.
  PipeWork scaled(double factor) const;
};

/// The dependence cycle of one tile: exponentials, then the MMA that consumes
/// them, then the MMA that makes the next row, then exponentials.
struct Recurrence {
  /// Fragments that must be finished before the consuming MMA can start; 0: all
  /// of them.
  unsigned leadFragments = 0;
  /// Cycles of the consuming MMA on these, and on the rest of the row.
  double consumerLead = 0;
  double consumerRest = 0;
  /// Cycles of the MMA that makes the next row.
  double producer = 0;
  /// The cycle's latencies: from the producer's end to the threads that wait
  /// for it, and from their arrival to the consumer (mmaShared or mma, and
  /// mbarrierRoundTrip, of Latencies).
  double latency = 0;
  /// Buffers for the producer's result: iterations that the cycle spans.
  unsigned distance = 1;
};

/// One iteration: `tiles` tiles of `rows` rows of `columns` columns each.
struct RowWork {
  unsigned tiles = 2;
  /// One thread each.
  unsigned rows = 128;
  /// A multiple of kExpFragmentColumns.
  unsigned columns = 128;
  /// What precedes the row's first exponential.
  PipeWork before;
  /// What goes along with the exponentials, themselves (mufu = columns)
  /// included: fragment by fragment.
  PipeWork elementwise;
  /// What is not on the dependence cycle: after the result has been handed
  /// over, or in other warps.
  PipeWork beside;
  /// Of all tiles.
  double mmaCycles = 0;
  /// Of the polynomial.
  unsigned degree = 3;
  /// Without it, only resources bound.
  std::optional<Recurrence> recurrence;
};

/// Lower bounds of one iteration, in cycles.
struct ExpBounds {
  double mma = 0;
  double mufu = 0;
  double fma = 0;
  double alu = 0;
  double issue = 0;
  double tmem = 0;
  double recurrence = 0;

  double largest() const;
  /// The name of the largest, the first of equal ones.
  llvm::StringRef limiter() const;
};

struct ExpSplit {
  llvm::StringRef chip;
  unsigned tiles = 0;
  unsigned rows = 0;
  unsigned columns = 0;
  unsigned degree = 0;
  /// The emulated pairs, ascending; pair i is columns 2i and 2i + 1.
  llvm::SmallVector<unsigned> pairs;
  /// With no exponential emulated, and with these.
  ExpBounds none;
  ExpBounds chosen;

  bool isEmulated(unsigned pair) const;
  /// Of all exponentials of a row, 0 to 1.
  double share() const { return columns ? 2.0 * pairs.size() / columns : 0; }
  /// Emulated pairs of each fragment.
  llvm::SmallVector<unsigned> pairsPerFragment() const;
  /// The choice and its roofline as a table.
  void print(llvm::raw_ostream &os) const;
};

/// What emulating one pair of exponentials costs over computing none of the
/// two: two clamps, one packed add that rounds down, two packed subtractions,
/// `degree` packed fused multiply-adds, and two shift-adds into the exponent.
PipeWork emulatedPairCost(unsigned degree);

/// The bounds of `work` with `pairs` emulated pairs in each row.
ExpBounds computeExpBounds(const TargetDescription &target, const RowWork &work,
                           unsigned pairs);

/// Pairs of a row that may be emulated: all but those of the last fragment,
/// whose exponentials leave while the MUFU has nothing else to do and the
/// consumer is at work on the others.
unsigned emulatablePairs(const RowWork &work);

/// The least number of emulated pairs whose largest bound is the least possible
/// up to kRatePrecision, or `pairs` if given; spread evenly over the pairs that
/// may be emulated. 0 where the MMAs bound already, up to that precision.
/// Fails if the columns are not whole fragments, if there are no rows or tiles,
/// or if more pairs are asked for than may be emulated.
llvm::Expected<ExpSplit>
computeExpSplit(const TargetDescription &target, const RowWork &work,
                std::optional<unsigned> pairs = std::nullopt);

} // namespace fa4

#endif // FA4_TARGET_EXPSPLIT_H
