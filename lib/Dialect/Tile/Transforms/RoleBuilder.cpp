//===- RoleBuilder.cpp - roles and channels from a partition ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleBuilder.h"
#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

/// A value that one role makes and another one uses.
struct Crossing {
  /// The value as the other role uses it: a result of an operation or of a
  /// loop, or a region argument of a loop.
  Value value;
  unsigned from;
  unsigned to;
  /// For a value that a loop carries: the loop and the number of the iter_arg.
  scf::ForOp loop;
  unsigned index = 0;
  /// True for a carried value that is also used inside of the loop. The value
  /// of each iteration crosses then, and the last one is the loop's result.
  bool eachIteration = false;
  ChannelOp channel;

  /// Returns true if the loop runs more than once in a role and its accumulator
  /// begins anew each time. The role that gets the accumulator then owns the
  /// buffer between two runs. It hands the buffer over before it waits for the
  /// accumulator.
  bool beginsAnew() const {
    return eachIteration &&
           isa_and_nonnull<scf::ForOp, WorkOp>(scf::ForOp(loop)->getParentOp());
  }
};

class RoleBuilder {
public:
  RoleBuilder(KernelOp kernel, const RolePartition &partition,
              const TargetDescription &target)
      : kernel(kernel), partition(partition), target(target) {}

  LogicalResult run();

private:
  LogicalResult findCrossings(Block &block);
  LogicalResult checkInits(scf::ForOp loop);
  LogicalResult checkNewBeginnings();
  LogicalResult addCrossing(Operation *user, Value value, unsigned to);
  LogicalResult createChannels(OpBuilder &builder);
  LogicalResult createChannel(Crossing &crossing, OpBuilder &builder);
  LogicalResult placeExchanges();
  Operation *asyncMaker(const Crossing &crossing);
  Crossing *findShared(const Crossing &crossing);
  LogicalResult checkDestinations();
  MemorySpace spaceOf(const Crossing &crossing);
  std::string labelOf(const Crossing &crossing);
  Crossing *findHandOver(const Crossing &crossing);
  Crossing *findHandOverTo(const Crossing &crossing);

  void acquireBegun(Operation *op, OpBuilder &builder);
  void emitBlock(Block &source, OpBuilder &builder, IRMapping &map);
  void emitLoop(scf::ForOp loop, OpBuilder &builder, IRMapping &map);
  bool needsLoop(scf::ForOp loop);
  scf::ForOp copyHead(scf::ForOp loop, ArrayRef<unsigned> kept,
                      OpBuilder &builder, IRMapping &map);
  void fillBody(scf::ForOp loop, scf::ForOp copy, ArrayRef<unsigned> kept,
                OpBuilder &builder, IRMapping &map);
  void commitResults(scf::ForOp loop, OpBuilder &builder, IRMapping &map);
  void waitForResults(scf::ForOp loop, OpBuilder &builder, IRMapping &map);
  void emitWork(WorkOp work, OpBuilder &builder, IRMapping &map);
  void emitRequests(WorkOp work, OpBuilder &builder);
  void emitNext(WorkOp work);
  bool getsNewAccumulators(scf::ForOp loop);
  void emitFirstPass(scf::ForOp loop, OpBuilder &builder, IRMapping &map);
  void handOverForNext(Block &source, OpBuilder &builder);
  void takeBackAtEnd(OpBuilder &builder);
  void emitOperation(Operation *op, OpBuilder &builder, IRMapping &map);
  void wait(Crossing &crossing, OpBuilder &builder, IRMapping &map);
  void placeReleases(RoleOp role);
  bool keepsIterArg(scf::ForOp loop, unsigned index);

  /// Calls `fn` for each crossing that the current role produces for `value`,
  /// or for a loop's iter_arg.
  template <typename Fn> void forEachFrom(Value value, Fn fn);

  KernelOp kernel;
  const RolePartition &partition;
  const TargetDescription &target;
  SmallVector<Crossing> crossings;
  /// The number of the role that is being built.
  unsigned role = 0;
  bool oneThread = false;
  /// The channel of the numbers of work tiles, in a kernel that asks for them.
  ChannelOp next;
  /// The loop whose first pass is being built in front of it.
  scf::ForOp peeled;
  llvm::StringMap<unsigned> labels;
};

} // namespace

