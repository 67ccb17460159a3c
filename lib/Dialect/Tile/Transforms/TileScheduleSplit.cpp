//===- TileScheduleSplit.cpp - values that arrive in two parts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSchedule.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
/// The number of columns that lanes convert and write at a time (a 32x32b.x32
/// access to tensor memory). A part ends at a multiple of it.
constexpr int64_t kGranule = 32;
/// A value with fewer columns than this is not split.
constexpr int64_t kLeastColumns = 64;

/// The part of a tile in the columns (or rows) [offset, offset + size).
struct Part {
  int64_t offset, size;
};
} // namespace

/// Cuts the columns into three quarters and the rest. The last part is short,
/// so that little work is left when the MMA of the first part has been issued.
static SmallVector<Part> partsOf(int64_t columns) {
  int64_t first = columns * 3 / 4 / kGranule * kGranule;
  return {{0, first}, {first, columns - first}};
}

/// Returns true if the channel's values come from a compute role and are only
/// used as the A operand of MMAs, with the columns as the K dimension. Of the
/// first columns of a folded value, half of the threads have none.
static bool canSplit(const ChannelUses &uses) {
  ChannelOp channel = uses.channel;
  VectorType type = channel.getTileType();
  if (!type || type.getRank() != 2 || type.getDimSize(1) < kLeastColumns ||
      type.getDimSize(1) % kGranule != 0 || channel.getInPlaceOf() ||
      channel.getInitial() || uses.commits.empty() || uses.waits.empty() ||
      isFolded(cast<KernelOp>(channel->getParentOp()), type))
    return false;
  for (Operation *user : channel->getUsers())
    if (!isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(user))
      return false;
  for (CommitOp commit : uses.commits)
    if (commit->getParentOfType<RoleOp>().issues() || !commit.getValue())
      return false;
  for (WaitOp wait : uses.waits) {
    if (!wait.getValue())
      return false;
    for (OpOperand &use : wait.getValue().getUses()) {
      auto mma = dyn_cast<MmaOp>(use.getOwner());
      if (!mma || mma.getTransposeA() || use.getOperandNumber() != 0 ||
          mma->getBlock() != wait->getBlock())
        return false;
    }
  }
  return true;
}

static Value extract(OpBuilder &builder, Location loc, Value tile, Part part,
                     bool columns) {
  auto type = cast<VectorType>(tile.getType());
  SmallVector<int64_t> offsets = {0, 0}, sizes(type.getShape());
  offsets[columns] = part.offset;
  sizes[columns] = part.size;
  return vector::ExtractStridedSliceOp::create(builder, loc, tile, offsets,
                                               sizes, ArrayRef<int64_t>{1, 1});
}

static void splitMma(MmaOp mma, ValueRange tiles, ArrayRef<Part> parts) {
  OpBuilder builder(mma);
  Value acc = mma.getAcc(), condition = mma.getAccumulate();
  for (auto [tile, part] : llvm::zip(tiles, parts)) {
    Value b =
        extract(builder, mma.getLoc(), mma.getB(), part, mma.getTransposeB());
    acc = MmaOp::create(builder, mma.getLoc(), mma.getType(), tile, b, acc,
                        condition, /*transpose_a=*/false, mma.getTransposeB());
    condition = nullptr;
  }
  mma.replaceAllUsesWith(acc);
  mma.erase();
}

static void splitChannel(const ChannelUses &uses) {
  ChannelOp channel = uses.channel;
  VectorType type = channel.getTileType();
  SmallVector<Part> parts = partsOf(type.getDimSize(1));
  OpBuilder builder(channel);
  SmallVector<ChannelOp> channels;
  for (auto [i, part] : llvm::enumerate(parts)) {
    auto copy = cast<ChannelOp>(builder.clone(*channel));
    copy.setLabel((channel.getLabel() + "." + Twine(i)).str());
    copy.getChannel().setType(ChannelType::get(
        type.getContext(), VectorType::get({type.getDimSize(0), part.size},
                                           type.getElementType())));
    channels.push_back(copy);
  }
  for (CommitOp commit : uses.commits) {
    builder.setInsertionPoint(commit);
    for (auto [part, to] : llvm::zip(parts, channels)) {
      Value value = extract(builder, commit.getLoc(), commit.getValue(), part,
                            /*columns=*/true);
      CommitOp::create(builder, commit.getLoc(), to.getChannel(), value);
    }
    commit.erase();
  }
  for (WaitOp wait : uses.waits) {
    builder.setInsertionPoint(wait);
    SmallVector<Value> tiles;
    for (ChannelOp from : channels)
      tiles.push_back(WaitOp::create(builder, wait.getLoc(),
                                     from.getValueType(), from.getChannel())
                          .getValue());
    for (Operation *user : llvm::make_early_inc_range(wait->getUsers()))
      splitMma(cast<MmaOp>(user), tiles, parts);
    wait.erase();
  }
  auto repeat = [&](auto op) {
    builder.setInsertionPoint(op);
    for (ChannelOp part : channels)
      decltype(op)::create(builder, op.getLoc(), part.getChannel());
    op.erase();
  };
  for (AcquireOp acquire : uses.acquires)
    repeat(acquire);
  for (ReleaseOp release : uses.releases)
    repeat(release);
  channel.erase();
}

void fa4::tile::splitArrivals(KernelOp kernel) {
  for (auto &[channel, uses] : collectChannelUses(kernel))
    if (canSplit(uses))
      splitChannel(uses);
}
