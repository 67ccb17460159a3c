//===- Mbarrier.cpp - mbarrier objects ------------------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
// The object's eight bytes in shared memory hold nothing of use (they are
// opaque); its state is kept beside them.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/State.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;

/// The limits in the manual's table "mbarrier contents".
static constexpr uint32_t maxCount = (1u << 20) - 1;
static constexpr int64_t maxTx = (1 << 20) - 1;

static std::string name(const Cta &cta, uint32_t offset) {
  return "mbarrier " + cta.cluster->nameOfShared(cta, offset);
}

static std::string state(const Mbarrier &barrier) {
  return llvm::formatv("phase {0}, {1} of {2} arrivals pending, tx-count {3}",
                       barrier.phase, barrier.pending, barrier.expected,
                       barrier.tx)
      .str();
}

Mbarrier *Cluster::findMbarrier(uint32_t address) {
  Cta *cta = ctaOfShared(address);
  if (!cta)
    return nullptr;
  auto it = cta->mbarriers.find(address & sharedOffsetMask);
  if (it == cta->mbarriers.end() || !it->second.valid)
    return nullptr;
  return &it->second;
}

Mbarrier *Cluster::expectMbarrier(uint32_t address, const Actor &actor) {
  if (address % 8) {
    report(
        "misaligned",
        llvm::formatv("mbarrier address {0:x} is not a multiple of 8", address)
            .str(),
        actor);
    return nullptr;
  }
  if (!resolveShared(address, 8)) {
    report("out-of-bounds",
           llvm::formatv("mbarrier address {0:x} is outside of shared memory",
                         address)
                   .str() +
               noSuchCta(address),
           actor);
    return nullptr;
  }
  Mbarrier *barrier = findMbarrier(address);
  if (!barrier) {
    Cta &cta = *ctaOfShared(address);
    uint32_t offset = address & sharedOffsetMask;
    bool stale = cta.mbarriers.count(offset);
    report("barrier-uninitialised",
           name(cta, offset) + (stale ? " was invalidated by mbarrier.inval"
                                      : " was never initialised"),
           actor);
  }
  return barrier;
}

bool Cluster::initMbarrier(uint32_t address, uint32_t count,
                           const Actor &actor) {
  if (address % 8 || !resolveShared(address, 8))
    return expectMbarrier(address, actor) != nullptr;
  Cta &cta = *ctaOfShared(address);
  uint32_t offset = address & sharedOffsetMask;
  if (count < 1 || count > maxCount) {
    report("barrier-count",
           llvm::formatv("mbarrier.init with count {0}, not in 1..{1}", count,
                         maxCount)
               .str(),
           actor);
    return false;
  }
  Mbarrier &barrier = cta.mbarriers[offset];
  // All lanes of one instruction may initialise the barrier if they use the
  // same count.
  bool again = barrier.valid && barrier.initInst == actor.inst &&
               barrier.expected == count && barrier.pending == count &&
               barrier.phase == 0 && barrier.tx == 0;
  if (again)
    return true;
  if (barrier.valid) {
    report("barrier-reuse",
           name(cta, offset) +
               " is initialised again without mbarrier.inval (" +
               state(barrier) + ")",
           actor, "", Severity::Strict);
  }
  barrier = {};
  barrier.offset = offset;
  barrier.expected = barrier.pending = count;
  barrier.valid = true;
  barrier.initInst = actor.inst;
  if (checker)
    checker->mbarrierInit(actor, cta, barrier);
  advance();
  return true;
}

bool Cluster::invalMbarrier(uint32_t address, const Actor &actor) {
  Mbarrier *barrier = expectMbarrier(address, actor);
  if (!barrier)
    return false;
  Cta &cta = *ctaOfShared(address);
  if (checker)
    checker->mbarrierInval(actor, cta, *barrier);
  barrier->valid = false;
  advance();
  return true;
}

void Cluster::tryCompletePhase(Cta &cta, Mbarrier &barrier) {
  if (barrier.pending != 0 || barrier.tx != 0)
    return;
  if (checker)
    checker->mbarrierPhase(cta, barrier);
  if (timer)
    timer->mbarrierPhase(cta, barrier);
  ++barrier.phase;
  barrier.pending = barrier.expected;
}

bool Cluster::arrive(uint32_t address, uint32_t count, const Actor &actor,
                     const SyncOrder &order, uint32_t txBytes, bool drop) {
  Mbarrier *barrier = expectMbarrier(address, actor);
  if (!barrier)
    return false;
  Cta &cta = *ctaOfShared(address);
  if (count < 1 || count > maxCount) {
    report("barrier-count",
           llvm::formatv("arrive on {0} with count {1}, not in 1..{2}",
                         name(cta, barrier->offset), count, maxCount)
               .str(),
           actor);
    return false;
  }
  if (txBytes && !expectTx(address, txBytes, actor, order))
    return false;
  if (barrier->pending < count) {
    report("barrier-over-arrival",
           llvm::formatv("{0} arrival(s) on {1}, which expects fewer: {2}",
                         count, name(cta, barrier->offset), state(*barrier))
               .str(),
           actor);
    return false;
  }
  if (checker)
    checker->mbarrierArrive(actor, cta, *barrier, order, count);
  barrier->history.note(actor.inst, actor.warp, barrier->phase).arrivals +=
      count;
  barrier->pending -= count;
  if (timer)
    timer->mbarrierSignal(cta, *barrier, actor);
  if (drop)
    barrier->expected -= std::min(count, barrier->expected);
  tryCompletePhase(cta, *barrier);
  advance();
  return true;
}

bool Cluster::expectTx(uint32_t address, uint32_t bytes, const Actor &actor,
                       const SyncOrder &order) {
  Mbarrier *barrier = expectMbarrier(address, actor);
  if (!barrier)
    return false;
  Cta &cta = *ctaOfShared(address);
  if (barrier->tx + int64_t(bytes) > maxTx) {
    report("barrier-tx-overflow",
           llvm::formatv("expect_tx of {0} bytes takes the tx-count of {1} "
                         "over {2}: {3}",
                         bytes, name(cta, barrier->offset), maxTx,
                         state(*barrier))
               .str(),
           actor);
    return false;
  }
  if (checker)
    checker->mbarrierExpectTx(actor, cta, *barrier, order, bytes);
  barrier->history.note(actor.inst, actor.warp, barrier->phase).expectedBytes +=
      bytes;
  barrier->tx += bytes;
  // A phase can only complete here if complete_tx came before expect_tx.
  tryCompletePhase(cta, *barrier);
  advance();
  return true;
}

bool Cluster::completeTx(uint32_t address, uint32_t bytes, const Actor &actor,
                         const SyncOrder &order) {
  Mbarrier *barrier = expectMbarrier(address, actor);
  if (!barrier)
    return false;
  Cta &cta = *ctaOfShared(address);
  if (barrier->tx - int64_t(bytes) < -maxTx) {
    report("barrier-tx-underflow",
           llvm::formatv("complete_tx of {0} bytes on {1}, which expects no "
                         "such bytes: {2}",
                         bytes, name(cta, barrier->offset), state(*barrier))
               .str(),
           actor);
    return false;
  }
  if (checker)
    checker->mbarrierCompleteTx(actor, cta, *barrier, order, bytes);
  barrier->history.note(actor.inst, actor.warp, barrier->phase)
      .completedBytes += bytes;
  barrier->tx -= bytes;
  if (timer)
    timer->mbarrierSignal(cta, *barrier, actor);
  tryCompletePhase(cta, *barrier);
  advance();
  return true;
}
