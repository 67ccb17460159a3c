//===- ProtocolModel.h - roles as programs of synchronisation ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of roles and channels, without values and without addresses in
// global memory. Each role is a structured program (sequences, counted loops,
// uniform branches) of two kinds of steps: operations on channels, and accesses
// to the stages of channels. ProtocolVerifier and ProtocolExplorer share this
// model and nothing else, so that they can check each other.
//
// Numbers of passes and conditions are linear forms over unknown integers. An
// unknown stands for a value that the roles compute in the same way
// (IndexForms), so `n` of one role and `n - 1` of another are related. A
// value that depends on an induction variable has one unknown for each pass of
// the loop. An example is the number of blocks of a work tile: it is the same
// number in all roles at this tile, and may be any number at the next one.
//
// Accesses at the tile level depend on the role. A role that issues starts
// asynchronous ones (tile.mma, tile.load, tile.store): their matrix operands
// are stages that the role has waited for, and their result goes into the stage
// that the role will commit. Any other role reads a stage where it uses the
// value of its wait, at the latest before the next operation on a channel of
// the same buffer. It writes a stage right before the commit. After
// `tile-distribute`, tile.read and tile.write are the accesses.
//
// A kernel with a cluster is modelled with both of its CTAs (ProtocolPeers.h).
// Each CTA has its own copy of each channel, with its own memory, and of each
// role that all CTAs run. A role of the leader acts on the channels of both
// CTAs: it waits for a commit in each, and each of its MMAs is two accesses,
// which both read the B of both CTAs. ProtocolExplorer takes the model of one
// CTA and puts two of them together itself.
//
// ChannelRanks says which arrivals between CTAs are relaxed. The model only
// records that: the verifier and the explorer decide what such an arrival
// leaves unordered.
//
// A stage of a channel with `exchange` is three channels here, because its
// parts are accessed at different times: the part that the CTA keeps, the part
// that it sends, and the part that it receives. The first two are committed and
// waited for together. The role of a tile.exchange copies the sent part into
// the received part of the other CTA and commits it there. It then waits for
// its own received part, and writes the value of the result channel in place.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_PROTOCOL_PROTOCOLMODEL_H
#define FA4_DIALECT_TILE_PROTOCOL_PROTOCOLMODEL_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/SmallVector.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fa4::tile {

/// An unknown of a model. If the passes of loops decide its value, each
/// combination of passes is an unknown of its own. Unknowns are ordered by
/// these passes.
class Unknown {
public:
  Unknown(unsigned number) : key(number) {}
  /// The unknown `number` in the given passes; at most two.
  Unknown(unsigned number, llvm::ArrayRef<int64_t> passes);

  unsigned number() const { return key & kMask; }
  llvm::SmallVector<int64_t, 2> passes() const;
  bool operator<(Unknown other) const { return key < other.key; }
  bool operator==(Unknown other) const { return key == other.key; }
  int64_t asInteger() const { return key; }

private:
  static constexpr uint64_t kMask = (1 << 21) - 1;
  uint64_t key;
};

/// The form `constant + sum of coefficient * unknown`. No coefficient is 0.
struct LinearForm {
  std::map<Unknown, int64_t> terms;
  int64_t constant = 0;

  bool isConstant() const { return terms.empty(); }
  /// Adds `factor * other`.
  void add(const LinearForm &other, int64_t factor = 1);
};

/// The condition `form + slope * i <predicate> 0`, where `i` counts the passes
/// of `loop`, which is one of `parents`.
struct ProtocolCondition {
  enum Predicate { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };
  /// Returns true if `value <predicate> 0`.
  static bool holds(Predicate predicate, int64_t value);

  Predicate predicate = NotEqual;
  LinearForm form;
  int64_t slope = 0;
  /// The index of a loop, or -1 if there is no slope.
  int loop = -1;
  unsigned role = 0;
  /// The loops around the condition, outermost first.
  llvm::SmallVector<unsigned, 2> parents;
  /// The value in the kernel that the condition tests.
  mlir::Value value;
};

struct ProtocolLoop {
  mlir::Operation *op;
  unsigned role;
  LinearForm trips;
  /// The least number of passes that is known.
  int64_t atLeast = 0;
  /// The loops around this one, outermost first.
  llvm::SmallVector<unsigned, 2> parents;
  unsigned inside = 0;
  /// The number that the first pass has when an unknown counts passes.
  int64_t firstPass = 0;
};

/// Which part of an exchanged stage the channel is. `All` is a channel without
/// an exchange.
enum class StagePart { All, Sent, Kept, Received, Result };

