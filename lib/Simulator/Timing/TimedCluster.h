//===- TimedCluster.h - a cluster that runs by the clock -------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each fragment of a warp has the time at which it may issue next. A step takes
// the earliest one, lets the machine execute its instruction, and charges what
// the instruction costs. Asynchronous operations are performed when the units
// that work on them are done. Order and time are those of a modelled chip, and
// the results those of the machine.
//
// PTX order is not the order of the machine code: within a straight stretch,
// the assembler interleaves. So pipes are not waited for instruction by
// instruction. A warp fills their queues, and waits where the assembler moves
// nothing across (a fence, a barrier, a branch) until the queues are nearly
// empty: the time of a stretch is the largest of its issue clocks and of the
// times of its pipes. Results of variable latency hold a consumer up by their
// latency less the distance that the assembler put between the two.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TIMING_TIMEDCLUSTER_H
#define FA4_LIB_SIMULATOR_TIMING_TIMEDCLUSTER_H

#include "CauseLog.h"
#include "InstructionClass.h"
#include "SmModel.h"
#include "Turns.h"
#include "fa4/Simulator/Machine/State.h"
#include "fa4/Simulator/Timing/TimedRun.h"
#include <deque>
#include <limits>
#include <queue>

namespace fa4::sim {

/// What an instruction costs that does nothing but write registers, and takes
/// nothing but its issue and pipes: all of it in one place, since there are
/// many of them.
struct PlainCost {
  struct Use {
    uint8_t pipe;
    float ops;
  };
  static constexpr unsigned mostUses = 3;
  bool isPlain = false;    ///< Otherwise the rest says nothing.
  bool isFree = false;     ///< It takes no time, and waits for nothing.
  uint16_t freeBehind = 0; ///< Of such behind it.
  bool isVariable = false;
  uint8_t numUses = 0;
  float slots = 0;  ///< IssueCost::slots.
  float free = 0;   ///< Of these, those on pipes that products leave alone.
  float clocks = 0; ///< IssueCost::clocks.
  std::array<Use, mostUses> uses{};
  llvm::ArrayRef<IssueCost::Wait> waits;
};

/// What is the same for all clusters of a timed launch.
struct TimedProgram {
  TimedProgram(const Program &program, const IssueCosts &costs);
  const Program &program;
  const IssueCosts &costs;
  std::vector<InstructionClass> classes; ///< By pc.
  /// By pc, the pipes that an instruction goes to (a bit for each Pipe), and
  /// IssueCost::slots.
  std::vector<uint16_t> pipes;
  std::vector<float> slots;
  std::vector<PlainCost> plain; ///< By pc.
  uint32_t lines = 0;           ///< The last PTX line, plus 1.
  /// Empty without countTurns(); clusters that start then count their turns.
  TurnMap turns;
  void countTurns();
};

class TimedCluster final : public ClusterTimer {
public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// `sms` are those on which the CTAs of the cluster run, by rank; the cluster
  /// starts at `start`.
  TimedCluster(const TimedProgram &timed, std::unique_ptr<Cluster> cluster,
               std::vector<SmModel *> sms, double start);

  /// The time of what happens next, or `never`.
  double nextTime();
  /// Lets it happen, and arithmetic that comes next before `limit`.
  void advance(double limit);
  bool isDone() const { return cluster->liveThreads == 0 && events.empty(); }
  /// Called when nothing happens any more. Returns false in a hang.
  bool expireWaits();
  void finish();

  std::unique_ptr<Cluster> cluster;
  double start, end;
  Trace *trace = nullptr; ///< May be null.
  /// Gets what waited for what. May be null; clusters on the same SMs share it.
  CauseLog *log = nullptr;
  unsigned number = 0;          ///< Of the cluster among those on the same SMs.
  std::vector<WarpTurns> turns; ///< By warp, if TimedProgram::turns are known.
  /// The moment (of `log`) at which the cluster's time ends. After finish().
  uint64_t lastMoment = 0;
  /// Where the time of each warp went, CTA by CTA.
  std::vector<WarpTimes> timesOfWarps() const;

