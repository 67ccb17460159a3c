//===- EngineAsync.cpp - asynchronous operations and tensor memory -------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

void Engine::noteIssue(uint32_t component, uint32_t step, uint32_t thread,
                       uint32_t threadStep) {
  ComponentInfo &info = components[component];
  if (info.issues.size() <= step)
    info.issues.resize(step + 1);
  info.issues[step] = {thread, threadStep};
}

AgentId Engine::beginAgent(AgentKind kind, const Actor &issuer) {
  AgentId id;
  if (freeAgents.empty()) {
    id = agents.size();
    agents.emplace_back();
  } else {
    id = freeAgents.back();
    freeAgents.pop_back();
  }
  agents[id] = makeAgent(kind, issuer);
  return id;
}

Agent Engine::makeAgent(AgentKind kind, const Actor &issuer) {
  WarpState &warp = stateOf(*issuer.warp);
  uint32_t thread = threadOf(warp, issuer.lane);
  ThreadComponents &own = threads[thread];
  uint32_t now = warp.step[issuer.lane];
  Agent agent{kind, 0, nullptr};
  switch (kind) {
  case AgentKind::TensorPipe:
    if (!own.pipe)
      own.pipe = newComponent(ComponentKind::Pipe, thread);
    agent.step = ++own.pipeSteps;
    noteIssue(own.pipe, agent.step, thread, now);
    break;
  case AgentKind::BulkStore:
    if (!own.bulkRead) {
      own.bulkRead = newComponent(ComponentKind::BulkRead, thread);
      own.bulkWrite = newComponent(ComponentKind::BulkWrite, thread);
    }
    agent.step = own.bulkGroup + 1;
    noteIssue(own.bulkRead, agent.step, thread, now);
    noteIssue(own.bulkWrite, agent.step, thread, now);
    break;
  case AgentKind::CpAsync:
    if (!own.cpAsync)
      own.cpAsync = newComponent(ComponentKind::CpAsync, thread);
    agent.step = own.cpGroup + 1;
    noteIssue(own.cpAsync, agent.step, thread, now);
    break;
  case AgentKind::Commit:
    agent.step = own.pipeSteps;
    agent.snapshot = viewOfCommit(issuer, warp, own);
    break;
  case AgentKind::BulkLoad:
    agent.snapshot = viewOfLoad(issuer, warp);
    break;
  }
  return agent;
}

/// What a commit passes on: what its thread knows, and the asynchronous
/// operations that the thread has issued.
std::unique_ptr<View> Engine::viewOfCommit(const Actor &issuer, WarpState &warp,
                                           ThreadComponents &own) {
  auto view = std::make_unique<View>(snapshot(warp, 1u << issuer.lane));
  if (own.pipe)
    view->happened.raise(own.pipe, own.pipeSteps);
  // Copies of the open group count as well. Later copies belong to another
  // step.
  if (own.cpAsync && issuer.inst->opcode.starts_with("cp."))
    view->happened.raise(own.cpAsync, ++own.cpGroup);
  if (launch.tensorFences)
    view->tensorFenced.join(view->happened);
  return view;
}

/// What a load passes on: that what its thread knows has been executed.
std::unique_ptr<View> Engine::viewOfLoad(const Actor &issuer, WarpState &warp) {
  View issuing = snapshot(warp, 1u << issuer.lane);
  auto view = std::make_unique<View>();
  view->executed = std::move(issuing.executed);
  view->executed.join(issuing.happened);
  view->executed.join(issuing.met);
  return view;
}

void Engine::endAgent(AgentId id) {
  if (id == noAgent)
    return;
  agents[id].snapshot.reset();
  freeAgents.push_back(id);
}

void Engine::agentWillComplete(AgentId id, uint32_t mbarrier, uint32_t bytes) {
  BarrierState &state = barrierAt(mbarrier);
  state.pending.push_back({id, ++state.issued, int64_t(bytes)});
}

void Engine::refuseWork(AgentId id, uint32_t mbarrier) {
  BarrierState &state = barrierAt(mbarrier);
  for (const BarrierState::Pending &pending : state.pending)
    if (pending.agent == id)
      refusals.push_back({state.component, pending.step});
}

