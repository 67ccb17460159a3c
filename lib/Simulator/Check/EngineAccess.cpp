//===- EngineAccess.cpp - accesses against the last ones -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Order of two accesses
//===----------------------------------------------------------------------===//

bool Engine::isOtherOrdered(const Stamp &earlier) const {
  auto it = foreign.find(earlier.component >> 16);
  return it != foreign.end() &&
         it->second->happened.get(earlier.component & 0xFFFF) >= earlier.step;
}

bool Engine::hasMet(const Access &access, uint32_t component,
                    uint32_t step) const {
  const WarpState &state = *access.warp;
  const View *own = state.own[access.lane].get();
  return state.common.met.get(component) >= step ||
         (own && own->met.get(component) >= step);
}

bool Engine::hasExecuted(const Access &access, const Stamp &earlier) const {
  uint32_t component = earlier.component & 0xFFFF;
  const WarpState &state = *access.warp;
  const View *own = state.own[access.lane].get();
  return state.common.executed.get(component) >= earlier.step ||
         (own && own->executed.get(component) >= earlier.step);
}

bool Engine::warpKnows(const Access &access, const Stamp &earlier) const {
  uint32_t component = earlier.component & 0xFFFF;
  if ((earlier.component ^ clusterBits) >> 16)
    return false;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    if (knows(*access.warp, lane, component, earlier.step))
      return true;
  return false;
}

bool Engine::isAsyncVisible(const Access &access, const Stamp &earlier) const {
  bool global = access.space == MemSpace::Global;
  uint32_t component = earlier.component & 0xFFFF;
  auto has = [&](const View &view) {
    return (global ? view.asyncGlobal : view.asyncShared).get(component) >=
           earlier.step;
  };
  if ((earlier.component ^ clusterBits) >> 16) {
    auto it = foreign.find(earlier.component >> 16);
    return it != foreign.end() && has(*it->second);
  }
  const WarpState &state = *access.warp;
  auto laneHas = [&](unsigned lane) {
    if (component == state.firstThread + lane)
      return (global ? state.fencedGlobal : state.fencedShared)[lane] >=
             earlier.step;
    return state.own[lane] && has(*state.own[lane]);
  };
  if (laneHas(access.lane))
    return true;
  if (!access.byWarp)
    return component != state.firstThread + access.lane && has(state.common);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    if (laneHas(lane))
      return true;
  return has(state.common);
}

bool Engine::isTensorFenced(const Access &access, const Stamp &earlier) const {
  uint32_t component = earlier.component & 0xFFFF;
  const ComponentInfo &info = components[component];
  const WarpState &state = *access.warp;
  uint32_t first = state.firstThread;
  if (info.thread >= first && info.thread < first + warpSize)
    return true; // The same warp: waits suffice.
  return state.common.tensorKnown.get(component) >= earlier.step ||
         (state.own[access.lane] &&
          state.own[access.lane]->tensorKnown.get(component) >= earlier.step);
}

/// The sites of the launch are behind a lock, which all clusters share.
const SiteInfo &Engine::siteInfo(uint32_t id) {
  if (id >= knownSites.size())
    knownSites.resize(id + 1);
  if (!knownSites[id])
    knownSites[id] = &launch.siteInfo(id);
  return *knownSites[id];
}

/// Says where a fence between the proxies is missing for accesses that are
/// ordered otherwise; null if there is one, or if they need none.
const char *Engine::findMissingProxyFence(const Access &access,
                                          const Stamp &earlier,
                                          const SiteInfo &site) {
  if (site.proxy != Proxy::Generic || access.proxy != Proxy::Async)
    return nullptr;
  bool wrote = site.kind != AccessKind::Read;
  if (access.space != tensorSpace && wrote && !isAsyncVisible(access, earlier))
    return "the earlier write is in the generic proxy, this access in the "
           "async proxy: fence.proxy.async is missing between them (after the "
           "write, before the barrier)";
  // A buffer that generic reads give back to the async proxy needs no fence.
  // The response of a try_cancel is the exception: the manual's example and all
  // published kernels have one, for which ptxas generates code.
  if (!wrote && access.kind == AccessKind::Write &&
      access.inst->opcode.starts_with("clusterlaunchcontrol.") &&
      !isAsyncVisible(access, earlier))
    return "the earlier read is in the generic proxy, and the next response is "
           "written in the async proxy: fence.proxy.async is missing between "
           "them (after the read, before the barrier)";
  return nullptr;
}

