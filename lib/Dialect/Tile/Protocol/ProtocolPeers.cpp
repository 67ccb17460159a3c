//===- ProtocolPeers.cpp - the other CTA of a cluster ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Protocol/ProtocolPeers.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/RankDependence.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa4::tile;

namespace {

class PeerBuilder {
public:
  explicit PeerBuilder(ProtocolModel &model)
      : model(model),
        ranks(model.kernel, model.kernel.getClusterAttr().getAxis()),
        channels(model.channels.size()) {}

  LogicalResult run();

private:
  LogicalResult checkNumbers();
  LogicalResult checkSplitLoad(LoadOp load);
  LogicalResult checkParts();
  void addChannels();
  void addRoles();
  void addLoops();
  void addConditions();
  Step toPeer(const Step &step) const;
  void sendToPeer(std::vector<Step> &steps) const;
  bool isOfLeader(unsigned role) const {
    return RoleOp(model.roles[role].op).getLeader();
  }
  bool isForEach(unsigned channel) const;
  bool isOwn(const Step &step) const;
  /// Returns true if the step sends a tile to the other CTA in an exchange.
  bool sends(const Step &step) const {
    int channel = step.kind == StepKind::Access   ? step.writes
                  : step.kind == StepKind::Commit ? int(step.channel)
                                                  : -1;
    return channel != -1 && model.channels[channel].part == StagePart::Received;
  }
  std::vector<Step> forBoth(const std::vector<Step> &steps,
                            unsigned variables) const;
  void dropLacking(std::vector<Step> &steps) const;

  ProtocolModel &model;
  /// The values that may differ between the CTAs.
  RankDependence ranks;
  /// The number of channels of a CTA. Channel c of the leader has the number
  /// c + channels in its peer.
  unsigned channels;
  /// Maps roles, loops and conditions to their numbers in the peer. Roles of
  /// the leader exist once and keep their numbers.
  SmallVector<unsigned> roleOf, loopOf, conditionOf;
};

} // namespace

/// An unknown of the model has one value for both CTAs, so no loop or condition
/// that synchronises may depend on which CTA it is in.
LogicalResult PeerBuilder::checkNumbers() {
  auto differ = [&](ValueRange numbers) {
    return llvm::any_of(numbers,
                        [&](Value number) { return ranks.differs(number); });
  };
  for (const ProtocolLoop &loop : model.loops) {
    // All CTAs of a cluster have equally many work tiles.
    auto op = dyn_cast<scf::ForOp>(loop.op);
    if (op && differ({op.getLowerBound(), op.getUpperBound(), op.getStep()}))
      return op.emitError("@")
             << model.roles[loop.role].name
             << " may make another number of passes of this loop in each CTA "
                "of a cluster, whose CTAs hand each other values";
  }
  for (const ProtocolCondition &condition : model.conditions) {
    if (!differ(condition.value))
      continue;
    Operation *def = condition.value.getDefiningOp();
    const ProtocolRole &role = model.roles[condition.role];
    return (def ? def : RoleOp(role.op).getOperation())->emitError("@")
           << role.name
           << " may find another value of this condition in each CTA of a "
              "cluster, whose CTAs hand each other values";
  }
  return success();
}

/// Returns true if a role of each CTA waits for the channel. A role of the
/// leader that waits for such a channel takes only the leader's own value.
bool PeerBuilder::isForEach(unsigned channel) const {
  return !llvm::all_of(model.channels[channel].consumers,
                       [&](unsigned role) { return isOfLeader(role); });
}

/// Each CTA loads a part of a split tile. The parts fit together only if all
/// CTAs load the same tile.
LogicalResult PeerBuilder::checkSplitLoad(LoadOp load) {
  for (Value index : load.getIndices())
    if (ranks.differs(index))
      return load.emitOpError(
          "is split over the CTAs of a cluster, but may load another tile in "
          "each of them");
  return success();
}

