//===- RoleGraph.h - dataflow between the loops of roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_ROLEGRAPH_H
#define FA4_DIALECT_TILE_ANALYSIS_ROLEGRAPH_H

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa4::tile {

/// What depends on what in one iteration of a kernel, across roles. The nodes
/// are the operations directly in the body of a loop (`scf.for`) of a role.
/// Iteration i of one loop goes with iteration i of each loop that it
/// exchanges values with.
///
/// A commit and a wait of a channel belong together when they have the same
/// number in the channel's order. With n of each an iteration, the m-th commit
/// of iteration i has number `initial` + commits before the loop + i n + m,
/// and waits are counted alike; so each wait has its commit, some iterations
/// earlier (its distance), the same for all iterations.
class RoleGraph {
public:
  explicit RoleGraph(KernelOp kernel);

  /// Returns the commit of the same iteration from which `wait` gets its value:
  /// one or none.
  llvm::ArrayRef<CommitOp> commitsOf(WaitOp wait) const;
  /// Returns the waits of all consumers that get the value of `commit` in the
  /// same iteration.
  llvm::ArrayRef<WaitOp> waitsOf(CommitOp commit) const;

  /// Returns the channel of an operation in `loop` whose commits and waits
  /// cannot be numbered, because they are in several loops or run under a
  /// condition; null if there is none.
  ChannelOp irregularChannel(mlir::scf::ForOp loop) const;

  /// For each operation of the body of `loop` that the result of a round trip
  /// through other roles reaches in the same iteration, the greatest number of
  /// such trips on one path. In other roles an operation also depends on the
  /// waits and acquires before it, as the role stops there. Null-op keys do
  /// not occur; an operation without a round trip has no entry. Fails when the
  /// operations of one iteration depend on each other in a circle.
  llvm::FailureOr<llvm::DenseMap<mlir::Operation *, unsigned>>
  roundTrips(mlir::scf::ForOp loop) const;

  /// Returns the operations in the body of the loop around `op` that compute
  /// its operands and the values that its regions use.
  static llvm::SmallVector<mlir::Operation *> operandOps(mlir::Operation *op);

  /// Returns the direct predecessors of `op` in the same iteration; with
  /// `order`, also the waits and acquires before it in its role.
  llvm::SmallVector<mlir::Operation *> predecessors(mlir::Operation *op,
                                                    bool order) const;

private:
  void connect(const ChannelUses &uses);

  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<CommitOp, 1>> commits;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<WaitOp, 1>> waits;
  llvm::SetVector<ChannelOp> irregular;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROLEGRAPH_H
