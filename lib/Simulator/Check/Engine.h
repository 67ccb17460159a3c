//===- Engine.h - the happens-before engine of a cluster -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_CHECK_ENGINE_H
#define FA4_LIB_SIMULATOR_CHECK_ENGINE_H

#include "Clock.h"
#include "Shadow.h"
#include "fa4/Simulator/Check/HappensBefore.h"
#include "fa4/Simulator/Machine/State.h"
#include "llvm/ADT/DenseSet.h"
#include <array>
#include <deque>
#include <map>

namespace fa4::sim {

class Engine;

/// What the machine waits for because of a PTX instruction; RegisterFlow.cpp
/// says why.
enum class RegisterFlow : uint8_t {
  Moves,       ///< Nothing: its results are as pending as its sources.
  Computes,    ///< Its sources, but maybe only behind an mbarrier.arrive.
  Stays,       ///< Its sources, where it stands.
  StaysBehind, ///< Those, and the sources of all computations before it.
};
RegisterFlow registerFlowOf(const Inst &inst);

/// The site of an access, as a report shows it: instruction, warp and kind of
/// access.
struct SiteInfo {
  const Inst *inst = nullptr;
  uint32_t ctaId[3] = {};
  uint32_t warp = 0;
  AccessKind kind = AccessKind::Read;
  Proxy proxy = Proxy::Generic;
  bool strong = false;
  bool ofCta = false; ///< A strong access of the scope .cta.
};

/// The checker of a launch: global memory, and the order between clusters.
class LaunchChecker : public Checker {
public:
  LaunchChecker(const GridInfo &info, GlobalMemory &memory, ReportSink &sink,
                CheckOptions options);
  std::unique_ptr<ClusterChecker> beginCluster(Cluster &cluster) override;
  void finish() override {}

  /// Returns the shadow of an allocation, or null if it came after the launch
  /// began.
  Shadow *shadowOf(const Allocation &allocation);
  uint32_t addSite(const SiteInfo &site);
  /// The reference stays valid as long as the checker.
  const SiteInfo &siteInfo(uint32_t id);

  /// The knowledge that releases at a global address have published, by
  /// cluster.
  struct Location {
    std::map<uint32_t, View> published;
    /// The same of releases of CTA or cluster scope, which other clusters do
    /// not see.
    std::map<uint32_t, View> inside;
  };
  std::mutex locationMutex;
  llvm::DenseMap<uint64_t, Location> locations;

  const GridInfo &info;
  GlobalMemory &memory;
  ReportSink &sink;
  CheckOptions options;
  bool tensorFences = false;
  std::vector<RegisterFlow> registerFlow; ///< By pc.
  /// Plain loads in front of a compare-and-swap of the same place.
  llvm::DenseSet<const Inst *> guesses;

private:
  void findGuesses();
  std::mutex mutex;
  std::vector<std::unique_ptr<Shadow>> shadows; // by Allocation::index
  std::mutex siteMutex;
  std::deque<SiteInfo> sites;
};

/// Steps that a single thread knows, of components that are its own or its
/// warp's: completed tcgen05.ld and .st, bulk groups, cp.async groups.
class OwnSteps {
public:
  void raise(uint32_t component, uint32_t step) {
    for (auto &[c, s] : entries)
      if (c == component) {
        s = std::max(s, step);
        return;
      }
    entries.push_back({component, step});
  }
  uint32_t get(uint32_t component) const {
    for (const auto &[c, s] : entries)
      if (c == component)
        return s;
    return 0;
  }
  bool empty() const { return entries.empty(); }
  bool operator==(const OwnSteps &other) const {
    return entries == other.entries;
  }
  void raiseIn(Clock &clock) const {
    for (const auto &[c, s] : entries)
      clock.raise(c, s);
  }

private:
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 2> entries;
};

/// Which registers of a warp hold values that a tcgen05.ld may not have brought
/// yet, or values computed from such: the last step (of the component of the
/// warp's loads) that they depend on. A step that has `arrived` pends no more.
class PendingRegisters {
public:
  /// The step that the register waits for, 0 for none.
  uint32_t get(const Operand &op) const;
  /// `add`: the register keeps its old value in some lanes.
  void set(const Operand &op, uint32_t step, bool add);
  /// Of a predicate at this offset in the register file.
  uint32_t getPredicate(uint32_t offset) const {
    auto it = predicates.find(offset);
    return it == predicates.end() || it->second <= arrived ? 0 : it->second;
  }
  uint32_t arrived = 0;
  uint32_t needed = 0; ///< By computations so far.

private:
  std::vector<uint32_t> steps; ///< By offset in the register file / 128.
  llvm::DenseMap<uint32_t, uint32_t> predicates; ///< By offset.
};

/// Which registers of a warp hold what nobody had written when it was loaded,
/// or what was computed from such: the lanes, and the site of one of the loads.
struct UndefinedRegisters {
  struct Values {
    LaneMask lanes = 0;
    uint32_t site = 0;
  };
  /// By offset in the register file.
  llvm::DenseMap<uint32_t, Values> registers;
  /// What the store `storedBy` is about to leave in shared memory: the lanes
  /// whose addresses get it, as one of the equal parts of what lies there.
  struct Stored {
    Values values;
    unsigned part, parts;
  };
  llvm::SmallVector<Stored, 0> stored;
  const Inst *storedBy = nullptr;

