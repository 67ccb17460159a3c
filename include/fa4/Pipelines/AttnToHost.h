//===- AttnToHost.h - attention ops to host code that launches kernels ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PIPELINES_ATTNTOHOST_H
#define FA4_PIPELINES_ATTNTOHOST_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace fa4 {

/// The options of the pipeline `attn-to-host`.
struct AttnToHostOptions : public mlir::PassPipelineOptions<AttnToHostOptions> {
  PassOptions::Option<std::string> chip{
      *this, "chip", llvm::cl::desc("Target: sm_90a, sm_100a, sm_103a"),
      llvm::cl::init("sm_100a")};
  PassOptions::Option<std::string> format{
      *this, "format", llvm::cl::desc("What is embedded: ptx or cubin"),
      llvm::cl::init("ptx")};
  PassOptions::Option<std::string> stream{
      *this, "stream",
      llvm::cl::desc("Where kernels are launched: argument (a last one of each "
                     "function) or default"),
      llvm::cl::init("argument")};
  PassOptions::Option<bool> emitCInterface{
      *this, "emit-c-interface",
      llvm::cl::desc("Give every function a _mlir_ciface_ wrapper that takes "
                     "pointers to memref descriptors"),
      llvm::cl::init(true)};
};

/// Adds the passes that make host code in the LLVM dialect of functions with
/// attention ops on tensors or memrefs: bufferization, `attn-to-nvvm`,
/// `nvvm-to-binary`, `launch-to-runtime`, and upstream's lowering.
llvm::LogicalResult buildAttnToHostPipeline(
    mlir::OpPassManager &pm, const AttnToHostOptions &options,
    llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> emitError);

/// Registers the pipeline `attn-to-host`.
void registerAttnToHostPipeline();

} // namespace fa4

#endif // FA4_PIPELINES_ATTNTOHOST_H
