//===- HandBack.cpp - lanes give an accumulator back early ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HandBack.h"
#include "fa4/Dialect/Tile/Analysis/RingOrder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Where the role waits
//===----------------------------------------------------------------------===//

std::optional<SmallVector<Operation *>>
fa4::tile::findHandBacks(const ChannelUses &host, const ChannelUses &guest) {
  auto ofHost = RingOrder::findWrites(host),
       ofGuest = RingOrder::findWrites(guest);
  if (!ofHost || !ofGuest)
    return std::nullopt;
  SmallVector<Operation *> waits;
  for (Operation *write : *ofHost) {
    Operation *next = write->getNextNode();
    auto holds = [&](Operation *other) { return next->isAncestor(other); };
    while (next && llvm::none_of(*ofHost, holds) &&
           llvm::none_of(*ofGuest, holds))
      next = next->getNextNode();
    if (!next)
      return std::nullopt;
    waits.push_back(next);
  }
  return waits;
}

//===----------------------------------------------------------------------===//
// What lanes need until then
//===----------------------------------------------------------------------===//

namespace {
/// A commit or release of the issuing role that another role needs once for
/// each value of the host.
struct Need {
  ChannelOp channel;
  bool isRelease;
  /// The number of commits of the host that the role may be ahead of this need
  /// when it waits for the host.
  int64_t lag;
};

/// Follows the issuing role, and counts by how many commits of the host it is
/// ahead of each need.
class LagCounter {
public:
  LagCounter(ChannelOp host, ArrayRef<Need> needs, ArrayRef<Operation *> waits)
      : host(host), needs(needs), waits(waits) {}

  /// Returns true if the role is not too far ahead of any need at any of the
  /// waits.
  bool holdsIn(RoleOp role) {
    return run(role.getBody().front(), Lags(needs.size(), 0)).has_value();
  }

private:
  using Lags = SmallVector<int64_t>;
  std::optional<Lags> run(Block &block, Lags lags);
  std::optional<Lags> run(Operation &op, Lags lags);

  ChannelOp host;
  ArrayRef<Need> needs;
  ArrayRef<Operation *> waits;
};
} // namespace

std::optional<LagCounter::Lags> LagCounter::run(Operation &op, Lags lags) {
  if (llvm::is_contained(waits, &op))
    for (auto [lag, need] : llvm::zip_equal(lags, needs))
      if (lag > need.lag)
        return std::nullopt;
  auto channel = isa<CommitOp, ReleaseOp>(op)
                     ? op.getOperand(0).getDefiningOp<ChannelOp>()
                     : ChannelOp();
  for (auto [lag, need] : llvm::zip_equal(lags, needs))
    if (isa<CommitOp>(op) && channel == host)
      ++lag;
    else if (channel == need.channel && isa<ReleaseOp>(op) == need.isRelease)
      --lag;
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    auto then = run(branch.getThenRegion().front(), lags);
    auto other = branch.getElseRegion().empty()
                     ? lags
                     : run(branch.getElseRegion().front(), lags);
    return then == other ? then : std::nullopt;
  }
  // Any number of passes must leave the lags as they were before the loop.
  for (Region &region : op.getRegions())
    for (Block &block : region)
      if (run(block, lags) != lags)
        return std::nullopt;
  return lags;
}

std::optional<LagCounter::Lags> LagCounter::run(Block &block, Lags lags) {
  std::optional<Lags> current = lags;
  for (Operation &op : block)
    if (current)
      current = run(op, *current);
  return current;
}

/// Returns true if lanes execute each of these operations once for each value
/// of the host, behind their wait for it.
template <typename Op>
static bool comesBehind(ArrayRef<Op> ops, const ChannelUses &host) {
  return ops.size() == host.waits.size() &&
         llvm::all_of(ops, [&](Operation *op) {
           return llvm::any_of(host.waits, [&](WaitOp wait) {
             return wait->getBlock() == op->getBlock() &&
                    wait->isBeforeInBlock(op);
           });
         });
}

