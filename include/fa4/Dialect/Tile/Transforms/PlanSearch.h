//===- PlanSearch.h - the plan of a kernel ----------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some choices are good or bad depending on what later passes make of them: an
// order of MMAs needs columns of tensor memory that are counted only when
// channels share buffers. The search takes copies of a kernel through these
// passes, one copy for each plan (#tile.plan), the fastest plan first. It stops
// at the first plan that fits, and keeps the reason why each earlier one lost.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PLANSEARCH_H
#define FA4_DIALECT_TILE_TRANSFORMS_PLANSEARCH_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"

namespace fa4::tile {

/// A plan that has been tried on a copy of a kernel.
struct TriedPlan {
  PlanAttr plan;
  /// The reason why the plan fails, such as "needs 640 columns of tensor
  /// memory, of which 'sm_100a' has 512". Empty if the plan is good.
  std::string obstacle;
};

struct PlanSearch {
  /// The plan for the kernel; null if no plan can be followed, because the
  /// kernel has an error.
  PlanAttr plan;
  /// All plans that have been tried, in this order.
  llvm::SmallVector<TriedPlan> tried;
};

/// Finds the plan for a tile program, or for a kernel that has roles already,
/// which keeps its schedule. Does not change the kernel, and emits nothing.
PlanSearch searchPlan(KernelOp kernel, const TilePlanOptions &options);

/// Prints the plan of the kernel, and what is wrong with the others.
void printPlanSearch(KernelOp kernel, const PlanSearch &search,
                     llvm::raw_ostream &os);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_TRANSFORMS_PLANSEARCH_H
