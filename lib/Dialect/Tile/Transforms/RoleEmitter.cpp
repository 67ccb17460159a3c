//===- RoleEmitter.cpp - the code of a role ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleEmitter.h"
#include "EraseDead.h"
#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns true if the buffer changes hands with each commit, so that nobody
/// acquires or releases a stage.
static bool isInPlace(ChannelOp channel) {
  return channel.getInPlaceOf() ||
         llvm::any_of(channel->getUsers(), llvm::IsaPred<ChannelOp>);
}

/// Returns the result channel of the `tile.exchange` that reads `channel`, or
/// null.
static ChannelOp getExchanged(ChannelOp channel) {
  if (channel.getExchange())
    for (Operation *user : channel->getUsers())
      if (auto other = dyn_cast<ChannelOp>(user))
        return other;
  return ChannelOp();
}

/// Acquires the next stage of the channel. The buffer of an exchange is free
/// when MMAs have read the exchange's last result.
static void acquire(OpBuilder &builder, ChannelOp channel) {
  if (ChannelOp exchanged = getExchanged(channel))
    AcquireOp::create(builder, channel.getLoc(), exchanged.getChannel());
  else if (!isInPlace(channel))
    AcquireOp::create(builder, channel.getLoc(), channel.getChannel());
}

static void commit(OpBuilder &builder, ChannelOp channel, Value value) {
  CommitOp::create(builder, channel.getLoc(), channel.getChannel(), value);
}

void RoleEmitter::wait(Crossing &crossing) {
  auto op = WaitOp::create(builder, crossing.channel.getLoc(),
                           crossing.channel.getValueType(),
                           crossing.channel.getChannel());
  map.map(crossing.value, op.getValue());
}

/// Returns the values that leave the role behind `op`, and how: results of the
/// operation, and values that the surrounding loop carries to its next
/// iteration.
SmallVector<std::pair<Crossing *, Value>>
RoleEmitter::findLeaving(Operation *op) {
  SmallVector<std::pair<Crossing *, Value>> leaving;
  for (Crossing &crossing : crossings) {
    if (crossing.from != role)
      continue;
    Value value = crossing.value;
    // In a first pass that stands in front of its loop, the MMA has no
    // accumulator to wait for.
    if (Crossing *source = peeled ? crossings.findHandOver(crossing) : nullptr;
        source && source->loop == peeled)
      continue;
    if (crossing.loop) {
      if (!crossing.eachIteration)
        continue;
      value =
          crossing.loop.getBody()->getTerminator()->getOperand(crossing.index);
    }
    // Several roles may wait for one channel.
    bool isKnown = llvm::any_of(leaving, [&](auto &other) {
      return other.first->channel == crossing.channel;
    });
    if (value.getDefiningOp() == op && !isKnown)
      leaving.push_back({&crossing, value});
  }
  return leaving;
}

/// Returns the MMA that adds to the result of this one in the same block, where
/// nothing else uses it; or null.
static MmaOp getNextOfSum(MmaOp mma) {
  if (!mma->hasOneUse())
    return {};
  auto next = dyn_cast<MmaOp>(*mma->user_begin());
  return next && next->getBlock() == mma->getBlock() &&
                 next.getAcc() == mma.getResult() && !next.getAccumulate()
             ? next
             : MmaOp();
}

/// Makes the copy of an MMA one that lanes start, and returns its result. The
/// MMA and its wait stand side by side; passes that schedule move them apart.
/// The last MMA of a sum is awaited for all of them.
Value RoleEmitter::awaitResult(MmaOp source, MmaOp mma) {
  if (mma.getAcc() && isa<PendingType>(mma.getAcc().getType())) {
    mma.getOntoMutable().assign(mma.getAcc());
    mma.getAccMutable().clear();
  }
  mma.getResult().setType(
      PendingType::get(mma.getContext(), mma.getResultType()));
  if (getNextOfSum(source))
    return mma.getResult();
  return AwaitOp::create(builder, mma.getLoc(), mma.getResult());
}

