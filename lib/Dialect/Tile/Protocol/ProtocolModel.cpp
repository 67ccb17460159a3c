//===- ProtocolModel.cpp - roles as programs of synchronisation ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include "ProtocolLanes.h"
#include "ProtocolNumbers.h"
#include "ProtocolPeers.h"
#include "fa4/Dialect/Tile/Analysis/ChannelRanks.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/Uniformity.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

Unknown::Unknown(unsigned number, ArrayRef<int64_t> passes) : key(number) {
  assert(passes.size() <= 2 && "deeper unknowns are not made");
  for (auto [i, pass] : llvm::enumerate(passes))
    key |= uint64_t(pass + 1) << (i == 0 ? 42 : 21);
}

SmallVector<int64_t, 2> Unknown::passes() const {
  SmallVector<int64_t, 2> result;
  for (uint64_t pass : {key >> 42, (key >> 21) & kMask})
    if (pass != 0)
      result.push_back(int64_t(pass) - 1);
  return result;
}

LinearForm ProtocolModel::instantiate(const LinearForm &form,
                                      ArrayRef<int64_t> passes) const {
  LinearForm result;
  result.constant = form.constant;
  for (auto [unknown, coefficient] : form.terms) {
    unsigned number = unknown.number();
    result.terms[Unknown(number, passes.take_front(depths[number]))] =
        coefficient;
  }
  return result;
}

void LinearForm::add(const LinearForm &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [unknown, coefficient] : other.terms) {
    int64_t &sum = terms[unknown];
    sum += factor * coefficient;
    if (sum == 0)
      terms.erase(unknown);
  }
}

bool ProtocolCondition::holds(Predicate predicate, int64_t value) {
  switch (predicate) {
  case Equal:
    return value == 0;
  case NotEqual:
    return value != 0;
  case Less:
    return value < 0;
  case LessEqual:
    return value <= 0;
  case Greater:
    return value > 0;
  case GreaterEqual:
    return value >= 0;
  }
  llvm_unreachable("covered");
}

void fa4::tile::forEachStep(ArrayRef<Step> steps,
                            llvm::function_ref<void(const Step &)> visit) {
  for (const Step &step : steps) {
    visit(step);
    forEachStep(step.body, visit);
    forEachStep(step.elseBody, visit);
  }
}

/// Returns true if two parts of an exchanged stage may share memory. The result
/// of an exchange lies where the kept and the received tile were.
static bool mayOverlap(StagePart a, StagePart b) {
  auto isOfResult = [](StagePart part) {
    return part == StagePart::Kept || part == StagePart::Received;
  };
  return a == b || (a == StagePart::Result && isOfResult(b)) ||
         (b == StagePart::Result && isOfResult(a));
}

bool ProtocolModel::overlap(unsigned channel, int64_t stage, unsigned other,
                            int64_t otherStage) const {
  const ProtocolChannel &a = channels[channel], &b = channels[other];
  if (a.inTensorMemory != b.inTensorMemory || a.rank != b.rank)
    return false;
  if (a.exchange != -1 && a.exchange == b.exchange &&
      !mayOverlap(a.part, b.part))
    return false;
  if (llvm::is_contained(a.after, other) ||
      llvm::is_contained(b.after, channel))
    return true;
  int64_t beginA = a.offset + stage * a.size;
  int64_t beginB = b.offset + otherStage * b.size;
  return beginA < beginB + b.size && beginB < beginA + a.size;
}

namespace {

class ModelBuilder {
public:
  explicit ModelBuilder(KernelOp kernel) : bufferOf(numberBuffers(kernel)) {
    model.kernel = kernel;
  }
  ModelBuilder(const ModelBuilder &) = delete;
  FailureOr<ProtocolModel> run();

private:
  using Steps = std::vector<Step>;

  LogicalResult addChannels();
  LogicalResult checkSides(const ChannelUses &uses, ProtocolChannel &channel);
  LogicalResult checkAcquires(const ChannelUses &uses,
                              ProtocolChannel &channel);
  LogicalResult placeChannels();
  void addExchanges();
  LogicalResult addRole(RoleOp op);

