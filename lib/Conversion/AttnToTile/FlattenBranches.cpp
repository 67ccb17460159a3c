//===- FlattenBranches.cpp - branches of mods as selections ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlattenBranches.h"
#include "fa4/Dialect/Attn/Transforms/ModRegions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa4;

/// Returns true for an index at which a tensor has an element in any case.
static bool isSafe(Value index, Region &region) {
  auto head = cast<BlockArgument>(attn::getHeadArgument(region));
  Value batch = region.getArgument(head.getArgNumber() - 1);
  return index == head || index == batch;
}

/// Lets the reads of a branch read the first element where the branch is not
/// taken.
static void guardReads(scf::IfOp conditional, Block &branch, Region &region) {
  OpBuilder b(conditional);
  bool isElse = &branch != conditional.thenBlock();
  for (Operation &read : branch) {
    Value tensor = attn::getSourceOfRead(&read);
    if (!tensor)
      continue;
    b.setInsertionPoint(&read);
    for (OpOperand &operand : read.getOpOperands()) {
      Value index = operand.get();
      if (index == tensor || isSafe(index, region))
        continue;
      Value first = arith::ConstantIndexOp::create(b, read.getLoc(), 0);
      operand.set(arith::SelectOp::create(
          b, read.getLoc(), conditional.getCondition(), isElse ? first : index,
          isElse ? index : first));
    }
  }
}

/// Moves the operations of a branch in front of its `scf.if`. Returns what the
/// branch yields.
static SmallVector<Value> hoist(scf::IfOp conditional, Block *branch,
                                Region &region) {
  if (!branch)
    return {};
  guardReads(conditional, *branch, region);
  Operation *yield = branch->getTerminator();
  SmallVector<Value> yielded(yield->getOperands());
  conditional->getBlock()->getOperations().splice(
      conditional->getIterator(), branch->getOperations(), branch->begin(),
      yield->getIterator());
  return yielded;
}

static void flatten(scf::IfOp conditional, Region &region) {
  SmallVector<Value> then = hoist(conditional, conditional.thenBlock(), region);
  SmallVector<Value> otherwise =
      hoist(conditional, conditional.elseBlock(), region);
  OpBuilder b(conditional);
  for (auto [i, result] : llvm::enumerate(conditional.getResults()))
    result.replaceAllUsesWith(arith::SelectOp::create(
        b, conditional.getLoc(), conditional.getCondition(), then[i],
        otherwise[i]));
  conditional.erase();
}

static void flattenRegion(Region &region) {
  // Inner branches come before the outer ones that hold them.
  SmallVector<scf::IfOp> branches;
  region.walk<WalkOrder::PostOrder>(
      [&](scf::IfOp conditional) { branches.push_back(conditional); });
  for (scf::IfOp conditional : branches)
    flatten(conditional, region);
}

void fa4::flattenBranches(attn::AttentionOpInterface op) {
  for (auto [mod, numArguments] : op.getMods())
    flattenRegion(*mod);
}
