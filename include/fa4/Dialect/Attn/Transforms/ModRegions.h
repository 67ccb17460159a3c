//===- ModRegions.h - inlining score_mod and mask_mod regions ------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_TRANSFORMS_MODREGIONS_H
#define FA4_DIALECT_ATTN_TRANSFORMS_MODREGIONS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"

namespace fa4::attn {

/// Copies the operations of a score_mod or mask_mod region to the builder's
/// insertion point, with `arguments` for its block arguments. Returns the
/// yielded value.
mlir::Value inlineMod(mlir::OpBuilder &builder, mlir::Region &region,
                      mlir::ValueRange arguments);

/// Returns the argument of a score_mod or mask_mod region that is the query
/// head.
mlir::Value getHeadArgument(mlir::Region &region);

/// Returns the tensor or memref that an operation reads an element of, or of
/// which it makes a tensor; null for any other operation.
mlir::Value getSourceOfRead(mlir::Operation *op);

/// A value and its derivative with respect to an argument of score_mod.
struct Dual {
  mlir::Value value;
  mlir::Value derivative;
};

/// As inlineMod for a score_mod region, with the derivative of the yielded
/// score with respect to the argument of number `wrt`, by forward-mode
/// differentiation: each operation is followed by the one for its derivative.
/// Where a function has a kink (abs, max) the derivative of one of its sides is
/// taken. All other arguments are constants. Of an argument that has a number
/// for each query head, the derivative is that with respect to the number of
/// the head which the region is called with.
///
/// There must be no operation that `findNonDifferentiable` would return.
Dual inlineScoreModWithDerivative(mlir::OpBuilder &builder,
                                  mlir::Region &region,
                                  mlir::ValueRange arguments, unsigned wrt = 0);

/// Returns the first operation of a score_mod region through which the
/// derivative with respect to argument `wrt` cannot be taken, or null.
mlir::Operation *findNonDifferentiable(mlir::Region &region, unsigned wrt = 0);

/// Emits an error on the first operation of a score_mod region through which
/// the derivative cannot be taken, and a note at `user`.
mlir::LogicalResult verifyDifferentiable(mlir::Operation *user,
                                         mlir::Region &region,
                                         unsigned wrt = 0);

} // namespace fa4::attn

#endif // FA4_DIALECT_ATTN_TRANSFORMS_MODREGIONS_H