bool Engine::isScopeNarrow(const Access &access,
                           const SiteInfo &earlier) const {
  return (access.ofCta || earlier.ofCta) &&
         !std::equal(std::begin(earlier.ctaId), std::end(earlier.ctaId),
                     access.warp->warp->cta->id);
}

Engine::Order Engine::orderOf(const Access &access, const Stamp &earlier) {
  // What proxies and fences may still lack, generic accesses do not.
  if (access.proxy == Proxy::Generic && access.space != tensorSpace &&
      isOrdered(access, earlier))
    return Order::InOrder;
  const SiteInfo &site = siteInfo(earlier.site);
  bool isNarrow = isScopeNarrow(access, site);
  bool atomics = site.strong && access.strong && !isNarrow;
  bool reductions = site.kind == AccessKind::Reduction &&
                    access.kind == AccessKind::Reduction && !isNarrow;
  if (reductions && access.inOrderedSums && !isOrdered(access, earlier))
    return Order::UnorderedReduction;
  // The two warps of a pair free columns together.
  bool frees = access.frees && site.inst->opcode.starts_with("tcgen05.dealloc");
  if (atomics || reductions || frees)
    return Order::InOrder;
  if (!isOrdered(access, earlier) &&
      !(access.byWarp && warpKnows(access, earlier)))
    return Order::Unordered;
  if (findMissingProxyFence(access, earlier, site))
    return Order::NoProxyFence;
  if (access.space == tensorSpace && launch.tensorFences &&
      !isTensorFenced(access, earlier))
    return Order::NoTensorFence;
  return Order::InOrder;
}

/// Whether a generic write stores what the last write of the place has stored.
bool Engine::storesSame(const Access &access, const Stamp &last,
                        const Place &place) {
  const SiteInfo &site = siteInfo(last.site);
  return site.kind == AccessKind::Write && site.proxy == Proxy::Generic &&
         place.shadow.hasStored(place.byte, place.bytes,
                                access.host + place.byte);
}

bool Engine::isInOrder(const Access &access, const Stamp &earlier,
                       const Place &place, Cell *written) {
  if (written && access.host && !isOrdered(access, earlier) &&
      storesSame(access, earlier, place))
    return false;
  Order order = orderOf(access, earlier);
  if (order == Order::InOrder)
    return true;
  const SiteInfo &site = siteInfo(earlier.site);
  switch (order) {
  case Order::InOrder:
    break;
  case Order::UnorderedReduction:
    complain(access, "unordered-reduction",
             "the sum depends on which of the two comes first, as nothing "
             "orders them, but the manifest says that sums in this tensor are "
             "made in one order: a wait for the turn, or a release behind the "
             "end of the earlier reduction, is missing",
             &earlier, place.address);
    break;
  case Order::Unordered: {
    std::string kind = "race";
    std::string message =
        isScopeNarrow(access, site) && site.strong && access.strong
            ? "the scope .cta orders and joins accesses of one CTA's threads, "
              "and these are of two: a wider scope is missing"
            : missing(access, earlier, kind);
    Severity severity = severityOf(access, earlier, site, kind, message);
    complain(access, kind, message, &earlier, place.address, severity);
    // Behind the port, the store is complete when the load is.
    if (severity == Severity::Strict && written &&
        access.space == tensorSpace && !access.writes()) {
      written->write.component = access.stamp.component;
      written->write.step = access.stamp.step;
    }
    break;
  }
  case Order::NoProxyFence: {
    // CUTLASS's decoding kernels hand the results of cp.async to tcgen05.mma
    // so, and work.
    bool isCpAsync = site.inst->opcode.starts_with("cp.async.") &&
                     !site.inst->opcode.starts_with("cp.async.bulk.");
    complain(access, "missing-proxy-fence",
             findMissingProxyFence(access, earlier, site), &earlier,
             place.address, isCpAsync ? Severity::Strict : Severity::Error);
    break;
  }
  case Order::NoTensorFence:
    complain(access, "missing-tensor-fence",
             "the accesses are ordered, but not their tcgen05 operations: "
             "tcgen05.fence::before_thread_sync before the barrier, or "
             "tcgen05.fence::after_thread_sync behind it, is missing",
             &earlier, place.address, Severity::Strict);
    break;
  }
  return false;
}

