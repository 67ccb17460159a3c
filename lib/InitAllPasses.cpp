//===- InitAllPasses.cpp - registration of all passes ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Apart from the dialects: what is linked with archives and needs no registered
// passes does not get all of upstream's, nor LLVM's back ends that they use.
//
//===----------------------------------------------------------------------===//

#include "fa4/InitAllPasses.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Pipelines/AttnToHost.h"
#include "fa4/Pipelines/AttnToLLVM.h"
#include "fa4/Pipelines/AttnToNVVM.h"
#include "fa4/Pipelines/VerifyProtocol.h"
#include "mlir/InitAllPasses.h"

using namespace mlir;

void fa4::registerPasses() {
  attn::registerAttnPasses();
  registerConversionPasses();
  tile::registerTilePasses();
  registerAttnToHostPipeline();
  registerAttnToLLVMPipeline();
  registerAttnToNVVMPipeline();
  registerVerifyProtocolPipeline();
}

void fa4::registerToolPasses() {
  registerPasses();
  registerAllPasses();
}
