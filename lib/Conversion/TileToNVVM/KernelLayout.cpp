//===- KernelLayout.cpp - where a kernel keeps what ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLayout.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4::tile;

static LogicalResult describeTile(Buffer &buffer) {
  VectorType type = buffer.getChannel().getStageType();
  if (!type) {
    bool isReply = isResponse(buffer.getChannel().getValueType());
    buffer.elementBytes = isReply ? kResponseBytes : kSmemScalarBytes;
    buffer.rows = buffer.columns = 1;
    buffer.stageSize = buffer.stages == 1 ? buffer.elementBytes
                                          : getSmemBytes(buffer.getChannel());
    return success();
  }
  // Lanes write what stays in the CTA to its place in the result.
  if (buffer.channel.getExchange()) {
    int64_t ctas =
        cast<KernelOp>(buffer.channel->getParentOp()).getClusterSize();
    type =
        VectorType::get({type.getDimSize(0) * ctas, type.getDimSize(1) / ctas},
                        type.getElementType());
  }
  int64_t bits = type.getElementTypeBitWidth();
  if (bits != 16 && bits != 32)
    return buffer.channel.emitOpError("has elements of ")
           << bits << " bits; elements of 16 and 32 bits are supported";
  buffer.elementBytes = bits / 8;
  buffer.rows = type.getDimSize(0);
  buffer.columns = type.getRank() == 2 ? type.getDimSize(1) : 1;
  buffer.valueLayout = &getMatrixLayout(buffer.channel);
  // Columns have their places by the half of the row in which they are.
  if (buffer.channel.getExchange() &&
      !buffer.valueLayout->hasElementsByColumn(buffer.channel.getContext()))
    return buffer.channel.emitOpError("exchanges a tile of ")
           << buffer.channel.getTileType().getDimSize(0)
           << " rows, of which each lane has half a row: not supported";
  if (buffer.tensorMemory) {
    buffer.stageSize = getTmemColumns(buffer.channel);
    return success();
  }
  // A stage of an exchange has room for what is sent, too, and one with another
  // behind it ends where that may begin.
  buffer.stageSize = buffer.stages > 1 || buffer.channel.getExchange() ||
                             getExchangeBefore(buffer.channel)
                         ? getSmemBytes(buffer.channel)
                         : buffer.tileBytes();
  if (type.getRank() != 2)
    return success();
  buffer.span = getSwizzleSpan(buffer.channel);
  if (!buffer.span)
    return buffer.channel.emitOpError("has rows of ")
           << type.getDimSize(1) * buffer.elementBytes
           << " bytes in shared memory; what a lane has of a row must be a "
              "multiple of 32 bytes, the smallest swizzle";
  return success();
}

LogicalResult KernelLayout::placeChannels(KernelOp kernel) {
  int64_t end = 0;
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    Buffer buffer;
    buffer.channel = channel;
    buffer.tensorMemory = channel.getSpace() == MemorySpace::tmem;
    buffer.ordersTensorMemory = buffer.tensorMemory;
    buffer.stages = channel.getStages();
    PlaceAttr place = channel.getPlaceAttr();
    if (!place)
      return channel.emitOpError("has no place (run tile-allocate first)");
    buffer.offset = place.getOffset();
    buffer.full = place.getFull();
    buffer.empty = place.getEmpty();
    buffer.landed = place.getLanded();
    // A turn is a named barrier, and has no place in memory.
    if (channel.isTurn()) {
      buffers.insert({channel, buffer});
      continue;
    }
    int64_t initial = channel.getInitial().value_or(0);
    if (initial != 0 && initial != buffer.stages)
      return channel.emitOpError("starts with ")
             << initial << " of " << buffer.stages
             << " stages filled; initial() must be 0 or the number of stages";
    if (failed(describeTile(buffer)))
      return failure();
    // The pattern of a swizzle repeats every 8 rows. TMA writes to multiples of
    // 128 bytes (PTX ISA, cp.async.bulk.tensor).
    int64_t align = channel.carriesScalars() ? getSmemAlignment(channel)
                    : buffer.span            ? 8 * buffer.span
                                             : target.smemVectorAlignment;
    if (!buffer.tensorMemory &&
        (buffer.offset % align ||
         (buffer.stages > 1 && buffer.stageSize % align)))
      return channel.emitOpError("has a stage that begins at byte ")
             << buffer.offset + (buffer.offset % align ? 0 : buffer.stageSize)
             << " of shared memory, not at a multiple of " << align;
    if (!buffer.tensorMemory)
      end = std::max(end, buffer.offset + buffer.stages * buffer.stageSize);
    else if (buffer.offset + buffer.stages * buffer.stageSize > tensorColumns)
      return channel.emitOpError("ends at column ")
             << buffer.offset + buffer.stages * buffer.stageSize
             << " of tensor memory, but the kernel has " << tensorColumns
             << " columns ('tmem_columns')";
    buffers.insert({channel, buffer});
  }
  findHandOvers(kernel);
  barriers = llvm::alignTo(end, target.mbarrierBytes);
  tensorMemorySlot = barriers + getBarrierCount(kernel) * target.mbarrierBytes;
  sharedBytes = std::max<int64_t>(
      tensorMemorySlot + target.mbarrierBytes,
      static_cast<int64_t>(kernel.getSmemBytes().value_or(0)));
  if (sharedBytes > target.smemBytes)
    return kernel.emitOpError("needs ")
           << sharedBytes << " bytes of shared memory, but a CTA has "
           << target.smemBytes;
  return success();
}

