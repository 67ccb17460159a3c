//===- PairRanks.h - what two CTAs can do together -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two CTAs whose work tiles are neighbours along an axis of the grid can issue
// an MMA together (PTX ISA, tcgen05.mma, .cta_group::2): each has its own A
// and its own result, and half of B. Each CTA then reads half as much of B from
// its shared memory, and keeps half of it there.
//
// Which MMAs a pair can issue together follows from the values that differ
// between its two CTAs (RankDependence.h). With the grid over blocks of
// queries, the MMA of the scores is one:
//
//   %i = tile.work_tile              differs
//   %q = tile.load %Q[%i * 128]      differs: each CTA loads its own
//   for %j                           the same passes in both
//     %k = tile.load %K[%j * 128]    the same: each CTA loads half of it
//     %s = tile.mma %q, %k           one MMA of 256 rows
//
// In a causal program the number of passes depends on %i, so one CTA would need
// keys that the other one does not. Such a program has pairs if it says that
// more passes do no harm (tile.at_most, tile.at_least): then both CTAs make all
// passes that one of them needs.
//
// An MMA whose B differs may sum over the axis: its B is the block of the work
// tile, and memory sums the results of all work tiles. The pair then sums over
// its two blocks itself, and each CTA has half of the rows of the result. With
// the grid over blocks of keys, the gradient of the queries is such a sum:
//
//   %n = tile.work_tile              differs
//   %k = tile.load %K[%n * 128]      differs
//   for %j                           the same passes in both
//     %ds = ...                      differs: keys of the work tile x queries
//     %dq = tile.mma transpose %ds, %k
//     tile.reduce_add %dq, %DQ[%j * 128]   the same place
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_PAIRRANKS_H
#define FA4_DIALECT_TILE_ANALYSIS_PAIRRANKS_H

#include "fa4/Dialect/Tile/Analysis/RankDependence.h"
#include "llvm/ADT/MapVector.h"
#include <variant>

namespace fa4::tile {

/// A load that a pair splits: each CTA loads half of the rows (0) or of the
/// columns (1) of its tile.
using SplitLoad = std::pair<LoadOp, int64_t>;

/// An MMA that sums over the axis of a pair.
struct PairSum {
  MmaOp mma;
  /// The load of the MMA's B, and the position of the index at which that load
  /// takes the block of the work tile.
  LoadOp b;
  unsigned bIndex = 0;
  /// The load of the MMA's A, or null if A is computed, and the position of the
  /// same index in that load.
  LoadOp a;
  unsigned aIndex = 0;
  /// True if A has to be set to zero in a CTA without a work tile, which exists
  /// if the number of work tiles is odd. B is zero there, but lanes compute A
  /// from zeros, and the result need not be finite.
  bool mayLackTile = false;
  /// The operations that add the result to memory.
  llvm::SmallVector<ReduceAddOp, 1> adds;
};

/// Turns that pairs take in place of CTAs. The CTAs of a pair add different
/// rows in one turn, so they need no order. Each counts the turn at a place of
/// its own: that of the first row that it adds, as if a place were a row.
struct PairTurn {
  AwaitTurnOp op;
  /// The number of rows that each CTA adds in a turn, which is also the
  /// distance between the places of the two CTAs.
  int64_t rows;
};

/// The resources that a work tile takes. Each MMA and reduction of the program
/// counts once.
struct PairFigures {
  /// The bytes that MMAs read from the shared memory of a CTA, and their
  /// cycles.
  uint64_t mmaBytes = 0, cycles = 0;
  /// The bytes that reductions write to shared memory and read from there.
  uint64_t reduceBytes = 0;
  /// The bytes that lanes write for the MMAs that sum over the axis, and the
  /// bytes that the CTAs of a pair send each other.
  uint64_t exchangeBytes = 0;
  /// The bytes of shared memory for one tile of each load.
  uint64_t bufferBytes = 0;
  /// The bytes of shared memory with room to load ahead: two tiles of each load
  /// in a loop, so that the next tile is loaded while MMAs read the last one.
  /// Three if MMAs read the tile both before and after lanes compute.
  uint64_t loadBytes = 0;
  /// Like `loadBytes`, but a tile that may arrive in parts (tile-schedule)
  /// takes room for itself and one more part.
  uint64_t loadBytesInParts = 0;
  /// The bytes that the loads in loops write to shared memory.
  uint64_t loadedBytes = 0;
  /// The columns of tensor memory that results of MMAs take in a CTA. A thread
  /// that reads all of them has as many registers for them.
  uint64_t resultColumns = 0;

  uint64_t sharedBytes() const {
    return mmaBytes + reduceBytes + exchangeBytes;
  }
};

/// How two CTAs of a kernel work together.
struct PairPlan {
  unsigned axis = 0;
  /// The loads of B, each with the operands that read this half of its tile. A
  /// load whose tile is the B of MMAs both by rows and by columns has two
  /// entries.
  llvm::MapVector<SplitLoad, llvm::SmallVector<mlir::OpOperand *>> splits;
  llvm::SmallVector<PairSum, 1> sums;
  /// The turns in which sums over the axis are added.
  llvm::SmallVector<PairTurn, 1> turns;
  PairFigures alone, paired;
  /// True if there is one work tile along the axis: the other CTA of its pair
  /// would have none.
  bool isSingle = false;
};

/// The first operation that keeps CTAs from working in pairs.
struct PairObstacle {
  mlir::Operation *op;
  /// A clause on the operation, such as "has 64 rows; ...".
  std::string reason;
};

/// Finds how neighbours along an axis of the grid can work in pairs, in a
/// program without roles. Returns a plan for the first axis that has one. If
/// none has, returns the obstacle along the first axis of the grid.
std::variant<PairPlan, PairObstacle> findPairPlan(KernelOp kernel);

/// Counts the resources of the program without and with the pairs of the plan.
void countPairFigures(KernelOp kernel, PairPlan &plan);

/// Prints these figures as a table. The kernel shows the decision: it has a
/// cluster or not.
void printPairFigures(KernelOp kernel, const PairPlan &plan,
                      llvm::raw_ostream &os);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_PAIRRANKS_H
