//===- Engine.cpp - what threads and barriers know -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

Engine::Engine(LaunchChecker &launch, Cluster &cluster)
    : launch(launch), cluster(cluster),
      clusterBits(uint32_t(cluster.index & 0xFFFF) << 16) {
  size_t count = 0;
  for (const Cta &cta : cluster.ctas)
    count += cta.warps.size();
  warps.resize(count);
  components.resize(1 + count * warpSize);
  size_t index = 0;
  for (const Cta &cta : cluster.ctas)
    for (const Warp &warp : cta.warps) {
      WarpState &state = warps[index];
      state.warp = &warp;
      state.firstThread = 1 + index * warpSize;
      std::fill(std::begin(state.step), std::end(state.step), 1);
      for (unsigned l = 0; l < warpSize; ++l)
        components[state.firstThread + l] = {
            ComponentKind::Thread, uint32_t(state.firstThread + l), 0, {}};
      ++index;
    }
  named.resize(cluster.ctas.size());
  exits.resize(cluster.ctas.size());
  shared.resize(cluster.ctas.size());
  tensor.resize(cluster.ctas.size());
  remoteStores.resize(cluster.ctas.size());
}

WarpState &Engine::stateOf(const Warp &warp) {
  return warps[warp.cta->rank * warp.cta->warps.size() + warp.index];
}

uint32_t Engine::newComponent(ComponentKind kind, uint32_t thread,
                              uint32_t mbarrier) {
  components.push_back({kind, thread, mbarrier, {}});
  return components.size() - 1;
}

//===----------------------------------------------------------------------===//
// Releasing and acquiring
//===----------------------------------------------------------------------===//

/// Returns the lane's own view, for a change that does not concern other lanes.
View &Engine::ownView(WarpState &state, unsigned lane) {
  ViewRef &own = state.own[lane];
  if (!own)
    own = std::make_shared<View>();
  else if (own.use_count() > 1)
    own = std::make_shared<View>(*own);
  return *own;
}

template <typename F>
void Engine::update(WarpState &state, LaneMask mask, F f) {
  ++state.version;
  if ((state.warp->live & ~mask) == 0)
    return f(state.common);
  // Lanes that share a view go on sharing it.
  while (mask) {
    unsigned first = __builtin_ctz(mask);
    ViewRef shared = state.own[first];
    LaneMask same = 0;
    forEachLane(mask, [&](unsigned l) {
      if (state.own[l] == shared)
        same |= 1u << l;
    });
    mask &= ~same;
    ViewRef changed =
        shared ? std::make_shared<View>(*shared) : std::make_shared<View>();
    if (shared && shared.use_count() == 1 + __builtin_popcount(same))
      changed = shared; // No other lane has this view.
    f(*changed);
    forEachLane(same, [&](unsigned l) { state.own[l] = changed; });
  }
}

void Engine::release(WarpState &state, LaneMask mask, View &target) {
  target.join(state.common);
  const View *last = nullptr;
  forEachLane(mask, [&](unsigned l) {
    if (state.own[l] && state.own[l].get() != last) {
      last = state.own[l].get();
      target.join(*last);
    }
    releaseLane(state, l, target);
  });
}

void Engine::releaseLane(WarpState &state, unsigned l, View &target) {
  uint32_t thread = threadOf(state, l);
  target.happened.raise(thread, state.step[l]++);
  target.asyncShared.raise(thread, state.fencedShared[l]);
  target.asyncGlobal.raise(thread, state.fencedGlobal[l]);
  state.steps[l].raiseIn(target.happened);
  state.tensorFenced[l].raiseIn(target.tensorFenced);
}

/// A relaxed arrival passes on what a fence of the lane had released before,
/// and that the lane has come so far.
void Engine::meet(WarpState &state, unsigned l, View &target, bool joined) {
  passOnExecuted(state, l, target, joined);
  if (state.fenced[l])
    target.join(*state.fenced[l]);
}

void Engine::passOnExecuted(WarpState &state, unsigned l, View &target,
                            bool joined) {
  auto add = [&](const View &view) {
    target.met.join(view.happened);
    target.met.join(view.met);
    target.tensorFenced.join(view.tensorFenced);
  };
  if (!joined)
    add(state.common);
  if (state.own[l])
    add(*state.own[l]);
  target.met.raise(threadOf(state, l), state.step[l]++);
  state.steps[l].raiseIn(target.met);
  state.tensorFenced[l].raiseIn(target.tensorFenced);
}