  LogicalResult addBlock(Block &block, Steps &steps);
  LogicalResult addOperation(Operation &op, Steps &steps);
  LogicalResult addChannelOperation(Operation &op, Steps &steps);
  LogicalResult addOneChannelOperation(Operation &op, Steps &steps);
  LogicalResult addAsynchronous(Operation &op, Steps &steps);
  LogicalResult addMma(MmaOp op, Step &step);
  LogicalResult addExchange(ExchangeOp op, Steps &steps);
  void addWithKept(Step step, Steps &steps);
  LogicalResult addLoop(scf::ForOp loop, Steps &steps);
  LogicalResult addWork(WorkOp work, Steps &steps);
  LogicalResult checkNext(WorkOp work);
  LogicalResult addIf(scf::IfOp branch, Steps &steps);
  LogicalResult addRead(ReadOp read, Steps &steps);
  LogicalResult addSelection(arith::SelectOp select, Steps &steps);
  LogicalResult addGuarded(Value condition, bool isTaken, Step access,
                           Steps &steps);
  void addLaneReads(Operation &op, Steps &steps);
  void readBefore(Operation &op, Steps &steps);

  unsigned roleNumber() const { return role - model.roles.data(); }
  unsigned channelOf(Value handle) {
    return channelIndex.lookup(handle.getDefiningOp());
  }
  /// Returns the variable of a value that may be in a stage. Variable 0 is in
  /// no stage.
  unsigned variableOf(Value value) { return variables.lookup(value); }
  unsigned newVariable(Value value) {
    return variables[value] = role->variables++;
  }
  /// Returns the channel to which the result of an asynchronous operation is
  /// committed.
  FailureOr<int> findTarget(Operation *op);
  LogicalResult needStage(Operation &op, Value operand, Step &step);

  ProtocolModel model;
  ProtocolNumbers numbers{model};
  ProtocolRole *role = nullptr;
  DenseMap<Operation *, unsigned> channelIndex;
  DenseMap<Operation *, unsigned> roleIndex;
  /// The channel from which roles read the numbers of their next work tiles.
  ChannelOp responses;
  DenseMap<Value, unsigned> variables;
  /// For each buffer, the waits of a computing role whose values are not read
  /// yet.
  DenseMap<unsigned, SmallVector<WaitOp>> waited;
  DenseMap<Value, unsigned> bufferOf;
  /// The channels of the parts that a CTA keeps and receives in an exchange.
  /// `exchanges` maps the channel of the part that it sends to them.
  struct Exchange {
    unsigned kept, received;
  };
  std::map<int, Exchange> exchanges;
  /// Maps the variable of a stage that is sent to the variable of the stage
  /// that is kept.
  std::map<unsigned, unsigned> keptWith;
  /// Reads that stand in front of a branch but only matter in one of its
  /// regions.
  DenseMap<Region *, Steps> readsOf;
};

} // namespace

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

LogicalResult ModelBuilder::checkSides(const ChannelUses &uses,
                                       ProtocolChannel &channel) {
  ChannelOp op = channel.op;
  auto report = [&](Operation *at) {
    return at->emitError("channel \"") << channel.label << "\" ";
  };
  if (uses.producers.size() > 1) {
    auto first = uses.producers[0];
    auto second = uses.producers[1];
    return report(op) << "has two producers, @" << first.getSymName()
                      << " and @" << second.getSymName();
  }
  bool isUsed = !uses.producers.empty() || !uses.consumers.empty();
  if (isUsed && uses.commits.empty() && channel.initial == 0)
    return report(op) << "is never committed";
  if (isUsed && uses.waits.empty())
    return report(op) << "is committed, but no role waits for it";
  for (WriteOp write : uses.writes)
    if (!uses.producers.contains(write->getParentOfType<RoleOp>()))
      return report(write) << "is written by a role that does not commit it";
  for (ReadOp read : uses.reads) {
    auto reader = read->getParentOfType<RoleOp>();
    if (!uses.consumers.contains(reader))
      return report(read) << "is read by a role that does not wait for it";
  }
  if (!uses.producers.empty())
    channel.producer = roleIndex.lookup(uses.producers[0]);
  for (RoleOp consumer : uses.consumers)
    channel.consumers.push_back(roleIndex.lookup(consumer));
  llvm::sort(channel.consumers);
  return checkAcquires(uses, channel);
}

