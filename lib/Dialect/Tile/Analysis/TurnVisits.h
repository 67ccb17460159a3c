//===- TurnVisits.h - work tiles at the places of turns ---------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes where a work tile takes turns, and with whom, as integers of a
// proof (TurnOrder.h).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_TURNVISITS_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_TURNVISITS_H

#include "TurnIntegers.h"

namespace fa4::tile {

/// A work tile at a place: the pass of the loop in which the tile comes there.
/// The loop may divide its induction variable i by a divisor d, as it does for
/// heads that take turns. Then i = q d + r with 0 <= r < d. Otherwise q = i.
struct Visit : VisitSymbols {
  IndexForm number; ///< The number that orders the turns.
  IndexForm quotient, rest, induction;
  llvm::SmallVector<IndexForm> place;
  IndexForm first, last;
  IndexForm lower, upper; ///< The bounds of the loop.
};

/// Makes the visits of one tile.await_turn.
class TurnVisits {
public:
  /// Makes the visits of the kernel or, if there is a `pair`, the visits of the
  /// program that tile-pair-ctas will make of the kernel.
  TurnVisits(KernelOp kernel, AwaitTurnOp op, IndexForms &forms,
             TurnIntegers &integers, std::optional<PlannedPair> pair);

  /// Finds the loop around the operation. Returns a sentence on what is not
  /// supported, or an empty one.
  llvm::StringRef findLoop();
  mlir::scf::ForOp getLoop() { return loop; }

  /// Begins a proof: there are no integers of any visit.
  void begin();

  /// Makes a visit of an arbitrary work tile of CTA `rank` of a cluster, in an
  /// arbitrary pass of its loop. Returns nothing if the visit is not
  /// understood.
  std::optional<Visit> make(int64_t rank) {
    return make(makeCoordinates(rank), /*isInLoop=*/true);
  }
  /// Makes a visit of the work tile with these coordinates. If not `isInLoop`,
  /// the pass may lie outside of the loop's bounds.
  std::optional<Visit> make(llvm::SmallVector<IndexForm> coordinates,
                            bool isInLoop, KnownForm rest = std::nullopt);

  /// Returns the coordinate of CTA `rank` of a cluster. Along the cluster's
  /// axis, `number` counts clusters.
  IndexForm coordinateOf(unsigned axis, const IndexForm &number, int64_t rank);

  int64_t getClusterSize() { return cluster ? cluster.getSize() : 1; }

  /// Returns the first operation that was not understood.
  mlir::Operation *getNotUnderstood() { return notUnderstood; }

private:
  llvm::SmallVector<IndexForm> makeCoordinates(int64_t rank);
  void takeTurnOfPair(Visit &visit);
  bool enterLoop(Visit &visit, bool isInLoop, KnownForm rest);
  void addDivisor(const IndexForm &divisor);
  void compareQuotient(Visit &visit, const IndexForm &bound);
  std::optional<IndexForm> divideByDivisor(const IndexForm &form);
  void findSplit();
  void findElementCounts();
  KnownForm get(mlir::Value value, Visit &visit);

  KernelOp kernel;
  AwaitTurnOp op;
  IndexForms &forms;
  TurnIntegers &integers;
  std::optional<PlannedPair> pair;
  /// The clusters that come to the places; null if CTAs come alone.
  ClusterAttr cluster;
  mlir::scf::ForOp loop;
  /// The operation that splits the induction variable, or null.
  mlir::Operation *split = nullptr;
  /// Products of two sizes.
  llvm::SmallVector<IndexForm> elementCounts;
  mlir::Operation *notUnderstood = nullptr;
};

/// Returns the conditions under which two visits come to the same place.
Conditions isSamePlace(const Visit &a, const Visit &b);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_TURNVISITS_H
