//===- AttnReduction.h - smaller attention ops ------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_REDUCE_ATTNREDUCTION_H
#define FA4_TOOLS_FA4_REDUCE_ATTNREDUCTION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa4 {

/// Registers the reduction of attention ops with mlir-reduce's
/// `reduction-tree`. It removes mask, scale, regions and captures, and shortens
/// the regions that stay.
void registerAttnReduction(mlir::DialectRegistry &registry);

} // namespace fa4

#endif // FA4_TOOLS_FA4_REDUCE_ATTNREDUCTION_H
