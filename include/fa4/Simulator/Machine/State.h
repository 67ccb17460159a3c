//===- State.h - state of a running grid -----------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grid -> Cluster -> Cta -> Warp -> Fragment. A cluster is run by one worker
// thread at a time; everything below Grid needs no locks. All CTAs of a
// cluster are resident together.
//
// Divergence: a warp is a set of fragments, each some lanes at one pc. A
// fragment splits at a branch whose lanes disagree, and fragments at the same
// pc with the same call stack merge. PTX promises nothing about when lanes
// reconverge, so nothing but `.aligned` and `.sync` instructions relies on it:
// these wait for their lanes.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_MACHINE_STATE_H
#define FA4_SIMULATOR_MACHINE_STATE_H

#include "fa4/Simulator/Machine/Async.h"
#include "fa4/Simulator/Machine/Checker.h"
#include "fa4/Simulator/Machine/Memory.h"
#include "fa4/Simulator/Machine/Program.h"
#include "fa4/Simulator/Machine/Report.h"
#include "fa4/Simulator/Machine/Simulator.h"
#include "fa4/Simulator/Machine/Timer.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fa4::sim {

struct Cta;
class Cluster;
class Grid;

//===----------------------------------------------------------------------===//
// Fragments and warps
//===----------------------------------------------------------------------===//

/// The reason why a fragment cannot go on. The hang table shows it.
struct BlockReason {
  enum Kind : uint8_t {
    None,
    Mbarrier,       ///< try_wait: `cta`, `address`, `value` = parity or phase.
    NamedBarrier,   ///< `value` = barrier, `count` = threads it expects.
    ClusterBarrier, ///< `value` = generations that were complete.
    WarpSync,       ///< bar.warp.sync, shfl.sync, ...: `value` = member mask.
    Aligned,     ///< An .aligned instruction that other lanes have not reached.
    AsyncGroup,  ///< wait_group: `value` = groups that may be outstanding.
    WgmmaGroup,  ///< wgmma.wait_group: the same.
    TensorWait,  ///< tcgen05.wait.
    TensorAlloc, ///< tcgen05.alloc: `value` = columns.
    Other,       ///< `text` says what.
  };
  Kind kind = None;
  bool hasTimeLimit = false; ///< Goes on by itself when nothing else does.
  bool isOneObject = false;  ///< All lanes wait for the same mbarrier.
  uint16_t cta = 0;          ///< Rank in the cluster of the object waited for.
  uint32_t address = 0;      ///< Offset in that CTA's shared window.
  uint64_t value = 0;
  uint32_t count = 0;
  const char *text = "";
};

struct CallFrame {
  uint32_t returnPc;
};

struct Fragment {
  uint32_t pc = 0;
  LaneMask mask = 0;
  /// True if the barrier instruction at pc has already arrived and only waits.
  /// The handler of that instruction sets and clears this.
  bool arrived = false;
  bool blockedNow = false;
  bool isHeld = false;       ///< Cluster::holdReader.
  bool timedOut = false;     ///< The time limit of a blocked wait is over.
  uint64_t blockedEpoch = 0; ///< Cluster epoch of the failed attempt.
  uint64_t token = 0;        ///< Handler's memory of what it waits for.
  uint32_t lastTry = ~0u;    ///< Pc of the try_wait that has just given up.
  uint8_t gaveUp = 0;        ///< Times in a row, at different pcs.
  double readyAt = 0;        ///< Clock of a timed run when it may issue.
  bool isCharged = false;    ///< A timed run has paid for the instruction.
  uint64_t cause = 0;        ///< Of a timed run: why readyAt is not earlier.
  BlockReason blocked;
  llvm::SmallVector<CallFrame, 1> calls;
};