/// Checks that one role acquires the stages: the role that commits them, or a
/// role that commits another value in the same buffer.
LogicalResult ModelBuilder::checkAcquires(const ChannelUses &uses,
                                          ProtocolChannel &channel) {
  auto commitsToBuffer = [&](RoleOp op) {
    return op
        ->walk([&](CommitOp commit) {
          return bufferOf.lookup(commit.getChannel()) ==
                         bufferOf.lookup(ChannelOp(channel.op).getChannel())
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (AcquireOp acquire : uses.acquires) {
    auto op = acquire->getParentOfType<RoleOp>();
    int number = roleIndex.lookup(op);
    if (channel.acquirer != -1 && channel.acquirer != number)
      return acquire.emitError("channel \"")
             << channel.label << "\" is acquired by two roles";
    if (!commitsToBuffer(op))
      return acquire.emitError("channel \"")
             << channel.label << "\" is acquired by @" << op.getSymName()
             << ", which commits no value of its buffer";
    channel.acquirer = number;
  }
  return success();
}

/// Returns true if `value` may be a value of `owner`, perhaps rescaled, on any
/// path that leads to `value`.
static bool mayComeFrom(ChannelOp owner, Value value) {
  llvm::SmallSetVector<Value, 4> values;
  values.insert(value);
  for (unsigned i = 0; i < values.size(); ++i)
    for (Value origin : getOrigins(values[i], FlowThrough::Regions)) {
      if (auto rescale = origin.getDefiningOp<RescaleOp>())
        values.insert(rescale.getValue());
      auto wait = origin.getDefiningOp<WaitOp>();
      if (wait && wait.getChannel() == owner.getChannel())
        return true;
    }
  return false;
}

/// Returns true if each commit may hand on a value of `owner`: it commits such
/// a value, or no lane writes the stage in the block of the commit.
static bool handsOn(ChannelOp owner, const ChannelUses &uses) {
  return llvm::all_of(uses.commits, [&](CommitOp commit) {
    if (commit.getValue())
      return mayComeFrom(owner, commit.getValue());
    return llvm::none_of(uses.writes, [&](WriteOp write) {
      return write->getBlock() == commit->getBlock();
    });
  });
}

/// Counts the values of the channel that nobody has written: its own initial
/// values. If the channel hands on the values of the owner of its memory, the
/// owner's initial values follow them.
static int64_t countUndefined(ChannelOp op, const ChannelUses &uses) {
  int64_t initial = op.getInitial().value_or(0);
  auto owner = op.getInPlaceOf() ? op.getInPlaceOf().getDefiningOp<ChannelOp>()
                                 : ChannelOp();
  if (!owner || owner.getValueType() != op.getValueType() ||
      !handsOn(owner, uses))
    return initial;
  return initial + owner.getInitial().value_or(0);
}

LogicalResult ModelBuilder::addChannels() {
  for (auto [channelOp, uses] : collectChannelUses(model.kernel)) {
    ChannelOp op = channelOp;
    channelIndex[op] = model.channels.size();
    ProtocolChannel &channel = model.channels.emplace_back();
    channel.op = op;
    channel.label = op.getLabel().str();
    channel.stages = op.getStages();
    channel.initial = op.getInitial().value_or(0);
    channel.undefined = countUndefined(op, uses);
    channel.inTensorMemory = op.getSpace() == MemorySpace::tmem;
    channel.size =
        channel.inTensorMemory ? getTmemColumns(op) : getSmemBytes(op);
    FailureOr<ChannelRanks> ranks = findChannelRanks(uses);
    if (failed(ranks) || failed(checkSides(uses, channel)))
      return failure();
    channel.hasRelaxedCommits = ranks->isRelaxed(ranks->full);
    channel.hasRelaxedReleases = ranks->isRelaxed(ranks->empty);
  }
  if (failed(placeChannels()))
    return failure();
  addExchanges();
  return success();
}

/// Adds channels for the other parts of the stages that an exchange splits.
void ModelBuilder::addExchanges() {
  unsigned size = model.channels.size();
  auto addPart = [&](unsigned sent, StagePart part, StringRef what) {
    ProtocolChannel channel = model.channels[sent];
    channel.part = part;
    channel.label += what;
    for (ProtocolChannel &other : model.channels)
      if (llvm::is_contained(other.after, sent))
        other.after.push_back(model.channels.size());
    model.channels.push_back(std::move(channel));
    return model.channels.size() - 1;
  };
  for (unsigned sent = 0; sent < size; ++sent) {
    ChannelOp op = model.channels[sent].op;
    if (!op.getExchange())
      continue;
    for (unsigned other = 0; other < size; ++other)
      if (model.channels[other].op.getInPlaceOf() == op.getChannel()) {
        model.channels[other].exchange = sent;
        model.channels[other].part = StagePart::Result;
      }
    model.channels[sent].exchange = sent;
    model.channels[sent].part = StagePart::Sent;
    unsigned kept = addPart(sent, StagePart::Kept, " (kept)");
    unsigned received = addPart(sent, StagePart::Received, " (received)");
    // The role that has the value sends it to the other CTA.
    ProtocolChannel &channel = model.channels[received];
    channel.producer =
        channel.consumers.empty() ? -1 : int(channel.consumers.front());
    channel.acquirer = -1;
    exchanges[sent] = {kept, received};
  }
}

LogicalResult ModelBuilder::placeChannels() {
  ProtocolChannel *placed = nullptr, *unplaced = nullptr;
  for (ProtocolChannel &channel : model.channels)
    (channel.op.getOffset() ? placed : unplaced) = &channel;
  if (placed && unplaced)
    return unplaced->op.emitError("channel \"")
           << unplaced->label << "\" has no offset, but \"" << placed->label
           << "\" has one";
  if (!unplaced) {
    for (ProtocolChannel &channel : model.channels)
      channel.offset = *channel.op.getOffset();
    return success();
  }
  // Buffers are laid side by side. If one buffer may take over the memory of
  // another, the two count as overlapping.
  int64_t next = 0;
  auto channelOfOp = [&](ChannelOp op) -> ProtocolChannel & {
    return model.channels[channelIndex.lookup(op)];
  };
  SmallVector<SmallVector<ChannelOp>> buffers = collectBuffers(model.kernel);
  DenseMap<Operation *, unsigned> bufferOfOwner;
  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    bufferOfOwner[buffer.front()] = number;
    for (ChannelOp member : buffer)
      channelOfOp(member).offset = next + getPlaceInBuffer(member);
    const ProtocolChannel &owner = channelOfOp(buffer.front());
    next += owner.size * owner.stages;
  }
  for (ArrayRef<ChannelOp> buffer : buffers)
    for (Value earlier : ChannelOp(buffer.front()).getAfter())
      for (ChannelOp other :
           buffers[bufferOfOwner.lookup(earlier.getDefiningOp())])
        for (ChannelOp member : buffer)
          channelOfOp(member).after.push_back(channelIndex.lookup(other));
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult ModelBuilder::addRole(RoleOp op) {
  role = &model.roles[roleIndex.lookup(op)];
  role->op = op;
  role->name = op.getSymName().str();
  role->oneThread = op.runsOnOneThread();
  role->variables = 1;
  variables.clear();
  waited.clear();
  if (failed(verifyUniformity(op)) ||
      failed(addBlock(op.getBody().front(), role->body)))
    return failure();
  return role->oneThread ? success()
                         : completeLaneCommits(model, roleIndex.lookup(op));
}

LogicalResult ModelBuilder::addBlock(Block &block, Steps &steps) {
  for (Operation &op : block) {
    if (!role->oneThread)
      readBefore(op, steps);
    if (failed(addOperation(op, steps)))
      return failure();
  }
  return success();
}

/// Adds the reads of waited values that must have happened before `op`. An
/// operation on a channel may free the buffer, so lanes read the value before
/// it, even if the arithmetic on the value comes later in the program.
void ModelBuilder::readBefore(Operation &op, Steps &steps) {
  llvm::SmallSetVector<unsigned, 2> buffers;
  op.walk([&](Operation *inner) {
    if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(inner))
      buffers.insert(bufferOf.lookup(inner->getOperand(0)));
  });
  for (unsigned buffer : buffers)
    llvm::erase_if(waited[buffer], [&](WaitOp wait) {
      if (wait->getBlock() != op.getBlock())
        return false;
      // Reads by users in front of `op` have been added before.
      for (Operation *user : wait.getValue().getUsers()) {
        Operation *ancestor = op.getBlock()->findAncestorOpInBlock(*user);
        if (user == &op || ancestor->isBeforeInBlock(&op))
          continue;
        Step step(StepKind::Access, user);
        step.reads.push_back(variableOf(wait.getValue()));
        steps.push_back(std::move(step));
        variables.erase(wait.getValue());
        break;
      }
      return true;
    });
}

LogicalResult ModelBuilder::addOperation(Operation &op, Steps &steps) {
  if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, ReadOp, WriteOp>(op))
    return addChannelOperation(op, steps);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return addLoop(loop, steps);
  if (auto work = dyn_cast<WorkOp>(op))
    return addWork(work, steps);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return addIf(branch, steps);
  if (auto select = dyn_cast<arith::SelectOp>(op); select && !role->oneThread)
    return addSelection(select, steps);
  if (!role->oneThread) {
    addLaneReads(op, steps);
    for (Region &region : op.getRegions())
      for (Block &block : region)
        if (failed(addBlock(block, steps)))
          return failure();
    return success();
  }
  if (isa<MmaOp, LoadOp, StoreOp, ReduceAddOp, RequestOp>(op))
    return addAsynchronous(op, steps);
  if (auto exchange = dyn_cast<ExchangeOp>(op))
    return addExchange(exchange, steps);
  if (isView(&op)) {
    variables[op.getResult(0)] = variableOf(op.getOperand(0));
    return success();
  }
  if (!isa<scf::YieldOp>(op) &&
      llvm::any_of(op.getOperands(), [&](Value v) { return variableOf(v); }))
    return op.emitError("@")
           << role->name << " only issues operations on tiles, but '"
           << op.getName() << "' computes with one";
  return success();
}

void ModelBuilder::addLaneReads(Operation &op, Steps &steps) {
  Step step(StepKind::Access, &op);
  for (Value operand : op.getOperands())
    if (unsigned variable = variableOf(operand))
      step.reads.push_back(variable);
  if (!step.reads.empty())
    steps.push_back(std::move(step));
}

/// Adds an access of lanes that happens only where the condition is `isTaken`.
LogicalResult ModelBuilder::addGuarded(Value condition, bool isTaken,
                                       Step access, Steps &steps) {
  // A read on both paths is stricter than a read on one, so it needs no branch.
  if (!numbers.comparesTrips(condition)) {
    steps.push_back(std::move(access));
    return success();
  }
  Step step(StepKind::If, access.op);
  auto number = numbers.addCondition(condition, access.op, roleNumber());
  if (failed(number))
    return failure();
  step.number = *number;
  (isTaken ? step.body : step.elseBody).push_back(std::move(access));
  steps.push_back(std::move(step));
  return success();
}

LogicalResult ModelBuilder::addRead(ReadOp read, Steps &steps) {
  Step step(StepKind::Access, read);
  step.readsLast.push_back(channelOf(read.getChannel()));
  if (auto side = findSelection(read))
    return addGuarded(side->first, side->second, std::move(step), steps);
  Region *branch = findBranch(read);
  (branch ? readsOf[branch] : steps).push_back(std::move(step));
  return success();
}

/// Adds the reads of a selection: lanes need only the value that they select.
LogicalResult ModelBuilder::addSelection(arith::SelectOp select, Steps &steps) {
  if (isa<VectorType>(select.getCondition().getType())) {
    addLaneReads(*select, steps);
    return success();
  }
  for (bool isTaken : {true, false}) {
    Step step(StepKind::Access, select);
    Value value = isTaken ? select.getTrueValue() : select.getFalseValue();
    if (unsigned variable = variableOf(value))
      step.reads.push_back(variable);
    if (!step.reads.empty() && failed(addGuarded(select.getCondition(), isTaken,
                                                 std::move(step), steps)))
      return failure();
  }
  return success();
}

/// Appends a step on the sent part of a stage, and the same step on the kept
/// part, because the two are written and handed over together.
void ModelBuilder::addWithKept(Step step, Steps &steps) {
  bool isAccess = step.kind == StepKind::Access;
  auto exchange = exchanges.find(isAccess ? step.writes : int(step.channel));
  steps.push_back(step);
  if (exchange == exchanges.end())
    return;
  if (isAccess)
    step.writes = exchange->second.kept;
  else
    step.channel = exchange->second.kept;
  if (step.result != -1)
    step.result = keptWith[step.result] = role->variables++;
  steps.push_back(std::move(step));
}

LogicalResult ModelBuilder::addChannelOperation(Operation &op, Steps &steps) {
  Steps added;
  if (failed(addOneChannelOperation(op, added)))
    return failure();
  for (Step &step : added)
    addWithKept(std::move(step), steps);
  return success();
}

/// Adds the steps of an exchange: the copy to the other CTA, the wait for the
/// tile that comes from there, and the write of the result.
LogicalResult ModelBuilder::addExchange(ExchangeOp op, Steps &steps) {
  Step copy(StepKind::Access, op);
  copy.agent = Agent::Copy;
  if (failed(needStage(*op, op.getTile(), copy)))
    return failure();
  FailureOr<int> target = findTarget(op);
  if (failed(target))
    return failure();
  unsigned sent = channelOf(op.getTile().getDefiningOp<WaitOp>().getChannel());
  unsigned received = exchanges[sent].received;
  copy.writes = received;
  Step wait(StepKind::Wait, op, received);
  wait.result = role->variables++;
  Step look(StepKind::Access, op), make(StepKind::Access, op);
  look.reads = {unsigned(wait.result), keptWith[variableOf(op.getTile())]};
  make.writes = *target;
  make.result = newVariable(op.getResult());
  steps.push_back(std::move(copy));
  steps.emplace_back(StepKind::Commit, op, received);
  steps.push_back(std::move(wait));
  steps.push_back(std::move(look));
  steps.push_back(std::move(make));
  return success();
}

LogicalResult ModelBuilder::addOneChannelOperation(Operation &op,
                                                   Steps &steps) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](AcquireOp acquire) {
        steps.emplace_back(StepKind::Acquire, &op,
                           channelOf(acquire.getChannel()));
        return success();
      })
      .Case([&](WaitOp wait) {
        Step step(StepKind::Wait, &op, channelOf(wait.getChannel()));
        if (wait.getChannel().getType().getTileType() && wait.getValue()) {
          step.result = newVariable(wait.getValue());
          waited[bufferOf.lookup(wait.getChannel())].push_back(wait);
        }
        unsigned channel = step.channel;
        steps.push_back(std::move(step));
        // A wait for a scalar also reads it.
        if (!wait.getChannel().getType().getTileType()) {
          Step read(StepKind::Access, &op);
          read.readsLast.push_back(channel);
          steps.push_back(std::move(read));
        }
        return success();
      })
      .Case([&](ReleaseOp release) {
        steps.emplace_back(StepKind::Release, &op,
                           channelOf(release.getChannel()));
        return success();
      })
      .Case([&](ReadOp read) { return addRead(read, steps); })
      .Case([&](WriteOp write) {
        Step step(StepKind::Access, &op);
        step.writes = channelOf(write.getChannel());
        steps.push_back(std::move(step));
        return success();
      })
      .Case([&](CommitOp commit) -> LogicalResult {
        unsigned channel = channelOf(commit.getChannel());
        Step step(StepKind::Commit, &op, channel);
        if (role->oneThread &&
            !isWord(commit.getChannel().getType().getValueType())) {
          // The steps of the operations that write the stage name the channel.
          Value value = commit.getValue();
          if (value && !variableOf(value) && !matchPattern(value, m_Constant()))
            return op.emitError("channel \"")
                   << model.channels[channel].label << "\": @" << role->name
                   << " commits a value that no asynchronous operation of the "
                      "role makes";
        } else if (commit.getValue()) {
          addLaneReads(op, steps);
          Step write(StepKind::Access, &op);
          write.writes = channel;
          steps.push_back(std::move(write));
        }
        steps.push_back(std::move(step));
        return success();
      });
}

