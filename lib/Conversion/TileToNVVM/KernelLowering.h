//===- KernelLowering.h - one kernel to one function ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_KERNELLOWERING_H
#define FA4_LIB_CONVERSION_TILETONVVM_KERNELLOWERING_H

#include "RoleLowering.h"

namespace fa4::tile {

/// Builds the function of a kernel: the code that all threads run before,
/// between and after the roles. Control flow is still structured, and index
/// values are still there.
class KernelLowering {
public:
  KernelLowering(const mlir::OpBuilder &builder, KernelOp kernel,
                 const KernelLayout &layout, const KernelSignature &signature)
      : b(kernel.getLoc(), builder), kernel(kernel), layout(layout),
        signature(signature) {}

  /// Builds the function. `sharedMemory` is the dynamic shared memory of the
  /// module.
  mlir::FailureOr<mlir::LLVM::LLVMFuncOp>
  lower(mlir::LLVM::GlobalOp sharedMemory);

private:
  void findWarp();
  void setUp();
  void awaitEarlierLaunches();
  void initBarriers();
  void allocateTensorMemory();
  void syncThreads();
  void tearDown(bool hasTensorMemoryWarp);
  mlir::LogicalResult dispatchGroup(size_t group);
  mlir::LogicalResult dispatchRole(llvm::ArrayRef<RoleOp> roles);
  mlir::LogicalResult lowerRole(RoleOp role);
  void setRegisters(const WarpGroup &group);
  /// Builds code that runs `body` in one thread of the warp.
  mlir::LogicalResult
  inOneThread(llvm::function_ref<mlir::LogicalResult()> body);
  mlir::scf::IfOp onWarp(int64_t warp);
  mlir::Value constant(int64_t value);
  mlir::Value shared(int64_t offset);

  mlir::ImplicitLocOpBuilder b;
  KernelOp kernel;
  const KernelLayout &layout;
  const KernelSignature &signature;
  KernelValues values;
};

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_KERNELLOWERING_H