void Engine::withoutRemoteStores(const WarpState &state, View &target,
                                 llvm::function_ref<void()> join) {
  const auto &stores = remoteStores[state.warp->cta->rank];
  llvm::SmallVector<uint32_t, 8> known;
  for (uint32_t component : stores)
    known.push_back(target.happened.get(component));
  join();
  for (auto [component, step] : llvm::zip(stores, known))
    target.happened.set(component, step);
}

uint32_t Engine::remoteStore(WarpState &state, unsigned lane) {
  uint32_t thread = threadOf(state, lane);
  uint32_t &component = threads[thread].remoteStore;
  if (!component) {
    component = newComponent(ComponentKind::RemoteStore, thread);
    remoteStores[state.warp->cta->rank].push_back(component);
  }
  state.steps[lane].raise(component, state.step[lane]);
  return full(component);
}

void Engine::observe(WarpState &state, LaneMask mask, const View &source) {
  update(state, mask, [&](View &view) {
    view.met.join(source.happened);
    view.met.join(source.met);
    view.tensorFenced.join(source.tensorFenced);
    view.executed.join(source.executed);
  });
  if (!state.observed)
    state.observed = std::make_shared<View>();
  state.observed->join(source);
}

void Engine::acquire(WarpState &state, LaneMask mask, const View &source) {
  update(state, mask, [&](View &view) { view.join(source); });
}

View Engine::snapshot(WarpState &state, LaneMask mask) {
  View view;
  release(state, mask, view);
  return view;
}

void Engine::learnOfLanes(WarpState &state) {
  View known = snapshot(state, state.warp->live);
  View executed;
  executed.executed = std::move(known.executed);
  executed.executed.join(known.happened);
  executed.executed.join(known.met);
  acquire(state, state.warp->live, executed);
}

void Engine::warpSync(const Warp &warp, const Inst &, LaneMask members) {
  WarpState &state = stateOf(warp);
  auto all = std::make_shared<View>();
  const View *last = nullptr;
  forEachLane(members, [&](unsigned l) {
    if (state.own[l] && state.own[l].get() != last) {
      last = state.own[l].get();
      all->join(*last);
      all->tensorKnown.join(last->tensorKnown);
    }
    releaseLane(state, l, *all);
  });
  ++state.version;
  if ((warp.live & ~members) == 0) {
    state.common.join(*all);
    state.common.tensorKnown.join(all->tensorKnown);
    for (ViewRef &own : state.own)
      own = nullptr;
    return;
  }
  forEachLane(members, [&](unsigned l) { state.own[l] = all; });
}