/// Returns true if `role` releases the channel behind all other work on a work
/// tile. A wait for such a release belongs to the next work tile.
static bool isReleasedAtEnd(const ChannelUses &uses, RoleOp role,
                            ArrayRef<Operation *> waits) {
  return llvm::all_of(uses.releases, [&](ReleaseOp release) {
    return release->getParentOfType<RoleOp>() != role ||
           llvm::all_of(waits, [&](Operation *wait) {
             Operation *op = release->getBlock()->findAncestorOpInBlock(*wait);
             return op && op != release && op->isBeforeInBlock(release) &&
                    release->getBlock() ==
                        &KernelOp::getWorkBlock(role.getBody());
           });
  });
}

/// Collects the commits and releases of `role` that the host's consumer needs,
/// or a role for which the consumer waits. A wait or acquire behind the lanes'
/// wait for the host belongs to the value before.
static SmallVector<Need> collectNeeds(RoleOp role, const ChannelUses &host,
                                      ArrayRef<Operation *> waits,
                                      const UsesMap &all) {
  SmallVector<Need> needs;
  llvm::SetVector<RoleOp> roles;
  roles.insert(host.consumers[0]);
  for (unsigned i = 0; i < roles.size(); ++i)
    for (const auto &[channel, uses] : all) {
      bool isHost = ChannelOp(channel) == ChannelOp(host.channel);
      auto inRole = [&](auto &ops) {
        std::decay_t<decltype(ops)> result;
        llvm::copy_if(ops, std::back_inserter(result),
                      [&](auto op) { return roles[i]->isAncestor(op); });
        return result;
      };
      auto waited = inRole(uses.waits);
      auto acquired = inRole(uses.acquires);
      auto lagOf = [&](auto ops) {
        return i == 0 && comesBehind(ArrayRef(ops), host) ? 1 : 0;
      };
      for (RoleOp other : uses.producers)
        if (other != role && !waited.empty())
          roles.insert(other);
        else if (!waited.empty() && !isHost)
          needs.push_back({channel, /*isRelease=*/false, lagOf(waited)});
      for (RoleOp other : uses.consumers)
        if (other != role && !acquired.empty())
          roles.insert(other);
        else if (!acquired.empty() && !isReleasedAtEnd(uses, role, waits))
          needs.push_back(
              {channel, /*isRelease=*/true,
               lagOf(acquired) + int64_t(ChannelOp(channel).getStages())});
    }
  return needs;
}

bool fa4::tile::handsBackWithout(RoleOp role, const ChannelUses &host,
                                 ArrayRef<Operation *> waits,
                                 const UsesMap &all) {
  SmallVector<Need> needs = collectNeeds(role, host, waits, all);
  return llvm::none_of(
             needs,
             [](const Need &need) {
               return ChannelOp(need.channel).getInitial().value_or(0);
             }) &&
         LagCounter(host.channel, needs, waits).holdsIn(role);
}

//===----------------------------------------------------------------------===//
// The rewriting
//===----------------------------------------------------------------------===//

void fa4::tile::handBack(const ChannelUses &host, ArrayRef<Operation *> waits) {
  ChannelOp channel = host.channel;
  OpBuilder builder(channel->getContext());
  builder.setInsertionPointAfter(channel);
  Type type = channel.getValueType();
  auto back = ChannelOp::create(builder, channel.getLoc(), type,
                                (channel.getLabel() + "_back").str(),
                                channel.getSpace());
  back.getInPlaceOfMutable().assign(channel.getChannel());
  for (WaitOp wait : host.waits) {
    builder.setInsertionPointAfter(wait);
    auto copy = CopyOp::create(builder, wait.getLoc(), wait.getValue());
    wait.getValue().replaceAllUsesExcept(copy, copy);
    CommitOp::create(builder, wait.getLoc(), back.getChannel(),
                     /*value=*/Value());
  }
  for (Operation *op : waits) {
    builder.setInsertionPoint(op);
    WaitOp::create(builder, op->getLoc(), type, back.getChannel());
  }
}
