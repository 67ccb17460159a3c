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

/// The operations on one channel, each list in program order, and the roles
/// that they are in.
struct ChannelUses {
  ChannelOp channel;
  llvm::SmallSetVector<RoleOp, 2> producers;
  llvm::SmallSetVector<RoleOp, 2> consumers;
  llvm::SmallVector<AcquireOp> acquires;
  llvm::SmallVector<CommitOp> commits;
  llvm::SmallVector<WaitOp> waits;
  llvm::SmallVector<ReleaseOp> releases;
  /// Reads and writes by lanes, after `tile-distribute`.
  llvm::SmallVector<ReadOp> reads;
  llvm::SmallVector<WriteOp> writes;
};

/// For each channel of the kernel, in the order of their definition.
llvm::MapVector<ChannelOp, ChannelUses> collectChannelUses(KernelOp kernel);

/// Whether a value of `channel` that `role` waits for, a part of it, or what a
/// loop or a branch makes of it, is an operand of an op that `isReader`.
bool feeds(RoleOp role, ChannelOp channel,
           llvm::function_ref<bool(mlir::Operation *)> isReader);
template <typename... Ops> bool feeds(RoleOp role, ChannelOp channel) {
  return feeds(role, channel,
               [](mlir::Operation *op) { return mlir::isa<Ops...>(op); });
}

/// Channels whose stages MMAs or TMA stores read.
llvm::DenseSet<mlir::Value> findAsyncReads(KernelOp kernel);

/// Arrivals of a role at a barrier that its commits or releases complete: of
/// its one thread (PTX ISA: tcgen05.commit and mbarrier.arrive.expect_tx arrive
/// once), or of each lane.
int64_t countArrivals(RoleOp role);

/// Channels that share one buffer through `in_place_of`: the one that owns it
/// first, then the others in the order of their definition.
llvm::SmallVector<llvm::SmallVector<ChannelOp>> collectBuffers(KernelOp kernel);

/// The index in `collectBuffers` of the buffer of each channel's value.
llvm::DenseMap<mlir::Value, unsigned> numberBuffers(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_CHANNELUSES_H
