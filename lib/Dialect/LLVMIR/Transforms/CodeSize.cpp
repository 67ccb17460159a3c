//===- CodeSize.cpp - the room that loops take in an instruction cache ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeSize.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fa4;

/// A loop of fewer instructions waits for a barrier.
static constexpr int64_t kWaitInstructions = 16;

/// Operations that name values, move them between registers that have not been
/// chosen yet, or become part of another instruction: of its address, or, as
/// the bits of a mask, of a predicate of which ptxas makes seven at a time.
static bool isFree(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<LLVM::AndOp, LLVM::BitcastOp, LLVM::BrOp, LLVM::ExtractElementOp,
             LLVM::ExtractValueOp, LLVM::GEPOp, LLVM::ICmpOp,
             LLVM::InsertElementOp, LLVM::InsertValueOp, LLVM::PoisonOp,
             LLVM::ShuffleVectorOp, LLVM::UndefOp>(op);
}

/// Counts the statements of inline assembly without declarations, and without
/// what puts together descriptors of operands.
static int64_t countStatements(StringRef assembly) {
  static constexpr llvm::StringLiteral kMoves[] = {".reg", "add", "mov",
                                                   "setp"};
  SmallVector<StringRef> statements;
  assembly.split(statements, ';');
  return llvm::count_if(statements, [](StringRef each) {
    each = each.ltrim(" \t\n{}");
    return !each.empty() && llvm::none_of(kMoves, [&](StringRef start) {
      return each.starts_with(start);
    });
  });
}

static int64_t countInstructions(Operation *op) {
  if (isFree(op))
    return 0;
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op))
    return countStatements(assembly.getAsmString());
  // Narrowing makes one register of a pair.
  if (isa<LLVM::FPTruncOp>(op) || op->getNumResults() != 1)
    return 1;
  auto vector = dyn_cast<VectorType>(op->getResult(0).getType());
  return vector ? vector.getNumElements() : 1;
}

static int64_t countInstructions(Block *block) {
  int64_t count = 0;
  for (Operation &op : *block)
    count += countInstructions(&op);
  return count;
}

/// Returns the blocks of the loop with this header that ends in `latch`: those
/// from which `latch` is reached without `header`.
static llvm::SetVector<Block *> collectLoop(Block *header, Block *latch) {
  llvm::SetVector<Block *> loop;
  loop.insert(header);
  SmallVector<Block *> work = {latch};
  while (!work.empty()) {
    Block *block = work.pop_back_val();
    if (loop.insert(block))
      llvm::append_range(work, block->getPredecessors());
  }
  return loop;
}

int64_t fa4::countLongestLoop(const Branch &branch, DominanceInfo &dominance) {
  llvm::SmallDenseMap<Block *, int64_t> sizes;
  for (Block *block : branch.blocks)
    sizes[block] = countInstructions(block);
  struct Loop {
    llvm::SetVector<Block *> blocks;
    int64_t size = 0;
  };
  SmallVector<Loop> loops;
  for (Block *latch : branch.blocks)
    for (Block *header : latch->getSuccessors()) {
      if (!dominance.dominates(header, latch))
        continue;
      Loop loop{collectLoop(header, latch)};
      for (Block *block : loop.blocks)
        loop.size += sizes.lookup(block);
      if (loop.size >= kWaitInstructions)
        loops.push_back(std::move(loop));
    }
  auto contains = [](const Loop &outer, const Loop &inner) {
    return &outer != &inner && outer.blocks.contains(inner.blocks.front());
  };
  int64_t longest = 0;
  for (const Loop &loop : loops)
    if (llvm::none_of(loops,
                      [&](const Loop &inner) { return contains(loop, inner); }))
      longest = std::max(longest, loop.size);
  return longest;
}