  Values get(const Operand &op) const {
    return op.bank == 0 && !op.sink ? registers.lookup(op.offset) : Values();
  }
};

/// What a warp has done to the registers that its wgmmas use, and the groups to
/// which it has committed these.
struct WgmmaWarp {
  /// Products are numbered from 1 in the order of their issue, 0 is none.
  struct Register {
    uint32_t accumulator = 0; ///< The last product of which it is one.
    uint32_t input = 0;       ///< The last product that has A there.
    uint32_t touched = 0;     ///< `fences` + 1 at the last ordinary access.
    const Inst *by = nullptr; ///< That access.
  };
  struct Product {
    const Inst *inst = nullptr;
    uint32_t shape = 0;
    uint32_t fences = 0; ///< `fences` when it was issued.
  };
  std::vector<Register> registers; ///< By offset in the register file / 128.
  std::vector<Product> products;   ///< [0] is none.
  /// What the warp had executed when it issued its last products, with their
  /// numbers.
  std::deque<std::pair<uint32_t, Clock>> issued;
  std::vector<uint32_t> groups; ///< The last product of each.
  uint32_t fences = 0;          ///< Executed so far.
  uint32_t complete = 0;        ///< Products known to be complete.

  Register &at(const Operand &op) {
    size_t place = op.offset / 128;
    if (place >= registers.size())
      registers.resize(place + place / 4 + 1);
    return registers[place];
  }
};

/// The knowledge of a warp's lanes: `common` to all of them, and additional
/// knowledge of single lanes in `own`.
struct WarpState {
  View common;
  uint64_t version = 0; ///< Of `common` and `own`.
  ViewRef own[warpSize];
  uint32_t step[warpSize]; ///< Stamps of the lanes' next accesses.
  uint32_t fencedShared[warpSize] = {}, fencedGlobal[warpSize] = {};
  OwnSteps steps[warpSize];
  OwnSteps tensorFenced[warpSize]; ///< `steps` at tcgen05.fence::before.
  /// The views at the last release fence, which relaxed arrivals publish.
  ViewRef fenced[warpSize];
  LaneMask initFenced = 0; ///< Lanes that executed fence.mbarrier_init.
  /// Lanes whose last release fence has the scope .cta.
  LaneMask fencedForCta = 0;
  /// CTAs, by rank, that are known to have started.
  uint32_t started = 0;
  /// Generations of the cluster barrier for which the warp has waited.
  uint64_t clusterGenerations = 0;
  /// The knowledge that relaxed operations have observed. It counts after an
  /// acquire fence.
  ViewRef observed;
  /// The same of other clusters, by their numbers.
  std::map<uint32_t, View> observedOfClusters;
  uint32_t firstThread = 0; ///< Component of lane 0.
  const Warp *warp = nullptr;
  /// Components of the warp's tcgen05.ld and .st (0: none yet).
  uint32_t loads = 0, stores = 0;
  uint32_t loadSteps = 0, storeSteps = 0;
  PendingRegisters pending;
  UndefinedRegisters undefined;
  WgmmaWarp wgmma;
};

enum class ComponentKind : uint8_t {
  Thread,
  Mbarrier,    ///< Loads that complete on an mbarrier.
  Pipe,        ///< tcgen05.mma, .cp, .shift of a thread.
  TensorLoad,  ///< tcgen05.ld of a warp.
  TensorStore, ///< tcgen05.st of a warp.
  BulkRead,    ///< Sources of a thread's bulk groups.
  BulkWrite,   ///< Destinations of a thread's bulk groups.
  CpAsync,     ///< cp.async groups of a thread.
  Wgmma,       ///< wgmma groups of a warpgroup: what they read.
  Arrival,     ///< Other CTAs' expect_tx and complete_tx of an mbarrier.
  RemoteStore, ///< Stores of a thread to the shared memory of other CTAs.
};
/// The component of all launches before this one, whose only step is their end.
constexpr uint32_t earlierLaunches = 0;

struct ComponentInfo {
  ComponentKind kind;
  uint32_t thread = 0;   ///< Owner's component.
  uint32_t mbarrier = 0; ///< Shared address.
  /// By step: the issuing thread and its step then.
  std::vector<std::pair<uint32_t, uint32_t>> issues;
};

/// The history of an mbarrier.
struct BarrierState {
  View arrived;
  View completed[2]; ///< By parity of the phase.
  uint64_t completedPhase[2] = {~0ull, ~0ull};
  uint32_t component = 0; ///< Of the loads that complete on it.
  uint32_t issued = 0;    ///< Steps of that component.
  struct Pending {
    AgentId agent;
    uint32_t step;
    int64_t bytes;
  };
  std::deque<Pending> pending; ///< By step; complete ones leave at the front.
  uint32_t initThread = 0, initStep = 0;
  /// Arrivals of other CTAs, the last one of each component, and the phase that
  /// they count for. Those of phases that a thread of the mbarrier's CTA has
  /// waited for are over.
  struct RemoteArrival {
    Stamp stamp;
    uint64_t phase;
  };
  llvm::SmallVector<RemoteArrival, 2> remote;
  uint32_t arrivals = 0, arrivalSteps = 0; ///< ComponentKind::Arrival.
  /// Who joined `arrived` last, and whether by a release.
  const WarpState *lastWarp = nullptr;
  uint64_t lastVersion = 0;
  bool lastReleased = true, lastOfCta = false;
  /// The waits for the phase that was completed last which have returned: the
  /// last one of each warp.
  struct Wait {
    const WarpState *warp;
    const Inst *inst;
    LaneMask lanes;
    uint32_t step[warpSize]; ///< Of each lane, when it returned.
  };
  llvm::SmallVector<Wait, 0> waits;
};

/// The knowledge of the threads that arrived, for each generation of a barrier.
/// A thread may leave long after others have gone on to later generations,
/// which do not need it (barriers with counts).
struct GenerationViews {
  /// For arrivals: `g` is the newest generation.
  View &at(uint64_t g) {
    View &view = views[g];
    while (views.size() > 64)
      views.erase(views.begin());
    return view;
  }
  /// For those who leave; the oldest one that is kept stands for older ones.
  const View &leaving(uint64_t g) {
    auto it = views.lower_bound(g);
    return it == views.end() ? at(g) : it->second;
  }

private:
  std::map<uint64_t, View> views;
};

struct ThreadComponents {
  uint32_t pipe = 0, pipeSteps = 0;
  uint32_t bulkRead = 0, bulkWrite = 0, bulkGroup = 0;
  uint32_t cpAsync = 0, cpGroup = 0;
  uint32_t remoteStore = 0;
};

struct Agent {
  AgentKind kind;
  uint32_t step = 0;
  /// Of a Commit; of a BulkLoad, `executed` only.
  std::unique_ptr<View> snapshot;
};

/// What a cell stands for.
struct Place {
  Shadow &shadow;
  size_t byte; ///< In the range of the shadow.
  unsigned bytes;
  uint64_t address; ///< As reports want it.
};

/// The access that is being examined.
struct Access {
  WarpState *warp;
  unsigned lane;
  const Inst *inst;
  MemSpace space; ///< Shared, Global; Param stands for tensor memory.
  AccessKind kind;
  Proxy proxy;
  bool strong;
  Stamp stamp = {};
  bool ordered =
      false; ///< Accesses of its component are ordered among themselves.
  /// The lanes do it together, by one instruction: each of them executed what
  /// comes before in its program, so that what any of them knows counts.
  bool byWarp = false;
  uint32_t rank = 0; ///< Of the CTA whose memory it is.
  /// Earlier accesses that this one is known to be in order with. Neighbouring
  /// words mostly have the same history: the first entry is of the last write,
  /// the others are of the reads since.
  std::array<Stamp, 4> inOrder = {};
  /// Memory of the range (of generic writes, which have taken effect).
  const uint8_t *host = nullptr;
  bool inOrderedSums = false; ///< See Allocation::ordered.
  bool frees = false;         ///< tcgen05.dealloc.
  /// Tensor memory is read row by row, each for a result of its own, so that
  /// one of which nothing has been written harms no other; this is such a row.
  bool isByRow = false, ofUnusedRow = false;
  bool ofCta = false; ///< A strong access of the scope .cta.
  bool writes() const { return kind != AccessKind::Read; }
};
constexpr MemSpace tensorSpace = MemSpace::Param;
constexpr unsigned tensorLanes = 128, tensorColumns = 512;

class Engine : public ClusterChecker {
public:
  Engine(LaunchChecker &launch, Cluster &cluster);

