//===- RingOrder.h - the order of turns in tensor memory ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_RINGORDER_H
#define FA4_DIALECT_TILE_ANALYSIS_RINGORDER_H

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <optional>

namespace fa4::tile {

/// The order in which the issuing role works on columns of tensor memory that
/// several values use in turn: an accumulator, values that lanes make from it
/// in its place (parts), and results of other MMAs (guests).
class RingOrder {
public:
  /// Columns of the accumulator.
  struct Columns {
    int64_t begin, end;
    bool overlaps(Columns other) const {
      return begin < other.end && other.begin < end;
    }
  };

  explicit RingOrder(const ChannelUses &accumulator);

  /// Returns all columns of the accumulator. A guest in them may be written
  /// only when all values have been read.
  Columns getAll() const { return all; }
  /// Returns the first MMA of each value of the accumulator, in program order.
  llvm::SmallVector<mlir::Operation *> getWrites();
  /// Returns the first MMA of each value of a channel, or nothing if another
  /// operation writes one.
  static std::optional<llvm::SmallVector<mlir::Operation *>>
  findWrites(const ChannelUses &uses);

  /// Adds a part. A guest in other columns may be written before the part has
  /// been read.
  bool addPart(const ChannelUses &uses, Columns columns);
  /// Adds a channel whose values lanes commit after they have read the
  /// accumulator: a wait of `role` for such a value shows that the accumulator
  /// is free.
  void addWitness(const ChannelUses &uses, RoleOp role);
  /// In front of each of these operations, the role waits until lanes have read
  /// the accumulator.
  void addWaits(llvm::ArrayRef<mlir::Operation *> before);
  /// Adds a guest, which the role acquires in front of each of `acquires`.
  /// Without any, the role never waits until the guest has been read.
  bool addGuest(const ChannelUses &uses, Columns columns,
                llvm::ArrayRef<mlir::Operation *> acquires);
  /// Behind each of these operations, all guests have been read.
  void addDrains(llvm::ArrayRef<mlir::Operation *> behind) {
    drains.insert(behind.begin(), behind.end());
  }

  /// Returns true if the role overwrites no value before it has been read.
  bool holdsIn(RoleOp role);

private:
  /// One bit for each fact. For a part or a witness: the role must still read
  /// it or wait for it. For a guest: other roles may still read it. For a guest
  /// that is acquired: the role must still write it.
  using State = llvm::BitVector;
  using Members = llvm::SmallVector<unsigned, 2>;
  struct Follower {
    unsigned bit;
    Columns columns;
  };
  struct Guest {
    unsigned isRead;
    Columns columns;
    std::optional<unsigned> isAcquired;
  };

  /// Adds a value that is made once for each write of the accumulator.
  unsigned addOnce() {
    once.push_back(numMembers);
    return numMembers++;
  }
  unsigned addFollower(Columns columns) {
    follow.push_back({addOnce(), columns});
    return follow.back().bit;
  }
  bool acquire(const Guest &guest, State &state);
  bool isFree(Columns columns, const State &state) const;
  bool write(mlir::Operation *op, State &state);
  std::optional<State> run(mlir::Block &block, State state);
  std::optional<State> run(mlir::Operation &op, State state);
  std::optional<State> join(std::optional<State> a,
                            const std::optional<State> &b) const;
  bool clear(const Members &members, State &state) const;
  bool hasEvent(mlir::Operation *op);

  const ChannelUses &accumulator;
  Columns all;
  unsigned numMembers = 0;
  /// The bits that must be the same on all paths, and clear at the end.
  Members once;
  llvm::SmallVector<Guest, 2> guests;
  /// The parts and witnesses that each write of the accumulator sets.
  llvm::SmallVector<Follower, 2> follow;
  llvm::SmallPtrSet<mlir::Operation *, 4> writes;
  llvm::DenseMap<mlir::Operation *, Members> guestWrites;
  llvm::DenseMap<mlir::Operation *, Members> acquires;
  llvm::DenseMap<mlir::Operation *, Members> begins, ends;
  llvm::SmallPtrSet<mlir::Operation *, 4> drains;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_RINGORDER_H
