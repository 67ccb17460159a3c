//===- TileAllocate.cpp - memory and barriers of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ChannelRanks.h"
#include "fa4/Dialect/Tile/Analysis/FirstFit.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEALLOCATE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {
struct TileAllocate : public tile::impl::TileAllocateBase<TileAllocate> {
  using TileAllocateBase::TileAllocateBase;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

namespace {
/// The barriers of a channel.
struct ChannelBarriers {
  Barriers full;
  std::optional<Barriers> empty, landed;
};

/// The barriers of all channels, and their number.
struct KernelBarriers {
  llvm::DenseMap<Operation *, ChannelBarriers> ofChannels;
  int64_t count = 0;
};
} // namespace

/// Numbers the barriers of a channel from `next` on, and counts what completes
/// a phase of each. A barrier of the leader counts the arrivals of all CTAs of
/// its cluster. The leader's thread alone expects the bytes of all their loads.
static FailureOr<ChannelBarriers>
findBarriers(KernelOp kernel, const ChannelUses &uses, int64_t &next) {
  FailureOr<ChannelRanks> ranks = findChannelRanks(uses);
  if (failed(ranks))
    return failure();
  ChannelOp channel = uses.channel;
  auto take = [&] {
    return std::exchange(next, next + int64_t(channel.getStages()));
  };
  auto ctas = [&](ArrivalReach reach) {
    return reach == ArrivalReach::Leader ? kernel.getClusterSize() : 1;
  };
  // A role of the leader arrives once; a role that all CTAs run arrives once in
  // each.
  auto count = [](ArrayRef<RoleOp> roles, int64_t ctas, auto causeOf) {
    int64_t sum = 0;
    for (RoleOp role : roles)
      sum += countArrivals(role, causeOf(role)) * (role.getLeader() ? 1 : ctas);
    // The hardware needs a count of at least 1, also for a barrier that no one
    // completes.
    return std::max<int64_t>(sum, 1);
  };
  bool isLoaded = llvm::any_of(uses.commits, [](CommitOp commit) {
    return commit.getValue() && isa_and_nonnull<LoadOp, RequestOp>(
                                    commit.getValue().getDefiningOp());
  });
  ChannelBarriers barriers;
  barriers.full = {take(), count(uses.producers.getArrayRef(),
                                 isLoaded ? 1 : ctas(ranks->full),
                                 [&](RoleOp) { return getCommitCause(uses); })};
  if (isLoaded)
    barriers.full.bytes = getAsyncBytes(channel) * ctas(ranks->full);
  if (!uses.acquires.empty())
    barriers.empty = {take(), count(uses.consumers.getArrayRef(),
                                    ctas(ranks->empty), [&](RoleOp role) {
                                      return getReleaseCause(role, channel);
                                    })};
  // The thread that expects the bytes of the other CTA arrives.
  if (channel.getExchange())
    barriers.landed = {take(), /*arrivals=*/1, getExchangedBytes(channel)};
  return barriers;
}

static FailureOr<KernelBarriers> findBarriers(KernelOp kernel) {
  KernelBarriers barriers;
  for (auto &[each, uses] : collectChannelUses(kernel)) {
    ChannelOp channel = each;
    if (channel.isTurn())
      continue;
    auto found = findBarriers(kernel, uses, barriers.count);
    if (failed(found))
      return failure();
    barriers.ofChannels[channel] = *found;
  }
  return barriers;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// A buffer and the channels that use it in turn; its owner comes first.
struct Piece {
  SmallVector<ChannelOp> channels;
  PlacedBuffer buffer;

  ChannelOp owner() const { return channels.front(); }
};
} // namespace

static StringRef getUnit(MemorySpace space) {
  return space == MemorySpace::smem ? "bytes of shared memory"
                                    : "columns of tensor memory";
}

static LogicalResult reportTooLarge(KernelOp kernel, ArrayRef<Piece> pieces,
                                    MemorySpace space, int64_t need,
                                    int64_t limit) {
  InFlightDiagnostic error = kernel.emitOpError("needs ")
                             << need << " " << getUnit(space) << "; "
                             << kernel.getChip() << " has " << limit;
  if (kernel.isPersistent())
    error << "; with the schedule '"
          << stringifySchedule(kernel.getScheduleOrGrid())
          << "' a CTA keeps results of one work tile while it computes the "
             "next one, with 'grid' or 'lpt' it has one work tile and needs "
             "less";
  SmallVector<const Piece *> byOffset =
      llvm::map_to_vector(pieces, [](const Piece &piece) { return &piece; });
  llvm::sort(byOffset, [](const Piece *a, const Piece *b) {
    return std::pair(a->buffer.offset, a) < std::pair(b->buffer.offset, b);
  });
  for (const Piece *piece : byOffset) {
    ChannelOp owner = piece->owner();
    int64_t stages = owner.getStages();
    Diagnostic &note = error.attachNote(owner.getLoc());
    note << piece->buffer.offset << " to " << piece->buffer.end() << ": '"
         << owner.getLabel() << "', " << stages
         << (stages == 1 ? " stage" : " stages") << " of "
         << piece->buffer.size / stages;
    for (ChannelOp channel : ArrayRef(piece->channels).drop_front())
      note << ", and '" << channel.getLabel() << "' in place of it";
  }
  return error;
}

/// Places the buffers of a space and returns the end of the last one. Two
/// buffers may overlap if one is used `after` the other.
static int64_t place(MutableArrayRef<Piece> pieces) {
  auto isAfter = [&](unsigned a, unsigned b) {
    return llvm::is_contained(pieces[a].owner().getAfter(),
                              pieces[b].owner().getChannel());
  };
  SmallVector<PlacedBuffer> buffers = llvm::map_to_vector(
      pieces, [](const Piece &piece) { return piece.buffer; });
  int64_t need = placeFirstFit(buffers, [&](unsigned a, unsigned b) {
    return isAfter(a, b) || isAfter(b, a);
  });
  for (auto [piece, buffer] : llvm::zip_equal(pieces, buffers))
    piece.buffer = buffer;
  return need;
}

static LogicalResult placeSpace(KernelOp kernel, MemorySpace space,
                                const TargetDescription &target,
                                const KernelBarriers &barriers) {
  bool isShared = space == MemorySpace::smem;
  SmallVector<Piece> pieces;
  for (auto &channels : collectBuffers(kernel))
    if (channels.front().getSpace() == space)
      pieces.push_back({channels, getBuffer(channels.front(), target)});
  int64_t need = place(pieces);
  int64_t limit = isShared ? target.smemBytes : target.tmemColumns;
  if (isShared) {
    need = llvm::alignTo(need, target.mbarrierBytes);
    need += barriers.count * target.mbarrierBytes;
    need += kernel.getTmemColumns().value_or(0) ? kTmemAddressBytes : 0;
  }
  if (need > limit)
    return reportTooLarge(kernel, pieces, space, need, limit);
  for (const Piece &piece : pieces)
    for (ChannelOp channel : piece.channels) {
      auto [full, empty, landed] = barriers.ofChannels.lookup(channel);
      channel.setPlaceAttr(PlaceAttr::get(
          kernel.getContext(), piece.buffer.offset + getPlaceInBuffer(channel),
          full, empty, landed));
    }
  if (isShared) {
    kernel.setSmemBytes(need);
  } else if (need > 0) {
    // PTX ISA, tcgen05.alloc: a power of two, 32 or more.
    kernel.setTmemColumns(std::max<int64_t>(llvm::PowerOf2Ceil(need),
                                            target.tmemAllocationColumns));
  } else {
    kernel.removeTmemColumnsAttr();
  }
  return success();
}

/// Numbers the named barriers of turns, from 1 on: barrier 0 is that of all
/// threads. Both roles of a turn arrive, the one that waits as well (PTX ISA,
/// "barrier": bar.sync and bar.arrive).
static LogicalResult placeTurns(KernelOp kernel,
                                const TargetDescription &target) {
  int64_t next = 1;
  for (auto &[each, uses] : collectChannelUses(kernel)) {
    ChannelOp channel = each;
    if (!channel.isTurn())
      continue;
    if (next == int64_t(target.namedBarriers))
      return channel.emitOpError("is one of more turns than ")
             << target.chip << " has named barriers: " << target.namedBarriers
             << ", with that of all threads";
    int64_t threads = 0;
    for (auto roles :
         {uses.producers.getArrayRef(), uses.consumers.getArrayRef()})
      for (RoleOp role : roles)
        threads += role.getNumThreads();
    channel.setPlaceAttr(PlaceAttr::get(
        kernel.getContext(), /*offset=*/0, Barriers{next++, threads},
        /*empty=*/std::nullopt, /*landed=*/std::nullopt));
  }
  return success();
}

static LogicalResult allocate(KernelOp kernel) {
  const TargetDescription &target = kernel.getTarget();
  if (failed(checkBuffers(kernel, target)))
    return failure();
  FailureOr<KernelBarriers> barriers = findBarriers(kernel);
  if (failed(barriers))
    return failure();
  if (failed(placeTurns(kernel, target)))
    return failure();
  for (MemorySpace space : {MemorySpace::tmem, MemorySpace::smem})
    if (failed(placeSpace(kernel, space, target, *barriers)))
      return failure();
  return success();
}

void TileAllocate::runOnOperation() {
  KernelOp kernel = getOperation();
  if (failed(allocate(kernel)))
    return signalPassFailure();
  if (print) {
    // The map is printed as a diagnostic, because MLIR orders diagnostics by
    // kernel although kernels are processed in parallel.
    std::string map;
    llvm::raw_string_ostream os(map);
    printMemoryMap(kernel, os);
    emitRemark(kernel.getLoc(), "memory map\n") << StringRef(map).rtrim();
  }
  if (verify && failed(verifyProtocol(kernel)))
    signalPassFailure();
}