  void access(const WarpAccess &) override;
  void fence(const FenceEvent &) override;
  void warpSync(const Warp &, const Inst &, LaneMask) override;
  void exitThreads(const Warp &, LaneMask) override;
  void launchesAwaited(const Warp &, LaneMask) override;
  void mbarrierInit(const Actor &, Cta &, const Mbarrier &) override;
  void mbarrierInval(const Actor &, Cta &, const Mbarrier &) override;
  void mbarrierArrive(const Actor &, Cta &, const Mbarrier &, const SyncOrder &,
                      uint32_t) override;
  void mbarrierExpectTx(const Actor &, Cta &, const Mbarrier &,
                        const SyncOrder &, uint32_t) override;
  void mbarrierCompleteTx(const Actor &, Cta &, const Mbarrier &,
                          const SyncOrder &, uint32_t) override;
  void mbarrierPhase(Cta &, const Mbarrier &) override;
  void mbarrierWait(const Warp &, const Inst &, LaneMask, Cta &,
                    const Mbarrier &, uint64_t, const SyncOrder &) override;
  void barrierArrive(const Warp &, const Inst &, LaneMask, Cta &, unsigned,
                     uint64_t) override;
  void barrierLeave(const Warp &, const Inst &, LaneMask, Cta &, unsigned,
                    uint64_t) override;
  void clusterArrive(const Warp &, const Inst &, LaneMask, uint64_t,
                     const SyncOrder &) override;
  void clusterWait(const Warp &, const Inst &, LaneMask, uint64_t,
                   const SyncOrder &) override;