FailureOr<int> ModelBuilder::findTarget(Operation *op) {
  int target = -1;
  for (OpOperand *use : getEnds(op->getResult(0), FlowThrough::Accumulators)) {
    auto commit = dyn_cast<CommitOp>(use->getOwner());
    if (!commit)
      continue;
    int channel = channelOf(commit.getChannel());
    if (target != -1 && target != channel)
      return op->emitError("@")
             << role->name << " commits the result of '" << op->getName()
             << "' to two channels, \"" << model.channels[target].label
             << "\" and \"" << model.channels[channel].label << "\"";
    target = channel;
  }
  if (target == -1)
    return op->emitError("@") << role->name << " commits the result of '"
                              << op->getName() << "' to no channel";
  return target;
}

LogicalResult ModelBuilder::needStage(Operation &op, Value operand,
                                      Step &step) {
  unsigned variable = variableOf(operand);
  if (!variable)
    return op.emitError("@")
           << role->name << " has not waited for a matrix that '"
           << op.getName() << "' reads";
  step.reads.push_back(variable);
  return success();
}

LogicalResult ModelBuilder::addMma(MmaOp op, Step &step) {
  step.agent = Agent::Mma;
  if (failed(needStage(*op, op.getA(), step)) ||
      failed(needStage(*op, op.getB(), step)))
    return failure();
  if (op.getAcc()) {
    step.accumulator = variableOf(op.getAcc());
    if (op.getAccumulate()) {
      auto condition =
          numbers.addCondition(op.getAccumulate(), op, roleNumber());
      if (failed(condition))
        return failure();
      step.accumulate = *condition;
    }
  }
  return success();
}

