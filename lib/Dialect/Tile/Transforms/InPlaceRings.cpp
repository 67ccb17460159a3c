//===- InPlaceRings.cpp - tensor memory that values use in turn ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlaceRings.h"
#include "HandBack.h"
#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/RingOrder.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4::tile;

namespace {
/// Channels that use the columns of `host` in turn.
struct Place {
  ChannelOp host;
  SmallVector<ChannelOp> parts, witnesses, guests;
};
} // namespace

//===----------------------------------------------------------------------===//
// The role of lanes
//===----------------------------------------------------------------------===//

/// Returns true if `value` is computed from `source` by operations of the block
/// in which `source` is defined.
static bool dependsOn(Value value, Value source) {
  SmallVector<Value> worklist = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  Block *block = source.getParentBlock();
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (next == source)
      return true;
    Operation *op = next.getDefiningOp();
    op = op ? block->findAncestorOpInBlock(*op) : nullptr;
    if (!op || !seen.insert(op).second)
      continue;
    // A value that is used in a region may reach the results of the region's
    // operation.
    op->walk([&](Operation *inner) {
      llvm::append_range(worklist, inner->getOperands());
    });
  }
  return false;
}

/// Returns the wait for the accumulator from which the value of `commit` is
/// computed. Returns null if there is none, or if the lanes still need the
/// accumulator's columns when they commit.
static WaitOp findSource(CommitOp commit, const ChannelUses &accumulator) {
  WaitOp source;
  Block *block = commit->getBlock();
  for (WaitOp wait : accumulator.waits) {
    Operation *ancestor = block->findAncestorOpInBlock(*wait);
    if (!ancestor)
      continue;
    // The wait must lie in this block, and no other operation on the ring
    // between it and the commit.
    if (ancestor != wait || source || !wait->isBeforeInBlock(commit) ||
        !wait.getValue())
      return nullptr;
    source = wait;
  }
  if (!source || !commit.getValue() ||
      !dependsOn(commit.getValue(), source.getValue()))
    return nullptr;
  for (Operation *user : source.getValue().getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (!ancestor || !ancestor->isBeforeInBlock(commit))
      return nullptr;
  }
  return source;
}

