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

/// Marks as illegal what the patterns are for (`arith.select` and `arith.divf`:
/// of some operands), and all other of `math`, so that an operation without a
/// pattern is an error on it.
void markLaneMathIllegal(mlir::ConversionTarget &target);

/// Whether an elementwise operation of `arith` or `math` has code for lanes:
/// by these patterns or, of `arith`, by upstream's.
bool isLaneMath(mlir::Operation *op);

} // namespace fa4::tile

#endif // FA4_CONVERSION_LANEMATHTOLLVM_LANEMATHTOLLVM_H
