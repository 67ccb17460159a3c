//===- KernelLowering.cpp - one kernel to one function ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fa4::tile;

/// The warps that set the kernel up. Each CTA has at least four.
static constexpr int64_t kBarrierWarp = 0;
static constexpr int64_t kTensorMemoryWarp = 1;

Value KernelLowering::constant(int64_t value) {
  return arith::ConstantIntOp::create(b, b.getI32Type(), value);
}

Value KernelLowering::shared(int64_t offset) {
  return LLVM::GEPOp::create(b, values.sharedMemory.getType(), b.getI8Type(),
                             values.sharedMemory,
                             LLVM::GEPArg(static_cast<int32_t>(offset)));
}

scf::IfOp KernelLowering::onWarp(int64_t warp) {
  Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, values.warp,
                                   constant(warp));
  return scf::IfOp::create(b, is, /*withElseRegion=*/false);
}

/// Branches on elect.sync. ptxas then knows that one thread is active and
/// issues each asynchronous instruction once, without a loop over active lanes.
/// The other threads wait at the join, because the code behind it may be for
/// whole warps.
LogicalResult
KernelLowering::inOneThread(llvm::function_ref<LogicalResult()> body) {
  Value elected = NVVM::ElectSyncOp::create(b, b.getI1Type(), Value());
  auto branch = scf::IfOp::create(b, elected, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(body()))
      return failure();
  }
  NVVM::SyncWarpOp::create(b, constant(-1));
  return success();
}

//===----------------------------------------------------------------------===//
// Before and after the roles
//===----------------------------------------------------------------------===//

void KernelLowering::findWarp() {
  Type i32 = b.getI32Type();
  values.thread = NVVM::ThreadIdXOp::create(b, i32);
  int64_t warpSize = layout.target.warpSize;
  Value warp = arith::ShRUIOp::create(b, values.thread,
                                      constant(llvm::Log2_64(warpSize)));
  // The shuffle gives the same number, but the compiler sees that it is
  // uniform.
  values.warp = NVVM::ShflOp::create(b, i32, constant(-1), warp, constant(0),
                                     constant(warpSize - 1),
                                     NVVM::ShflKind::idx, UnitAttr());
}

void KernelLowering::initBarriers() {
  for (unsigned parameter : signature.tensorMapParameters())
    NVVM::PrefetchOp::create(b, /*cacheLevel=*/nullptr,
                             /*evictPriority=*/nullptr,
                             values.function.getArgument(parameter),
                             /*predicate=*/Value(), b.getUnitAttr(),
                             /*uniform=*/nullptr,
                             /*in_param_space=*/b.getUnitAttr());
  for (const auto &[channel, buffer] : layout.buffers) {
    if (buffer.getChannel().isTurn())
      continue;
    for (const std::optional<Barriers> &barriers :
         {std::optional(buffer.full), buffer.empty, buffer.landed})
      for (int64_t stage = 0; barriers && stage < buffer.stages; ++stage)
        NVVM::MBarrierInitOp::create(
            b, shared(layout.barriers + 8 * (barriers->first + stage)),
            constant(barriers->arrivals), Value());
  }
  // The fence makes the initialised barriers visible to asynchronous copies
  // (PTX ISA, fence.mbarrier_init).
  NVVM::FenceMbarrierInitOp::create(b);
}

void KernelLowering::allocateTensorMemory() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(onWarp(kTensorMemoryWarp).thenBlock());
  NVVM::Tcgen05AllocOp::create(b, shared(layout.tensorMemorySlot),
                               constant(layout.tensorColumns),
                               layout.getGroup());
  NVVM::Tcgen05RelinquishAllocPermitOp::create(b, layout.getGroup());
}