LogicalResult ModelBuilder::addAsynchronous(Operation &op, Steps &steps) {
  Step step(StepKind::Access, &op);
  step.agent = Agent::Copy;
  if (auto mma = dyn_cast<MmaOp>(op)) {
    if (failed(addMma(mma, step)))
      return failure();
  } else if (!isa<LoadOp, RequestOp>(op) &&
             failed(needStage(op, op.getOperand(0), step))) {
    return failure();
  }
  if (op.getNumResults() == 1) {
    FailureOr<int> target = findTarget(&op);
    if (failed(target))
      return failure();
    step.writes = *target;
    step.result = newVariable(op.getResult(0));
  }
  steps.push_back(std::move(step));
  return success();
}

/// Returns true if a loop or branch around the steps must be kept: another role
/// can notice one of the steps, or one ends only after the next ones begin.
static bool needsStructure(const std::vector<Step> &steps) {
  return llvm::any_of(steps, [](const Step &step) {
    if (step.kind == StepKind::If)
      return needsStructure(step.body) || needsStructure(step.elseBody);
    return step.kind != StepKind::Access || step.agent != Agent::Lanes ||
           step.writes != -1;
  });
}

/// Appends all accesses of `from`, regardless of conditions.
static void flatten(std::vector<Step> &from, std::vector<Step> &to) {
  for (Step &step : from)
    if (step.kind == StepKind::If) {
      flatten(step.body, to);
      flatten(step.elseBody, to);
    } else {
      to.push_back(std::move(step));
    }
}

