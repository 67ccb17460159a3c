//===- ExecutionCounts.cpp - how often operations of a role run ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"

using namespace mlir;
using namespace fa4::tile;
using llvm::DynamicAPInt;

IndexForm ExecutionCounts::getCount(Operation *op) {
  IndexSymbols &symbols = forms.getSymbols();
  IndexForm count = 1;
  for (Operation *child = op, *parent = op->getParentOp();
       parent && !isa<RoleOp, KernelOp>(parent);
       child = parent, parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      count = count * forms.getTripCount(loop);
    } else if (auto work = dyn_cast<WorkOp>(parent)) {
      count = count * forms.getTripCount(work);
    } else if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      IndexSymbol symbol{
          IndexSymbol::Kind::Branch, 0, {forms.get(branch.getCondition())}};
      symbol.bounds = {DynamicAPInt(0), DynamicAPInt(1)};
      IndexForm taken = symbols.get(std::move(symbol));
      bool isElse = child->getParentRegion() == &branch.getElseRegion();
      count = count * (isElse ? 1 - taken : taken);
    } else {
      IndexSymbol unknown{IndexSymbol::Kind::Unique};
      unknown.bounds.low = DynamicAPInt(0);
      count = count * symbols.get(std::move(unknown));
    }
  }
  return count;
}