  AgentId beginAgent(AgentKind, const Actor &) override;
  void agentAccess(AgentId, const Actor &, MemSpace, AccessKind, Proxy,
                   const AccessRange *, size_t, uint32_t) override;
  void agentTensorAccess(AgentId, const Actor &, AccessKind,
                         const TensorRange *, size_t) override;
  void agentWillComplete(AgentId, uint32_t, uint32_t) override;
  void endAgent(AgentId) override;
  void requestWork(const Actor &) override;
  void refuseWork(AgentId, uint32_t) override;
  void bulkCommit(const Warp &, const Inst &, LaneMask) override;
  void bulkWait(const Warp &, const Inst &, LaneMask, uint32_t, bool) override;
  void cpAsyncCommit(const Warp &, const Inst &, LaneMask) override;
  void cpAsyncWait(const Warp &, const Inst &, LaneMask, uint32_t) override;
  void tensorAlloc(const Warp &, const Inst &, Cta &, uint32_t,
                   uint32_t) override;
  void tensorDealloc(const Warp &, const Inst &, Cta &, uint32_t,
                     uint32_t) override;
  void tensorAccess(const Warp &, const Inst &, LaneMask, AccessKind,
                    const TensorRange *, size_t) override;
  void tensorWait(const Warp &, const Inst &, LaneMask, AccessKind) override;
  void tensorFence(const Warp &, const Inst &, LaneMask, bool) override;
  void registersRead(const Warp &, const Inst &) override;
  void undefinedRead(const Warp &, const Inst &, LaneMask, LaneMask) override;
  void wgmmaFence(const Warp &, const Inst &) override;
  void wgmmaIssue(const WgmmaEvent &) override;
  void wgmmaCommit(const Warp &, const Inst &) override;
  void wgmmaWait(const Warp &, const Inst &, uint32_t) override;
  void mmaRegistersTouched(const Warp &, const Inst &) override;
  void flush() override;
  void finish() override { flush(); }

private:
  //===--- What threads know (Engine.cpp) ---------------------------------===//
  WarpState &stateOf(const Warp &warp);
  uint32_t threadOf(const WarpState &state, unsigned lane) const {
    return state.firstThread + lane;
  }
  /// Gives the lanes' knowledge to `target`. Their next accesses count as
  /// later.
  void release(WarpState &state, LaneMask mask, View &target);
  void acquire(WarpState &state, LaneMask mask, const View &source);
  /// Raises one component in what the lanes know: f(lane, view).
  template <typename F> void update(WarpState &state, LaneMask mask, F f);
  /// Adds the lane's own knowledge to `target`. Its next accesses count as
  /// later.
  void releaseLane(WarpState &state, unsigned lane, View &target);
  /// The lane arrives without a release. `joined`: the target has what is
  /// common to the warp.
  void meet(WarpState &state, unsigned lane, View &target, bool joined);
  /// The part of it that no fence is needed for: how far the lane has come.
  void passOnExecuted(WarpState &state, unsigned lane, View &target,
                      bool joined);
  /// What lanes learn from a wait that does not acquire.
  void observe(WarpState &state, LaneMask mask, const View &source);
  View &ownView(WarpState &state, unsigned lane);
  bool knows(const WarpState &state, unsigned lane, uint32_t component,
             uint32_t step) const {
    return component == state.firstThread + lane ||
           state.common.happened.get(component) >= step ||
           (state.own[lane] &&
            state.own[lane]->happened.get(component) >= step) ||
           state.steps[lane].get(component) >= step;
  }
  /// Calls `join`, which adds to `target`, what threads of another CTA will
  /// acquire, but for the stores of the warp's CTA to other CTAs' shared
  /// memory: a release of the scope .cta does not tell them of these.
  void withoutRemoteStores(const WarpState &state, View &target,
                           llvm::function_ref<void()> join);
  /// The component of a store to the shared memory of another CTA.
  uint32_t remoteStore(WarpState &state, unsigned lane);
  View snapshot(WarpState &state, LaneMask mask);
  /// The lanes wait for each other at an instruction that orders no memory:
  /// each of them learns what the others have executed.
  void learnOfLanes(WarpState &state);
  uint32_t newComponent(ComponentKind kind, uint32_t thread,
                        uint32_t mbarrier = 0);
  Agent makeAgent(AgentKind kind, const Actor &issuer);
  std::unique_ptr<View> viewOfCommit(const Actor &issuer, WarpState &warp,
                                     ThreadComponents &own);
  std::unique_ptr<View> viewOfLoad(const Actor &issuer, WarpState &warp);
  /// Remembers where a component's step was issued.
  void noteIssue(uint32_t component, uint32_t step, uint32_t thread,
                 uint32_t threadStep);
  ThreadComponents &threadComponents(const Actor &actor) {
    return threads[stateOf(*actor.warp).firstThread + actor.lane];
  }
  BarrierState &barrierOf(Cta &cta, const Mbarrier &barrier) {
    return barrierAt(cta.rank << sharedRankShift | barrier.offset);
  }
  BarrierState &barrierAt(uint32_t address);
  void checkInit(const Actor &, Cta &, const Mbarrier &);
  /// An arrival, expect_tx or complete_tx of another CTA: this one must not
  /// have exited, nor may it exit before it knows.
  void noteRemoteArrival(const Actor &, Cta &, const Mbarrier &);
  /// Reports a wait for the phase before the one that is complete now, if the
  /// arrivals could all have come before it returned.
  void checkOvertaking(Cta &, const Mbarrier &, BarrierState &);

