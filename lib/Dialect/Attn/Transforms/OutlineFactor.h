//===- OutlineFactor.h - a product's factor as a tensor -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_OUTLINEFACTOR_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_OUTLINEFACTOR_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace fa4::attn {

/// Computes `factor`, a number in the body of `op` that does not depend on its
/// sums, in a linalg.generic of its own in front of `op`, with one dimension
/// for each loop that the number depends on, and has `op` take the result:
/// undoes what fusion has done.
void outlineFactor(mlir::linalg::GenericOp op, mlir::Value factor);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_OUTLINEFACTOR_H
