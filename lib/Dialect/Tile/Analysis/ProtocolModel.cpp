//===- ProtocolModel.cpp - roles as programs of synchronisation ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ProtocolModel.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

void LinearForm::add(const LinearForm &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [unknown, coefficient] : other.terms) {
    int64_t &sum = terms[unknown];
    sum += factor * coefficient;
    if (sum == 0)
      terms.erase(unknown);
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

/// Whether a loop's induction variable or carried value decides `value`.
bool dependsOnLoop(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<scf::ForOp>(argument.getOwner()->getParentOp());
  return llvm::any_of(value.getDefiningOp()->getOperands(), dependsOnLoop);
}

/// Whether induction variables enter by sums and products only.
bool isPolynomial(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return !loop || argument == loop.getInductionVar();
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return llvm::all_of(op->getOperands(), isPolynomial);
  return !dependsOnLoop(value);
}

class ModelBuilder {
public:
  explicit ModelBuilder(KernelOp kernel) { model.kernel = kernel; }
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
  void addLaneReads(Operation &op, Steps &steps);

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

  LinearForm toForm(const Polynomial &polynomial);
  FailureOr<unsigned> addCondition(Value condition, Operation *op);
  LogicalResult addSlope(Value condition, Polynomial difference, Operation *op,
                         ProtocolCondition &result);

  ProtocolModel model;
  ProtocolRole *role = nullptr;
  DenseMap<Operation *, unsigned> channelIndex;
  DenseMap<Operation *, unsigned> roleIndex;
  DenseMap<Operation *, unsigned> loopIndex;
  DenseMap<Value, unsigned> variables;
  ExecutionCounts counts;
  std::map<std::vector<unsigned>, unsigned> unknownOf;
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

LogicalResult ModelBuilder::addChannels() {
  for (auto [channelOp, uses] : collectChannelUses(model.kernel)) {
    ChannelOp op = channelOp;
    channelIndex[op] = model.channels.size();
    ProtocolChannel &channel = model.channels.emplace_back();
    channel.op = op;
    channel.label = op.getLabel().str();
    channel.stages = op.getStages();
    channel.initial = op.getInitial().value_or(0);
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
  return addBlock(op.getBody().front(), role->body);
}

LogicalResult ModelBuilder::addBlock(Block &block, Steps &steps) {
  for (Operation &op : block)
    if (failed(addOperation(op, steps)))
      return failure();
  return success();
}

LogicalResult ModelBuilder::addOperation(Operation &op, Steps &steps) {
  if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, ReadOp, WriteOp>(op))
    return addChannelOperation(op, steps);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return addLoop(loop, steps);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return addIf(branch, steps);
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

LogicalResult ModelBuilder::addChannelOperation(Operation &op, Steps &steps) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](AcquireOp acquire) {
        steps.emplace_back(StepKind::Acquire, &op,
                           channelOf(acquire.getChannel()));
        return success();
      })
      .Case([&](WaitOp wait) {
        Step step(StepKind::Wait, &op, channelOf(wait.getChannel()));
        if (wait.getValue())
          step.result = newVariable(wait.getValue());
        steps.push_back(std::move(step));
        return success();
      })
      .Case([&](ReleaseOp release) {
        steps.emplace_back(StepKind::Release, &op,
                           channelOf(release.getChannel()));
        return success();
      })
      .Case([&](ReadOp read) {
        Step step(StepKind::Access, &op);
        step.readsLast.push_back(channelOf(read.getChannel()));
        steps.push_back(std::move(step));
        return success();
      })
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
    return step.kind != StepKind::Access || step.agent != Agent::Lanes ||
           step.writes != -1;
  });
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
  model.loops.push_back({loop, roleNumber, {}, 0});
  if (failed(addBlock(*loop.getBody(), step.body)))
    return failure();
  if (!needsStructure(step.body)) {
    model.loops.pop_back();
    llvm::append_range(steps, step.body);
    return success();
  }
  for (Value bound :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
    if (dependsOnLoop(bound))
      return loop.emitError("synchronises as often as another loop says: not "
                            "supported by the protocol verifier");
  if (loop->getParentOfType<scf::ForOp>())
    return loop.emitError("synchronises in a loop in a loop: not supported by "
                          "the protocol verifier");
  Polynomial trips = counts.getTripCount(loop);
  ProtocolLoop &info = model.loops[step.number];
  info.trips = toForm(trips);
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
  for (bool isElse : {false, true}) {
    Region &region = isElse ? branch.getElseRegion() : branch.getThenRegion();
    Steps &body = isElse ? step.elseBody : step.body;
    if (region.empty())
      continue;
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
  if (!needsStructure(step.body) && !needsStructure(step.elseBody)) {
    // Threads that read more than they do only make the check stricter.
    llvm::append_range(steps, step.body);
    llvm::append_range(steps, step.elseBody);
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

LinearForm ModelBuilder::toForm(const Polynomial &polynomial) {
  LinearForm form;
  for (const auto &[monomial, coefficient] : polynomial) {
    if (monomial.empty()) {
      form.constant = coefficient;
      continue;
    }
    auto [it, isNew] = unknownOf.try_emplace(monomial, model.unknowns);
    model.unknowns += isNew;
    form.terms[it->second] = coefficient;
  }
  return form;
}

/// Replaces induction variables in `difference` by lower bound + pass * step.
LogicalResult ModelBuilder::addSlope(Value condition, Polynomial difference,
                                     Operation *op, ProtocolCondition &result) {
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    Polynomial variable = counts.getValue(loop.getInductionVar());
    auto found = difference.find(variable.begin()->first);
    if (found == difference.end())
      continue;
    int64_t factor = found->second;
    std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    if (!step)
      return failure();
    difference = ExecutionCounts::add(difference, variable, -factor);
    difference = ExecutionCounts::add(
        difference, counts.getValue(loop.getLowerBound()), factor);
    result.slope = factor * *step;
    result.loop = loopIndex.lookup(loop);
  }
  // Products of induction variables would be left.
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    unsigned atom =
        counts.getValue(loop.getInductionVar()).begin()->first.front();
    for (const auto &[monomial, coefficient] : difference)
      if (llvm::is_contained(monomial, atom))
        return failure();
  }
  result.form = toForm(difference);
  return success();
}

FailureOr<unsigned> ModelBuilder::addCondition(Value condition, Operation *op) {
  ProtocolCondition result{ProtocolCondition::NotEqual, {}};
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
  auto unsupported = [&]() {
    return op->emitError(
        "synchronises or accumulates under a condition that is "
        "not a comparison of numbers of passes: not supported "
        "by the protocol verifier");
  };
  if (predicate && isPolynomial(compare.getLhs()) &&
      isPolynomial(compare.getRhs())) {
    result.predicate = *predicate;
    Polynomial difference =
        ExecutionCounts::add(counts.getValue(compare.getLhs()),
                             counts.getValue(compare.getRhs()), -1);
    if (failed(addSlope(condition, difference, op, result)))
      return unsupported();
  } else if (!dependsOnLoop(condition)) {
    // True where the unknown is not 0.
    result.form = toForm(counts.getValue(condition));
  } else {
    return unsupported();
  }
  model.conditions.push_back(std::move(result));
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

static void findWriters(const std::vector<Step> &steps,
                        MutableArrayRef<Agent> writers) {
  for (const Step &step : steps) {
    if (step.kind == StepKind::Access && step.writes != -1)
      writers[step.writes] = step.agent;
    findWriters(step.body, writers);
    findWriters(step.elseBody, writers);
  }
}

FailureOr<ProtocolModel> ModelBuilder::run() {
  for (auto op : model.kernel.getBody().getOps<RoleOp>()) {
    roleIndex[op] = model.roles.size();
    model.roles.emplace_back();
  }
  if (failed(addChannels()))
    return failure();
  for (auto op : model.kernel.getBody().getOps<RoleOp>())
    if (failed(addRole(op)))
      return failure();
  SmallVector<Agent> writers(model.channels.size(), Agent::Lanes);
  for (ProtocolRole &r : model.roles)
    findWriters(r.body, writers);
  for (ProtocolRole &r : model.roles)
    setCompletions(model, r.body, writers);
  return std::move(model);
}

FailureOr<ProtocolModel> ProtocolModel::build(KernelOp kernel) {
  return ModelBuilder(kernel).run();
}