  //===--- ClusterTimer ---------------------------------------------------===//
  uint64_t cycles() const override { return uint64_t(now); }
  uint64_t nanoseconds() const override;
  void sleep(uint64_t nanoseconds) override;
  void asyncIssued(AsyncOp &op, uint32_t queue) override;
  void wgmmaIssued(AsyncOp &op, uint32_t queue, bool isLast) override;
  void access(const uint64_t *addresses, LaneMask shared, LaneMask global,
              uint32_t bytes, AccessKind kind) override;
  void mbarrierSignal(const Cta &cta, const Mbarrier &barrier,
                      const Actor &actor) override;
  void mbarrierPhase(const Cta &cta, const Mbarrier &barrier) override;
  void mbarrierSeen(const Cta &cta, const Mbarrier &barrier) override;
  void namedArrive(const Cta &cta, unsigned barrier) override;
  void namedComplete(const Cta &cta, unsigned barrier) override;
  void namedLeave(const Cta &cta, unsigned barrier) override;
  void clusterArrive(bool isRelease) override;
  void clusterLeave() override;

private:
  /// The last execution of the instructions of a line by a warp.
  struct LineRecord {
    double issued = -1e30, ready = -1e30;
    double localReady = -1e30; ///< Spilled registers that it loads.
    double nominal = 0;        ///< WarpClock::nominal then.
  };
  /// (What each instruction changes comes first, on one line of the cache.)
  struct alignas(64) WarpClock {
    /// Sum of the clocks of what it has executed, without any delay.
    double nominal = 0;
    uint64_t cause = 0; ///< Of the fragment that the warp has executed last.
    std::array<double, numPipes> pipeEnd{}; ///< Of its work on each pipe.
    double tensorLoaded = 0;                ///< The last tcgen05.ld is there.
    bool hasStored = false;  ///< To shared memory, since the last fence.
    uint32_t failedTest = 0; ///< The line of a test_wait that has just failed.
    /// What the warp's time had gone to when its last wait was over.
    double issue = 0, contention = 0, pipe = 0, scoreboard = 0;
    std::vector<LineRecord> lines;
    std::vector<double> waits; ///< WarpTimes::waits, by line.
    /// The mbarriers in WarpTimes::barriers: the line, and a shared address.
    llvm::DenseSet<uint64_t> named;
  };
  /// What the handler of the executing instruction tells.
  struct Current {
    WarpClock *clock = nullptr;
    WarpTimes *times = nullptr;
    SmModel *sm = nullptr;
    uint32_t line = 0;
    const InstructionClass *kind = nullptr;
    Trace::Track track;
    double issuedAt = 0;    ///< The warp may issue the next one then.
    double wakeAt = 0;      ///< The instruction is over then at the earliest.
    uint64_t wakeCause = 0; ///< The moment that decides wakeAt; 0: a latency.
    uint64_t cause = 0;     ///< Of the fragment.
    bool isSeen = false;    ///< The phase of an mbarrier was complete.
    /// The completed phase ends a loop that tests for it again and again.
    uint64_t pollCause = 0;
    double sharedBytes = 0; ///< With what conflicts of banks waste.
    double latency = 0;     ///< Of a load of global or remote memory.
    double lines = 0;       ///< Of global memory.
    double clocks = 0;      ///< Its own, which are over.
    bool isRetry = false;
  };
  struct Event {
    double at;
    uint64_t number;
    AsyncOp *op;
    double end; ///< Of the whole operation; `at` may be that of its reading.
    uint64_t began; ///< The moment that `at` follows from.
    Trace::Unit unit;
    bool operator>(const Event &other) const {
      return std::make_pair(at, number) >
             std::make_pair(other.at, other.number);
    }
  };
  /// A moment that is logged when something turns out to have waited for it.
  struct PendingMoment {
    Moment moment = -1;
    uint64_t number = 0; ///< Of the log, once it is there.
  };
  struct BarrierTime {
    double signalled = 0;    ///< When the signals of this phase are seen.
    double complete = 0;     ///< When a waiter sees the end of the last phase.
    PendingMoment signal;    ///< The last one of this phase to be seen.
    PendingMoment completed; ///< That of the last phase.
    bool isByThread = false; ///< A thread, no copy or product, was the last.
    Trace::Track signaller;  ///< The last one, and when it signalled.
    double signalledAt = 0;
  };