/// A barrier of all threads of the cluster, or of the CTA where it has none.
/// Before the roles begin, the barriers of all CTAs are initialised; behind
/// them, no CTA ends while another one accesses its memory.
void KernelLowering::syncThreads() {
  if (layout.clusterSize == 1) {
    NVVM::BarrierOp::create(b);
    return;
  }
  NVVM::ClusterArriveOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

/// What is in front of this needs nothing of earlier launches: parameters,
/// barriers, tensor memory. That the launch behind may begin early takes
/// nothing away from this one, because it begins when all CTAs of this one run.
/// It waits for the end of this one, which has waited for the launch before.
void KernelLowering::awaitEarlierLaunches() {
  if (!kernel->hasAttr(kProgrammaticLaunchAttr))
    return;
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
  NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

void KernelLowering::setUp() {
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(onWarp(kBarrierWarp).thenBlock());
    (void)inOneThread([&] {
      initBarriers();
      return success();
    });
  }
  if (layout.tensorColumns) {
    allocateTensorMemory();
    NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  }
  awaitEarlierLaunches();
  syncThreads();
  if (!layout.tensorColumns)
    return;
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  values.tensorMemory = LLVM::LoadOp::create(
      b, b.getI32Type(), shared(layout.tensorMemorySlot), /*alignment=*/4);
}

/// Each warpgroup has an end of its own: at a common one, ptxas keeps an
/// address of each of them, and may spill it.
void KernelLowering::tearDown(bool hasTensorMemoryWarp) {
  if (!layout.tensorColumns) {
    if (layout.clusterSize != 1)
      syncThreads();
    return;
  }
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  syncThreads();
  if (!hasTensorMemoryWarp)
    return;
  OpBuilder::InsertionGuard guard(b);
  // The number of the warp and the address are read again, so that no role
  // keeps them.
  llvm::SaveAndRestore<Value> warp(
      values.warp,
      arith::ShRUIOp::create(b, readRegister(b, "tid.x"), constant(5))
          .getResult());
  b.setInsertionPointToStart(onWarp(kTensorMemoryWarp).thenBlock());
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  Value number = LLVM::LoadOp::create(
      b, b.getI32Type(), shared(layout.tensorMemorySlot), /*alignment=*/4);
  Value address = LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 6), number);
  NVVM::Tcgen05DeallocOp::create(b, address, constant(layout.tensorColumns),
                                 layout.getGroup());
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerRole(RoleOp role) {
  auto body = [&] {
    ImplicitLocOpBuilder inRole(role.getLoc(), b);
    RoleState state{inRole, role, layout, signature, values};
    return RoleLowering(state).lower();
  };
  if (!role.getLeader())
    return role.runsOnOneThread() ? inOneThread(body) : body();
  Value isLeader = arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq, readRegister(b, kRankRegister), constant(0));
  auto branch = scf::IfOp::create(b, isLeader, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  return inOneThread(body);
}

/// Branches to the role of the warp. The warp belongs to this warpgroup, but it
/// may be one that none of the group's roles has.
LogicalResult KernelLowering::dispatchRole(ArrayRef<RoleOp> roles) {
  if (roles.empty())
    return success();
  RoleOp role = roles.front();
  int64_t first = *role.getFirstWarp();
  Value number = arith::SubIOp::create(b, values.warp, constant(first));
  Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                                   constant(role.getNumWarps()));
  auto branch = scf::IfOp::create(b, is,
                                  /*withElseRegion=*/roles.size() > 1);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (failed(lowerRole(role)))
    return failure();
  if (roles.size() == 1)
    return success();
  b.setInsertionPointToStart(branch.elseBlock());
  return dispatchRole(roles.drop_front());
}

/// All warps of a warpgroup must execute the same setmaxnreg (PTX ISA).
void KernelLowering::setRegisters(const WarpGroup &group) {
  if (!group.registers || *group.registers == layout.entryRegisters)
    return;
  NVVM::SetMaxRegisterOp::create(b, *group.registers,
                                 *group.registers > layout.entryRegisters
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}

LogicalResult KernelLowering::dispatchGroup(size_t index) {
  const WarpGroup &group = layout.groups[index];
  bool last = index + 1 == layout.groups.size();
  OpBuilder::InsertionGuard guard(b);
  scf::IfOp branch;
  if (!last) {
    Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, values.warp,
                                     constant(group.endWarp));
    branch = scf::IfOp::create(b, is, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  setRegisters(group);
  auto covers = [&](RoleOp role) {
    int64_t first = *role.getFirstWarp();
    return first == group.firstWarp &&
           first + role.getNumWarps() == group.endWarp;
  };
  bool whole = group.roles.size() == 1 && covers(group.roles.front());
  if (failed(whole ? lowerRole(group.roles.front())
                   : dispatchRole(group.roles)))
    return failure();
  tearDown(group.firstWarp <= kTensorMemoryWarp &&
           kTensorMemoryWarp < group.endWarp);
  if (last)
    return success();
  b.setInsertionPointToStart(branch.elseBlock());
  return dispatchGroup(index + 1);
}

FailureOr<LLVM::LLVMFuncOp> KernelLowering::lower(LLVM::GlobalOp sharedMemory) {
  for (Operation &op : kernel.getBody().front())
    if (!isa<ChannelOp, RoleOp>(op) && !op.hasTrait<OpTrait::ConstantLike>())
      return op.emitOpError("must be in a tile.role to be lowered");
  values.function = signature.createFunction(b);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(values.function.addEntryBlock(b));
  values.sharedMemory = LLVM::AddressOfOp::create(b, sharedMemory);
  values.sharedAddress =
      LLVM::PtrToIntOp::create(b, b.getI32Type(), values.sharedMemory);
  findWarp();
  setUp();
  if (layout.groups.empty())
    tearDown(/*hasTensorMemoryWarp=*/true);
  else if (failed(dispatchGroup(0)))
    return failure();
  LLVM::ReturnOp::create(b, ValueRange());
  return values.function;
}