struct Warp {
  Cta *cta = nullptr;
  uint32_t index = 0;      ///< In the CTA.
  uint32_t threadBase = 0; ///< Thread in the cluster of lane 0.
  LaneMask live = 0;       ///< Lanes that exist and have not exited.
  LaneMask exists = 0;
  uint8_t *registers = nullptr; ///< Program::registerBytes, 64-byte aligned.
  uint8_t *local = nullptr;     ///< Local memory: lane-major.
  llvm::SmallVector<Fragment, 4> fragments;
  uint32_t maxRegisters = 0; ///< Per thread (setmaxnreg); 0 when unknown.
  /// The setmaxnreg that the warp has executed.
  llvm::SmallVector<const Inst *, 2> budgets;
  uint64_t instructions = 0;
  uint64_t wgmmaCount = 0; ///< Executed wgmma.mma_async.
  LaneMask carry = 0;      ///< CC.CF of add.cc and the like.
  uint32_t tid[3][warpSize];
  struct Load {
    uint32_t pc = 0;
    uint64_t address = 0; ///< Generic.
    uint64_t repeats = 0; ///< In a row.
    uint64_t at = 0;      ///< Cluster::executed of the last one.
  };
  Load recentLoads[16]; ///< By pc: tells polling from streaming.
  /// Phase of each mbarrier (by shared address) that a wait of this warp last
  /// saw complete: tells in a hang who was lapped.
  llvm::DenseMap<uint32_t, uint64_t> seenPhases;
  /// Not empty while the checker wants to hear of the registers that
  /// instructions read and define (ClusterChecker::registersRead).
  llvm::SmallVector<uint32_t, 0> pendingLoads;
  /// While registers hold what nobody has written
  /// (ClusterChecker::undefinedRead).
  bool hasUndefined = false;
};

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// What one instruction of one warp does for a barrier: arrive, expect bytes,
/// or bring them (an asynchronous operation, in the name of its issuer).
struct BarrierSignal {
  const Inst *inst = nullptr;
  const Warp *warp = nullptr;
  uint64_t phase = 0; ///< The last one it served; the counts are of that one.
  uint32_t arrivals = 0;
  int64_t expectedBytes = 0, completedBytes = 0;
};

/// Who has signalled a barrier in this run, for the explanation of a hang: who
/// served earlier phases is expected to serve the next.
class BarrierHistory {
public:
  /// The record of an instruction of a warp in this phase.
  BarrierSignal &note(const Inst *inst, const Warp *warp, uint64_t phase) {
    if (last >= list.size() || list[last].inst != inst ||
        list[last].warp != warp)
      find(inst, warp);
    BarrierSignal &signal = list[last];
    if (signal.phase != phase)
      signal = {inst, warp, phase};
    return signal;
  }
  llvm::ArrayRef<BarrierSignal> signals() const { return list; }

private:
  void find(const Inst *inst, const Warp *warp) {
    constexpr size_t maxSignals = 64;
    for (last = 0; last < list.size(); ++last)
      if (list[last].inst == inst && list[last].warp == warp)
        return;
    if (list.size() == maxSignals)
      last = 0;
    else
      list.emplace_back();
    list[last] = {inst, warp, ~0ull};
  }
  llvm::SmallVector<BarrierSignal, 0> list;
  size_t last = 0;
};

/// An mbarrier object (PTX ISA, "mbarrier"). The phase completes when
/// pending == 0 and tx == 0; pending is then reloaded with `expected`.
struct Mbarrier {
  uint32_t offset = 0;   ///< In the CTA's shared window.
  uint32_t expected = 0; ///< Arrivals a phase.
  uint32_t pending = 0;
  int64_t tx = 0;     ///< Bytes expected and not yet complete.
  uint64_t phase = 0; ///< Phases completed; parity of the current = phase & 1.
  bool valid = false;
  const Inst *initInst = nullptr;
  BarrierHistory history;
};

struct NamedBarrier {
  bool all = false;      ///< Expects every thread of the CTA.
  uint32_t expected = 0; ///< Threads; 0 when idle.
  uint32_t arrived = 0;
  uint64_t generation = 0;
  uint32_t reduction = 0; ///< Of barrier.red: popc so far.
  uint32_t reducers = 0;
  uint32_t result = 0; ///< Popc of the last completed generation.
  uint32_t resultReducers = 0;
  BarrierHistory history; ///< Phases are generations.
};

