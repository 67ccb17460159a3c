//===- ExpSplit.h - exponentials to take from the MUFU ---------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses how many of a row's exponentials to compute by a polynomial on the
// FMA pipe (Exp2Polynomial.h) rather than on the MUFU, and which ones.
//
// The model is a lower bound of the cycles of one iteration of a loop in which
// `tiles` tiles of rows are in flight, every thread works on one row, and MMAs
// run beside. It has the two bounds of software pipelining:
//   - resources: the work of all tiles on each pipe over the pipe's rate;
//   - recurrence: the MMA that makes a tile's next input cannot run before the
//     MMA that consumes its present result has, so one trip around this cycle,
//     during which this tile has the pipes to itself, takes at most one
//     iteration per buffer of the input.
// The share is chosen by an estimate that is no bound. Tiles do not have the
// pipes to themselves: a tile's trip takes longer if the other tiles have more
// to do on its pipes (ExpBounds::contended). On kernels whose trip is longer
// than all work, the clock of fa4-sim finds periods within 10% of the estimate.
//
// The model leaves out:
//   - latencies other than those in Recurrence: of arithmetic, TMEM loads and
//     stores, and shuffles;
//   - the competition of warps for issue slots inside a stage;
//   - bank and register-port conflicts, spills, and clocks that drop under
//     load;
//   - barriers of roles that it is not told about.
// Nor does it use an ex2 of packed 16-bit operands where a chip has one
// (packedExp2), because that rounds before every use, not only before the
// conversion's. Real time is longer. The choice of the share holds as long as
// all choices are delayed alike.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_EXPSPLIT_H
#define FA4_DIALECT_TILE_ANALYSIS_EXPSPLIT_H

#include "fa4/Target/TargetDescription.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

namespace fa4::tile {

/// The number of columns of a row that are exponentiated, converted and stored
/// together. A row consists of whole fragments.
inline constexpr unsigned kExpFragmentColumns = 32;

/// At most one pair in this many is emulated, unless an option asks for more.
/// The model has no bound for registers, and each pair in flight takes about
/// ten. With 42 of 128 exponentials emulated, ptxas 13.0 spills only kernels
/// that it spills with 32, too; with 46 it spills others.
inline constexpr unsigned kExpShareLimit = 3;

/// The relative precision to which the rates in the tables are known (measured:
/// 15.93 for 16). A larger share that gains less than this is not worth its
/// instructions.
inline constexpr double kRatePrecision = 0.01;

/// Work of one thread on one row, in thread-level operations.
struct PipeWork {
  /// Operations on the MUFU: ex2, lg2, rcp.
  double mufu = 0;
  /// f32 additions, multiplications and multiply-adds. A packed instruction
  /// counts once for each of its two elements.
  double fma = 0;
  /// Operations on the ALU: max, min, select, compare, shift, logic.
  double alu = 0;
  /// Instructions that convert two f32 to 16 bits each. They use the ALU.
  double conversions = 0;
  /// Instructions that need an issue slot, but none of the pipes above.
  double other = 0;
  double tmemLoadBytes = 0;
  double tmemStoreBytes = 0;

  PipeWork &operator+=(const PipeWork &rhs);
  /// Returns this work `factor` times.
  PipeWork scaled(double factor) const;
  /// Returns the sum of all numbers, to compare two works roughly.
  double total() const;
};

/// The dependence cycle of one tile: the exponentials, the MMA that consumes
/// them, the MMA that makes the next scores, and the next exponentials.
struct Recurrence {
  /// The number of fragments that must be finished before the consuming MMA can
  /// start; 0 means all of them.
  unsigned leadFragments = 0;
  /// Cycles of the consuming MMA on the lead fragments, and on the rest of the
  /// row.
  double consumerLead = 0;
  double consumerRest = 0;
  /// Cycles of the MMA that makes the next scores.
  double producer = 0;
  /// The latencies on the cycle: from the end of the producing MMA to the
  /// waiting threads, from these threads' arrival to the consuming MMA, and of
  /// tensor memory (mmaShared or mma, mbarrierRoundTrip, tmemLoad and tmemStore
  /// of Latencies).
  double latency = 0;
  /// The number of buffers for the producer's result, which is the number of
  /// iterations that the cycle spans.
  unsigned distance = 1;
  /// True if the producer is issued ahead of the consumer, so that the next
  /// scores do not wait for the consumer. Two buffers then make the cycle: the
  /// buffer of the exponentials, which threads write once the consumer has read
  /// it, and the buffer of the scores.
  bool isAhead = false;
};

/// The work of one iteration on `tiles` tiles, each of `rows` rows and
/// `columns` columns.
struct RowWork {
  unsigned tiles = 2;
  /// Rows of a tile; one thread works on each row.
  unsigned rows = 128;
  /// Columns of a tile, a multiple of kExpFragmentColumns.
  unsigned columns = 128;
  /// The work before the row's first exponential, such as the row max.
  PipeWork before;
  /// The work that is done fragment by fragment: the exponentials (mufu =
  /// columns), and the work on their arguments and results.
  PipeWork elementwise;
  /// The work that is not on the dependence cycle: work after the result has
  /// been handed over, or in other warps.
  PipeWork beside;
  /// Cycles of the MMAs of all tiles.
  double mmaCycles = 0;
  /// The degree of the polynomial.
  unsigned degree = 3;
  /// The dependence cycle. If absent, only the pipes bound the iteration.
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
  /// The cycles of an iteration if the tiles share the pipes. At least the
  /// largest bound.
  double contended = 0;

  double largest() const;
  /// Returns the name of the largest bound, the first of equal ones.
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
  /// The bounds with no exponential emulated, and with `pairs`.
  ExpBounds none;
  ExpBounds chosen;

  bool isEmulated(unsigned pair) const;
  /// Returns the emulated share of all exponentials of a row, 0 to 1.
  double share() const { return columns ? 2.0 * pairs.size() / columns : 0; }
  /// Returns the number of emulated pairs in each fragment.
  llvm::SmallVector<unsigned> pairsPerFragment() const;
  /// Prints the choice and its roofline as a table.
  void print(llvm::raw_ostream &os) const;
};

/// Returns the work of emulating one pair of exponentials: two clamps, one
/// packed add that rounds down, two packed subtractions, `degree` packed fused
/// multiply-adds, and two shift-adds into the exponent.
PipeWork emulatedPairCost(unsigned degree);

/// Returns the bounds of `work` with `pairs` emulated pairs in each row.
ExpBounds computeExpBounds(const TargetDescription &target, const RowWork &work,
                           unsigned pairs);

/// Returns the number of pairs in a row that may be emulated: all but those of
/// the last fragment. The exponentials of the last fragment run while the MUFU
/// has nothing else to do and the consumer works on the other fragments.
unsigned emulatablePairs(const RowWork &work);

/// Chooses the least number of emulated pairs with which an iteration takes
/// about as few cycles (ExpBounds::contended) as with the best number: longer
/// by the fraction kRatePrecision at most. If `pairs` is given, it is taken
/// instead. The pairs are spread evenly over those that may be emulated. The
/// number is 0 if the MMAs alone take the longest, up to the same precision.
/// Fails if the columns are not whole fragments, if there are no rows or tiles,
/// or if `pairs` is more than may be emulated.
llvm::Expected<ExpSplit>
computeExpSplit(const TargetDescription &target, const RowWork &work,
                std::optional<unsigned> pairs = std::nullopt);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_EXPSPLIT_H
