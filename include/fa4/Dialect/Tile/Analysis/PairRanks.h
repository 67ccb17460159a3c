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
// Which MMAs these are follows from the dataflow of a tile program. A value
// *differs* between the two CTAs if it depends on the coordinate of the work
// tile along the axis, or on a branch or number of passes that does. With the
// grid over blocks of queries, scores are such a pair:
//
//   %i = tile.work_tile              differs
//   %q = tile.load %Q[%i * 128]      differs: each CTA loads its own
//   for %j                           the same passes in both
//     %k = tile.load %K[%j * 128]    the same: each CTA loads half of it
//     %s = tile.mma %q, %k           one MMA of 256 rows
//
// In a causal program the number of passes depends on %i, so that one CTA would
// need keys that the other one does not: it has no pairs.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_PAIRRANKS_H
#define FA4_DIALECT_TILE_ANALYSIS_PAIRRANKS_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include <variant>

namespace fa4::tile {

/// What depends on the coordinate of the work tile along one axis.
class RankDependence {
public:
  RankDependence(KernelOp kernel, unsigned axis);

  /// Returns true if the value may differ between neighbours along the axis.
  bool differs(mlir::Value value) const { return differing.contains(value); }
  /// Returns the innermost loop or branch around `op` that neighbours may
  /// execute differently, or null.
  mlir::Operation *getDivergence(mlir::Operation *op) const;

private:
  void add(mlir::Value value) {
    if (differing.insert(value).second)
      worklist.push_back(value);
  }
  void addAll(mlir::Operation *op);
  void follow(mlir::OpOperand &use);

  llvm::DenseSet<mlir::Value> differing;
  llvm::DenseSet<mlir::Operation *> divergent;
  llvm::SmallVector<mlir::Value> worklist;
};

/// How two CTAs of a kernel work together.
struct PairPlan {
  unsigned axis = 0;
  /// The loads of B, each with the dimension of its tile of which each CTA has
  /// half: rows (0) or columns (1).
  llvm::MapVector<LoadOp, int64_t> splits;
  /// The bytes that all MMAs of the program, each once, read from the shared
  /// memory of a CTA, and their cycles: without and with pairs.
  uint64_t sharedBytesAlone = 0, sharedBytesPaired = 0;
  uint64_t cyclesAlone = 0, cyclesPaired = 0;
  /// The bytes of shared memory that a tile of each split load takes less.
  uint64_t bufferBytesSaved = 0;
  /// The bytes of shared memory for a tile of each load, and for two of those
  /// in loops, so that the next one is loaded while MMAs read the last one.
  uint64_t loadBytesAlone = 0, loadBytesPaired = 0;
  /// Whether there is one work tile along the axis, so that the other CTA of
  /// its pair would have none.
  bool isSingle = false;
};

/// The first operation that keeps CTAs from working in pairs.
struct PairObstacle {
  mlir::Operation *op;
  /// A clause on the operation, such as "has 64 rows; ...".
  std::string reason;
};

/// Finds how neighbours along an axis of the grid of a program without roles
/// can work in pairs: along the first axis along which they can. Else what is
/// in the way along the first axis of the grid.
std::variant<PairPlan, PairObstacle> findPairPlan(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_PAIRRANKS_H
