//===- DivideStores.cpp - values that are stored in parts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A value that leaves the kernel in each iteration of a loop goes through
// shared memory. Lanes write it to a stage; a store reads the stage later, and
// the stage is released when the store has read it. If shared memory does not
// hold two stages of the whole value, the value goes through the ring in parts.

#include "MatrixStages.h"
#include "Schedule.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/TurnOrder.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns the store that is the only user of the waited value, in its block;
/// null otherwise.
static Operation *findStore(WaitOp wait) {
  if (!wait.getValue() || !wait.getValue().hasOneUse())
    return nullptr;
  OpOperand &use = *wait.getValue().use_begin();
  Operation *store = use.getOwner();
  return isa<StoreOp, ReduceAddOp>(store) && use.getOperandNumber() == 0 &&
                 store->getBlock() == wait->getBlock()
             ? store
             : nullptr;
}

/// The smallest swizzle, which is the narrowest box of a tensor map.
static constexpr int64_t kNarrowestBox = 32;

/// Returns true if parts of a committed value save shared memory: in a loop
/// (but see isInMatrixLoop) or for one work tile after another, and once in the
/// role, too, if its lanes start the MMAs that read loaded tiles. Their results
/// do not take the place of such a tile, because no lane knows when the others'
/// MMAs have read it.
static bool isWorthParts(CommitOp commit) {
  auto role = commit->getParentOfType<RoleOp>();
  if (isInMatrixLoop(commit))
    return false;
  return isa<scf::ForOp, WorkOp>(commit->getParentOp()) ||
         (role.startsMmas() && commit->getParentOp() == role);
}

/// Returns true if lanes fill the channel, and a role stores each of its
/// matrices.
static bool isStored(const ChannelUses &uses) {
  ChannelOp channel = uses.channel;
  if (!channel.getTileType() || channel.getSpace() != MemorySpace::smem ||
      !getSwizzleSpan(channel) || channel.getInPlaceOf() ||
      channel.getInitial() || uses.commits.empty() ||
      uses.acquires.size() != uses.commits.size() || uses.waits.empty() ||
      uses.releases.size() != uses.waits.size() || uses.consumers.size() != 1)
    return false;
  return llvm::all_of(uses.commits,
                      [](CommitOp commit) {
                        return commit.getValue() &&
                               getHome(commit.getValue()) ==
                                   ValueHome::Fragment &&
                               isWorthParts(commit);
                      }) &&
         llvm::all_of(uses.waits, findStore);
}

/// Returns the number of parts into which a value of the channel can be
/// divided. A part has whole boxes of a store's tensor map, which are as wide
/// as the swizzle. A part of a folded value has as many columns of each half,
/// in boxes as narrow as necessary. Returns 1 for channels whose values cannot
/// be divided.
static int64_t countBoxes(const ChannelUses &uses) {
  if (!isStored(uses))
    return 1;
  ChannelOp channel = uses.channel;
  VectorType type = channel.getTileType();
  int64_t span = getSwizzleSpan(channel);
  int64_t rowBytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  const ValueLayout &layout = getMatrixLayout(channel);
  return layout.getPieceColumns(rowBytes) <= span
             ? rowBytes / span
             : layout.getColumnsPerThread(rowBytes) / kNarrowestBox;
}

SmallVector<int64_t> fa4::tile::getStoreParts(KernelOp kernel) {
  llvm::SmallSetVector<int64_t, 8> parts;
  parts.insert(1);
  for (auto &[channel, uses] : collectChannelUses(kernel)) {
    int64_t boxes = countBoxes(uses);
    for (int64_t part = 2; part <= boxes; ++part)
      if (boxes % part == 0)
        parts.insert(part);
  }
  SmallVector<int64_t> sorted(parts.begin(), parts.end());
  llvm::sort(sorted);
  return sorted;
}

/// Returns the turn in which the store adds, if no other store adds in it; else
/// null.
static AwaitTurnOp findTurn(Operation *store) {
  auto add = dyn_cast<ReduceAddOp>(store);
  auto turn = add && add.getTurn() ? add.getTurn().getDefiningOp<AwaitTurnOp>()
                                   : AwaitTurnOp();
  return turn && turn->getBlock() == store->getBlock() &&
                 turn.getAdditions().size() == 1
             ? turn
             : AwaitTurnOp();
}