  //===--- Accesses (EngineAccess.cpp) ------------------------------------===//
  uint32_t siteOf(const Warp &warp, const Inst &inst, AccessKind kind,
                  Proxy proxy, bool strong, bool ofCta = false);
  uint32_t full(uint32_t component) const { return clusterBits | component; }
  bool isOrdered(const Access &access, const Stamp &earlier) const {
    uint32_t component = earlier.component & 0xFFFF;
    if (earlier.component == access.stamp.component && access.ordered)
      return true;
    if ((earlier.component ^ clusterBits) >> 16)
      return isOtherOrdered(earlier);
    return knows(*access.warp, access.lane, component, earlier.step) ||
           (access.space == tensorSpace &&
            hasMet(access, component, earlier.step));
  }
  /// The same of an earlier access of another cluster.
  bool isOtherOrdered(const Stamp &earlier) const;
  /// True if any lane of the access's warp knows the earlier one.
  bool warpKnows(const Access &access, const Stamp &earlier) const;
  /// Whether the access knows that the earlier one was executed, though not
  /// that it happened before.
  bool hasExecuted(const Access &access, const Stamp &earlier) const;
  /// True if the thread has met, by relaxed arrivals and waits, one that knew
  /// the earlier access.
  bool hasMet(const Access &access, uint32_t component, uint32_t step) const;
  /// Whether two strong accesses are of different CTAs, and the scope of one of
  /// them is .cta.
  bool isScopeNarrow(const Access &access, const SiteInfo &earlier) const;
  bool isAsyncVisible(const Access &access, const Stamp &earlier) const;
  bool isTensorFenced(const Access &access, const Stamp &earlier) const;
  void accessOther(Access &access, uint32_t address);
  void sharedRange(Access &access, uint32_t address, uint32_t bytes);
  /// The shadow that consecutive ranges of global memory are in, locked.
  struct OpenShadow {
    const Allocation *allocation = nullptr;
    Shadow *shadow = nullptr;
    std::unique_lock<std::mutex> lock;
  };
  void openShadow(OpenShadow &open, uint64_t address);
  void openOtherShadow(OpenShadow &open, uint64_t address);
  void globalRange(Access &access, uint64_t address, uint64_t bytes,
                   OpenShadow &open);
  void tensorRange(Access &access, const TensorRange &range);
  bool isAnyWritten(const TensorRange *ranges, size_t count);
  /// Reports an access of a programmatic launch that may come before the end of
  /// the launches in front of it.
  void checkLaunchesAwaited(const Access &access, uint64_t address);
  /// How an access and an earlier one of the same place are ordered.
  enum class Order : uint8_t {
    InOrder,
    UnorderedReduction,
    Unordered,
    NoProxyFence,
    NoTensorFence
  };
  Order orderOf(const Access &access, const Stamp &earlier);
  /// Turns to another lane of the warp that does the access.
  void turnToLane(Access &access, unsigned lane);

