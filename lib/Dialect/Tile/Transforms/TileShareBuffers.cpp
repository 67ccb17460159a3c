//===- TileShareBuffers.cpp - channels that use the same memory ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlaceRings.h"
#include "ShareBuffers.h"
#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "llvm/ADT/STLExtras.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILESHAREBUFFERS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {
struct TileShareBuffers
    : public tile::impl::TileShareBuffersBase<TileShareBuffers> {
  using TileShareBuffersBase::TileShareBuffersBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const TargetDescription &target = kernel.getTarget();
    // The proof comes first: it would no longer see acquires that are dropped
    // below as needless.
    if (failed(checkBuffers(kernel, target)) ||
        (verify && failed(verifyProtocol(kernel))))
      return signalPassFailure();
    shareBuffers(kernel, target);
  }
};
} // namespace

/// Removes acquires and releases of channels whose stages a CTA never fills
/// twice. If a CTA takes several work tiles, their loop (`tile.work`) repeats
/// the commits.
static void dropUnusedEmptySides(KernelOp kernel) {
  for (auto &[channel, uses] : collectChannelUses(kernel)) {
    ChannelOp op = channel;
    bool isRepeated = llvm::any_of(uses.commits, [](CommitOp commit) {
      return Lifetimes::isRepeated(commit);
    });
    if (isRepeated ||
        uses.commits.size() + op.getInitial().value_or(0) > op.getStages())
      continue;
    eraseOwnership(uses);
  }
}

namespace {
/// A buffer and the channel that owns it.
struct OwnedBuffer {
  ChannelOp owner;
  PlacedBuffer buffer;

  bool overlaps(const OwnedBuffer &other) const {
    return buffer.offset < other.buffer.end() &&
           other.buffer.offset < buffer.end();
  }
};
} // namespace

/// Places the buffers of a space so that they need the least memory. Two
/// buffers overlap only if one is dead before the other is written. Sets `need`
/// to the end of the last buffer.
static SmallVector<OwnedBuffer>
placeByLifetimes(KernelOp kernel, MemorySpace space,
                 const TargetDescription &target, Lifetimes &lifetimes,
                 int64_t &need) {
  SmallVector<ChannelOp> owners = getBufferOwners(kernel, space);
  SmallVector<PlacedBuffer> buffers = llvm::map_to_vector(
      owners, [&](ChannelOp owner) { return getBuffer(owner, target); });
  need = placeFirstFit(buffers, [&](unsigned a, unsigned b) {
    return lifetimes.deadBefore(owners[a], owners[b]) ||
           lifetimes.deadBefore(owners[b], owners[a]);
  });
  SmallVector<OwnedBuffer> result;
  for (auto [owner, buffer] : llvm::zip_equal(owners, buffers))
    result.push_back({owner, buffer});
  return result;
}

/// Records for each pair of overlapping buffers which one is used `after` the
/// other.
static void recordOrder(KernelOp kernel, MemorySpace space,
                        const TargetDescription &target, Lifetimes &lifetimes) {
  int64_t need = 0;
  auto buffers = placeByLifetimes(kernel, space, target, lifetimes, need);
  for (OwnedBuffer &later : buffers) {
    SmallVector<Value> earlier;
    for (OwnedBuffer &other : buffers)
      if (later.overlaps(other) &&
          lifetimes.deadBefore(other.owner, later.owner))
        earlier.push_back(other.owner.getChannel());
    later.owner.getAfterMutable().assign(earlier);
  }
}

int64_t fa4::tile::shareBuffersInTurn(KernelOp kernel,
                                      const TargetDescription &target) {
  formInPlaceRings(kernel);
  dropUnusedEmptySides(kernel);
  shareInTurn(kernel);
  int64_t need = 0;
  do {
    Lifetimes lifetimes(kernel);
    placeByLifetimes(kernel, MemorySpace::tmem, target, lifetimes, need);
  } while (need > target.tmemColumns && shareInTurnWaiting(kernel));
  return need;
}

void fa4::tile::shareBuffers(KernelOp kernel, const TargetDescription &target) {
  shareBuffersInTurn(kernel, target);
  Lifetimes lifetimes(kernel);
  recordOrder(kernel, MemorySpace::tmem, target, lifetimes);
  recordOrder(kernel, MemorySpace::smem, target, lifetimes);
  // A channel must be declared before those that name it. If that is not
  // possible, nothing is shared: in roles that never end, all operations may
  // count as being before each other.
  Block *body = &kernel.getBody().front();
  if (sortTopologically(body))
    return;
  for (auto channel : body->getOps<ChannelOp>())
    channel.getAfterMutable().clear();
  sortTopologically(body);
}
