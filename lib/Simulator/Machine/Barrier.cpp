//===- Barrier.cpp - named and cluster barriers, fences -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Parallel Synchronization and Communication Instructions":
// barrier{.cta}, bar, barrier.cluster, membar, fence.
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

/// Completes the barrier if all expected threads have arrived. A barrier
/// without a count expects all threads that have not exited.
static bool tryComplete(Cluster &cluster, NamedBarrier &barrier) {
  if (barrier.arrived == 0 || barrier.arrived < barrier.expected)
    return false;
  barrier.result = barrier.reduction;
  barrier.resultReducers = barrier.reducers;
  barrier.reduction = barrier.reducers = 0;
  barrier.arrived = barrier.expected = 0;
  barrier.all = false;
  ++barrier.generation;
  cluster.advance();
  return true;
}

void Cluster::recheckBarriers(Cta &cta) {
  for (NamedBarrier &barrier : cta.barriers)
    if (barrier.all) {
      barrier.expected = cta.liveThreads;
      if (tryComplete(*this, barrier) && timer)
        timer->namedComplete(cta, &barrier - cta.barriers);
    }
  if (liveThreads && clusterArrived == liveThreads) {
    clusterArrived = 0;
    ++clusterGeneration;
    advance();
  }
}

namespace {

enum class BarrierKind : uint8_t { Sync, Arrive, Popc, And, Or };

struct BarrierForm {
  BarrierKind kind = BarrierKind::Sync;
  bool aligned = false, counted = false;
};

bool isReduction(BarrierKind kind) { return kind >= BarrierKind::Popc; }

/// Returns the barrier that the lanes name, or null after a report.
NamedBarrier *findBarrier(Exec &x, const Inst &inst, unsigned operand,
                          uint32_t &id) {
  unsigned first = __builtin_ctz(x.mask);
  id = x.value(inst, operand, first);
  bool same = true;
  forEachLane(x.mask, [&](unsigned l) {
    same &= uint32_t(x.value(inst, operand, l)) == id;
  });
  if (!same || id > 15) {
    x.report(inst, "barrier-id",
             same
                 ? llvm::formatv("barrier {0} does not exist; there are 16", id)
                       .str()
                 : std::string("lanes of a warp name different barriers"),
             first);
    return nullptr;
  }
  return &x.cta.barriers[id];
}

/// Adds the lanes to the barrier; false after a report.
bool arriveAt(Exec &x, const Inst &inst, const BarrierForm &form,
              NamedBarrier &barrier, uint32_t id, unsigned countOperand,
              LaneMask reductionInput) {
  uint32_t lanes = __builtin_popcount(x.mask), count = lanes;
  bool all = !form.counted;
  uint32_t expected = x.cta.liveThreads;
  if (form.counted) {
    expected = x.value(inst, countOperand, __builtin_ctz(x.mask));
    // With .aligned the whole warp arrives and counts with all of its lanes.
    if (form.aligned)
      count = warpSize;
    if (expected == 0 || expected % warpSize || expected > 1024) {
      x.report(
          inst, "barrier-count",
          llvm::formatv("thread count {0} of barrier {1} is not a multiple "
                        "of {2} in {2}..1024",
                        expected, id, warpSize)
              .str());
      return false;
    }
  }
  if (barrier.arrived && (barrier.expected != expected || barrier.all != all)) {
    x.report(inst, "barrier-count",
             llvm::formatv("barrier {0} is used with {1} threads while {2} of "
                           "{3} have arrived",
                           id, expected, barrier.arrived, barrier.expected)
                 .str());
    return false;
  }
  barrier.all = all;
  barrier.expected = expected;
  if (barrier.arrived + count > expected) {
    x.report(
        inst, "barrier-over-arrival",
        llvm::formatv("{0} threads arrive at barrier {1}, where {2} of {3} "
                      "have arrived",
                      count, id, barrier.arrived, expected)
            .str());
    return false;
  }
  barrier.arrived += count;
  barrier.history.note(&inst, &x.warp, barrier.generation).arrivals += count;
  if (isReduction(form.kind)) {
    barrier.reduction += __builtin_popcount(reductionInput & x.mask);
    barrier.reducers += lanes;
  }
  if (ClusterChecker *checker = x.checker())
    checker->barrierArrive(x.warp, inst, x.mask, x.cta, id, barrier.generation);
  x.cluster.advance();
  return true;
}

void writeResult(Exec &x, const Inst &inst, const BarrierForm &form,
                 const NamedBarrier &barrier) {
  const Operand &d = x.operand(inst, 0);
  switch (form.kind) {
  case BarrierKind::Popc:
    if (!d.sink)
      forEachLane(x.mask, [&](unsigned l) {
        x.write<uint32_t>(d)[l] = barrier.result;
      });
    break;
  case BarrierKind::And:
    x.setPredicate(d, barrier.result == barrier.resultReducers ? allLanes : 0);
    break;
  case BarrierKind::Or:
    x.setPredicate(d, barrier.result ? allLanes : 0);
    break;
  default:
    break;
  }
}

/// Operands: [d,] barrier [, count] [, p].
Flow barrier(Exec &x, const Inst &inst) {
  const BarrierForm &form = *static_cast<const BarrierForm *>(inst.extra);
  unsigned at = inst.numResults;
  uint32_t id;
  NamedBarrier *b = findBarrier(x, inst, at, id);
  if (!b)
    return Flow::Next;
  Fragment &fragment = *x.frag;
  if (!fragment.arrived) {
    LaneMask input = isReduction(form.kind)
                         ? x.predicate(x.operand(inst, inst.numOperands - 1))
                         : 0;
    uint64_t generation = b->generation;
    if (!arriveAt(x, inst, form, *b, id, at + 1, input))
      return Flow::Next;
    if (x.cluster.timer)
      x.cluster.timer->namedArrive(x.cta, id);
    if (tryComplete(x.cluster, *b) && x.cluster.timer)
      x.cluster.timer->namedComplete(x.cta, id);
    if (form.kind == BarrierKind::Arrive)
      return Flow::Next;
    fragment.arrived = true;
    fragment.token = generation;
  }
  if (b->generation > fragment.token) {
    fragment.arrived = false;
    writeResult(x, inst, form, *b);
    if (x.cluster.timer)
      x.cluster.timer->namedLeave(x.cta, id);
    if (ClusterChecker *checker = x.checker())
      checker->barrierLeave(x.warp, inst, x.mask, x.cta, id, fragment.token);
    return Flow::Next;
  }
  BlockReason reason;
  reason.kind = BlockReason::NamedBarrier;
  reason.value = id;
  reason.count = b->expected;
  return x.block(reason);
}

/// bar is barrier.aligned; both may say .cta.
bool decodeNamed(DecodeContext &c, bool isBar) {
  c.take("cta");
  BarrierForm form;
  int kind = c.takeOneOf({"sync", "arrive", "red"});
  if (kind < 0)
    return c.unsupported();
  int op = kind == 2 ? c.takeOneOf({"popc", "and", "or"}) : 0;
  form.aligned = c.take("aligned") || isBar;
  if (op < 0)
    return c.unsupported();
  if (kind == 2 && !c.take(op == 0 ? "u32" : "pred"))
    return c.unsupported();
  if (!c.peek().empty())
    return c.unsupported();
  form.kind = kind == 2 ? BarrierKind(unsigned(BarrierKind::Popc) + op)
                        : BarrierKind(kind);
  unsigned fixed = kind == 2 ? 3 : 1; // d, a, p
  unsigned n = c.numSources();
  if (n != fixed && n != fixed + 1)
    return c.error("wrong number of operands");
  form.counted = n == fixed + 1;
  if (kind == 1 && !form.counted)
    return c.error("barrier.arrive needs a thread count");
  if (form.aligned)
    c.inst.flags |= Inst::Aligned;
  c.inst.handler = barrier;
  c.inst.extra = c.program().keepAlive(form);
  unsigned i = 0;
  if (kind == 2 && !c.addOperand(i++, op == 0 ? 4 : 0, true))
    return false;
  if (!c.addOperand(i++, 4) || (form.counted && !c.addOperand(i++, 4)))
    return false;
  return kind != 2 || c.addOperand(i, 0);
}
bool decodeBar(DecodeContext &c) { return decodeNamed(c, true); }
bool decodeBarrier(DecodeContext &c) { return decodeNamed(c, false); }

//===----------------------------------------------------------------------===//
// Cluster barrier
//===----------------------------------------------------------------------===//

/// form: the semantics.
Flow clusterArrive(Exec &x, const Inst &inst) {
  Cluster &cluster = x.cluster;
  SyncOrder order{Semantics(inst.form), Scope::Cluster};
  uint64_t generation = cluster.clusterGeneration;
  bool twice = false;
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t &pending = cluster.clusterPending[x.warp.threadBase + l];
    twice |= pending != 0;
    pending = generation + 1;
  });
  if (twice) {
    x.report(inst, "cluster-barrier",
             "barrier.cluster.arrive again without barrier.cluster.wait");
    return Flow::Next;
  }
  if (ClusterChecker *checker = x.checker())
    checker->clusterArrive(x.warp, inst, x.mask, generation, order);
  if (cluster.timer)
    cluster.timer->clusterArrive(order.semantics != Semantics::Relaxed);
  cluster.clusterArrived += __builtin_popcount(x.mask);
  if (cluster.clusterArrived == cluster.liveThreads) {
    cluster.clusterArrived = 0;
    ++cluster.clusterGeneration;
  }
  cluster.advance();
  return Flow::Next;
}