//===----------------------------------------------------------------------===//
// Crossings
//===----------------------------------------------------------------------===//

LogicalResult RoleBuilder::addCrossing(Operation *user, Value value,
                                       unsigned to) {
  ValueOrigin origin = partition.getOrigin(value);
  if (origin.role == to)
    return success();
  bool inLoop = isa<BlockArgument>(value);
  for (Crossing &known : crossings) {
    if (known.to != to)
      continue;
    if (origin.loop ? known.loop == origin.loop && known.index == origin.index
                    : known.value == value) {
      known.eachIteration |= inLoop;
      return success();
    }
  }
  crossings.push_back(
      {value, origin.role, to, origin.loop, origin.index, inLoop, ChannelOp()});
  return success();
}

/// Checks that a role which carries a value through a loop also made its
/// initial value.
LogicalResult RoleBuilder::checkInits(scf::ForOp loop) {
  for (auto [init, arg] :
       llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs())) {
    if (!partition.isData(arg) || !partition.isData(init))
      continue;
    unsigned from = partition.getOrigin(init).role;
    unsigned to = partition.getOrigin(arg).role;
    if (from == to || matchPattern(init, m_Constant()))
      continue;
    return loop.emitOpError("carries a tile through role '")
           << partition.getRoles()[to].name
           << "' that starts from a tile of role '"
           << partition.getRoles()[from].name
           << "': an accumulator starts from zero, or goes on where another "
              "loop has left it";
  }
  return success();
}

LogicalResult RoleBuilder::findCrossings(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (failed(checkInits(loop)) || failed(findCrossings(*loop.getBody())))
        return failure();
      continue;
    }
    if (auto work = dyn_cast<WorkOp>(op)) {
      if (failed(findCrossings(work.getBody().front())))
        return failure();
      continue;
    }
    std::optional<unsigned> to = partition.getRole(&op);
    if (!to)
      continue;
    for (Value value : partition.getDataOperands(&op))
      if (failed(addCrossing(&op, value, *to)))
        return failure();
  }
  return success();
}

/// Checks that a loop whose accumulator begins anew makes at least one pass: a
/// role waits for the accumulator behind the loop.
LogicalResult RoleBuilder::checkNewBeginnings() {
  ExecutionCounts counts;
  for (Crossing &crossing : crossings)
    if (crossing.beginsAnew() && !counts.runsAtLeastOnce(crossing.loop))
      return scf::ForOp(crossing.loop)
                 .emitOpError("runs more than once in a CTA and carries an "
                              "accumulator that role '")
             << partition.getRoles()[crossing.to].name
             << "' works on in each pass, but may make no pass: not supported";
  return success();
}

/// Returns the crossing that hands the accumulator of this one back.
Crossing *RoleBuilder::findHandOverTo(const Crossing &crossing) {
  for (Crossing &other : crossings)
    if (other.channel.getInPlaceOf() &&
        other.channel.getInPlaceOf() ==
            ChannelOp(crossing.channel).getChannel())
      return &other;
  return nullptr;
}

/// Returns the crossing that brought the accumulator which this crossing hands
/// back. A role gets a carried accumulator in each iteration, multiplies it,
/// and returns it to the MMA.
Crossing *RoleBuilder::findHandOver(const Crossing &crossing) {
  if (crossing.loop)
    return nullptr;
  Value value = crossing.value;
  bool isAccumulator = llvm::any_of(value.getUses(), [](OpOperand &use) {
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    return mma && use.get() == mma.getAcc();
  });
  if (!isAccumulator)
    return nullptr;
  for (Crossing &other : crossings)
    if (other.eachIteration && other.to == crossing.from &&
        other.from == crossing.to && other.value.getType() == value.getType() &&
        other.loop.getBody() == value.getParentBlock() &&
        llvm::is_contained(partition.getDataOperands(value.getDefiningOp()),
                           Value(other.loop.getRegionIterArg(other.index))))
      return &other;
  return nullptr;
}

