//===- EngineWgmma.cpp - registers and operands of wgmma -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A wgmma.mma_async reads A and B in shared memory through the async proxy, and
// A and D in registers, at any time until a wgmma.wait_group of its group. The
// manual's rules ("wgmma.fence", "wgmma.wait_group"), warp by warp:
//
//   * no other instruction touches a register of A or D before that wait;
//   * a wgmma.fence lies between the last other access to a register and the
//     wgmma that uses the register, and before the first wgmma of all;
//   * products of one shape may use the same accumulator one behind the other
//     with nothing in between; of two shapes, with a wgmma.fence in between.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

using namespace fa4::sim;

static constexpr llvm::StringLiteral missingFence = "missing-wgmma-fence";
static constexpr llvm::StringLiteral missingWait = "missing-wgmma-wait";

void Engine::complainOfRegister(const Warp &warp, const Inst &inst,
                                llvm::StringRef kind,
                                const llvm::Twine &message, const Inst *earlier,
                                llvm::StringRef what) {
  uint64_t key = uint64_t(inst.line) << 32 |
                 uint64_t(earlier ? earlier->line : 0) << 8 | kind.size();
  if (!reported.insert(key).second)
    return;
  flush();
  Report report;
  report.kind = kind.str();
  // ptxas inserts the fence, and a wait that costs time.
  if (kind == missingFence)
    report.severity = Severity::Strict;
  report.message = message.str();
  Actor actor{&inst, const_cast<Warp *>(&warp), -1, noAgent};
  report.sites.push_back(cluster.site(actor));
  if (earlier) {
    actor.inst = earlier;
    report.sites.push_back(cluster.site(actor, what));
  }
  launch.sink.add(std::move(report));
}

void Engine::mmaRegistersTouched(const Warp &warp, const Inst &inst) {
  WgmmaWarp &own = stateOf(warp).wgmma;
  const Operand *operands = &cluster.grid.program->operands[inst.firstOperand];
  for (unsigned i = 0; i < inst.numOperands; ++i) {
    const Operand &op = operands[i];
    if (op.bank != 0 || op.width != 4 || op.sink)
      continue;
    WgmmaWarp::Register &reg = own.at(op);
    reg.touched = own.fences + 1;
    reg.by = &inst;
    uint32_t product = std::max(reg.accumulator, reg.input);
    if (product > own.complete)
      complainOfRegister(
          warp, inst, missingWait,
          llvm::Twine("the register is ") +
              (product == reg.accumulator ? "an accumulator"
                                          : "a part of matrix A") +
              " of a wgmma.mma_async that may still be in progress: "
              "wgmma.commit_group and wgmma.wait_group are missing between "
              "them",
          own.products[product].inst, "the wgmma.mma_async");
  }
}

/// A register of D: it is also read unless scale-d is 0, but the rules are the
/// same.
void Engine::checkAccumulator(const WgmmaEvent &event, WgmmaWarp &own,
                              WgmmaWarp::Register &reg) {
  if (reg.input > own.complete)
    complainOfRegister(*event.warp, *event.inst, missingWait,
                       "an accumulator is a part of matrix A of an earlier "
                       "wgmma.mma_async that may still be in progress: "
                       "wgmma.wait_group is missing between them",
                       own.products[reg.input].inst, "the earlier one");
  const WgmmaWarp::Product &last = own.products[reg.accumulator];
  if (reg.accumulator > own.complete && last.shape != event.shape &&
      last.fences == own.fences)
    complainOfRegister(*event.warp, *event.inst, missingFence,
                       "an accumulator is one of an earlier wgmma.mma_async of "
                       "another shape: wgmma.fence is missing between them",
                       last.inst, "the earlier one");
}

void Engine::wgmmaIssue(const WgmmaEvent &event) {
  WarpState &state = stateOf(*event.warp);
  WgmmaWarp &own = state.wgmma;
  if (own.products.empty())
    own.products.emplace_back();
  if (own.fences == 0)
    complainOfRegister(*event.warp, *event.inst, missingFence,
                       "wgmma.fence is missing before the warp's first "
                       "wgmma.mma_async",
                       nullptr, "");
  uint32_t number = own.products.size();
  const Operand *operands =
      &cluster.grid.program->operands[event.inst->firstOperand];
  for (unsigned i = 0; i < event.registersD + event.registersA; ++i) {
    WgmmaWarp::Register &reg = own.at(operands[i]);
    if (own.fences && reg.touched == own.fences + 1)
      complainOfRegister(*event.warp, *event.inst, missingFence,
                         "a register of the wgmma.mma_async was read or "
                         "written before: wgmma.fence is missing between them",
                         reg.by, "the access");
    if (i < event.registersD) {
      checkAccumulator(event, own, reg);
      reg.accumulator = number;
      continue;
    }
    if (reg.accumulator > own.complete)
      complainOfRegister(*event.warp, *event.inst, missingWait,
                         "a register of matrix A is an accumulator of an "
                         "earlier wgmma.mma_async that may still be in "
                         "progress: wgmma.wait_group is missing between them",
                         own.products[reg.accumulator].inst, "the earlier one");
    reg.input = number;
  }
  own.products.push_back({event.inst, event.shape, own.fences});
  noteProduct(state, number);
  readSharedOperands(event, state);
}

