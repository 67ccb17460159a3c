//===- VerifyProtocol.cpp - check of a module's roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Pipelines/VerifyProtocol.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace fa4::tile;

void fa4::registerVerifyProtocolPipeline() {
  PassPipelineRegistration<>(
      "verify-protocol",
      "Prove that the roles of each kernel neither deadlock nor race, and "
      "that each element of its outputs is written once",
      [](OpPassManager &pm) {
        pm.addNestedPass<KernelOp>(createTileVerifyProtocol());
        pm.addNestedPass<KernelOp>(createTileVerifyOutputs());
      });
}