/// Finds the channels in shared memory whose commits hand on columns of tensor
/// memory. Lanes that have read an accumulator without releasing it tell so by
/// what they commit next: a value in place of the accumulator, or one in shared
/// memory for the role that writes the columns next, in the same buffer or in
/// one that takes its place (`after`). A buffer may have several values in
/// turn, so that either may follow the read of one.
void KernelLayout::findHandOvers(KernelOp kernel) {
  auto all = collectChannelUses(kernel);
  llvm::DenseMap<Value, unsigned> bufferOf = numberBuffers(kernel);
  auto overwrites = [&](RoleOp role, ChannelOp accumulator) {
    unsigned number = bufferOf.lookup(accumulator.getChannel());
    return llvm::any_of(all, [&](const auto &entry) {
      ChannelOp other = entry.first;
      return other != accumulator && entry.second.producers.contains(role) &&
             (bufferOf.lookup(other.getChannel()) == number ||
              llvm::any_of(other.getAfter(), [&](Value before) {
                return bufferOf.lookup(before) == number;
              }));
    });
  };
  auto reads = [&](RoleOp role, const ChannelUses &uses) {
    return uses.consumers.contains(role) &&
           llvm::none_of(uses.releases, [&](ReleaseOp release) {
             return role->isAncestor(release);
           });
  };
  for (auto &[channel, buffer] : buffers) {
    const ChannelUses &uses = all.find(channel)->second;
    // The role that exchanges tiles hands on what lanes tell.
    SmallVector<RoleOp> consumers(uses.consumers.getArrayRef());
    for (const auto &[other, others] : all)
      if (getExchangeBefore(other) == channel)
        llvm::append_range(consumers, others.consumers);
    for (const auto &[accumulator, others] : all)
      for (RoleOp lanes : uses.producers)
        if (ChannelOp(accumulator).getSpace() == MemorySpace::tmem &&
            !lanes.runsOnOneThread() && reads(lanes, others))
          buffer.ordersTensorMemory |= llvm::any_of(
              consumers, [&, &accumulator = accumulator](RoleOp next) {
                return overwrites(next, accumulator);
              });
  }
  for (auto &[channel, buffer] : buffers)
    if (ChannelOp owner = getExchangeBefore(channel))
      buffer.ordersTensorMemory |= this->buffer(owner).ordersTensorMemory;
}

LogicalResult KernelLayout::findRanks(KernelOp kernel) {
  if (clusterSize == 1)
    return success();
  for (auto &[channel, uses] : collectChannelUses(kernel)) {
    FailureOr<ChannelRanks> ranks = findChannelRanks(uses);
    if (failed(ranks))
      return failure();
    buffers.find(channel)->second.ranks = *ranks;
  }
  return success();
}

static LogicalResult checkSides(KernelOp kernel) {
  for (auto &[channel, uses] : collectChannelUses(kernel)) {
    ChannelOp op = channel;
    if (uses.producers.size() > 1)
      return op.emitOpError(
          "is committed by more than one role; a channel has one producer");
    if (op.getPlaceAttr().getEmpty() && uses.consumers.empty())
      return op.emitOpError(
          "has an empty barrier, but no role waits for the channel");
  }
  return success();
}

