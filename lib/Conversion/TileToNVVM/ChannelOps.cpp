//===- ChannelOps.cpp - channels to mbarriers ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The order that makes a hand-over visible is that of the PTX ISA, memory
// consistency model, proxies, and tcgen05 memory consistency model.

#include "RoleParts.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4::tile;

void ChannelLowering::arriveAfterMmas(Value barrier, ArrivalReach reach) {
  Value mask;
  if (reach == ArrivalReach::All)
    mask = arith::ConstantIntOp::create(b, b.getI16Type(),
                                        (1 << layout.clusterSize) - 1);
  NVVM::Tcgen05CommitOp::create(b, barrier, mask, layout.getGroup());
}

LogicalResult ChannelLowering::lower(AcquireOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  const Buffer &buffer = layout.buffer(channel);
  if (!buffer.empty)
    return success();
  RingPosition position = positions.get(channel, RingUse::Acquire);
  Value stage = RingPositions::stage(b, position, buffer.stages);
  // All stages of a new ring are free, so the wait for the round before the
  // first one passes. A ring that starts with values has to be drained first.
  bool startsFree = channel.getInitial().value_or(0) == 0;
  spin(buffer, barrier(*buffer.empty, stage),
       RingPositions::parity(b, position, buffer.stages, startsFree),
       buffer.ranks.empty);
  if (buffer.tensorMemory)
    fenceTensorMemory(NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  positions.advance(channel, RingUse::Acquire);
  return success();
}

/// In a stage, a flag is a word, and an index has 32 bits.
Value ChannelLowering::readScalar(const Buffer &buffer, Value stage,
                                  Type type) {
  if (isResponse(type))
    return work.readResponse(buffer, stage);
  Type word = type.isF32() ? type : b.getI32Type();
  Value value = LLVM::LoadOp::create(b, word, stagePointer(buffer, stage));
  if (type.isIndex())
    return toIndex(value);
  if (!type.isInteger(1))
    return value;
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, constant(0));
}

/// Returns true if a wait or commit has the tile where the role has places of
/// tiles, and none where lanes access the stage themselves.
bool ChannelLowering::fitsRole(Value tile) {
  return tile ? isHandle(tile) : !role.runsOnOneThread();
}

/// The scalar is the same in all lanes of a role, of which the first one writes
/// it.
void ChannelLowering::writeScalar(const Buffer &buffer, Value stage,
                                  Value value) {
  if (value.getType().isIndex())
    value = toI32(value);
  else if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(b, b.getI32Type(), value);
  Value pointer = stagePointer(buffer, stage);
  OpBuilder::InsertionGuard guard(b);
  if (!role.runsOnOneThread()) {
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, row(), constant(0));
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  LLVM::StoreOp::create(b, value, pointer);
}

