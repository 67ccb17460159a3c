//===- AttnToHost.cpp - host code that launches kernels -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/AttnToHost.h"
#include "UpstreamSteps.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "fa4/Pipelines/AttnToNVVM.h"
#include "fa4/Support/PipelineWithOptions.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

LogicalResult fa4::buildAttnToHostPipeline(
    OpPassManager &pm, const AttnToHostOptions &options,
    llvm::function_ref<LogicalResult(const Twine &)> emitError) {
  pm.addPass(createCanonicalizerPass());
  // Tensors become memrefs before there are kernels, so that what attention ops
  // hand to each other has a place; launch-to-runtime frees it.
  addBufferization(pm);
  AttnToNVVMOptions kernels;
  kernels.chip = options.chip;
  if (failed(buildAttnToNVVMPipeline(pm, kernels, emitError)))
    return failure();
  NVVMToBinaryOptions binary;
  binary.format = options.format;
  binary.chip = options.chip;
  pm.addPass(createNVVMToBinary(binary));
  LaunchToRuntimeOptions launch;
  launch.stream = options.stream;
  pm.addPass(createLaunchToRuntime(launch));
  if (options.emitCInterface)
    pm.addNestedPass<func::FuncOp>(LLVM::createLLVMRequestCWrappersPass());
  addLoopLowering(pm);
  pm.addPass(attn::createArithExpandRounding());
  pm.addPass(createSCFToControlFlowPass());
  addConversionToLLVM(pm);
  return success();
}

void fa4::registerAttnToHostPipeline() {
  registerPipelineWithOptions<AttnToHostOptions>(
      "attn-to-host",
      "Compile attention ops to kernels and to host code, in the LLVM dialect, "
      "that launches them by libfa4_runtime",
      buildAttnToHostPipeline);
}
