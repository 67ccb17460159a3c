//===- OpCheckInterface.h - more checks of a tool's operations ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_OPCHECKINTERFACE_H
#define FA4_SUPPORT_OPCHECKINTERFACE_H

#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/Operation.h"

namespace fa4 {

/// What a tool checks of attention ops and kernels beside their verifiers. The
/// language server shows what it says of a file while it is edited. Tools that
/// run passes have no such interface: there the passes check.
class OpCheckInterface : public mlir::DialectInterface::Base<OpCheckInterface> {
public:
  OpCheckInterface(mlir::Dialect *dialect) : Base(dialect) {}

  /// Checks an op that its verifier has found right. Errors are diagnostics.
  virtual mlir::LogicalResult check(mlir::Operation *op) const = 0;
};

/// Runs the tool's check of `op`, if its dialect has one in this context. For
/// verifiers.
inline mlir::LogicalResult runToolCheck(mlir::Operation *op) {
  auto *interface =
      op->getDialect()->getRegisteredInterface<OpCheckInterface>();
  return interface ? interface->check(op) : mlir::success();
}

} // namespace fa4

#endif // FA4_SUPPORT_OPCHECKINTERFACE_H
