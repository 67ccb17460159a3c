//===- LaneMathToLLVM.h - arithmetic of a GPU thread in the LLVM dialect
//---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_LANEMATHTOLLVM_LANEMATHTOLLVM_H
#define FA4_CONVERSION_LANEMATHTOLLVM_LANEMATHTOLLVM_H

#include "mlir/IR/PatternMatch.h"

namespace mlir {
class ConversionTarget;
class LLVMTypeConverter;
} // namespace mlir

namespace fa4::tile {

/// Patterns for `math` operations, `arith.divf` of f32 and `tile.exp2` on
/// scalars and vectors of two, with the special function unit's instructions
/// (PTX ISA, ex2, lg2, rcp, div.approx, sqrt, rsqrt; all flush subnormals). See
/// `lane-math-to-llvm` for what each becomes and its error. They have a higher
/// benefit than upstream's, which may be in the same set; upstream's patterns
/// for `math` should not be: the NVPTX back end has no code for many of them.
void populateLaneMathToLLVM(const mlir::LLVMTypeConverter &converter,
                            mlir::RewritePatternSet &patterns);

/// Marks the operations illegal that the patterns convert (`arith.select` and
/// `arith.divf` with some operands only), and all other operations of `math`,
/// so that an operation without a pattern becomes an error on that operation.
void markLaneMathIllegal(mlir::ConversionTarget &target);

/// Returns true if an elementwise operation of `arith` or `math` can be lowered
/// for lanes, by these patterns or (for `arith`) by upstream's.
bool isLaneMath(mlir::Operation *op);

} // namespace fa4::tile

#endif // FA4_CONVERSION_LANEMATHTOLLVM_LANEMATHTOLLVM_H
