//===- Interpreter.cpp - the instruction loop and divergence --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Machine/State.h"

using namespace fa4::sim;

static bool sameCalls(const Fragment &a, const Fragment &b) {
  if (a.calls.size() != b.calls.size())
    return false;
  for (size_t i = 0; i < a.calls.size(); ++i)
    if (a.calls[i].returnPc != b.calls[i].returnPc)
      return false;
  return true;
}

/// Merges all other fragments at the same place into the fragment `index`.
/// Returns its new index.
static unsigned mergeInto(Warp &warp, unsigned index) {
  auto &list = warp.fragments;
  if (list[index].arrived)
    return index;
  for (unsigned i = 0; i < list.size();) {
    if (i == index || list[i].pc != list[index].pc || list[i].arrived ||
        list[i].isHeld || !sameCalls(list[i], list[index])) {
      ++i;
      continue;
    }
    list[index].mask |= list[i].mask;
    list[index].timedOut |= list[i].timedOut;
    if (list[i].readyAt > list[index].readyAt) {
      list[index].readyAt = list[i].readyAt;
      list[index].cause = list[i].cause;
    }
    list.erase(list.begin() + i);
    if (i < index)
      --index;
  }
  return index;
}

/// Splits off the lanes of `mask`, which a blocked instruction does not
/// concern, and lets them go on behind it.
static void splitBehind(Warp &warp, unsigned index, LaneMask mask) {
  Fragment rest = warp.fragments[index];
  rest.mask = mask;
  rest.pc += 1;
  rest.arrived = rest.timedOut = rest.blockedNow = rest.isHeld = false;
  rest.blocked = {};
  warp.fragments[index].mask &= ~mask;
  warp.fragments.push_back(std::move(rest));
}

void Cluster::runFragment(Warp &warp, unsigned index, uint64_t quantum,
                          bool freeRun) {
  runFragmentImpl<false>(warp, index, quantum, freeRun);
}

Cluster::Step Cluster::step(Warp &warp, unsigned index) {
  return runFragmentImpl<true>(warp, index, 1, /*freeRun=*/true);
}

void Cluster::markBlocked(Fragment &fragment, const BlockReason &reason) {
  fragment.blocked = reason;
  fragment.blockedNow = true;
  fragment.timedOut = false;
  fragment.blockedEpoch = epoch;
}

/// Whether another fragment of the warp is behind this one and may join it if
/// it waits.
bool Cluster::isAheadOfOthers(const Warp &warp,
                              const Fragment &fragment) const {
  bool isAhead = false;
  for (const Fragment &other : warp.fragments)
    isAhead |= runnable(other) && other.pc < fragment.pc;
  return isAhead;
}

/// Lanes execute an .aligned instruction together: a fragment waits for the
/// rest of its warp. Returns whether it goes on now.
bool Cluster::checkAligned(Warp &warp, Fragment &fragment, const Inst &inst,
                           LaneMask mask) {
  if (fragment.mask != warp.live) {
    BlockReason reason;
    reason.kind = BlockReason::Aligned;
    reason.value = fragment.mask;
    markBlocked(fragment, reason);
    return false;
  }
  if (mask == fragment.mask)
    return true;
  report("divergent-aligned",
         llvm::Twine("an .aligned instruction is executed by a part of "
                     "the warp: its guard holds for lanes 0x") +
             llvm::Twine::utohexstr(mask) + " of 0x" +
             llvm::Twine::utohexstr(warp.live),
         {&inst, &warp, -1, noAgent});
  return !shouldStop();
}

/// The lanes for which the guard of an instruction holds.
static LaneMask guardedLanes(const Warp &warp, const Inst &inst,
                             LaneMask mask) {
  LaneMask bits =
      *reinterpret_cast<const uint32_t *>(warp.registers + inst.guard);
  return mask & (inst.guardNegated ? ~bits : bits);
}

/// Does what is left of an instruction of `mask` that does not just lead to the
/// next one. Returns whether the fragment goes on in its turn.
bool Cluster::goesOnAfter(Flow flow, Exec &exec, unsigned index,
                          LaneMask mask) {
  Warp &warp = exec.warp;
  Fragment &fragment = warp.fragments[index];
  if (flow == Flow::Yield) {
    ++fragment.pc;
    return false;
  }
  if (flow == Flow::Block) {
    LaneMask others = fragment.mask & ~mask;
    markBlocked(fragment, BlockReason(fragment.blocked));
    if (others && !fragment.blocked.hasTimeLimit) {
      splitBehind(warp, index, others);
      advance();
    }
    return false;
  }
  // For Exit, lanes with a false guard go on.
  exitLanes(exec, mask);
  Fragment &left = warp.fragments[index];
  if (!left.mask) {
    warp.fragments.erase(warp.fragments.begin() + index);
    return false;
  }
  ++left.pc;
  return true;
}

