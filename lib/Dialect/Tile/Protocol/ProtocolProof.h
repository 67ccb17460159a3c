//===- ProtocolProof.h - runs of a kernel's roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of ProtocolVerifier, whose header says how it proves.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLPROOF_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLPROOF_H

#include "ProtocolFacts.h"
#include "ProtocolHistory.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <memory>
#include <unordered_set>

namespace fa4::tile::proof {

using Clock = llvm::SmallVector<int32_t>;
/// The clock that an arrival passes on. Shared, because a state has most of its
/// tokens in common with the states that follow it.
using Token = std::shared_ptr<const Clock>;

/// An access with which later ones may conflict.
struct Record {
  int agent = -1;
  int32_t time = 0;
  unsigned role = 0;
  mlir::Operation *op = nullptr;
  int64_t pass = -1;
  int entry = ProtocolHistory::kNone;
};

struct SlotState {
  /// The position of the value, or -1 if it has been overwritten or was never
  /// written.
  int64_t content = -1;
  Record overwriter;
  Record lastWrite;
  llvm::SmallVector<Record, 2> reads;
};

struct ChannelState {
  int64_t acquired = 0, committed = 0;
  /// The numbers of values that each consumer has waited for and released.
  llvm::SmallVector<int64_t, 1> waited, released;
  /// The clocks that a wait or acquire takes over, by position modulo stages.
  llvm::SmallVector<Token> commits;
  llvm::SmallVector<llvm::SmallVector<Token>, 1> releases;
  /// The time of each consumer's wait, by position modulo stages.
  llvm::SmallVector<llvm::SmallVector<int32_t>, 1> waits;
  /// The time of each acquire by another role than the producer.
  llvm::SmallVector<int32_t> acquires;
};

struct Machine {
  std::vector<RoleCursor> cursors;
  ProtocolFacts facts;
  /// The clocks of each role's lanes and of its MMAs.
  llvm::SmallVector<Clock> lanes, mmas;
  llvm::SmallVector<int32_t> copies;
  std::vector<ChannelState> channels;
  std::vector<SlotState> slots;
  /// The last entry of each role in the history.
  llvm::SmallVector<int> history;
  /// The numbers of passes of each loop, summed over the times that it was
  /// left.
  llvm::SmallVector<int64_t> passesLeft;
};

struct KeyHash {
  size_t operator()(const std::vector<int64_t> &key) const {
    return llvm::hash_combine_range(key.begin(), key.end());
  }
};

class Verifier {
public:
  Verifier(const ProtocolModel &model, ProtocolStatistics &statistics,
           uint64_t maxStates);
  std::optional<ProtocolFinding> run();

private:
  /// Returns true if the form has no unknown that depends on passes.
  bool isPlain(const LinearForm &form) const {
    return llvm::all_of(form.terms, [&](const auto &term) {
      return model.depths[term.first.number()] == 0;
    });
  }

  // A clock has four kinds of components. The first two tell how far a role has
  // come, and which of its MMAs' accesses to tensor memory have ended. A
  // relaxed arrival passes on only these. The others are about shared memory.
  unsigned roleCount() const { return model.roles.size(); }
  int mmaAgent(unsigned role, bool inTensorMemory) const {
    return (inTensorMemory ? 1 : 3) * roleCount() + role;
  }
  /// Returns the agent for all accesses of the role's threads to shared memory.
  int threadsAgent(unsigned role) const { return 2 * roleCount() + role; }
  int copyAgent(unsigned slot) const { return firstCopyAgent() + slot; }
  int firstCopyAgent() const { return 4 * roleCount(); }
  /// Returns the agent for all accesses of the role's threads to tensor memory.
  /// Where every arrival orders tensor memory, the role's own component serves.
  int tensorAgent(unsigned role) const {
    return allOrderTensorMemory ? role : firstTensorAgent() + role;
  }
  int firstTensorAgent() const {
    return firstCopyAgent() + channelOfSlot.size();
  }
  /// Keeps only the components that a relaxed arrival or wait passes on.
  void relax(Clock &clock) const {
    std::fill(clock.begin() + 2 * roleCount(),
              clock.begin() + firstTensorAgent(), 0);
  }
  /// Removes the components about tensor memory: mutants have arrivals that do
  /// not order it.
  void forgetTensorMemory(Clock &clock) const {
    std::fill(clock.begin() + mmaAgent(0, /*inTensorMemory=*/true),
              clock.begin() + threadsAgent(0), 0);
    std::fill(clock.begin() + firstTensorAgent(), clock.end(), 0);
  }

  unsigned slotOf(unsigned channel, int64_t position) const {
    return firstSlot[channel] + position % model.channels[channel].stages;
  }
  int64_t stageOf(StageUse use) const {
    return use.position % model.channels[use.channel].stages;
  }
  unsigned consumerIndex(unsigned channel, unsigned role) const {
    const auto &consumers = model.channels[channel].consumers;
    return llvm::find(consumers, role) - consumers.begin();
  }

