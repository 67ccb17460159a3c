//===- InPlaceRings.cpp - tensor memory that values use in turn ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlaceRings.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <optional>

using namespace mlir;
using namespace fa4::tile;

namespace {
using UsesMap = llvm::MapVector<ChannelOp, ChannelUses>;

/// The order in which the issuing role works on columns of tensor memory that
/// several values use in turn: an accumulator, values that lanes make from it
/// in its place (parts), and results of other MMAs (guests).
class RingOrder {
public:
  explicit RingOrder(const ChannelUses &accumulator)
      : accumulator(accumulator) {}
  bool addPart(const ChannelUses &uses);
  /// Adds a channel whose values lanes commit after they have read the
  /// accumulator: when `role` has waited for one, the accumulator is free.
  bool addWitness(const ChannelUses &uses, RoleOp role);
  /// Adds a guest, which the role acquires where it does now, or `early`:
  /// before each write of the accumulator.
  bool addGuest(const ChannelUses &uses, bool early);
  /// Returns true if the role overwrites no value before it has been read.
  bool holdsIn(RoleOp role);
  /// Returns the first MMA of each value of the accumulator, in program order.
  SmallVector<Operation *> getWrites();

private:
  /// One bit each: for a part or a witness, the role must still read or wait
  /// for it; for a guest, other roles may still read it; for a guest that is
  /// acquired, the role must still write it.
  using State = llvm::BitVector;
  using Members = SmallVector<unsigned, 2>;
  struct Guest {
    unsigned isRead;
    std::optional<unsigned> isAcquired;
  };

  /// Adds a value that is made once for each write of the accumulator.
  unsigned addOnce() {
    once.push_back(numMembers);
    return numMembers++;
  }
  std::optional<SmallVector<Operation *>> findWrites(const ChannelUses &uses);
  bool acquire(const Guest &guest, State &state);
  bool write(Operation *op, State &state);
  std::optional<State> run(Block &block, State state);
  std::optional<State> run(Operation &op, State state);
  std::optional<State> join(std::optional<State> a,
                            const std::optional<State> &b) const;
  bool hasEvent(Operation *op);

  const ChannelUses &accumulator;
  unsigned numMembers = 0;
  /// The bits that must be the same on all paths, and clear at the end.
  Members once;
  SmallVector<Guest, 2> guests;
  /// The parts and witnesses that each write of the accumulator sets.
  Members follow;
  llvm::SmallPtrSet<Operation *, 4> writes;
  llvm::DenseMap<Operation *, Members> guestWrites;
  llvm::DenseMap<Operation *, Members> acquires;
  llvm::DenseMap<Operation *, Members> ends;
};

/// Channels that use the columns of `host` in turn.
struct Place {
  ChannelOp host;
  SmallVector<ChannelOp> parts, witnesses, guests;
};
} // namespace

//===----------------------------------------------------------------------===//
// The issuing role
//===----------------------------------------------------------------------===//

/// Returns the first MMA of each value of a channel, or nothing if another
/// operation writes one.
std::optional<SmallVector<Operation *>>
RingOrder::findWrites(const ChannelUses &uses) {
  SmallVector<Operation *> result;
  for (CommitOp commit : uses.commits) {
    SmallVector<Operation *> writers = getStageWriters(commit);
    for (Operation *writer : writers) {
      auto mma = dyn_cast<MmaOp>(writer);
      if (!mma)
        return std::nullopt;
      // An MMA that accumulates to the result of another MMA of its block
      // belongs to the same write.
      Operation *acc = mma.getAcc() ? mma.getAcc().getDefiningOp() : nullptr;
      if (!acc || acc->getBlock() != mma->getBlock() ||
          !llvm::is_contained(writers, acc))
        result.push_back(mma);
    }
  }
  if (result.empty())
    return std::nullopt;
  return result;
}

SmallVector<Operation *> RingOrder::getWrites() {
  SmallVector<Operation *> all =
      findWrites(accumulator).value_or(SmallVector<Operation *>());
  SmallVector<Operation *> sorted;
  RoleOp role = ArrayRef(accumulator.producers.getArrayRef()).front();
  role.walk([&](Operation *op) {
    if (llvm::is_contained(all, op))
      sorted.push_back(op);
  });
  return sorted;
}