/// Waits for the operands of an MMA that the role's lanes have computed and
/// that the MMA reads from memory. Returns their numbers and values.
SmallVector<std::pair<unsigned, Value>> RoleEmitter::waitForOwn(Operation *op) {
  SmallVector<std::pair<unsigned, Value>> values;
  for (Crossing &crossing : crossings) {
    if (crossing.from != role || crossing.to != role)
      continue;
    for (OpOperand &operand : op->getOpOperands()) {
      if (operand.get() != crossing.value ||
          !RolePartition::isReadFromMemory(op, operand.get()))
        continue;
      Value &waited = ownValues[crossing.value];
      if (!waited)
        waited = WaitOp::create(builder, crossing.channel.getLoc(),
                                crossing.channel.getValueType(),
                                crossing.channel.getChannel())
                     .getValue();
      values.push_back({operand.getOperandNumber(), waited});
    }
  }
  return values;
}

void RoleEmitter::emitOperation(Operation *op) {
  std::optional<unsigned> owner = partition.getRole(op);
  if (owner && *owner != role) {
    for (Crossing &crossing : crossings)
      if (crossing.to == role && !crossing.loop &&
          crossing.value.getDefiningOp() == op)
        wait(crossing);
    return;
  }
  auto leaving = findLeaving(op);
  // An asynchronous operation writes its stage from its issue on, so the stage
  // is acquired before.
  if (isa<LoadOp>(op) && !leaving.empty())
    acquire(builder, leaving.front().first->channel);
  if (isa<MmaOp>(op))
    acquireBegun(op);
  SmallVector<std::pair<unsigned, Value>> readBack = waitForOwn(op);
  Operation *copy = builder.clone(*op, map);
  for (auto [number, value] : readBack)
    copy->setOperand(number, value);
  auto mma = dyn_cast<MmaOp>(copy);
  if (mma && !oneThread)
    map.map(op->getResult(0), awaitResult(cast<MmaOp>(op), mma));
  for (auto [crossing, value] : leaving) {
    if (!isa<LoadOp>(op) && !(isa<MmaOp>(op) && oneThread))
      acquire(builder, crossing->channel);
    commit(builder, crossing->channel, map.lookup(value));
    ownValues.erase(value);
  }
}

/// Returns true if the role's copy of the loop keeps the iter_arg: the role
/// uses the carried value itself, or hands it on after the loop.
bool RoleEmitter::keepsIterArg(scf::ForOp loop, unsigned index) {
  Value arg = loop.getRegionIterArg(index);
  if (!partition.isData(arg))
    return true;
  if (partition.getOrigin(arg).role != role)
    return false;
  for (Crossing &crossing : crossings)
    if (crossing.loop == loop && crossing.index == index &&
        crossing.eachIteration)
      return false;
  return true;
}

/// Returns the MMA or loop of MMAs that began the accumulator `value`; others
/// of the same block may have added to it since. Returns null if `value` is no
/// accumulator.
static Operation *findFirstMaker(Value value) {
  Operation *first = nullptr;
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<MmaOp, scf::ForOp>(op) ||
        (first && first->getBlock() != op->getBlock()))
      break;
    first = op;
    auto mma = dyn_cast<MmaOp>(op);
    if (mma && !mma.getAcc())
      break;
    value = mma ? mma.getAcc()
                : scf::ForOp(cast<scf::ForOp>(op))
                      .getInitArgs()[cast<OpResult>(value).getResultNumber()];
  }
  return first;
}

/// Acquires the stages of accumulators that `op` begins.
void RoleEmitter::acquireBegun(Operation *op) {
  if (!oneThread)
    return;
  for (Crossing &crossing : crossings) {
    Value value = crossing.value;
    if (crossing.loop)
      value = scf::ForOp(crossing.loop).getResult(crossing.index);
    if (crossing.from == role && !crossing.eachIteration &&
        findFirstMaker(value) == op && !crossings.findShared(crossing))
      acquire(builder, crossing.channel);
  }
}

void RoleEmitter::emitLoop(scf::ForOp loop) {
  if (!needsLoop(loop))
    return waitForResults(loop);
  SmallVector<unsigned> kept;
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (keepsIterArg(loop, i))
      kept.push_back(i);
  scf::ForOp copy = copyHead(loop, kept);
  fillBody(loop, copy, kept);
  for (auto [i, index] : llvm::enumerate(kept))
    map.map(loop.getResult(index), copy.getResult(i));
  commitResults(loop);
  waitForResults(loop);
}

/// Returns true if the role has work in the loop, or needs a result of the loop
/// that is no tile. Each role computes such results for itself.
bool RoleEmitter::needsLoop(scf::ForOp loop) {
  return partition.touches(loop, role) ||
         llvm::any_of(loop.getResults(), [&](Value result) {
           return !partition.isData(result) && !result.use_empty();
         });
}