/// PTX ISA, clusterlaunchcontrol.try_cancel: undefined in a CTA that has
/// observed that an earlier request failed.
void Engine::requestWork(const Actor &issuer) {
  const WarpState &warp = stateOf(*issuer.warp);
  if (llvm::any_of(refusals, [&](const auto &refusal) {
        auto [component, step] = refusal;
        return knows(warp, issuer.lane, component, step);
      }))
    cluster.report("request-after-refusal",
                   "the thread knows that an earlier request has failed, and a "
                   "further one is undefined behaviour",
                   issuer);
}

void Engine::agentAccess(AgentId id, const Actor &issuer, MemSpace space,
                         AccessKind kind, Proxy proxy,
                         const AccessRange *ranges, size_t count,
                         uint32_t mbarrier) {
  WarpState &warp = stateOf(*issuer.warp);
  ThreadComponents &own = threads[threadOf(warp, issuer.lane)];
  Agent &agent = agents[id];
  Access access{&warp, unsigned(issuer.lane),        issuer.inst, space, kind,
                proxy, kind == AccessKind::Reduction};
  access.stamp.site =
      siteOf(*issuer.warp, *issuer.inst, kind, proxy, access.strong);
  access.stamp.step = agent.step;
  uint32_t component = 0;
  switch (agent.kind) {
  case AgentKind::TensorPipe:
    component = own.pipe;
    access.ordered = true;
    break;
  case AgentKind::BulkStore:
    component = kind == AccessKind::Read ? own.bulkRead : own.bulkWrite;
    break;
  case AgentKind::CpAsync:
    component = own.cpAsync;
    break;
  case AgentKind::BulkLoad: {
    BarrierState &state = barrierAt(mbarrier);
    component = state.component;
    access.stamp.step = state.issued;
    for (auto &pending : state.pending)
      if (pending.agent == id)
        access.stamp.step = pending.step;
    noteIssue(component, access.stamp.step, threadOf(warp, issuer.lane),
              warp.step[issuer.lane]);
    break;
  }
  case AgentKind::Commit:
    return;
  }
  access.stamp.component = full(component);
  OpenShadow open;
  for (size_t i = 0; i < count; ++i)
    for (uint32_t row = 0; row < ranges[i].rows; ++row) {
      uint64_t address = ranges[i].address + row * ranges[i].stride;
      if (space == MemSpace::Shared) {
        sharedRange(access, address, ranges[i].bytes);
        followUndefined(access, address, ranges[i].bytes);
      } else
        globalRange(access, address, ranges[i].bytes, open);
    }
}