  bool areAllConnected() const;
  Machine start() const;
  llvm::SmallVector<unsigned> orderRoles(const Machine &machine) const;
  /// Reports that there is no proof within the limits.
  bool isExhausted(const Machine &machine);
  void advance(Machine machine);
  void enqueue(Machine machine) {
    int64_t passes = countPasses(machine);
    queue.emplace(passes, std::move(machine));
  }
  /// Returns the least number of passes that all loops together make.
  int64_t countPasses(const Machine &machine) const;
  int64_t leastPasses(const Machine &machine, const ProtocolLoop &loop,
                      llvm::ArrayRef<int64_t> instance) const;
  static void reply(Machine &machine, unsigned role, bool yes);
  void assumeLeast(ProtocolFacts &facts,
                   llvm::ArrayRef<int64_t> instance) const;
  void relateClamped(ProtocolFacts &facts, const LinearForm &form) const;
  /// Answers a role's question. Returns false if both answers are possible and
  /// have been queued, or if the state has been seen before.
  bool answer(Machine &machine, unsigned role);
  void branch(Machine &machine, unsigned role,
              ProtocolCondition::Predicate predicate, const LinearForm &form);
  bool isNew(Machine &machine);
  void appendNumbers(Machine &machine,
                     llvm::SmallVectorImpl<int64_t> &key) const;
  llvm::SmallVector<const int32_t *>
  collectClocks(const Machine &machine) const;
  void appendClocks(const Machine &machine,
                    llvm::SmallVectorImpl<int64_t> &key) const;
  void appendChannel(const Machine &machine, unsigned channel,
                     llvm::SmallVectorImpl<int64_t> &key) const;

  bool isEnabled(const Machine &machine, unsigned role) const;
  void execute(Machine &machine, unsigned role);
  void acquire(Machine &machine, unsigned role, const ProtocolEvent &event);
  void commit(Machine &machine, unsigned role, const ProtocolEvent &event);
  void wait(Machine &machine, unsigned role, const ProtocolEvent &event);
  void release(Machine &machine, unsigned role, const ProtocolEvent &event);
  void access(Machine &machine, unsigned role, const ProtocolEvent &event);
  void checkOperands(const Machine &machine, unsigned role,
                     const ProtocolEvent &event);
  static Record recordOf(const Machine &machine, unsigned role,
                         const ProtocolEvent &event);
  void read(Machine &machine, const Record &record, const Clock &clock,
            StageUse use);
  void write(Machine &machine, const Record &record, const Clock &clock,
             StageUse use);
  bool hasComeAfter(const Clock &clock, const Record &old) const;
  std::string describeMissing(const Record &old, unsigned role,
                              const Clock &clock) const;
  bool knows(const Clock &clock, const Record &by, unsigned slot,
             const Record &record, unsigned recordSlot) const;
  void checkEnd(const Machine &machine);

  // Findings.
  std::string roleName(unsigned role) const {
    return "@" + model.roles[role].name;
  }
  const std::string &label(unsigned channel) const {
    return model.channels[channel].label;
  }
  static std::string inPass(int64_t pass) {
    return ProtocolHistory::inPass(pass);
  }
  void report(const Machine &machine, mlir::Operation *op, std::string message);
  void note(mlir::Operation *op, std::string message) {
    finding->notes.push_back({op, std::move(message)});
  }
  void reportReadOfNothing(const Machine &machine, unsigned role,
                           const ProtocolEvent &event);
  void reportMultiple(const Machine &machine, unsigned role);
  void noteOrder(const Machine &machine, unsigned role, const Record &old,
                 unsigned slot, const Clock &clock);
  void noteStep(const Machine &machine, int role, StepKind kind,
                unsigned channel, llvm::StringRef what);
  bool assumesPasses(const Machine &machine,
                     llvm::ArrayRef<unsigned> chain) const;
  void reportDeadlock(const Machine &machine);
  /// Returns the role for whose step `role` waits.
  unsigned culprit(const Machine &machine, unsigned role) const;
  std::string describeBlocked(const Machine &machine, unsigned role) const;
  // Add to a finding which step waits for which role.
  void explainOrder(const Machine &machine);
  void explainBlocked(const Machine &machine, unsigned role);
  void explainStarved(const Machine &machine, unsigned channel);
  /// Adds notes on the trip counts of the loops that a finding is about.
  void notePasses(const Machine &machine);

  const ProtocolModel &model;
  ProtocolStatistics &statistics;
  uint64_t maxStates;
  llvm::SmallVector<unsigned> firstSlot;
  llvm::SmallVector<unsigned> channelOfSlot;
  llvm::SmallVector<llvm::SmallVector<unsigned>> overlapping;
  /// True for channels whose stages may be renamed, because none shares memory
  /// with another channel.
  llvm::SmallVector<bool> rotates;
  llvm::SmallVector<bool> isAcquired, isReleased;
  /// False only in mutants, where some arrivals do not order tensor memory.
  bool allOrderTensorMemory;
  /// True for a loop in which the role may make a pass without a wait for each
  /// of the other roles.
  llvm::SmallVector<bool> mayIdle;
  /// The states to follow, sorted by the number of passes, then by the order in
  /// which they were made.
  std::multimap<int64_t, Machine> queue;
  ProtocolHistory history;
  std::unordered_set<std::vector<int64_t>, KeyHash> seen;
  /// Scratch for the lookup of a state in `seen`. A member so that its
  /// allocation is reused.
  llvm::SmallVector<int64_t> key;
  /// Scratch for one access check: the clock of the accessing role. A member so
  /// that its allocation is reused.
  Clock accessClock;
  std::optional<ProtocolFinding> finding;
  /// The state in which the finding was made.
  std::optional<Machine> found;
};

} // namespace fa4::tile::proof

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLPROOF_H