/// Builds the loop without its body. The loop carries the `kept` values, those
/// of this role. If accumulators begin anew in the loop, its first pass stands
/// in front of it.
scf::ForOp RoleEmitter::copyHead(scf::ForOp loop, ArrayRef<unsigned> kept) {
  auto valuesOf = [&](ValueRange values) {
    SmallVector<Value> own;
    for (unsigned index : kept)
      own.push_back(map.lookupOrDefault(values[index]));
    return own;
  };
  SmallVector<Value> inits = valuesOf(loop.getInitArgs());
  // If an accumulator is handed over behind several loops, its stage is
  // acquired in front of the first loop that works on the accumulator.
  acquireBegun(loop);
  // Arguments of the kernel are in no map: roles use them as they are.
  Value lower = map.lookupOrDefault(loop.getLowerBound()),
        step = map.lookupOrDefault(loop.getStep());
  if (getsNewAccumulators(loop)) {
    emitFirstPass(loop);
    inits = valuesOf(loop.getYieldedValues());
    lower = builder.createOrFold<arith::AddIOp>(loop.getLoc(), lower, step);
  }
  return scf::ForOp::create(builder, loop.getLoc(), lower,
                            map.lookupOrDefault(loop.getUpperBound()), step,
                            inits);
}

/// Builds the body of the copy. First come the waits for values that other
/// roles hand over in each pass.
void RoleEmitter::fillBody(scf::ForOp loop, scf::ForOp copy,
                           ArrayRef<unsigned> kept) {
  map.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [i, index] : llvm::enumerate(kept))
    map.map(loop.getRegionIterArg(index), copy.getRegionIterArg(i));
  OpBuilder::InsertionGuard guard(builder);
  if (copy.getBody()->mightHaveTerminator())
    copy.getBody()->getTerminator()->erase();
  builder.setInsertionPointToEnd(copy.getBody());
  for (Crossing &crossing : crossings) {
    if (crossing.loop != loop || crossing.to != role || !crossing.eachIteration)
      continue;
    wait(crossing);
    map.map(loop.getRegionIterArg(crossing.index), map.lookup(crossing.value));
  }
  emitBlock(*loop.getBody());
  SmallVector<Value> yields;
  for (unsigned index : kept)
    yields.push_back(map.lookupOrDefault(loop.getYieldedValues()[index]));
  scf::YieldOp::create(builder, loop.getLoc(), yields);
}

/// Hands over the results of the loop that this role makes.
void RoleEmitter::commitResults(scf::ForOp loop) {
  for (Crossing &crossing : crossings) {
    if (crossing.loop != loop || crossing.from != role ||
        crossing.eachIteration || crossings.findShared(crossing))
      continue;
    if (!oneThread)
      acquire(builder, crossing.channel);
    commit(builder, crossing.channel,
           map.lookup(loop.getResult(crossing.index)));
  }
}

/// Waits for the results of the loop that other roles make.
void RoleEmitter::waitForResults(scf::ForOp loop) {
  for (Crossing &crossing : crossings) {
    if (crossing.loop != loop || crossing.to != role)
      continue;
    wait(crossing);
    map.map(loop.getResult(crossing.index), map.lookup(crossing.value));
  }
}

/// Returns true if this role works on accumulators of the loop that begin anew.
bool RoleEmitter::getsNewAccumulators(scf::ForOp loop) {
  return llvm::any_of(crossings, [&](const Crossing &crossing) {
    return crossing.loop == loop && crossing.to == role &&
           crossing.beginsAnew();
  });
}