/// Returns the number of the operand that is the index of the first column. The
/// operands of a store are the tile, the destination and the indices.
static unsigned getColumnOperand(Operation *store) {
  auto dims = isa<StoreOp>(store) ? cast<StoreOp>(store).getTileDims()
                                  : cast<ReduceAddOp>(store).getTileDims();
  return 2 + dims.back();
}

/// Builds a copy of a store whose columns begin `offset` columns behind those
/// of `store`.
static void storeColumns(OpBuilder &builder, Operation *store, Value tile,
                         int64_t offset) {
  Location loc = store->getLoc();
  unsigned column = getColumnOperand(store);
  Value index = store->getOperand(column);
  if (std::optional<int64_t> first = getConstantIntValue(index))
    index = arith::ConstantIndexOp::create(builder, loc, *first + offset);
  else if (offset != 0)
    index = arith::AddIOp::create(
        builder, loc, index,
        arith::ConstantIndexOp::create(builder, loc, offset));
  Operation *copy = builder.clone(*store);
  copy->setOperand(0, tile);
  copy->setOperand(column, index);
}

/// Returns `count` columns of a matrix, from `first` on.
static Value takeColumns(OpBuilder &builder, Location loc, Value matrix,
                         int64_t first, int64_t count) {
  int64_t rows = cast<VectorType>(matrix.getType()).getDimSize(0);
  return vector::ExtractStridedSliceOp::create(
      builder, loc, matrix, ArrayRef<int64_t>{0, first},
      ArrayRef<int64_t>{rows, count}, ArrayRef<int64_t>{1, 1});
}

/// Returns the number of places at which a part of so many columns lies in the
/// whole value, so that each thread of a row has an equal share: one if the
/// threads have shares of neighbouring columns, or else one for each thread.
static int64_t countRuns(ChannelOp channel, int64_t whole, int64_t part) {
  const ValueLayout &layout = getMatrixLayout(channel);
  return part % layout.getPieceColumns(whole) == 0 ? 1
                                                   : layout.getThreadsPerRow();
}

/// Stores the parts of a value one after another, and releases each behind its
/// store. In a turn, the next work tile may add a part as soon as this one has
/// added the same part. A part of a folded value has columns of both halves,
/// each with a store of its own.
static void storeParts(WaitOp wait, ChannelOp channel, int64_t parts) {
  Operation *store = findStore(wait);
  VectorType type = channel.getTileType();
  OpBuilder builder(store);
  Location loc = store->getLoc();
  int64_t halves =
      countRuns(channel, parts * type.getDimSize(1), type.getDimSize(1));
  int64_t columns = type.getDimSize(1) / halves;
  if (AwaitTurnOp turn = findTurn(store);
      turn && getConstantIntValue(store->getOperand(getColumnOperand(store))))
    turn.setParts(parts * halves);
  for (int64_t part = 0; part < parts; ++part) {
    Value tile =
        WaitOp::create(builder, loc, type, channel.getChannel()).getValue();
    for (int64_t half = 0; half < halves; ++half)
      storeColumns(builder, store,
                   halves == 1 ? tile
                               : takeColumns(builder, loc, tile, half * columns,
                                             columns),
                   (half * parts + part) * columns);
    ReleaseOp::create(builder, loc, channel.getChannel());
  }
  store->erase();
  wait.erase();
}

/// Returns a part of a value with the columns of `type`. If one thread holds a
/// row, these are neighbouring columns. If `halves` threads hold a row, the
/// part has some columns of each thread, one thread behind the other, so that
/// each thread has a part of its own.
static Value takePart(OpBuilder &builder, Location loc, Value value,
                      int64_t part, VectorType type, int64_t halves) {
  int64_t columns = type.getDimSize(1);
  if (halves == 1)
    return takeColumns(builder, loc, value, part * columns, columns);
  auto whole = cast<VectorType>(value.getType());
  auto shape = VectorType::get(
      {whole.getDimSize(0), halves, whole.getDimSize(1) / halves},
      whole.getElementType());
  Value split = vector::ShapeCastOp::create(builder, loc, shape, value);
  Value both = vector::ExtractStridedSliceOp::create(
      builder, loc, split, ArrayRef<int64_t>{0, 0, part * columns / halves},
      ArrayRef<int64_t>{whole.getDimSize(0), halves, columns / halves},
      ArrayRef<int64_t>{1, 1, 1});
  return vector::ShapeCastOp::create(builder, loc, type, both);
}

