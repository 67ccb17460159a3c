//===- CpAsync.cpp - non-bulk cp.async -----------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BulkOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;
using llvm::formatv;

namespace {

/// A thread's copy of 4, 8 or 16 bytes, with zero fill.
class CpAsyncOp : public OpBase {
public:
  using OpBase::OpBase;
  AsyncWork work() const override {
    AsyncWork result;
    result.kind = AsyncWork::CopyAsync;
    result.bytes = bytes;
    if (sourceBytes)
      result.global.push_back({from, sourceBytes});
    return result;
  }
  bool step(Cluster &cluster, Random &) override {
    std::memset(destination, 0, bytes);
    if (sourceBytes)
      std::memcpy(destination, source, sourceBytes);
    CopyGroups &groups =
        asyncState(*warp->cta).cpAsync[warp->index * warpSize + lane];
    --groups.group(group).writes;
    groups.trim();
    cluster.advance();
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }
  uint8_t *destination = nullptr;
  const uint8_t *source = nullptr;
  uint64_t from = 0; ///< The address of `source`.
  uint32_t bytes = 0, sourceBytes = 0;
  uint64_t group = 0;
};

/// cp.async.mbarrier.arrive, which arrives when the thread's earlier copies are
/// complete.
class CpAsyncArrive : public OpBase {
public:
  using OpBase::OpBase;
  AsyncWork work() const override { return {}; }
  bool step(Cluster &cluster, Random &) override {
    cluster.arrive(mbarrier, 1, actor(), completionOrder());
    if (cluster.checker)
      cluster.checker->endAgent(agent);
    return true;
  }
  uint32_t mbarrier = 0;
};

struct CpAsyncForm {
  uint32_t bytes = 0;
  int sourceBytes = -1, ignore = -1;
  AddressSpace space = AddressSpace::Shared;
};

} // namespace

static Flow runCopy(Exec &exec, const Inst &inst) {
  const auto &form = *static_cast<const CpAsyncForm *>(inst.extra);
  forEachLane(exec.mask, [&](unsigned lane) {
    auto to = sharedAddress(exec, inst, 0, lane, AddressSpace::OwnShared);
    if (!to)
      return;
    uint64_t from = exec.value(inst, 1, lane);
    uint32_t count = form.bytes;
    if (form.sourceBytes >= 0)
      count = exec.value(inst, form.sourceBytes, lane);
    if (form.ignore >= 0 && exec.value(inst, form.ignore, lane))
      count = 0;
    if (count > form.bytes) {
      exec.report(inst, "out-of-bounds",
                  formatv("source size {0} is over the copy's {1} bytes", count,
                          form.bytes)
                      .str(),
                  lane);
      return;
    }
    auto op = std::make_unique<CpAsyncOp>(exec, inst, lane);
    op->bytes = form.bytes;
    op->sourceBytes = count;
    op->from = from;
    op->destination = checkShared(exec, inst, lane, *to, form.bytes, form.bytes,
                                  "destination");
    if (count)
      op->source =
          checkGlobal(exec, inst, lane, from, count, form.bytes, "source");
    if (!op->destination || (count && !op->source))
      return;
    uint32_t thread = exec.warp.index * warpSize + lane;
    CopyGroups &groups = asyncState(exec.cta).cpAsync[thread];
    op->group = groups.open();
    ++groups.group(op->group).writes;
    if (ClusterChecker *checker = exec.checker()) {
      op->agent = beginAgent(exec, inst, lane, AgentKind::CpAsync);
      AccessRange source{from, count}, destination{*to, form.bytes};
      if (count)
        checker->agentAccess(op->agent, op->actor(), MemSpace::Global,
                             AccessKind::Read, Proxy::Generic, &source, 1);
      checker->agentAccess(op->agent, op->actor(), MemSpace::Shared,
                           AccessKind::Write, Proxy::Generic, &destination, 1);
    }
    exec.cluster.async.issue(std::move(op),
                             cpAsyncQueue(exec.warp.threadBase + lane));
  });
  return Flow::Next;
}

static Flow runCommit(Exec &exec, const Inst &inst) {
  forEachLane(exec.mask, [&](unsigned lane) {
    asyncState(exec.cta).cpAsync[exec.warp.index * warpSize + lane].commit();
  });
  if (ClusterChecker *checker = exec.checker())
    checker->cpAsyncCommit(exec.warp, inst, exec.mask);
  return Flow::Next;
}

