//===- SplitOperands.cpp - operands of MMAs that arrive in parts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
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
/// the A operand of MMAs, with the columns as the K dimension, and if each
/// thread has columns of each part.
static bool canSplit(const ChannelUses &uses) {
  ChannelOp channel = uses.channel;
  VectorType type = channel.getTileType();
  if (!type || type.getRank() != 2 || type.getDimSize(1) < kLeastColumns ||
      type.getDimSize(1) % kGranule != 0 || channel.getInPlaceOf() ||
      channel.getInitial() || uses.commits.empty() || uses.waits.empty() ||
      kGranule % getMatrixLayout(channel).getPieceColumns(type.getDimSize(1)))
    return false;
  for (Operation *user : channel->getUsers())
    if (!isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(user))
      return false;
  for (CommitOp commit : uses.commits)
    if (!commit.getValue() || getHome(commit.getValue()) != ValueHome::Fragment)
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

/// Replaces an MMA by one for each part of its K dimension. `tiles` are the
/// parts of the operand `whole`, which is A or B. The other operand is cut by
/// slices.
static void splitMma(MmaOp mma, const OpOperand &whole, ValueRange tiles,
                     ArrayRef<Part> parts) {
  OpBuilder builder(mma);
  Value acc = mma.getAcc(), condition = mma.getAccumulate();
  bool isA = &whole == &mma.getAMutable();
  for (auto [tile, part] : llvm::zip(tiles, parts)) {
    Value other = isA ? extract(builder, mma.getLoc(), mma.getB(), part,
                                /*columns=*/mma.getTransposeB())
                      : extract(builder, mma.getLoc(), mma.getA(), part,
                                /*columns=*/true);
    acc = MmaOp::create(builder, mma.getLoc(), mma.getType(),
                        isA ? tile : other, isA ? other : tile, acc, condition,
                        /*transpose_a=*/false, mma.getTransposeB());
    condition = nullptr;
  }
  mma.replaceAllUsesWith(acc);
  mma.erase();
}

/// Makes a channel for each part of the columns.
static SmallVector<ChannelOp> createParts(ChannelOp channel,
                                          ArrayRef<Part> parts) {
  VectorType type = channel.getTileType();
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
  return channels;
}

/// Lets the consumers, whose MMAs have the channel's values as an operand, wait
/// for the parts and release them one by one.
static void splitConsumers(const ChannelUses &uses,
                           ArrayRef<ChannelOp> channels, ArrayRef<Part> parts) {
  for (WaitOp wait : uses.waits) {
    OpBuilder builder(wait);
    SmallVector<Value> tiles;
    for (ChannelOp from : channels)
      tiles.push_back(WaitOp::create(builder, wait.getLoc(),
                                     from.getValueType(), from.getChannel())
                          .getValue());
    for (OpOperand &use : llvm::make_early_inc_range(wait.getValue().getUses()))
      splitMma(cast<MmaOp>(use.getOwner()), use, tiles, parts);
    wait.erase();
  }
  for (ReleaseOp release : uses.releases) {
    OpBuilder builder(release);
    for (ChannelOp part : channels)
      ReleaseOp::create(builder, release.getLoc(), part.getChannel());
    release.erase();
  }
}

/// Replaces a channel whose values a compute role makes.
static void splitChannel(const ChannelUses &uses) {
  ChannelOp channel = uses.channel;
  SmallVector<Part> parts = partsOf(channel.getTileType().getDimSize(1));
  SmallVector<ChannelOp> channels = createParts(channel, parts);
  for (CommitOp commit : uses.commits) {
    OpBuilder builder(commit);
    for (auto [part, to] : llvm::zip(parts, channels)) {
      Value value = extract(builder, commit.getLoc(), commit.getValue(), part,
                            /*columns=*/true);
      CommitOp::create(builder, commit.getLoc(), to.getChannel(), value);
    }
    commit.erase();
  }
  for (AcquireOp acquire : uses.acquires) {
    OpBuilder builder(acquire);
    for (ChannelOp part : channels)
      AcquireOp::create(builder, acquire.getLoc(), part.getChannel());
    acquire.erase();
  }
  splitConsumers(uses, channels, parts);
  channel.erase();
}

void fa4::tile::splitArrivals(KernelOp kernel) {
  for (auto &[channel, uses] : collectChannelUses(kernel))
    if (canSplit(uses))
      splitChannel(uses);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Returns true if the waited value is only ever the B operand of MMAs of the
/// wait's block, with its columns as their K dimension. MMAs of lanes are not
/// divided: each part would be awaited.
static bool isTransposedB(WaitOp wait) {
  return wait.getValue() &&
         llvm::all_of(wait.getValue().getUses(), [&](OpOperand &use) {
           auto mma = dyn_cast<MmaOp>(use.getOwner());
           return mma && !mma.isPending() && &use == &mma.getBMutable() &&
                  mma.getTransposeB() && !mma.getTransposeA() &&
                  mma->getBlock() == wait->getBlock();
         });
}

/// Returns the number of boxes of the load's tensor map in a value of the
/// channel. A box is as wide as the swizzle, and a part has whole boxes.
/// Returns 1 for a channel that loads in loops do not fill, or whose values
/// cannot be divided.
static int64_t countBoxes(const ChannelUses &uses) {
  ChannelOp channel = uses.channel;
  VectorType type = channel.getTileType();
  if (!type || type.getRank() != 2 || uses.commits.empty() ||
      channel.getSpace() != MemorySpace::smem || !getSwizzleSpan(type) ||
      channel.getInPlaceOf() || channel.getInitial() ||
      uses.acquires.size() != uses.commits.size() ||
      uses.releases.size() != uses.waits.size())
    return 1;
  for (CommitOp commit : uses.commits) {
    LoadOp load = getLoad(commit);
    if (!load || !load.getTile().hasOneUse() ||
        load->getBlock() != commit->getBlock() ||
        !isa<scf::ForOp>(commit->getParentOp()))
      return 1;
  }
  if (!llvm::all_of(uses.waits, isTransposedB))
    return 1;
  return type.getDimSize(1) * type.getElementTypeBitWidth() / 8 /
         getSwizzleSpan(type);
}

int64_t fa4::tile::countLoadParts(KernelOp kernel) {
  int64_t most = 1;
  for (auto &[channel, uses] : collectChannelUses(kernel))
    most = std::max(most, countBoxes(uses));
  return most;
}

/// Builds a load of a part of the tile that `load` loads.
static Value loadPart(OpBuilder &builder, LoadOp load, Part part,
                      ChannelOp channel) {
  Location loc = load.getLoc();
  auto copy = cast<LoadOp>(builder.clone(*load));
  copy.getTile().setType(channel.getTileType());
  OpOperand &column = copy.getIndicesMutable()[load.getTileDims().back()];
  builder.setInsertionPoint(copy);
  Value offset = arith::ConstantIndexOp::create(builder, loc, part.offset);
  column.set(isConstantIntValue(column.get(), 0)
                 ? offset
                 : arith::AddIOp::create(builder, loc, column.get(), offset)
                       .getResult());
  builder.setInsertionPointAfter(copy);
  return copy.getTile();
}

/// Replaces a channel whose values are loaded.
static void divideLoad(const ChannelUses &uses, int64_t count) {
  ChannelOp channel = uses.channel;
  SmallVector<Part> parts;
  int64_t columns = channel.getTileType().getDimSize(1) / count;
  for (int64_t i = 0; i < count; ++i)
    parts.push_back({i * columns, columns});
  SmallVector<ChannelOp> channels = createParts(channel, parts);
  for (AcquireOp acquire : uses.acquires)
    acquire->erase();
  for (CommitOp commit : uses.commits) {
    auto load = commit.getValue().getDefiningOp<LoadOp>();
    OpBuilder builder(commit);
    for (auto [part, to] : llvm::zip(parts, channels)) {
      AcquireOp::create(builder, commit.getLoc(), to.getChannel());
      Value tile = loadPart(builder, load, part, to);
      CommitOp::create(builder, commit.getLoc(), to.getChannel(), tile);
    }
    commit->erase();
    load->erase();
  }
  splitConsumers(uses, channels, parts);
  channel.erase();
}

void fa4::tile::divideLoads(KernelOp kernel) {
  for (auto &[channel, uses] : collectChannelUses(kernel))
    if (int64_t boxes = countBoxes(uses); boxes > 1)
      divideLoad(uses, boxes);
}
