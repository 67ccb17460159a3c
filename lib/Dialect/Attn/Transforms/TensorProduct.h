//===- TensorProduct.h - products and reductions of tensors --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORPRODUCT_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORPRODUCT_H

#include "TensorElement.h"

namespace fa4::attn {

/// Returns the loop over which `op` reduces, if there is one, and only one.
/// Those with one iteration do not count beside others.
std::optional<unsigned> getReduction(mlir::linalg::LinalgOp op);

/// Returns the two numbers in the body of `op` whose products it adds up,
/// beginning with zero. Each must depend on a loop that the other one does not
/// depend on, so that this is a product of matrices.
std::optional<std::pair<mlir::Value, mlir::Value>>
getFactors(mlir::linalg::LinalgOp op, ElementTracer &tracer);

/// The element is one of a product of matrices.
bool isProduct(ElementRef element, ElementTracer &tracer);

/// The loops of `op` on which a number in its body depends.
llvm::SmallBitVector getUsedLoops(mlir::linalg::LinalgOp op,
                                  mlir::Value number);

/// Returns what `leaf` is the sum (or the largest) of, for the iteration
/// `reduced`, where the operation that combines numbers is one for which `isIt`
/// holds; null if it is none. `init` is set to the number that it begins with.
ElementRef getReduced(ElementRef leaf, mlir::AffineExpr reduced,
                      ElementTracer &tracer, double &init,
                      llvm::function_ref<bool(mlir::Operation *)> isIt);

template <typename... Combiners>
ElementRef getReduced(ElementRef leaf, mlir::AffineExpr reduced,
                      ElementTracer &tracer, double &init) {
  return getReduced(leaf, reduced, tracer, init, [](mlir::Operation *op) {
    return llvm::isa<Combiners...>(op);
  });
}

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORPRODUCT_H
