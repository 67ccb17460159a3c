//===- RoleBuilder.cpp - roles and channels from a partition ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleBuilder.h"
#include "RoleEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {

/// Creates a channel for each value that crosses.
class ChannelBuilder {
public:
  ChannelBuilder(KernelOp kernel, const RolePartition &partition,
                 const TargetDescription &target, RoleCrossings &crossings,
                 OpBuilder &builder)
      : kernel(kernel), partition(partition), target(target),
        crossings(crossings), builder(builder) {}

  LogicalResult run();

private:
  LogicalResult create(Crossing &crossing);
  LogicalResult placeExchanges();
  LogicalResult checkDestinations();
  MemorySpace spaceOf(const Crossing &crossing);
  std::string labelOf(const Crossing &crossing);

  KernelOp kernel;
  const RolePartition &partition;
  const TargetDescription &target;
  RoleCrossings &crossings;
  OpBuilder &builder;
  llvm::StringMap<unsigned> labels;
};

} // namespace

MemorySpace ChannelBuilder::spaceOf(const Crossing &crossing) {
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
               getMatrixLayout(kernel, mma.getA().getType()).isMmaOperand();
      });
  return inTensorMemory ? MemorySpace::tmem : MemorySpace::smem;
}

/// Returns the label of a channel: `<tensor>` for a loaded value, otherwise
/// `<from>_<to>`. A number is added if the label is taken.
std::string ChannelBuilder::labelOf(const Crossing &crossing) {
  const RoleInfo &from = partition.getRoles()[crossing.from];
  std::string base = from.name + "_" + crossings.nameOf(crossing.to);
  if (auto load = crossing.value.getDefiningOp<LoadOp>())
    if (auto arg = dyn_cast<BlockArgument>(load.getSource()))
      base = kernel.getArgName(arg.getArgNumber()).str();
  unsigned number = labels[base]++;
  return number == 0 ? base : base + "_" + std::to_string(number + 1);
}

/// Reports an asynchronous operation (MMA, load) whose result would have to go
/// to two channels: the hardware writes the result to one place.
LogicalResult ChannelBuilder::checkDestinations() {
  llvm::DenseMap<Operation *, Crossing *> first;
  for (Crossing &crossing : crossings) {
    Operation *maker = RoleCrossings::getAsyncMaker(crossing);
    if (!maker)
      continue;
    Crossing *other = first.try_emplace(maker, &crossing).first->second;
    if (other->channel == crossing.channel)
      continue;
    InFlightDiagnostic diagnostic = maker->emitOpError(
        "makes a value that a loop carries to one role and that another role "
        "uses as well (roles '");
    diagnostic << crossings.nameOf(other->to) << "' and '"
               << crossings.nameOf(crossing.to)
               << "'): it would have to write two buffers";
    return diagnostic;
  }
  return success();
}

LogicalResult ChannelBuilder::create(Crossing &crossing) {
  Location loc = crossing.value.getLoc();
  Type type = crossing.value.getType();
  if (!isa<VectorType>(type) && !isWord(type))
    return emitError(loc, "a value of type ")
           << type << " is made by role '" << crossings.nameOf(crossing.from)
           << "' and used by '" << crossings.nameOf(crossing.to)
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
             << crossings.nameOf(crossing.from) << "' to '"
             << crossings.nameOf(crossing.to)
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
LogicalResult ChannelBuilder::placeExchanges() {
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

LogicalResult ChannelBuilder::run() {
  for (Crossing &crossing : crossings)
    if (Crossing *shared = crossings.findShared(crossing))
      crossing.channel = shared->channel;
    else if (failed(create(crossing)))
      return failure();
  if (failed(checkDestinations()) || failed(placeExchanges()))
    return failure();
  for (Crossing &crossing : crossings)
    if (Crossing *other = crossings.findHandOver(crossing)) {
      crossing.channel.getInPlaceOfMutable().assign(
          other->channel.getChannel());
      crossing.channel->moveAfter(other->channel);
      if (other->beginsAnew())
        crossing.channel.setInitial(1);
    }
  for (Crossing &crossing : crossings)
    if (crossing.eachIteration && !crossings.findHandOverTo(crossing))
      return emitError(crossing.value.getLoc(),
                       "a carried accumulator is read by role '")
             << crossings.nameOf(crossing.to)
             << "', which does not hand it back to the MMA";
  return success();
}

LogicalResult fa4::tile::buildRoles(KernelOp kernel,
                                    const RolePartition &partition,
                                    const TargetDescription &target) {
  Block &body = kernel.getBody().front();
  FailureOr<RoleCrossings> crossings =
      RoleCrossings::compute(kernel, partition);
  if (failed(crossings))
    return failure();
  auto builder = OpBuilder::atBlockEnd(&body);
  Block source;
  source.getOperations().splice(source.end(), body.getOperations());
  llvm::scope_exit eraseSource([&] {
    source.dropAllReferences();
    source.clear();
  });
  if (failed(
          ChannelBuilder(kernel, partition, target, *crossings, builder).run()))
    return failure();
  WorkOp work;
  ChannelOp next;
  if (kernel.getScheduleOrGrid() == Schedule::Requested)
    for (WorkOp op : source.getOps<WorkOp>())
      work = op;
  if (work)
    next =
        ChannelOp::create(builder, work.getLoc(), builder.getIntegerType(128),
                          StringRef("next"), MemorySpace::smem);
  for (auto [i, info] : llvm::enumerate(partition.getRoles())) {
    auto op = RoleOp::create(builder, kernel.getLoc(), StringRef(info.name),
                             info.getKind(), /*warps=*/IntegerAttr(),
                             IntegerAttr(), IntegerAttr());
    op.setLeader(kernel.getCluster() && info.task == RoleTask::Mma);
    op.getBody().emplaceBlock();
    RoleEmitter(op, i, partition, *crossings, next).emit(source);
  }
  if (work)
    emitRequests(work, next, builder);
  return success();
}
