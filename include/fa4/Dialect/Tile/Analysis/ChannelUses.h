//===- ChannelUses.h - who uses a channel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_CHANNELUSES_H
#define FA4_DIALECT_TILE_ANALYSIS_CHANNELUSES_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace fa4::tile {

/// The operations on one channel, each list in program order, and their roles:
/// producers commit, consumers wait and release. Producers also acquire, unless
/// an earlier owner of the buffer does it for them.
struct ChannelUses {
  ChannelOp channel;
  llvm::SmallSetVector<RoleOp, 2> producers;
  llvm::SmallSetVector<RoleOp, 2> consumers;
  llvm::SmallVector<AcquireOp> acquires;
  llvm::SmallVector<CommitOp> commits;
  llvm::SmallVector<WaitOp> waits;
  llvm::SmallVector<ReleaseOp> releases;
  /// Reads and writes by lanes, which exist after `tile-distribute`.
  llvm::SmallVector<ReadOp> reads;
  llvm::SmallVector<WriteOp> writes;
};

/// Returns the uses of each channel of the kernel, in the order in which the
/// channels are defined.
llvm::MapVector<ChannelOp, ChannelUses> collectChannelUses(KernelOp kernel);

/// Erases the acquires and releases, which the channel does not need if another
/// one owns its buffer or if no stage is filled twice. The lists in `uses` keep
/// the erased operations.
void eraseOwnership(const ChannelUses &uses);

/// Returns true if a value of `channel` for which `role` waits is an operand of
/// an op that `isReader`: the value itself, a part of it, or a result of a loop
/// or branch that passes it on.
bool feeds(RoleOp role, ChannelOp channel,
           llvm::function_ref<bool(mlir::Operation *)> isReader);
template <typename... Ops> bool feeds(RoleOp role, ChannelOp channel) {
  return feeds(role, channel,
               [](mlir::Operation *op) { return mlir::isa<Ops...>(op); });
}

/// Returns the channels in whose stages an operand of an operation may lie.
/// These are the channels of the waits from which the operand comes: as the
/// value itself, as a part of it, or through a loop or branch that passes it
/// on.
llvm::SmallVector<ChannelOp> getSourceChannels(mlir::Value operand);

/// Returns true if an operand lies in tensor memory, whichever way it takes
/// through loops and branches.
bool liesInTensorMemory(mlir::Value operand);

/// Returns the load whose tile is committed, or null.
LoadOp getLoad(CommitOp commit);

/// Returns the channels whose stages MMAs or TMA stores read.
llvm::DenseSet<mlir::Value> findAsyncReads(KernelOp kernel);

/// The accesses that an arrival at a barrier follows.
enum class ArrivalCause {
  /// Accesses of the role's threads, each of which arrives.
  Threads,
  /// Operations that the role has started, for all of which one arrival stands
  /// (PTX ISA: tcgen05.commit and mbarrier.arrive.expect_tx arrive once).
  Asynchronous,
  /// MMAs that the role's lanes have started together and awaited: one thread
  /// of each warp arrives, because the wait is one of whole warps (PTX ISA,
  /// wgmma.wait_group.sync.aligned).
  Awaited,
};

/// Returns what the commits of a channel follow: asynchronous operations if one
/// of them makes a committed value.
ArrivalCause getCommitCause(const ChannelUses &uses);
/// Returns what the releases of a channel by a role follow: asynchronous
/// operations if one of them reads stages where they lie, or MMAs that the
/// role's lanes have awaited.
ArrivalCause getReleaseCause(RoleOp role, ChannelOp channel);
/// Returns how often a role arrives at a barrier that its commits or releases
/// complete.
int64_t countArrivals(RoleOp role, ArrivalCause cause);

/// Returns groups of channels that share a buffer through `in_place_of`: first
/// the channel that owns the buffer, then the others in the order of their
/// definition.
llvm::SmallVector<llvm::SmallVector<ChannelOp>> collectBuffers(KernelOp kernel);

/// Returns where the channel begins in the buffer that it shares through
/// `in_place_of`: columns of tensor memory or bytes of shared memory from the
/// buffer's start.
int64_t getPlaceInBuffer(ChannelOp channel);

/// Maps each channel to the index of its buffer in `collectBuffers`.
llvm::DenseMap<mlir::Value, unsigned> numberBuffers(KernelOp kernel);

/// Returns the buffers whose memory another channel takes over: that channel
/// names a channel of the buffer in `after`. `numbers` maps channels to
/// buffers.
llvm::DenseSet<unsigned>
findBuffersUsedAgain(KernelOp kernel,
                     const llvm::DenseMap<mlir::Value, unsigned> &numbers);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_CHANNELUSES_H
