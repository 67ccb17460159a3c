//===- ModPatterns.h - simpler forms of score_mod, mask_mod and mask ------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_IR_MODPATTERNS_H
#define FA4_LIB_DIALECT_ATTN_IR_MODPATTERNS_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace fa4::attn {

/// Adds the canonicalisations of the regions, of the captures that they read,
/// and of the mask attribute.
void populateModPatterns(mlir::RewritePatternSet &patterns);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_IR_MODPATTERNS_H
