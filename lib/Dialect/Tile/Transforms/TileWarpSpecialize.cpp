//===- TileWarpSpecialize.cpp - tile programs to roles and channels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileWarpSpecialize.h"
#include "PrepareForRoles.h"
#include "RoleBuilder.h"
#include "fa4/Dialect/Tile/Analysis/RegisterDemand.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Target/RegisterBudget.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEWARPSPECIALIZE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// Gives each role its warps and registers.
static LogicalResult assignWarps(KernelOp kernel,
                                 const TargetDescription &target) {
  SmallVector<RoleOp> roles(kernel.getBody().getOps<RoleOp>());
  SmallVector<RoleDemand> demands = findRegisterDemands(roles, target);
  unsigned warps = 0;
  for (RoleOp role : roles)
    warps += role.getNumWarps();
  // All warps of a warpgroup must set their registers, even those without work.
  unsigned whole = llvm::alignTo(warps, target.warpsPerWarpgroup());
  if (whole != warps) {
    auto builder = OpBuilder::atBlockEnd(&kernel.getBody().front());
    auto idle = RoleOp::create(
        builder, kernel.getLoc(), StringRef("idle"), RoleKind::Idle,
        builder.getI64IntegerAttr(whole - warps), IntegerAttr(), IntegerAttr());
    idle.getBody().emplaceBlock();
    roles.push_back(idle);
    demands.push_back({whole - warps, 0, 0});
  }
  auto budgets = assignRegisterBudgets(target, demands);
  if (!budgets)
    return kernel.emitOpError("registers: ")
           << llvm::toString(budgets.takeError());
  unsigned warp = 0;
  Builder builder(kernel.getContext());
  for (auto [role, registers] : llvm::zip(roles, budgets->roles)) {
    role.setFirstWarp(warp);
    role.setRegisters(registers);
    warp += role.getNumWarps();
  }
  return success();
}

LogicalResult fa4::tile::specializeWarps(KernelOp kernel) {
  const TargetDescription &target = kernel.getTarget();
  if (failed(prepareForRoles(kernel)))
    return failure();
  FailureOr<RolePartition> partition = RolePartition::compute(kernel);
  if (failed(partition) || failed(buildRoles(kernel, *partition, target)))
    return failure();
  return assignWarps(kernel, target);
}

namespace {

struct TileWarpSpecialize
    : public tile::impl::TileWarpSpecializeBase<TileWarpSpecialize> {
  using TileWarpSpecializeBase::TileWarpSpecializeBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getBody().getOps<RoleOp>().empty() &&
        failed(specializeWarps(kernel)))
      signalPassFailure();
  }
};

} // namespace