void Engine::agentTensorAccess(AgentId id, const Actor &issuer, AccessKind kind,
                               const TensorRange *ranges, size_t count) {
  WarpState &warp = stateOf(*issuer.warp);
  ThreadComponents &own = threads[threadOf(warp, issuer.lane)];
  Access access{&warp, unsigned(issuer.lane), issuer.inst, tensorSpace,
                kind,  Proxy::Tensor,         false};
  access.ordered = true;
  access.isByRow = kind == AccessKind::Read; // A, or scale factors.
  access.stamp = {
      full(own.pipe), agents[id].step,
      siteOf(*issuer.warp, *issuer.inst, kind, Proxy::Tensor, false)};
  for (size_t i = 0; i < count; ++i)
    tensorRange(access, ranges[i]);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void Engine::bulkCommit(const Warp &warp, const Inst &, LaneMask mask) {
  WarpState &state = stateOf(warp);
  forEachLane(mask,
              [&](unsigned l) { ++threads[threadOf(state, l)].bulkGroup; });
}

void Engine::bulkWait(const Warp &warp, const Inst &, LaneMask mask,
                      uint32_t pending, bool read) {
  WarpState &state = stateOf(warp);
  forEachLane(mask, [&](unsigned l) {
    auto it = threads.find(threadOf(state, l));
    if (it == threads.end() || !it->second.bulkRead ||
        it->second.bulkGroup <= pending)
      return;
    const ThreadComponents &own = it->second;
    state.steps[l].raise(own.bulkRead, own.bulkGroup - pending);
    if (!read)
      state.steps[l].raise(own.bulkWrite, own.bulkGroup - pending);
  });
}

void Engine::cpAsyncCommit(const Warp &warp, const Inst &, LaneMask mask) {
  WarpState &state = stateOf(warp);
  forEachLane(mask, [&](unsigned l) { ++threads[threadOf(state, l)].cpGroup; });
}

void Engine::cpAsyncWait(const Warp &warp, const Inst &, LaneMask mask,
                         uint32_t pending) {
  WarpState &state = stateOf(warp);
  forEachLane(mask, [&](unsigned l) {
    auto it = threads.find(threadOf(state, l));
    if (it == threads.end() || !it->second.cpAsync ||
        it->second.cpGroup <= pending)
      return;
    state.steps[l].raise(it->second.cpAsync, it->second.cpGroup - pending);
  });
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

void Engine::tensorAlloc(const Warp &, const Inst &, Cta &cta, uint32_t column,
                         uint32_t columns) {
  auto &shadow = tensor[cta.rank];
  if (!shadow)
    shadow = std::make_unique<Shadow>(tensorLanes * tensorColumns);
  for (unsigned lane = 0; lane < tensorLanes; ++lane)
    shadow->clear(lane * tensorColumns + column, columns);
}

/// Every access to the columns must have happened before they are freed.
void Engine::tensorDealloc(const Warp &warp, const Inst &inst, Cta &cta,
                           uint32_t column, uint32_t columns) {
  WarpState &state = stateOf(warp);
  unsigned lane = __builtin_ctz(warp.live);
  Access access{&state,        lane, &inst, tensorSpace, AccessKind::Write,
                Proxy::Tensor, false};
  access.ordered = true;
  access.frees = true;
  access.stamp = {full(threadOf(state, lane)), state.step[lane],
                  siteOf(warp, inst, AccessKind::Write, Proxy::Tensor, false)};
  tensorRange(access, {uint16_t(cta.rank), 0, 128, uint16_t(column),
                       uint16_t(columns)});
}

void Engine::tensorAccess(const Warp &warp, const Inst &inst, LaneMask mask,
                          AccessKind kind, const TensorRange *ranges,
                          size_t count) {
  WarpState &state = stateOf(warp);
  bool load = kind == AccessKind::Read;
  uint32_t &base = load ? state.loads : state.stores;
  uint32_t &steps = load ? state.loadSteps : state.storeSteps;
  if (!base)
    base = newComponent(load ? ComponentKind::TensorLoad
                             : ComponentKind::TensorStore,
                        state.firstThread);
  ++steps;
  unsigned first = __builtin_ctz(mask);
  noteIssue(base, steps, threadOf(state, first), state.step[first]);
  Access access{&state, 0, &inst, tensorSpace, kind, Proxy::Tensor, false};
  access.isByRow = load && isAnyWritten(ranges, count);
  access.stamp = {full(base), steps,
                  siteOf(warp, inst, kind, Proxy::Tensor, false)};
  access.lane = count ? ranges[0].thread : 0;
  for (size_t i = 0; i < count; ++i) {
    if (access.lane != ranges[i].thread)
      turnToLane(access, ranges[i].thread);
    tensorRange(access, ranges[i]);
  }
  if (!load)
    return;
  // The registers' values arrive later.
  for (unsigned r = 0; r < inst.numResults; ++r) {
    const Operand &op = cluster.grid.program->operands[inst.firstOperand + r];
    if (!op.sink)
      state.pending.set(op, steps, false);
  }
  const_cast<Warp &>(warp).pendingLoads.assign(1, steps);
}

void Engine::tensorWait(const Warp &warp, const Inst &, LaneMask mask,
                        AccessKind kind) {
  WarpState &state = stateOf(warp);
  bool load = kind == AccessKind::Read;
  uint32_t base = load ? state.loads : state.stores;
  uint32_t steps = load ? state.loadSteps : state.storeSteps;
  if (load) {
    state.pending.arrived = steps;
    const_cast<Warp &>(warp).pendingLoads.clear();
  }
  learnOfLanes(state);
  if (!base)
    return;
  forEachLane(mask, [&](unsigned l) { state.steps[l].raise(base, steps); });
}