  //===--- Cells (EngineCells.cpp) ----------------------------------------===//
  /// Compares the access with those before it, and records it.
  void cells(Access &access, Shadow &shadow, size_t byte, size_t bytes,
             uint64_t base);
  /// The same of a read, if there is nothing to report, and there are cells for
  /// the words or bytes that it covers. Otherwise returns false; some of it may
  /// have been recorded then.
  bool readQuietly(Access &access, Shadow &shadow, size_t byte, size_t bytes);
  /// The same for lanes that read the same words.
  bool readTogether(Access &access, Shadow &shadow, size_t byte, size_t bytes,
                    LaneMask mask);
  bool readsInOnePlace(Access &access, const WarpAccess &event,
                       OpenShadow &open);
  bool readCells(Access &access, Shadow &shadow, Cell *cells, size_t count);
  void words(Access &access, Shadow &shadow, Cell *words, size_t byte,
             size_t end, uint64_t base);
  void cell(Access &access, Cell &cell, const Place &place);
  /// Whether nothing about the access is to be reported, whichever part of the
  /// cell's place it is.
  bool isQuiet(Access &access, Shadow &shadow, const Cell &cell);
  bool isQuietAfter(Access &access, const Stamp &earlier, unsigned slot) {
    if (earlier == access.inOrder[slot])
      return true;
    if (orderOf(access, earlier) != Order::InOrder)
      return false;
    access.inOrder[slot] = earlier;
    return true;
  }
  bool readsUnwritten(const Access &access) const {
    return (access.kind == AccessKind::Read ||
            access.kind == AccessKind::Atomic) &&
           access.space != MemSpace::Global && launch.options.uninitialised;
  }
  /// Compares the access with an earlier one, unless `inOrder[slot]` has it.
  /// `written` is its cell where `earlier` is the last write.
  void against(Access &access, const Stamp &earlier, unsigned slot,
               const Place &place, Cell *written = nullptr) {
    if (!(earlier == access.inOrder[slot]) &&
        isInOrder(access, earlier, place, written))
      access.inOrder[slot] = earlier;
  }
  void addRead(Access &access, Shadow &shadow, Cell &cell);
  void addFurtherRead(Access &access, Shadow &shadow, Stamp &read);
  /// Reports a race of the access with `earlier` unless something orders them.
  bool isInOrder(const Access &access, const Stamp &earlier, const Place &place,
                 Cell *written);
  bool storesSame(const Access &access, const Stamp &last, const Place &place);
  const char *findMissingProxyFence(const Access &access, const Stamp &earlier,
                                    const SiteInfo &site);
  const SiteInfo &siteInfo(uint32_t id);
  void complain(const Access &access, llvm::StringRef kind,
                llvm::StringRef message, const Stamp *earlier, uint64_t address,
                Severity severity = Severity::Error);
  /// Notes a finding; false if it is known.
  bool isNew(const Access &access, llvm::StringRef kind, const Stamp *earlier);
  ReportSite siteOf(const Access &access, uint64_t address);
  bool isIssueKnown(const Access &access, const Stamp &earlier,
                    const ComponentInfo &info);
  bool hasWaited(const Stamp &earlier, const ComponentInfo &info) const;
  bool isRelaxedClusterBarrierBetween(const Access &access,
                                      const Stamp &earlier,
                                      const ComponentInfo &info) const;
  bool isOfOwnShared(const Access &access, const Stamp &earlier,
                     const SiteInfo &site) const;
  /// Whether a race is one of those that hardware tolerates; may refine the
  /// kind and the message.
  Severity severityOf(const Access &access, const Stamp &earlier,
                      const SiteInfo &site, std::string &kind,
                      std::string &message);
  std::string missing(const Access &access, const Stamp &earlier,
                      std::string &kind);
  std::string describe(const Access &access, AccessKind kind, uint64_t address);
  class ExitCheck;
  void checkExit(const Actor &actor, Cta &cta);
  /// Reports an access to shared memory of a CTA that has exited.
  void complainOfExited(const Actor &actor, uint32_t rank, uint32_t site,
                        const llvm::Twine &what);
  ReportSite earlierSite(uint32_t site, const llvm::Twine &what);
  class LocationOrder;
  void synchroniseThroughMemory(const WarpAccess &, WarpState &);
  /// Adds what an acquire has brought of another cluster, by its number.
  /// Knowledge about other clusters is kept for the cluster as a whole.
  void learnOfCluster(uint32_t other, const View &view);