Flow clusterWait(Exec &x, const Inst &inst) {
  Cluster &cluster = x.cluster;
  bool missing = false, ready = true;
  uint64_t generation = 0;
  forEachLane(x.mask, [&](unsigned l) {
    uint64_t pending = cluster.clusterPending[x.warp.threadBase + l];
    missing |= pending == 0;
    generation = pending - 1;
    ready &= cluster.clusterGeneration >= pending;
  });
  if (missing) {
    x.report(inst, "cluster-barrier",
             "barrier.cluster.wait without barrier.cluster.arrive");
    return Flow::Next;
  }
  if (!ready) {
    BlockReason reason;
    reason.kind = BlockReason::ClusterBarrier;
    reason.value = cluster.clusterGeneration;
    return x.block(reason);
  }
  forEachLane(x.mask, [&](unsigned l) {
    cluster.clusterPending[x.warp.threadBase + l] = 0;
  });
  if (cluster.timer)
    cluster.timer->clusterLeave();
  if (ClusterChecker *checker = x.checker())
    checker->clusterWait(x.warp, inst, x.mask, generation,
                         {Semantics(inst.form), Scope::Cluster});
  return Flow::Next;
}

bool decodeClusterBarrier(DecodeContext &c) {
  int kind = c.takeOneOf({"arrive", "wait"});
  if (kind < 0)
    return c.unsupported();
  int order = kind == 0 ? c.takeOneOf({"release", "relaxed"})
                        : c.takeOneOf({"acquire"});
  c.take("aligned");
  if (!c.peek().empty() || c.numSources() != 0)
    return c.unsupported();
  Semantics semantics = kind == 1    ? Semantics::Acquire
                        : order == 1 ? Semantics::Relaxed
                                     : Semantics::Release;
  c.inst.form = uint64_t(semantics);
  c.inst.handler = kind ? clusterWait : clusterArrive;
  return true;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

struct FenceForm {
  FenceKind kind = FenceKind::Memory;
  SyncOrder order{Semantics::AcqRel, Scope::Sys};
  uint8_t spaces = ProxyAll;
  uint32_t bytes = 0;
};

Flow fence(Exec &x, const Inst &inst) {
  const FenceForm &form = *static_cast<const FenceForm *>(inst.extra);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  ClusterChecker *checker = x.checker();
  if (!checker)
    return Flow::Next;
  uint64_t addresses[warpSize] = {};
  if (form.bytes)
    forEachLane(x.mask,
                [&](unsigned l) { addresses[l] = x.value(inst, 0, l); });
  FenceEvent event{&x.warp,
                   &inst,
                   x.mask,
                   form.kind,
                   form.order,
                   form.spaces,
                   form.bytes ? addresses : nullptr,
                   form.bytes};
  checker->fence(event);
  return Flow::Next;
}

bool finishFence(DecodeContext &c, const FenceForm &form) {
  if (!c.peek().empty())
    return c.unsupported();
  if (c.numSources() != (form.bytes ? 2u : 0u))
    return c.error("wrong number of operands");
  c.inst.handler = fence;
  c.inst.extra = c.program().keepAlive(form);
  c.inst.flags |= Inst::NoResult;
  return !form.bytes || c.addAddress(0);
}

bool takeProxy(DecodeContext &c, FenceForm &form) {
  int kind = c.takeOneOf({"alias", "async", "tensormap::generic",
                          "async::generic", "async.global"});
  switch (kind) {
  case 0:
    form.kind = FenceKind::ProxyAlias;
    return true;
  case 1: {
    form.kind = FenceKind::ProxyAsync;
    int space = c.takeOneOf({"global", "shared::cta", "shared::cluster"});
    form.spaces = space < 0 ? ProxyAll : 1 << space;
    // The cluster's shared memory includes the own CTA's.
    if (space == 2)
      form.spaces = ProxySharedCta | ProxySharedCluster;
    return true;
  }
  case 2:
    form.kind = FenceKind::ProxyTensorMap;
    if (c.take("acquire"))
      form.order.semantics = Semantics::Acquire;
    else if (c.take("release"))
      form.order.semantics = Semantics::Release;
    else
      return false;
    if (form.order.semantics == Semantics::Acquire)
      form.bytes = 128;
    return takeScope(c, form.order.scope);
  case 3: {
    form.kind = FenceKind::AsyncGeneric;
    int side = c.takeOneOf({"acquire", "release"});
    int space = c.takeOneOf(
        {"sync_restrict::shared::cluster", "sync_restrict::shared::cta"});
    form.order.semantics = side ? Semantics::Release : Semantics::Acquire;
    form.spaces = space ? ProxySharedCta : ProxySharedCta | ProxySharedCluster;
    return side >= 0 && space >= 0 && takeScope(c, form.order.scope);
  }
  default:
    return false;
  }
}

bool decodeFence(DecodeContext &c) {
  FenceForm form;
  if (c.take("proxy"))
    return takeProxy(c, form) ? finishFence(c, form) : c.unsupported();
  if (c.take("mbarrier_init")) {
    form.kind = FenceKind::MbarrierInit;
    form.order = {Semantics::Release, Scope::Cluster};
    return c.take("release") && c.take("cluster") ? finishFence(c, form)
                                                  : c.unsupported();
  }
  int s = c.takeOneOf({"acq_rel", "sc", "acquire", "release"});
  static constexpr Semantics kinds[] = {Semantics::AcqRel, Semantics::Sc,
                                        Semantics::Acquire, Semantics::Release};
  form.order.semantics = s < 0 ? Semantics::AcqRel : kinds[s];
  int space = c.takeOneOf(
      {"sync_restrict::shared::cluster", "sync_restrict::shared::cta"});
  if (space >= 0) {
    form.kind = FenceKind::SyncRestrict;
    form.spaces = space ? ProxySharedCta : ProxySharedCta | ProxySharedCluster;
  }
  if (!takeScope(c, form.order.scope))
    return c.unsupported();
  return finishFence(c, form);
}

bool decodeMembar(DecodeContext &c) {
  FenceForm form;
  form.order.semantics = Semantics::Sc;
  if (c.take("proxy"))
    return takeProxy(c, form) ? finishFence(c, form) : c.unsupported();
  int level = c.takeOneOf({"cta", "gl", "sys"});
  static constexpr Scope scopes[] = {Scope::Cta, Scope::Gpu, Scope::Sys};
  if (level < 0)
    return c.unsupported();
  form.order.scope = scopes[level];
  return finishFence(c, form);
}

} // namespace

void fa4::sim::registerBarrierOpcodes(OpcodeTable &table) {
  table.add("bar", decodeBar);
  table.add("barrier", decodeBarrier);
  table.add("barrier.cluster", decodeClusterBarrier);
  table.add("fence", decodeFence);
  table.add("membar", decodeMembar);
}
