//===- InitPasses.cpp - registration of fa4's passes ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/Passes.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "fa4/Dialect/LLVMIR/Transforms/Passes.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/InitAllPasses.h"
#include "fa4/Pipelines/AttnToHost.h"
#include "fa4/Pipelines/AttnToLLVM.h"
#include "fa4/Pipelines/AttnToNVVM.h"
#include "fa4/Pipelines/TileSchedule.h"
#include "fa4/Pipelines/VerifyProtocol.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void fa4::registerPasses() {
  attn::registerAttnPasses();
  registerConversionPasses();
  registerLLVMIRPasses();
  tile::registerTilePasses();
  registerAttnToHostPipeline();
  registerAttnToLLVMPipeline();
  registerAttnToNVVMPipeline();
  registerTileSchedulePipeline();
  registerVerifyProtocolPipeline();
}

void fa4::registerKernelPasses() {
  registerPasses();
  registerCanonicalizerPass();
  registerCSEPass();
  registerConvertNVVMToLLVMPass();
  registerReconcileUnrealizedCastsPass();
}
