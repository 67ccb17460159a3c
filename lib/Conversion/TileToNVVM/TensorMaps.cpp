//===- TensorMaps.cpp - the tensor maps of a kernel ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMaps.h"
#include "Formula.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Target/LaunchLimits.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// Returns the channel through which the tile of a load or a store goes.
static ChannelOp findChannel(Operation *op) {
  if (isa<LoadOp>(op)) {
    for (Operation *user : op->getUsers())
      if (auto commit = dyn_cast<CommitOp>(user))
        return commit.getChannel().getDefiningOp<ChannelOp>();
    return {};
  }
  for (Value stored : getOrigins(op->getOperand(0), FlowThrough::Views))
    if (auto wait = stored.getDefiningOp<WaitOp>())
      return wait.getChannel().getDefiningOp<ChannelOp>();
  return {};
}

/// Checks that TMA can copy tiles of a tensor of this type.
static LogicalResult checkTensor(Operation *op, MemRefType type,
                                 VectorType tile, ArrayRef<int64_t> tileDims,
                                 bool hasEnd) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      strides[tileDims.back()] != 1)
    return op->emitOpError("copies a tile whose columns are not contiguous in "
                           "memory: its last dimension must have stride 1 in ")
           << type;
  if (type.getRank() > kMaxTensorMapRank)
    return op->emitOpError("accesses a tensor of ")
           << type.getRank() << " dimensions; TMA supports at most "
           << kMaxTensorMapRank;
  if (hasEnd && type.getRank() == kMaxTensorMapRank)
    return op->emitOpError("says 'to' of a tensor of more than ")
           << kMaxTensorMapRank - 1 << " dimensions; 'to' takes one of TMA's "
           << kMaxTensorMapRank << ", got " << type.getRank();
  if (hasEnd && tileDims.size() != 2)
    return op->emitOpError("says 'to' of a tile of ")
           << tileDims.size() << " dimension that TMA copies; it must have 2";
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  if (!ShapedType::isDynamic(offset) &&
      offset * bytes % kTensorMapAlignment != 0)
    return op->emitOpError("copies from a tensor that begins ")
           << offset * bytes
           << " bytes behind an aligned address, which is not "
           << "a multiple of " << kTensorMapAlignment;
  return success();
}

/// Returns what `inner` of a load says, or {-1, 1}.
static std::pair<int64_t, int64_t> getInner(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  if (!load || !load.getInner())
    return {-1, 1};
  return {load.getInner()->front(), load.getInnerRows()};
}

/// Returns how many of the `rows` rows of a tile a copy takes.
static int64_t getRowsOfCopy(Operation *op, int64_t rows) {
  auto load = dyn_cast<LoadOp>(op);
  return load ? load.getRowsOfCopy() : rows;
}

/// The pattern of a swizzle repeats every 8 rows (PTX ISA, "Shared memory
/// matrix layout"): parts of a tile that begin at multiples of that lie in a
/// stage as they do in the whole tile.
static constexpr int64_t kSwizzleRows = 8;

static LogicalResult checkPages(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  if (!load || !load.getPages() || load.getRowsOfCopy() % kSwizzleRows == 0)
    return success();
  return op->emitOpError("copies ")
         << load.getRowsOfCopy() << " rows of a page at once; pages of "
         << load.getPageSize() << " rows and tiles of "
         << load.getPartType().getDimSize(0) << " must have multiples of "
         << kSwizzleRows << " in common";
}

/// Sets the dimensions of the map, and how much of each a copy takes. A box
/// lies in memory with the first dimensions innermost.
static LogicalResult setBox(Operation *op, MemRefType type, VectorType tile,
                            ArrayRef<int64_t> tileDims, TensorMap &map) {
  int64_t contiguous = tileDims.back();
  auto [inner, innerRows] = getInner(op);
  map.dims.push_back(contiguous);
  if (inner != -1)
    map.dims.push_back(inner);
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim)
    if (dim != contiguous && dim != inner)
      map.dims.push_back(dim);
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  for (int64_t dim : map.dims) {
    const auto *at = llvm::find(tileDims, dim);
    int64_t box =
        at == tileDims.end() ? 1 : tile.getDimSize(at - tileDims.begin());
    if (dim == contiguous && map.span)
      box = map.span / bytes;
    else if (dim == inner)
      box = innerRows;
    else if (dim == tileDims.front())
      box = getRowsOfCopy(op, box) / innerRows;
    if (box > kMaxTensorMapBox)
      return op->emitOpError("copies ")
             << box << " elements of one dimension at once; TMA copies at most "
             << kMaxTensorMapBox;
    map.box.push_back(box);
  }
  if (map.box.front() * bytes % kTensorMapAlignment)
    return op->emitOpError("copies rows of ")
           << map.box.front() * bytes << " bytes; TMA copies multiples of "
           << kTensorMapAlignment;
  return success();
}

