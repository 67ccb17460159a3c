//===- VisibleRange.h - the positions that a mask_mod may show ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLERANGE_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLERANGE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Region.h"

namespace fa4 {

/// Positions from `first` to `last`, both inclusive, as values of type `index`.
/// A null value stands for no bound. There is no position in the range if
/// `first` is larger than `last`.
struct PositionRange {
  mlir::Value first, last;
};

/// Builds a range that holds each key which mask_mod shows to a query of
/// `queries`, and may hold further ones. Its bounds may lie outside of the
/// sequence. `queries` has both bounds, none of which is negative or more than
/// a tile beyond the largest position. Returns no bounds, and builds nothing,
/// if mask_mod implies none that its integers express: those that are computed
/// from the positions by additions, by multiplications with constants and by
/// divisions by constants, and captures that such integers are compared with.
/// `captures` has a value for each capture, which is null if it is no scalar.
///
/// For example, `i floordiv 512 == j floordiv 512` shows queries 640 to 767 the
/// keys 512 to 1023 only: keys from `(640 floordiv 512) * 512` up to
/// `(767 floordiv 512) * 512 + 511`.
PositionRange buildVisibleKeys(mlir::ImplicitLocOpBuilder &b,
                               mlir::Region &maskMod,
                               llvm::ArrayRef<mlir::Value> captures,
                               PositionRange queries);

/// Does the same for the queries to which mask_mod shows a key of `keys`.
PositionRange buildSeeingQueries(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Region &maskMod,
                                 llvm::ArrayRef<mlir::Value> captures,
                                 PositionRange keys);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLERANGE_H
