//===- RoleCrossings.h - values that cross between roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_ROLECROSSINGS_H
#define FA4_DIALECT_TILE_ANALYSIS_ROLECROSSINGS_H

#include "fa4/Dialect/Tile/Analysis/RolePartition.h"

namespace fa4::tile {

/// A value that one role makes and another one uses.
struct Crossing {
  /// The value as the other role uses it: a result of an operation or of a
  /// loop, or a region argument of a loop.
  mlir::Value value;
  unsigned from;
  unsigned to;
  /// For a value that a loop carries: the loop and the number of the iter_arg.
  mlir::scf::ForOp loop;
  unsigned index = 0;
  /// True for a carried value that is also used inside of the loop. The value
  /// of each iteration crosses then, and the last one is the loop's result.
  bool eachIteration = false;
  /// The channel that carries the value, once there is one.
  ChannelOp channel;

  /// Returns true if the loop runs more than once in a role and its accumulator
  /// begins anew each time. The role that gets the accumulator then owns the
  /// buffer between two runs. It hands the buffer over before it waits for the
  /// accumulator.
  bool beginsAnew() const {
    return eachIteration && mlir::isa_and_nonnull<mlir::scf::ForOp, WorkOp>(
                                mlir::scf::ForOp(loop)->getParentOp());
  }
};

/// All crossings of a partition, in the order in which they are used.
class RoleCrossings {
public:
  /// Finds the crossings. Emits an error on a loop that carries a tile between
  /// roles in a way that no channel can.
  static mlir::FailureOr<RoleCrossings> compute(KernelOp kernel,
                                                const RolePartition &partition);

  auto begin() { return crossings.begin(); }
  auto end() { return crossings.end(); }

  const std::string &nameOf(unsigned role) const {
    return partition->getRoles()[role].name;
  }

  /// Returns the load or MMA that makes the value that crosses (the last one,
  /// if a loop carries it), or null. Such an operation writes a stage by
  /// itself, so its result can have one channel only.
  static mlir::Operation *getAsyncMaker(const Crossing &crossing);
  /// Returns the earlier crossing whose channel this one shares, or null. All
  /// roles that use the result of a load or MMA wait for one channel.
  Crossing *findShared(const Crossing &crossing);
  /// Returns the crossing that brought the accumulator which this crossing
  /// hands back, or null. A role gets a carried accumulator in each iteration,
  /// multiplies it, and returns it to the MMA.
  Crossing *findHandOver(const Crossing &crossing);
  /// Returns the crossing that hands the accumulator of this one back, or null.
  Crossing *findHandOverTo(const Crossing &crossing);

private:
  explicit RoleCrossings(const RolePartition &partition)
      : partition(&partition) {}
  mlir::LogicalResult add(mlir::Block &block);
  void add(mlir::Operation *user, mlir::Value value, unsigned to);
  bool isReadBack(mlir::Operation *op, mlir::Value value) const;
  bool isReadByMmasOnly(const Crossing &crossing) const;
  mlir::LogicalResult checkInits(mlir::scf::ForOp loop) const;
  mlir::LogicalResult checkNewBeginnings();

  const RolePartition *partition;
  llvm::SmallVector<Crossing> crossings;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROLECROSSINGS_H