LogicalResult TensorMaps::add(Operation *op, Value memref, VectorType tile,
                              ArrayRef<int64_t> tileDims, bool hasEnd) {
  if (failed(checkIsArgument(op, memref)))
    return failure();
  auto type = cast<MemRefType>(memref.getType());
  TensorMap map;
  map.argument = cast<BlockArgument>(memref).getArgNumber();
  ChannelOp channel = findChannel(op);
  map.span = channel ? getSwizzleSpan(channel) : getSwizzleSpan(tile);
  if (failed(checkTensor(op, type, tile, tileDims, hasEnd)) ||
      failed(checkPages(op)) || failed(setBox(op, type, tile, tileDims, map)))
    return failure();
  if (hasEnd) {
    map.second = map.dims.size();
    map.dims.push_back(tileDims.front());
    map.box.push_back(1);
    map.beginsInFront = true;
  }
  mapOf[op] = addMap(map);
  if (hasEnd && isa<LoadOp>(op)) {
    map.beginsInFront = false;
    mapBehind[op] = addMap(map);
  }
  return success();
}

unsigned TensorMaps::addMap(const TensorMap &map) {
  auto *known = llvm::find(maps, map);
  unsigned place = known - maps.begin();
  if (known == maps.end())
    maps.push_back(map);
  return place;
}

Value fa4::tile::getCopyEnd(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<LoadOp, StoreOp, ReduceAddOp>([](auto op) { return op.getTo(); })
      .Default(Value());
}

/// Returns the memref, the tile's type and its dimensions of an op that copies
/// a tile by TMA. The type is null for other ops.
static std::tuple<Value, VectorType, SmallVector<int64_t>>
copiedTile(Operation *op) {
  using Result = std::tuple<Value, VectorType, SmallVector<int64_t>>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([](LoadOp op) {
        return Result(op.getSource(), op.getPartType(), op.getTileDims());
      })
      .Case<StoreOp, ReduceAddOp>([](auto op) {
        return Result(op.getDest(), op.getTile().getType(), op.getTileDims());
      })
      .Default(Result());
}

FailureOr<TensorMaps> TensorMaps::collect(KernelOp kernel) {
  TensorMaps result;
  auto add = [&](Operation *op) -> LogicalResult {
    auto [memref, tile, dims] = copiedTile(op);
    return tile ? result.add(op, memref, tile, dims, bool(getCopyEnd(op)))
                : success();
  };
  if (failed(fa4::checkEach(kernel, add)))
    return failure();
  return result;
}

LogicalResult fa4::tile::checkIsArgument(Operation *op, Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  if (argument && isa<KernelOp>(argument.getOwner()->getParentOp()))
    return success();
  return op->emitOpError(
      "must access a memref that is an argument of the kernel");
}

SmallVector<unsigned> TensorMaps::sortByArgument() const {
  auto order = llvm::to_vector(llvm::seq<unsigned>(maps.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(maps[a].argument, a) < std::pair(maps[b].argument, b);
  });
  return order;
}

DictionaryAttr TensorMaps::describe(KernelOp kernel, const TensorMap &map) {
  Builder builder(kernel.getContext());
  auto type = cast<MemRefType>(kernel.getArgumentTypes()[map.argument]);
  Formula bytes = type.getElementTypeBitWidth() / 8;
  SmallVector<Formula> dims, strides;
  for (auto [index, dim] : llvm::enumerate(map.dims)) {
    dims.push_back(getSize(kernel, map.argument, dim));
    if (index != 0)
      strides.push_back(bytes * getStride(kernel, map.argument, dim));
  }
  SmallVector<NamedAttribute> entries;
  if (map.second != -1) {
    // One coordinate for each row that a copy may end at, and for the end.
    dims[map.second] = dims[map.second] + 1;
    dims[map.getFirst()] = map.getRows();
  }
  if (map.beginsInFront) {
    Formula offset = Formula(-map.getRows()) * bytes *
                     getStride(kernel, map.argument, map.dims[map.second]);
    entries.push_back(
        builder.getNamedAttr("offset", builder.getStringAttr(offset.str())));
  }
  StringRef swizzle = map.span == 128  ? "128B"
                      : map.span == 64 ? "64B"
                      : map.span == 32 ? "32B"
                                       : "none";
  llvm::append_values(
      entries,
      builder.getNamedAttr(
          "tensor", builder.getStringAttr(kernel.getArgName(map.argument))),
      builder.getNamedAttr("dims", getTexts(builder, dims)),
      builder.getNamedAttr("byte_strides", getTexts(builder, strides)),
      builder.getNamedAttr("box", builder.getI64ArrayAttr(map.box)),
      builder.getNamedAttr("swizzle", builder.getStringAttr(swizzle)));
  return builder.getDictionaryAttr(entries);
}
