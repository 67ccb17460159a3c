//===- RaiseRemark.h - attention that is not looked into ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_RAISEREMARK_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_RAISEREMARK_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace fa4::attn {

/// Says what keeps `op`, which is a sum of products, from being looked at as
/// the second product of attention, if a softmax is among what it is computed
/// from: operands that are buffers, a sum over several dimensions, an operation
/// that is not followed. Empty if there is no softmax.
std::string explainUnmatched(mlir::linalg::LinalgOp op);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_RAISEREMARK_H