LogicalResult ModelBuilder::addLoop(scf::ForOp loop, Steps &steps) {
  Step step(StepKind::Loop, loop);
  if (!role->oneThread)
    addLaneReads(*loop, steps);
  for (auto [argument, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (role->oneThread && isa<VectorType>(argument.getType()))
      step.assignments.push_back(
          {newVariable(argument), static_cast<int>(variableOf(init))});
  // The loop is numbered before its body is built, because conditions in the
  // body refer to it.
  step.number = numbers.addLoop(loop, roleNumber());
  size_t conditions = model.conditions.size();
  if (failed(addBlock(*loop.getBody(), step.body)))
    return failure();
  if (!needsStructure(step.body)) {
    model.loops.pop_back();
    model.conditions.resize(conditions);
    flatten(step.body, steps);
    return success();
  }
  if (failed(numbers.countPasses(loop, model.loops[step.number])))
    return failure();
  model.loops[step.number].inside = model.loops.size() - step.number - 1;
  Step results(StepKind::Copy, loop);
  Operation *yield = loop.getBody()->getTerminator();
  if (role->oneThread)
    for (auto [argument, value, result] : llvm::zip(
             loop.getRegionIterArgs(), yield->getOperands(), loop.getResults()))
      if (isa<VectorType>(argument.getType())) {
        unsigned variable = variableOf(argument);
        step.back.push_back({variable, static_cast<int>(variableOf(value))});
        results.assignments.push_back(
            {newVariable(result), static_cast<int>(variable)});
      }
  steps.push_back(std::move(step));
  if (!results.assignments.empty())
    steps.push_back(std::move(results));
  return success();
}

/// Checks that all roles read the same numbers of work tiles: from one channel,
/// with one wait for each tile. Otherwise they would work on different tiles.
LogicalResult ModelBuilder::checkNext(WorkOp work) {
  NextOp next = work.getNext();
  if (!next.getNumber())
    return success();
  ChannelOp channel = next.getNumber().getDefiningOp<ResponseOp>().getChannel();
  if (!channel)
    return next.emitError("@") << role->name
                               << " takes the number of its next work tile "
                                  "from a response that no channel holds";
  if (responses && responses != channel)
    return next.emitError("@")
           << role->name
           << " takes the number of its next work tile from channel \""
           << channel.getLabel() << "\", but other roles from \""
           << responses.getLabel() << "\": they would work on different tiles";
  responses = channel;
  unsigned waits = 0, here = 0;
  RoleOp(role->op).walk([&](WaitOp wait) {
    bool isOne = wait.getChannel() == channel.getChannel();
    waits += isOne;
    here += isOne && wait->getBlock() == next->getBlock();
  });
  if (waits != 1 || here != 1)
    return work.emitError("@")
           << role->name << " must wait once for channel \""
           << channel.getLabel()
           << "\", at the top of its work, as it takes the number of its next "
              "work tile from there";
  for (Operation *user : channel->getUsers())
    if (auto commit = dyn_cast<CommitOp>(user))
      if (!commit.getValue() || !commit.getValue().getDefiningOp<RequestOp>())
        return commit.emitError("channel \"")
               << channel.getLabel() << "\": @"
               << commit->getParentOfType<RoleOp>().getSymName()
               << " commits a value that is no response to a tile.request, "
                  "though roles take the numbers of their work tiles from "
                  "there";
  return success();
}

LogicalResult ModelBuilder::addWork(WorkOp work, Steps &steps) {
  if (failed(checkNext(work)))
    return failure();
  Step step(StepKind::Loop, work);
  step.number = numbers.addLoop(work, roleNumber());
  if (failed(addBlock(work.getBody().front(), step.body)) ||
      failed(numbers.countPasses(work, model.loops[step.number])))
    return failure();
  model.loops[step.number].inside = model.loops.size() - step.number - 1;
  steps.push_back(std::move(step));
  return success();
}

LogicalResult ModelBuilder::addIf(scf::IfOp branch, Steps &steps) {
  Step step(StepKind::If, branch);
  size_t conditions = model.conditions.size();
  for (bool isElse : {false, true}) {
    Region &region = isElse ? branch.getElseRegion() : branch.getThenRegion();
    Steps &body = isElse ? step.elseBody : step.body;
    if (region.empty())
      continue;
    body = readsOf.lookup(&region);
    if (failed(addBlock(region.front(), body)))
      return failure();
  }
  SmallVector<Value> results;
  if (role->oneThread)
    for (Value result : branch.getResults())
      if (isa<VectorType>(result.getType()))
        newVariable(result);
  for (bool isElse : {false, true}) {
    Region &region = isElse ? branch.getElseRegion() : branch.getThenRegion();
    if (region.empty())
      continue;
    Step copy(StepKind::Copy, branch);
    for (auto [result, value] :
         llvm::zip(branch.getResults(),
                   region.front().getTerminator()->getOperands()))
      if (role->oneThread && isa<VectorType>(result.getType()))
        copy.assignments.push_back(
            {variableOf(result), static_cast<int>(variableOf(value))});
    if (!copy.assignments.empty())
      (isElse ? step.elseBody : step.body).push_back(std::move(copy));
  }
  if (step.body.empty() && step.elseBody.empty())
    return success();
  if (!role->oneThread && step.elseBody.empty() &&
      !numbers.comparesTrips(branch.getCondition()) &&
      mayHandOn(model, roleNumber(), step.body)) {
    addHandOnReads(model, roleNumber(), branch, step.body, steps);
    model.conditions.resize(conditions);
    flatten(step.body, steps);
    return success();
  }
  bool isNeeded = needsStructure(step.body) || needsStructure(step.elseBody);
  // A read on both paths is stricter than a read on one, so it needs no branch.
  if (!isNeeded && !numbers.comparesTrips(branch.getCondition())) {
    model.conditions.resize(conditions);
    flatten(step.body, steps);
    flatten(step.elseBody, steps);
    return success();
  }
  auto condition =
      numbers.addCondition(branch.getCondition(), branch, roleNumber());
  if (failed(condition))
    return failure();
  step.number = *condition;
  steps.push_back(std::move(step));
  return success();
}

//===----------------------------------------------------------------------===//

/// Decides which asynchronous accesses have ended when a commit or release of
/// an issuing role takes effect. For a commit, this is the access that writes
/// its stage. For a release, these are the MMAs of the role, if any of them
/// reads the channel.
static void setCompletions(const ProtocolModel &model, ProtocolRole &role,
                           std::vector<Step> &steps, ArrayRef<Agent> writers) {
  for (Step &step : steps) {
    if (step.kind == StepKind::Commit)
      step.completes = writers[step.channel];
    if (step.kind == StepKind::Release &&
        feeds<MmaOp>(role.op, model.channels[step.channel].op))
      step.completes = Agent::Mma;
    setCompletions(model, role, step.body, writers);
    setCompletions(model, role, step.elseBody, writers);
  }
}

FailureOr<ProtocolModel> ModelBuilder::run() {
  for (auto op : model.kernel.getBody().getOps<RoleOp>()) {
    roleIndex[op] = model.roles.size();
    model.roles.emplace_back();
  }
  if (failed(addChannels()))
    return failure();
  numbers.findSpans();
  for (auto op : model.kernel.getBody().getOps<RoleOp>())
    if (failed(addRole(op)))
      return failure();
  SmallVector<Agent> writers(model.channels.size(), Agent::Lanes);
  for (ProtocolRole &r : model.roles)
    forEachStep(r.body, [&](const Step &step) {
      if (step.kind == StepKind::Access && step.writes != -1)
        writers[step.writes] = step.agent;
    });
  for (ProtocolRole &r : model.roles)
    setCompletions(model, r, r.body, writers);
  return std::move(model);
}

FailureOr<ProtocolModel> ProtocolModel::buildCta(KernelOp kernel) {
  return ModelBuilder(kernel).run();
}

FailureOr<ProtocolModel> ProtocolModel::build(KernelOp kernel) {
  FailureOr<ProtocolModel> model = buildCta(kernel);
  if (failed(model) || failed(model->addPeers()))
    return failure();
  return model;
}

LogicalResult ProtocolModel::addPeers() {
  return kernel.getCluster() ? fa4::tile::addPeers(*this) : success();
}
