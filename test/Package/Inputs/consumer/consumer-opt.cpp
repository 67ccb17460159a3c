// An opt tool of somebody else, with a pass that calls `attn.sdpa` for a
// function of its own: a call of @attention(q, k, v) becomes the op.
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/InitAllDialects.h"
#include "fa4/InitAllPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

using namespace mlir;

namespace {
struct CallsToAttention
    : PassWrapper<CallsToAttention, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CallsToAttention)
  StringRef getArgument() const final { return "calls-to-attention"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<fa4::attn::AttnDialect>();
  }
  void runOnOperation() final {
    getOperation().walk([](func::CallOp call) {
      if (call.getCallee() != "attention")
        return;
      OpBuilder b(call);
      auto op = fa4::attn::SdpaOp::create(
          b, call.getLoc(), call.getOperand(0), call.getOperand(1),
          call.getOperand(2), fa4::attn::Layout::bshd);
      call.replaceAllUsesWith(op->getResults());
      call.erase();
    });
  }
};
} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<func::FuncDialect>();
  fa4::registerDialects(registry);
  fa4::registerPasses();
  PassRegistration<CallsToAttention>();
  return asMainReturnCode(
      MlirOptMain(argc, argv, "an opt tool with fa4 in it\n", registry));
}
