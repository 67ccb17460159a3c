//===- ProtocolModel.cpp - roles as programs of synchronisation ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include "ProtocolLanes.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/Uniformity.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

bool ProtocolModel::overlap(unsigned channel, int64_t stage, unsigned other,
                            int64_t otherStage) const {
  const ProtocolChannel &a = channels[channel], &b = channels[other];
  if (a.inTensorMemory != b.inTensorMemory)
    return false;
  int64_t beginA = a.offset + stage * a.size;
  int64_t beginB = b.offset + otherStage * b.size;
  return beginA < beginB + b.size && beginB < beginA + a.size;
}

namespace {

/// `trips` is what `length` is in steps, rounded up; 0 if `length` is negative
/// and `isClamped`.
struct Span {
  Polynomial length, trips;
  int64_t step;
  bool isClamped;
};

class ModelBuilder {
public:
  explicit ModelBuilder(KernelOp kernel) : bufferOf(numberBuffers(kernel)) {
    model.kernel = kernel;
  }
  FailureOr<ProtocolModel> run();

private:
  using Steps = std::vector<Step>;

  LogicalResult addChannels();
  LogicalResult checkSides(const ChannelUses &uses, ProtocolChannel &channel);
  LogicalResult placeChannels();
  LogicalResult addRole(RoleOp op);

  LogicalResult addBlock(Block &block, Steps &steps);
  LogicalResult addOperation(Operation &op, Steps &steps);
  LogicalResult addChannelOperation(Operation &op, Steps &steps);
  LogicalResult addAsynchronous(Operation &op, Steps &steps);
  LogicalResult addMma(MmaOp op, Step &step);
  LogicalResult addLoop(scf::ForOp loop, Steps &steps);
  LogicalResult addIf(scf::IfOp branch, Steps &steps);
  LogicalResult addRead(ReadOp read, Steps &steps);
  LogicalResult addSelection(arith::SelectOp select, Steps &steps);
  LogicalResult addGuarded(Value condition, bool isTaken, Step access,
                           Steps &steps);
  void addLaneReads(Operation &op, Steps &steps);
  void readBefore(Operation &op, Steps &steps);

  unsigned channelOf(Value handle) {
    return channelIndex.lookup(handle.getDefiningOp());
  }
  /// Variable of a value that may be in a stage; 0 is always in none.
  unsigned variableOf(Value value) { return variables.lookup(value); }
  unsigned newVariable(Value value) {
    return variables[value] = role->variables++;
  }
  /// The channel to which an asynchronous operation's result is committed.
  FailureOr<int> findTarget(Operation *op);
  LogicalResult needStage(Operation &op, Value operand, Step &step);

  void findSpans();
  SmallVector<unsigned, 2> loopsAround(Operation *op);
  FailureOr<LinearForm> toForm(const Polynomial &polynomial, unsigned depth,
                               bool countsPasses, Operation *op);
  FailureOr<unsigned> addCondition(Value condition, Operation *op);
  bool comparesTrips(Value condition);
  void takeSlope(Polynomial &form, Operation *op, ProtocolCondition &condition);
  void compareTrips(Polynomial &form, ProtocolCondition &condition);