/// Keeps what the warp has executed before this product.
void Engine::noteProduct(WarpState &state, uint32_t number) {
  constexpr size_t most = 64; // More than a wgmma.wait_group leaves pending.
  auto &issued = state.wgmma.issued;
  View known = snapshot(state, state.warp->live);
  known.executed.join(known.happened);
  known.executed.join(known.met);
  issued.emplace_back(number, std::move(known.executed));
  if (issued.size() > most)
    issued.pop_front();
}

/// A product is complete when the parts of all four warps are, so that each of
/// them has executed what is in front of its part: one warp may give an
/// mbarrier back for which all of them have waited.
void Engine::learnOfMembers(WarpState &state) {
  constexpr unsigned warpsPerGroup = 4;
  size_t index = &state - warps.data();
  size_t first = index - state.warp->index % warpsPerGroup;
  size_t end = std::min<size_t>(first + warpsPerGroup,
                                index - state.warp->index +
                                    state.warp->cta->warps.size());
  for (size_t member = first; member < end; ++member) {
    const auto &issued = warps[member].wgmma.issued;
    auto last = llvm::find_if(llvm::reverse(issued), [&](const auto &product) {
      return product.first <= state.wgmma.complete;
    });
    if (member == index || last == issued.rend())
      continue; // Of its own lanes it knows more: they all wait here.
    View known;
    known.executed = last->second;
    acquire(state, state.warp->live, known);
  }
}

void Engine::wgmmaFence(const Warp &warp, const Inst &) {
  ++stateOf(warp).wgmma.fences;
}

//===----------------------------------------------------------------------===//
// Groups and shared memory
//===----------------------------------------------------------------------===//

/// The component of the warpgroup's reads. Its step n is the n-th group; the
/// warps of a warpgroup commit the same groups.
uint32_t Engine::warpgroupComponent(const Warp &warp) {
  constexpr unsigned warpsPerGroup = 4;
  uint32_t first =
      stateOf(warp).firstThread - warp.index % warpsPerGroup * warpSize;
  uint32_t &component = warpgroups[first];
  if (!component)
    component = newComponent(ComponentKind::Wgmma, first);
  return component;
}

void Engine::readSharedOperands(const WgmmaEvent &event, WarpState &state) {
  uint32_t component = warpgroupComponent(*event.warp);
  uint32_t step = state.wgmma.groups.size() + 1;
  noteIssue(component, step, threadOf(state, 0), state.step[0]);
  Access access{
      &state,       0,    event.inst, MemSpace::Shared, AccessKind::Read,
      Proxy::Async, false};
  access.byWarp = true;
  access.stamp = {
      full(component), step,
      siteOf(*event.warp, *event.inst, AccessKind::Read, Proxy::Async, false)};
  for (size_t i = 0; i < event.rangeCount; ++i) {
    sharedRange(access, event.ranges[i].address, event.ranges[i].bytes);
    followUndefined(access, event.ranges[i].address, event.ranges[i].bytes);
  }
}

void Engine::wgmmaCommit(const Warp &warp, const Inst &) {
  WgmmaWarp &own = stateOf(warp).wgmma;
  own.groups.push_back(own.products.empty() ? 0 : own.products.size() - 1);
}

void Engine::wgmmaWait(const Warp &warp, const Inst &, uint32_t pending) {
  WarpState &state = stateOf(warp);
  WgmmaWarp &own = state.wgmma;
  if (own.groups.size() <= pending)
    return;
  learnOfLanes(state);
  uint32_t groups = own.groups.size() - pending;
  uint32_t before = own.complete;
  own.complete = std::max(own.complete, own.groups[groups - 1]);
  if (own.complete > before)
    learnOfMembers(state);
  uint32_t component = warpgroupComponent(warp);
  forEachLane(warp.live,
              [&](unsigned l) { state.steps[l].raise(component, groups); });
}