void Engine::launchesAwaited(const Warp &warp, LaneMask mask) {
  update(stateOf(warp), mask,
         [](View &view) { view.happened.raise(earlierLaunches, 1); });
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

void Engine::fence(const FenceEvent &event) {
  WarpState &state = stateOf(*event.warp);
  LaneMask mask = event.mask;
  switch (event.kind) {
  case FenceKind::MbarrierInit:
  case FenceKind::SyncRestrict:
  case FenceKind::Memory: {
    auto view = std::make_shared<View>(snapshot(state, mask));
    forEachLane(mask, [&](unsigned l) { state.fenced[l] = view; });
    state.fencedForCta &= ~mask;
    if (event.kind == FenceKind::Memory && event.order.scope == Scope::Cta)
      state.fencedForCta |= mask;
    if (event.kind == FenceKind::MbarrierInit)
      state.initFenced |= mask;
    if (event.kind != FenceKind::Memory)
      return;
    if (state.observed)
      acquire(state, mask, *state.observed);
    for (auto &[other, view] : std::exchange(state.observedOfClusters, {}))
      learnOfCluster(other, view);
    return;
  }
  case FenceKind::ProxyAsync:
  case FenceKind::AsyncGeneric: {
    bool toShared = event.spaces & (ProxySharedCta | ProxySharedCluster);
    bool toGlobal = event.spaces & ProxyGlobal;
    update(state, mask, [&](View &view) {
      // A lane's own view adds to the common one.
      if (toShared) {
        view.asyncShared.join(view.happened);
        view.asyncShared.join(state.common.happened);
      }
      if (toGlobal) {
        view.asyncGlobal.join(view.happened);
        view.asyncGlobal.join(state.common.happened);
      }
    });
    // If all lanes of a warp execute the fence together, it also orders what
    // single lanes know of.
    if ((event.warp->live & ~mask) == 0)
      forEachLane(mask, [&](unsigned l) {
        if (!state.own[l])
          return;
        View &own = ownView(state, l);
        if (toShared)
          own.asyncShared.join(own.happened);
        if (toGlobal)
          own.asyncGlobal.join(own.happened);
      });
    // Of these, `happened` has the steps that others know.
    if (toShared && !remoteStores[event.warp->cta->rank].empty())
      forEachLane(mask, [&](unsigned l) {
        auto own = threads.find(threadOf(state, l));
        if (own != threads.end() && own->second.remoteStore)
          ownView(state, l).asyncShared.raise(own->second.remoteStore,
                                              state.step[l]);
      });
    forEachLane(mask, [&](unsigned l) {
      if (toShared)
        state.fencedShared[l] = state.step[l];
      if (toGlobal)
        state.fencedGlobal[l] = state.step[l];
      ++state.step[l];
    });
    return;
  }
  case FenceKind::ProxyAlias:
  case FenceKind::ProxyTensorMap:
    return;
  }
}

void Engine::tensorFence(const Warp &warp, const Inst &, LaneMask mask,
                         bool before) {
  if (!launch.tensorFences)
    return;
  WarpState &state = stateOf(warp);
  if (before)
    forEachLane(mask,
                [&](unsigned l) { state.tensorFenced[l] = state.steps[l]; });
  update(state, mask, [&](View &view) {
    if (before) {
      view.tensorFenced.join(view.happened);
      view.tensorFenced.join(state.common.happened);
    } else {
      view.tensorKnown.join(view.tensorFenced);
      view.tensorKnown.join(state.common.tensorFenced);
    }
  });
  if ((warp.live & ~mask) == 0)
    forEachLane(mask, [&](unsigned l) {
      if (!state.own[l])
        return;
      View &own = ownView(state, l);
      if (before)
        own.tensorFenced.join(own.happened);
      else
        own.tensorKnown.join(own.tensorFenced);
    });
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

BarrierState &Engine::barrierAt(uint32_t address) {
  BarrierState &state = barriers[address];
  if (!state.component)
    state.component = newComponent(ComponentKind::Mbarrier, 0, address);
  return state;
}

/// Reports an access to an mbarrier whose initialisation the actor's thread
/// does not know.
void Engine::checkInit(const Actor &actor, Cta &cta, const Mbarrier &barrier) {
  BarrierState &state = barrierOf(cta, barrier);
  if (!actor.warp || actor.lane < 0 || actor.agent != noAgent)
    return;
  WarpState &warp = stateOf(*actor.warp);
  if (!state.initThread ||
      knows(warp, actor.lane, state.initThread, state.initStep))
    return;
  uint64_t key = (uint64_t(actor.inst->line) << 32 | barrier.offset) + 1;
  if (!reported.insert(key).second)
    return;
  Report report;
  report.kind = "mbarrier-init-race";
  report.message =
      formatv("the mbarrier at shared {0:x} of CTA rank {1} is used without "
              "anything between its initialisation and this use: "
              "fence.mbarrier_init and a CTA or cluster barrier are missing",
              barrier.offset, cta.rank);
  report.sites.push_back(cluster.site(actor, "use of the mbarrier"));
  uint32_t thread = state.initThread;
  const WarpState &init = warps[(thread - 1) / warpSize];
  Actor initialiser{barrier.initInst, const_cast<Warp *>(init.warp),
                    int((thread - 1) % warpSize), noAgent};
  report.sites.push_back(cluster.site(initialiser, "initialisation"));
  launch.sink.add(std::move(report));
}

void Engine::mbarrierInit(const Actor &actor, Cta &cta,
                          const Mbarrier &barrier) {
  BarrierState &state = barrierOf(cta, barrier);
  uint32_t component = state.component, issued = state.issued;
  state = BarrierState();
  state.component = component;
  state.issued = issued;
  if (actor.warp && actor.lane >= 0) {
    WarpState &warp = stateOf(*actor.warp);
    state.initThread = threadOf(warp, actor.lane);
    state.initStep = warp.step[actor.lane];
    // An earlier fence.mbarrier_init of this thread covers this, too; see
    // docs/simulator-memory-model.md.
    if (warp.initFenced >> actor.lane & 1) {
      auto view = std::make_shared<View>(*warp.fenced[actor.lane]);
      view->happened.raise(state.initThread, warp.step[actor.lane]++);
      warp.fenced[actor.lane] = std::move(view);
    }
  }
}

void Engine::mbarrierInval(const Actor &actor, Cta &cta,
                           const Mbarrier &barrier) {
  checkInit(actor, cta, barrier);
}

void Engine::mbarrierArrive(const Actor &actor, Cta &cta,
                            const Mbarrier &barrier, const SyncOrder &order,
                            uint32_t) {
  BarrierState &state = barrierOf(cta, barrier);
  noteRemoteArrival(actor, cta, barrier);
  if (actor.agent != noAgent) {
    if (View *view = agents[actor.agent].snapshot.get()) {
      state.arrived.join(*view);
      state.lastWarp = nullptr;
    }
    return;
  }
  if (!actor.warp || actor.lane < 0)
    return;
  checkInit(actor, cta, barrier);
  WarpState &warp = stateOf(*actor.warp);
  // The lanes of a warp arrive one after the other with the same knowledge,
  // which is joined once.
  bool releases = order.semantics != Semantics::Relaxed;
  bool isOther = actor.warp->cta->rank != cta.rank;
  bool ofCta = isOther && order.scope == Scope::Cta;
  bool joined = state.lastWarp == &warp && state.lastVersion == warp.version &&
                state.lastReleased == releases && state.lastOfCta == ofCta;
  state.lastWarp = &warp;
  state.lastVersion = warp.version;
  state.lastReleased = releases;
  state.lastOfCta = ofCta;
  if (releases && joined && !ofCta && !warp.own[actor.lane])
    return releaseLane(warp, actor.lane, state.arrived);
  auto join = [&] {
    if (releases)
      release(warp, 1u << actor.lane, state.arrived);
    else
      meet(warp, actor.lane, state.arrived, joined);
  };
  if (releases ? ofCta : isOther && warp.fencedForCta >> actor.lane & 1)
    withoutRemoteStores(warp, state.arrived, join);
  else
    join();
}

void Engine::mbarrierExpectTx(const Actor &actor, Cta &cta,
                              const Mbarrier &barrier, const SyncOrder &,
                              uint32_t) {
  checkInit(actor, cta, barrier);
  if (actor.agent == noAgent && !actor.inst->opcode.contains("arrive"))
    noteRemoteArrival(actor, cta, barrier);
}

void Engine::mbarrierCompleteTx(const Actor &actor, Cta &cta,
                                const Mbarrier &barrier, const SyncOrder &,
                                uint32_t bytes) {
  BarrierState &state = barrierOf(cta, barrier);
  noteRemoteArrival(actor, cta, barrier);
  if (actor.agent == noAgent)
    return;
  if (const View *view = agents[actor.agent].snapshot.get())
    state.arrived.executed.join(view->executed);
  for (auto &pending : state.pending)
    if (pending.agent == actor.agent)
      pending.bytes -= bytes;
  while (!state.pending.empty() && state.pending.front().bytes <= 0)
    state.pending.pop_front();
  uint32_t complete =
      state.pending.empty() ? state.issued : state.pending.front().step - 1;
  state.arrived.happened.raise(state.component, complete);
}

/// A wait that is overtaken by a whole phase finds the parity of the phase
/// after it, and goes on waiting. An arrival that knows of the wait's return
/// rules this out, and so do bytes of a copy that was issued behind it: the
/// phase cannot be complete without them. Of a warp's lanes one is enough,
/// since lanes that have waited together go on together.
void Engine::checkOvertaking(Cta &cta, const Mbarrier &barrier,
                             BarrierState &state) {
  for (const BarrierState::Wait &wait : state.waits) {
    bool isKnown = false;
    forEachLane(wait.lanes, [&](unsigned l) {
      uint32_t thread = threadOf(*wait.warp, l);
      isKnown |= state.arrived.happened.get(thread) >= wait.step[l] ||
                 state.arrived.executed.get(thread) >= wait.step[l] ||
                 state.arrived.met.get(thread) >= wait.step[l];
    });
    uint64_t key = uint64_t(wait.inst->line) << 32 | 0x0E << 24 |
                   (barrier.offset & 0xFFFFFF);
    if (isKnown || !reported.insert(key).second)
      continue;
    Actor actor{wait.inst, const_cast<Warp *>(wait.warp->warp),
                int(__builtin_ctz(wait.lanes)), noAgent};
    cluster.report(
        "barrier-overtaken",
        formatv("the wait for phase {0} of the mbarrier at shared {1:x} of CTA "
                "rank {2} may come when phase {3} is over, too, and would then "
                "go on waiting: no arrival of phase {3} is ordered behind the "
                "wait",
                barrier.phase - 1, barrier.offset, cta.rank, barrier.phase)
            .str(),
        actor);
  }
  state.waits.clear();
}

void Engine::mbarrierPhase(Cta &cta, const Mbarrier &barrier) {
  BarrierState &state = barrierOf(cta, barrier);
  checkOvertaking(cta, barrier, state);
  state.completed[barrier.phase & 1] = state.arrived;
  state.completedPhase[barrier.phase & 1] = barrier.phase;
}

void Engine::mbarrierWait(const Warp &warp, const Inst &inst, LaneMask mask,
                          Cta &cta, const Mbarrier &barrier, uint64_t completed,
                          const SyncOrder &order) {
  BarrierState &state = barrierOf(cta, barrier);
  checkInit({&inst, const_cast<Warp *>(&warp), __builtin_ctz(mask), noAgent},
            cta, barrier);
  WarpState &waiter = stateOf(warp);
  const View &source = state.completed[completed & 1];
  if (state.completedPhase[completed & 1] == completed) {
    if (order.semantics == Semantics::Relaxed)
      observe(waiter, mask, source);
    else
      acquire(waiter, mask, source);
  }
  if (warp.cta->rank == cta.rank)
    llvm::erase_if(state.remote, [&](const BarrierState::RemoteArrival &one) {
      return one.phase <= completed;
    });
  if (completed + 1 != barrier.phase)
    return;
  auto *wait = llvm::find_if(state.waits, [&](const BarrierState::Wait &other) {
    return other.warp == &waiter;
  });
  if (wait == state.waits.end())
    wait = &state.waits.emplace_back(BarrierState::Wait{&waiter, &inst, 0, {}});
  wait->inst = &inst;
  wait->lanes |= mask;
  forEachLane(mask, [&](unsigned l) { wait->step[l] = waiter.step[l]; });
}

//===----------------------------------------------------------------------===//
// Named and cluster barriers
//===----------------------------------------------------------------------===//

void Engine::barrierArrive(const Warp &warp, const Inst &inst, LaneMask mask,
                           Cta &cta, unsigned barrier, uint64_t generation) {
  NamedState &state = named[cta.rank][barrier];
  if (state.current != generation) {
    state.current = generation;
    state.arrived.clear();
  }
  // (A warp that arrives and then waits as one more is known to work.)
  LaneMask &before = state.arrived[warp.index];
  bool arrives = inst.opcode.contains("arrive");
  if (LaneMask twice = arrives ? before & mask : 0) {
    uint64_t key = uint64_t(inst.line) << 32 | 0xBA44 << 8 | barrier;
    if (reported.insert(key).second)
      cluster.report(
          "barrier-double-arrival",
          formatv("the warp arrives at barrier {0} again before the threads "
                  "that it waits for have: its count fills up without them",
                  barrier)
              .str(),
          {&inst, const_cast<Warp *>(&warp), __builtin_ctz(twice), noAgent});
  }
  if (arrives)
    before |= mask;
  release(stateOf(warp), mask, state.at(generation));
}

void Engine::barrierLeave(const Warp &warp, const Inst &, LaneMask mask,
                          Cta &cta, unsigned barrier, uint64_t generation) {
  acquire(stateOf(warp), mask, named[cta.rank][barrier].leaving(generation));
}

void Engine::clusterArrive(const Warp &warp, const Inst &, LaneMask mask,
                           uint64_t generation, const SyncOrder &order) {
  WarpState &state = stateOf(warp);
  View &view = clusterBarrier.at(generation);
  if (order.semantics != Semantics::Relaxed)
    return release(state, mask, view);
  auto &arrivals = relaxedArrivals[generation];
  bool joined = false;
  forEachLane(mask, [&](unsigned l) {
    arrivals[threadOf(state, l)] = state.step[l];
    passOnExecuted(state, l, view, joined);
    joined = true;
  });
  const View *last = nullptr;
  forEachLane(mask, [&](unsigned l) {
    if (state.fenced[l] && state.fenced[l].get() != last) {
      last = state.fenced[l].get();
      if (state.fencedForCta >> l & 1)
        withoutRemoteStores(state, view, [&] { view.join(*last); });
      else
        view.join(*last);
    }
  });
}

void Engine::clusterWait(const Warp &warp, const Inst &, LaneMask mask,
                         uint64_t generation, const SyncOrder &) {
  WarpState &state = stateOf(warp);
  acquire(state, mask, clusterBarrier.leaving(generation));
  state.started = ~0u; // Whatever the order, all CTAs have come so far.
  state.clusterGenerations = std::max(state.clusterGenerations, generation + 1);
}