/// Builds the loop's first pass. There are no accumulators yet: the role owns
/// their buffers and leaves them as they are. Zeros stand for them, and values
/// computed from these are not used.
void RoleEmitter::emitFirstPass(scf::ForOp loop) {
  map.map(loop.getInductionVar(), map.lookupOrDefault(loop.getLowerBound()));
  for (auto [arg, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    map.map(arg, map.lookupOrDefault(init));
  for (Crossing &crossing : crossings)
    if (crossing.loop == loop && crossing.to == role && crossing.beginsAnew()) {
      Value arg = loop.getRegionIterArg(crossing.index);
      Value zero = arith::ConstantOp::create(
          builder, loop.getLoc(), builder.getZeroAttr(arg.getType()));
      map.map(arg, zero);
    }
  peeled = loop;
  emitBlock(*loop.getBody());
  peeled = nullptr;
}

/// Hands over the buffers that accumulators have left behind the loops of
/// `source`, for the next run of these loops. The role has read the values that
/// it needs.
void RoleEmitter::handOverForNext(Block &source) {
  for (Crossing &crossing : crossings)
    if (crossing.beginsAnew() && crossing.to == role &&
        crossing.loop->getBlock() == &source)
      if (Crossing *back = crossings.findHandOverTo(crossing))
        commit(builder, back->channel, Value());
}

/// Waits, at the end of the role, for the buffers that this role has handed
/// over for the next run of a loop. There is no next run.
void RoleEmitter::takeBackAtEnd() {
  for (Crossing &crossing : crossings)
    if (crossing.beginsAnew() && crossing.from == role)
      if (Crossing *back = crossings.findHandOverTo(crossing))
        WaitOp::create(builder, back->channel.getLoc(),
                       back->channel.getValueType(),
                       back->channel.getChannel());
}

/// Waits for the number of the next work tile, behind the work on this one.
static void emitNext(WorkOp work, ChannelOp next) {
  OpBuilder builder(work.getNext());
  auto wait = WaitOp::create(builder, work.getLoc(), next.getValueType(),
                             next.getChannel());
  auto response = ResponseOp::create(builder, work.getLoc(),
                                     builder.getIndexType(), wait.getValue());
  work.getNext().getNumberMutable().assign(response.getNumber());
}

void RoleEmitter::emitWork(WorkOp work) {
  if (!partition.touches(work, role))
    return;
  auto copy =
      WorkOp::create(builder, work.getLoc(), work.getCoordinates().size());
  map.map(work.getCoordinates(), copy.getCoordinates());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(copy.getNext());
    emitBlock(work.getBody().front());
  }
  if (next)
    emitNext(copy, next);
}

void RoleEmitter::emitBlock(Block &source) {
  for (Operation &op : source)
    if (auto loop = dyn_cast<scf::ForOp>(op))
      emitLoop(loop);
    else if (auto work = dyn_cast<WorkOp>(op))
      emitWork(work);
    else if (!op.hasTrait<OpTrait::IsTerminator>())
      emitOperation(&op);
  handOverForNext(source);
}

/// Places waits directly before the first use in their block, and releases
/// after the last use.
static void placeReleases(RoleOp role) {
  for (WaitOp op : fa4::collectOps<WaitOp>(role)) {
    Block *block = op->getBlock();
    Operation *last = op;
    if (Operation *first = getFirstUser(op.getValue(), *block)) {
      op->moveBefore(first);
      // The wait itself reads a scalar.
      if (isa<VectorType>(op.getValue().getType()))
        last = getLastRead(op.getValue(), *block);
    }
    auto channel = op.getChannel().getDefiningOp<ChannelOp>();
    if (isInPlace(channel) && !getExchangeBefore(channel))
      continue;
    // The result of an asynchronous operation is committed before its operands
    // are released, so the release goes behind the commit.
    while (isa_and_nonnull<CommitOp>(last->getNextNode()) &&
           isa<MmaOp, StoreOp, ReduceAddOp>(last))
      last = last->getNextNode();
    OpBuilder builder(block, std::next(Block::iterator(last)));
    ReleaseOp::create(builder, op.getLoc(), op.getChannel());
  }
}

void RoleEmitter::emit(Block &source) {
  Block &body = *builder.getInsertionBlock();
  emitBlock(source);
  takeBackAtEnd();
  eraseDead(body);
  placeReleases(cast<RoleOp>(body.getParentOp()));
}

void fa4::tile::emitRequests(WorkOp work, ChannelOp next, OpBuilder &builder) {
  auto role =
      RoleOp::create(builder, work.getLoc(), "request", RoleKind::Issuer,
                     /*warps=*/IntegerAttr(), IntegerAttr(), IntegerAttr());
  role.setLeader(bool(next->getParentOfType<KernelOp>().getCluster()));
  auto inRole = OpBuilder::atBlockEnd(&role.getBody().emplaceBlock());
  auto copy =
      WorkOp::create(inRole, work.getLoc(), work.getCoordinates().size());
  OpBuilder inside(copy.getNext());
  AcquireOp::create(inside, work.getLoc(), next.getChannel());
  Value asked = RequestOp::create(inside, work.getLoc(), next.getValueType());
  commit(inside, next, asked);
  emitNext(copy, next);
  placeReleases(role);
}
