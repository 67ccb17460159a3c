//===- Exchange.cpp - tiles of which each CTA has rows ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage of a channel whose tiles are exchanged, in each of the two CTAs:
//
//   result of the exchange: rows of the leader, rows of the peer | sent rows
//
// Each part has the boxes of its columns side by side (see Buffer). Lanes write
// the half of their columns that stays in the CTA to the rows of its rank, and
// the other half to the sent rows, from where one thread copies it to the same
// rows in the other CTA.
//
//===----------------------------------------------------------------------===//

#include "RoleParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4::tile;

/// The pattern of a swizzle repeats every so many rows.
static constexpr int64_t kSwizzleRows = 8;

Value LaneLowering::exchangedBox(const Buffer &buffer, int64_t column) {
  int64_t half = column / buffer.columns;
  int64_t box = column % buffer.columns * buffer.elementBytes / buffer.span;
  int64_t partBytes = buffer.boxBytes() / layout.clusterSize;
  Value stays =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rank, constant(half));
  return arith::SelectOp::create(
      b, stays, constant(box * buffer.boxBytes() + half * partBytes),
      constant(buffer.tileBytes() + box * partBytes));
}

/// The thread expects the bytes of the other CTA, sends its own, and waits. The
/// copy reads what lanes have written, and arrives at the other CTA's barrier,
/// which is in the memory that it writes to (PTX ISA, cp.async.bulk).
LogicalResult ChannelLowering::lower(ExchangeOp op) {
  auto handle = handles.find(op.getTile());
  if (!role.runsOnOneThread() || handle == handles.end())
    return op.emitOpError("must be in a role of kind 'issuer', because one "
                          "thread starts the copy to the other CTA");
  ChannelOp channel = handle->second.channel;
  const Buffer &buffer = layout.buffer(channel);
  int64_t rows = buffer.rows / layout.clusterSize;
  if (rows % kSwizzleRows != 0)
    return op.emitOpError("exchanges ")
           << rows << " rows; a multiple of " << kSwizzleRows
           << " is supported, as the swizzle repeats itself then";
  RingPosition position = lastWaited(channel);
  Value stage = RingPositions::stage(b, position, buffer.stages);
  Value landed = barrier(*buffer.landed, stage);
  expectBytes(landed, buffer.landed->bytes.value_or(0));

  Value peer = arith::XOrIOp::create(b, rank, constant(1));
  auto inPeer = [&](Value pointer) -> Value {
    return NVVM::MapaOp::create(b, clusterPointer(), pointer, peer);
  };
  Value peerLanded = castPointer(landed.getType(), inPeer(landed));
  int64_t partBytes = rows * buffer.span;
  Value firstRow = arith::MulIOp::create(b, rank, constant(partBytes));
  for (int64_t box = 0; box < buffer.boxes(); ++box) {
    Value to = stagePointer(buffer, stage, box * buffer.boxBytes());
    to = LLVM::GEPOp::create(b, to.getType(), b.getI8Type(), to,
                             LLVM::GEPArg(firstRow));
    Value from =
        stagePointer(buffer, stage, buffer.tileBytes() + box * partBytes);
    NVVM::CpAsyncBulkSharedCTAToSharedClusterOp::create(
        b, inPeer(to), from, peerLanded, constant(partBytes));
  }
  spin(buffer, landed,
       RingPositions::parity(b, position, buffer.stages,
                             /*inverted=*/false),
       ArrivalReach::Leader);
  return success();
}