bool RingOrder::addGuest(const ChannelUses &uses, bool early) {
  auto written = findWrites(uses);
  if (!written)
    return false;
  unsigned number = guests.size();
  Guest guest{numMembers++, std::nullopt};
  if (early || !uses.acquires.empty())
    guest.isAcquired = addOnce();
  guests.push_back(guest);
  for (Operation *write : *written)
    guestWrites[write].push_back(number);
  if (early)
    for (Operation *write : getWrites())
      acquires[write].push_back(number);
  else
    for (AcquireOp acquire : uses.acquires)
      acquires[acquire].push_back(number);
  return true;
}

bool RingOrder::addWitness(const ChannelUses &uses, RoleOp role) {
  follow.push_back(addOnce());
  for (WaitOp wait : uses.waits)
    if (wait->getParentOfType<RoleOp>() == role)
      ends[wait].push_back(follow.back());
  return true;
}

bool RingOrder::addPart(const ChannelUses &uses) {
  follow.push_back(addOnce());
  for (WaitOp wait : uses.waits) {
    if (!wait.getValue())
      return false;
    Operation *last = nullptr;
    for (OpOperand *use : getEnds(wait.getValue(), FlowThrough::Views)) {
      auto mma = dyn_cast<MmaOp>(use->getOwner());
      if (!mma || use->get() != mma.getA() || use->getOperandNumber() != 0 ||
          mma->getBlock() != wait->getBlock())
        return false;
      if (!last || last->isBeforeInBlock(mma))
        last = mma;
    }
    if (!last)
      return false;
    ends[last].push_back(follow.back());
  }
  return !uses.waits.empty();
}

bool RingOrder::hasEvent(Operation *op) {
  return writes.contains(op) || guestWrites.contains(op) ||
         acquires.contains(op) || ends.contains(op);
}

std::optional<RingOrder::State>
RingOrder::join(std::optional<State> a, const std::optional<State> &b) const {
  // A guest that may be in use on one of several paths counts as in use.
  if (!a || !b || llvm::any_of(once, [&](unsigned member) {
        return a->test(member) != b->test(member);
      }))
    return std::nullopt;
  *a |= *b;
  return a;
}

/// A successful acquire of a guest's next value shows that the last one has
/// been read.
bool RingOrder::acquire(const Guest &guest, State &state) {
  if (state.test(*guest.isAcquired))
    return false;
  state.set(*guest.isAcquired);
  state.reset(guest.isRead);
  return true;
}

/// A write of the accumulator or of a guest overwrites all other values.
bool RingOrder::write(Operation *op, State &state) {
  bool isFree =
      llvm::none_of(follow, [&](unsigned bit) { return state.test(bit); }) &&
      llvm::none_of(guests,
                    [&](const Guest &g) { return state.test(g.isRead); });
  if (!isFree)
    return false;
  if (writes.contains(op))
    for (unsigned bit : follow)
      state.set(bit);
  for (unsigned number : guestWrites.lookup(op)) {
    const Guest &guest = guests[number];
    state.set(guest.isRead);
    if (!guest.isAcquired)
      continue;
    if (!state.test(*guest.isAcquired))
      return false;
    state.reset(*guest.isAcquired);
  }
  return true;
}

std::optional<RingOrder::State> RingOrder::run(Operation &op, State state) {
  for (unsigned number : acquires.lookup(&op))
    if (!acquire(guests[number], state))
      return std::nullopt;
  if ((writes.contains(&op) || guestWrites.contains(&op)) && !write(&op, state))
    return std::nullopt;
  for (unsigned member : ends.lookup(&op)) {
    // A part must be read exactly once for each write of its accumulator.
    if (!state.test(member))
      return std::nullopt;
    state.reset(member);
  }
  if (isa<scf::ForOp, WorkOp>(op)) {
    // The state after the loop must be the same for any number of iterations,
    // including none.
    Block &body = op.getRegion(0).front();
    for (;;) {
      auto after = join(state, run(body, state));
      if (!after || *after == state)
        return after;
      state = *after;
    }
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    auto otherwise = branch.getElseRegion().empty()
                         ? state
                         : run(branch.getElseRegion().front(), state);
    return join(run(branch.getThenRegion().front(), state), otherwise);
  }
  if (op.walk([&](Operation *inner) {
          return inner != &op && hasEvent(inner) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
        }).wasInterrupted())
    return std::nullopt;
  return state;
}

std::optional<RingOrder::State> RingOrder::run(Block &block, State state) {
  std::optional<State> current = state;
  for (Operation &op : block)
    if (current)
      current = run(op, *current);
  return current;
}

