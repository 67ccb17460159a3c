//===- LaneOps.h - what a thread computes, as LLVM dialect ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_TILETONVVM_LANEOPS_H
#define FA4_LIB_CONVERSION_TILETONVVM_LANEOPS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace fa4::tile {

/// Replaces operations of `arith`, `math`, `vector` and `tile.exp2` on a
/// thread's scalars and short vectors by operations of the LLVM dialect on the
/// same types, in one walk, and erases those that nobody uses. Operations on
/// `index` and rare ones stay, for dialect conversion: that takes several times
/// as long for an operation, and an unrolled kernel has thousands of them.
void lowerLaneOps(mlir::LLVM::LLVMFuncOp function);

} // namespace fa4::tile

#endif // FA4_LIB_CONVERSION_TILETONVVM_LANEOPS_H
