//===- ScoreGradientProgram.h - ds of tiles of queries ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_SCOREGRADIENTPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_SCOREGRADIENTPROGRAM_H

#include "QueryTileProgram.h"
#include "ScoreDerivative.h"

namespace fa4 {

/// A program on tiles of queries that computes the scores again, and the
/// gradient of what depends on them. Each thread has the scores of its row
/// alone, so that whatever it sums has the same bits in each run. The kernel's
/// first arguments are q, k, v, dout, shift and delta (notation:
/// SdpaBackwardProgram.h).
class ScoreGradientProgram : protected QueryTileProgram {
protected:
  /// The program computes derivatives with respect to argument `wrt` of
  /// score_mod.
  ScoreGradientProgram(attn::SdpaBackwardOp op, tile::KernelOp kernel,
                       int64_t rows, int64_t keys, unsigned wrt);

  /// Loads what stays the same in all blocks of keys.
  void loadRowsOfTile();
  mlir::Value getFirstKey(mlir::Value step);
  /// Returns p (dp - delta) score_mod' of a block of keys, without getFactor().
  mlir::Value buildGradient(mlir::Value tk, mlir::Value step);
  double getFactor() const { return derived ? derived->factor : 1; }

private:
  /// Returns the block's probabilities times the derivative of its scores.
  mlir::Value buildWeights(mlir::Value scores, mlir::Value step,
                           mlir::Value firstKey);
  mlir::Value product(mlir::Value x, mlir::Value y) {
    return tile::MmaOp::create(b, f32Tile(), x, y, /*acc=*/mlir::Value(),
                               /*accumulate=*/mlir::Value(),
                               /*transpose_a=*/false, /*transpose_b=*/true);
  }
  mlir::VectorType f32Tile() { return f32Type({rows, keys}); }

  /// score_mod, if it is linear and the program is that of dq.
  std::unique_ptr<ScoreTerms> linear;
  ScoreScale scale;
  /// Any other score_mod with its derivative, and whether the two may be
  /// infinite, or no number.
  std::optional<ScoreDerivative> derived;
  bool mayBeInfinite = false;
  mlir::Value rowShift, rowDelta, tq, tdout;
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_SCOREGRADIENTPROGRAM_H
