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

/// A value and its derivative with respect to the score of score_mod.
struct Dual {
  mlir::Value value;
  mlir::Value derivative;
};

/// As inlineMod for a score_mod region, with the derivative of the yielded
/// score with respect to the score argument, by forward-mode differentiation:
/// each operation is followed by the one for its derivative. Where a function
/// has a kink (abs, max) the derivative of one of its sides is taken. Captured
/// values and indices are constants.
///
/// There must be no operation that `findNonDifferentiable` would return.
Dual inlineScoreModWithDerivative(mlir::OpBuilder &builder,
                                  mlir::Region &region,
                                  mlir::ValueRange arguments);

/// Returns the first operation of a score_mod region through which the
/// derivative cannot be taken, or null.
mlir::Operation *findNonDifferentiable(mlir::Region &region);

/// Emits an error on the first operation of a score_mod region through which
/// the derivative cannot be taken, and a note at `user`.
mlir::LogicalResult verifyDifferentiable(mlir::Operation *user,
                                         mlir::Region &region);

} // namespace fa4::attn

#endif // FA4_DIALECT_ATTN_TRANSFORMS_MODREGIONS_H
