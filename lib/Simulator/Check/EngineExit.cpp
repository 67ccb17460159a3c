//===- EngineExit.cpp - what must be over when a CTA exits ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A CTA's shared memory, and the mbarriers in it, go away with the CTA's last
// thread. Asynchronous operations and other CTAs' threads must be done with
// them by then, and the threads that exit must know: an access that came in
// time only in this run is a finding, and so is one behind the exit.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

static constexpr llvm::StringLiteral exitKind = "exit-with-async-outstanding";

void Engine::exitThreads(const Warp &warp, LaneMask mask) {
  Cta &cta = *warp.cta;
  release(stateOf(warp), mask, exits[cta.rank]);
  if (cta.liveThreads != unsigned(__builtin_popcount(mask)))
    return;
  const Fragment *last = nullptr;
  for (const Fragment &fragment : warp.fragments)
    if (fragment.mask & mask)
      last = &fragment;
  const Inst *inst = last ? &cluster.grid.program->insts[last->pc] : nullptr;
  checkExit({inst, const_cast<Warp *>(&warp), __builtin_ctz(mask), noAgent},
            cta);
}

/// The search for operations that may still be under way in the shared memory
/// of a CTA when its last threads exit.
class Engine::ExitCheck {
public:
  ExitCheck(Engine &engine, const Actor &actor, Cta &cta)
      : engine(engine), actor(actor), cta(cta),
        first(engine.warps[cta.rank * cta.warps.size()].firstThread),
        end(first + cta.warps.size() * warpSize) {}

  void checkMemory(Shadow &shadow) {
    shadow.forEachCell(
        [&](const Cell &cell, size_t byte) { checkCell(shadow, cell, byte); });
  }

  void checkArrivals() {
    auto &barriers = engine.barriers;
    for (auto it = barriers.lower_bound(cta.rank << sharedRankShift);
         it != barriers.end() && it->first >> sharedRankShift == cta.rank; ++it)
      for (const auto &[stamp, phase] : it->second.remote)
        if (!isOver(stamp))
          complain(stamp,
                   "the CTA exits while another CTA may still arrive on its "
                   "mbarrier: a wait for that phase (or a cluster barrier) "
                   "before the exit is missing",
                   formatv("arrival on the mbarrier at shared {0:x}, CTA rank "
                           "{1}",
                           it->first & sharedOffsetMask, cta.rank)
                       .str());
  }

private:
  bool isOver(const Stamp &stamp) {
    if (!stamp.component || stamp == good)
      return true;
    uint32_t component = stamp.component & 0xFFFF;
    const ComponentInfo &info = engine.components[component];
    // The CTA's own threads are done, and no rule asks them to wait for a
    // cp.async; asyncLanesExit looks at its bulk reads.
    bool own = (info.kind == ComponentKind::Thread ||
                info.kind == ComponentKind::CpAsync) &&
               info.thread >= first && info.thread < end;
    if (!own && info.kind != ComponentKind::BulkRead &&
        engine.exits[cta.rank].happened.get(component) < stamp.step)
      return false;
    good = stamp;
    return true;
  }

  void checkCell(Shadow &shadow, const Cell &cell, size_t byte) {
    checkAccess(cell.write, byte);
    if (cell.read.component != Cell::listed)
      return checkAccess(cell.read, byte);
    for (const Stamp &stamp : shadow.list(cell.read.step).stamps())
      checkAccess(stamp, byte);
  }

  void checkAccess(const Stamp &stamp, size_t byte) {
    if (isOver(stamp))
      return;
    const SiteInfo &site = engine.siteInfo(stamp.site);
    complain(stamp,
             "the CTA exits while an operation may still access its shared "
             "memory: a wait for its completion (or a cluster barrier) before "
             "the exit is missing",
             formatv("{0} of shared {1:x}, CTA rank {2}",
                     site.kind == AccessKind::Read ? "read" : "write", byte,
                     cta.rank)
                 .str());
  }

