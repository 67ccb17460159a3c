//===- ExpSplit.cpp - exponentials to take from the MUFU ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ExpSplit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <utility>

using namespace llvm;

namespace fa4::tile {

static constexpr double PipeWork::*kParts[] = {
    &PipeWork::mufu,          &PipeWork::fma,   &PipeWork::alu,
    &PipeWork::conversions,   &PipeWork::other, &PipeWork::tmemLoadBytes,
    &PipeWork::tmemStoreBytes};

PipeWork &PipeWork::operator+=(const PipeWork &rhs) {
  for (auto part : kParts)
    this->*part += rhs.*part;
  return *this;
}

PipeWork PipeWork::scaled(double factor) const {
  PipeWork result = *this;
  for (auto part : kParts)
    result.*part *= factor;
  return result;
}

double PipeWork::total() const {
  double sum = 0;
  for (auto part : kParts)
    sum += this->*part;
  return sum;
}

PipeWork emulatedPairCost(unsigned degree) {
  PipeWork cost;
  cost.mufu = -2;
  cost.fma = 2.0 * (1 + 2 + degree);
  cost.alu = 2 + 2;
  return cost;
}

unsigned emulatablePairs(const RowWork &work) {
  unsigned fragments = work.columns / kExpFragmentColumns;
  return fragments ? (fragments - 1) * (kExpFragmentColumns / 2) : 0;
}

/// Returns the cycles for which `rows` threads, each with this work, keep each
/// pipe busy. The instructions of a warp go to one partition of the SM, and
/// there are as many partitions as issue slots; with fewer warps some
/// partitions idle.
static ExpBounds resourceBounds(const TargetDescription &target,
                                const PipeWork &work, unsigned rows) {
  double warps = divideCeil(rows, target.warpSize);
  double partitions = target.rates.issueSlots;
  double share = std::min(1.0, warps / partitions);
  double threads = rows / share;
  double fmaInstructions = target.packedF32x2 ? work.fma / 2 : work.fma;
  double instructions =
      work.mufu + fmaInstructions + work.alu + work.conversions + work.other;
  ExpBounds bounds;
  bounds.mufu = threads * work.mufu / target.rates.mufu;
  bounds.fma = threads * work.fma / target.rates.fma;
  bounds.alu = threads * (work.alu + work.conversions) / target.rates.alu;
  bounds.issue =
      threads / target.warpSize * instructions / target.rates.issueSlots;
  if (target.hasTensorMemory())
    bounds.tmem =
        std::max(threads * work.tmemLoadBytes / target.tmemLoadBytesPerClock,
                 threads * work.tmemStoreBytes / target.tmemStoreBytesPerClock);
  return bounds;
}

/// Returns the cycles of one trip around the dependence cycle of one tile,
/// divided by the iterations that the cycle spans. The threads' work takes
/// `stretch` times as long as it would alone.
static double tripCycles(const TargetDescription &target, const RowWork &work,
                         unsigned pairs, double stretch) {
  const Recurrence &cycle = *work.recurrence;
  unsigned fragments = work.columns / kExpFragmentColumns;
  unsigned lead = cycle.leadFragments ? std::min(cycle.leadFragments, fragments)
                                      : fragments;
  // Emulated pairs stand in all fragments but the last one.
  unsigned leadWithPairs = std::min(lead, fragments - 1);
  double leadPairs =
      fragments > 1 ? double(pairs) * leadWithPairs / (fragments - 1) : 0;

  auto cyclesOf = [&](const PipeWork &part) {
    return stretch * resourceBounds(target, part, work.rows).largest();
  };
  auto elementwise = [&](unsigned count, double emulated) {
    PipeWork part = work.elementwise.scaled(double(count) / fragments);
    part += emulatedPairCost(work.degree).scaled(emulated);
    return cyclesOf(part);
  };
  double trip = cycle.latency + elementwise(lead, leadPairs) +
                std::max(cycle.consumerLead,
                         lead == fragments ? 0.0
                                           : elementwise(fragments - lead,
                                                         pairs - leadPairs)) +
                cycle.consumerRest;
  if (cycle.isAhead)
    trip = std::max(trip, cycle.latency + cycle.producer);
  else
    trip += cyclesOf(work.before) + cycle.producer;
  return trip / std::max(1u, cycle.distance);
}

/// Returns the cycles T of an iteration in which tiles compete for the busiest
/// pipe. The other tiles need this pipe for `busy` cycles of each iteration, so
/// a tile has the part 1 - busy / T of the pipe, and its work takes T / (T -
/// busy) times as long. T is the number for which a trip stretched in this way
/// takes T cycles. There is one such T, because a longer iteration stretches
/// the trip less. Example: each of two tiles has work of 900 cycles on the
/// MUFU, and 650 cycles of MMAs and latencies. Alone, a trip takes 1550 cycles.
/// For T = 2140, the work takes 1.73 times as long and the trip 2204 cycles;
/// for T = 2173, 1.71 times and 2186 cycles. The result is T = 2182.
static double contendedCycles(const TargetDescription &target,
                              const RowWork &work, unsigned pairs, double busy,
                              double least) {
  auto trip = [&](double cycles) {
    return tripCycles(target, work, pairs, cycles / (cycles - busy));
  };
  double most = least;
  while (trip(most) > most)
    most *= 2;
  while (most - least > 0.5) {
    double middle = (least + most) / 2;
    (trip(middle) > middle ? least : most) = middle;
  }
  return most;
}

ExpBounds computeExpBounds(const TargetDescription &target, const RowWork &work,
                           unsigned pairs) {
  PipeWork all = work.before;
  all += work.elementwise;
  all += work.beside;
  all += emulatedPairCost(work.degree).scaled(pairs);
  ExpBounds bounds = resourceBounds(target, all, work.rows * work.tiles);
  double pipes = bounds.largest();
  bounds.mma = work.mmaCycles;
  if (work.recurrence)
    bounds.recurrence = tripCycles(target, work, pairs, /*stretch=*/1);
  bounds.contended = bounds.largest();
  if (work.recurrence && work.tiles > 1)
    bounds.contended = contendedCycles(target, work, pairs,
                                       pipes * (work.tiles - 1) / work.tiles,
                                       bounds.contended);
  return bounds;
}

using NamedBound = std::pair<StringLiteral, double ExpBounds::*>;
static constexpr NamedBound kBounds[] = {
    {"MMA", &ExpBounds::mma},
    {"MUFU", &ExpBounds::mufu},
    {"FMA", &ExpBounds::fma},
    {"ALU", &ExpBounds::alu},
    {"issue", &ExpBounds::issue},
    {"tensor memory", &ExpBounds::tmem},
    {"recurrence", &ExpBounds::recurrence},
};

static const NamedBound &largestBound(const ExpBounds &bounds) {
  return *std::max_element(std::begin(kBounds), std::end(kBounds),
                           [&](const NamedBound &a, const NamedBound &b) {
                             return bounds.*a.second < bounds.*b.second;
                           });
}

double ExpBounds::largest() const { return this->*largestBound(*this).second; }

StringRef ExpBounds::limiter() const { return largestBound(*this).first; }

/// Returns the least number of emulated pairs with which an iteration takes
/// about as few cycles as with the best number: longer by the fraction
/// kRatePrecision at most.
static unsigned choosePairs(const TargetDescription &target,
                            const RowWork &work) {
  // The polynomial's instructions are those on pairs of f32 (LaneMathToLLVM).
  if (!target.packedF32x2)
    return 0;
  SmallVector<double> bounds;
  unsigned end =
      std::min(emulatablePairs(work), work.columns / 2 / kExpShareLimit);
  for (unsigned pairs = 0; pairs <= end; ++pairs)
    bounds.push_back(computeExpBounds(target, work, pairs).contended);
  double least = *min_element(bounds);
  const double *first = find_if(bounds, [&](double bound) {
    return bound <= least * (1 + kRatePrecision);
  });
  return first - bounds.begin();
}

Expected<ExpSplit> computeExpSplit(const TargetDescription &target,
                                   const RowWork &work,
                                   std::optional<unsigned> pairs) {
  if (work.columns == 0 || work.columns % kExpFragmentColumns != 0)
    return createStringError(
        formatv("a row of {0} columns is not whole fragments of {1}",
                work.columns, kExpFragmentColumns));
  if (work.rows == 0 || work.tiles == 0)
    return createStringError("no rows to exponentiate");
  unsigned candidates = target.packedF32x2 ? emulatablePairs(work) : 0;
  if (pairs && *pairs != 0 && !target.packedF32x2)
    return createStringError(
        formatv("{0} has no instructions on pairs of f32, of which the "
                "polynomial is made",
                target.chip));
  if (pairs && *pairs > candidates)
    return createStringError(
        formatv("{0} pairs of exponentials cannot be emulated; a row of {1} "
                "columns has {2} pairs outside of its last fragment",
                *pairs, work.columns, candidates));

  ExpSplit split;
  split.chip = target.chip;
  split.tiles = work.tiles;
  split.rows = work.rows;
  split.columns = work.columns;
  split.degree = work.degree;
  unsigned count = pairs ? *pairs : choosePairs(target, work);
  // The emulated pairs are spread evenly, as Bresenham's algorithm spreads the
  // steps of a line: the MUFU operations between two emulated pairs hide the
  // latency of their chains of FMAs.
  for (unsigned i = 0; i < candidates; ++i)
    if ((i + 1) * count / candidates != i * count / candidates)
      split.pairs.push_back(i);
  split.none = computeExpBounds(target, work, 0);
  split.chosen = computeExpBounds(target, work, count);
  return split;
}

bool ExpSplit::isEmulated(unsigned pair) const {
  return std::binary_search(pairs.begin(), pairs.end(), pair);
}

SmallVector<unsigned> ExpSplit::pairsPerFragment() const {
  SmallVector<unsigned> result(columns / kExpFragmentColumns, 0);
  for (unsigned pair : pairs)
    ++result[2 * pair / kExpFragmentColumns];
  return result;
}

void ExpSplit::print(raw_ostream &os) const {
  os << formatv("exp2 on {0}: {1} of {2} a row by a polynomial of degree {3} "
                "({4:F1} %)\n",
                chip, 2 * pairs.size(), columns, degree, 100 * share());
  os << "pairs of each fragment: ";
  interleaveComma(pairsPerFragment(), os);
  os << formatv("\ncycles an iteration of {0} x {1} rows:\n", tiles, rows);
  os << formatv("  {0,-14} {1,8} {2,8}\n", "bound", "none", "chosen");
  for (const NamedBound &bound : kBounds)
    if (none.*bound.second != 0 || chosen.*bound.second != 0)
      os << formatv("  {0,-14} {1,8:F0} {2,8:F0}\n", bound.first,
                    none.*bound.second, chosen.*bound.second);
  os << formatv("  {0,-14} {1,8:F0} {2,8:F0}\n", "largest", none.largest(),
                chosen.largest());
  os << formatv("  {0,-14} {1,8:F0} {2,8:F0}\n", "pipes shared", none.contended,
                chosen.contended);
  os << formatv("bound by: {0}, then {1}\n", none.limiter(), chosen.limiter());
}

} // namespace fa4::tile
