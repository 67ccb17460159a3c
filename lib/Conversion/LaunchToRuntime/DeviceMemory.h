//===- DeviceMemory.h - memory of the GPU in host code ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_LAUNCHTORUNTIME_DEVICEMEMORY_H
#define FA4_LIB_CONVERSION_LAUNCHTORUNTIME_DEVICEMEMORY_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

namespace fa4 {

/// The memory that launches use, wherever it comes from and goes, through calls
/// and returns.
class DeviceMemory {
public:
  /// Emits an error where host code uses memory of the GPU, or where it is not
  /// known whether the GPU can access what a launch uses. Frees allocations
  /// that nobody frees or returns.
  static mlir::FailureOr<DeviceMemory>
  find(mlir::ModuleOp module, llvm::ArrayRef<tile::LaunchOp> launches);

  /// What is done with the memory beside launches.
  llvm::SmallVector<mlir::memref::AllocOp> allocs;
  llvm::SmallVector<mlir::memref::CopyOp> copies;
  llvm::SmallVector<mlir::memref::DeallocOp> frees;

private:
  explicit DeviceMemory(mlir::ModuleOp module) : module(module) {}

  mlir::LogicalResult follow(llvm::ArrayRef<tile::LaunchOp> launches);
  mlir::LogicalResult add(mlir::Value memref, mlir::Operation *user);
  mlir::LogicalResult addOrigins(mlir::Value buffer);
  mlir::LogicalResult addUses(mlir::Value buffer, mlir::Location origin,
                              bool &hasOwner);
  mlir::LogicalResult addUse(mlir::OpOperand &use, mlir::Location origin,
                             bool &hasOwner);
  void addReturned(mlir::func::ReturnOp op, unsigned number);
  void collectOps();

  mlir::ModuleOp module;
  /// Allocations, arguments of functions, and results of calls.
  llvm::SetVector<mlir::Value> buffers;
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_LAUNCHTORUNTIME_DEVICEMEMORY_H