  ProtocolModel model;
  ProtocolRole *role = nullptr;
  DenseMap<Operation *, unsigned> channelIndex;
  DenseMap<Operation *, unsigned> roleIndex;
  DenseMap<Operation *, unsigned> loopIndex;
  DenseMap<Value, unsigned> variables;
  /// Waited values of a role that computes, by the buffer they are in.
  DenseMap<unsigned, SmallVector<WaitOp>> waited;
  DenseMap<Value, unsigned> bufferOf;
  /// Reads in front of a branch that matter only in one of its regions.
  DenseMap<Region *, Steps> readsOf;
  ExecutionCounts counts{ExecutionCounts::Induction::Passes};
  /// By monomial and depth.
  std::map<std::pair<std::vector<unsigned>, unsigned>, unsigned> unknownOf;
  std::vector<Span> spans;
  /// Of monomials of numbers of passes, the most loops around one that
  /// synchronises.
  std::map<std::vector<unsigned>, unsigned> tripDepths;
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
  return success();
}

/// Whether each commit hands on a value of `owner`, rescaled perhaps, or what
/// lanes have written of it on some paths only.
static bool handsOn(ChannelOp owner, const ChannelUses &uses) {
  return llvm::all_of(uses.commits, [&](CommitOp commit) {
    Value value = commit.getValue();
    if (!value)
      return llvm::none_of(uses.writes, [&](WriteOp write) {
        return write->getBlock() == commit->getBlock();
      });
    while (auto rescale = value.getDefiningOp<RescaleOp>())
      value = rescale.getValue();
    auto wait = value.getDefiningOp<WaitOp>();
    return wait && wait.getChannel() == owner.getChannel();
  });
}

/// How many values nobody has written when a consumer gets them.
static int64_t countUndefined(ChannelOp op, const ChannelUses &uses) {
  auto owner = op.getInPlaceOf() ? op.getInPlaceOf().getDefiningOp<ChannelOp>()
                                 : ChannelOp();
  if (!owner || owner.getValueType() != op.getValueType() ||
      !handsOn(owner, uses))
    return op.getInitial().value_or(0);
  return owner.getInitial().value_or(0);
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
    channel.size = channel.inTensorMemory ? getTmemColumns(op.getValueType())
                                          : getSmemBytes(op.getValueType());
    if (failed(checkSides(uses, channel)))
      return failure();
  }
  return placeChannels();
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
  // Side by side; smaller channels beside each other in the one whose place
  // they take, as long as there is room.
  int64_t next = 0;
  for (ArrayRef<ChannelOp> buffer : collectBuffers(model.kernel)) {
    ChannelOp ownerOp = buffer.front();
    const ProtocolChannel &owner = model.channels[channelIndex.lookup(ownerOp)];
    int64_t used = 0;
    for (ChannelOp member : buffer) {
      ProtocolChannel &channel = model.channels[channelIndex.lookup(member)];
      bool fits = channel.size < owner.size && channel.stages == 1 &&
                  used + channel.size <= owner.size;
      channel.offset = next + (fits ? used : 0);
      used += fits ? channel.size : 0;
    }
    next += owner.size * owner.stages;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult ModelBuilder::addRole(RoleOp op) {
  role = &model.roles[roleIndex.lookup(op)];
  role->op = op;
  role->name = op.getSymName().str();
  role->issues = op.getIssue();
  role->variables = 1;
  variables.clear();
  waited.clear();
  if (failed(verifyUniformity(op)) ||
      failed(addBlock(op.getBody().front(), role->body)))
    return failure();
  return role->issues ? success()
                      : completeLaneCommits(model, roleIndex.lookup(op));
}

LogicalResult ModelBuilder::addBlock(Block &block, Steps &steps) {
  for (Operation &op : block) {
    if (!role->issues)
      readBefore(op, steps);
    if (failed(addOperation(op, steps)))
      return failure();
  }
  return success();
}

/// Lanes have read a waited value when the next operation on a channel of its
/// buffer comes, even where arithmetic on the value stands behind that.
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
      // Other users have been added before.
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
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return addIf(branch, steps);
  if (auto select = dyn_cast<arith::SelectOp>(op); select && !role->issues)
    return addSelection(select, steps);
  if (!role->issues) {
    addLaneReads(op, steps);
    for (Region &region : op.getRegions())
      for (Block &block : region)
        if (failed(addBlock(block, steps)))
          return failure();
    return success();
  }
  if (isa<MmaOp, LoadOp, StoreOp, ReduceAddOp>(op))
    return addAsynchronous(op, steps);
  if (isa<vector::ExtractStridedSliceOp, vector::ShapeCastOp>(op)) {
    variables[op.getResult(0)] = variableOf(op.getOperand(0));
    return success();
  }
  if (!isa<scf::YieldOp>(op) &&
      llvm::any_of(op.getOperands(), [&](Value v) { return variableOf(v); }))
    return op.emitError("uses a value of a channel in a role that only issues");
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

/// An access of lanes that matters only if the condition is `isTaken`.
LogicalResult ModelBuilder::addGuarded(Value condition, bool isTaken,
                                       Step access, Steps &steps) {
  // Threads that read more than they do only make the check stricter.
  if (!comparesTrips(condition)) {
    steps.push_back(std::move(access));
    return success();
  }
  Step step(StepKind::If, access.op);
  auto number = addCondition(condition, access.op);
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

/// Of the two values, lanes need the one that they take.
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

LogicalResult ModelBuilder::addChannelOperation(Operation &op, Steps &steps) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](AcquireOp acquire) {
        steps.emplace_back(StepKind::Acquire, &op,
                           channelOf(acquire.getChannel()));
        return success();
      })
      .Case([&](WaitOp wait) {
        Step step(StepKind::Wait, &op, channelOf(wait.getChannel()));
        if (wait.getValue()) {
          step.result = newVariable(wait.getValue());
          waited[bufferOf.lookup(wait.getChannel())].push_back(wait);
        }
        steps.push_back(std::move(step));
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
        if (role->issues) {
          // Set by the operations that write the stage.
          Value value = commit.getValue();
          if (value && !variableOf(value) && !matchPattern(value, m_Constant()))
            return op.emitError(
                "commits a value that no asynchronous operation "
                "of the role makes");
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
  SmallVector<Value> worklist{op->getResult(0)};
  DenseSet<Value> seen;
  int target = -1;
  for (size_t i = 0; i < worklist.size(); ++i) {
    if (!seen.insert(worklist[i]).second)
      continue;
    for (OpOperand &use : worklist[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto commit = dyn_cast<CommitOp>(user)) {
        int channel = channelOf(commit.getChannel());
        if (target != -1 && target != channel)
          return op->emitError("is committed to two channels, \"")
                 << model.channels[target].label << "\" and \""
                 << model.channels[channel].label << "\"";
        target = channel;
      } else if (auto mma = dyn_cast<MmaOp>(user)) {
        if (mma.getAcc() == worklist[i])
          worklist.push_back(mma.getResult());
      } else if (auto loop = dyn_cast<scf::ForOp>(user)) {
        if (BlockArgument argument = loop.getTiedLoopRegionIterArg(&use))
          worklist.push_back(argument);
        if (OpResult result = loop.getTiedLoopResult(&use))
          worklist.push_back(result);
      } else if (isa<scf::YieldOp>(user)) {
        Operation *parent = user->getParentOp();
        worklist.push_back(parent->getResult(use.getOperandNumber()));
        if (auto loop = dyn_cast<scf::ForOp>(parent))
          worklist.push_back(loop.getRegionIterArg(use.getOperandNumber()));
      }
    }
  }
  if (target == -1)
    return op->emitError("makes a value that is committed to no channel");
  return target;
}

LogicalResult ModelBuilder::needStage(Operation &op, Value operand,
                                      Step &step) {
  unsigned variable = variableOf(operand);
  if (!variable)
    return op.emitError("reads a matrix that the role has not waited for");
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
      auto condition = addCondition(op.getAccumulate(), op);
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
  } else if (!isa<LoadOp>(op) &&
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

/// Something happens in these steps that other roles can notice, or that
/// happens later.
static bool needsStructure(const std::vector<Step> &steps) {
  return llvm::any_of(steps, [](const Step &step) {
    if (step.kind == StepKind::If)
      return needsStructure(step.body) || needsStructure(step.elseBody);
    return step.kind != StepKind::Access || step.agent != Agent::Lanes ||
           step.writes != -1;
  });
}

/// Appends the accesses of `from`, whatever the conditions.
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
  if (!role->issues)
    addLaneReads(*loop, steps);
  for (auto [argument, init] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (role->issues && isa<VectorType>(argument.getType()))
      step.assignments.push_back(
          {newVariable(argument), static_cast<int>(variableOf(init))});
  // Before the body, whose conditions refer to it.
  step.number = model.loops.size();
  loopIndex[loop] = step.number;
  unsigned roleNumber = role - model.roles.data();
  size_t conditions = model.conditions.size();
  model.loops.push_back({loop, roleNumber, {}, 0, loopsAround(loop)});
  if (failed(addBlock(*loop.getBody(), step.body)))
    return failure();
  if (!needsStructure(step.body)) {
    model.loops.pop_back();
    model.conditions.resize(conditions);
    flatten(step.body, steps);
    return success();
  }
  Polynomial trips = counts.getTripCount(loop);
  FailureOr<LinearForm> form =
      toForm(trips, loopsAround(loop).size(), true, loop);
  if (failed(form))
    return failure();
  ProtocolLoop &info = model.loops[step.number];
  info.trips = *form;
  Polynomial length =
      ExecutionCounts::add(counts.getValue(loop.getUpperBound()),
                           counts.getValue(loop.getLowerBound()), -1);
  if (getConstantIntValue(loop.getStep()) == 1 && length != trips) {
    FailureOr<LinearForm> unclamped =
        toForm(length, info.parents.size(), true, loop);
    if (failed(unclamped))
      return failure();
    model.clamped[form->terms.begin()->first.number()] = *unclamped;
  }
  info.inside = model.loops.size() - step.number - 1;
  info.firstPass = counts.getPass(loop).offset;
  info.atLeast = counts.runsAtLeastOnce(loop);
  for (int64_t least : {1, 2})
    if (counts.isNonNegative(
            ExecutionCounts::add(trips, ExecutionCounts::constant(least), -1)))
      info.atLeast = least;
  Step results(StepKind::Copy, loop);
  Operation *yield = loop.getBody()->getTerminator();
  if (role->issues)
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
  if (role->issues)
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
      if (role->issues && isa<VectorType>(result.getType()))
        copy.assignments.push_back(
            {variableOf(result), static_cast<int>(variableOf(value))});
    if (!copy.assignments.empty())
      (isElse ? step.elseBody : step.body).push_back(std::move(copy));
  }
  if (step.body.empty() && step.elseBody.empty())
    return success();
  unsigned roleNumber = role - model.roles.data();
  if (!role->issues && step.elseBody.empty() &&
      !comparesTrips(branch.getCondition()) &&
      mayHandOn(model, roleNumber, step.body)) {
    addHandOnReads(model, roleNumber, branch, step.body, steps);
    model.conditions.resize(conditions);
    flatten(step.body, steps);
    return success();
  }
  bool isNeeded = needsStructure(step.body) || needsStructure(step.elseBody);
  // Threads that read more than they do only make the check stricter.
  if (!isNeeded && !comparesTrips(branch.getCondition())) {
    model.conditions.resize(conditions);
    flatten(step.body, steps);
    flatten(step.elseBody, steps);
    return success();
  }
  auto condition = addCondition(branch.getCondition(), branch);
  if (failed(condition))
    return failure();
  step.number = *condition;
  steps.push_back(std::move(step));
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static bool synchronises(scf::ForOp loop) {
  return loop
      .walk([](Operation *op) {
        return isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void ModelBuilder::findSpans() {
  model.kernel.walk([&](Operation *op) {
    Span span{{}, {}, 0, false};
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      span.length =
          ExecutionCounts::add(counts.getValue(loop.getUpperBound()),
                               counts.getValue(loop.getLowerBound()), -1);
      span.trips = counts.getTripCount(loop);
      span.step = getConstantIntValue(loop.getStep()).value_or(0);
      span.isClamped = true;
      unsigned depth = synchronises(loop) ? loopsAround(loop).size() : 0;
      for (const auto &[monomial, coefficient] : span.trips)
        tripDepths[monomial] = std::max(tripDepths[monomial], depth);
    } else if (auto division = dyn_cast<arith::CeilDivSIOp>(op)) {
      span.length = counts.getValue(division.getLhs());
      span.trips = counts.getValue(division.getResult());
      span.step = getConstantIntValue(division.getRhs()).value_or(0);
    }
    if (span.step > 0 && span.length != span.trips)
      spans.push_back(std::move(span));
  });
}

SmallVector<unsigned, 2> ModelBuilder::loopsAround(Operation *op) {
  SmallVector<unsigned, 2> result;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    result.insert(result.begin(), loopIndex.lookup(loop));
  return result;
}

/// Numbers of inner passes, and what is compared with them, are unknowns of
/// each pass of the `depth` outer loops, even if they are always the same: what
/// is known of them need not be remembered then.
FailureOr<LinearForm> ModelBuilder::toForm(const Polynomial &polynomial,
                                           unsigned depth, bool countsPasses,
                                           Operation *op) {
  LinearForm form;
  for (const auto &[monomial, coefficient] : polynomial) {
    if (monomial.empty()) {
      form.constant = coefficient;
      continue;
    }
    auto inner = tripDepths.find(monomial);
    unsigned own = countsPasses                ? depth
                   : inner == tripDepths.end() ? 0
                                               : std::min(inner->second, depth);
    own = std::max(own, counts.getDepth(monomial));
    if (own > 2)
      return op->emitError("synchronises or accumulates by a number that three "
                           "loops decide: not supported by the protocol "
                           "verifier");
    auto [it, isNew] =
        unknownOf.try_emplace({monomial, own}, model.depths.size());
    if (isNew)
      model.depths.push_back(own);
    form.terms[it->second] = coefficient;
  }
  return form;
}

/// What a condition compares with 0, `getValue(lhs) - getValue(rhs)`, and how;
/// of another one, whether it is not 0.
static std::pair<Polynomial, ProtocolCondition::Predicate>
getComparison(Value condition, ExecutionCounts &counts) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  std::optional<ProtocolCondition::Predicate> predicate;
  if (compare)
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq:
      predicate = ProtocolCondition::Equal;
      break;
    case arith::CmpIPredicate::ne:
      predicate = ProtocolCondition::NotEqual;
      break;
    case arith::CmpIPredicate::slt:
      predicate = ProtocolCondition::Less;
      break;
    case arith::CmpIPredicate::sle:
      predicate = ProtocolCondition::LessEqual;
      break;
    case arith::CmpIPredicate::sgt:
      predicate = ProtocolCondition::Greater;
      break;
    case arith::CmpIPredicate::sge:
      predicate = ProtocolCondition::GreaterEqual;
      break;
    default:
      break;
    }
  if (!predicate)
    return {counts.getValue(condition), ProtocolCondition::NotEqual};
  return {ExecutionCounts::add(counts.getValue(compare.getLhs()),
                               counts.getValue(compare.getRhs()), -1),
          *predicate};
}

/// Takes out of `form` a multiple of the passes of a loop, if no other part of
/// it depends on them.
void ModelBuilder::takeSlope(Polynomial &form, Operation *op,
                             ProtocolCondition &condition) {
  unsigned depth = 0, count = 0;
  for (const auto &[monomial, coefficient] : form) {
    unsigned own = counts.getDepth(monomial);
    count = own > depth ? 1 : count + (own == depth);
    depth = std::max(depth, own);
  }
  if (depth == 0 || count != 1)
    return;
  unsigned loop = condition.parents[depth - 1];
  auto pass = counts.getPass(cast<scf::ForOp>(model.loops[loop].op));
  auto found = form.find({pass.atom});
  if (found == form.end())
    return;
  condition.slope = found->second;
  condition.loop = loop;
  form.erase(found);
  form = ExecutionCounts::add(
      form, ExecutionCounts::constant(condition.slope * pass.offset));
}

/// A comparison of a loop's length with some of its steps is one of numbers of
/// passes.
void ModelBuilder::compareTrips(Polynomial &form,
                                ProtocolCondition &condition) {
  using Condition = ProtocolCondition;
  for (const Span &span : spans)
    for (int sign : {1, -1}) {
      Polynomial rest = ExecutionCounts::add(form, span.length, -sign);
      int64_t constant = rest.empty() ? 0 : rest.begin()->second;
      if (rest != ExecutionCounts::constant(constant))
        continue;
      // length <predicate> bound + slope * pass
      int64_t bound = -sign * constant, slope = -sign * condition.slope;
      Condition::Predicate predicate = condition.predicate;
      if (sign < 0)
        predicate =
            predicate == Condition::Less           ? Condition::Greater
            : predicate == Condition::Greater      ? Condition::Less
            : predicate == Condition::LessEqual    ? Condition::GreaterEqual
            : predicate == Condition::GreaterEqual ? Condition::LessEqual
                                                   : predicate;
      bool isZero = bound == 0 && slope == 0;
      if (predicate == Condition::Less) {
        predicate = Condition::LessEqual;
        --bound;
      } else if (predicate == Condition::GreaterEqual) {
        predicate = Condition::Greater;
        --bound;
      } else if (isZero && counts.isNonNegative(span.length)) {
        predicate = predicate == Condition::Equal      ? Condition::LessEqual
                    : predicate == Condition::NotEqual ? Condition::Greater
                                                       : predicate;
      }
      bool isOrdered =
          predicate == Condition::Greater || predicate == Condition::LessEqual;
      if (!isOrdered || bound % span.step || slope % span.step ||
          (span.isClamped && (bound < 0 || slope < 0)))
        continue;
      condition.predicate = predicate;
      condition.slope = -slope / span.step;
      form = ExecutionCounts::add(
          span.trips, ExecutionCounts::constant(-bound / span.step));
      return;
    }
}

/// Whether the condition is the same in all passes of the loop around it, and
/// numbers of passes decide it.
bool ModelBuilder::comparesTrips(Value condition) {
  ProtocolCondition unused;
  auto [form, predicate] = getComparison(condition, counts);
  unused.predicate = predicate;
  compareTrips(form, unused);
  return llvm::all_of(form, [&](const auto &term) {
    return term.first.empty() || tripDepths.count(term.first);
  });
}

FailureOr<unsigned> ModelBuilder::addCondition(Value value, Operation *op) {
  ProtocolCondition condition;
  condition.role = role - model.roles.data();
  condition.parents = loopsAround(op);
  Polynomial form;
  std::tie(form, condition.predicate) = getComparison(value, counts);
  takeSlope(form, op, condition);
  compareTrips(form, condition);
  ArrayRef<unsigned> parents = condition.parents;
  size_t depth = parents.size();
  if (condition.loop != -1)
    depth = llvm::find(parents, unsigned(condition.loop)) - parents.begin();
  FailureOr<LinearForm> linear = toForm(form, depth, condition.loop != -1, op);
  if (failed(linear))
    return failure();
  condition.form = *linear;
  model.conditions.push_back(std::move(condition));
  return static_cast<unsigned>(model.conditions.size() - 1);
}

//===----------------------------------------------------------------------===//

/// Commits in a role that issues wait for what writes their stages.
static void setCompletions(ProtocolModel &model, std::vector<Step> &steps,
                           ArrayRef<Agent> writers) {
  for (Step &step : steps) {
    if (step.kind == StepKind::Commit)
      step.completes = writers[step.channel];
    setCompletions(model, step.body, writers);
    setCompletions(model, step.elseBody, writers);
  }
}

FailureOr<ProtocolModel> ModelBuilder::run() {
  for (auto op : model.kernel.getBody().getOps<RoleOp>()) {
    roleIndex[op] = model.roles.size();
    model.roles.emplace_back();
  }
  if (failed(addChannels()))
    return failure();
  findSpans();
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
    setCompletions(model, r.body, writers);
  return std::move(model);
}

FailureOr<ProtocolModel> ProtocolModel::build(KernelOp kernel) {
  return ModelBuilder(kernel).run();
}