/// A channel in units of its memory: bytes of shared memory, columns of tensor
/// memory. Before allocation, buffers lie side by side in an address space of
/// their own.
struct ProtocolChannel {
  ChannelOp op;
  std::string label;
  /// The number, within its cluster, of the CTA whose memory holds the channel.
  unsigned rank = 0;
  int64_t stages = 1;
  int64_t initial = 0;
  /// The number of values at the beginning that are undefined and must not be
  /// accumulated to. These are the channel's `initial` values, and the values
  /// that the channel hands on from another channel in the same place, if they
  /// are that channel's `initial` values.
  int64_t undefined = 0;
  bool inTensorMemory = false;
  /// True if lanes commit, or release, by arrivals that order only accesses to
  /// tensor memory. The waits for them order no more.
  bool hasRelaxedCommits = false, hasRelaxedReleases = false;
  /// False in mutants only: no arrival at the channel's barriers orders
  /// accesses to tensor memory.
  bool ordersTensorMemory = true;
  int64_t offset = 0;
  /// The distance between stages.
  int64_t size = 0;
  /// In a kernel without offsets: the channels whose memory this channel may
  /// take over (`after`). Their buffers count as overlapping.
  llvm::SmallVector<unsigned, 2> after;
  /// Channels of one exchange have the same number; -1 without an exchange.
  int exchange = -1;
  StagePart part = StagePart::All;
  /// The role that commits, or -1 if there is none.
  int producer = -1;
  /// The role that acquires: the producer, or the role that has the buffer
  /// before it. -1 if no role acquires.
  int acquirer = -1;
  /// The roles that wait and release, in their order in the kernel.
  llvm::SmallVector<unsigned, 2> consumers;

  /// Returns true if a role other than the producer acquires the stages.
  bool isAcquiredForOthers() const {
    return acquirer != -1 && acquirer != producer;
  }
  bool hasConsumer(unsigned role) const {
    return llvm::is_contained(consumers, role);
  }
};

enum class StepKind { Acquire, Commit, Wait, Release, Access, Copy, Loop, If };

/// The agent that accesses memory.
enum class Agent {
  /// The threads of the role, each in program order.
  Lanes,
  /// The tensor core. It executes MMAs in the order of issue, at any time after
  /// their issue.
  Mma,
  /// A TMA load or store. It happens at any time after its issue; no two of
  /// them have an order.
  Copy,
};

struct Step {
  Step(StepKind kind, mlir::Operation *op, unsigned channel = 0)
      : kind(kind), op(op), channel(channel) {}

  StepKind kind;
  mlir::Operation *op;
  /// For Acquire, Commit, Wait and Release.
  unsigned channel;
  /// The variable of the role that will name the stage: the stage that a Wait
  /// returns or an Access writes. -1 if nothing uses it.
  int result = -1;

  // Access.
  Agent agent = Agent::Lanes;
  /// The variables whose stages are read.
  llvm::SmallVector<unsigned, 2> reads;
  /// The channels whose stage of the role's last wait the step reads.
  llvm::SmallVector<unsigned, 1> readsLast;
  /// The variable of the accumulator, and the number of the condition under
  /// which it is read (-1: always).
  int accumulator = -1;
  int accumulate = -1;
  /// The channel that is written, in its next stage to be committed; or -1.
  int writes = -1;

  /// For Commit and Release: the agent whose accesses have ended when the step
  /// takes effect. Stores are not counted: they have always ended at a release.
  Agent completes = Agent::Lanes;

  /// For Acquire and Wait, in mutants only. A `Weak` step does not wait. A
  /// `Dropped` step does not wait or advance: the role uses the previous stage
  /// again.
  enum Strength { Full, Weak, Dropped } strength = Full;

  /// For Wait, in mutants only: the number of further values that must be
  /// there.
  int64_t ahead = 0;

  /// In mutants of a cluster only: the CTA in which a step on a channel has no
  /// effect. A wait does not wait for that CTA's stages; an arrival does not
  /// reach its barrier. -1 for a step that lacks nothing.
  int lacking = -1;

  /// For If: the number of a condition. For Loop: the number of the loop.
  unsigned number = 0;
  /// Pairs of a variable and the variable whose stage it gets (-1: a value in
  /// no stage). A Copy has `assignments`; a Loop has `assignments` on entry and
  /// `back` at the end of each pass. All pairs of a list take effect at once.
  using Assignments = llvm::SmallVector<std::pair<unsigned, int>, 2>;
  Assignments assignments, back;
  std::vector<Step> body, elseBody;
};

/// Calls `visit` for each step, also for those in loops and branches.
void forEachStep(llvm::ArrayRef<Step> steps,
                 llvm::function_ref<void(const Step &)> visit);

struct ProtocolRole {
  RoleOp op;
  std::string name;
  /// The number of the CTA, within the cluster, that runs the role.
  unsigned rank = 0;
  /// See RoleOp::runsOnOneThread.
  bool oneThread = false;
  unsigned variables = 0;
  std::vector<Step> body;
};

struct ProtocolModel {
  KernelOp kernel;
  std::vector<ProtocolRole> roles;
  /// In a cluster, the leader's channels come first, then the other CTA's in
  /// the same order.
  std::vector<ProtocolChannel> channels;
  std::vector<ProtocolLoop> loops;
  std::vector<ProtocolCondition> conditions;
  /// For each unknown: the number of loops around its uses whose passes decide
  /// it.
  llvm::SmallVector<unsigned> depths;

  /// Maps an unknown to a form: the unknown equals the form where that is
  /// positive, and 0 elsewhere.
  std::map<unsigned, LinearForm> clamped;

  /// Returns the form with each unknown replaced by its value in `passes`.
  LinearForm instantiate(const LinearForm &form,
                         llvm::ArrayRef<int64_t> passes) const;

  /// Returns true if two stages share memory.
  bool overlap(unsigned channel, int64_t stage, unsigned other,
               int64_t otherStage) const;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_PROTOCOL_PROTOCOLMODEL_H