//===----------------------------------------------------------------------===//
// CTA
//===----------------------------------------------------------------------===//

/// Zeroed, 64-byte aligned memory. The system provides a page when it is first
/// touched.
struct ZeroedMemory {
  ZeroedMemory() = default;
  explicit ZeroedMemory(size_t bytes)
      : raw(std::calloc(bytes + 64, 1), std::free) {}
  uint8_t *data() const {
    return reinterpret_cast<uint8_t *>(
        (reinterpret_cast<uintptr_t>(raw.get()) + 63) & ~uintptr_t(63));
  }
  std::unique_ptr<void, void (*)(void *)> raw{nullptr, std::free};
};

/// TMEM, bulk groups and the like; defined and managed by Async/.
struct AsyncState;

struct Cta {
  Cluster *cluster = nullptr;
  uint32_t rank = 0;   ///< %cluster_ctarank.
  uint32_t id[3] = {}; ///< %ctaid.
  uint32_t idInCluster[3] = {};
  std::vector<Warp> warps;
  std::vector<uint8_t> shared; ///< Indexed by window offset (incl. reserved).
  llvm::DenseMap<uint32_t, Mbarrier> mbarriers; ///< By offset.
  NamedBarrier barriers[16];
  uint32_t liveWarps = 0;
  uint32_t liveThreads = 0;
  uint32_t freeRegisters = 0; ///< Register file not owned by a warp.
  ZeroedMemory registerStorage, localStorage;
  std::shared_ptr<AsyncState> async;

  uint32_t sharedEnd() const { return shared.size(); }
};

//===----------------------------------------------------------------------===//
// Cluster
//===----------------------------------------------------------------------===//

/// The actor that does something to a barrier: some lanes of a warp, or an
/// asynchronous operation.
struct Actor {
  const Inst *inst = nullptr;
  Warp *warp = nullptr;
  int lane = -1;
  AgentId agent = noAgent;
};

class Cluster {
public:
  Cluster(Grid &grid, uint64_t index, uint32_t firstCta[3], uint64_t seed);
  ~Cluster();

  enum class Status { Running, Done, Stalled, Stuck };
  /// Runs about `budget` warp instructions. Returns Stalled if only memory that
  /// another cluster writes could let the cluster go on, and Stuck if nothing
  /// could.
  Status run(uint64_t budget);

  Grid &grid;
  const uint64_t index;
  std::vector<Cta> ctas;
  Random random;
  AsyncEngine async;
  std::unique_ptr<ClusterChecker> checker; ///< Null without checks.
  Statistics stats;

  /// Advances whenever something happens that a blocked fragment may wait for.
  uint64_t epoch = 1;
  void advance() { ++epoch; }
  /// Simulated time in nanoseconds (clock, globaltimer, nanosleep).
  uint64_t time = 0;

  /// Whether this is the tame schedule, which keeps what hardware is known to
  /// keep beyond the manual.
  bool isFair() const { return fair; }

  //===--- Timed runs -----------------------------------------------------===//
  // A clock runs the cluster step by step, in the order of its times, in place
  // of run().