/// Tells the checker of an instruction whose registers asynchronous operations
/// may still read or write.
static void tellOfRegisters(ClusterChecker &checker, Warp &warp,
                            const Inst &inst, LaneMask executing,
                            LaneMask come) {
  if (warp.hasUndefined)
    checker.undefinedRead(warp, inst, executing, come);
  if (!warp.pendingLoads.empty())
    checker.registersRead(warp, inst);
  if (inst.flags & Inst::MmaRegisters)
    checker.mmaRegistersTouched(warp, inst);
}

/// Counts the instructions of a turn, and the lanes that have executed them.
void Cluster::countTurn(Warp &warp, uint64_t count, uint64_t lanes) {
  executed += count ? count : 1;
  time += count;
  stats.warpInstructions += count;
  stats.laneInstructions += lanes;
  warp.instructions += count;
}

/// Executes up to `quantum` instructions. A timed run executes one at a time
/// and wants to know which.
template <bool isTimed>
Cluster::Step Cluster::runFragmentImpl(Warp &warp, unsigned index,
                                       uint64_t quantum, bool freeRun) {
  Step taken;
  const Program &program = *grid.program;
  const Inst *insts = program.insts.data();
  Exec exec{grid,
            *this,
            *warp.cta,
            warp,
            &warp.fragments[index],
            0,
            {warp.registers, program.constants()},
            program};
  warp.fragments[index].blockedNow = false;
  uint64_t count = 0, lanes = 0;
  for (; count < quantum; ++count) {
    if (warp.fragments.size() > 1) {
      index = mergeInto(warp, index);
      if (!freeRun && count > 0 && isAheadOfOthers(warp, warp.fragments[index]))
        break;
    }
    Fragment &fragment = warp.fragments[index];
    const Inst &inst = insts[fragment.pc];
    LaneMask mask = fragment.mask;
    if (inst.guard != Inst::noGuard) {
      mask = guardedLanes(warp, inst, mask);
      if (!mask) {
        if constexpr (isTimed)
          taken = {&inst, 0, Flow::Next};
        if (checker && warp.hasUndefined)
          checker->undefinedRead(warp, inst, 0, fragment.mask);
        ++fragment.pc;
        continue;
      }
    }
    if (inst.flags & Inst::Aligned && !checkAligned(warp, fragment, inst, mask))
      break;
    exec.frag = &fragment;
    exec.mask = mask;
    lanes += __builtin_popcount(mask);
    if (checker)
      tellOfRegisters(*checker, warp, inst, mask, fragment.mask);
    Flow flow = inst.handler(exec, inst);
    if constexpr (isTimed)
      taken = {&inst, mask, flow};
    if (flow == Flow::Next) {
      ++warp.fragments[index].pc;
      if (LLVM_LIKELY(!holdRequested))
        continue;
      hold(warp.fragments[index]);
      ++count;
      break;
    }
    if (flow == Flow::Jump)
      continue;
    count += flow != Flow::Block;
    if (!goesOnAfter(flow, exec, index, mask))
      break;
  }
  countTurn(warp, count, lanes);
  return taken;
}

/// Brings what an instruction works on into the cache. The registers of all
/// warps of a cluster are megabytes, and others execute before it is reached.
static void prefetchOperands(const Program &program, const Warp &warp,
                             uint32_t pc) {
  constexpr unsigned lineBytes = 64;
  if (pc + 1 >= program.insts.size())
    return;
  __builtin_prefetch(&program.insts[pc + 1]);
  for (const Operand &operand : program.slotsOf(program.insts[pc])) {
    if (operand.bank != 0)
      continue;
    const uint8_t *lanes = warp.registers + operand.offset;
    unsigned bytes = std::max(1u, operand.width * warpSize);
    for (unsigned i = 0; i < bytes; i += lineBytes)
      __builtin_prefetch(lanes + i);
  }
}

void Cluster::stepPlain(Warp &warp, unsigned count) {
  Fragment &fragment = warp.fragments.front();
  const Program &program = *grid.program;
  const Inst *inst = &program.insts[fragment.pc], *end = inst + count;
  Exec exec{grid,
            *this,
            *warp.cta,
            warp,
            &fragment,
            0,
            {warp.registers, program.constants()},
            program};
  uint64_t lanes = 0;
  for (; inst != end; ++inst) {
    exec.mask = fragment.mask;
    if (inst->guard != Inst::noGuard)
      exec.mask = guardedLanes(warp, *inst, exec.mask);
    if (exec.mask) {
      if (checker)
        tellOfRegisters(*checker, warp, *inst, exec.mask, fragment.mask);
      inst->handler(exec, *inst);
      lanes += __builtin_popcount(exec.mask);
    } else if (checker && warp.hasUndefined) {
      checker->undefinedRead(warp, *inst, 0, fragment.mask);
    }
    ++fragment.pc;
  }
  prefetchOperands(program, warp, fragment.pc);
  countTurn(warp, count, lanes);
}

MemSpace Exec::classify(uint64_t generic, uint64_t &address) {
  uint64_t window = generic & windowMask;
  address = generic & ~windowMask;
  if (window == sharedWindow)
    return MemSpace::Shared;
  if (window == localWindow)
    return MemSpace::Local;
  if (window == paramWindow)
    return MemSpace::Param;
  address = generic;
  return MemSpace::Global;
}