MemorySpace RoleBuilder::spaceOf(const Crossing &crossing) {
  if (!isa<VectorType>(crossing.value.getType()))
    return MemorySpace::smem;
  RoleTask from = partition.getRoles()[crossing.from].task;
  RoleTask to = partition.getRoles()[crossing.to].task;
  if (from == RoleTask::Mma)
    return MemorySpace::tmem;
  if (from == RoleTask::Load || from == RoleTask::Exchange ||
      to != RoleTask::Mma)
    return MemorySpace::smem;
  // An MMA reads its accumulator in tensor memory. It reads its first operand
  // there, too, unless that is transposed or folded: a folded one would have to
  // be there twice (PTX ISA, tcgen05, "Data Path Layout B").
  bool inTensorMemory =
      llvm::all_of(crossing.value.getUses(), [&](OpOperand &use) {
        auto mma = dyn_cast<MmaOp>(use.getOwner());
        if (!mma)
          return true;
        if (mma.getAcc() == use.get() && mma.getB() != use.get())
          return true;
        return target.mma.aFromAccumulatorSpace && mma.getA() == use.get() &&
               mma.getB() != use.get() && !mma.getTransposeA() &&
               getMatrixLayout(kernel, mma.getA().getType()).hasWholeRows();
      });
  return inTensorMemory ? MemorySpace::tmem : MemorySpace::smem;
}

/// Returns the label of a channel: `<tensor>` for a loaded value, otherwise
/// `<from>_<to>`. A number is added if the label is taken.
std::string RoleBuilder::labelOf(const Crossing &crossing) {
  const RoleInfo &from = partition.getRoles()[crossing.from];
  std::string base = from.name + "_" + partition.getRoles()[crossing.to].name;
  if (auto load = crossing.value.getDefiningOp<LoadOp>())
    if (auto arg = dyn_cast<BlockArgument>(load.getSource()))
      base = kernel.getArgName(arg.getArgNumber()).str();
  unsigned number = labels[base]++;
  return number == 0 ? base : base + "_" + std::to_string(number + 1);
}

/// Returns the load or MMA that makes the value that crosses (the last one, if
/// a loop carries it), or null. Such an operation writes a stage by itself, so
/// its result can have one channel only.
Operation *RoleBuilder::asyncMaker(const Crossing &crossing) {
  Value value = crossing.value;
  if (crossing.loop)
    value = scf::ForOp(crossing.loop).getYieldedValues()[crossing.index];
  value = getLastMade(value);
  Operation *op = value ? value.getDefiningOp() : nullptr;
  return isa_and_nonnull<LoadOp, MmaOp>(op) ? op : nullptr;
}

/// Returns the earlier crossing whose channel this one shares, or null. All
/// roles that use the result of a load or MMA wait for one channel.
Crossing *RoleBuilder::findShared(const Crossing &crossing) {
  if (!asyncMaker(crossing) || crossing.eachIteration)
    return nullptr;
  for (Crossing &other : crossings) {
    if (&other == &crossing)
      return nullptr;
    bool isSame = crossing.loop ? other.loop == crossing.loop &&
                                      other.index == crossing.index
                                : !other.loop && other.value == crossing.value;
    if (isSame && !other.eachIteration && other.from == crossing.from)
      return &other;
  }
  return nullptr;
}

/// Reports an asynchronous operation (MMA, load) whose result would have to go
/// to two channels: the hardware writes the result to one place.
LogicalResult RoleBuilder::checkDestinations() {
  llvm::DenseMap<Operation *, Crossing *> first;
  for (Crossing &crossing : crossings) {
    Operation *maker = asyncMaker(crossing);
    if (!maker)
      continue;
    Crossing *other = first.try_emplace(maker, &crossing).first->second;
    if (other->channel == crossing.channel)
      continue;
    auto nameOf = [&](const Crossing &c) {
      return partition.getRoles()[c.to].name;
    };
    InFlightDiagnostic diagnostic = maker->emitOpError(
        "makes a value that a loop carries to one role and that another role "
        "uses as well (roles '");
    diagnostic << nameOf(*other) << "' and '" << nameOf(crossing)
               << "'): it would have to write two buffers";
    return diagnostic;
  }
  return success();
}

