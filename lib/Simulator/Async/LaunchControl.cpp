//===- LaunchControl.cpp - clusterlaunchcontrol --------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// try_cancel takes a cluster that has not started out of the grid's queue. The
// 16-byte response is opaque; ours: byte 0 whether it was taken, bytes 4..15
// the first CTA's %ctaid.
//
//===----------------------------------------------------------------------===//

#include "BulkOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;

namespace {
class CancelOp : public OpBase {
public:
  using OpBase::OpBase;
  AsyncWork work() const override {
    AsyncWork result;
    result.kind = AsyncWork::Cancel;
    result.targets = targets.size();
    return result;
  }
  bool step(Cluster &cluster, Random &random) override {
    if (!order.isStarted()) {
      uint64_t index;
      uint32_t first[3] = {};
      response[0] = cluster.grid.takeCluster(index, first);
      if (response[0])
        ++cluster.grid.doneClusters;
      std::memcpy(response + 1, first, sizeof(first));
      order.start(targets.size(), 1);
      if (cluster.checker && !response[0])
        for (const LoadTarget &target : targets)
          cluster.checker->refuseWork(agent, target.mbarrier);
    }
    const LoadTarget &target = targets[order.take(random).first];
    if (uint8_t *to = cluster.resolveShared(target.data, 16))
      std::memcpy(to, response, 16);
    cluster.completeTx(target.mbarrier, 16, actor(), completionOrder());
    if (!order.empty())
      return false;
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }
  uint32_t response[4] = {};
  llvm::SmallVector<LoadTarget, 2> targets;
  PieceOrder order;
};
} // namespace

/// form: multicast to all CTAs of the cluster.
static Flow runTryCancel(Exec &exec, const Inst &inst) {
  forEachLane(exec.mask, [&](unsigned lane) {
    auto to = sharedAddress(exec, inst, 0, lane, AddressSpace::OwnShared);
    auto barrier = sharedAddress(exec, inst, 1, lane, AddressSpace::OwnShared);
    if (!to || !barrier ||
        !checkShared(exec, inst, lane, *to, 16, 16, "response"))
      return;
    auto op = std::make_unique<CancelOp>(exec, inst, lane);
    uint32_t all = (1u << exec.cluster.ctas.size()) - 1;
    if (!loadTargets(exec, inst, lane, *to, *barrier, inst.form, all, 0,
                     op->targets))
      return;
    if (ClusterChecker *checker = exec.checker()) {
      checker->requestWork(exec.actor(inst, lane));
      op->agent = beginAgent(exec, inst, lane, AgentKind::BulkLoad);
      for (const LoadTarget &target : op->targets) {
        checker->agentWillComplete(op->agent, target.mbarrier, 16);
        AccessRange range{target.data, 16};
        checker->agentAccess(op->agent, op->actor(), MemSpace::Shared,
                             AccessKind::Write, Proxy::Async, &range, 1,
                             target.mbarrier);
      }
    }
    exec.cluster.async.issue(std::move(op));
  });
  return Flow::Next;
}

/// The response's low half is in the register's first 32 slots.
static Flow runIsCanceled(Exec &exec, const Inst &inst) {
  const uint64_t *low = exec.read<uint64_t>(inst, 1);
  LaneMask bits = 0;
  forEachLane(exec.mask,
              [&](unsigned lane) { bits |= LaneMask(low[lane] & 1) << lane; });
  exec.setPredicate(exec.operand(inst, 0), bits);
  return Flow::Next;
}

static uint32_t ctaIdOf(const uint64_t *halves, unsigned lane, unsigned axis) {
  uint64_t low = halves[lane], high = halves[warpSize + lane];
  return axis == 0 ? low >> 32 : axis == 1 ? uint32_t(high) : high >> 32;
}

/// form: axis, or 3 for the vector form (x, y, z, unused).
static Flow runFirstCtaId(Exec &exec, const Inst &inst) {
  unsigned results = inst.form == 3 ? 4 : 1;
  const uint64_t *halves = exec.read<uint64_t>(inst, results);
  for (unsigned r = 0; r < results; ++r) {
    const Operand &op = exec.operand(inst, r);
    if (op.sink)
      continue;
    uint32_t *to = exec.write<uint32_t>(op);
    unsigned axis = inst.form == 3 ? r : inst.form;
    forEachLane(exec.mask, [&](unsigned lane) {
      to[lane] = axis == 3 ? 0 : ctaIdOf(halves, lane, axis);
    });
  }
  return Flow::Next;
}

static bool decodeTryCancel(DecodeContext &context) {
  if (!context.take("async"))
    return context.unsupported();
  context.takeOneOf({"shared::cta"});
  if (!context.take("mbarrier::complete_tx::bytes"))
    return context.unsupported();
  context.inst.form = context.take("multicast::cluster::all");
  if (!context.take("b128"))
    return context.unsupported();
  context.inst.handler = runTryCancel;
  return context.addAddress(0) && context.addAddress(1);
}

static bool decodeIsCanceled(DecodeContext &context) {
  if (!context.take("pred") || !context.take("b128"))
    return context.unsupported();
  context.inst.handler = runIsCanceled;
  return context.addOperand(0, 0, true) && context.addOperand(1, 16);
}

static bool decodeFirstCtaId(DecodeContext &context) {
  int axis = context.takeOneOf(
      {"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"});
  if (axis < 0 && !context.take("get_first_ctaid"))
    return context.unsupported();
  context.takeOneOf({"v4"});
  if (!context.take("b32") || !context.take("b128"))
    return context.unsupported();
  context.inst.form = axis < 0 ? 3 : axis;
  context.inst.handler = runFirstCtaId;
  if (axis < 0)
    return context.addVector(0, 4, true) == 4 && context.addOperand(1, 16);
  return context.addOperand(0, 4, true) && context.addOperand(1, 16);
}

void fa4::sim::registerLaunchControlOpcodes(OpcodeTable &table) {
  table.add("clusterlaunchcontrol.try_cancel", decodeTryCancel);
  table.add("clusterlaunchcontrol.query_cancel.is_canceled", decodeIsCanceled);
  table.add("clusterlaunchcontrol.query_cancel", decodeFirstCtaId);
}
