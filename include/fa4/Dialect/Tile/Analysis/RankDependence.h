//===- RankDependence.h - what differs between CTAs -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value *differs* between CTAs whose work tiles are neighbours along an axis
// of the grid if it depends on the tile's coordinate along this axis, or on a
// branch or number of passes that does. A bound for all of them (tile.at_most,
// tile.at_least) does not differ. Nor does the number of a cluster, the
// coordinate divided by the cluster's size. A kernel without clusters may get
// pairs, so its clusters are pairs here. A value that comes through a channel,
// or from an operation with regions that is no loop or branch, may be anything,
// so it differs.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_RANKDEPENDENCE_H
#define FA4_DIALECT_TILE_ANALYSIS_RANKDEPENDENCE_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/DenseSet.h"

namespace fa4::tile {

/// The number of CTAs in a pair.
inline constexpr int64_t kPairSize = 2;

/// The values that depend on the coordinate of the work tile along one axis.
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

  int64_t clusterSize;
  llvm::DenseSet<mlir::Value> differing;
  llvm::DenseSet<mlir::Operation *> divergent;
  llvm::SmallVector<mlir::Value> worklist;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_RANKDEPENDENCE_H