LogicalResult RoleBuilder::createChannel(Crossing &crossing,
                                         OpBuilder &builder) {
  Location loc = crossing.value.getLoc();
  Type type = crossing.value.getType();
  if (!isa<VectorType>(type) && !isWord(type))
    return emitError(loc, "a value of type ")
           << type << " is made by role '"
           << partition.getRoles()[crossing.from].name << "' and used by '"
           << partition.getRoles()[crossing.to].name
           << "': only tiles and scalars of type index, i32, i1 or f32 can "
              "cross";
  IntegerAttr initial;
  if (crossing.eachIteration) {
    // No role hands a value over in the first iteration.
    bool undefinedAtFirst =
        llvm::all_of(crossing.value.getUsers(), [](Operation *user) {
          return isa<RescaleOp, arith::MulFOp>(user);
        });
    if (!undefinedAtFirst ||
        !matchPattern(crossing.loop.getInitArgs()[crossing.index],
                      m_AnyZeroFloat()))
      return emitError(loc, "a value that a loop carries from role '")
             << partition.getRoles()[crossing.from].name << "' to '"
             << partition.getRoles()[crossing.to].name
             << "' can only be an accumulator that starts from zero";
    if (!crossing.beginsAnew())
      initial = builder.getI64IntegerAttr(1);
  }
  crossing.channel =
      ChannelOp::create(builder, loc, type, StringRef(labelOf(crossing)),
                        spaceOf(crossing), initial);
  if (auto load = crossing.value.getDefiningOp<LoadOp>())
    crossing.channel.setSplitAttr(load.getSplitAttr());
  return success();
}

/// Puts the result of an exchange in place of the value that goes into it:
/// lanes write the part that stays in their CTA where MMAs read it.
LogicalResult RoleBuilder::placeExchanges() {
  for (Crossing &to : crossings) {
    auto exchange = to.value.getDefiningOp<ExchangeOp>();
    if (!exchange)
      continue;
    Crossing *from = llvm::find_if(crossings, [&](const Crossing &crossing) {
      return crossing.to == to.from && crossing.value == exchange.getTile();
    });
    const char *obstacle = from == crossings.end() ? "comes from no other role"
                           : from->loop            ? "is carried by a loop"
                           : from->value.getDefiningOp<LoadOp>() ? "is loaded"
                           : from->channel.getExchange() ? "is exchanged twice"
                                                         : nullptr;
    if (obstacle)
      return exchange.emitOpError("must take a tile that lanes compute for it "
                                  "alone, but this tile ")
             << obstacle;
    from->channel.setExchange(true);
    to.channel.getInPlaceOfMutable().assign(from->channel.getChannel());
    to.channel->moveAfter(from->channel);
  }
  return success();
}

