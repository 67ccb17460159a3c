//===- HostCalls.h - calls of libfa4_runtime ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_LAUNCHTORUNTIME_HOSTCALLS_H
#define FA4_LIB_CONVERSION_LAUNCHTORUNTIME_HOSTCALLS_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa4 {

/// The object of a kernel, and what its launches pass.
struct EmbeddedKernel {
  mlir::gpu::BinaryOp binary;
  mlir::gpu::ObjectAttr object;
  mlir::StringAttr manifest;
  mlir::ArrayAttr arguments;
  mlir::LLVM::GlobalOp global; ///< Made with the first launch.
};

/// Replaces operations on memory of the GPU, and launches, by calls of the
/// functions of include/fa4-runtime/Host.h.
class HostCalls {
public:
  /// `getStream` returns the stream on which an operation works.
  HostCalls(mlir::ModuleOp module,
            std::function<mlir::Value(mlir::Operation *)> getStream)
      : module(module), getStream(std::move(getStream)) {}

  void replace(mlir::memref::AllocOp alloc);
  void replace(mlir::memref::DeallocOp dealloc);
  void replace(mlir::memref::CopyOp copy);
  /// Emits an error if the launch passes other arguments than the kernel's
  /// manifest has. At the first launch of a kernel, replaces its gpu.binary by
  /// the struct that describes the kernel to the library.
  mlir::LogicalResult replace(tile::LaunchOp launch, EmbeddedKernel &kernel);

private:
  /// Calls a function of the library with the operands and the stream of `op`.
  mlir::Value call(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
                   llvm::StringRef name,
                   llvm::SmallVector<mlir::Value> operands,
                   mlir::Type result = {});
  mlir::Value storeOnStack(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
                           mlir::ValueRange values);
  mlir::LLVM::GlobalOp makeGlobal(EmbeddedKernel &kernel,
                                  tile::LaunchOp launch);

  mlir::ModuleOp module;
  std::function<mlir::Value(mlir::Operation *)> getStream;
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_LAUNCHTORUNTIME_HOSTCALLS_H
