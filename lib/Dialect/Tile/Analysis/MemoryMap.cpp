//===- MemoryMap.cpp - where the channels of a kernel live ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace mlir;
using namespace fa4::tile;
using fa4::TargetDescription;

int64_t fa4::tile::getSmemAlignment(ChannelOp channel) {
  const TargetDescription &target =
      cast<KernelOp>(channel->getParentOp()).getTarget();
  VectorType tile = channel.getTileType();
  // Hardware writes a response as it writes the target of a bulk copy.
  if (!tile && !isResponse(channel.getValueType()))
    return kSmemScalarBytes;
  return tile && tile.getRank() == 2 ? target.smemTileAlignment
                                     : target.smemVectorAlignment;
}

ChannelOp fa4::tile::getExchangeBefore(ChannelOp channel) {
  auto owner = channel.getInPlaceOf()
                   ? channel.getInPlaceOf().getDefiningOp<ChannelOp>()
                   : ChannelOp();
  return owner && owner.getExchange() ? owner : ChannelOp();
}

int64_t fa4::tile::getExchangedBytes(ChannelOp channel) {
  auto kernel = cast<KernelOp>(channel->getParentOp());
  VectorType tile = channel.getTileType();
  return tile.getNumElements() * tile.getElementTypeBitWidth() / 8 /
         kernel.getClusterSize();
}

int64_t fa4::tile::getSmemBytes(ChannelOp channel) {
  // A channel in place of an exchanged tile uses the same stages, so they have
  // the same size.
  if (ChannelOp owner = getExchangeBefore(channel))
    return getSmemBytes(owner);
  VectorType type = channel.getStageType();
  int64_t bits =
      type ? type.getNumElements() * type.getElementTypeBitWidth() : 0;
  if (channel.getExchange())
    bits += 8 * getExchangedBytes(channel);
  return std::max<int64_t>(
      llvm::alignTo(llvm::divideCeil(bits, 8), getSmemAlignment(channel)),
      getSmemAlignment(channel));
}

int64_t fa4::tile::getTmemColumns(ChannelOp channel) {
  VectorType type = channel.getTileType();
  int64_t bits =
      getMatrixLayout(channel).getColumnsPerThread(type.getShape().back()) *
      type.getElementTypeBitWidth();
  return llvm::divideCeil(bits, 32);
}