  /// Installs the clock, which has to outlive the cluster.
  void setTimer(ClusterTimer *clock) { timer = async.timer = clock; }
  ClusterTimer *timer = nullptr; ///< Null without a clock.
  /// What a step has executed. `inst` is null if the fragment had to wait for
  /// other lanes of its warp; `mask` is 0 if the guard held for no lane.
  struct Step {
    const Inst *inst = nullptr;
    LaneMask mask = 0;
    Flow flow = Flow::Block;
  };
  /// Executes one instruction of a runnable fragment of a warp, together with
  /// those at the same place.
  Step step(Warp &warp, unsigned fragment);
  /// The same for the only fragment of a warp, which can go on, and `count`
  /// instructions that do nothing but write registers.
  void stepPlain(Warp &warp, unsigned count);
  /// Returns the runnable fragment with the lowest pc, or -1: lanes that are
  /// behind go first, so that structured code reconverges. Those whose barrier
  /// is where it was are left out.
  int firstFragment(const Warp &warp) const;
  /// Lets waits with a time limit give up, and held readers go on, when nothing
  /// else can. Returns false if there is none.
  bool expireWaits();
  /// Called when all threads have exited and all operations are performed.
  void finish();
  llvm::ArrayRef<Warp *> warps() const { return allWarps; }

  //===--- Shared memory --------------------------------------------------===//
  /// Returns the CTA that a shared address names, or null if there is no such
  /// rank.
  Cta *ctaOfShared(uint32_t address) {
    uint32_t rank = address >> sharedRankShift;
    return rank < ctas.size() ? &ctas[rank] : nullptr;
  }
  /// ": no CTA of that rank in a cluster of 2", or nothing: for messages.
  std::string noSuchCta(uint32_t address) {
    if (ctaOfShared(address))
      return "";
    return (": no CTA of rank " + llvm::Twine(address >> sharedRankShift) +
            " in a cluster of " + llvm::Twine(ctas.size()))
        .str();
  }
  /// Returns the host pointer to shared memory [address, address + bytes), or
  /// null if the range is out of bounds.
  uint8_t *resolveShared(uint32_t address, uint64_t bytes) {
    Cta *cta = ctaOfShared(address);
    uint32_t offset = address & sharedOffsetMask;
    if (!cta || offset < sharedReservedBytes ||
        offset + bytes > cta->shared.size())
      return nullptr;
    return cta->shared.data() + offset;
  }

  //===--- mbarriers ------------------------------------------------------===//
  // `address` is a shared address (rank << 24 | offset). Misuse is reported
  // and makes the call false.

  Mbarrier *findMbarrier(uint32_t address);
  /// Returns the mbarrier at an address. Reports "not an initialised mbarrier"
  /// if there is none.
  Mbarrier *expectMbarrier(uint32_t address, const Actor &actor);
  bool initMbarrier(uint32_t address, uint32_t count, const Actor &actor);
  bool invalMbarrier(uint32_t address, const Actor &actor);
  /// `count` arrivals; with `txBytes`, an expect_tx first (atomically).
  /// `drop`: also lowers the expected count of later phases.
  bool arrive(uint32_t address, uint32_t count, const Actor &actor,
              const SyncOrder &order, uint32_t txBytes = 0, bool drop = false);
  bool expectTx(uint32_t address, uint32_t bytes, const Actor &actor,
                const SyncOrder &order);
  /// Called by an asynchronous operation when `bytes` of it are complete.
  bool completeTx(uint32_t address, uint32_t bytes, const Actor &actor,
                  const SyncOrder &order);

  //===--- Findings -------------------------------------------------------===//
  void report(llvm::StringRef kind, const llvm::Twine &message,
              const Actor &actor, llvm::StringRef what = "",
              Severity severity = Severity::Error);
  ReportSite site(const Actor &actor, llvm::StringRef what = "") const;
  bool shouldStop() const;

  //===--- Cluster barrier ------------------------------------------------===//
  uint32_t clusterArrived = 0;
  uint64_t clusterGeneration = 0;
  uint32_t liveThreads = 0;
  /// Per thread: generation of the last barrier.cluster.arrive + 1, 0 when it
  /// has been waited for.
  std::vector<uint64_t> clusterPending;

  /// Called after threads have exited: barriers that expect all threads may be
  /// complete now.
  void recheckBarriers(Cta &cta);