bool RingOrder::holdsIn(RoleOp role) {
  auto written = findWrites(accumulator);
  if (!written)
    return false;
  writes.insert(written->begin(), written->end());
  auto end = run(role.getBody().front(), State(numMembers));
  return end && llvm::none_of(
                    once, [&](unsigned member) { return end->test(member); });
}

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
/// computed, or null. The lanes must no longer need the accumulator's columns
/// when they commit.
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

static bool isIssuing(RoleOp role) { return role.issues(); }

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

/// Returns true for such a channel if it goes from one role of MMAs to one role
/// of lanes, or back.
static bool isCandidate(const ChannelUses &uses, const UsesMap &all) {
  return isAlone(uses, all) && uses.consumers.size() == 1 &&
         isIssuing(uses.producers[0]) != isIssuing(uses.consumers[0]);
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

/// Returns true if the channels of the place, and `early`, which would be
/// acquired before each write of the host, fit into each other and the issuing
/// role works on them in turns.
static bool canTakeTurns(const Place &place, const UsesMap &all,
                         ChannelOp early = nullptr) {
  const ChannelUses &uses = all.find(place.host)->second;
  RoleOp role = uses.producers[0];
  RingOrder order(uses);
  int64_t columns = 0;
  for (ChannelOp part : place.parts) {
    columns += getTmemColumns(part);
    if (!order.addPart(all.find(part)->second))
      return false;
  }
  if (columns > getTmemColumns(place.host))
    return false;
  for (ChannelOp witness : place.witnesses)
    if (!order.addWitness(all.find(witness)->second, role))
      return false;
  for (ChannelOp guest : place.guests)
    if (!order.addGuest(all.find(guest)->second, /*early=*/false))
      return false;
  if (early && !order.addGuest(all.find(early)->second, /*early=*/true))
    return false;
  return order.holdsIn(role);
}

static void eraseOwnership(const ChannelUses &uses) {
  for (AcquireOp acquire : uses.acquires)
    acquire->erase();
  for (ReleaseOp release : uses.releases)
    release->erase();
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
    if (isCandidate(uses, all) && isIssuing(uses.consumers[0]))
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

/// Returns a channel whose values `lanes` commit after they have read the
/// host's, one for each, and for which the host's producer waits; or null.
static ChannelOp findWitness(const ChannelUses &host, RoleOp lanes,
                             const UsesMap &all) {
  if (isIssuing(lanes))
    return nullptr;
  for (const auto &[channel, uses] : all)
    if (uses.producers.size() == 1 && uses.producers[0] == lanes &&
        !ChannelOp(channel).getInitial().value_or(0) &&
        uses.consumers.contains(host.producers[0]) &&
        alternateInLanes(lanes, uses, host))
      return channel;
  return nullptr;
}

/// Returns the places that a single channel has now and that other ones could
/// use in turn with it: the issuing role learns from the values for which it
/// waits when the channel's consumers have read it.
static SmallVector<Place> getOwnPlaces(const UsesMap &all) {
  SmallVector<Place> places;
  for (const auto &[channel, uses] : all) {
    if (!isAlone(uses, all) || !isIssuing(uses.producers[0]))
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

/// Returns true if the consumers of `uses` release each value independently of
/// what `role` does after its commit: neither they, nor the roles whose
/// releases they wait for, wait for anything else before.
static bool releasesWithout(RoleOp role, const ChannelUses &uses,
                            const UsesMap &all) {
  llvm::SetVector<ChannelOp> needed;
  needed.insert(uses.channel);
  for (unsigned i = 0; i < needed.size(); ++i) {
    const ChannelUses &current = all.find(needed[i])->second;
    for (RoleOp consumer : current.consumers) {
      if (consumer == role)
        return false;
      // Only an operation that follows all releases cannot delay one.
      auto isLater = [&](Operation *op) {
        return llvm::all_of(current.releases, [&](ReleaseOp release) {
          return Lifetimes::allBefore(release, op);
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

/// Returns true if the result `uses` of MMAs can be a guest of the place as far
/// as its producer and its size are concerned. A guest may be larger than a
/// host that is alone.
static bool mayJoin(const ChannelUses &uses, const Place &place,
                    const UsesMap &all) {
  ChannelOp channel = uses.channel, host = place.host;
  bool isLone = place.parts.empty() && place.guests.empty();
  return channel != host && isAlone(uses, all) &&
         uses.producers == all.find(host)->second.producers &&
         isIssuing(uses.producers[0]) &&
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
  return false;
}
