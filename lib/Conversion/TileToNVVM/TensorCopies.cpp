//===- TensorCopies.cpp - tiles between tensors and shared memory ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleParts.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns the coordinates (i, j) of a copy at row `row` that ends at row
/// `to`, in the two dimensions of rows, whose element is row i + j - R (see
/// TensorMap). j is the row that the copy ends at. Where that is in front of
/// the tile, i is R or more, so that all of the tile is out of bounds.
std::pair<Value, Value> CopyLowering::boundedRow(const TensorMap &map,
                                                 int64_t dim, Value row,
                                                 Value to) {
  Value zero = constant(0);
  Value tileEnd = add(row, map.getRows());
  Value size = number32(signature.size(map.argument, dim));
  Value end = arith::MinSIOp::create(b, to, size);
  end = arith::MinSIOp::create(b, end, tileEnd);
  end = arith::MaxSIOp::create(b, end, zero);
  // A row in front of the tensor would be in bounds of the map. With a negative
  // coordinate, the copy engine traps at a store, as at all others, and loads
  // zeros.
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, zero);
  end = arith::SelectOp::create(b, isNegative, row, end);
  return {arith::SubIOp::create(b, tileEnd, end), end};
}

CopyPlace CopyLowering::placeOf(Operation *op, ValueRange indices) {
  auto load = dyn_cast<LoadOp>(op);
  int64_t splitDim =
      load && load.getSplit() ? load.getTileDims()[*load.getSplit()] : -1;
  CopyPlace place;
  place.indices.resize(indices.size());
  for (int64_t dim : signature.tensorMap(op).dims) {
    Value &index = place.indices[dim];
    if (index)
      continue;
    index = toI32(mapping.lookupOrDefault(indices[dim]));
    if (dim == splitDim)
      index = arith::AddIOp::create(b, index, firstOfPart(load));
  }
  if (Value to = getCopyEnd(op))
    place.to = toI32(mapping.lookupOrDefault(to));
  return place;
}

/// Returns the coordinates of box `box` of a tile, in the order of the tensor
/// map.
SmallVector<Value> CopyLowering::coordinates(const TensorMap &map,
                                             const CopyPlace &place,
                                             int64_t box) {
  SmallVector<Value> result;
  for (auto [number, dim] : llvm::enumerate(map.dims)) {
    Value index = place.indices[dim];
    result.push_back(number == 0 ? add(index, box * map.box.front()) : index);
  }
  if (map.second != -1)
    std::tie(result[map.getFirst()], result[map.second]) =
        boundedRow(map, map.dims[map.second], result[map.second], place.to);
  return result;
}

void CopyLowering::expectLoads(const Buffer &buffer, Value barrier,
                               int64_t bytes) {
  if (buffer.ranks.full == ArrivalReach::Own)
    return expectBytes(barrier, bytes);
  Value isLeader =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rank, constant(0));
  auto branch = scf::IfOp::create(b, isLeader, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  expectBytes(barrier, bytes);
}

Value CopyLowering::firstOfPart(LoadOp op) {
  int64_t size = op.getPartType().getDimSize(*op.getSplit());
  return arith::MulIOp::create(b, rank, constant(size));
}

void CopyLowering::forMapOfLoad(LoadOp op, ArrayRef<Value> coordinates,
                                llvm::function_ref<void(Value)> emit) {
  Value map = argument(signature.mapParameter(op));
  if (!op.getTo())
    return emit(map);
  const TensorMap &described = signature.tensorMap(op);
  Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                         coordinates[described.getFirst()],
                                         constant(described.getRows()));
  auto branch = scf::IfOp::create(b, isBehind, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emit(argument(signature.mapBehindParameter(op)));
  b.setInsertionPointToStart(branch.elseBlock());
  emit(map);
}

void CopyLowering::issue(const LoadTarget &target, Value to, Value map,
                         ValueRange at) {
  auto group = target.isOfPair ? NVVM::CTAGroupKindAttr::get(b.getContext(),
                                                             layout.getGroup())
                               : NVVM::CTAGroupKindAttr();
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, to, map, at, target.barrier, /*im2colOffsets=*/ValueRange(),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/!target.isOfPair, group,
      /*predicate=*/Value());
}

