//===- Turns.cpp - the turns of the outermost loops of warps --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Turns.h"
#include "LoopForest.h"
#include "llvm/ADT/STLExtras.h"

using namespace fa4::sim;

TurnMap::TurnMap(const Program &program,
                 llvm::ArrayRef<InstructionClass> classes,
                 llvm::function_ref<bool(size_t)> isCounted) {
  count = 1;
  counters.assign(program.insts.size(), 0);
  headers.assign(program.insts.size(), noHeader);
  // Where control goes through calls or tables is not followed: no turns then.
  if (llvm::any_of(program.insts, [](const Inst &inst) {
        return inst.root() == "call" || inst.root() == "brx";
      }))
    return;
  auto successors = findSuccessors(program, 0, program.insts.size());
  LoopForest forest = findLoops(successors);
  // Loops around nothing but a test of an mbarrier.
  constexpr size_t mostOfTest = 8;
  std::vector<bool> hasLoops(forest.loops.size()), tests(forest.loops.size());
  for (auto [i, loop] : llvm::enumerate(forest.loops)) {
    if (loop.parent != -1)
      hasLoops[loop.parent] = true;
    tests[i] = loop.nodes.size() <= mostOfTest &&
               llvm::any_of(loop.nodes, [&](unsigned pc) {
                 return classes[pc].isMbarrierTest;
               });
  }
  for (auto [i, loop] : llvm::enumerate(forest.loops)) {
    if (loop.parent != -1 || (tests[i] && !hasLoops[i]))
      continue;
    // The only instruction that is entered from elsewhere.
    uint32_t header = noHeader;
    bool isOne = true;
    for (size_t pc = 0; pc < successors.size(); ++pc)
      if (!forest.contains(i, forest.innermost[pc]))
        for (unsigned to : successors[pc])
          if (forest.contains(i, forest.innermost[to])) {
            isOne &= header == noHeader || header == to;
            header = to;
          }
    if (!isOne || header == noHeader)
      continue;
    for (unsigned pc : loop.nodes) {
      int inner = forest.innermost[pc];
      headers[pc] = header;
      if (isCounted(pc) && !(tests[inner] && !hasLoops[inner]))
        counters[pc] = count++;
    }
  }
}

void WarpTurns::end() {
  if (turns == 0)
    first = current;
  else if (turns == 1)
    others = current;
  else
    areAlike &= others == current;
  current.assign(current.size(), 0);
  ++turns;
}

bool fa4::sim::areAlike(llvm::ArrayRef<WarpTurns> warps, uint64_t turns) {
  bool any = false;
  for (const WarpTurns &warp : warps) {
    if (!warp.turns)
      continue;
    any = true;
    bool isLeft = llvm::any_of(warp.current, [](uint32_t n) { return n != 0; });
    const WarpTurns::Counts &usual = warp.turns > 1 ? warp.others : warp.first;
    if (!warp.areAlike || warp.turns + isLeft != turns ||
        (isLeft && warp.current != usual))
      return false;
  }
  return any;
}

bool fa4::sim::differByATurn(llvm::ArrayRef<WarpTurns> a,
                             llvm::ArrayRef<WarpTurns> b) {
  for (auto [of, other] : llvm::zip_equal(a, b))
    if (of.turns != other.turns + (of.turns != 0) || !other.areAlike ||
        of.current != other.current ||
        (other.turns > 0 && of.first != other.first) ||
        (other.turns > 1 && of.others != other.others))
      return false;
  return true;
}

bool fa4::sim::beginAlike(llvm::ArrayRef<WarpTurns> a,
                          llvm::ArrayRef<WarpTurns> other, uint64_t turns) {
  for (auto [of, begun] : llvm::zip_equal(a, other)) {
    uint64_t wanted = std::min(of.turns, turns);
    if (begun.turns < wanted || (wanted > 0 && of.first != begun.first) ||
        (wanted > 1 && (!begun.areAlike || of.others != begun.others)))
      return false;
  }
  return true;
}
