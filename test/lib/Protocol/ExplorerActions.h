//===- ExplorerActions.h - what the CTAs of a kernel do, one by one ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For one choice of sizes, what the threads of all CTAs of a cluster do is a
// set of actions: a step of a thread, the end of an MMA, the end of a TMA
// operation. Each happens once, at an instant, and may happen as soon as the
// actions that it needs have: the one before it in its thread or queue, and for
// a wait or an acquire all arrivals that it waits for. There is no choice: what
// may happen can not be prevented by another action.
//
// A kernel with a cluster is put together of the model of one CTA here, without
// the verifier's ProtocolPeers. Each CTA has stages and barriers of its own. A
// role that all CTAs run has threads in each of them. Who waits at a barrier
// decides whose arrivals count there:
//
// - The leader's thread acts on the channels of both CTAs. Its wait needs the
//   commits of both (at its own barrier, where both arrive and both loads count
//   their bytes), its acquire the releases of both; its commits and releases
//   arrive in both (multicast). Its MMAs read and write the stages of both.
// - What the leader commits for roles of both CTAs and for its own, as the
//   response to a request, comes to each CTA by itself: the leader's roles wait
//   for theirs only, and release that.
// - All other threads act on their own CTA's, with one exception: a thread that
//   exchanges tiles writes what the other CTA receives, and so commits to it.
//
// Arrivals of lanes at the leader's barrier for tensor memory are relaxed: who
// waits for them knows that they have come, and may access the tensor memory,
// but knows nothing of what was done to shared memory before. Where a mutant
// has arrivals that do not order tensor memory, it is the other way round.
//
// A stage with `exchange` has the rows of both CTAs that make the result, and
// behind them what is sent. What a CTA keeps is in its own rows, what it
// receives in those of the other one.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_PROTOCOL_EXPLORERACTIONS_H
#define FA4_TEST_LIB_PROTOCOL_EXPLORERACTIONS_H

#include "Protocol/ProtocolCases.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <tuple>

namespace fa4::tile {

/// A thread of a role. Roles that compute have two, which stand for all lanes:
/// nothing orders them with each other but the protocol.
struct ExplorerThread {
  unsigned role = 0;
  /// The number of its CTA in the cluster.
  unsigned rank = 0;
  /// The lane, or -1 if the role has one thread.
  int lane = -1;
  /// The CTAs on whose channels it acts.
  llvm::SmallVector<unsigned, 2> ranks;
  /// Its steps, in their order.
  llvm::SmallVector<unsigned> steps;
};

/// A channel in one CTA.
struct ChannelOfCta {
  unsigned rank = 0;
  unsigned channel = 0;
};

/// Half a stage and a value in it: a stage has the rows of either lane, and
/// what is asynchronous accesses both.
struct HalfStage {
  ChannelOfCta channel;
  unsigned place = 0;
  unsigned value = 0;
  /// The number of writes of the value that have been done: before a read, or
  /// after a write.
  unsigned writes = 0;
};

/// How an action touches a place. Two touches of one place are independent if
/// they are the same and no writes. A write of a stage spoils what lies in the
/// same memory in other channels: two that do so in one stage are independent
/// there, because if they overlap each other, each spoils the other's stage.
enum class Touch { Read, Signal, Spoil, Write };

struct Action {
  /// Step: of a thread. Queue: the end of the thread's oldest MMA, or an
  /// arrival behind its MMAs. Copy: the end of a TMA operation.
  enum Kind { Step, Queue, Copy } kind = Step;
  unsigned thread = 0;
  const ProtocolEvent *event = nullptr;
  /// False for a step that only issues what ends later.
  bool hasEffect = true;
  /// The actions that must have happened before this one may, and those that
  /// need this one.
  llvm::SmallVector<unsigned, 4> needs, neededBy;
  /// Those that it needs which are relaxed arrivals: they order accesses to
  /// tensor memory before this action, but none to shared memory.
  llvm::SmallVector<unsigned, 0> relaxed;
  /// Those that it needs which order accesses to shared memory before this
  /// action, but none to tensor memory. There are some in mutants only.
  llvm::SmallVector<unsigned, 0> unfenced;
  /// It waits for an arrival that nobody ever makes.
  bool isNever = false;
  llvm::SmallVector<HalfStage, 4> reads, writes;
  /// The places that it touches, each once, in increasing order.
  llvm::SmallVector<std::pair<unsigned, Touch>, 8> touches;
  /// The commits of which it is, or ends, a part.
  llvm::SmallVector<unsigned, 2> commits;
};

/// A commit to a channel in one CTA.
struct ExplorerCommit {
  ChannelOfCta channel;
  int64_t position = 0;
  /// It has been made when these have happened.
  llvm::SmallVector<unsigned, 2> actions;
};

/// All actions for one choice of sizes.
class ExplorerActions {
public:
  using Steps = llvm::SmallVector<unsigned, 2>;

  /// `traces`: of the roles that listRolesOfCtas has.
  ExplorerActions(const ProtocolModel &model,
                  const std::vector<ProtocolTrace> &traces);

