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
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa4::tile {

enum class RingUse { Acquire, Commit, Wait, Release };

/// The number of times that a role has done something with a channel: `base +
/// offset`. Without a base it is a constant, which straight-line code folds.
struct RingPosition {
  mlir::Value base;
  int64_t offset = 0;
};

/// The positions of one role at the place where code is being built. Positions
/// that advance alike in a loop are carried through it as one counter.
class RingPositions {
public:
  using Key = std::pair<mlir::Operation *, RingUse>;

  explicit RingPositions(const KernelLayout &layout) : layout(&layout) {}

  RingPosition get(ChannelOp channel, RingUse use) const;
  void advance(ChannelOp channel, RingUse use);

  /// Builds the count as an i32.
  static mlir::Value materialize(mlir::ImplicitLocOpBuilder &b,
                                 const RingPosition &position);
  /// Builds the stage as an i32; null in a ring with one stage.
  static mlir::Value stage(mlir::ImplicitLocOpBuilder &b,
                           const RingPosition &position, int64_t stages);
  /// Builds the parity of the round, xor `flip`, as an i32.
  static mlir::Value parity(mlir::ImplicitLocOpBuilder &b,
                            const RingPosition &position, int64_t stages,
                            bool flip);

  /// Positions that a loop carries as one counter, with the distance of each
  /// from the counter.
  struct Group {
    llvm::SmallVector<std::pair<Key, int64_t>> members;
    RingPosition entry;
    /// Whether the positions advance by one in each pass, from a number that is
    /// known: the number of the pass tells where they are.
    bool countsPasses = false;
  };
  /// Returns the groups that a loop, whose body is given, must carry.
  llvm::SmallVector<Group> groupsOf(mlir::Region &loop) const;
  /// Makes the group's positions continue from a counter, in the loop or behind
  /// it.
  void enter(const Group &group, mlir::Value counter);
  /// Returns the group's counter at the present place.
  RingPosition current(const Group &group) const;

  /// Returns the positions that the two sides of a branch move differently, or
  /// by an amount that is not known before the branch runs. The others need not
  /// be results of the branch.
  llvm::SmallVector<Key> unevenKeys(mlir::scf::IfOp op) const;

private:
  std::optional<Key> keyOf(mlir::Operation *op) const;
  llvm::SmallVector<Key> keysOf(mlir::Region &region) const;
  /// By how much a position advances: a number, and for each loop whose number
  /// of passes is not known, a number for each pass.
  struct Advance {
    int64_t fixed = 0;
    std::map<mlir::Operation *, int64_t> eachPass;
    bool operator==(const Advance &other) const {
      return fixed == other.fixed && eachPass == other.eachPass;
    }
    bool isZero() const { return fixed == 0 && eachPass.empty(); }
  };
  /// None if branches or loops in loops decide.
  std::optional<Advance> advanceOf(mlir::Region &region, Key key) const;
  std::optional<Advance> advanceOf(mlir::Operation *op, Key key) const;
  std::optional<Advance> advanceOfLoop(mlir::Operation *op, Key key) const;

  const KernelLayout *layout;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, RingPosition>
      positions;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_RINGPOSITIONS_H
