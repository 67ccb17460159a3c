//===- AttnToLLVM.cpp - attention on the CPU -----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/AttnToLLVM.h"
#include "UpstreamSteps.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "fa4/Support/PipelineWithOptions.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

static void addLoweringToLLVM(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  fa4::addLoopLowering(pm);
  pm.addPass(fa4::attn::createArithExpandRounding());
  pm.addPass(fa4::attn::createArithExpandFp8());
  arith::ArithExpandOpsPassOptions expand;
  // Without this, conversions of bf16 would become calls to a runtime library.
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(fa4::attn::createMathExpandClampF());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  fa4::addConversionToLLVM(pm);
}

void fa4::buildAttnToLLVMPipeline(OpPassManager &pm,
                                  const AttnToLLVMOptions &options) {
  attn::AttnDecomposeOptions decompose;
  decompose.queryBlock = options.queryBlock;
  pm.addPass(createCanonicalizerPass());
  pm.addPass(attn::createAttnDecompose(decompose));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createConvertElementwiseToLinalgPass());
  addBufferization(pm);
  bufferization::buildBufferDeallocationPipeline(
      pm, bufferization::BufferDeallocationPipelineOptions());
  // Lowers the clones that deallocation makes of returned function arguments.
  pm.addPass(createConvertBufferizationToMemRefPass());
  if (options.emitCInterface)
    pm.addNestedPass<func::FuncOp>(LLVM::createLLVMRequestCWrappersPass());
  addLoweringToLLVM(pm);
}

void fa4::registerAttnToLLVMPipeline() {
  registerPipelineWithOptions<AttnToLLVMOptions>(
      "attn-to-llvm",
      "Lower attention ops and the upstream ops around them to the LLVM "
      "dialect, for a CPU",
      [](OpPassManager &pm, const AttnToLLVMOptions &options,
         llvm::function_ref<LogicalResult(const Twine &)>) {
        buildAttnToLLVMPipeline(pm, options);
        return success();
      });
}