  llvm::ArrayRef<ExplorerThread> getThreads() const { return threads; }
  llvm::ArrayRef<Action> getActions() const { return actions; }
  /// Places are numbered from 0: the halves of all stages, then the phases of
  /// their barriers, and then the turns in which one role acquires a stage for
  /// another one.
  unsigned getPlaceCount() const { return 4 * stages.size(); }
  unsigned getHalfCount() const { return 2 * stages.size(); }
  ChannelOfCta channelOf(unsigned half) const { return stages[half / 2]; }
  /// Whether the place is a part of a stage in the memory.
  bool isIn(unsigned place, MemorySpace memory) const {
    return place < getHalfCount() &&
           model.channels[channelOf(place).channel].inTensorMemory ==
               (memory == MemorySpace::tmem);
  }
  /// The values that are there at first.
  llvm::ArrayRef<HalfStage> getInitial() const { return initial; }
  /// The number of reads of each value. Value 0 stands for none.
  llvm::ArrayRef<unsigned> getReads() const { return readsOf; }
  /// The action that does write number `writes` of a value; none for a value
  /// that is there at first.
  std::optional<unsigned> findWriter(unsigned value, unsigned writes) const;
  const ExplorerCommit &getCommit(unsigned number) const {
    return commits[number];
  }
  /// Whether acquires keep a commit from overtaking a wait for the phase
  /// before.
  bool keepsPhases(unsigned channel) const { return isPhaseKept[channel]; }
  /// The steps in which a role waits for a value; null if it never asks for it.
  /// Steps that ask without waiting (in mutants) are left out.
  const Steps *findWaits(ChannelOfCta channel, unsigned role,
                         int64_t position) const;
  /// Whether another role than the one that commits acquires the stages.
  bool isForeign(unsigned channel) const {
    return acquirer[channel] != -1 &&
           acquirer[channel] != model.channels[channel].producer;
  }
  /// The role that acquires the stages of the channel, or -1.
  int getAcquirer(unsigned channel) const { return acquirer[channel]; }
  /// The steps in which another role acquires the stage for a value; null if it
  /// never does.
  const Steps *findForeignAcquires(ChannelOfCta channel,
                                   int64_t position) const;
  /// An event that writes its result over an operand, and the channel.
  const std::optional<std::pair<const ProtocolEvent *, unsigned>> &
  getOverwritten() const {
    return operandOverwritten;
  }
  /// The CTAs in which a thread commits to, or writes stages of, a channel.
  llvm::SmallVector<unsigned, 2> ranksOf(const ExplorerThread &thread,
                                         unsigned writtenChannel) const;
  /// Whether a consumer of the channel that acts in this CTA waits for its
  /// values there.
  bool consumesIn(unsigned role, ChannelOfCta channel) const;

private:
  /// The number of a CTA, a channel, and a position.
  using Key = std::tuple<unsigned, unsigned, int64_t>;
  /// The same with a role in front of the position.
  using KeyOfRole = std::tuple<unsigned, unsigned, unsigned, int64_t>;

  void addThread(unsigned number, const ProtocolTrace &trace);
  unsigned addAction(Action::Kind kind, unsigned thread,
                     const ProtocolEvent &event, std::optional<unsigned> after);
  void addAccess(unsigned number);
  void addWrite(unsigned number, ChannelOfCta of, int64_t position);
  void addArrival(unsigned step, unsigned end);
  void addWait(unsigned step);
  bool isRelaxed(const ProtocolChannel &channel, int by, unsigned to) const;
  void linkWait(Action &action);
  void link();

  bool overlap(ChannelOfCta a, int64_t stageA, ChannelOfCta b,
               int64_t stageB) const;
  unsigned stageOf(ChannelOfCta channel, int64_t position) const;
  unsigned valueOf(ChannelOfCta channel, int64_t position);
  unsigned phasePlace(unsigned stage) const {
    return 2 * stages.size() + stage;
  }
  unsigned turnPlace(unsigned stage) const { return 3 * stages.size() + stage; }
  void touch(unsigned action, unsigned place, Touch how) {
    actions[action].touches.push_back({place, how});
  }

  const ProtocolModel &model;
  unsigned ctas;
  std::vector<ExplorerThread> threads;
  std::vector<Action> actions;
  /// The stages of all CTAs, and the first one of each channel of a CTA.
  llvm::SmallVector<ChannelOfCta> stages;
  llvm::SmallVector<unsigned> firstStage;
  llvm::SmallVector<int> acquirer;
  llvm::SmallVector<bool> isPhaseKept;
  std::map<Key, unsigned> valueNumbers;
  std::vector<unsigned> readsOf, writesOf;
  llvm::SmallVector<HalfStage> initial;
  std::map<std::pair<unsigned, unsigned>, unsigned> writers;

  std::vector<ExplorerCommit> commits;
  std::map<Key, unsigned> commitNumbers;
  std::map<KeyOfRole, Steps> releases, waits;
  std::map<Key, Steps> foreignAcquires;
  /// Of the thread that is being added: the last entry of its MMA queue, and
  /// the ends of its TMA operations, by the stages that they access.
  std::optional<unsigned> lastOfQueue;
  std::map<std::pair<int, int64_t>, Steps> copies;
  std::optional<std::pair<const ProtocolEvent *, unsigned>> operandOverwritten;
};

} // namespace fa4::tile

#endif // FA4_TEST_LIB_PROTOCOL_EXPLORERACTIONS_H