static LogicalResult checkChannel(ChannelOp channel,
                                  const TargetDescription &target) {
  VectorType type = channel.getTileType();
  // A limit on stages keeps the products of sizes and stages within 64 bits.
  if (uint64_t most = target.smemBytes / target.mbarrierBytes;
      channel.getStages() > most)
    return channel.emitOpError("has ")
           << channel.getStages()
           << " stages, but shared memory has room for the barriers of "
           << most;
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

LogicalResult fa4::tile::checkBuffers(KernelOp kernel,
                                      const TargetDescription &target) {
  return success(llvm::all_of(kernel.getBody().getOps<ChannelOp>(),
                              [&](ChannelOp channel) {
                                return succeeded(checkChannel(channel, target));
                              }));
}

PlacedBuffer fa4::tile::getBuffer(ChannelOp owner,
                                  const TargetDescription &target) {
  int64_t stages = owner.getStages();
  if (owner.getSpace() == MemorySpace::smem)
    return {stages * getSmemBytes(owner), getSmemAlignment(owner)};
  // With this alignment, loads and stores of up to 32 columns never touch two
  // channels. The A of an MMA has elements of 16 bits. It may begin wherever a
  // step of K does, so that the parts of one tile can lie side by side.
  int64_t columns = stages * getTmemColumns(owner);
  int64_t alignment = target.tmemAllocationColumns;
  if (owner.getTileType().getElementTypeBitWidth() < 32)
    alignment = std::min(alignment, columns & -columns);
  return {columns, alignment};
}

SmallVector<ChannelOp> fa4::tile::getBufferOwners(KernelOp kernel,
                                                  MemorySpace space) {
  SmallVector<ChannelOp> owners;
  for (auto &channels : collectBuffers(kernel))
    if (channels.front().getSpace() == space)
      owners.push_back(channels.front());
  return owners;
}

/// Returns the widest span of a swizzle that divides a number of bytes, or 0.
static int64_t widestSpan(int64_t bytes) {
  for (int64_t span : {128, 64, 32})
    if (bytes % span == 0)
      return span;
  return 0;
}

static int64_t rowBytes(VectorType tile) {
  return tile.getDimSize(1) * tile.getElementTypeBitWidth() / 8;
}

int64_t fa4::tile::getSwizzleSpan(VectorType tile) {
  return tile.getRank() == 2 ? widestSpan(rowBytes(tile)) : 0;
}

/// Returns the number of columns at whose multiples all parts of the stage
/// begin and end that MMAs of lanes read: a part is a whole number of boxes. A
/// role of one thread is handed tiles that need not be cut so.
static int64_t getColumnsOfParts(ChannelOp channel, int64_t columns) {
  for (Operation *user : channel.getChannel().getUsers()) {
    auto wait = dyn_cast<WaitOp>(user);
    if (!wait || !wait.getValue() ||
        wait->getParentOfType<RoleOp>().runsOnOneThread())
      continue;
    for (Operation *reader : wait.getValue().getUsers()) {
      auto part = dyn_cast<vector::ExtractStridedSliceOp>(reader);
      if (!part || part.getType().getRank() != 2 ||
          getHome(part) != ValueHome::Place)
        continue;
      SmallVector<int64_t> offsets;
      part.getOffsets(offsets);
      columns = std::gcd(columns, part.getType().getDimSize(1));
      if (offsets.size() > 1)
        columns = std::gcd(columns, offsets[1]);
    }
  }
  return columns;
}

int64_t fa4::tile::getSwizzleSpan(ChannelOp channel) {
  VectorType tile = channel.getTileType();
  if (!tile)
    return 0;
  if (channel.getExchange())
    return widestSpan(rowBytes(tile) / 2);
  VectorType stage = channel.getStageType();
  if (stage.getRank() != 2)
    return 0;
  bool isOfLanes =
      llvm::any_of(channel.getChannel().getUsers(), [](Operation *user) {
        auto role = user->getParentOfType<RoleOp>();
        return role && !role.runsOnOneThread();
      });
  int64_t columns = getColumnsOfParts(channel, stage.getDimSize(1));
  if (isOfLanes)
    columns = getMatrixLayout(channel).getBoxColumns(columns);
  return widestSpan(columns * stage.getElementTypeBitWidth() / 8);
}

int64_t fa4::tile::getAsyncBytes(ChannelOp channel) {
  if (isResponse(channel.getValueType()))
    return kResponseBytes;
  VectorType tile = channel.getStageType();
  return tile.getNumElements() * tile.getElementTypeBitWidth() / 8;
}

int64_t fa4::tile::getBarrierCount(KernelOp kernel) {
  int64_t count = 0;
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    if (PlaceAttr place = channel.getPlaceAttr(); place && !channel.isTurn())
      for (const std::optional<Barriers> &barriers :
           {std::optional(place.getFull()), place.getEmpty(),
            place.getLanded()})
        if (barriers)
          count =
              std::max<int64_t>(count, barriers->first + channel.getStages());
  return count;
}

int64_t fa4::tile::getBarrierOffset(KernelOp kernel) {
  return getTmemAddressOffset(kernel) -
         kernel.getTarget().mbarrierBytes * getBarrierCount(kernel);
}

int64_t fa4::tile::getTmemAddressOffset(KernelOp kernel) {
  return kernel.getSmemBytes().value_or(0) -
         (kernel.getTmemColumns().value_or(0) ? kTmemAddressBytes : 0);
}

/// Prints a line of the map. The label is padded to `width`.
static void printLine(int64_t from, int64_t to, StringRef label, size_t width,
                      ChannelOp channel, int64_t size, raw_ostream &os) {
  os << llvm::formatv("  {0,7} {1,7}  {2}  {3,6} x {4}", from, to,
                      llvm::left_justify(label, width), channel.getStages(),
                      size);
  if (channel.getInPlaceOf())
    os.indent(7 - std::to_string(size).size())
        << "in place of "
        << channel.getInPlaceOf().getDefiningOp<ChannelOp>().getLabel();
  if (!channel.getAfter().empty()) {
    os.indent(7 - std::to_string(size).size()) << "after ";
    llvm::interleaveComma(channel.getAfter(), os, [&](Value other) {
      os << other.getDefiningOp<ChannelOp>().getLabel();
    });
  }
  os << "\n";
}

static void printSpace(KernelOp kernel, MemorySpace space, raw_ostream &os) {
  // Sorted by offset; channels at the same offset are in the order of their
  // definition.
  std::multimap<int64_t, ChannelOp> channels;
  size_t width = StringRef("channel").size();
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    width = std::max(width, channel.getLabel().size());
    if (channel.getSpace() == space && channel.getPlaceAttr())
      channels.emplace(channel.getPlaceAttr().getOffset(), channel);
  }
  os << llvm::formatv("  {0,7} {1,7}  {2}  {3,6} x size\n", "from", "to",
                      llvm::left_justify("channel", width), "stages");
  for (auto [from, channel] : channels) {
    int64_t size = space == MemorySpace::smem ? getSmemBytes(channel)
                                              : getTmemColumns(channel);
    int64_t to = from + static_cast<int64_t>(channel.getStages()) * size;
    printLine(from, to, channel.getLabel(), width, channel, size, os);
  }
}

void fa4::tile::printMemoryMap(KernelOp kernel, raw_ostream &os) {
  int64_t tmemColumns = kernel.getTmemColumns().value_or(0);
  os << llvm::formatv("@{0}: shared memory, {1} bytes\n", kernel.getSymName(),
                      kernel.getSmemBytes().value_or(0));
  printSpace(kernel, MemorySpace::smem, os);
  int64_t barriers = getBarrierOffset(kernel);
  os << llvm::formatv("  {0,7} {1,7}  {2} mbarriers\n", barriers,
                      getTmemAddressOffset(kernel), getBarrierCount(kernel));
  if (!tmemColumns)
    return;
  os << llvm::formatv("  {0,7} {1,7}  address of tensor memory\n",
                      getTmemAddressOffset(kernel), *kernel.getSmemBytes());
  os << llvm::formatv("@{0}: tensor memory, {1} columns\n", kernel.getSymName(),
                      tmemColumns);
  printSpace(kernel, MemorySpace::tmem, os);
}
