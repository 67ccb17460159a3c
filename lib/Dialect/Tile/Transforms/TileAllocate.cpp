//===- TileAllocate.cpp - memory and barriers of channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlaceRings.h"
#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/FirstFit.h"
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
/// A piece of memory and the channels that share it.
struct Piece {
  SmallVector<ChannelOp> channels;
  /// Channels that use the same memory at times when the owners do not need it.
  SmallVector<ChannelOp> guests;

  ChannelOp owner() const { return channels.front(); }
};

struct TileAllocate : public tile::impl::TileAllocateBase<TileAllocate> {
  using TileAllocateBase::TileAllocateBase;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

static StringRef getUnit(MemorySpace space) {
  return space == MemorySpace::smem ? "bytes of shared memory"
                                    : "columns of tensor memory";
}

static LogicalResult checkChannel(ChannelOp channel,
                                  const TargetDescription &target) {
  VectorType type = channel.getValueType();
  // The check keeps the products of sizes and stages within 64 bits.
  if (channel.getStages() > target.smemBytes / target.mbarrierBytes)
    return channel.emitOpError("has ")
           << channel.getStages() << " stages, more than barriers fit";
  if (channel.getSpace() != MemorySpace::tmem)
    return success();
  if (!target.hasTensorMemory())
    return channel.emitOpError("lives in tensor memory, which ")
           << StringRef(target.chip) << " does not have";
  if (type.getRank() != 2)
    return channel.emitOpError("in tensor memory must be a matrix, not ")
           << type;
  if (type.getDimSize(0) > target.tmemLanes)
    return channel.emitOpError("has ")
           << type.getDimSize(0) << " rows; tensor memory has "
           << target.tmemLanes << " lanes";
  return success();
}

static PlacedBuffer getBuffer(const Piece &piece,
                              const TargetDescription &target) {
  ChannelOp owner = piece.owner();
  VectorType type = owner.getValueType();
  int64_t stages = owner.getStages();
  if (owner.getSpace() == MemorySpace::smem)
    return {stages * getSmemBytes(type), getSmemAlignment(type)};
  // Instructions only need whole columns. With this alignment, loads and stores
  // of up to 32 columns never touch two channels.
  return {stages * getTmemColumns(type), target.tmemAllocationColumns};
}

/// Returns true if all channels of `a` are dead before any channel of `b`
/// becomes live, or the other way round.
static bool liveApart(const Piece &a, const Piece &b, Lifetimes &lifetimes) {
  auto isDead = [&](const Piece &first, const Piece &second) {
    SmallVector<ChannelOp> earlier = {first.owner()};
    SmallVector<ChannelOp> later = {second.owner()};
    llvm::append_range(earlier, first.guests);
    llvm::append_range(later, second.guests);
    return llvm::all_of(earlier, [&](ChannelOp x) {
      return llvm::all_of(
          later, [&](ChannelOp y) { return lifetimes.deadBefore(x, y); });
    });
  };
  return isDead(a, b) || isDead(b, a);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Sets the offsets of the channels in a piece. Channels in place of the same
/// other channel are the parts of one value and lie side by side if they all
/// fit; otherwise each uses the whole buffer in turn.
static void setOffsets(const Piece &piece, int64_t start) {
  auto getSize = [](ChannelOp channel) {
    return channel.getSpace() == MemorySpace::smem
               ? getSmemBytes(channel.getValueType())
               : getTmemColumns(channel.getValueType());
  };
  for (ChannelOp guest : piece.guests)
    guest.setOffset(start);
  for (ChannelOp owner : piece.channels) {
    if (owner == piece.owner())
      owner.setOffset(start);
    SmallVector<ChannelOp> parts;
    int64_t size = 0;
    for (ChannelOp channel : piece.channels)
      if (channel.getInPlaceOf() == owner.getChannel()) {
        parts.push_back(channel);
        size += getSize(channel);
      }
    // Parts lie side by side only in a channel of one stage: with more stages,
    // the distance between stages would have to be that of the whole buffer.
    bool sideBySide = size <= getSize(owner) && owner.getStages() == 1;
    int64_t offset = *owner.getOffset();
    for (ChannelOp part : parts) {
      part.setOffset(offset);
      if (sideBySide)
        offset += getSize(part);
    }
  }
}

/// Sets the arrivals and bytes that complete a phase of each barrier.
static void setArrivals(KernelOp kernel, const ChannelUses &uses) {
  int64_t ctas = getCtaGroupSize(kernel);
  auto count = [&](ArrayRef<RoleOp> roles) {
    int64_t sum = 0;
    for (RoleOp role : roles)
      sum += countArrivals(role) * (role.issues() ? 1 : ctas);
    return sum;
  };
  ChannelOp channel = uses.channel;
  // The hardware needs a count of at least 1, also for a barrier that no one
  // completes.
  channel.setFullArrivals(
      std::max<int64_t>(count(uses.producers.getArrayRef()), 1));
  channel.removeFullBytesAttr();
  if (llvm::any_of(uses.commits, [](CommitOp commit) {
        return commit.getValue() && commit.getValue().getDefiningOp<LoadOp>();
      }))
    channel.setFullBytes(getLoadBytes(channel.getValueType()) * ctas);
  channel.removeEmptyArrivalsAttr();
  if (channel.getEmpty())
    channel.setEmptyArrivals(
        std::max<int64_t>(count(uses.consumers.getArrayRef()), 1));
}

/// Numbers the barriers and returns their number.
static int64_t setBarriers(KernelOp kernel) {
  int64_t count = 0;
  for (auto &[channel, uses] : collectChannelUses(kernel)) {
    ChannelOp op = channel;
    op.setFull(count);
    count += op.getStages();
    op.removeEmptyAttr();
    if (!uses.acquires.empty()) {
      op.setEmpty(count);
      count += op.getStages();
    }
    setArrivals(kernel, uses);
  }
  return count;
}

/// Removes acquires and releases of channels of which a work tile fills no
/// stage twice. This is right only because a CTA has one work tile: a kernel
/// whose CTAs take several must keep these operations.
static void dropUnusedEmptySides(KernelOp kernel) {
  for (auto &[channel, uses] : collectChannelUses(kernel)) {
    ChannelOp op = channel;
    bool isRepeated = llvm::any_of(uses.commits, [](CommitOp commit) {
      return Lifetimes::isRepeated(commit);
    });
    if (isRepeated ||
        uses.commits.size() + op.getInitial().value_or(0) > op.getStages())
      continue;
    for (AcquireOp acquire : uses.acquires)
      acquire->erase();
    for (ReleaseOp release : uses.releases)
      release->erase();
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static LogicalResult reportTooLarge(KernelOp kernel, ArrayRef<Piece> pieces,
                                    ArrayRef<PlacedBuffer> buffers,
                                    MemorySpace space, int64_t need,
                                    int64_t limit) {
  InFlightDiagnostic error = kernel.emitOpError("needs ")
                             << need << " " << getUnit(space) << "; "
                             << kernel.getChip() << " has " << limit;
  SmallVector<unsigned> byOffset =
      llvm::to_vector(llvm::seq<unsigned>(0, pieces.size()));
  llvm::sort(byOffset, [&](unsigned a, unsigned b) {
    return std::pair(buffers[a].offset, a) < std::pair(buffers[b].offset, b);
  });
  for (unsigned index : byOffset) {
    const Piece &piece = pieces[index];
    ChannelOp owner = piece.owner();
    int64_t stages = owner.getStages();
    Diagnostic &note = error.attachNote(owner.getLoc());
    note << buffers[index].offset << " to " << buffers[index].end() << ": '"
         << owner.getLabel() << "', " << stages
         << (stages == 1 ? " stage" : " stages") << " of "
         << buffers[index].size / stages;
    for (ChannelOp channel : ArrayRef(piece.channels).drop_front())
      note << ", and '" << channel.getLabel() << "' in place of it";
    for (ChannelOp guest : piece.guests)
      note << ", and '" << guest.getLabel() << "' between its uses";
  }
  return error;
}

/// Returns the pieces of memory that the kernel's channels need in `space`.
static SmallVector<Piece> getPieces(KernelOp kernel, MemorySpace space) {
  auto guests = findRingGuests(kernel);
  llvm::DenseSet<ChannelOp> isGuest;
  for (auto &[host, channels] : guests)
    isGuest.insert(channels.begin(), channels.end());
  SmallVector<Piece> pieces;
  for (auto &channels : collectBuffers(kernel))
    if (channels.front().getSpace() == space &&
        !isGuest.contains(channels.front()))
      pieces.push_back({channels, guests.lookup(channels.front())});
  return pieces;
}

static SmallVector<PlacedBuffer> place(ArrayRef<Piece> pieces,
                                       const TargetDescription &target,
                                       Lifetimes &lifetimes, int64_t &need) {
  SmallVector<PlacedBuffer> buffers;
  for (const Piece &piece : pieces)
    buffers.push_back(getBuffer(piece, target));
  need = placeFirstFit(buffers, [&](unsigned a, unsigned b) {
    return liveApart(pieces[a], pieces[b], lifetimes);
  });
  return buffers;
}

/// If the columns of tensor memory do not suffice, shares more buffers, which
/// costs additional waiting.
static void makeRoomInTmem(KernelOp kernel, const TargetDescription &target) {
  Lifetimes lifetimes(kernel);
  int64_t need = 0;
  place(getPieces(kernel, MemorySpace::tmem), target, lifetimes, need);
  if (need > target.tmemColumns)
    acquireGuestsEarly(kernel);
}

static LogicalResult placeSpace(KernelOp kernel, MemorySpace space,
                                const TargetDescription &target,
                                Lifetimes &lifetimes) {
  bool isShared = space == MemorySpace::smem;
  SmallVector<Piece> pieces = getPieces(kernel, space);
  int64_t need = 0;
  SmallVector<PlacedBuffer> buffers = place(pieces, target, lifetimes, need);
  int64_t limit = isShared ? target.smemBytes : target.tmemColumns;
  if (isShared) {
    need = llvm::alignTo(need, kBarrierBytes);
    need += setBarriers(kernel) * kBarrierBytes;
    need += kernel.getTmemColumns().value_or(0) ? kTmemAddressBytes : 0;
  }
  if (need > limit)
    return reportTooLarge(kernel, pieces, buffers, space, need, limit);
  for (auto [piece, buffer] : llvm::zip_equal(pieces, buffers))
    setOffsets(piece, buffer.offset);
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

static LogicalResult allocate(KernelOp kernel) {
  const TargetDescription &target = kernel.getTarget();
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    if (failed(checkChannel(channel, target)))
      return failure();
  formInPlaceRings(kernel);
  dropUnusedEmptySides(kernel);
  makeRoomInTmem(kernel, target);
  Lifetimes lifetimes(kernel);
  if (failed(placeSpace(kernel, MemorySpace::tmem, target, lifetimes)))
    return failure();
  return placeSpace(kernel, MemorySpace::smem, target, lifetimes);
}

void TileAllocate::runOnOperation() {
  KernelOp kernel = getOperation();
  // First as it is given: acquires that turn out to be needless are dropped
  // wherever they stand, and roles that do not fit together may need more room.
  if ((verify && failed(verifyProtocol(kernel))) || failed(allocate(kernel)))
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
