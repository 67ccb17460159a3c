//===- RegisterFlow.cpp - when the value of a tcgen05.ld has arrived -----===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tcgen05.ld has certainly read tensor memory once its value has arrived, and
// the machine waits for the value before it issues an instruction that needs
// it. But PTX's instructions are not the machine's, nor is their order. What
// ptxas 13.0 and 13.5 do with a load, something that uses its value, and a
// signal:
//
//   * Moves, packs and selects vanish or go behind any signal; so do signs,
//     conversions between integers, and shifts and logic of 64 bits, with which
//     compilers pack. Such an instruction passes on that its value is pending.
//   * Arithmetic, conversions and shuffles go behind an mbarrier.arrive, but
//   not
//     behind a bar, a cluster barrier, a tcgen05.commit or a conditional
//     branch. They pass it on as well; when one of those barriers follows, the
//     value has arrived.
//   * Accesses to memory and branches keep their place before the signal. Where
//     one needs the value, the value has arrived.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace fa4::sim;

uint32_t PendingRegisters::get(const Operand &op) const {
  if (op.bank != 0)
    return 0;
  if (op.width == 0)
    return getPredicate(op.offset);
  uint32_t place = op.offset / 128;
  return place < steps.size() && steps[place] > arrived ? steps[place] : 0;
}

void PendingRegisters::set(const Operand &op, uint32_t step, bool add) {
  if (op.sink || op.bank != 0)
    return;
  if (op.width == 0) {
    if (step || predicates.count(op.offset)) {
      uint32_t &known = predicates[op.offset];
      known = add ? std::max(known, step) : step;
    }
    return;
  }
  uint32_t place = op.offset / 128;
  if (place >= steps.size()) {
    if (!step)
      return;
    steps.resize(place + place / 4 + 1);
  }
  steps[place] = add ? std::max(steps[place], step) : step;
}

RegisterFlow fa4::sim::registerFlowOf(const Inst &inst) {
  static const llvm::StringSet<> moves = {"abs", "cvta", "mov",
                                          "neg", "selp", "slct"};
  static const llvm::StringSet<> packing = {"and", "not", "or",
                                            "shl", "shr", "xor"};
  static const llvm::StringSet<> computations = {
      "add",  "addc", "and",       "bfe",  "bfi",        "bfind",    "bmsk",
      "brev", "clz",  "cnot",      "cos",  "copysign",   "cvt",      "div",
      "dp2a", "dp4a", "ex2",       "fma",  "fns",        "lg2",      "lop3",
      "mad",  "mapa", "mad24",     "madc", "getctarank", "isspacep", "match",
      "max",  "min",  "movmatrix", "mul",  "mul24",      "not",      "or",
      "popc", "prmt", "rcp",       "rem",  "redux",      "rsqrt",    "sad",
      "set",  "setp", "shf",       "shfl", "shl",        "shr",      "sin",
      "sqrt", "sub",  "subc",      "tanh", "szext",      "testp",    "vote",
      "xor"};
  llvm::StringRef root = inst.root();
  if (moves.contains(root))
    return RegisterFlow::Moves;
  if (packing.contains(root) && inst.opcode.contains("64"))
    return RegisterFlow::Moves;
  if (root == "cvt") {
    llvm::SmallVector<llvm::StringRef, 6> words;
    inst.opcode.split(words, '.');
    bool integers = words.size() == 3;
    for (llvm::StringRef type : llvm::drop_begin(words))
      integers &= type[0] == 'u' || type[0] == 's' || type[0] == 'b';
    return integers && !inst.opcode.contains(".bf") ? RegisterFlow::Moves
                                                    : RegisterFlow::Computes;
  }
  if (computations.contains(root))
    return RegisterFlow::Computes;
  bool branches = root == "bra" ? inst.guard != Inst::noGuard
                                : root == "brx" || root == "call";
  bool barrier = (root == "bar" || root == "barrier") &&
                 !inst.opcode.starts_with("bar.warp");
  if (branches || barrier || inst.opcode.starts_with("tcgen05.commit"))
    return RegisterFlow::StaysBehind;
  return RegisterFlow::Stays;
}

void Engine::registersRead(const Warp &warp, const Inst &inst) {
  WarpState &state = stateOf(warp);
  PendingRegisters &pending = state.pending;
  const Operand *operands = &cluster.grid.program->operands[inst.firstOperand];
  uint32_t step = 0;
  for (unsigned i = inst.numResults; i < inst.numOperands; ++i)
    step = std::max(step, pending.get(operands[i]));
  bool guarded = inst.guard != Inst::noGuard;
  if (guarded)
    step = std::max(step, pending.getPredicate(inst.guard));
  RegisterFlow flow = launch.registerFlow[cluster.grid.program->pcOf(inst)];
  uint32_t arrived = 0;
  switch (flow) {
  case RegisterFlow::Moves:
    break;
  case RegisterFlow::Computes:
    pending.needed = std::max(pending.needed, step);
    break;
  case RegisterFlow::StaysBehind:
    arrived = std::max(step, pending.needed);
    step = 0;
    break;
  case RegisterFlow::Stays:
    arrived = step;
    step = 0;
    break;
  }
  if (arrived > pending.arrived) {
    forEachLane(warp.live, [&](unsigned l) {
      state.steps[l].raise(state.loads, arrived);
    });
    pending.arrived = arrived;
  }
  // Lanes that do not execute it keep what they have.
  bool some = guarded || warp.fragments.size() > 1;
  for (unsigned i = 0; i < inst.numResults; ++i)
    pending.set(operands[i], step, some);
  if (pending.arrived >= state.loadSteps)
    const_cast<Warp &>(warp).pendingLoads.clear();
}
