//===- ProtocolPlacement.cpp - what a kernel takes of the chip ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolBarriers.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Target/TargetDescription.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using llvm::formatv;

namespace {

using Finding = std::optional<ProtocolFinding>;

Finding reject(Operation *op, std::string message) {
  return ProtocolFinding{op, std::move(message), {}};
}

/// Checks that offsets are in range and aligned, and that a channel in place of
/// another one lies within that one's buffer.
Finding checkOffsets(const ProtocolModel &model,
                     const TargetDescription &target) {
  for (const ProtocolChannel &channel : model.channels) {
    ChannelOp op = channel.op;
    if (!op.getPlaceAttr() || op.isTurn())
      continue;
    bool isTensor = channel.inTensorMemory;
    KernelOp kernel = model.kernel;
    int64_t limit = isTensor
                        ? kernel.getTmemColumns().value_or(target.tmemColumns)
                        : (kernel.getSmemBytes() ? getBarrierOffset(kernel)
                                                 : target.smemBytes);
    int64_t end = channel.offset + channel.stages * channel.size;
    if (channel.offset < 0 || end > limit)
      return reject(op, formatv("channel \"{0}\" ends at {1} of {2} {3}",
                                channel.label, end, limit,
                                isTensor ? "columns" : "bytes"));
    int64_t alignment = isTensor ? 1 : getSmemAlignment(op);
    if (channel.offset % alignment)
      return reject(
          op,
          formatv("channel \"{0}\" is at {1}, which is not a multiple of {2}",
                  channel.label, channel.offset, alignment));
    if (!op.getInPlaceOf())
      continue;
    auto owner = op.getInPlaceOf().getDefiningOp<ChannelOp>();
    int64_t begin = owner.getPlaceAttr().getOffset();
    int64_t ownerEnd =
        begin + channel.stages *
                    (isTensor ? getTmemColumns(owner) : getSmemBytes(owner));
    if (channel.offset < begin || end > ownerEnd)
      return reject(op,
                    formatv("channel \"{0}\" is at {1} to {2}, not inside of "
                            "\"{3}\" at {4} to {5}, in whose place it is",
                            channel.label, channel.offset, end,
                            owner.getLabel(), begin, ownerEnd));
  }
  return {};
}

Finding checkCapacity(const ProtocolModel &model,
                      const TargetDescription &target) {
  KernelOp kernel = model.kernel;
  int64_t bytes = kernel.getSmemBytes().value_or(0);
  int64_t columns = kernel.getTmemColumns().value_or(0);
  if (bytes > int64_t(target.smemBytes))
    return reject(kernel,
                  formatv("takes {0} bytes of shared memory; {1} has {2}",
                          bytes, target.chip, target.smemBytes));
  if (columns > int64_t(target.tmemColumns))
    return reject(kernel,
                  formatv("takes {0} columns of tensor memory; {1} has {2}",
                          columns, target.chip, target.tmemColumns));
  return {};
}

/// Checks that each channel has barriers of its own, and that all of them lie
/// inside of shared memory.
Finding checkBarriers(const ProtocolModel &model, ArrayRef<bool> isAcquired) {
  struct Range {
    int64_t begin, end;
    const ProtocolChannel *channel;
  };
  SmallVector<Range> ranges;
  for (auto [i, channel] : llvm::enumerate(model.channels)) {
    ChannelOp op = channel.op;
    // One check serves all CTAs of a cluster, which place their barriers alike.
    // All parts of an exchanged stage share barriers, except the received part,
    // which has its own.
    PlaceAttr place = op.getPlaceAttr();
    if (!place || channel.rank != 0 || channel.part == StagePart::Kept ||
        op.isTurn())
      continue;
    if (isAcquired[i] && !place.getEmpty())
      return reject(op, formatv("channel \"{0}\" is acquired, but has no "
                                "barriers for its empty stages",
                                channel.label));
    SmallVector<std::optional<Barriers>, 2> barriers{place.getFull(),
                                                     place.getEmpty()};
    if (channel.part == StagePart::Received)
      barriers = {place.getLanded()};
    for (const std::optional<Barriers> &stages : barriers)
      if (stages) {
        int64_t begin = stages->first;
        if (begin < 0)
          return reject(op, formatv("channel \"{0}\" has barrier {1}",
                                    channel.label, begin));
        ranges.push_back({begin, begin + channel.stages, &channel});
      }
  }
  for (size_t a = 0; a < ranges.size(); ++a)
    for (size_t b = a + 1; b < ranges.size(); ++b)
      if (ranges[a].begin < ranges[b].end && ranges[b].begin < ranges[a].end)
        return reject(ranges[b].channel->op,
                      formatv("channel \"{0}\" uses barrier {1}, which is one "
                              "of channel \"{2}\"",
                              ranges[b].channel->label,
                              std::max(ranges[a].begin, ranges[b].begin),
                              ranges[a].channel->label));
  return {};
}

/// Checks that each turn has a named barrier of its own, other than that of all
/// threads.
Finding checkTurns(const ProtocolModel &model,
                   const TargetDescription &target) {
  SmallVector<const ProtocolChannel *> ofBarrier(target.namedBarriers, nullptr);
  for (const ProtocolChannel &channel : model.channels) {
    ChannelOp op = channel.op;
    if (!op.isTurn() || !op.getPlaceAttr() || channel.rank != 0)
      continue;
    int64_t number = op.getPlaceAttr().getFull().first;
    if (number < 1 || number >= int64_t(target.namedBarriers))
      return reject(op,
                    formatv("turn \"{0}\" has named barrier {1}, not one "
                            "from 1 to {2}",
                            channel.label, number, target.namedBarriers - 1));
    if (ofBarrier[number])
      return reject(op,
                    formatv("turn \"{0}\" has named barrier {1}, which is "
                            "that of turn \"{2}\"",
                            channel.label, number, ofBarrier[number]->label));
    ofBarrier[number] = &channel;
  }
  return {};
}

Finding checkWarps(const ProtocolModel &model,
                   const TargetDescription &target) {
  int64_t registers = 0;
  SmallVector<const ProtocolRole *> ofWarp(target.maxWarps(), nullptr);
  SmallVector<int64_t> ofGroup;
  for (const ProtocolRole &role : model.roles) {
    RoleOp op = role.op;
    if (!op.getFirstWarp() || role.rank != 0)
      continue;
    int64_t first = *op.getFirstWarp(), end = first + op.getNumWarps();
    if (first < 0 || end > int64_t(target.maxWarps()))
      return reject(op, formatv("@{0} has warps {1} to {2}; a CTA has {3}",
                                role.name, first, end - 1, target.maxWarps()));
    for (int64_t warp = first; warp < end; ++warp) {
      if (ofWarp[warp])
        return reject(op, formatv("@{0} has warp {1}, which is one of @{2}",
                                  role.name, warp, ofWarp[warp]->name));
      ofWarp[warp] = &role;
      size_t group = warp / target.warpsPerWarpgroup();
      int64_t budget = op.getRegisters().value_or(0);
      ofGroup.resize(std::max(ofGroup.size(), group + 1), -1);
      // All warps of a warpgroup must execute the same setmaxnreg.
      if (ofGroup[group] != -1 && ofGroup[group] != budget)
        return reject(op, formatv("@{0} has {1} registers in warpgroup {2}, "
                                  "whose other warps have {3}",
                                  role.name, budget, group, ofGroup[group]));
      ofGroup[group] = budget;
    }
  }
  for (int64_t budget : ofGroup)
    registers += std::max<int64_t>(budget, 0) * target.warpgroupSize;
  if (registers > int64_t(target.registerFileWords))
    return reject(model.kernel,
                  formatv("roles have {0} registers in all; {1} has {2}",
                          registers, target.chip, target.registerFileWords));
  return {};
}

} // namespace

std::optional<ProtocolFinding>
fa4::tile::verifyPlacement(const ProtocolModel &model) {
  KernelOp kernel = model.kernel;
  const TargetDescription &target = kernel.getTarget();
  SmallVector<bool> isAcquired;
  for (const ProtocolChannel &channel : model.channels) {
    ChannelOp op = channel.op;
    isAcquired.push_back(
        llvm::any_of(op.getChannel().getUsers(),
                     [](Operation *u) { return isa<AcquireOp>(u); }));
  }
  if (auto finding = checkOffsets(model, target))
    return finding;
  if (auto finding = checkCapacity(model, target))
    return finding;
  if (auto finding = checkBarriers(model, isAcquired))
    return finding;
  if (auto finding = checkTurns(model, target))
    return finding;
  if (auto finding = checkWarps(model, target))
    return finding;
  return verifyBarriers(model, target);
}
