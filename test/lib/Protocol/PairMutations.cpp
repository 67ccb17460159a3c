//===- PairMutations.cpp - small faults between the CTAs of a cluster ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/Mutations.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4::tile;
using llvm::formatv;

namespace {

class PairMutator {
public:
  explicit PairMutator(KernelOp kernel)
      : kernel(kernel), builder(kernel.getContext()) {}

  std::vector<Mutation> run();

private:
  using Attributes = SmallVector<std::pair<std::string, Attribute>, 1>;

  /// A mutation that sets attributes of an operation, and of others.
  void add(StringRef kind, const Twine &text, Operation *op,
           Attributes attributes, ArrayRef<Operation *> others = {}) {
    IRChange change{IRChange::SetAttributes, op, nullptr,
                    std::move(attributes)};
    change.others.assign(others.begin(), others.end());
    Mutation mutation;
    mutation.kind = kind.str();
    mutation.text = text.str();
    mutation.changeIR = std::move(change);
    result.push_back(std::move(mutation));
  }
  Attribute number(int64_t value) { return builder.getI64IntegerAttr(value); }
  void mutateSplit(ChannelOp channel);
  void mutateExchange(ChannelOp channel);

  KernelOp kernel;
  Builder builder;
  std::vector<Mutation> result;
};

} // namespace

/// The loads whose values are committed to the channel.
static SmallVector<Operation *> findLoads(ChannelOp channel) {
  SmallVector<Operation *> loads;
  for (Operation *user : channel.getChannel().getUsers())
    if (auto commit = dyn_cast<CommitOp>(user); commit && commit.getValue())
      if (auto load = commit.getValue().getDefiningOp<LoadOp>())
        loads.push_back(load);
  return loads;
}

/// Which part of a tile each CTA has: none, the other dimension, or a part
/// where each CTA should have the whole tile.
void PairMutator::mutateSplit(ChannelOp channel) {
  SmallVector<Operation *> loads = findLoads(channel);
  if (loads.empty())
    return;
  std::string name = channel.getLabel().str();
  auto set = [&](const Twine &text, Attribute split) {
    add("split", name + ": " + text, channel, {{"split", split}});
    add("split", name + ": " + text + ", and of its loads", channel,
        {{"split", split}}, loads);
    add("split", name + ": " + text + ", of a load", loads.front(),
        {{"split", split}});
  };
  if (std::optional<uint64_t> split = channel.getSplit()) {
    set("split " + Twine(*split) + " to none", nullptr);
    set("split " + Twine(*split) + " to " + Twine(1 - *split),
        number(1 - int64_t(*split)));
  } else {
    set("split none to 0", number(0));
  }
}

/// The barriers at which what comes from the other CTA is counted.
void PairMutator::mutateExchange(ChannelOp channel) {
  if (!channel.getExchange())
    return;
  std::string name = channel.getLabel().str();
  PlaceAttr place = channel.getPlaceAttr();
  auto set = [&](const Twine &text, std::optional<Barriers> value,
                 Attributes more = {}) {
    more.push_back(
        {"place", changePlace(channel, [&](int64_t &, Barriers &,
                                           std::optional<Barriers> &,
                                           std::optional<Barriers> &landed) {
           landed = value;
         })});
    if (more.back().second)
      add("exchange", name + ": " + text, channel, std::move(more));
  };
  if (!place) {
    add("exchange", name + ": exchange to none", channel,
        {{"exchange", nullptr}});
    return;
  }
  set("exchange to none", std::nullopt, {{"exchange", nullptr}});
  Barriers landed = *place.getLanded();
  for (int64_t delta : {-1, 1})
    set(formatv("landed {0}", delta),
        Barriers{landed.first + delta, landed.arrivals, landed.bytes});
  for (int64_t count :
       {landed.bytes.value_or(0) / 2, landed.bytes.value_or(0) * 2})
    set(formatv("landed_bytes to {0}", count),
        Barriers{landed.first, landed.arrivals, count});
  set("landed_bytes to none",
      Barriers{landed.first, landed.arrivals, std::nullopt});
}

std::vector<Mutation> PairMutator::run() {
  ClusterAttr cluster = kernel.getClusterAttr();
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    bool isLeader = role.getLeader();
    add("leader",
        "@" + role.getSymName() +
            (isLeader ? " in all CTAs" : " in the leader only"),
        role, {{"leader", isLeader ? nullptr : builder.getUnitAttr()}});
  }
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    mutateSplit(channel);
    mutateExchange(channel);
  }
  add("cluster", "none", kernel, {{"cluster", nullptr}});
  for (int64_t axis = 0; axis < int64_t(kernel.getGrid().size()); ++axis)
    if (axis != cluster.getAxis())
      add("cluster", "along axis " + Twine(axis), kernel,
          {{"cluster",
            ClusterAttr::get(kernel.getContext(), cluster.getSize(), axis)}});
  return std::move(result);
}

std::vector<Mutation> fa4::tile::mutatePairs(KernelOp kernel) {
  return kernel.getCluster() ? PairMutator(kernel).run()
                             : std::vector<Mutation>();
}
