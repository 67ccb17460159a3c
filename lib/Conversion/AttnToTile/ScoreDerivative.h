//===- ScoreDerivative.h - score_mod with its derivative, as a region ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_SCOREDERIVATIVE_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_SCOREDERIVATIVE_H

#include "fa4/Dialect/Attn/Transforms/ModRegions.h"

namespace fa4 {

/// A copy of a score_mod region that computes the derivative, too. It has the
/// same arguments, and no terminator. The last product with a constant is left
/// out (findScoreProduct).
struct ScoreDerivative {
  /// `scoreMod` must be differentiable with respect to argument `wrt`.
  /// Operations for which threads have no instructions are expanded
  /// (ExpandMath.h).
  explicit ScoreDerivative(mlir::Region &scoreMod, unsigned wrt = 0);

  /// Returns true if the new score and its derivative are finite numbers for
  /// all finite scores and all positions, as far as their operations say.
  bool isFinite();

  mlir::Region region;
  /// The score and its derivative, values of the region, both without `factor`.
  attn::Dual results;
  double factor;
};

/// Returns true if `visit` holds for the value and for all values from which it
/// is computed.
bool holdsForSlice(mlir::Value value,
                   llvm::function_ref<bool(mlir::Value)> visit);

/// Returns true if a value of a score_mod region is a finite number for all
/// finite scores and all positions, as far as the operations say from which it
/// is computed.
bool mayOnlyBeFinite(mlir::Value value);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_SCOREDERIVATIVE_H