  /// Records progress: a store, or an atomic that changes memory, for which
  /// other code may wait.
  void noteProgress() { progressAt = executed; }
  void restoreProgress(uint64_t since) { progressAt = executed - since; }
  /// The number of loads of global memory, which may see the progress of
  /// another cluster.
  uint64_t globalReads = 0;
  /// The number of polls: waits that failed, and loads of an address that the
  /// same instruction has loaded before. A load of a new address is progress.
  uint64_t polls = 0;
  /// A wait or an atomic that changed nothing.
  void notePoll(Warp &warp, uint32_t pc, uint64_t address) {
    ++polls;
    Warp::Load &last = warp.recentLoads[pc % 16];
    if (last.pc == pc && last.address == address)
      ++last.repeats;
    else
      last = {pc, address, 0};
    last.at = executed;
  }
  void noteLoad(Warp &warp, uint32_t pc, uint64_t address) {
    Warp::Load &last = warp.recentLoads[pc % 16];
    if (last.pc == pc && last.address == address) {
      ++polls;
      ++last.repeats;
      last.at = executed;
      return;
    }
    last = {pc, address, 0, executed};
    noteProgress();
  }

  /// For the checker, from within an instruction: the lanes that execute it go
  /// on only when releaseReaders is called, or nothing else can go on.
  void holdReader() { holdRequested = true; }
  void releaseReaders();

  /// Returns true if a try_wait at `pc` gives up at once this time. Where
  /// copies are late, the first try does, of all warps: code that peeks and
  /// waits only if it must then has to wait.
  bool timeLimitIsShort(Fragment &fragment, uint32_t pc) {
    constexpr unsigned mostInARow = 4;
    if (timer)
      return false;
    if (!async.copiesLast)
      return !fair && random.oneIn(32);
    bool isFirst = fragment.lastTry != pc && fragment.gaveUp < mostInARow;
    fragment.lastTry = pc;
    fragment.gaveUp = isFirst ? fragment.gaveUp + 1 : 0;
    return isFirst;
  }

  /// The number of warp instructions that this cluster has executed. It is also
  /// the cluster's clock.
  uint64_t executed = 0;

  /// Returns the hang table: what every unfinished thread does.
  std::string hangTable() const;
  /// What a hang began with, as far as the state shows it: one sentence.
  std::string hangCause() const;
  /// "polls global flag + 0x0, which holds 0x0, by ld.acquire.gpu.global.u32 at
  /// line 8" of a warp that is not blocked; empty if it looks at nothing again.
  std::string polledBy(const Warp &warp);
  /// The warps of the same warpgroup that have executed fewer wgmma.mma_async.
  static llvm::SmallVector<const Warp *, 4> lateWarps(const Warp &warp);
  /// "CTA (0,0,0) warp 3".
  static std::string nameOf(const Warp &warp);
  /// "bars+8 (shared 0x408)", with the CTA's rank where there are several.
  std::string nameOfShared(const Cta &cta, uint32_t offset) const;
  void reportHang();
  /// True if the instructions since the last progress have polled; false if
  /// they only computed.
  bool polled = false;
  /// Warp instructions since anything changed that could let a wait end.
  uint64_t sinceProgress() const { return executed - progressAt; }

private:
  void tryCompletePhase(Cta &cta, Mbarrier &barrier);
  void drawPolicy();
  void drawPriorities();
  bool runnable(const Fragment &fragment) const {
    return !fragment.isHeld && (!fragment.blockedNow || fragment.timedOut ||
                                fragment.blockedEpoch != epoch);
  }
  /// Chooses the fragment to run next. Returns false if there is none.
  bool pick(Warp *&warp, unsigned &fragment);
  int pickFragment(Warp &warp);
  void runFragment(Warp &warp, unsigned index, uint64_t quantum, bool freeRun);
  template <bool isTimed>
  Step runFragmentImpl(Warp &warp, unsigned index, uint64_t quantum,
                       bool freeRun);
  void markBlocked(Fragment &fragment, const BlockReason &reason);
  bool isAheadOfOthers(const Warp &warp, const Fragment &fragment) const;
  bool checkAligned(Warp &warp, Fragment &fragment, const Inst &inst,
                    LaneMask mask);
  void countTurn(Warp &warp, uint64_t count, uint64_t lanes);
  bool goesOnAfter(Flow flow, Exec &exec, unsigned index, LaneMask mask);
  std::optional<Status> runWithoutWarps();
  bool expireTimeLimits();
  /// True if the barrier that a blocked fragment waits for has not changed
  /// since the fragment began to wait. False where that is not known.
  bool waitsInVain(const Warp &warp, const Fragment &fragment) const;
  void exitLanes(Exec &exec, LaneMask mask);
  /// The last warp of a warpgroup exits: all must have executed setmaxnreg
  /// alike.
  void checkBudgets(const Warp &last, const Inst &exit);

