//===- GradientMatch.h - the gradient of matched attention ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTMATCH_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTMATCH_H

#include "AttentionMatch.h"

namespace fa4::attn {

/// The gradient of attention, as it is written beside it: three products.
struct GradientMatch {
  AttentionOperand dout;
  /// The values that the op's results replace.
  AttentionOperand dq, dk, dv;
  /// The products, in the order of the block.
  llvm::SmallVector<mlir::linalg::LinalgOp, 3> products;
};

/// A product that looks like a part of the gradient, and why it is none.
using GradientMiss = std::pair<mlir::Operation *, std::string>;

/// Finds the gradient of `match`, which `tracer` has been used for, in its
/// block. Where something looks like a part of it, and is none or the other
/// parts are missing, `misses` say why.
bool matchGradient(const AttentionMatch &match, ElementTracer &tracer,
                   GradientMatch &gradient,
                   llvm::SmallVectorImpl<GradientMiss> &misses);

/// The number of dimensions that matchGradient needs beside those of
/// matchAttention. The last one counts the query heads of a key's head.
inline constexpr unsigned kGradientDims = 2;

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTMATCH_H