LogicalResult KernelLayout::groupWarps(KernelOp kernel) {
  SmallVector<RoleOp> roles(kernel.getBody().getOps<RoleOp>());
  int64_t warps = 0;
  for (RoleOp role : roles) {
    if (!role.getFirstWarp())
      return role.emitOpError(
          "has no 'first_warp' (run tile-warp-specialize first)");
    warps = std::max<int64_t>(warps, *role.getFirstWarp() + role.getNumWarps());
  }
  llvm::sort(roles, [](RoleOp a, RoleOp b) {
    return *a.getFirstWarp() < *b.getFirstWarp();
  });
  threads = llvm::alignTo(std::max<int64_t>(warps, 1) * target.warpSize,
                          target.warpgroupSize);
  if (threads > target.maxThreads)
    return kernel.emitOpError("needs ")
           << threads << " threads, but a CTA has at most "
           << target.maxThreads;
  entryRegisters =
      std::min<int64_t>(llvm::alignDown(target.registerFileWords / threads,
                                        target.registerGranule),
                        target.maxRegisterBudget);

  int64_t end = 0;
  for (RoleOp role : roles) {
    if (int64_t(*role.getFirstWarp()) < end)
      return role.emitOpError("has warps that belong to another role, too");
    end = *role.getFirstWarp() + role.getNumWarps();
    if (failed(addToGroup(role)))
      return failure();
  }
  return shareRegisters(kernel);
}

/// Adds a role to the warpgroup in which its warps begin; roles come in the
/// order of their warps.
LogicalResult KernelLayout::addToGroup(RoleOp role) {
  int64_t first = *role.getFirstWarp();
  int64_t groupWarps = target.warpsPerWarpgroup();
  int64_t groupFirst = llvm::alignDown(first, groupWarps);
  if (groups.empty() || groups.back().endWarp <= groupFirst) {
    // Warps in front of the group that belong to no role.
    if (int64_t before = groups.empty() ? 0 : groups.back().endWarp;
        before < groupFirst)
      groups.push_back({before, groupFirst, {}, std::nullopt});
    groups.push_back({groupFirst, groupFirst, {}, std::nullopt});
  }
  WarpGroup &group = groups.back();
  group.endWarp = llvm::alignTo(first + role.getNumWarps(), groupWarps);
  group.roles.push_back(role);
  std::optional<int64_t> registers;
  if (role.getRegisters())
    registers = *role.getRegisters();
  if (group.roles.size() > 1 && group.registers != registers)
    return role.emitOpError(
        "must have the same register budget as the other roles of its "
        "warpgroup: setmaxnreg counts for all of its warps");
  group.registers = registers;
  return success();
}

/// Gives warps that belong to no role a budget, too, where roles have one, and
/// checks that an SM has the registers.
LogicalResult KernelLayout::shareRegisters(KernelOp kernel) {
  bool budgets = llvm::any_of(groups, [](auto &g) { return g.registers; });
  int64_t total = 0;
  for (WarpGroup &group : groups) {
    if (budgets && !group.registers)
      group.registers =
          group.roles.empty() ? target.minRegisterBudget : entryRegisters;
    if (budgets)
      total += (group.endWarp - group.firstWarp) * target.warpSize *
               *group.registers;
  }
  if (total > target.registerFileWords)
    return kernel.emitOpError("has register budgets that sum to ")
           << total << " registers, but an SM has " << target.registerFileWords;
  return success();
}

FailureOr<KernelLayout> KernelLayout::compute(KernelOp kernel) {
  const TargetDescription &target = kernel.getTarget();
  KernelLayout layout(target);
  layout.tensorColumns = kernel.getTmemColumns().value_or(0);
  layout.clusterSize = kernel.getClusterSize();
  // The numbers of columns that tcgen05.alloc accepts (PTX ISA).
  if (layout.tensorColumns &&
      (!llvm::isPowerOf2_64(layout.tensorColumns) ||
       layout.tensorColumns < target.tmemAllocationColumns ||
       layout.tensorColumns > target.tmemColumns))
    return kernel.emitOpError("needs a number of tensor memory columns that is "
                              "a power of two from ")
           << target.tmemAllocationColumns << " to " << target.tmemColumns
           << ", not " << layout.tensorColumns;
  if (failed(layout.placeChannels(kernel)) || failed(checkSides(kernel)) ||
      failed(layout.findRanks(kernel)) || failed(layout.groupWarps(kernel)))
    return failure();
  return layout;
}
