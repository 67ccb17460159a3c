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

/// Lets mlir-reduce's `reduction-tree` make attention ops simpler: without
/// mask, scale, regions, captures, and with less in the regions that stay.
void registerAttnReduction(mlir::DialectRegistry &registry);

} // namespace fa4

#endif // FA4_TOOLS_FA4_REDUCE_ATTNREDUCTION_H