static void divideStore(const ChannelUses &uses, int64_t parts) {
  ChannelOp channel = uses.channel;
  VectorType whole = channel.getTileType();
  auto type =
      VectorType::get({whole.getDimSize(0), whole.getDimSize(1) / parts},
                      whole.getElementType());
  eraseOwnership(uses);
  channel.getChannel().setType(ChannelType::get(type.getContext(), type));
  for (CommitOp commit : uses.commits) {
    OpBuilder builder(commit);
    Location loc = commit.getLoc();
    for (int64_t part = 0; part < parts; ++part) {
      Value value =
          takePart(builder, loc, commit.getValue(), part, type,
                   countRuns(channel, whole.getDimSize(1), type.getDimSize(1)));
      AcquireOp::create(builder, loc, channel.getChannel());
      CommitOp::create(builder, loc, channel.getChannel(), value);
    }
    commit->erase();
  }
  for (WaitOp wait : uses.waits)
    storeParts(wait, channel, parts);
}

/// Leaves turns whole if there is no room to count their parts.
static void checkTurnsInParts(KernelOp kernel) {
  SmallVector<AwaitTurnOp> inParts = fa4::collectOpsIf(
      kernel, [](AwaitTurnOp turn) { return turn.getParts() > 1; });
  if (!inParts.empty() && !haveRoomForTurns(kernel))
    for (AwaitTurnOp turn : inParts)
      turn.setParts(1);
}

/// Returns true if the two channels lead from one role to another and are used
/// in the same order at both ends. One ring can then carry the values of both.
static bool haveOneOrder(const ChannelUses &a, const ChannelUses &b) {
  ChannelOp one = a.channel, other = b.channel;
  if (one.getTileType() != other.getTileType() ||
      a.producers.getArrayRef() != b.producers.getArrayRef() ||
      a.consumers.getArrayRef() != b.consumers.getArrayRef() ||
      a.producers.size() != 1)
    return false;
  // Returns, for the operations of both channels in program order, whether each
  // one is an operation on a's channel. Returns nothing if they are in several
  // blocks.
  auto orderOf = [](auto ofA, auto ofB) -> std::optional<SmallVector<bool>> {
    SmallVector<std::pair<Operation *, bool>> ops;
    for (auto op : ofA)
      ops.push_back({op, true});
    for (auto op : ofB)
      ops.push_back({op, false});
    Block *block = ops.front().first->getBlock();
    if (llvm::any_of(ops,
                     [&](auto &op) { return op.first->getBlock() != block; }))
      return std::nullopt;
    llvm::sort(ops, [](auto &before, auto &after) {
      return before.first->isBeforeInBlock(after.first);
    });
    return llvm::map_to_vector(ops, [](auto &op) { return op.second; });
  };
  auto produced = orderOf(a.commits, b.commits);
  return produced && produced == orderOf(a.waits, b.waits);
}

/// Puts values that go through several channels one after another through the
/// first of these. It gets the stages of all if `keepsStages`. Example: with a
/// channel for each of two tiles, the parts of a tile wait until the last part
/// of the same tile has been read. In one ring of two stages, the parts of both
/// tiles follow each other.
static void mergeStores(KernelOp kernel, ArrayRef<ChannelOp> divided,
                        bool keepsStages) {
  SmallVector<ChannelOp> rest(divided);
  while (!rest.empty()) {
    ChannelOp channel = rest.front();
    rest.erase(rest.begin());
    llvm::erase_if(rest, [&](ChannelOp other) {
      llvm::MapVector<ChannelOp, ChannelUses> uses = collectChannelUses(kernel);
      if (!haveOneOrder(uses[channel], uses[other]))
        return false;
      if (keepsStages)
        channel.setStages(channel.getStages() + other.getStages());
      other.getChannel().replaceAllUsesWith(channel.getChannel());
      other->erase();
      return true;
    });
  }
}

void fa4::tile::divideStores(KernelOp kernel, int64_t parts, bool keepsStages) {
  SmallVector<ChannelOp> divided;
  for (auto &[channel, uses] : collectChannelUses(kernel)) {
    int64_t boxes = countBoxes(uses), own = std::min(parts, boxes);
    while (boxes % own != 0)
      --own;
    if (own > 1) {
      divideStore(uses, own);
      divided.push_back(channel);
    }
  }
  mergeStores(kernel, divided, keepsStages);
  checkTurnsInParts(kernel);
}

void fa4::tile::shareStores(KernelOp kernel) {
  SmallVector<ChannelOp> stored;
  for (auto &[channel, uses] : collectChannelUses(kernel))
    if (isStored(uses))
      stored.push_back(channel);
  mergeStores(kernel, stored, /*keepsStages=*/false);
}