  double get(TimingParameter id) const { return sms.front()->chip[id]; }
  void updateKeys();
  double keyOf(const Warp &warp);
  /// Sets the time of a warp that may do something then.
  void setKey(unsigned index, double key);
  void stepPlain(unsigned index, Warp &warp, const PlainCost &plain);
  void runEvent();
  /// Returns whether that has changed nothing for other warps, and what has
  /// happened next is known.
  bool stepWarp(unsigned index);
  bool canIssue(unsigned index, Fragment &fragment, const Inst &inst);
  void beginInstruction(unsigned index, const Fragment &fragment,
                        const Inst &inst);
  void countForTurn(unsigned index, uint32_t pc, Flow flow);
  void endInstruction(unsigned index, SmModel::Part &part, const Inst &inst,
                      LaneMask mask, double waitingSince);
  /// The issue slots of an instruction; among them those of the LSU and those
  /// on pipes that products leave alone; and IssueCost::clocks.
  struct Slots {
    double all, lsu, free, clocks;
  };
  /// When an instruction is issued, and for how long others on its pipes delay
  /// it.
  struct Issue {
    double begin, queued;
  };
  /// Takes issue slots and pipes for an instruction that may issue at `at`, and
  /// sets when the next one may.
  template <typename F>
  Issue issue(WarpClock &clock, WarpTimes &times, SmModel &sm,
              SmModel::Part &part, double at, const Slots &slots, F forEachUse);
  /// Charges the issue of an instruction. Returns its issue time.
  double charge(WarpTimes &times, SmModel::Part &part, const Inst &inst,
                double at);
  double chargePlain(unsigned index, SmModel &sm, SmModel::Part &part,
                     const Inst &inst, const PlainCost &plain);
  /// Takes a pipe for operations of an instruction that is issued at `begin`;
  /// returns for how long others on it delay them.
  double takePipe(WarpClock &clock, SmModel &sm, SmModel::Part &part, Pipe pipe,
                  float ops, double begin);
  /// The time before which an instruction cannot issue, for results that it
  /// waits for (scoreboards) or for full pipes.
  double scoreboardTime(const WarpClock &clock,
                        llvm::ArrayRef<IssueCost::Wait> waits, double at) const;
  /// `fullest` becomes the pipe that decides, if one does.
  double drainTime(const WarpClock &clock, const Inst &inst, double at,
                   Pipe &fullest) const;
  void chargeMemory(const IssueCost &cost, double at);
  /// Charges what moves spilled registers.
  void chargeLocal(WarpTimes &times, const Inst &inst, double at);
  /// Records when the result of a variable latency is there.
  void noteResult(SmModel::Part &part, const Inst &inst, double at,
                  double queued);
  void chargeSpecial(SmModel::Part &part, double at);
  /// The part of a latency that the clocks of the instruction have covered.
  double hidden(double latency) const {
    return std::min(current.clocks, latency);
  }
  void delay(double until, uint64_t cause = 0) {
    if (until <= current.wakeAt)
      return;
    current.wakeAt = until;
    current.wakeCause = cause;
  }
  /// What acts now: the executing warp, or the operation that is performed.
  PendingMoment actor(Moment::Kind kind = Moment::Signalled) const;
  uint64_t logged(PendingMoment &pending) {
    if (!pending.number && log && pending.moment.at >= 0)
      pending.number = log->add(pending.moment);
    return pending.number;
  }
  /// Logs the beginning of an operation.
  uint64_t logBegin(const AsyncOp &op, const AsyncWork &work,
                    const AsyncTimes &times);
  /// Logs the end of a wait of the executing warp. Returns the cause of what
  /// the warp does next.
  uint64_t logWake(double at);
  AsyncTimes timesOf(const AsyncWork &work, SmModel &sm, double at);
  uint32_t rankOf(const AsyncOp &op) const {
    return op.issuer / (cluster->grid.warpsPerCta * warpSize);
  }
  SmModel &smOf(const AsyncOp &op) { return *sms[rankOf(op)]; }
  void traceWork(const AsyncOp &op, const AsyncWork &work,
                 const AsyncTimes &times);
  void schedule(AsyncOp &op, uint32_t queue, const AsyncWork &work,
                const AsyncTimes &times);
  BarrierTime &timeOf(const Cta &cta, uint32_t offset) {
    return mbarrierTimes[cta.rank << sharedRankShift | offset];
  }

  const TimedProgram &timed;
  std::vector<WarpTimes> warpTimes; ///< But for WarpTimes::waits.
  std::vector<SmModel *> sms;
  std::vector<WarpClock> clocks;
  std::vector<double> keys; ///< By warp: when it may do something.
  Current current;
  double now = 0;
  double epochTime = 0;     ///< When the cluster's epoch last advanced.
  PendingMoment epochCause; ///< Who has advanced it.
  uint64_t eventMoment = 0; ///< The event that is being performed.
  double eventEnd = 0;      ///< When the last one was.
  uint64_t seenEpoch = 0;
  bool isPerforming = false; ///< An asynchronous operation, not a warp, acts.
  bool keysAreOld = true;
  /// The warp with the smallest key of each subtree of a binary tree whose
  /// leaves, from `leaves` on, are the warps. The root is 1; of warps with the
  /// same key the first one counts. Times are not negative: their bits have the
  /// same order, and choosing between integers takes no branch.
  struct Earliest {
    uint64_t key;
    uint64_t index;
  };
  std::vector<Earliest> earliest;
  unsigned leaves = 1;
  std::array<double, numPipes> intervals; ///< SmModel::interval.
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  uint64_t eventNumber = 0;
  /// The last operation of a queue.
  struct QueueEnd {
    double end = 0;
    uint64_t began = 0;
  };
  /// When a product begins, and that moment.
  struct Begin {
    double at;
    uint64_t moment;
  };
  llvm::DenseMap<uint32_t, QueueEnd> queueEnds; ///< By queue of AsyncEngine.
  llvm::DenseMap<uint32_t, std::deque<Begin>> wgmmaBegins;
  llvm::DenseMap<uint32_t, BarrierTime> mbarrierTimes;
  std::vector<std::array<BarrierTime, 16>> namedTimes; ///< By CTA.
  BarrierTime clusterTime;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TIMING_TIMEDCLUSTER_H