/// Returns true if each commit of `part`, all by `role`, belongs to exactly one
/// wait of that role for `accumulator`.
static bool alternateInLanes(RoleOp role, const ChannelUses &part,
                             const ChannelUses &accumulator) {
  llvm::SmallPtrSet<Operation *, 4> sources;
  for (CommitOp commit : part.commits) {
    WaitOp source = findSource(commit, accumulator);
    if (!source || !sources.insert(source).second)
      return false;
  }
  return llvm::count_if(accumulator.waits, [&](WaitOp wait) {
           return wait->getParentOfType<RoleOp>() == role;
         }) == static_cast<int64_t>(sources.size());
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// Returns true for a channel in tensor memory that has one producer, one
/// stage, and a buffer which no other channel shares yet.
static bool isAlone(const ChannelUses &uses, const UsesMap &all) {
  ChannelOp channel = uses.channel;
  return channel.getSpace() == MemorySpace::tmem && channel.getStages() == 1 &&
         !channel.getInitial().value_or(0) && !channel.getInPlaceOf() &&
         uses.producers.size() == 1 && !uses.consumers.empty() &&
         llvm::none_of(all, [&](const auto &other) {
           return ChannelOp(other.first).getInPlaceOf() == channel.getChannel();
         });
}

/// Returns true for a channel that is alone and leads from one role of MMAs to
/// one role of lanes, or back.
static bool isCandidate(const ChannelUses &uses, const UsesMap &all) {
  return isAlone(uses, all) && uses.consumers.size() == 1 &&
         RoleOp(uses.producers[0]).startsMmas() !=
             RoleOp(uses.consumers[0]).startsMmas();
}

/// Returns the accumulator from which `part` is computed, or null.
static ChannelOp findAccumulator(const ChannelUses &part, const UsesMap &all) {
  ChannelOp best;
  WaitOp bestWait;
  for (const auto &[channel, uses] : all) {
    if (!isCandidate(uses, all) || uses.producers[0] != part.consumers[0] ||
        uses.consumers[0] != part.producers[0] ||
        ChannelOp(channel).getTileType().getDimSize(0) !=
            ChannelOp(part.channel).getTileType().getDimSize(0) ||
        !alternateInLanes(part.producers[0], part, uses))
      continue;
    WaitOp wait = findSource(part.commits.front(), uses);
    if (!best || bestWait->isBeforeInBlock(wait)) {
      best = channel;
      bestWait = wait;
    }
  }
  return best;
}

/// Returns true if the issuing role works in turns on the channels of the
/// place, and they fit into each other. `early` is a further channel, which
/// would be acquired before each write of the host.
static bool canTakeTurns(const Place &place, const UsesMap &all,
                         ChannelOp early = nullptr) {
  const ChannelUses &uses = all.find(place.host)->second;
  RoleOp role = uses.producers[0];
  RingOrder order(uses);
  int64_t columns = 0;
  for (ChannelOp part : place.parts) {
    columns += getTmemColumns(part);
    if (!order.addPart(all.find(part)->second, order.getAll()))
      return false;
  }
  if (columns > getTmemColumns(place.host))
    return false;
  for (ChannelOp witness : place.witnesses)
    order.addWitness(all.find(witness)->second, role);
  for (ChannelOp guest : place.guests) {
    const ChannelUses &of = all.find(guest)->second;
    SmallVector<Operation *> acquires(of.acquires.begin(), of.acquires.end());
    if (!order.addGuest(of, order.getAll(), acquires))
      return false;
  }
  if (early && !order.addGuest(all.find(early)->second, order.getAll(),
                               order.getWrites()))
    return false;
  return order.holdsIn(role);
}

/// Makes `channel` use the buffer of `owner`, from column `at` on.
static void putInPlace(ChannelOp channel, ChannelOp owner, int64_t at) {
  if (channel->isBeforeInBlock(owner))
    owner->moveBefore(channel);
  channel.getInPlaceOfMutable().assign(owner.getChannel());
  if (at != 0)
    channel.setAt(at);
}

void fa4::tile::formInPlaceRings(KernelOp kernel) {
  UsesMap all = collectChannelUses(kernel);
  llvm::MapVector<ChannelOp, SmallVector<ChannelOp>> rings;
  for (const auto &[channel, uses] : all)
    if (isCandidate(uses, all) && RoleOp(uses.consumers[0]).startsMmas())
      if (ChannelOp accumulator = findAccumulator(uses, all))
        rings[accumulator].push_back(channel);
  for (auto &[accumulator, parts] : rings) {
    while (!parts.empty() && !canTakeTurns({accumulator, parts, {}, {}}, all))
      parts.pop_back();
    if (parts.empty())
      continue;
    eraseOwnership(all.find(accumulator)->second);
    int64_t at = 0;
    for (ChannelOp part : parts) {
      eraseOwnership(all.find(part)->second);
      putInPlace(part, accumulator, at);
      at += getTmemColumns(part);
    }
  }
}

/// Returns the places in tensor memory that several channels use in turn.
static SmallVector<Place> getPlaces(KernelOp kernel, const UsesMap &all) {
  SmallVector<Place> places;
  for (auto &channels : collectBuffers(kernel)) {
    ChannelOp host = channels.front();
    const ChannelUses &uses = all.find(host)->second;
    if (channels.size() == 1 || host.getSpace() != MemorySpace::tmem ||
        host.getStages() != 1 || host.getInitial().value_or(0) ||
        !uses.acquires.empty() || uses.producers.size() != 1)
      continue;
    Place &place = places.emplace_back();
    place.host = host;
    for (ChannelOp channel : ArrayRef(channels).drop_front())
      (all.find(channel)->second.producers == uses.producers ? place.guests
                                                             : place.parts)
          .push_back(channel);
  }
  return places;
}

/// Returns a channel that shows when `lanes` have read the host: they commit
/// one value to it behind each read of the host, and the host's producer waits
/// for these values. Returns null if there is none.
static ChannelOp findWitness(const ChannelUses &host, RoleOp lanes,
                             const UsesMap &all) {
  if (lanes.startsMmas())
    return nullptr;
  for (const auto &[channel, uses] : all)
    if (uses.producers.size() == 1 && uses.producers[0] == lanes &&
        !ChannelOp(channel).getInitial().value_or(0) &&
        uses.consumers.contains(host.producers[0]) &&
        alternateInLanes(lanes, uses, host))
      return channel;
  return nullptr;
}

/// Returns the buffers that other channels could share. A buffer qualifies if
/// only one channel uses it now, and if the role that issues into it can tell,
/// from a value it waits for anyway, that all consumers have read the last one.
static SmallVector<Place> getOwnPlaces(const UsesMap &all) {
  SmallVector<Place> places;
  for (const auto &[channel, uses] : all) {
    if (!isAlone(uses, all) || !RoleOp(uses.producers[0]).startsMmas())
      continue;
    Place place;
    place.host = channel;
    for (RoleOp consumer : uses.consumers)
      if (ChannelOp witness = findWitness(uses, consumer, all))
        place.witnesses.push_back(witness);
    if (place.witnesses.size() == uses.consumers.size())
      places.push_back(place);
  }
  return places;
}

/// Returns true if, in each work tile, every execution of `release` precedes
/// every execution of `op`. The order between tiles does not matter: the
/// release of a value never waits for work on the next tile.
static bool comesFirstInTile(ReleaseOp release, Operation *op) {
  Block &block =
      KernelOp::getWorkBlock(release->getParentOfType<RoleOp>().getBody());
  Operation *first = block.findAncestorOpInBlock(*release),
            *then = block.findAncestorOpInBlock(*op);
  return first && then && first != then && first->isBeforeInBlock(then);
}

/// Returns true if the consumers of `uses` release each value independently of
/// what `role` does after its commit. Before the release, neither the consumers
/// nor the roles whose releases they wait for may wait for anything else. This
/// holds for all work tiles or, if `inTile`, within one.
static bool releasesWithout(RoleOp role, const ChannelUses &uses,
                            const UsesMap &all, bool inTile = false) {
  llvm::SetVector<ChannelOp> needed;
  needed.insert(uses.channel);
  for (unsigned i = 0; i < needed.size(); ++i) {
    const ChannelUses &current = all.find(needed[i])->second;
    for (RoleOp consumer : current.consumers) {
      if (consumer == role)
        return false;
      // An operation behind all releases cannot delay one.
      auto isLater = [&](Operation *op) {
        return llvm::all_of(current.releases, [&](ReleaseOp release) {
          return inTile ? comesFirstInTile(release, op)
                        : Lifetimes::allBefore(release, op);
        });
      };
      for (const auto &[channel, others] : all) {
        for (WaitOp wait : others.waits)
          if (channel != needed[i] && consumer->isAncestor(wait) &&
              !isLater(wait))
            return false;
        for (AcquireOp acquire : others.acquires)
          if (consumer->isAncestor(acquire) && !isLater(acquire))
            needed.insert(channel);
      }
    }
  }
  return true;
}

/// Returns true if the producer and the size of the MMAs' result `uses` allow
/// it to be a guest of the place. A guest may be larger than a host that is
/// alone.
static bool mayJoin(const ChannelUses &uses, const Place &place,
                    const UsesMap &all) {
  ChannelOp channel = uses.channel, host = place.host;
  bool isLone = place.parts.empty() && place.guests.empty();
  return channel != host && isAlone(uses, all) &&
         uses.producers == all.find(host)->second.producers &&
         RoleOp(uses.producers[0]).startsMmas() &&
         (isLone || getTmemColumns(channel) <= getTmemColumns(host));
}

void fa4::tile::shareInTurn(KernelOp kernel) {
  UsesMap all = collectChannelUses(kernel);
  for (const auto &[channel, uses] : all)
    for (Place place : getPlaces(kernel, all)) {
      if (!mayJoin(uses, place, all))
        continue;
      place.guests.push_back(channel);
      if (!canTakeTurns(place, all))
        continue;
      putInPlace(channel, place.host, 0);
      break;
    }
}

/// Returns the operation before which the guest `uses` must be acquired, so
/// that the acquire comes before the next write of the host. This is the write
/// of the host if it stands in the same block between the last write of the
/// guest and the acquire; otherwise it is the acquire itself.
static Operation *placeBeforeHost(AcquireOp acquire, const ChannelUses &uses,
                                  ArrayRef<Operation *> hostWrites) {
  SmallVector<Operation *> ofGuest =
      RingOrder::findWrites(uses).value_or(SmallVector<Operation *>());
  Operation *place = acquire;
  for (Operation *op = acquire->getPrevNode(); op; op = op->getPrevNode()) {
    if (llvm::any_of(ofGuest,
                     [&](Operation *write) { return op->isAncestor(write); }))
      break;
    if (llvm::is_contained(hostWrites, op))
      place = op;
  }
  return place;
}

namespace {
/// How a guest can lie beside the parts of a place.
struct Beside {
  int64_t at;
  /// In front of each of these operations, the role waits until lanes have read
  /// the host.
  SmallVector<Operation *> waits;
  /// In front of each of these operations, the role acquires the guest. There
  /// are as many as the guest has acquires now.
  SmallVector<Operation *> acquires;
};
} // namespace

/// Returns acquires of the role behind which the guest `uses` has been read.
/// Once a work tile, the role acquires another channel, which the guest's
/// consumer releases behind all values of the guest.
static SmallVector<Operation *> findDrains(const ChannelUses &uses,
                                           const UsesMap &all) {
  SmallVector<Operation *> drains;
  for (const auto &[channel, other] : all) {
    ChannelOp op = channel;
    if (op == uses.channel || uses.consumers.size() != 1 ||
        other.producers != uses.producers ||
        other.consumers != uses.consumers || op.getStages() != 1 ||
        op.getInitial() || other.acquires.size() != 1 ||
        other.releases.size() != 1)
      continue;
    AcquireOp acquire = other.acquires.front();
    ReleaseOp release = other.releases.front();
    auto inWorkBlock = [](Operation *op, RoleOp role) {
      return op->getBlock() == &KernelOp::getWorkBlock(role.getBody());
    };
    bool isBehind = llvm::all_of(uses.releases, [&](ReleaseOp ofGuest) {
      Operation *before = release->getBlock()->findAncestorOpInBlock(*ofGuest);
      return before && before->isBeforeInBlock(release);
    });
    if (isBehind && inWorkBlock(acquire, uses.producers[0]) &&
        inWorkBlock(release, uses.consumers[0]))
      drains.push_back(acquire);
  }
  return drains;
}

/// Returns how the guest `uses` can lie behind the last column of the place's
/// parts, or nothing if it cannot.
static std::optional<Beside>
findBeside(const Place &place, const ChannelUses &uses, const UsesMap &all) {
  const ChannelUses &host = all.find(place.host)->second;
  if (place.parts.empty() || !place.guests.empty() ||
      host.consumers.size() != 1 || uses.acquires.empty())
    return std::nullopt;
  RoleOp role = host.producers[0];
  auto columnsOf = [](ChannelOp channel, int64_t at) {
    return RingOrder::Columns{at, at + getTmemColumns(channel)};
  };
  RingOrder order(host);
  Beside beside{0, {}, {}};
  for (ChannelOp part : place.parts) {
    RingOrder::Columns columns = columnsOf(part, getPlaceInBuffer(part));
    beside.at = std::max(beside.at, columns.end);
    if (!order.addPart(all.find(part)->second, columns))
      return std::nullopt;
  }
  auto kernel = cast<KernelOp>(place.host->getParentOp());
  beside.at =
      llvm::alignTo(beside.at, kernel.getTarget().tmemAllocationColumns);
  RingOrder::Columns columns = columnsOf(uses.channel, beside.at);
  auto waits = findHandBacks(host, uses);
  if (columns.end > order.getAll().end || !waits)
    return std::nullopt;
  SmallVector<Operation *> hostWrites = order.getWrites();
  for (AcquireOp acquire : uses.acquires)
    beside.acquires.push_back(placeBeforeHost(acquire, uses, hostWrites));
  beside.waits = std::move(*waits);
  order.addWaits(beside.waits);
  order.addDrains(findDrains(uses, all));
  if (!order.addGuest(uses, columns, beside.acquires) || !order.holdsIn(role) ||
      !handsBackWithout(role, host, beside.waits, all))
    return std::nullopt;
  return beside;
}

/// Puts a guest beside the parts of a ring.
static bool shareBeside(KernelOp kernel) {
  UsesMap all = collectChannelUses(kernel);
  for (Place &place : getPlaces(kernel, all))
    for (const auto &[channel, uses] : all) {
      if (!mayJoin(uses, place, all) ||
          !releasesWithout(uses.producers[0], uses, all, /*inTile=*/true))
        continue;
      std::optional<Beside> beside = findBeside(place, uses, all);
      if (!beside)
        continue;
      for (auto [acquire, before] :
           llvm::zip_equal(uses.acquires, beside->acquires))
        AcquireOp(acquire)->moveBefore(before);
      putInPlace(channel, place.host, beside->at);
      handBack(all.find(place.host)->second, beside->waits);
      return true;
    }
  return false;
}

bool fa4::tile::shareInTurnWaiting(KernelOp kernel) {
  UsesMap all = collectChannelUses(kernel);
  SmallVector<Place> places = getPlaces(kernel, all);
  llvm::append_range(places, getOwnPlaces(all));
  for (Place &place : places)
    for (const auto &[channel, uses] : all) {
      if (!mayJoin(uses, place, all) || uses.acquires.empty() ||
          !canTakeTurns(place, all, channel) ||
          !releasesWithout(uses.producers[0], uses, all))
        continue;
      const ChannelUses &host = all.find(place.host)->second;
      for (AcquireOp acquire : uses.acquires)
        acquire->erase();
      for (Operation *write : RingOrder(host).getWrites()) {
        OpBuilder builder(write);
        AcquireOp::create(builder, write->getLoc(),
                          ChannelOp(channel).getChannel());
      }
      eraseOwnership(host);
      if (getTmemColumns(channel) > getTmemColumns(place.host))
        putInPlace(place.host, channel, 0);
      else
        putInPlace(channel, place.host, 0);
      return true;
    }
  return shareBeside(kernel);
}
