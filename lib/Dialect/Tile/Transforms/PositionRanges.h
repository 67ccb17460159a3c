//===- PositionRanges.h - between which numbers scalars of a kernel are ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_POSITIONRANGES_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_POSITIONRANGES_H

#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace fa4::tile {

/// The largest size of a dimension, and so the bound of every position in it.
inline constexpr int64_t kMaxSize = int64_t(1) << 29;

/// The ranges of the integer scalars of a kernel, by upstream's interface of
/// the operations that compute them. Sizes of the kernel's tensors are at most
/// `kMaxSize`, work tiles and loops are within their bounds, and nothing is
/// known of the kernel's scalar arguments. Arithmetic that may wrap has the
/// full range of its type.
class PositionRanges {
public:
  /// The signed range of `value`, an integer or index scalar.
  mlir::ConstantIntRanges get(mlir::Value value);

private:
  mlir::ConstantIntRanges compute(mlir::Value value);

  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_POSITIONRANGES_H
