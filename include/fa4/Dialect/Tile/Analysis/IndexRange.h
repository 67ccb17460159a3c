//===- IndexRange.h - which numbers a kernel computes with ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts that all analyses assume about the integers from which a kernel
// starts: the width of an `index`, the sizes of the tensors (LaunchLimits.h has
// both numbers), and the number of work tiles, which follows from the sizes.
// IntegerRanges computes the ranges of all other integers from these.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_INDEXRANGE_H
#define FA4_DIALECT_TILE_ANALYSIS_INDEXRANGE_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace fa4::tile {

/// Returns the bits of an integer or index in the code of a kernel; 0 for other
/// types.
unsigned getIntegerBits(mlir::Type type);

/// Returns the name of the size that `op` asks for, from `tile.dims`; a static
/// size has its number as a name. Dimensions of one name have one size. Returns
/// nothing if the tensor is not an argument of the kernel.
std::optional<llvm::StringRef> getSizeName(mlir::memref::DimOp op);

/// Returns the largest coordinate of a work tile along `axis` of the kernel's
/// grid.
int64_t getLastWorkTile(KernelOp kernel, unsigned axis);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_INDEXRANGE_H