LogicalResult ChannelLowering::lower(WaitOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  const Buffer &buffer = layout.buffer(channel);
  // Turns (PTX ISA, bar.sync and bar.arrive with a number of threads).
  if (channel.isTurn()) {
    NVVM::BarrierOp::create(b, TypeRange(), constant(buffer.full.first),
                            constant(buffer.full.arrivals),
                            NVVM::BarrierReductionAttr(), Value());
    return success();
  }
  if (isResponse(channel.getValueType()) &&
      !llvm::all_of(op->getUsers(), llvm::IsaPred<ResponseOp>))
    return op.emitOpError("must be used by tile.response only, because nothing "
                          "else knows what is in a response");
  if (!channel.carriesScalars() && !fitsRole(op.getValue()))
    return role.runsOnOneThread()
               ? op.emitOpError("must have the tile as its result, because the "
                                "role issues operations on whole tiles")
               : op.emitOpError(
                     "must have no result, because the role's lanes read the "
                     "stage by tile.read (run tile-distribute first)");
  RingPosition position = positions.get(channel, RingUse::Wait);
  Value stage = RingPositions::stage(b, position, buffer.stages);
  // If a ring starts with values, its first round has no commits.
  bool startsFull = channel.getInitial().value_or(0) != 0;
  spin(buffer, barrier(buffer.full, stage),
       RingPositions::parity(b, position, buffer.stages, startsFull),
       buffer.ranks.full);
  if (buffer.ordersTensorMemory)
    fenceTensorMemory(NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  positions.advance(channel, RingUse::Wait);
  if (channel.carriesScalars())
    mapping.map(op.getValue(),
                readScalar(buffer, stage, op.getValue().getType()));
  else if (op.getValue())
    handles[op.getValue()] = {channel, stage, 0, 0};
  return success();
}

/// Builds the arrival of all threads of the role, behind fences that make their
/// accesses to the stage visible.
void ChannelLowering::arriveFromLanes(const Buffer &buffer, Value barrier,
                                      ArrivalReach reach) {
  if (buffer.ordersTensorMemory) {
    lanes.finish();
    fenceTensorMemory(NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  }
  arrive(buffer, barrier, reach);
}

void ChannelLowering::arriveFromWarps(const Buffer &buffer, Value barrier,
                                      ArrivalReach reach) {
  Value lane = arith::AndIOp::create(b, values.thread,
                                     constant(layout.target.warpSize - 1));
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, constant(0));
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  arrive(buffer, barrier, reach);
}

/// Commits what an asynchronous operation of the role writes.
LogicalResult ChannelLowering::commitIssued(CommitOp op, const Buffer &buffer,
                                            Value stage, Value full) {
  if (auto load = op.getValue().getDefiningOp<LoadOp>()) {
    if (buffer.tensorMemory)
      return op.emitOpError("commits a tile.load to tensor memory, but TMA "
                            "writes only to shared memory (smem)");
    return copies.load(load, buffer, stage, full);
  }
  if (op.getValue().getDefiningOp<ExchangeOp>()) {
    if (buffer.ordersTensorMemory)
      fenceTensorMemory(NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    arrive(buffer, full, buffer.ranks.full);
    return success();
  }
  if (op.getValue().getDefiningOp<RequestOp>())
    return work.request(op, buffer, stage, full);
  if (buffer.getChannel().carriesScalars())
    return op.emitOpError(
        "commits a value that is no response to a tile.request of the role");
  // A tile without a channel is an accumulator that a loop has carried.
  auto handle = handles.find(op.getValue());
  if (handle == handles.end() ||
      op.getValue().getDefiningOp<arith::ConstantOp>() ||
      (handle->second.channel && handle->second.channel != buffer.channel))
    return op.emitOpError(
        "commits a tile that lies in another channel's buffer; only the result "
        "of a tile.load or tile.mma of this role can be committed");
  arriveAfterMmas(full, buffer.ranks.full);
  return success();
}

LogicalResult ChannelLowering::lower(CommitOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  const Buffer &buffer = layout.buffer(channel);
  if (channel.isTurn()) {
    NVVM::BarrierArriveOp::create(b, constant(buffer.full.first),
                                  constant(buffer.full.arrivals));
    return success();
  }
  if (!channel.carriesScalars() && !fitsRole(op.getValue()))
    return role.runsOnOneThread()
               ? op.emitOpError("must have the tile as its operand, because "
                                "the role issues operations on whole tiles")
               : op.emitOpError(
                     "must have no value, because the role's lanes write the "
                     "stage by tile.write (run tile-distribute first)");
  RingPosition position = positions.get(channel, RingUse::Commit);
  Value stage = RingPositions::stage(b, position, buffer.stages);
  Value full = barrier(buffer.full, stage);
  positions.advance(channel, RingUse::Commit);
  bool isScalar = isWord(channel.getValueType());
  if ((isScalar || !op.getValue()) && buffer.ranks.full == ArrivalReach::All)
    return op.emitOpError(
        "commits a stage that threads of the leader write to roles of all CTAs "
        "of a cluster; only MMAs and requests write to all of them");
  if (isScalar)
    writeScalar(buffer, stage, mapping.lookupOrDefault(op.getValue()));
  if (isScalar || !op.getValue()) {
    arriveFromLanes(buffer, full, buffer.ranks.full);
    return success();
  }
  return commitIssued(op, buffer, stage, full);
}

LogicalResult ChannelLowering::lower(ReleaseOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  const Buffer &buffer = layout.buffer(channel);
  if (!buffer.empty)
    return success();
  RingPosition position = positions.get(channel, RingUse::Release);
  Value stage = RingPositions::stage(b, position, buffer.stages);
  positions.advance(channel, RingUse::Release);
  Value empty = barrier(*buffer.empty, stage);
  ArrivalReach reach = buffer.ranks.empty;
  // What the leader waits for beside all CTAs, it gives back to itself.
  if (role.getLeader() && reach == ArrivalReach::Leader)
    reach = ArrivalReach::Own;
  if (!role.runsOnOneThread()) {
    if (getReleaseCause(role, channel) == ArrivalCause::Awaited)
      arriveFromWarps(buffer, empty, reach);
    else
      arriveFromLanes(buffer, empty, reach);
    return success();
  }
  if (feeds<StoreOp, ReduceAddOp>(role, channel))
    waitForStores(/*read=*/true, storeGroups.mayBePending(op));
  if (feeds<MmaOp>(role, channel))
    arriveAfterMmas(empty, reach);
  else if (reach == ArrivalReach::All)
    return op.emitOpError("frees stages of all CTAs of a cluster, but no MMA "
                          "of the role reads the channel");
  else
    arrive(buffer, empty, reach);
  return success();
}
