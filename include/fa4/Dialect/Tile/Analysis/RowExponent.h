//===- RowExponent.h - exponents relative to a maximum of their row ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax takes exponentials of scores relative to a reference value of their
// row. The reference is at least the largest score, or less by a few powers of
// two. Passes rely on that: no exponential overflows, a polynomial needs no
// check of its operand's upper end, and a row whose maximum is -inf has summed
// nothing. The functions here prove it from the operations. A program with
// another reference, such as the maximum of another tile, gets no proof.
//
// Worked example, with c = 0.18 and a threshold of 8:
//
//   %max    = vector.multi_reduction <maximumf>, %s, %ninf [1]
//   %scaled = arith.mulf %max, %c             // scaled >= c s
//   %next   = arith.maximumf %old, %scaled    // next >= c s
//   %grown  = arith.subf %next, %old
//   %keep   = arith.cmpf ole, %grown, %eight
//   %f      = arith.select %keep, %old, %next // f >= c s - 8
//   %neg    = (broadcast of) arith.negf %f
//   %x      = math.fma %s, %c, %neg           // x = c s - f <= 8
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_ROWEXPONENT_H
#define FA4_DIALECT_TILE_ANALYSIS_ROWEXPONENT_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include <optional>

namespace fa4::tile {

/// Returns the element of a constant float vector whose elements are all equal.
std::optional<llvm::APFloat> getSplat(mlir::Value value);

/// Returns the vector of one value for each row that is broadcast along the
/// rows of `matrix`. Returns null if `matrix` is no such broadcast.
mlir::Value getRowFactors(mlir::Value matrix);

/// The form scale * scores - referenceScale * reference + offset, with positive
/// scales. `scores` are a tile or one value for each row; `reference` is one
/// value for each row. If `isScaledDown`, all of it is multiplied by a number
/// from 0 to 1 for each row, which brings very large scores into range.
struct RowExponent {
  mlir::Value scores;
  double scale;
  mlir::Value reference;
  double referenceScale;
  double offset;
  bool isScaledDown = false;
};

/// Finds this form of `value` through sums, differences and products with
/// constants. Returns nothing if `value` has another form.
std::optional<RowExponent> matchRowExponent(mlir::Value value);

/// Returns the least known d with reference >= factor * s - d for each score s
/// of a row that is not NaN. Returns nothing if no d is known. `factor` is
/// positive.
std::optional<double> getSlack(mlir::Value reference, mlir::Value scores,
                               double factor);

/// Returns a number that no element of `exponent` exceeds, apart from NaN.
/// Returns nothing if no bound is known.
std::optional<double> getExponentBound(mlir::Value exponent);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROWEXPONENT_H
