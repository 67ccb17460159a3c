//===- Checks.cpp - what an editor shows beside verifiers' errors ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Pipelines/AttnToNVVM.h"
#include "fa4/Support/OpCheckInterface.h"
#include "mlir/IR/Diagnostics.h"

using namespace fa4;
using namespace mlir;

namespace {

/// Kernels that have roles are proven, whichever level they are at.
class KernelCheck : public OpCheckInterface {
public:
  using OpCheckInterface::OpCheckInterface;

  LogicalResult check(Operation *op) const override {
    auto kernel = dyn_cast<tile::KernelOp>(op);
    if (!kernel || succeeded(tile::verifyProtocol(kernel)))
      return success();
    tile::explainProtocol(kernel);
    return failure();
  }
};

/// An attention op that has no kernel is right all the same: it may be meant
/// for a CPU.
class AttentionCheck : public OpCheckInterface {
public:
  using OpCheckInterface::OpCheckInterface;

  LogicalResult check(Operation *op) const override {
    auto attention = dyn_cast<attn::AttentionOpInterface>(op);
    std::string chip = KernelOptions().chip;
    const TargetDescription *target = lookupTarget(chip);
    if (!attention || !target)
      return success();
    std::optional<std::string> reason = explainUnsupported(attention, *target);
    if (!reason)
      return success();
    // Not op->emitRemark, which prints the op and therefore verifies it.
    InFlightDiagnostic remark = emitRemark(op->getLoc());
    remark << "no kernel on " << chip << ": " << *reason;
    if (auto advice = adviseUnsupported(attention, *target))
      remark << "; what to change: " << *advice;
    return success();
  }
};

} // namespace

void fa4::registerEditorChecks(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, tile::TileDialect *dialect) {
    dialect->addInterface<KernelCheck>();
  });
  registry.addExtension(+[](MLIRContext *, attn::AttnDialect *dialect) {
    dialect->addInterface<AttentionCheck>();
  });
}