/// Checks where an MMA of a pair gets its operands, whatever way they take: A
/// comes whole from each CTA, B in halves of its columns from both.
static LogicalResult checkOperands(MmaOp mma) {
  for (ChannelOp a : getSourceChannels(mma.getA()))
    if (a.getSplit())
      return mma.emitOpError("has an A of which each CTA of the cluster has "
                             "only a part, in channel \"")
             << a.getLabel() << "\"";
  uint64_t dim = mma.getTransposeB() ? 0 : 1;
  StringRef what = dim == 0 ? "rows" : "columns";
  for (ChannelOp b : getSourceChannels(mma.getB())) {
    if (b.getSplit() != dim)
      return mma.emitOpError("needs a B of which each CTA of the cluster has "
                             "half of the ")
             << what << ", which channel \"" << b.getLabel() << "\" has not";
    // An MMA that uses some of the columns of B needs half of these columns in
    // each CTA. But each CTA holds half of all columns.
    if (b.getTileType().getDimSize(dim) != mma.getN())
      return mma.emitOpError("needs a B of which each CTA of the cluster has "
                             "half of the ")
             << what << ", but takes some of the " << what << " of channel \""
             << b.getLabel() << "\"";
  }
  return success();
}

LogicalResult PeerBuilder::checkParts() {
  return fa4::checkEach(model.kernel, [&](Operation *op) {
    if (auto mma = dyn_cast<MmaOp>(op))
      return checkOperands(mma);
    auto load = dyn_cast<LoadOp>(op);
    return load && load.getSplit() ? checkSplitLoad(load) : success();
  });
}

void PeerBuilder::addChannels() {
  for (unsigned number = 0; number < channels; ++number) {
    ProtocolChannel peer = model.channels[number];
    if (isForEach(number))
      llvm::erase_if(peer.consumers,
                     [&](unsigned role) { return isOfLeader(role); });
    peer.rank = 1;
    peer.label += " (peer)";
    for (unsigned &other : peer.after)
      other += channels;
    // The role of the other CTA sends what this CTA receives.
    bool isReceived = peer.part == StagePart::Received;
    int &producer =
        isReceived ? model.channels[number].producer : peer.producer;
    for (int *role : {&producer, &peer.acquirer})
      if (*role != -1)
        *role = roleOf[*role];
    for (unsigned &role : peer.consumers)
      role = roleOf[role];
    llvm::sort(peer.consumers);
    model.channels.push_back(std::move(peer));
  }
}

void PeerBuilder::addLoops() {
  unsigned size = model.loops.size();
  unsigned next = size;
  for (const ProtocolLoop &loop : model.loops)
    loopOf.push_back(roleOf[loop.role] == loop.role ? loopOf.size() : next++);
  for (unsigned number = 0; number < size; ++number) {
    if (loopOf[number] == number)
      continue;
    ProtocolLoop peer = model.loops[number];
    peer.role = roleOf[peer.role];
    for (unsigned &parent : peer.parents)
      parent = loopOf[parent];
    model.loops.push_back(std::move(peer));
  }
}

void PeerBuilder::addConditions() {
  unsigned size = model.conditions.size();
  unsigned next = size;
  for (const ProtocolCondition &condition : model.conditions)
    conditionOf.push_back(
        roleOf[condition.role] == condition.role ? conditionOf.size() : next++);
  for (unsigned number = 0; number < size; ++number) {
    if (conditionOf[number] == number)
      continue;
    ProtocolCondition peer = model.conditions[number];
    peer.role = roleOf[peer.role];
    if (peer.loop != -1)
      peer.loop = loopOf[peer.loop];
    for (unsigned &parent : peer.parents)
      parent = loopOf[parent];
    model.conditions.push_back(std::move(peer));
  }
}

/// Returns the peer's copy of a step of a role that both CTAs run.
Step PeerBuilder::toPeer(const Step &step) const {
  Step peer = step;
  if (!sends(step)) {
    peer.channel += channels;
    if (peer.writes != -1)
      peer.writes += channels;
  }
  for (unsigned &channel : peer.readsLast)
    channel += channels;
  if (peer.accumulate != -1)
    peer.accumulate = conditionOf[peer.accumulate];
  if (peer.kind == StepKind::If)
    peer.number = conditionOf[peer.number];
  if (peer.kind == StepKind::Loop)
    peer.number = loopOf[peer.number];
  for (auto *steps : {&peer.body, &peer.elseBody})
    for (Step &inner : *steps)
      inner = toPeer(inner);
  return peer;
}

/// Redirects the steps of the leader's CTA that send, to channels of the peer.
void PeerBuilder::sendToPeer(std::vector<Step> &steps) const {
  for (Step &step : steps) {
    if (sends(step)) {
      step.channel += channels;
      if (step.writes != -1)
        step.writes += channels;
    }
    sendToPeer(step.body);
    sendToPeer(step.elseBody);
  }
}

