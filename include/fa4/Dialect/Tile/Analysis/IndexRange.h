//===- IndexRange.h - which numbers a kernel computes with ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel may take for granted about the integers that it starts from:
// how wide an `index` is, how large the tensors are that it is launched on, and
// how many work tiles follow from that. Everything else about its integers has
// to be computed.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_INDEXRANGE_H
#define FA4_DIALECT_TILE_ANALYSIS_INDEXRANGE_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace fa4::tile {

/// Bits of an `index` in the code of a kernel. Arithmetic on indices wraps
/// around at this width.
constexpr unsigned kIndexBits = 32;

/// The largest size of a dimension that a kernel is launched on. Sums of a few
/// sizes and tiles then fit into an index.
constexpr int64_t kMaxSize = int64_t(1) << 29;

/// Bits of an integer or index in the code of a kernel; 0 for other types.
unsigned getIntegerBits(mlir::Type type);

/// The size that `op` asks for, if it is that of an argument of the kernel: its
/// name in `tile.dims`, which is a number if the size is static. Dimensions of
/// one name have one size.
std::optional<llvm::StringRef> getSizeName(mlir::memref::DimOp op);

/// The number that the name of a size is, if it is static.
std::optional<int64_t> getStaticSize(llvm::StringRef name);

/// The largest coordinate of a work tile along `axis` of the kernel's grid.
int64_t getLastWorkTile(KernelOp kernel, unsigned axis);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_INDEXRANGE_H