LogicalResult RoleBuilder::createChannels(OpBuilder &builder) {
  for (Crossing &crossing : crossings)
    if (Crossing *shared = findShared(crossing))
      crossing.channel = shared->channel;
    else if (failed(createChannel(crossing, builder)))
      return failure();
  if (failed(checkDestinations()) || failed(placeExchanges()))
    return failure();
  for (Crossing &crossing : crossings)
    if (Crossing *other = findHandOver(crossing)) {
      crossing.channel.getInPlaceOfMutable().assign(
          other->channel.getChannel());
      crossing.channel->moveAfter(other->channel);
      if (other->beginsAnew())
        crossing.channel.setInitial(1);
    }
  for (Crossing &crossing : crossings)
    if (crossing.eachIteration &&
        llvm::none_of(crossings, [&](Crossing &other) {
          return other.channel.getInPlaceOf() == crossing.channel.getChannel();
        }))
      return emitError(crossing.value.getLoc(),
                       "a carried accumulator is read by role '")
             << partition.getRoles()[crossing.to].name
             << "', which does not hand it back to the MMA";
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

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

void RoleBuilder::wait(Crossing &crossing, OpBuilder &builder, IRMapping &map) {
  auto op = WaitOp::create(builder, crossing.channel.getLoc(),
                           crossing.channel.getValueType(),
                           crossing.channel.getChannel());
  map.map(crossing.value, op.getValue());
}

void RoleBuilder::emitOperation(Operation *op, OpBuilder &builder,
                                IRMapping &map) {
  std::optional<unsigned> owner = partition.getRole(op);
  if (owner && *owner != role) {
    for (Crossing &crossing : crossings)
      if (crossing.to == role && !crossing.loop &&
          crossing.value.getDefiningOp() == op)
        wait(crossing, builder, map);
    return;
  }
  // The values that leave the role here: results of the operation, and values
  // that the surrounding loop carries to its next iteration.
  SmallVector<std::pair<Crossing *, Value>> leaving;
  for (Crossing &crossing : crossings) {
    if (crossing.from != role)
      continue;
    Value value = crossing.value;
    // In a first pass that stands in front of its loop, the MMA has no
    // accumulator to wait for.
    if (Crossing *source = peeled ? findHandOver(crossing) : nullptr;
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
  // An asynchronous operation writes its stage from its issue on, so the stage
  // is acquired before.
  if (isa<LoadOp>(op) && !leaving.empty())
    acquire(builder, leaving.front().first->channel);
  if (isa<MmaOp>(op))
    acquireBegun(op, builder);
  builder.clone(*op, map);
  for (auto [crossing, value] : leaving) {
    if (!isa<LoadOp, MmaOp>(op))
      acquire(builder, crossing->channel);
    commit(builder, crossing->channel, map.lookup(value));
  }
}

/// Returns true if the role's copy of the loop keeps the iter_arg: the role
/// uses the carried value itself, or hands it on after the loop.
bool RoleBuilder::keepsIterArg(scf::ForOp loop, unsigned index) {
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
void RoleBuilder::acquireBegun(Operation *op, OpBuilder &builder) {
  if (!oneThread)
    return;
  for (Crossing &crossing : crossings) {
    Value value = crossing.value;
    if (crossing.loop)
      value = scf::ForOp(crossing.loop).getResult(crossing.index);
    if (crossing.from == role && !crossing.eachIteration &&
        findFirstMaker(value) == op && !findShared(crossing))
      acquire(builder, crossing.channel);
  }
}

void RoleBuilder::emitLoop(scf::ForOp loop, OpBuilder &builder,
                           IRMapping &map) {
  if (!needsLoop(loop))
    return waitForResults(loop, builder, map);
  SmallVector<unsigned> kept;
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (keepsIterArg(loop, i))
      kept.push_back(i);
  scf::ForOp copy = copyHead(loop, kept, builder, map);
  fillBody(loop, copy, kept, builder, map);
  for (auto [i, index] : llvm::enumerate(kept))
    map.map(loop.getResult(index), copy.getResult(i));
  commitResults(loop, builder, map);
  waitForResults(loop, builder, map);
}

/// Returns true if the role has work in the loop, or needs a result of the loop
/// that is no tile. Each role computes such results for itself.
bool RoleBuilder::needsLoop(scf::ForOp loop) {
  return partition.touches(loop, role) ||
         llvm::any_of(loop.getResults(), [&](Value result) {
           return !partition.isData(result) && !result.use_empty();
         });
}

/// Builds the loop without its body. The loop carries the `kept` values, those
/// of this role. If accumulators begin anew in the loop, its first pass stands
/// in front of it.
scf::ForOp RoleBuilder::copyHead(scf::ForOp loop, ArrayRef<unsigned> kept,
                                 OpBuilder &builder, IRMapping &map) {
  auto valuesOf = [&](ValueRange values) {
    SmallVector<Value> own;
    for (unsigned index : kept)
      own.push_back(map.lookupOrDefault(values[index]));
    return own;
  };
  SmallVector<Value> inits = valuesOf(loop.getInitArgs());
  // The stage of an accumulator that is handed over behind loops is acquired in
  // front of the first loop that works on it.
  acquireBegun(loop, builder);
  // Arguments of the kernel are in no map: roles use them as they are.
  Value lower = map.lookupOrDefault(loop.getLowerBound()),
        step = map.lookupOrDefault(loop.getStep());
  if (getsNewAccumulators(loop)) {
    emitFirstPass(loop, builder, map);
    inits = valuesOf(loop.getYieldedValues());
    lower = builder.createOrFold<arith::AddIOp>(loop.getLoc(), lower, step);
  }
  return scf::ForOp::create(builder, loop.getLoc(), lower,
                            map.lookupOrDefault(loop.getUpperBound()), step,
                            inits);
}

/// Builds the body of the copy. First come the waits for values that other
/// roles hand over in each pass.
void RoleBuilder::fillBody(scf::ForOp loop, scf::ForOp copy,
                           ArrayRef<unsigned> kept, OpBuilder &builder,
                           IRMapping &map) {
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
    wait(crossing, builder, map);
    map.map(loop.getRegionIterArg(crossing.index), map.lookup(crossing.value));
  }
  emitBlock(*loop.getBody(), builder, map);
  SmallVector<Value> yields;
  for (unsigned index : kept)
    yields.push_back(map.lookupOrDefault(loop.getYieldedValues()[index]));
  scf::YieldOp::create(builder, loop.getLoc(), yields);
}

/// Hands over the results of the loop that this role makes.
void RoleBuilder::commitResults(scf::ForOp loop, OpBuilder &builder,
                                IRMapping &map) {
  for (Crossing &crossing : crossings) {
    if (crossing.loop != loop || crossing.from != role ||
        crossing.eachIteration || findShared(crossing))
      continue;
    if (!oneThread)
      acquire(builder, crossing.channel);
    commit(builder, crossing.channel,
           map.lookup(loop.getResult(crossing.index)));
  }
}

/// Waits for the results of the loop that other roles make.
void RoleBuilder::waitForResults(scf::ForOp loop, OpBuilder &builder,
                                 IRMapping &map) {
  for (Crossing &crossing : crossings) {
    if (crossing.loop != loop || crossing.to != role)
      continue;
    wait(crossing, builder, map);
    map.map(loop.getResult(crossing.index), map.lookup(crossing.value));
  }
}

/// Returns true if this role works on accumulators of the loop that begin anew.
bool RoleBuilder::getsNewAccumulators(scf::ForOp loop) {
  return llvm::any_of(crossings, [&](const Crossing &crossing) {
    return crossing.loop == loop && crossing.to == role &&
           crossing.beginsAnew();
  });
}

/// Builds the loop's first pass. There are no accumulators yet: the role owns
/// their buffers and leaves them as they are. Zeros stand for them, and values
/// computed from these are not used.
void RoleBuilder::emitFirstPass(scf::ForOp loop, OpBuilder &builder,
                                IRMapping &map) {
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
  emitBlock(*loop.getBody(), builder, map);
  peeled = nullptr;
}

/// Hands over the buffers that accumulators have left behind the loops of
/// `source`, for the next run of these loops. The role has read the values that
/// it needs.
void RoleBuilder::handOverForNext(Block &source, OpBuilder &builder) {
  for (Crossing &crossing : crossings)
    if (crossing.beginsAnew() && crossing.to == role &&
        crossing.loop->getBlock() == &source)
      if (Crossing *back = findHandOverTo(crossing))
        commit(builder, back->channel, Value());
}

/// Takes back, at the end of the role, the buffers that were handed over for a
/// run of a loop that does not come.
void RoleBuilder::takeBackAtEnd(OpBuilder &builder) {
  for (Crossing &crossing : crossings)
    if (crossing.beginsAnew() && crossing.from == role)
      if (Crossing *back = findHandOverTo(crossing))
        WaitOp::create(builder, back->channel.getLoc(),
                       back->channel.getValueType(),
                       back->channel.getChannel());
}

void RoleBuilder::emitWork(WorkOp work, OpBuilder &builder, IRMapping &map) {
  if (!partition.touches(work, role))
    return;
  auto copy =
      WorkOp::create(builder, work.getLoc(), work.getCoordinates().size());
  map.map(work.getCoordinates(), copy.getCoordinates());
  OpBuilder inside(copy.getNext());
  emitBlock(work.getBody().front(), inside, map);
  emitNext(copy);
}

/// Waits for the number of the next work tile, behind the work on this one.
void RoleBuilder::emitNext(WorkOp work) {
  if (!next)
    return;
  OpBuilder builder(work.getNext());
  auto wait = WaitOp::create(builder, work.getLoc(), next.getValueType(),
                             next.getChannel());
  auto response = ResponseOp::create(builder, work.getLoc(),
                                     builder.getIndexType(), wait.getValue());
  work.getNext().getNumberMutable().assign(response.getNumber());
}

/// Builds the role that asks for work tiles. It asks for the next tile at the
/// beginning of each tile, so that the response is there when the tile ends.
/// The leader asks for all CTAs of a cluster.
void RoleBuilder::emitRequests(WorkOp work, OpBuilder &builder) {
  auto role =
      RoleOp::create(builder, work.getLoc(), "request", RoleKind::Issuer,
                     /*warps=*/IntegerAttr(), IntegerAttr(), IntegerAttr());
  role.setLeader(bool(kernel.getCluster()));
  auto inRole = OpBuilder::atBlockEnd(&role.getBody().emplaceBlock());
  auto copy =
      WorkOp::create(inRole, work.getLoc(), work.getCoordinates().size());
  OpBuilder inside(copy.getNext());
  AcquireOp::create(inside, work.getLoc(), next.getChannel());
  Value asked = RequestOp::create(inside, work.getLoc(), next.getValueType());
  commit(inside, next, asked);
  emitNext(copy);
  placeReleases(role);
}

void RoleBuilder::emitBlock(Block &source, OpBuilder &builder, IRMapping &map) {
  for (Operation &op : source)
    if (auto loop = dyn_cast<scf::ForOp>(op))
      emitLoop(loop, builder, map);
    else if (auto work = dyn_cast<WorkOp>(op))
      emitWork(work, builder, map);
    else if (!op.hasTrait<OpTrait::IsTerminator>())
      emitOperation(&op, builder, map);
  handOverForNext(source, builder);
}

/// Places waits directly before the first use in their block, and releases
/// after the last use.
void RoleBuilder::placeReleases(RoleOp role) {
  SmallVector<WaitOp> waits;
  role.walk([&](WaitOp op) { waits.push_back(op); });
  for (WaitOp op : waits) {
    Block *block = op->getBlock();
    Operation *last = op;
    if (Operation *first = getFirstUser(op.getValue(), *block)) {
      op->moveBefore(first);
      // The wait itself reads a scalar.
      if (isa<VectorType>(op.getValue().getType()))
        last = getLastUser(op.getValue(), *block);
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

/// Returns true if `value` reaches no operation with an effect. Collects the
/// operands of the terminator of `loop` that it reaches.
static bool reachesYieldOnly(scf::ForOp loop, Value value,
                             llvm::SmallDenseSet<unsigned> &yielded) {
  SmallVector<Value> work = {value};
  llvm::SmallDenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      if (user == loop.getBody()->getTerminator()) {
        yielded.insert(use.getOperandNumber());
        continue;
      }
      if (user->hasTrait<OpTrait::IsTerminator>())
        user = user->getParentOp();
      if (!isMemoryEffectFree(user))
        return false;
      llvm::append_range(work, user->getResults());
      for (Region &region : user->getRegions())
        llvm::append_range(work, region.getArguments());
    }
  }
  return true;
}

/// Returns the numbers of the iter_args that nothing needs but other such
/// iter_args.
static llvm::SmallDenseSet<unsigned> findDeadIterArgs(scf::ForOp loop) {
  llvm::SmallDenseSet<unsigned> dead;
  llvm::SmallDenseMap<unsigned, llvm::SmallDenseSet<unsigned>> yields;
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (loop.getResult(i).use_empty() &&
        reachesYieldOnly(loop, loop.getRegionIterArg(i), yields[i]))
      dead.insert(i);
  bool changed = true;
  while (changed) {
    changed = false;
    for (unsigned i = 0; i < loop.getNumResults(); ++i)
      if (dead.contains(i) && !llvm::all_of(yields[i], [&](unsigned to) {
            return dead.contains(to);
          }))
        changed |= dead.erase(i);
  }
  return dead;
}

static scf::ForOp dropDeadIterArgs(scf::ForOp loop) {
  llvm::SmallDenseSet<unsigned> dead = findDeadIterArgs(loop);
  if (dead.empty())
    return loop;
  auto isKept = [&](unsigned i) { return !dead.contains(i); };
  auto kept = llvm::to_vector(llvm::make_filter_range(
      llvm::seq<unsigned>(loop.getNumResults()), isKept));
  auto inits = llvm::map_to_vector(
      kept, [&](unsigned i) -> Value { return loop.getInitArgs()[i]; });
  OpBuilder builder(loop);
  auto copy = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep(), inits);
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (!copy.getBody()->empty())
    copy.getBody()->back().erase();
  loop.getInductionVar().replaceAllUsesWith(copy.getInductionVar());
  for (auto [number, i] : llvm::enumerate(kept)) {
    loop.getResult(i).replaceAllUsesWith(copy.getResult(number));
    loop.getRegionIterArg(i).replaceAllUsesWith(copy.getRegionIterArg(number));
  }
  // The remaining uses of these arguments are erased together with them.
  for (unsigned i : dead)
    loop.getRegionIterArg(i).replaceAllUsesWith(loop.getInitArgs()[i]);
  auto yielded = llvm::map_to_vector(
      kept, [&](unsigned i) -> Value { return loop.getYieldedValues()[i]; });
  loop.getBody()->getTerminator()->erase();
  copy.getBody()->getOperations().splice(copy.getBody()->end(),
                                         loop.getBody()->getOperations());
  auto end = OpBuilder::atBlockEnd(copy.getBody());
  scf::YieldOp::create(end, copy.getLoc(), yielded);
  loop.erase();
  return copy;
}

void fa4::tile::eraseDead(Block &block) {
  for (Operation &each : llvm::make_early_inc_range(llvm::reverse(block))) {
    Operation *op = &each;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      op = dropDeadIterArgs(loop);
    for (Region &region : op->getRegions())
      for (Block &nested : region)
        eraseDead(nested);
    if (isOpTriviallyDead(op))
      op->erase();
  }
}

LogicalResult RoleBuilder::run() {
  Block &body = kernel.getBody().front();
  if (failed(findCrossings(body)) || failed(checkNewBeginnings()))
    return failure();
  auto builder = OpBuilder::atBlockEnd(&body);
  Block source;
  source.getOperations().splice(source.end(), body.getOperations());
  LogicalResult created = createChannels(builder);
  WorkOp work;
  if (kernel.getScheduleOrGrid() == Schedule::Requested)
    for (WorkOp op : source.getOps<WorkOp>())
      work = op;
  if (work) {
    next =
        ChannelOp::create(builder, work.getLoc(), builder.getIntegerType(128),
                          StringRef("next"), MemorySpace::smem);
  }
  for (auto [i, info] : llvm::enumerate(partition.getRoles())) {
    if (failed(created))
      break;
    role = i;
    auto op = RoleOp::create(builder, kernel.getLoc(), StringRef(info.name),
                             info.getKind(), /*warps=*/IntegerAttr(),
                             IntegerAttr(), IntegerAttr());
    op.setLeader(kernel.getCluster() && info.task == RoleTask::Mma);
    oneThread = op.runsOnOneThread();
    auto inRole = OpBuilder::atBlockEnd(&op.getBody().emplaceBlock());
    IRMapping map;
    emitBlock(source, inRole, map);
    takeBackAtEnd(inRole);
    eraseDead(op.getBody().front());
    placeReleases(op);
  }
  if (work && succeeded(created))
    emitRequests(work, builder);
  source.dropAllReferences();
  source.clear();
  return created;
}

LogicalResult fa4::tile::buildRoles(KernelOp kernel,
                                    const RolePartition &partition,
                                    const TargetDescription &target) {
  return RoleBuilder(kernel, partition, target).run();
}