Value CopyLowering::pointerToBox(const LoadTarget &target, int64_t box,
                                 int64_t row) {
  const Buffer &buffer = target.buffer;
  Value to =
      stagePointer(buffer, target.stage,
                   box * buffer.boxBytes() + buffer.elementOffset(row, 0));
  return target.isOfPair ? castPointer(clusterPointer(), to) : to;
}

/// Issues one instruction for each box. The barrier completes with the last
/// byte of all boxes.
LogicalResult CopyLowering::load(LoadOp op, const Buffer &buffer, Value stage,
                                 Value barrier) {
  std::optional<int64_t> bytes = buffer.full.bytes;
  if (!bytes)
    return buffer.getChannel().emitOpError(
        "has no 'bytes' that loads put into a stage (run tile-allocate first)");
  expectLoads(buffer, barrier, *bytes);
  // Bytes that arrive in one CTA count at the barrier of another one only if
  // the copy is one of the pair (PTX ISA, cp.async.bulk.tensor, .cta_group::2).
  bool isOfPair = buffer.ranks.full == ArrivalReach::Leader;
  if (isOfPair)
    barrier = castPointer(barrier.getType(), barrierOf(0, barrier));
  LoadTarget target{buffer, stage, barrier, isOfPair};
  if (op.getPages()) {
    loadPages(op, target);
    return success();
  }
  for (int64_t box = 0; box < buffer.boxes(); ++box) {
    Value to = pointerToBox(target, box);
    SmallVector<Value> at =
        coordinates(signature.tensorMap(op), placeOf(op, op.getIndices()), box);
    forMapOfLoad(op, at, [&](Value map) { issue(target, to, map, at); });
  }
  return success();
}

LogicalResult CopyLowering::store(Operation *op, Value tile,
                                  ValueRange indices) {
  auto handle = handles.find(tile);
  if (!role.runsOnOneThread())
    return op->emitOpError("must be in a role of kind 'issuer', because one "
                           "thread starts a TMA store");
  if (handle == handles.end() || !handle->second.channel)
    return op->emitOpError("must store a tile that lies in a channel");
  const Buffer &buffer = layout.buffer(handle->second.channel);
  auto type = cast<VectorType>(tile.getType());
  if (buffer.tensorMemory)
    return op->emitOpError("stores a tile of channel \"")
           << ChannelOp(buffer.channel).getLabel()
           << "\" in tensor memory; TMA reads shared memory (smem)";
  if (handle->second.row != 0 || type.getDimSize(0) != buffer.rows)
    return op->emitOpError("stores ")
           << type.getDimSize(0) << " rows from row " << handle->second.row
           << " of a tile; it must store all " << buffer.rows << " rows";
  int64_t column = handle->second.column;
  int64_t end = column + (type.getRank() == 2 ? type.getDimSize(1) : 0);
  int64_t span = std::max<int64_t>(buffer.span / buffer.elementBytes, 1);
  if (column % span != 0 || end % span != 0)
    return op->emitOpError("stores columns ")
           << column << " to " << end - 1
           << " of a tile; they must begin and end at a multiple of " << span
           << ", the span of the swizzle";
  Value map = argument(signature.mapParameter(op));
  auto add = dyn_cast<ReduceAddOp>(op);
  if (add)
    turns.beginPart(add);
  int64_t boxes = 1, first = 0;
  if (buffer.span) {
    boxes = type.getDimSize(1) * buffer.elementBytes / buffer.span;
    first = handle->second.column * buffer.elementBytes / buffer.span;
  }
  for (int64_t box = 0; box < boxes; ++box) {
    Value source = stagePointer(buffer, handle->second.stage,
                                (first + box) * buffer.boxBytes());
    SmallVector<Value> at =
        coordinates(signature.tensorMap(op), placeOf(op, indices), box);
    if (add)
      NVVM::CpAsyncBulkTensorReduceOp::create(
          b, map, source, NVVM::TMAReduxKind::ADD, NVVM::TMAStoreMode::TILE, at,
          /*l2CacheHint=*/Value());
    else
      NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
          b, map, source, at, /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
          /*predicate=*/Value());
  }
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
  stores = true;
  if (add)
    turns.endPart(add);
  return success();
}

void CopyLowering::finish() {
  if (stores)
    waitForStores(/*read=*/false, /*pending=*/0);
}
