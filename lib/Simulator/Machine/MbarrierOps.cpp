//===- MbarrierOps.cpp - mbarrier instructions ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "mbarrier" instructions. The opaque state that arrive returns and
// test_wait takes is (phase << 20 | pending arrivals before the arrive).
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;

namespace {

constexpr unsigned tokenShift = 20;

struct MbarrierForm {
  bool generic = false;
  bool own = false; ///< The mbarrier must be in the executing CTA.
  bool expectTx = false, drop = false, noComplete = false, counted = false;
  bool parity = false, tryWait = false, hasResult = false, remote = false;
  SyncOrder order;
};

/// Determines the shared address of a lane's barrier. Returns false after a
/// report.
bool barrierAddress(Exec &x, const Inst &inst, const MbarrierForm &form,
                    unsigned operand, unsigned lane, uint32_t &address) {
  uint64_t a = x.value(inst, operand, lane);
  if (form.generic) {
    if (Exec::classify(a, a) != MemSpace::Shared) {
      x.report(
          inst, "out-of-bounds",
          llvm::formatv("mbarrier address {0:x} is not in shared memory", a)
              .str(),
          lane);
      return false;
    }
  }
  address = a;
  uint32_t rank = address >> sharedRankShift;
  if (form.own && rank != x.cta.rank && rank < x.cluster.ctas.size()) {
    x.report(inst, "out-of-bounds",
             llvm::formatv("mbarrier address {0:x} is in the shared memory of "
                           "CTA rank {1}, but must be in that of the executing "
                           "CTA",
                           address & sharedOffsetMask, rank)
                 .str(),
             lane);
    return false;
  }
  return true;
}

Flow init(Exec &x, const Inst &inst) {
  const MbarrierForm &form = *static_cast<const MbarrierForm *>(inst.extra);
  forEachLane(x.mask, [&](unsigned l) {
    uint32_t address;
    if (barrierAddress(x, inst, form, 0, l, address))
      x.cluster.initMbarrier(address, x.value(inst, 1, l), x.actor(inst, l));
  });
  return Flow::Next;
}

Flow inval(Exec &x, const Inst &inst) {
  const MbarrierForm &form = *static_cast<const MbarrierForm *>(inst.extra);
  forEachLane(x.mask, [&](unsigned l) {
    uint32_t address;
    if (barrierAddress(x, inst, form, 0, l, address))
      x.cluster.invalMbarrier(address, x.actor(inst, l));
  });
  return Flow::Next;
}

/// form: 1 for complete_tx.
Flow transaction(Exec &x, const Inst &inst) {
  const MbarrierForm &form = *static_cast<const MbarrierForm *>(inst.extra);
  forEachLane(x.mask, [&](unsigned l) {
    uint32_t address;
    if (!barrierAddress(x, inst, form, 0, l, address))
      return;
    uint32_t bytes = x.value(inst, 1, l);
    if (inst.form)
      x.cluster.completeTx(address, bytes, x.actor(inst, l), form.order);
    else
      x.cluster.expectTx(address, bytes, x.actor(inst, l), form.order);
  });
  return Flow::Next;
}

/// Operands: [state,] address [, count or tx-count].
Flow arrive(Exec &x, const Inst &inst) {
  const MbarrierForm &form = *static_cast<const MbarrierForm *>(inst.extra);
  unsigned at = inst.numResults;
  forEachLane(x.mask, [&](unsigned l) {
    uint32_t address;
    if (!barrierAddress(x, inst, form, at, l, address))
      return;
    uint32_t operand = form.counted ? x.value(inst, at + 1, l) : 1;
    uint32_t count = form.expectTx ? 1 : operand;
    uint32_t bytes = form.expectTx ? operand : 0;
    const Mbarrier *barrier = x.cluster.findMbarrier(address);
    if (barrier && form.hasResult) {
      const Operand &d = x.operand(inst, 0);
      if (!d.sink)
        x.write<uint64_t>(d)[l] =
            barrier->phase << tokenShift | barrier->pending;
    }
    if (barrier && form.noComplete && barrier->pending <= count)
      x.report(inst, "barrier-no-complete",
               llvm::formatv("mbarrier.arrive.noComplete completes the phase: "
                             "{0} arrival(s), {1} pending",
                             count, barrier->pending)
                   .str(),
               l);
    x.cluster.arrive(address, count, x.actor(inst, l), form.order, bytes,
                     form.drop);
  });
  return Flow::Next;
}

/// What the lanes of a warp find when they test mbarriers.
struct Tested {
  LaneMask done = 0;
  /// Why a lane is not done, and the phase of its mbarrier.
  BlockReason reason;
  uint64_t phase = 0;
  /// Of the last lane.
  uint32_t address = 0;
  Mbarrier *barrier = nullptr;
};

/// Whether the phase that a lane waits for is complete.
bool isComplete(Exec &x, const Inst &inst, const MbarrierForm &form,
                const Tested &tested, unsigned lane) {
  const Mbarrier &barrier = *tested.barrier;
  uint64_t operand = x.value(inst, 2, lane);
  if (!form.parity) {
    uint64_t phase = operand >> tokenShift;
    if (barrier.phase > phase + 1)
      x.report(inst, "barrier-stale-state",
               llvm::formatv("the state is of phase {0}; the mbarrier is in "
                             "phase {1}, and only the last one can be tested",
                             phase, barrier.phase)
                   .str(),
               lane);
    return barrier.phase > phase;
  }
  if ((barrier.phase & 1) != (operand & 1))
    return true;
  // A suspended thread resumes when the phase completes, even if the next one
  // has completed, too, before it is scheduled.
  const BlockReason &before = x.frag->blocked;
  return before.kind == BlockReason::Mbarrier &&
         before.cta == tested.address >> sharedRankShift &&
         before.address == (tested.address & sharedOffsetMask) &&
         before.value == (operand & 1) && barrier.phase > x.frag->token;
}

/// Lets a lane test its mbarrier. One without a valid mbarrier does not wait.
void test(Exec &x, const Inst &inst, const MbarrierForm &form, unsigned lane,
          Tested &tested) {
  uint32_t address;
  if (!barrierAddress(x, inst, form, 1, lane, address)) {
    tested.done |= 1u << lane;
    return;
  }
  if (!tested.barrier || address != tested.address) {
    tested.reason.isOneObject = !tested.barrier && !tested.done;
    tested.barrier = x.cluster.expectMbarrier(address, x.actor(inst, lane));
  }
  tested.address = address;
  if (!tested.barrier) {
    tested.done |= 1u << lane;
    return;
  }
  if ((address >> sharedRankShift) != x.cta.rank)
    x.report(inst, "barrier-remote-wait",
             "an mbarrier of another CTA cannot be waited on", lane);
  if (isComplete(x, inst, form, tested, lane)) {
    tested.done |= 1u << lane;
    return;
  }
  uint64_t operand = x.value(inst, 2, lane);
  BlockReason &reason = tested.reason;
  reason.kind = BlockReason::Mbarrier;
  reason.cta = address >> sharedRankShift;
  reason.address = address & sharedOffsetMask;
  reason.value = form.parity ? operand & 1 : operand >> tokenShift;
  reason.text = form.parity ? "parity" : "phase";
  tested.phase = tested.barrier->phase;
}

/// Tells the checker which phases lanes have seen, grouped by the mbarrier.
void tellSeen(Exec &x, const Inst &inst, const MbarrierForm &form,
              LaneMask done, ClusterChecker &checker) {
  Cluster &cluster = x.cluster;
  for (LaneMask left = done; left;) {
    unsigned first = __builtin_ctz(left);
    uint32_t address;
    left &= left - 1;
    if (!barrierAddress(x, inst, form, 1, first, address))
      continue;
    LaneMask same = 1u << first;
    forEachLane(left, [&](unsigned l) {
      if (x.value(inst, 1, l) == x.value(inst, 1, first))
        same |= 1u << l;
    });
    left &= ~same;
    Mbarrier *b = cluster.findMbarrier(address);
    if (!b || b->phase == 0)
      continue;
    uint64_t completed = b->phase - 1;
    if (form.parity && ((completed ^ x.value(inst, 2, first)) & 1))
      --completed;
    checker.mbarrierWait(x.warp, inst, same, *cluster.ctaOfShared(address), *b,
                         completed, form.order);
  }
}

/// Operands: p, address, parity or state [, time hint].
Flow wait(Exec &x, const Inst &inst) {
  const MbarrierForm &form = *static_cast<const MbarrierForm *>(inst.extra);
  Cluster &cluster = x.cluster;
  Tested tested;
  forEachLane(x.mask, [&](unsigned l) { test(x, inst, form, l, tested); });
  LaneMask done = tested.done;
  // The system chooses the time limit of try_wait. Now and then it is zero.
  if (done == 0 && form.tryWait && !x.frag->timedOut &&
      !cluster.timeLimitIsShort(*x.frag, x.program.pcOf(inst))) {
    tested.reason.hasTimeLimit = true;
    // The phase that the wait is for is fixed when the wait starts.
    if (x.frag->blocked.kind != BlockReason::Mbarrier)
      x.frag->token = tested.phase;
    return x.block(tested.reason);
  }
  x.frag->timedOut = false;
  x.frag->blocked = {};
  if (done != 0)
    x.frag->lastTry = ~0u;
  if (done != x.mask)
    cluster.notePoll(x.warp, x.program.pcOf(inst),
                     sharedWindow | tested.address);
  x.setPredicate(x.operand(inst, 0), done);
  const Mbarrier *barrier = tested.barrier;
  if (barrier && done && barrier->phase > 0) {
    uint64_t seen = barrier->phase - 1;
    if (form.parity)
      seen -= (seen ^ x.value(inst, 2, __builtin_ctz(done))) & 1;
    x.warp.seenPhases[tested.address] = seen;
  }
  if (barrier && done && cluster.timer)
    cluster.timer->mbarrierSeen(*cluster.ctaOfShared(tested.address), *barrier);
  if (ClusterChecker *checker = x.checker())
    tellSeen(x, inst, form, done, *checker);
  return done == x.mask ? Flow::Next : Flow::Yield;
}

Flow pendingCount(Exec &x, const Inst &inst) {
  uint32_t *d = x.write<uint32_t>(inst, 0);
  const uint64_t *state = x.read<uint64_t>(inst, 1);
  forEachLane(x.mask,
              [&](unsigned l) { d[l] = state[l] & ((1u << tokenShift) - 1); });
  return Flow::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Space and .b64; false for what is left over.
bool takeCommon(DecodeContext &c, MbarrierForm &form, bool remoteAllowed) {
  int space = c.takeOneOf({"shared", "shared::cta", "shared::cluster"});
  form.generic = space < 0;
  form.remote = space == 2;
  form.own = space >= 0 ? !form.remote : !remoteAllowed;
  if (form.remote && !remoteAllowed)
    return false;
  return c.take("b64") && c.peek().empty();
}

/// .sem and .scope with a default.
bool takeSemantics(DecodeContext &c, MbarrierForm &form, Semantics normal) {
  form.order = {normal, Scope::Cta};
  int s = c.takeOneOf({"release", "acquire", "relaxed"});
  static constexpr Semantics kinds[] = {Semantics::Release, Semantics::Acquire,
                                        Semantics::Relaxed};
  if (s >= 0) {
    if (kinds[s] != normal && kinds[s] != Semantics::Relaxed)
      return false;
    form.order.semantics = kinds[s];
  }
  int scope = c.takeOneOf({"cta", "cluster"});
  if (scope >= 0)
    form.order.scope = scope ? Scope::Cluster : Scope::Cta;
  return true;
}

bool decodeInit(DecodeContext &c) {
  MbarrierForm form;
  if (!takeCommon(c, form, false))
    return c.unsupported();
  if (c.numSources() != 2)
    return c.error("wrong number of operands");
  c.inst.handler = init;
  c.inst.extra = c.program().keepAlive(form);
  return c.addAddress(0) && c.addOperand(1, 4);
}

bool decodeInval(DecodeContext &c) {
  MbarrierForm form;
  if (!takeCommon(c, form, false))
    return c.unsupported();
  if (c.numSources() != 1)
    return c.error("wrong number of operands");
  c.inst.handler = inval;
  c.inst.extra = c.program().keepAlive(form);
  return c.addAddress(0);
}

bool decodeTransaction(DecodeContext &c, bool complete) {
  MbarrierForm form;
  if (!takeSemantics(c, form, Semantics::Relaxed) || !takeCommon(c, form, true))
    return c.unsupported();
  if (c.numSources() != 2)
    return c.error("wrong number of operands");
  c.inst.handler = transaction;
  c.inst.form = complete;
  c.inst.extra = c.program().keepAlive(form);
  return c.addAddress(0) && c.addOperand(1, 4);
}
bool decodeExpectTx(DecodeContext &c) { return decodeTransaction(c, false); }
bool decodeCompleteTx(DecodeContext &c) { return decodeTransaction(c, true); }

bool decodeArriveForm(DecodeContext &c, bool drop) {
  MbarrierForm form;
  form.drop = drop;
  form.expectTx = c.take("expect_tx");
  form.noComplete = c.take("noComplete");
  if (!takeSemantics(c, form, Semantics::Release) || !takeCommon(c, form, true))
    return c.unsupported();
  if (form.expectTx && form.noComplete)
    return c.unsupported();
  unsigned i = 0;
  c.inst.handler = arrive;
  if (!c.isAddress(0)) {
    form.hasResult = true;
    if (!c.addOperand(i++, 8, true))
      return false;
  }
  if (!c.addAddress(i++))
    return false;
  form.counted = i < c.numSources();
  if ((form.expectTx || form.noComplete) && !form.counted)
    return c.error("wrong number of operands");
  if (form.counted && !c.addOperand(i++, 4))
    return false;
  if (i != c.numSources())
    return c.error("wrong number of operands");
  c.inst.extra = c.program().keepAlive(form);
  return true;
}
bool decodeArrive(DecodeContext &c) { return decodeArriveForm(c, false); }
bool decodeArriveDrop(DecodeContext &c) { return decodeArriveForm(c, true); }

bool decodeWaitForm(DecodeContext &c, bool tryWait) {
  MbarrierForm form;
  form.tryWait = tryWait;
  form.parity = c.take("parity");
  if (!takeSemantics(c, form, Semantics::Acquire) ||
      !takeCommon(c, form, false))
    return c.unsupported();
  form.own = false; // A wait elsewhere is a finding of its own.
  unsigned n = c.numSources();
  if (n != 3 && !(n == 4 && tryWait))
    return c.error("wrong number of operands");
  c.inst.handler = wait;
  c.inst.extra = c.program().keepAlive(form);
  return c.addOperand(0, 0, true) && c.addAddress(1) &&
         c.addOperand(2, form.parity ? 4 : 8) && (n == 3 || c.addOperand(3, 4));
}
bool decodeTestWait(DecodeContext &c) { return decodeWaitForm(c, false); }
bool decodeTryWait(DecodeContext &c) { return decodeWaitForm(c, true); }

bool decodePendingCount(DecodeContext &c) {
  if (!c.take("b64") || !c.peek().empty() || c.numSources() != 2)
    return c.unsupported();
  c.inst.handler = pendingCount;
  return c.addOperand(0, 4, true) && c.addOperand(1, 8);
}

} // namespace

void fa4::sim::registerMbarrierOpcodes(OpcodeTable &table) {
  table.add("mbarrier.init", decodeInit);
  table.add("mbarrier.inval", decodeInval);
  table.add("mbarrier.expect_tx", decodeExpectTx);
  table.add("mbarrier.complete_tx", decodeCompleteTx);
  table.add("mbarrier.arrive", decodeArrive);
  table.add("mbarrier.arrive_drop", decodeArriveDrop);
  table.add("mbarrier.test_wait", decodeTestWait);
  table.add("mbarrier.try_wait", decodeTryWait);
  table.add("mbarrier.pending_count", decodePendingCount);
}