  void hold(Fragment &fragment);
  bool holdRequested = false, anyHeld = false;
  uint64_t heldSince = 0; ///< `executed` when the last fragment was held.

  std::vector<Warp *> allWarps;
  uint64_t progressAt = 0, seenEpoch = 0, pollsAtProgress = 0;
  unsigned idleRounds = 0;
  uint64_t idleReads = 0;
  // The scheduler's current habits, drawn anew every few hundred turns.
  unsigned turnsLeft = 0, asyncOneIn = 4, quantum = 64;
  bool freeRun = false;
  bool fair = false;         ///< Seed 0: turns in order, no extremes.
  unsigned nextWarp = 0;     ///< Whose turn is next in a fair schedule.
  uint64_t favoured = ~0ull; ///< Warps that run first.
  /// The warps in the order of their priority: each runs only while no warp in
  /// front of it can. Empty for other policies.
  std::vector<unsigned> priorities;
};

//===----------------------------------------------------------------------===//
// Grid
//===----------------------------------------------------------------------===//

/// The values that are the same for a whole launch.
struct GridInfo {
  const Program *program = nullptr;
  const EntryInfo *entry = nullptr;
  Dim3 grid, block, cluster;
  uint32_t dynamicSharedBytes = 0;
  bool programmatic = false; ///< LaunchConfig::programmatic.
  uint32_t threadsPerCta = 0, warpsPerCta = 0, ctasPerCluster = 0;
  uint64_t clusterCount = 0;
  std::vector<uint8_t> params; ///< Parameter space.
  uint64_t seed = 0;

  /// The first CTA of a cluster.
  void firstCtaOf(uint64_t index, uint32_t firstCta[3]) const;
};

/// Fills in a launch of a program. Fails if the chip cannot launch it.
llvm::Error fillGrid(GridInfo &info, const LaunchConfig &config,
                     const Program &program);

class Grid : public GridInfo {
public:
  Grid(GlobalMemory &memory, ReportSink &sink, const RunOptions &options)
      : memory(memory), sink(sink), options(options) {}

  GlobalMemory &memory;
  ReportSink &sink;
  const RunOptions &options;
  std::unique_ptr<Checker> checker;

  /// The next cluster that has not started, in the seed's order: its index and
  /// first CTA. False when there is none. Also what try_cancel takes.
  bool takeCluster(uint64_t &index, uint32_t firstCta[3]);
  std::vector<uint64_t> order;
  std::atomic<uint64_t> nextCluster{0};
  /// The clusters that one call takes: more than one where a cluster stands for
  /// others that go on at the same pace (timed runs).
  uint64_t takenTogether = 1;
  std::atomic<uint64_t> doneClusters{0};
  /// Roughly the number of writes to global memory and atomics so far: progress
  /// for which a cluster may wait.
  std::atomic<uint64_t> globalEpoch{0};
  std::atomic<uint64_t> totalInstructions{0};
};

//===----------------------------------------------------------------------===//
// Execution context of a handler
//===----------------------------------------------------------------------===//

struct Exec {
  Grid &grid;
  Cluster &cluster;
  Cta &cta;
  Warp &warp;
  Fragment *frag; ///< May move when a handler adds fragments.
  LaneMask mask;  ///< Lanes that execute: the fragment's with a true guard.
  const uint8_t *banks[2];
  const Program &program;