/// Of what is known to be in order, what another lane knows as well remains.
void Engine::turnToLane(Access &access, unsigned lane) {
  if (llvm::all_of(access.inOrder,
                   [](const Stamp &stamp) { return !stamp.component; })) {
    access.lane = lane;
    return;
  }
  const WarpState &state = *access.warp;
  bool knowsSame = state.own[lane] == state.own[access.lane] &&
                   state.steps[lane] == state.steps[access.lane];
  access.lane = lane;
  // What a lane has done itself is in order for it alone.
  uint32_t first = full(state.firstThread);
  for (Stamp &stamp : access.inOrder)
    if (!knowsSame || stamp.component - first < warpSize)
      stamp = {};
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

void Engine::sharedRange(Access &access, uint32_t address, uint32_t bytes) {
  uint32_t rank = address >> sharedRankShift;
  uint32_t offset = address & sharedOffsetMask;
  if (rank >= cluster.ctas.size() ||
      offset + bytes > cluster.ctas[rank].shared.size())
    return; // Reported by the machine.
  auto &shadow = shared[rank];
  if (!shadow)
    shadow =
        std::make_unique<Shadow>((cluster.ctas[rank].shared.size() + 3) / 4);
  access.rank = rank;
  if (cluster.ctas[rank].liveThreads == 0)
    return complainOfExited({access.inst, const_cast<Warp *>(access.warp->warp),
                             int(access.lane), noAgent},
                            rank, access.stamp.site,
                            describe(access, access.kind, address));
  if (access.kind == AccessKind::Write && access.proxy == Proxy::Generic)
    access.host = cluster.ctas[rank].shared.data();
  if (access.writes() || !readQuietly(access, *shadow, offset, bytes))
    cells(access, *shadow, offset, bytes, 0);
}

void Engine::checkLaunchesAwaited(const Access &access, uint64_t address) {
  if (!launch.info.programmatic ||
      isOrdered(access, {full(earlierLaunches), 1, 0}))
    return;
  complain(access, "launch-not-awaited",
           "the manifest says that this launch may begin before the one in "
           "front of it has ended (programmatic), whose writes may be missing "
           "and whose reads may be to come: griddepcontrol.wait is missing "
           "before the access, in this thread or before what it waits for",
           nullptr, address);
}

inline void Engine::openShadow(OpenShadow &open, uint64_t address) {
  if (!open.allocation ||
      address - open.allocation->address >= open.allocation->bytes)
    openOtherShadow(open, address);
}

void Engine::openOtherShadow(OpenShadow &open, uint64_t address) {
  open = {};
  open.allocation = launch.memory.find(address);
  if (!open.allocation)
    return;
  uint32_t index = open.allocation->index;
  if (index >= globalShadows.size())
    globalShadows.resize(index + 1);
  if (!globalShadows[index])
    globalShadows[index] = launch.shadowOf(*open.allocation);
  open.shadow = globalShadows[index];
  if (open.shadow)
    open.lock = std::unique_lock<std::mutex>(open.shadow->mutex);
}

void Engine::globalRange(Access &access, uint64_t address, uint64_t bytes,
                         OpenShadow &open) {
  openShadow(open, address);
  const Allocation *allocation = open.allocation;
  if (!open.shadow || address + bytes > allocation->address + allocation->bytes)
    return;
  checkLaunchesAwaited(access, address);
  if (access.kind == AccessKind::Write && access.proxy == Proxy::Generic)
    access.host = allocation->data;
  access.inOrderedSums = allocation->ordered;
  size_t offset = address - allocation->address;
  if (!allocation->initialised)
    noteUndefined(access, *allocation, offset, bytes);
  if (access.writes() || !readQuietly(access, *open.shadow, offset, bytes))
    cells(access, *open.shadow, offset, bytes, allocation->address);
}

void Engine::tensorRange(Access &access, const TensorRange &range) {
  auto &shadow = tensor[range.cta];
  if (!shadow)
    shadow = std::make_unique<Shadow>(tensorLanes * tensorColumns);
  access.rank = range.cta;
  unsigned lanes = std::min<unsigned>(tensorLanes, range.lane + range.lanes);
  unsigned end =
      std::min<unsigned>(tensorColumns, range.column + range.columns);
  if (range.column >= end)
    return;
  unsigned columns = end - range.column;
  for (unsigned lane = range.lane; lane < lanes; ++lane) {
    size_t word = lane * tensorColumns + range.column;
    access.ofUnusedRow = access.isByRow && shadow->isUnwritten(word, columns);
    cells(access, *shadow, word * Shadow::wordBytes,
          columns * Shadow::wordBytes, 0);
  }
}

bool Engine::isAnyWritten(const TensorRange *ranges, size_t count) {
  for (const TensorRange &range : llvm::ArrayRef(ranges, count)) {
    Shadow *shadow = tensor[range.cta].get();
    unsigned lanes = std::min<unsigned>(tensorLanes, range.lane + range.lanes);
    unsigned end =
        std::min<unsigned>(tensorColumns, range.column + range.columns);
    if (!shadow || range.column >= end)
      continue;
    for (unsigned lane = range.lane; lane < lanes; ++lane)
      for (unsigned column = range.column; column < end; ++column)
        if (!shadow->isUnwritten(lane * tensorColumns + column, 1))
          return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Accesses of threads
//===----------------------------------------------------------------------===//

uint32_t Engine::siteOf(const Warp &warp, const Inst &inst, AccessKind kind,
                        Proxy proxy, bool strong, bool ofCta) {
  uint64_t key = uint64_t(cluster.grid.program->pcOf(inst)) << 32 |
                 uint64_t(warp.cta->rank) << 16 | uint64_t(warp.index) << 8 |
                 uint64_t(kind) << 4 | uint64_t(proxy) << 1 | strong;
  uint32_t &id = siteCache[key];
  if (!id) {
    SiteInfo site;
    site.inst = &inst;
    std::copy(std::begin(warp.cta->id), std::end(warp.cta->id), site.ctaId);
    site.warp = warp.index;
    site.kind = kind;
    site.proxy = proxy;
    site.strong = strong;
    site.ofCta = ofCta;
    id = launch.addSite(site);
  }
  return id;
}

/// An access to the shared memory of another CTA, which must have started, or
/// that memory may still be somebody else's.
void Engine::accessOther(Access &access, uint32_t address) {
  WarpState &state = *access.warp;
  uint32_t rank = address >> sharedRankShift;
  if (rank >= cluster.ctas.size())
    return; // Reported by the machine.
  if (access.kind == AccessKind::Write)
    access.stamp.component = remoteStore(state, access.lane);
  if (state.started >> rank & 1)
    return;
  uint32_t first = warps[rank * cluster.ctas[rank].warps.size()].firstThread;
  uint32_t end = first + cluster.ctas[rank].warps.size() * warpSize;
  const View *own = state.own[access.lane].get();
  for (uint32_t thread = first; thread < end; ++thread)
    for (const View *view : {&std::as_const(state.common), own})
      if (view && (view->happened.get(thread) || view->met.get(thread) ||
                   view->executed.get(thread))) {
        state.started |= 1u << rank;
        return;
      }
  complain(access, "race",
           formatv("nothing orders the access behind the start of the CTA of "
                   "rank {0}, whose shared memory it concerns: a cluster "
                   "barrier, or another wait for that CTA, is missing before "
                   "it",
                   rank)
               .str(),
           nullptr, address & sharedOffsetMask);
}

/// Records a read of all lanes from one address, if that is what it is and
/// there is nothing to report.
bool Engine::readsInOnePlace(Access &access, const WarpAccess &event,
                             OpenShadow &open) {
  uint64_t address = event.addresses[__builtin_ctz(event.mask)];
  bool isOne = event.kind == AccessKind::Read;
  for (unsigned l = 0; l < warpSize; ++l)
    isOne &= !(event.mask >> l & 1) || event.addresses[l] == address;
  if (!isOne)
    return false;
  if (event.space == MemSpace::Global) {
    openShadow(open, address);
    return open.shadow && !launch.info.programmatic &&
           address + event.bytes <=
               open.allocation->address + open.allocation->bytes &&
           readTogether(access, *open.shadow,
                        address - open.allocation->address, event.bytes,
                        event.mask);
  }
  uint32_t rank = event.warp->cta->rank;
  Shadow *shadow = shared[rank].get();
  size_t offset = address & sharedOffsetMask;
  access.rank = rank;
  return address >> sharedRankShift == rank && shadow &&
         offset + event.bytes <= cluster.ctas[rank].shared.size() &&
         readTogether(access, *shadow, offset, event.bytes, event.mask);
}

void Engine::access(const WarpAccess &event) {
  if (event.space != MemSpace::Shared && event.space != MemSpace::Global)
    return;
  WarpState &state = stateOf(*event.warp);
  bool strong = event.order.semantics != Semantics::Weak ||
                event.kind == AccessKind::Atomic ||
                event.kind == AccessKind::Reduction;
  Access access{&state,         0,     event.inst, event.space, event.kind,
                Proxy::Generic, strong};
  access.ordered = true;
  access.ofCta = strong && event.order.semantics != Semantics::Weak &&
                 event.order.scope == Scope::Cta;
  access.stamp.site = siteOf(*event.warp, *event.inst, event.kind,
                             Proxy::Generic, strong, access.ofCta);
  OpenShadow open;
  access.lane = __builtin_ctz(event.mask);
  bool isDone = readsInOnePlace(access, event, open);
  forEachLane(isDone ? 0 : event.mask, [&](unsigned l) {
    turnToLane(access, l);
    access.stamp.component = full(threadOf(state, l));
    access.stamp.step = state.step[l];
    if (event.space == MemSpace::Shared &&
        event.addresses[l] >> sharedRankShift != event.warp->cta->rank)
      accessOther(access, event.addresses[l]);
    if (event.space == MemSpace::Shared)
      sharedRange(access, event.addresses[l], event.bytes);
    else
      globalRange(access, event.addresses[l], event.bytes, open);
  });
  open = {};
  if (event.space == MemSpace::Shared)
    followUndefined(event, state);
  if (strong)
    synchroniseThroughMemory(event, state);
}

void Engine::learnOfCluster(uint32_t other, const View &view) {
  auto &known = foreign[other];
  if (!known)
    known = std::make_unique<View>();
  known->join(view);
}

/// Release and acquire patterns on the locations that the lanes of a warp
/// access: an access that writes publishes what its lane knows, and one that
/// reads observes what others have published there.
class Engine::LocationOrder {
public:
  LocationOrder(Engine &engine, const WarpAccess &event, WarpState &state)
      : engine(engine), event(event), state(state),
        writes(event.kind != AccessKind::Read),
        reads(event.kind != AccessKind::Write &&
              event.kind != AccessKind::Reduction) {
    Semantics s = event.order.semantics;
    bool isBoth = s == Semantics::AcqRel || s == Semantics::Sc;
    releases = isBoth || s == Semantics::Release;
    acquires = isBoth || s == Semantics::Acquire;
  }

  void synchroniseShared(unsigned lane) {
    uint32_t address = event.addresses[lane];
    if (reads) {
      auto it = engine.locations.find(address);
      if (it != engine.locations.end())
        observe(lane, View(it->second));
    }
    if (!hasKnowledge(lane))
      return;
    if (address >> sharedRankShift == state.warp->cta->rank)
      publish(lane, engine.locations[address]);
    else
      publishToOther(lane, engine.locations[address]);
  }

  void synchroniseGlobal(unsigned lane) {
    uint32_t cluster = engine.clusterBits >> 16;
    uint64_t address = event.addresses[lane];
    std::lock_guard<std::mutex> lock(engine.launch.locationMutex);
    auto &locations = engine.launch.locations;
    bool isNarrow = (acquires || releases) && event.order.scope < Scope::Gpu;
    if (auto it = locations.find(address); reads && it != locations.end()) {
      if (auto own = it->second.inside.find(cluster);
          own != it->second.inside.end())
        observe(lane, own->second);
      for (const auto &[from, view] : it->second.published)
        if (from == cluster)
          observe(lane, view);
        else if (!acquires)
          state.observedOfClusters[from].join(view);
        else if (!isNarrow)
          engine.learnOfCluster(from, view);
    }
    if (!hasKnowledge(lane))
      return;
    if (releases && isNarrow)
      return publish(lane, locations[address].inside[cluster]);
    auto &published = locations[address].published;
    publish(lane, published[cluster]);
    // The other cluster's knowledge of third clusters is passed on, too.
    for (const auto &[from, view] : engine.foreign)
      published[from].join(*view);
  }

private:
  /// Whether the access writes by a release, or behind a fence.
  bool hasKnowledge(unsigned lane) const {
    return writes && (releases || state.fenced[lane]);
  }
  void publish(unsigned lane, View &view) {
    if (releases)
      engine.release(state, 1u << lane, view);
    else
      view.join(*state.fenced[lane]);
  }
  /// The same at a place in the shared memory of another CTA.
  void publishToOther(unsigned lane, View &view) {
    bool ofCta = releases ? event.order.scope == Scope::Cta
                          : state.fencedForCta >> lane & 1;
    if (!ofCta)
      return publish(lane, view);
    engine.withoutRemoteStores(state, view, [&] { publish(lane, view); });
  }
  /// What a relaxed read observes counts from the lane's next fence on.
  void observe(unsigned lane, const View &view) {
    if (acquires)
      return engine.acquire(state, 1u << lane, view);
    if (!state.observed)
      state.observed = std::make_shared<View>();
    state.observed->join(view);
  }

  Engine &engine;
  const WarpAccess &event;
  WarpState &state;
  bool writes, reads, releases, acquires;
};

void Engine::synchroniseThroughMemory(const WarpAccess &event,
                                      WarpState &state) {
  LocationOrder order(*this, event, state);
  forEachLane(event.mask, [&](unsigned lane) {
    if (event.space == MemSpace::Shared)
      order.synchroniseShared(lane);
    else
      order.synchroniseGlobal(lane);
  });
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string Engine::describe(const Access &access, AccessKind kind,
                             uint64_t address) {
  const char *verb = kind == AccessKind::Read        ? "read"
                     : kind == AccessKind::Write     ? "write"
                     : kind == AccessKind::Reduction ? "reduction"
                                                     : "read and write";
  if (access.space == tensorSpace)
    return formatv("{0} of tensor memory, CTA rank {1}, lane {2}, column {3}",
                   verb, access.rank, address >> 16, address & 0xFFFF);
  if (access.space == MemSpace::Shared)
    return formatv("{0} of shared {1:x}, CTA rank {2}", verb, address,
                   access.rank);
  return formatv("{0} of global {1}", verb, launch.memory.describe(address));
}

/// Whether the access knows that the earlier operation was issued, though it
/// does not know that the operation is complete.
bool Engine::isIssueKnown(const Access &access, const Stamp &earlier,
                          const ComponentInfo &info) {
  if (earlier.step >= info.issues.size() || !info.issues[earlier.step].first)
    return false;
  auto [thread, step] = info.issues[earlier.step];
  return knows(*access.warp, access.lane, thread, step) ||
         (access.space == tensorSpace && hasMet(access, thread, step));
}

/// Whether the thread that issued the earlier operation has waited for it
/// itself.
bool Engine::hasWaited(const Stamp &earlier, const ComponentInfo &info) const {
  if (!info.thread)
    return false;
  uint32_t component = earlier.component & 0xFFFF;
  const WarpState &issuer = warps[(info.thread - 1) / warpSize];
  return issuer.steps[(info.thread - 1) % warpSize].get(component) >=
         earlier.step;
}

/// Whether a cluster barrier between the two accesses would order them, had its
/// arrival not been relaxed.
bool Engine::isRelaxedClusterBarrierBetween(const Access &access,
                                            const Stamp &earlier,
                                            const ComponentInfo &info) const {
  uint32_t thread = info.thread, step = earlier.step;
  if (info.kind != ComponentKind::Thread) {
    bool isOwnWait = info.kind != ComponentKind::RemoteStore;
    if ((isOwnWait && !hasWaited(earlier, info)) ||
        (isOwnWait && earlier.step >= info.issues.size()))
      return false;
    if (isOwnWait)
      std::tie(thread, step) = info.issues[earlier.step];
  }
  for (const auto &[generation, arrivals] : relaxedArrivals)
    if (generation < access.warp->clusterGenerations &&
        arrivals.lookup(thread) >= step)
      return thread != 0;
  return false;
}

/// A tcgen05.ld or .st of a warp, which goes through the port of its lanes.
static bool isOfTensorPort(const Inst &inst) {
  return inst.opcode.starts_with("tcgen05.ld") ||
         inst.opcode.starts_with("tcgen05.st");
}

/// Whether the earlier access was a thread's, in the generic proxy, to the
/// shared memory of its own CTA.
bool Engine::isOfOwnShared(const Access &access, const Stamp &earlier,
                           const SiteInfo &site) const {
  if (access.space != MemSpace::Shared || site.proxy != Proxy::Generic ||
      (earlier.component ^ clusterBits) >> 16)
    return false;
  const ComponentInfo &info = components[earlier.component & 0xFFFF];
  return info.kind == ComponentKind::Thread &&
         warps[(info.thread - 1) / warpSize].warp->cta->rank == access.rank;
}

Severity Engine::severityOf(const Access &access, const Stamp &earlier,
                            const SiteInfo &site, std::string &kind,
                            std::string &message) {
  // All warps that reach a lane of tensor memory do so through one port, which
  // performs what they issue in order.
  if (kind == "missing-tensor-wait" && isOfTensorPort(*access.inst) &&
      isOfTensorPort(*site.inst))
    return Severity::Strict;
  bool isGuess = access.kind == AccessKind::Read
                     ? launch.guesses.contains(access.inst) && site.strong
                     : launch.guesses.contains(site.inst) && access.strong;
  if (kind == "race" && isGuess) {
    kind = "race-before-cas";
    message = "a plain load in front of a compare-and-swap of the same place "
              "races with another thread's atomic: the swap fails where the "
              "value is out of date, but the memory model wants ld.relaxed";
    return Severity::Strict;
  }
  // What a CTA's threads do to its shared memory is performed in the order in
  // which they issue it.
  if (kind != "race" || !isOfOwnShared(access, earlier, site))
    return Severity::Error;
  const ComponentInfo &info = components[earlier.component & 0xFFFF];
  bool isSameCta = access.proxy == Proxy::Generic &&
                   access.warp->warp->cta->rank == access.rank;
  if (isSameCta && isRelaxedClusterBarrierBetween(access, earlier, info))
    return Severity::Strict;
  if (site.kind == AccessKind::Read && hasExecuted(access, earlier)) {
    message = "the read was executed before, but that orders no accesses to "
              "memory: the lanes of a warp only wait for each other at an "
              ".aligned instruction, and a copy that is complete does not "
              "speak for its thread; bar.warp.sync behind the read, or an "
              "arrival of the reading thread, is missing";
    return Severity::Strict;
  }
  return Severity::Error;
}

/// Describes the synchronisation that would have ordered the two accesses, and
/// refines the kind of finding.
std::string Engine::missing(const Access &access, const Stamp &earlier,
                            std::string &kind) {
  uint32_t component = earlier.component & 0xFFFF;
  if ((earlier.component ^ clusterBits) >> 16)
    return "the accesses are in different clusters, and nothing orders them";
  const ComponentInfo &info = components[component];
  if (info.kind == ComponentKind::RemoteStore &&
      knows(*access.warp, access.lane, info.thread, earlier.step))
    return "a release of the scope .cta orders the two threads, but does not "
           "hand on a store to another CTA's shared memory: the scope .cluster "
           "is missing at the arrival, the release or the fence";
  if (isRelaxedClusterBarrierBetween(access, earlier, info))
    return "the barrier.cluster.arrive between the two is relaxed, and so "
           "hands "
           "no accesses to memory on: .release (the default), or a fence in "
           "front of it, is missing";
  if (hasMet(access, component, earlier.step))
    return "an mbarrier orders what the threads execute, but no accesses to "
           "memory: its arrival or its wait is relaxed, and there is no fence";
  bool issueKnown = isIssueKnown(access, earlier, info);
  switch (info.kind) {
  case ComponentKind::Thread:
  case ComponentKind::RemoteStore:
    return "nothing orders the two accesses: a barrier, or an mbarrier arrive "
           "and wait, is missing between them";
  case ComponentKind::Mbarrier:
    return formatv("nothing waits for the asynchronous copy: a wait on the "
                   "phase of the mbarrier at shared {0:x} on which it "
                   "completes is missing, or the phase did not expect its "
                   "bytes",
                   info.mbarrier);
  case ComponentKind::Pipe:
    return "the tcgen05 operation may still be in progress: tcgen05.commit and "
           "a wait on its mbarrier are missing between the accesses";
  case ComponentKind::TensorLoad:
    kind = issueKnown ? "missing-tensor-wait" : "race";
    return issueKnown
               ? "the tcgen05.ld may still be in progress: tcgen05.wait::ld is "
                 "missing before the barrier that orders the accesses"
               : "nothing orders the tcgen05.ld before this access";
  case ComponentKind::TensorStore:
    kind = issueKnown ? "missing-tensor-wait" : "race";
    return issueKnown
               ? "the tcgen05.st may still be in progress: tcgen05.wait::st is "
                 "missing before the barrier that orders the accesses"
               : "nothing orders the tcgen05.st before this access";
  case ComponentKind::BulkRead:
    kind = issueKnown ? "missing-bulk-wait" : "race";
    return "the bulk copy may still read its source: "
           "cp.async.bulk.commit_group and wait_group(.read) by the issuing "
           "thread, then a barrier, are missing between the accesses";
  case ComponentKind::BulkWrite:
    kind = issueKnown ? "missing-bulk-wait" : "race";
    return "the bulk copy may not have written yet: "
           "cp.async.bulk.commit_group and wait_group (without .read) are "
           "missing between the accesses";
  case ComponentKind::Wgmma:
    kind = issueKnown ? "missing-wgmma-wait" : "race";
    return "the wgmma.mma_async may still read its operand: "
           "wgmma.commit_group and wgmma.wait_group by a warp of the "
           "warpgroup, then a barrier, are missing between the accesses";
  case ComponentKind::Arrival:
    break;
  case ComponentKind::CpAsync:
    kind = issueKnown ? "missing-async-wait" : "race";
    if (!issueKnown && hasWaited(earlier, info))
      return "its thread has waited for the cp.async, but nothing orders the "
             "wait before this access: a barrier, or an mbarrier arrive and "
             "wait, is missing between them";
    return "the cp.async may still be in progress: cp.async.wait_group or "
           "cp.async.mbarrier.arrive is missing between the accesses";
  }
  return "nothing orders the two accesses";
}

bool Engine::isNew(const Access &access, llvm::StringRef kind,
                   const Stamp *earlier) {
  uint64_t other = earlier ? earlier->site : 0;
  uint64_t key =
      (uint64_t(access.stamp.site) << 32 | other) ^ uint64_t(kind.size()) << 60;
  return reported.insert(key).second;
}

ReportSite Engine::siteOf(const Access &access, uint64_t address) {
  Actor actor{access.inst, const_cast<Warp *>(access.warp->warp),
              int(access.lane), noAgent};
  return cluster.site(actor, describe(access, access.kind, address));
}

void Engine::complain(const Access &access, llvm::StringRef kind,
                      llvm::StringRef message, const Stamp *earlier,
                      uint64_t address, Severity severity) {
  if (!isNew(access, kind, earlier))
    return;
  // What was found before this comes first.
  flush();
  Report report;
  report.kind = kind.str();
  report.severity = severity;
  report.message = message.str();
  report.sites.push_back(siteOf(access, address));
  if (earlier) {
    const SiteInfo &site = siteInfo(earlier->site);
    ReportSite at;
    at.line = site.inst->line;
    at.opcode = site.inst->opcode.str();
    std::copy(std::begin(site.ctaId), std::end(site.ctaId), at.ctaId);
    at.warp = site.warp;
    uint32_t component = earlier->component & 0xFFFF;
    if (!((earlier->component ^ clusterBits) >> 16) &&
        components[component].kind == ComponentKind::Thread)
      at.lane = (component - 1) % warpSize;
    at.what = "earlier " + describe(access, site.kind, address);
    report.sites.push_back(std::move(at));
  }
  launch.sink.add(std::move(report));
}
