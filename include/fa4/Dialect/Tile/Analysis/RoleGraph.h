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

/// The dependences between the operations of one iteration of a kernel, across
/// roles. The nodes are the operations directly in the body of a loop
/// (`scf.for`) of a role. Iteration i of one loop goes with iteration i of each
/// loop that it exchanges values with.
///
/// A commit and a wait of a channel belong together if they have the same
/// number in the channel's order. Each iteration has n commits and n waits. The
/// m-th commit of iteration i has the number `initial` + commits before the
/// loop + i n + m; waits are numbered alike. So each wait belongs to a commit a
/// fixed number of iterations earlier (its distance).
class RoleGraph {
public:
  explicit RoleGraph(KernelOp kernel);

  /// Returns the commit of the same iteration from which `wait` gets its value,
  /// or nothing if the commit is in an earlier iteration.
  llvm::ArrayRef<CommitOp> commitsOf(WaitOp wait) const;
  /// Returns the waits of all consumers that get the value of `commit` in the
  /// same iteration.
  llvm::ArrayRef<WaitOp> waitsOf(CommitOp commit) const;

  /// Returns the channel of an operation in `loop` whose commits and waits
  /// cannot be numbered, because they are in several loops or run under a
  /// condition; null if there is none.
  ChannelOp irregularChannel(mlir::scf::ForOp loop) const;

  /// Returns, for operations in the body of `loop`, the largest number of round
  /// trips on a path that leads to the operation. A round trip goes through
  /// other roles and comes back in the same iteration. Operations without one
  /// have no entry. In other roles, an operation also depends on the waits and
  /// acquires before it, because the role stops there. Fails if operations of
  /// one iteration depend on each other in a circle.
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
