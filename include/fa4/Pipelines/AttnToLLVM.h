//===- AttnToLLVM.h - attention ops on the CPU ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PIPELINES_ATTNTOLLVM_H
#define FA4_PIPELINES_ATTNTOLLVM_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace fa4 {

/// The options of the pipeline `attn-to-llvm`.
struct AttnToLLVMOptions : public mlir::PassPipelineOptions<AttnToLLVMOptions> {
  PassOptions::Option<int64_t> queryBlock{
      *this, "query-block",
      llvm::cl::desc(
          "Query rows whose scores are in memory at a time; 0 = all"),
      llvm::cl::init(64)};
  PassOptions::Option<bool> emitCInterface{
      *this, "emit-c-interface",
      llvm::cl::desc("Give every function a _mlir_ciface_ wrapper that takes "
                     "pointers to memref descriptors"),
      llvm::cl::init(true)};
};

/// Adds the passes of the CPU path, which lowers attention ops on tensors or
/// memrefs, and the upstream ops around them, to the LLVM dialect. The pipeline
/// decomposes attention, bufferizes with identity layouts at function
/// boundaries, inserts deallocations, and lowers linalg to loops.
void buildAttnToLLVMPipeline(mlir::OpPassManager &pm,
                             const AttnToLLVMOptions &options);

/// Registers the pipeline `attn-to-llvm`.
void registerAttnToLLVMPipeline();

} // namespace fa4

#endif // FA4_PIPELINES_ATTNTOLLVM_H
