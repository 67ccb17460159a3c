//===- WorkTiles.cpp - which CTA works on which tile ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of work tiles and sizes are less than 2^31 (the manifest's
// conditions), so that sums and products of 32 bits do not wrap around.
//
//===----------------------------------------------------------------------===//

#include "RoleParts.h"
#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4::tile;

/// In the loop over work tiles a size is copied where it is used: what LLVM
/// computes from it in front of the loop would occupy registers.
Value WorkLowering::sizeNamed(StringRef name) {
  auto size = signature.size(name);
  Value value = number32(size);
  return kernel.isPersistent() && std::holds_alternative<unsigned>(size)
             ? pin(b, value)
             : value;
}

/// Returns how many work tiles, or clusters of them, there are along an axis.
Value WorkLowering::countAlong(unsigned axis) {
  ExtentAttr extent = kernel.getNumberedExtent(axis);
  Value count = sizeNamed(extent.getSize());
  if (extent.getTile() > 1)
    count = arith::CeilDivUIOp::create(b, count, constant(extent.getTile()));
  std::optional<unsigned> argument = kernel.getWorkCountArgument();
  if (axis != 0 || !argument)
    return count;
  // The launch in front of this one may have written it, when this one had
  // begun: it is not what ld.global.nc reads.
  Value listed = LLVM::LoadOp::create(b, b.getI32Type(),
                                      globalPointer(*argument, constant(0)));
  return arith::MinUIOp::create(b, listed, count);
}

Value WorkLowering::hasWorkTile() {
  bool isNumbered = kernel.getScheduleOrGrid() != Schedule::Grid;
  Value count = isNumbered ? getExtents().second : countAlong(0);
  Value number = readRegister(b, isNumbered ? getNumberRegister() : "ctaid.x");
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, count);
}

/// The extents of what is numbered, work tiles or clusters of them, and their
/// number.
std::pair<SmallVector<Value>, Value> WorkLowering::getExtents() {
  SmallVector<Value> extents;
  Value product;
  for (unsigned axis = 0; axis < kernel.getGrid().size(); ++axis) {
    extents.push_back(countAlong(axis));
    product = product ? arith::MulIOp::create(b, product, extents.back())
                      : extents.back();
  }
  return {extents, product};
}

std::pair<Value, Value> WorkLowering::findBlock(Value number, Value blocks,
                                                Value groups) {
  OrderAttr order = kernel.getOrderAttr();
  auto last = [&](Value count) {
    return arith::SubIOp::create(b, count, constant(1));
  };
  bool isWanted = order && order.getDescending();
  auto turned = [&](Value block, bool isDescending) -> Value {
    return isDescending == isWanted
               ? block
               : arith::SubIOp::create(b, last(blocks), block).getResult();
  };
  if (!order || order.getCacheBytes() == 0)
    return {turned(arith::RemUIOp::create(b, number, blocks), false),
            arith::DivUIOp::create(b, number, blocks)};
  Value width = constant(std::min<int64_t>(
      order.getCacheBytes() / order.getGroupBytes(), INT32_MAX));
  if (order.getSize())
    width =
        arith::DivUIOp::create(b, width, sizeNamed(order.getSize().getValue()));
  width = arith::MinUIOp::create(b, width, groups);
  width = arith::MaxUIOp::create(b, width, constant(1));
  Value fromEnd = arith::SubIOp::create(
      b, last(arith::MulIOp::create(b, groups, blocks)), number);
  Value perSection = arith::MulIOp::create(b, width, blocks);
  Value section = arith::DivUIOp::create(b, fromEnd, perSection);
  Value rest = arith::RemUIOp::create(b, fromEnd, perSection);
  Value behind = arith::MulIOp::create(b, section, width);
  Value present = arith::MinUIOp::create(
      b, width, arith::SubIOp::create(b, groups, behind));
  Value block = arith::DivUIOp::create(b, rest, present);
  Value group =
      arith::SubIOp::create(b, arith::SubIOp::create(b, last(groups), behind),
                            arith::RemUIOp::create(b, rest, present));
  return {turned(block, true), group};
}