/// Returns true if a role of the leader takes the step for its own CTA only.
bool PeerBuilder::isOwn(const Step &step) const {
  if (step.kind == StepKind::Wait || step.kind == StepKind::Release)
    return isForEach(step.channel);
  return step.kind == StepKind::Access &&
         llvm::any_of(step.readsLast,
                      [&](unsigned channel) { return isForEach(channel); });
}

/// Returns the steps of a role of the leader. Each step is doubled for the
/// peer, unless it is for the leader's own CTA only. Each of the role's
/// `variables` gets a second one, which names the stage in the peer.
std::vector<Step> PeerBuilder::forBoth(const std::vector<Step> &steps,
                                       unsigned variables) const {
  // Variable 0 stands for a value that is in no stage, so it is the same in
  // both CTAs.
  auto inPeer = [&](int variable) {
    return variable > 0 ? variable + int(variables) : variable;
  };
  auto addAssignments = [&](Step::Assignments &assignments) {
    for (size_t i = 0, size = assignments.size(); i < size; ++i)
      assignments.push_back({unsigned(inPeer(assignments[i].first)),
                             inPeer(assignments[i].second)});
  };
  std::vector<Step> result;
  for (const Step &step : steps) {
    Step own = step;
    addAssignments(own.assignments);
    addAssignments(own.back);
    own.body = forBoth(step.body, variables);
    own.elseBody = forBoth(step.elseBody, variables);
    bool isStructure = step.kind == StepKind::Loop ||
                       step.kind == StepKind::If || step.kind == StepKind::Copy;
    if (isStructure || isOwn(step)) {
      result.push_back(std::move(own));
      continue;
    }
    Step peer = step;
    peer.channel += channels;
    peer.result = inPeer(step.result);
    if (step.kind == StepKind::Access) {
      for (unsigned &variable : peer.reads)
        variable = inPeer(variable);
      peer.accumulator = inPeer(step.accumulator);
      if (peer.writes != -1)
        peer.writes += channels;
      for (unsigned &channel : peer.readsLast)
        channel += channels;
      // The MMA of a pair reads B, its last operand, in both CTAs.
      if (step.agent == Agent::Mma) {
        own.reads.push_back(inPeer(step.reads.back()));
        peer.reads.push_back(step.reads.back());
      }
    }
    result.push_back(std::move(own));
    result.push_back(std::move(peer));
  }
  return result;
}

void PeerBuilder::addRoles() {
  for (unsigned number = 0, size = roleOf.size(); number < size; ++number) {
    if (roleOf[number] == number) {
      ProtocolRole &role = model.roles[number];
      role.body = forBoth(role.body, role.variables);
      role.variables *= 2;
      continue;
    }
    ProtocolRole peer = model.roles[number];
    peer.rank = 1;
    peer.name += " (peer)";
    for (Step &step : peer.body)
      step = toPeer(step);
    sendToPeer(model.roles[number].body);
    model.roles.push_back(std::move(peer));
  }
}

/// Removes the steps that a mutant lacks: the wait or the arrival in one CTA.
void PeerBuilder::dropLacking(std::vector<Step> &steps) const {
  auto lacks = [&](const Step &step) {
    return step.lacking != -1 && step.lacking == int(step.channel / channels);
  };
  llvm::erase_if(steps, [&](const Step &step) {
    return lacks(step) &&
           (step.kind == StepKind::Commit || step.kind == StepKind::Release);
  });
  for (Step &step : steps) {
    if (lacks(step))
      step.strength = Step::Weak;
    dropLacking(step.body);
    dropLacking(step.elseBody);
  }
}

LogicalResult PeerBuilder::run() {
  if (failed(checkNumbers()) || failed(checkParts()))
    return failure();
  unsigned next = model.roles.size();
  for (const ProtocolRole &role : model.roles)
    roleOf.push_back(RoleOp(role.op).getLeader() ? roleOf.size() : next++);
  addLoops();
  addConditions();
  addRoles();
  for (ProtocolRole &role : model.roles)
    dropLacking(role.body);
  addChannels();
  return success();
}

LogicalResult fa4::tile::addPeers(ProtocolModel &model) {
  KernelOp kernel = model.kernel;
  return kernel.getCluster() ? PeerBuilder(model).run() : success();
}