  //===--- wgmma (EngineWgmma.cpp) ----------------------------------------===//
  uint32_t warpgroupComponent(const Warp &warp);
  void noteProduct(WarpState &state, uint32_t number);
  void learnOfMembers(WarpState &state);
  void readSharedOperands(const WgmmaEvent &event, WarpState &state);
  void checkAccumulator(const WgmmaEvent &event, WgmmaWarp &own,
                        WgmmaWarp::Register &reg);
  void complainOfRegister(const Warp &warp, const Inst &inst,
                          llvm::StringRef kind, const llvm::Twine &message,
                          const Inst *earlier, llvm::StringRef what);
  llvm::DenseMap<uint32_t, uint32_t> warpgroups; ///< Components, by thread.

  //===--- Reads of what nobody has written (EngineUnwritten.cpp)
  //----------===//
  struct UnwrittenRead {
    Report report;
    Stamp stamp;
    MemSpace space;
    uint32_t rank;
    uint64_t place; ///< Address of the word, or cell of tensor memory.
    bool isLoad;    ///< Into registers, of which undefinedRead tells.
  };
  void readUnwritten(const Access &access, uint64_t address);
  /// The same in global memory whose contents are not defined where no launch
  /// has written them: finds what is read there, and notes what is written.
  void noteUndefined(const Access &access, const Allocation &memory,
                     uint64_t offset, uint64_t bytes);
  /// `access` writes: is it what an unwritten read should have waited for?
  void writeAfterRead(const Access &access, uint64_t address);
  std::vector<UnwrittenRead> unwritten; ///< Whose writers may come yet.
  void markUndefined(const Access &access, uint64_t address);
  void markRegister(WarpState &state, const Operand &op, unsigned lane,
                    uint32_t site);
  void noteStored(const Warp &warp, const Inst &inst, LaneMask executing);
  void followUndefined(const WarpAccess &event, WarpState &state);
  void loadUndefined(const WarpAccess &event, WarpState &state);
  /// The same of what is no instruction of a thread on registers.
  void followUndefined(const Access &access, uint32_t address, uint32_t bytes);
  void reportUse(const Warp &warp, const Inst &inst, LaneMask lanes,
                 uint32_t site);
  /// The loads by which undefined values came, by their sites: where somebody
  /// uses one it is a finding.
  llvm::DenseMap<uint32_t, ReportSite> undefinedLoads;
  /// Words of shared memory, by rank and offset, with such a value, and its
  /// site.
  llvm::DenseMap<uint32_t, uint32_t> undefinedWords;