/// Computes the coordinates of a work tile from its number, as OrderAttr says.
/// In a kernel with a cluster, the number is that of the cluster's work tiles,
/// and each CTA has the one of its rank.
SmallVector<Value> WorkLowering::findCoordinates(Value number,
                                                 ArrayRef<Value> extents) {
  OrderAttr order = kernel.getOrderAttr();
  unsigned axis = order ? order.getAxis() : 0;
  Value groups = constant(1);
  for (auto [i, extent] : llvm::enumerate(extents))
    if (i != axis)
      groups = arith::MulIOp::create(b, groups, extent);
  auto [block, group] = findBlock(number, extents[axis], groups);
  SmallVector<Value> coordinates;
  unsigned left = extents.size() - 1;
  for (auto [i, extent] : llvm::enumerate(extents)) {
    if (i == axis) {
      coordinates.push_back(block);
      continue;
    }
    // What is left of the number is the last coordinate.
    bool isLast = --left == 0;
    coordinates.push_back(
        isLast ? group : arith::RemUIOp::create(b, group, extent).getResult());
    if (!isLast)
      group = arith::DivUIOp::create(b, group, extent);
  }
  if (ClusterAttr cluster = kernel.getClusterAttr()) {
    Value &along = coordinates[cluster.getAxis()];
    along = arith::AddIOp::create(
        b, arith::MulIOp::create(b, along, constant(cluster.getSize())),
        readRegister(b, kRankRegister));
  }
  return coordinates;
}

LogicalResult WorkLowering::lower(WorkTileOp op) {
  Type i32 = b.getI32Type();
  bool isOneOfCluster =
      layout.clusterSize != 1 && kernel.getScheduleOrGrid() != Schedule::Grid;
  Value x = isOneOfCluster ? NVVM::ClusterIdXOp::create(b, i32).getResult()
                           : NVVM::BlockIdXOp::create(b, i32).getResult();
  SmallVector<Value> ids;
  if (kernel.getScheduleOrGrid() == Schedule::Grid)
    ids = {x, NVVM::BlockIdYOp::create(b, i32),
           NVVM::BlockIdZOp::create(b, i32)};
  else
    ids = findCoordinates(x, getExtents().first);
  for (auto [result, id] : llvm::zip(op.getResults(), ids))
    mapping.map(result, toIndex(id));
  return success();
}

/// Leaves what is the same for all work tiles where it is used: computed in
/// front of the loop, addresses would occupy registers through the loops
/// inside, which have none to spare.
static Attribute keepInvariants(Builder &b) {
  MLIRContext *context = b.getContext();
  auto licm = LLVM::LoopLICMAttr::get(context, b.getBoolAttr(true),
                                      /*versioningDisable=*/BoolAttr());
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, licm, {},
                                       {}, {}, {}, {}, {}, {}, {}, {});
}

/// Asks for a work tile where the response is committed, because the barrier
/// must expect its bytes first. The leader of a cluster asks for those of all
/// CTAs. Each of them gets the response, at a barrier that expects it. To
/// expect it hands on nothing, so that the arrival at another CTA's barrier is
/// relaxed.
LogicalResult WorkLowering::request(CommitOp op, const Buffer &buffer,
                                    Value stage, Value barrier) {
  std::optional<int64_t> bytes = buffer.full.bytes;
  if (!bytes)
    return op.emitOpError("needs a channel with the 'bytes' of a response (run "
                          "tile-allocate first)");
  expectBytes(barrier, *bytes);
  for (int64_t peer = 1; peer < layout.clusterSize; ++peer)
    NVVM::MBarrierArriveExpectTxOp::create(
        b, Type(), barrierOf(peer, barrier), constant(*bytes),
        NVVM::MemScopeKind::CLUSTER, /*relaxed=*/true, Value());
  auto multicast = layout.clusterSize == 1 ? UnitAttr() : b.getUnitAttr();
  NVVM::ClusterLaunchControlTryCancelOp::create(
      b, multicast, stagePointer(buffer, stage), barrier);
  return success();
}

/// Reads a response and decodes it at once: what the role keeps is the number
/// of the work tile, or of the cluster that has several. The fence orders the
/// read before the next response is written, which the asynchronous proxy does
/// (PTX ISA, clusterlaunchcontrol, example).
Value WorkLowering::readResponse(const Buffer &buffer, Value stage) {
  Value response = LLVM::LoadOp::create(
      b, b.getIntegerType(128), stagePointer(buffer, stage), /*alignment=*/16);
  fenceSharedMemory();
  using Query = NVVM::ClusterLaunchControlQueryType;
  Value isTile = NVVM::ClusterLaunchControlQueryCancelOp::create(
      b, b.getI1Type(), Query::IS_CANCELED, response);
  Value number = NVVM::ClusterLaunchControlQueryCancelOp::create(
      b, b.getI32Type(), Query::GET_FIRST_CTA_ID_X, response);
  if (layout.clusterSize != 1)
    number = arith::DivUIOp::create(b, number, constant(layout.clusterSize));
  return toIndex(arith::SelectOp::create(b, isTile, number, constant(-1)));
}

