//===- TileBuilders.h - constants and parts of tiles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_TILEBUILDERS_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_TILEBUILDERS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa4 {

/// Returns a vector of floating-point numbers that are all `value`, rounded to
/// their type.
mlir::Value splat(mlir::ImplicitLocOpBuilder &b, mlir::VectorType type,
                  double value);

/// Returns the rows and columns of a tile, `rows` x `columns` of them, from a
/// first one on.
mlir::Value slice(mlir::ImplicitLocOpBuilder &b, mlir::Value tile,
                  int64_t firstRow, int64_t firstColumn, int64_t rows,
                  int64_t columns);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_TILEBUILDERS_H
