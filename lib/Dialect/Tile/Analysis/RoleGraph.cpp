//===- RoleGraph.cpp - dataflow between the loops of roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RoleGraph.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
/// One end of a channel: the operations of one role on the channel.
struct End {
  scf::ForOp loop;
  SmallVector<Operation *> inLoop;
  int64_t before = 0;
};
} // namespace

/// Sorts the operations of one end into those before, in and after the loop of
/// the role. Fails if they are in more than one loop, or if their number
/// depends on a condition.
static FailureOr<End> collectEnd(ArrayRef<Operation *> ops) {
  End end;
  for (Operation *op : ops)
    if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp())) {
      if (end.loop && end.loop != loop)
        return failure();
      end.loop = loop;
      end.inLoop.push_back(op);
    }
  if (!end.loop)
    return end;
  for (Operation *op : ops) {
    if (op->getParentOp() == end.loop)
      continue;
    // An operation behind all work on a tile belongs to no single run of the
    // loop.
    if (Operation *work = op->getBlock()->findAncestorOpInBlock(*end.loop);
        work && work != end.loop && work->isBeforeInBlock(op))
      continue;
    if (op->getBlock() != end.loop->getBlock())
      return failure();
    if (op->isBeforeInBlock(end.loop))
      ++end.before;
  }
  return end;
}

template <typename Op>
static FailureOr<End> collectEndIn(RoleOp role, ArrayRef<Op> ops) {
  SmallVector<Operation *> inRole;
  for (Op op : ops)
    if (op->template getParentOfType<RoleOp>() == role)
      inRole.push_back(op);
  return collectEnd(inRole);
}

RoleGraph::RoleGraph(KernelOp kernel) {
  for (auto &[channel, uses] : collectChannelUses(kernel))
    connect(uses);
}

void RoleGraph::connect(const ChannelUses &uses) {
  ChannelOp channel = uses.channel;
  for (RoleOp producer : uses.producers)
    for (RoleOp consumer : uses.consumers) {
      auto from = collectEndIn<CommitOp>(producer, uses.commits);
      auto to = collectEndIn<WaitOp>(consumer, uses.waits);
      if (failed(from) || failed(to) || uses.producers.size() > 1 ||
          from->inLoop.size() != to->inLoop.size()) {
        irregular.insert(channel);
        continue;
      }
      int64_t count = from->inLoop.size();
      int64_t ahead =
          channel.getInitial().value_or(0) + from->before - to->before;
      for (auto [m, commit] : llvm::enumerate(from->inLoop))
        for (auto [w, wait] : llvm::enumerate(to->inLoop)) {
          // A wait takes the value of a commit `distance / count` iterations
          // before. The two belong to one iteration if the distance is 0.
          int64_t distance =
              ahead + static_cast<int64_t>(m) - static_cast<int64_t>(w);
          if (distance != 0)
            continue;
          commits[wait].push_back(cast<CommitOp>(commit));
          waits[commit].push_back(cast<WaitOp>(wait));
        }
      if (count && ahead < 0)
        irregular.insert(channel);
    }
}

ArrayRef<CommitOp> RoleGraph::commitsOf(WaitOp wait) const {
  auto it = commits.find(wait);
  return it == commits.end() ? ArrayRef<CommitOp>() : it->second;
}

ArrayRef<WaitOp> RoleGraph::waitsOf(CommitOp commit) const {
  auto it = waits.find(commit);
  return it == waits.end() ? ArrayRef<WaitOp>() : it->second;
}

ChannelOp RoleGraph::irregularChannel(scf::ForOp loop) const {
  for (Operation *op : fa4::collectOps<WaitOp, CommitOp>(loop))
    if (auto channel = op->getOperand(0).getDefiningOp<ChannelOp>();
        irregular.contains(channel))
      return channel;
  return nullptr;
}

SmallVector<Operation *> RoleGraph::operandOps(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  SmallVector<Operation *> ops;
  for (Value value : values)
    if (Operation *def = value.getDefiningOp();
        def && def->getBlock() == op->getBlock())
      ops.push_back(def);
  return ops;
}

SmallVector<Operation *> RoleGraph::predecessors(Operation *op,
                                                 bool order) const {
  SmallVector<Operation *> result = operandOps(op);
  if (auto wait = dyn_cast<WaitOp>(op))
    llvm::append_range(result, commitsOf(wait));
  if (order)
    for (Operation *before = op->getPrevNode(); before;
         before = before->getPrevNode())
      if (isa<WaitOp, AcquireOp>(before)) {
        result.push_back(before);
        break;
      }
  return result;
}

namespace {
/// Computes longest paths by a memoised depth-first search. The value of an
/// operation is -1 if no path from its role reaches it.
class LongestTrips {
public:
  LongestTrips(const RoleGraph &graph, RoleOp role)
      : graph(graph), role(role) {}

  int visit(Operation *op) {
    auto [it, inserted] = trips.try_emplace(op, kActive);
    if (!inserted) {
      cyclic |= it->second == kActive;
      return it->second;
    }
    bool inRole = op->getParentOfType<RoleOp>() == role;
    int most = inRole ? 0 : -1;
    for (Operation *before : graph.predecessors(op, /*order=*/!inRole)) {
      int sofar = visit(before);
      bool enters = inRole && before->getParentOfType<RoleOp>() != role;
      most = std::max(most, enters && sofar >= 0 ? sofar + 1 : sofar);
    }
    return trips[op] = most;
  }

  bool cyclic = false;

private:
  static constexpr int kActive = -2;
  const RoleGraph &graph;
  RoleOp role;
  llvm::DenseMap<Operation *, int> trips;
};
} // namespace

FailureOr<llvm::DenseMap<Operation *, unsigned>>
RoleGraph::roundTrips(scf::ForOp loop) const {
  LongestTrips longest(*this, loop->getParentOfType<RoleOp>());
  llvm::DenseMap<Operation *, unsigned> result;
  for (Operation &op : loop.getBody()->without_terminator())
    if (int trips = longest.visit(&op); trips > 0)
      result[&op] = trips;
  if (longest.cyclic)
    return failure();
  return result;
}
