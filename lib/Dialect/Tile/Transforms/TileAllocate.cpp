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
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Target/TargetDescription.h"
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
/// Channels that share memory, as one piece of it.
struct Piece {
  SmallVector<ChannelOp> channels;
  int64_t size;
  int64_t alignment;
  int64_t offset = 0;

  ChannelOp owner() const { return channels.front(); }
  int64_t end() const { return offset + size; }
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
  if (!type.getElementType().isIntOrFloat())
    return channel.emitOpError("elements of ")
           << type << " have no size in memory";
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

static Piece makePiece(ArrayRef<ChannelOp> channels,
                       const TargetDescription &target) {
  Piece piece;
  piece.channels.assign(channels.begin(), channels.end());
  ChannelOp owner = channels.front();
  int64_t stages = owner.getStages();
  if (owner.getSpace() == MemorySpace::smem) {
    piece.alignment = getSmemAlignment(owner.getValueType());
    piece.size = stages * getSmemBytes(owner.getValueType());
  } else {
    // No instruction asks for more than a whole column, but loads and stores of
    // up to 32 columns then never straddle two channels.
    piece.alignment = target.tmemAllocationColumns;
    piece.size = stages * getTmemColumns(owner.getValueType());
  }
  return piece;
}

/// Pieces are elements of one array: their addresses say who comes first.
static bool isBelow(const Piece *a, const Piece *b) {
  return std::pair(a->offset, a) < std::pair(b->offset, b);
}

/// Each piece at the lowest place where all others that are live at the same
/// time are elsewhere, the large ones first. Where no place is left it goes
/// beyond the limit, which the caller reports.
static void placePieces(MutableArrayRef<Piece> pieces, Lifetimes &lifetimes) {
  SmallVector<Piece *> bySize;
  for (Piece &piece : pieces)
    bySize.push_back(&piece);
  llvm::sort(bySize, [](Piece *a, Piece *b) {
    return std::pair(-a->size, a) < std::pair(-b->size, b);
  });
  SmallVector<Piece *> placed;
  for (Piece *piece : bySize) {
    SmallVector<Piece *> others;
    for (Piece *other : placed)
      if (!lifetimes.deadBefore(other->owner(), piece->owner()) &&
          !lifetimes.deadBefore(piece->owner(), other->owner()))
        others.push_back(other);
    llvm::sort(others, isBelow);
    piece->offset = 0;
    for (Piece *other : others)
      if (other->offset < piece->end() && piece->offset < other->end())
        piece->offset = llvm::alignTo(other->end(), piece->alignment);
    placed.push_back(piece);
  }
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Channels in place of one other lie side by side in it, if they all fit: the
/// parts of a value. Otherwise each has all of it in turn.
static void setOffsets(const Piece &piece) {
  auto getSize = [](ChannelOp channel) {
    return channel.getSpace() == MemorySpace::smem
               ? getSmemBytes(channel.getValueType())
               : getTmemColumns(channel.getValueType());
  };
  for (ChannelOp owner : piece.channels) {
    if (owner == piece.owner())
      owner.setOffset(piece.offset);
    SmallVector<ChannelOp> parts;
    int64_t size = 0;
    for (ChannelOp channel : piece.channels)
      if (channel.getInPlaceOf() == owner.getChannel()) {
        parts.push_back(channel);
        size += getSize(channel);
      }
    // Stages follow each other in the same distance for parts, too, only if
    // there is one.
    bool sideBySide = size <= getSize(owner) && owner.getStages() == 1;
    int64_t offset = *owner.getOffset();
    for (ChannelOp part : parts) {
      part.setOffset(offset);
      if (sideBySide)
        offset += getSize(part);
    }
  }
}

/// Numbers the barriers; returns how many there are.
static int64_t setBarriers(KernelOp kernel) {
  int64_t count = 0;
  for (auto &[channel, uses] : collectChannelUses(kernel)) {
    ChannelOp op = channel;
    op.setFull(count);
    count += op.getStages();
    op.removeEmptyAttr();
    if (uses.acquires.empty())
      continue;
    op.setEmpty(count);
    count += op.getStages();
  }
  return count;
}

/// Where a work tile fills no stage twice, nobody waits for a free one. That
/// holds because a CTA has one work tile: a kernel whose CTAs take several must
/// keep these operations.
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
                                    MemorySpace space, int64_t need,
                                    int64_t limit) {
  InFlightDiagnostic error = kernel.emitOpError("needs ")
                             << need << " " << getUnit(space) << "; "
                             << kernel.getChip() << " has " << limit;
  SmallVector<const Piece *> byOffset;
  for (const Piece &piece : pieces)
    byOffset.push_back(&piece);
  llvm::sort(byOffset, isBelow);
  for (const Piece *piece : byOffset) {
    ChannelOp owner = piece->owner();
    int64_t stages = owner.getStages();
    Diagnostic &note = error.attachNote(owner.getLoc());
    note << piece->offset << " to " << piece->end() << ": '" << owner.getLabel()
         << "', " << stages << (stages == 1 ? " stage" : " stages") << " of "
         << piece->size / stages;
    for (ChannelOp channel : ArrayRef(piece->channels).drop_front())
      note << ", and '" << channel.getLabel() << "' in place of it";
  }
  return error;
}

static LogicalResult placeSpace(KernelOp kernel, MemorySpace space,
                                const TargetDescription &target,
                                Lifetimes &lifetimes) {
  bool isShared = space == MemorySpace::smem;
  SmallVector<Piece> pieces;
  for (auto &channels : collectBuffers(kernel))
    if (channels.front().getSpace() == space)
      pieces.push_back(makePiece(channels, target));
  placePieces(pieces, lifetimes);
  int64_t need = 0;
  for (const Piece &piece : pieces)
    need = std::max(need, piece.end());
  int64_t limit = isShared ? target.smemBytes : target.tmemColumns;
  if (isShared) {
    need = llvm::alignTo(need, kBarrierBytes);
    need += setBarriers(kernel) * kBarrierBytes;
    need += kernel.getTmemColumns().value_or(0) ? kTmemAddressBytes : 0;
  }
  if (need > limit)
    return reportTooLarge(kernel, pieces, space, need, limit);
  for (const Piece &piece : pieces)
    setOffsets(piece);
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
  const TargetDescription *target = lookupTarget(kernel.getChip());
  if (!target)
    return kernel.emitOpError("is for '")
           << kernel.getChip() << "', of which there is no description";
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    if (failed(checkChannel(channel, *target)))
      return failure();
  formInPlaceRings(kernel);
  dropUnusedEmptySides(kernel);
  Lifetimes lifetimes(kernel);
  if (failed(placeSpace(kernel, MemorySpace::tmem, *target, lifetimes)))
    return failure();
  return placeSpace(kernel, MemorySpace::smem, *target, lifetimes);
}

void TileAllocate::runOnOperation() {
  KernelOp kernel = getOperation();
  if (failed(allocate(kernel)))
    return signalPassFailure();
  if (print)
    printMemoryMap(kernel, llvm::errs());
}