  void complain(const Stamp &stamp, const char *message,
                const llvm::Twine &what) {
    if (!engine.reported.insert(uint64_t(stamp.site) << 32 | 0xE817).second)
      return;
    Report report;
    report.kind = exitKind.str();
    report.message = message;
    report.sites.push_back(engine.cluster.site(actor, "exit"));
    report.sites.push_back(engine.earlierSite(stamp.site, what));
    engine.launch.sink.add(std::move(report));
  }

  Engine &engine;
  const Actor &actor;
  Cta &cta;
  /// The components of the CTA's threads.
  uint32_t first, end;
  /// The stamp that was found to be over last: neighbouring cells mostly have
  /// the same one.
  Stamp good;
};

void Engine::checkExit(const Actor &actor, Cta &cta) {
  if (!actor.inst)
    return;
  ExitCheck check(*this, actor, cta);
  if (Shadow *shadow = shared[cta.rank].get())
    check.checkMemory(*shadow);
  check.checkArrivals();
}

ReportSite Engine::earlierSite(uint32_t id, const llvm::Twine &what) {
  const SiteInfo &site = siteInfo(id);
  ReportSite at;
  at.line = site.inst->line;
  at.opcode = site.inst->opcode.str();
  std::copy(std::begin(site.ctaId), std::end(site.ctaId), at.ctaId);
  at.warp = site.warp;
  at.what = what.str();
  return at;
}

void Engine::complainOfExited(const Actor &actor, uint32_t rank, uint32_t site,
                              const llvm::Twine &what) {
  if (!reported.insert(uint64_t(site) << 32 | 0xE817).second)
    return;
  Report report;
  report.kind = exitKind.str();
  report.message = formatv("the CTA of rank {0}, whose shared memory this is, "
                           "has exited: something that keeps it until then (a "
                           "cluster barrier before its exit) is missing",
                           rank)
                       .str();
  report.sites.push_back(cluster.site(actor, what.str()));
  launch.sink.add(std::move(report));
}

void Engine::noteRemoteArrival(const Actor &actor, Cta &cta,
                               const Mbarrier &barrier) {
  BarrierState &state = barrierOf(cta, barrier);
  if (!actor.warp || actor.lane < 0 || actor.warp->cta->rank == cta.rank)
    return;
  uint32_t site = siteOf(*actor.warp, *actor.inst, AccessKind::Atomic,
                         Proxy::Generic, true);
  WarpState &warp = stateOf(*actor.warp);
  Stamp stamp;
  stamp.site = site;
  if (actor.agent != noAgent) {
    const Agent &agent = agents[actor.agent];
    if (agent.kind == AgentKind::Commit) {
      // A commit arrives when the operations before it are complete. So whoever
      // has waited for a later commit of the same thread knows that this one
      // has arrived.
      stamp.component = threads[threadOf(warp, actor.lane)].pipe;
      stamp.step = agent.step;
    } else {
      // The bytes of a load.
      stamp.component = state.component;
      for (const auto &pending : state.pending)
        if (pending.agent == actor.agent)
          stamp.step = pending.step;
    }
    if (!stamp.component ||
        exits[cta.rank].happened.get(stamp.component) >= stamp.step)
      return;
    stamp.component = full(stamp.component);
  } else if (actor.inst->opcode.contains("arrive")) {
    // The next release of the lane says that it has arrived.
    stamp.component = full(threadOf(warp, actor.lane));
    stamp.step = warp.step[actor.lane];
  } else {
    if (!state.arrivals)
      state.arrivals = newComponent(ComponentKind::Arrival, 0);
    stamp.component = full(state.arrivals);
    stamp.step = ++state.arrivalSteps;
    state.arrived.happened.raise(state.arrivals, stamp.step);
    warp.steps[actor.lane].raise(state.arrivals, stamp.step);
  }
  if (cta.liveThreads == 0)
    return complainOfExited(actor, cta.rank, site,
                            "arrival on the CTA's mbarrier");
  for (BarrierState::RemoteArrival &known : state.remote)
    if (known.stamp.component == stamp.component) {
      known = {stamp, barrier.phase};
      return;
    }
  state.remote.push_back({stamp, barrier.phase});
}
