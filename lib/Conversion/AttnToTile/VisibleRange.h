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
/// `first` is larger than `last`, or if the range is known to be empty.
struct PositionRange {
  mlir::Value first, last;
  bool isEmpty = false;
};

/// Returns the positions that are in both ranges.
PositionRange intersect(mlir::ImplicitLocOpBuilder &b, const PositionRange &x,
                        const PositionRange &y);

/// What a kernel knows of the arguments of mask_mod.
struct MaskArguments {
  /// The captures: scalars, and tensors that the kernel can read. Null for
  /// others.
  llvm::ArrayRef<mlir::Value> captures;
  /// Of the work tile. Null if there is none, or more than one.
  mlir::Value batch = {}, head = {};
};

/// Builds a range that holds each key which mask_mod shows to a query of
/// `queries`, and may hold further ones. Its bounds may lie outside of the
/// sequence. `queries` has both bounds, none of which is negative or more than
/// a tile beyond the largest position. Returns no bounds, and builds nothing,
/// if mask_mod implies none that its integers express: those that are computed
/// from the positions by additions, by multiplications with constants and by
/// divisions by constants, and what such integers are compared with: captured
/// scalars, and elements of captured tensors at the batch and the head.
///
/// For example, `i floordiv 512 == j floordiv 512` shows queries 640 to 767 the
/// keys 512 to 1023 only: keys from `(640 floordiv 512) * 512` up to
/// `(767 floordiv 512) * 512 + 511`.
PositionRange buildVisibleKeys(mlir::ImplicitLocOpBuilder &b,
                               mlir::Region &maskMod,
                               const MaskArguments &arguments,
                               PositionRange queries);

/// Returns the number of keys from the first to the last one that mask_mod may
/// show to one of `rows` queries in the middle of a long sequence; none if this
/// depends on more than constants, or has no limit.
std::optional<int64_t> countVisibleKeys(mlir::Region &maskMod, int64_t rows);

/// Builds a range of keys each of which mask_mod shows to all of `queries`, and
/// which may leave out further ones. It is known to be empty if mask_mod has no
/// form for which there is such a range.
PositionRange buildFullKeys(mlir::ImplicitLocOpBuilder &b,
                            mlir::Region &maskMod,
                            const MaskArguments &arguments,
                            PositionRange queries);

/// Do the same for the queries to which mask_mod shows a key of `keys`, or all
/// of them.
PositionRange buildSeeingQueries(mlir::ImplicitLocOpBuilder &b,
                                 mlir::Region &maskMod,
                                 const MaskArguments &arguments,
                                 PositionRange keys);
PositionRange buildFullQueries(mlir::ImplicitLocOpBuilder &b,
                               mlir::Region &maskMod,
                               const MaskArguments &arguments,
                               PositionRange keys);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLERANGE_H