  LaunchChecker &launch;
  Cluster &cluster;
  uint32_t clusterBits;
  std::vector<WarpState> warps;
  std::vector<ComponentInfo> components;
  llvm::DenseMap<uint32_t, ThreadComponents> threads;
  /// ComponentKind::RemoteStore of the threads of each CTA.
  std::vector<llvm::SmallVector<uint32_t, 0>> remoteStores;
  std::map<uint32_t, BarrierState> barriers;
  struct NamedState : GenerationViews {
    uint64_t current = ~0ull;
    llvm::DenseMap<uint32_t, LaneMask> arrived; ///< By warp, this generation.
  };
  std::vector<std::array<NamedState, 16>> named; // by CTA
  GenerationViews clusterBarrier;
  /// Steps of threads at their relaxed arrivals at the cluster barrier, by
  /// generation and thread: for messages.
  std::map<uint64_t, llvm::DenseMap<uint32_t, uint32_t>> relaxedArrivals;
  std::vector<View> exits; ///< What the exited threads of each CTA know.
  std::vector<Agent> agents;
  std::vector<AgentId> freeAgents;
  /// The responses that there is no work left: a barrier's component, and its
  /// step.
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 2> refusals;
  std::vector<std::unique_ptr<Shadow>> shared, tensor; // by CTA
  llvm::DenseMap<uint32_t, View> locations;            // shared addresses
  /// The knowledge about other clusters that this cluster has through global
  /// memory.
  llvm::DenseMap<uint32_t, std::unique_ptr<View>> foreign;
  /// Of global memory, by allocation, as far as they have been asked for.
  std::vector<Shadow *> globalShadows;
  llvm::DenseMap<uint64_t, uint32_t> siteCache;
  std::vector<const SiteInfo *> knownSites; ///< By id.
  llvm::DenseSet<uint64_t> reported;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_CHECK_ENGINE_H
