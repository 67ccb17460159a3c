//===- CodeSize.cpp - the room that code takes in an instruction cache ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeSize.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4;

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

int64_t fa4::countInstructions(const Branch &branch) {
  int64_t count = 0;
  for (Block *block : branch.blocks)
    for (Operation &op : *block)
      count += ::countInstructions(&op);
  return count;
}