/// form: groups that may be outstanding; wait_all: all ones.
static Flow runWait(Exec &exec, const Inst &inst) {
  bool all = inst.form == ~0ull;
  uint32_t pending = all ? 0 : inst.form;
  bool done = true;
  forEachLane(exec.mask, [&](unsigned lane) {
    CopyGroups &groups =
        asyncState(exec.cta).cpAsync[exec.warp.index * warpSize + lane];
    done &= all ? groups.idle() : groups.complete(pending, false);
  });
  if (!done) {
    BlockReason reason;
    reason.kind = BlockReason::AsyncGroup;
    reason.value = pending;
    return exec.block(reason);
  }
  if (ClusterChecker *checker = exec.checker()) {
    if (all)
      checker->cpAsyncCommit(exec.warp, inst, exec.mask);
    checker->cpAsyncWait(exec.warp, inst, exec.mask, pending);
  }
  return Flow::Next;
}

/// form: 1 for .noinc.
static Flow runArrive(Exec &exec, const Inst &inst) {
  forEachLane(exec.mask, [&](unsigned lane) {
    auto address = sharedAddress(exec, inst, 0, lane, AddressSpace::OwnShared);
    if (!address)
      return;
    Actor actor = exec.actor(inst, lane);
    Mbarrier *barrier = exec.cluster.expectMbarrier(*address, actor);
    if (!barrier)
      return;
    if (!inst.form)
      ++barrier->pending;
    auto op = std::make_unique<CpAsyncArrive>(exec, inst, lane);
    op->mbarrier = *address;
    op->agent = beginAgent(exec, inst, lane, AgentKind::Commit);
    exec.cluster.async.issue(std::move(op),
                             cpAsyncQueue(exec.warp.threadBase + lane));
  });
  return Flow::Next;
}

static bool decodeCopy(DecodeContext &context) {
  CpAsyncForm form;
  bool bypass = context.takeOneOf({"ca", "cg"}) == 1;
  if (context.takeOneOf({"shared::cta", "shared"}) < 0 ||
      !context.take("global"))
    return context.unsupported();
  bool policy = context.take("L2::cache_hint");
  context.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
  auto bytes = context.immediate(2);
  if (!bytes || (*bytes != 4 && *bytes != 8 && *bytes != 16) ||
      (bypass && *bytes != 16))
    return context.error("the copy's size must be 4, 8 or 16, and 16 with .cg");
  form.bytes = *bytes;
  if (!context.addAddress(0) || !context.addAddress(1))
    return false;
  unsigned source = 3, operand = 2;
  if (context.numSources() > source + policy) {
    if (context.isPredicate(source)) {
      form.ignore = operand++;
      if (!context.addOperand(source++, 0))
        return false;
    } else {
      form.sourceBytes = operand++;
      if (!context.addOperand(source++, 4))
        return false;
    }
  }
  if (policy && !context.addOperand(source, 8))
    return false;
  context.inst.handler = runCopy;
  context.inst.extra = context.program().keepAlive(form);
  return true;
}

static bool decodeWait(DecodeContext &context) {
  auto pending = context.immediate(0);
  if (!pending || *pending < 0)
    return context.error("expected an integer constant");
  context.inst.form = *pending;
  context.inst.handler = runWait;
  return true;
}

static bool decodeArrive(DecodeContext &context) {
  context.inst.form = context.take("noinc");
  context.takeOneOf({"shared::cta", "shared"});
  if (!context.take("b64"))
    return context.unsupported();
  context.inst.handler = runArrive;
  return context.addAddress(0);
}

void fa4::sim::registerCpAsyncOpcodes(OpcodeTable &table) {
  table.add("cp.async", decodeCopy);
  table.add("cp.async.commit_group", [](DecodeContext &context) {
    context.inst.handler = runCommit;
    return true;
  });
  table.add("cp.async.wait_all", [](DecodeContext &context) {
    context.inst.form = ~0ull;
    context.inst.handler = runWait;
    return true;
  });
  table.add("cp.async.wait_group", decodeWait);
  table.add("cp.async.mbarrier.arrive", decodeArrive);
}
