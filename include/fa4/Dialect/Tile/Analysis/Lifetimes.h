//===- Lifetimes.h - whose memory is free when ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Order between uses of different channels, across roles. One run of the roles
// is one work tile; the analysis says nothing about the next tile.
//
// Two things are ordered. Operations of one issuing thread are ordered by
// program order (lanes of one role are not ordered with each other). And the
// last commit to a channel comes before each consumer's last wait for it, if
// commits and waits are proven to be equally many.
//
// So an access `A` of role `r` happens before everything in role `s` that
// follows all waits for channel `x`, if a commit to `x` follows each execution
// of `A`. The same argument leads on through further channels.
//
// When an access has ended (PTX ISA, "tcgen05 memory consistency model" and
// "mbarrier"):
//
// | access | has ended |
// |---|---|
// | operand or accumulator of an MMA | for later MMAs of the same role: at once, they execute in order; for others: at a commit of an MMA's result that the role issues later |
// | by lanes | at the role's last release, and its last use of the waited value |
// | source of a TMA store | at a later release of the channel by that role |
// | written by the producer | with the consumers' wait for it |
//
// Lanes that commit tensor memory to the leader of a cluster arrive relaxed
// (ChannelRanks.h). Such a commit orders accesses to tensor memory only, and
// tells nothing about accesses to shared memory.
//
// The answer false means "not proven" as well as "not so".
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_LIFETIMES_H
#define FA4_DIALECT_TILE_ANALYSIS_LIFETIMES_H

#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

class Lifetimes {
public:
  /// The analysis refers to the kernel's operations: it holds until one of them
  /// is added, moved or erased.
  explicit Lifetimes(KernelOp kernel);

  /// Returns true if every access to the buffer of `a` happens before the
  /// buffer of `b` is first written, for all values of the kernel's arguments.
  /// Channels that share a buffer through `in_place_of` count as one. False if
  /// the buffer of `b` is never written.
  bool deadBefore(ChannelOp a, ChannelOp b);

  /// Returns true if every execution of `before` precedes every execution of
  /// `after` in the program order of their role.
  static bool allBefore(mlir::Operation *before, mlir::Operation *after);

  /// Returns true if `op` may run several times in one run of its role.
  static bool isRepeated(mlir::Operation *op);

  /// Returns true if an execution of `next` follows each execution of `op` in
  /// the program order of their role.
  bool isFollowedBy(mlir::Operation *op, mlir::Operation *next);

private:
  /// The event "the last wait for this channel in this role has returned".
  using Event = std::pair<ChannelOp, RoleOp>;
  using Events = llvm::SetVector<Event>;

  struct Access {
    mlir::Operation *op;
    RoleOp role;
    /// True if the access ends when the commit of an MMA is observed, not when
    /// the MMA is issued.
    bool isMma;
    /// True if the access is to shared memory.
    bool inSharedMemory = false;
  };
  struct Buffer {
    llvm::SmallVector<ChannelOp> channels;
    llvm::SmallVector<Access> accesses;
    /// The accesses that first write a stage, for each value.
    llvm::SmallVector<Access> writes;
    /// True if an access ends in a way that the analysis does not know.
    bool isLostTrackOf = false;
  };

  void collectBuffer(Buffer &buffer);
  void collectAccesses(const ChannelUses &uses, Buffer &buffer);
  void collectUses(WaitOp wait, const ChannelUses &uses, Buffer &buffer);
  void collectWrites(const ChannelUses &uses, Buffer &buffer);
  void addStoreSource(mlir::Operation *store, const ChannelUses &uses,
                      Buffer &buffer);

  /// Returns true if the consumer waits exactly once for each commit and each
  /// initial value.
  bool isBalanced(const ChannelUses &uses, RoleOp consumer);
  /// Adds the events that a commit after `access` makes known to other roles.
  void addEventsAfter(const Access &access, Events &events);
  /// Returns the events that have surely happened when the role of `event` has
  /// returned from all its waits for the channel: the events after all of these
  /// waits. `inSharedMemory` tells whether the first access was to shared or to
  /// tensor memory.
  const Events &getEventsAfterWaits(Event event, bool inSharedMemory);
  /// Returns the events that cannot happen before `access` has ended, directly
  /// or through other roles.
  const Events &getEventsAfter(const Access &access);
  bool happensBefore(const Access &access, const Events &events,
                     const Access &write);

  llvm::MapVector<ChannelOp, ChannelUses> uses;
  llvm::SmallVector<Buffer> buffers;
  llvm::DenseMap<ChannelOp, unsigned> bufferOf;
  /// The commits that publish the result of an MMA, and the channels with
  /// commits that tell nothing about accesses to shared memory.
  llvm::DenseSet<mlir::Operation *> mmaCommits;
  llvm::DenseSet<ChannelOp> relaxed;
  ExecutionCounts counts;
  std::map<std::pair<mlir::Operation *, mlir::Operation *>, bool> balanced;
  /// Results of getEventsAfter. The keys are the operation, whether it is an
  /// MMA, and whether the access is to shared memory.
  std::map<std::tuple<mlir::Operation *, bool, bool>, Events> eventsAfter;
  /// Results of getEventsAfterWaits. The keys are the channel, the role, and
  /// whether the access is to shared memory.
  std::map<std::tuple<mlir::Operation *, mlir::Operation *, bool>, Events>
      eventsAfterWaits;
};

/// Returns true if `commit` publishes the result of an MMA: consumers then know
/// that all MMAs which the role has issued before are complete.
bool isMmaCommit(CommitOp commit);

/// Returns the operations that write the stage which `commit` publishes: the
/// asynchronous operations that make the value (for MMAs all that accumulate
/// into it), or the operation whose result lanes write. The first one lies in
/// the role of the commit.
llvm::SmallVector<mlir::Operation *> getStageWriters(CommitOp commit);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_LIFETIMES_H