LogicalResult WorkLowering::lower(ResponseOp op) {
  if (!op.getChannel())
    return op.emitOpError("must read a response that the role has waited for");
  mapping.map(op.getNumber(), mapping.lookup(op.getResponse()));
  return success();
}

/// Moves the operations of the block up to `last`, which compute coordinates,
/// to where they are used first: what only the end of the work on a tile needs
/// occupies no register before.
static void sinkToUsers(Block &block, Operation *last) {
  for (Operation *op = last; op;) {
    Operation *before = op->getPrevNode();
    if (Operation *first = getFirstUser(op->getResults(), block))
      op->moveBefore(first);
    op = before;
  }
}

/// The special register with the number of the first work tile of the CTA, or
/// of the first ones of its cluster (PTX ISA, %ctaid and %clusterid).
StringRef WorkLowering::getNumberRegister() {
  return layout.clusterSize == 1 ? "ctaid.x" : "clusterid.x";
}

/// The number of the work tile of the pass, where it follows from that.
Value WorkLowering::tileOfPass(Value pass) {
  StringRef count = layout.clusterSize == 1 ? "nctaid.x" : "nclusterid.x";
  Value before = arith::MulIOp::create(b, pass, readRegister(b, count));
  return arith::AddIOp::create(b, before, readRegister(b, getNumberRegister()));
}

/// The loop over the work tiles of a CTA carries the number of the pass, from
/// which the number of the tile follows unless it is asked for, and the
/// positions in rings that do not follow from it. A CTA has one work tile at
/// least, so that the loop ends with its condition.
LogicalResult
WorkLowering::lower(WorkOp op,
                    llvm::function_ref<LogicalResult(Block &)> lowerBody) {
  Type i32 = b.getI32Type();
  NextOp nextOp = op.getNext();
  bool isRequested = bool(nextOp.getNumber());
  SmallVector<RingPositions::Group> counted, carried;
  for (RingPositions::Group &group : positions.groupsOf(op.getBody()))
    (group.countsPasses ? counted : carried).push_back(group);
  SmallVector<Value> inits = {constant(0)};
  for (auto &group : carried)
    inits.push_back(RingPositions::materialize(b, group.entry));
  if (isRequested)
    inits.push_back(readRegister(b, getNumberRegister()));
  SmallVector<Type> types(inits.size(), i32);
  auto bind = [&](ValueRange values) {
    for (auto &group : counted)
      positions.enter(group, add(values.front(), group.entry.offset));
    for (auto [i, group] : llvm::enumerate(carried))
      positions.enter(group, values[i + 1]);
  };
  auto loop = scf::WhileOp::create(b, types, inits);
  loop->setDiscardableAttr(kLoopAnnotation, keepInvariants(b));
  {
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Location> locations(types.size(), op.getLoc());
    Block *body = b.createBlock(&loop.getBefore(), {}, types, locations);
    Value pass = body->getArgument(0);
    Value number = isRequested ? body->getArguments().back() : tileOfPass(pass);
    for (auto [argument, value] : llvm::zip(
             op.getCoordinates(), findCoordinates(number, getExtents().first)))
      mapping.map(argument, toIndex(value));
    Operation *last = &body->back();
    bind(body->getArguments());
    if (failed(lowerBody(op.getBody().front())))
      return failure();
    sinkToUsers(*body, last);
    b.setLoc(op.getLoc());
    SmallVector<Value> next = {add(pass, 1)};
    for (auto &group : carried)
      next.push_back(RingPositions::materialize(b, positions.current(group)));
    Value nextNumber = isRequested ? toI32(mapping.lookup(nextOp.getNumber()))
                                   : tileOfPass(next.front());
    if (isRequested)
      next.push_back(nextNumber);
    // There is no tile -1: as an unsigned number, it is beyond the last one.
    Value isTile = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                         nextNumber, getExtents().second);
    scf::ConditionOp::create(b, isTile, next);
    Block *again = b.createBlock(&loop.getAfter(), {}, types, locations);
    scf::YieldOp::create(b, again->getArguments());
  }
  bind(loop.getResults());
  return success();
}
