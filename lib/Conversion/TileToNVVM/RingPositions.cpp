//===- RingPositions.cpp - where a role is in its channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingPositions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4::tile;

static std::pair<Operation *, unsigned> slot(RingPositions::Key key) {
  return {key.first, static_cast<unsigned>(key.second)};
}

RingPosition RingPositions::get(ChannelOp channel, RingUse use) const {
  return positions.lookup(slot({channel, use}));
}

void RingPositions::advance(ChannelOp channel, RingUse use) {
  ++positions[slot({channel, use})].offset;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, b.getI32Type(), value);
}

Value RingPositions::materialize(ImplicitLocOpBuilder &b,
                                 const RingPosition &position) {
  if (!position.base)
    return constant(b, position.offset);
  if (position.offset == 0)
    return position.base;
  return arith::AddIOp::create(b, position.base, constant(b, position.offset));
}

Value RingPositions::stage(ImplicitLocOpBuilder &b,
                           const RingPosition &position, int64_t stages) {
  if (stages == 1)
    return {};
  if (!position.base)
    return constant(b, position.offset % stages);
  Value count = materialize(b, position);
  if (llvm::isPowerOf2_64(stages))
    return arith::AndIOp::create(b, count, constant(b, stages - 1));
  return arith::RemUIOp::create(b, count, constant(b, stages));
}

Value RingPositions::parity(ImplicitLocOpBuilder &b,
                            const RingPosition &position, int64_t stages,
                            bool flip) {
  if (!position.base)
    return constant(b, (position.offset / stages + flip) % 2);
  // Each further round through the ring flips the parity of the phase.
  Value count =
      materialize(b, {position.base, position.offset + (flip ? stages : 0)});
  if (llvm::isPowerOf2_64(stages)) {
    if (stages > 1)
      count =
          arith::ShRUIOp::create(b, count, constant(b, llvm::Log2_64(stages)));
  } else {
    count = arith::DivUIOp::create(b, count, constant(b, stages));
  }
  return arith::AndIOp::create(b, count, constant(b, 1));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

std::optional<RingPositions::Key> RingPositions::keyOf(Operation *op) const {
  auto key = [&](Value channel, RingUse use) -> std::optional<Key> {
    auto defining = channel.getDefiningOp<ChannelOp>();
    if (defining.isTurn())
      return std::nullopt;
    bool guarded = use == RingUse::Acquire || use == RingUse::Release;
    if (guarded && !layout->buffer(defining).empty)
      return std::nullopt;
    return Key(defining, use);
  };
  return llvm::TypeSwitch<Operation *, std::optional<Key>>(op)
      .Case(
          [&](AcquireOp op) { return key(op.getChannel(), RingUse::Acquire); })
      .Case([&](CommitOp op) { return key(op.getChannel(), RingUse::Commit); })
      .Case([&](WaitOp op) { return key(op.getChannel(), RingUse::Wait); })
      .Case(
          [&](ReleaseOp op) { return key(op.getChannel(), RingUse::Release); })
      .Default(std::nullopt);
}

SmallVector<RingPositions::Key> RingPositions::keysOf(Region &region) const {
  llvm::SmallSetVector<std::pair<Operation *, unsigned>, 8> keys;
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto key = keyOf(op))
      keys.insert(slot(*key));
  });
  return llvm::map_to_vector(keys, [](auto key) {
    return Key(key.first, static_cast<RingUse>(key.second));
  });
}

std::optional<RingPositions::Advance>
RingPositions::advanceOfLoop(Operation *op, Key key) const {
  std::optional<Advance> each = advanceOf(op->getRegion(0), key);
  if (!each || each->isZero())
    return each;
  if (!each->eachPass.empty())
    return std::nullopt;
  auto loop = dyn_cast<scf::ForOp>(op);
  std::optional<APInt> trips = loop ? loop.getStaticTripCount() : std::nullopt;
  if (trips)
    return Advance{each->fixed * trips->getSExtValue(), {}};
  return Advance{0, {{op, each->fixed}}};
}

std::optional<RingPositions::Advance> RingPositions::advanceOf(Operation *op,
                                                               Key key) const {
  if (auto used = keyOf(op))
    return Advance{*used == key, {}};
  if (op->getNumRegions() == 0)
    return Advance();
  if (isa<scf::ForOp, WorkOp>(op))
    return advanceOfLoop(op, key);
  std::optional<Advance> first = advanceOf(op->getRegion(0), key);
  for (Region &region : op->getRegions().drop_front())
    if (!(advanceOf(region, key) == first))
      return std::nullopt;
  return first;
}

std::optional<RingPositions::Advance> RingPositions::advanceOf(Region &region,
                                                               Key key) const {
  Advance sum;
  if (region.empty())
    return sum;
  for (Operation &op : region.front()) {
    std::optional<Advance> each = advanceOf(&op, key);
    if (!each)
      return std::nullopt;
    sum.fixed += each->fixed;
    for (auto [loop, number] : each->eachPass)
      sum.eachPass[loop] += number;
  }
  return sum;
}

SmallVector<RingPositions::Group> RingPositions::groupsOf(Region &loop) const {
  SmallVector<Group> groups;
  SmallVector<std::optional<Advance>> advances;
  for (Key key : keysOf(loop)) {
    RingPosition position = get(cast<ChannelOp>(key.first), key.second);
    std::optional<Advance> advance = advanceOf(loop, key);
    size_t index = 0;
    for (; index < groups.size(); ++index)
      if (advance && advances[index] == advance &&
          groups[index].entry.base == position.base)
        break;
    if (index == groups.size()) {
      bool countsPasses = advance && advance->fixed == 1 &&
                          advance->eachPass.empty() && !position.base;
      groups.push_back({{}, position, countsPasses});
      advances.push_back(advance);
    }
    Group &group = groups[index];
    group.members.push_back({key, position.offset - group.entry.offset});
  }
  return groups;
}

void RingPositions::enter(const Group &group, Value counter) {
  for (auto [key, delta] : group.members)
    positions[slot(key)] = {counter, delta};
}

RingPosition RingPositions::current(const Group &group) const {
  auto [key, delta] = group.members.front();
  RingPosition position = positions.lookup(slot(key));
  position.offset -= delta;
  return position;
}

SmallVector<RingPositions::Key> RingPositions::unevenKeys(scf::IfOp op) const {
  llvm::SmallSetVector<std::pair<Operation *, unsigned>, 8> keys;
  for (Region *region : op.getRegions())
    for (Key key : keysOf(*region))
      if (!advanceOf(op.getOperation(), key))
        keys.insert(slot(key));
  return llvm::map_to_vector(keys, [](auto key) {
    return Key(key.first, static_cast<RingUse>(key.second));
  });
}
