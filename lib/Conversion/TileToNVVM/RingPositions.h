//===- RingPositions.h - where a role is in its channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_RINGPOSITIONS_H
#define FA4_LIB_CONVERSION_TILETONVVM_RINGPOSITIONS_H

#include "KernelLayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fa4::tile {

enum class RingUse { Acquire, Commit, Wait, Release };

/// How often a role has done something with a channel: `base + offset`. Without
/// a base it is a constant, which straight-line code folds.
struct RingPosition {
  mlir::Value base;
  int64_t offset = 0;
};

/// The positions of one role at the place where code is being made. Those that
/// advance alike in a loop are carried through it as one counter.
class RingPositions {
public:
  using Key = std::pair<mlir::Operation *, RingUse>;

  explicit RingPositions(const KernelLayout &layout) : layout(&layout) {}

  RingPosition get(ChannelOp channel, RingUse use) const;
  void advance(ChannelOp channel, RingUse use);

  /// The count as an i32.
  static mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                                 const RingPosition &position);
  /// The stage as an i32; null in a ring of one.
  static mlir::Value stage(mlir::OpBuilder &builder, mlir::Location loc,
                           const RingPosition &position, int64_t stages);
  /// The parity of the round, xor `flip`, as an i32.
  static mlir::Value parity(mlir::OpBuilder &builder, mlir::Location loc,
                            const RingPosition &position, int64_t stages,
                            bool flip);

  /// Positions that a loop carries as one counter, and how far each is from it.
  struct Group {
    llvm::SmallVector<std::pair<Key, int64_t>> members;
    RingPosition entry;
  };
  /// What a loop must carry.
  llvm::SmallVector<Group> groupsOf(mlir::scf::ForOp loop) const;
  /// Continue from a counter, in the loop or behind it.
  void enter(const Group &group, mlir::Value counter);
  /// The group's counter where the code is now.
  RingPosition current(const Group &group) const;

  /// Positions that a branch moves by an amount that is known before it runs,
  /// if the other branch moves them likewise; and all others.
  llvm::SmallVector<Key> unevenKeys(mlir::scf::IfOp op) const;

private:
  std::optional<Key> keyOf(mlir::Operation *op) const;
  llvm::SmallVector<Key> keysOf(mlir::Region &region) const;
  std::optional<int64_t> advanceOf(mlir::Region &region, Key key) const;
  std::optional<int64_t> advanceOf(mlir::Operation *op, Key key) const;

  const KernelLayout *layout;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, RingPosition>
      positions;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_RINGPOSITIONS_H