  ClusterChecker *checker() const { return cluster.checker.get(); }

  const Operand &operand(const Inst &inst, unsigned i) const {
    return program.slots[inst.firstOperand + i];
  }
  /// Returns the lane array of an operand whose slot is as wide as T (4 bytes
  /// for uint32_t and float, 8 bytes for uint64_t and double).
  template <typename T> const T *read(const Operand &op) const {
    return reinterpret_cast<const T *>(banks[op.bank] + op.offset);
  }
  template <typename T> const T *read(const Inst &inst, unsigned i) const {
    return read<T>(operand(inst, i));
  }
  /// Returns the lane array of the destination register. Only the lanes of
  /// `mask` may be written.
  template <typename T> T *write(const Operand &op) const {
    return reinterpret_cast<T *>(const_cast<uint8_t *>(banks[op.bank]) +
                                 op.offset);
  }
  template <typename T> T *write(const Inst &inst, unsigned i) const {
    return write<T>(operand(inst, i));
  }
  /// Returns the value of one lane, zero-extended from any width of slot, plus
  /// the displacement of an address operand.
  uint64_t value(const Operand &op, unsigned lane) const {
    if (op.width == 4)
      return uint64_t(int64_t(op.displacement)) + read<uint32_t>(op)[lane];
    if (op.width == 0)
      return (read<uint32_t>(op)[0] >> lane & 1) ^ op.negated;
    return read<uint64_t>(op)[lane] + int64_t(op.displacement);
  }
  uint64_t value(const Inst &inst, unsigned i, unsigned lane) const {
    return value(operand(inst, i), lane);
  }
  /// Returns a predicate operand as a lane mask, with `!` applied.
  LaneMask predicate(const Operand &op) const {
    LaneMask bits = *read<uint32_t>(op);
    return op.negated ? ~bits : bits;
  }
  /// Stores predicate bits of the lanes in `mask`.
  void setPredicate(const Operand &op, LaneMask bits) const {
    if (op.sink)
      return;
    uint32_t *p = write<uint32_t>(op);
    *p = (*p & ~mask) | (bits & mask);
  }
  Actor actor(const Inst &inst, int lane = -1) const {
    return {&inst, &warp, lane, noAgent};
  }
  /// Reports a finding about this instruction. The run may stop after it.
  void report(const Inst &inst, llvm::StringRef kind,
              const llvm::Twine &message, int lane = -1,
              llvm::StringRef what = "") const {
    cluster.report(kind, message, actor(inst, lane), what);
  }
  /// The same for what the manual forbids and hardware tolerates. The run goes
  /// on.
  void reportStrict(const Inst &inst, llvm::StringRef kind,
                    const llvm::Twine &message, int lane = -1) const {
    cluster.report(kind, message, actor(inst, lane), "", Severity::Strict);
  }
  /// Marks the fragment as blocked for `reason`.
  Flow block(BlockReason reason) const {
    frag->blocked = reason;
    return Flow::Block;
  }
  /// Splits an address in the generic space (or a 32-bit one of `space`) into
  /// its space and the address there.
  static MemSpace classify(uint64_t generic, uint64_t &address);
};

template <typename F> inline void forEachLane(LaneMask mask, F f) {
  for (; mask; mask &= mask - 1)
    f(unsigned(__builtin_ctz(mask)));
}

//===----------------------------------------------------------------------===//
// What Async/ adds to the life of threads and CTAs
//===----------------------------------------------------------------------===//

/// Lanes exit: reports asynchronous work of theirs that nothing waits for.
void asyncLanesExit(Exec &exec, LaneMask mask);
/// Called when all CTAs of the cluster have exited and no operation is
/// outstanding. Reports tensor memory that is still allocated.
void asyncClusterExit(Cluster &cluster);

} // namespace fa4::sim

#endif // FA4_SIMULATOR_MACHINE_STATE_H
