//===- Passes.h - pipelines for the attn dialect -------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_PIPELINES_PASSES_H
#define FA4_DIALECT_ATTN_PIPELINES_PASSES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace fa4::attn {

/// Options of `attn-to-llvm`.
struct AttnToLLVMPipelineOptions
    : public mlir::PassPipelineOptions<AttnToLLVMPipelineOptions> {
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

/// The CPU path: attention ops on tensors or memrefs, among upstream ops, down
/// to the LLVM dialect. Decomposes, bufferizes with identity layouts at
/// function boundaries, inserts deallocations, and lowers linalg to loops.
void buildAttnToLLVMPipeline(mlir::OpPassManager &pm,
                             const AttnToLLVMPipelineOptions &options);

/// Registers `attn-to-llvm`.
void registerAttnPipelines();

} // namespace fa4::attn

#endif // FA4_DIALECT_ATTN_PIPELINES_PASSES_H
