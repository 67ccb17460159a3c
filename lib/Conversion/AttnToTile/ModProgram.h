//===- ModProgram.h - programs that apply regions ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_MODPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_MODPROGRAM_H

#include "AttentionProgram.h"
#include "ModVectorizer.h"
#include "ScoreDerivative.h"

namespace fa4 {

/// A program that applies the op's regions, score_mod and mask_mod, to tiles of
/// scores, or reads what they have captured.
class ModProgram : protected AttentionProgram {
protected:
  using AttentionProgram::AttentionProgram;

  // `arguments` are the arguments of mask_mod: the batch, the query head, the
  // positions of queries and of keys, and the captures.

  /// Copies a region whose first argument is the score, so that the copy works
  /// on the tile `scores`. Returns the values over the tile that take the place
  /// of `results`, which are values of the region.
  llvm::SmallVector<mlir::Value>
  inlineScoreMod(mlir::Region &region, mlir::Value scores,
                 llvm::ArrayRef<TileValue> arguments, mlir::ValueRange results);
  /// A term on a tile: the number, and all that it is multiplied by.
  struct TileTerm {
    TileValue number, weight;
  };
  /// Returns false for a term whose weight is 1.
  static bool isWeighted(const TileTerm &term);
  /// Computes the terms of a kind, `unit` times. For separable ones, all
  /// queries of the tile have the same query in `arguments` (ScoreTerms.h).
  llvm::SmallVector<TileTerm> buildTerms(const ScoreTerms &terms, TermKind kind,
                                         double unit,
                                         llvm::ArrayRef<TileValue> arguments,
                                         int64_t rows, int64_t columns);
  /// Returns a term as a tile of rows x columns.
  mlir::Value multiplyTerm(const TileTerm &term, int64_t rows, int64_t columns);
  /// Adds terms to `sum`, which has one or both of the dimensions of a tile of
  /// rows x columns.
  mlir::Value addTerms(llvm::ArrayRef<TileTerm> terms, TileValue sum,
                       int64_t rows, int64_t columns);
  /// Returns the numbers of `rows` queries from `firstQuery` on: what their
  /// separable terms are more than those of the query `reference`.
  mlir::Value sumOwnTerms(const ScoreTerms &terms, mlir::Value firstQuery,
                          mlir::Value reference, int64_t rows);
  /// The result of score_mod on a tile of scores: the new scores and their
  /// derivative. Without a score_mod, the scores stay as they are and the
  /// derivative is null.
  struct ModifiedScores {
    mlir::Value scores, derivative;
  };
  ModifiedScores applyScoreMod(std::optional<ScoreDerivative> &derived,
                               mlir::Value scores,
                               llvm::ArrayRef<TileValue> arguments);
  /// Multiplies probabilities by the derivative, if there is one. A key of
  /// probability 0 contributes nothing, even if the derivative is infinite,
  /// which `mayBeInfinite` allows.
  mlir::Value multiplyDerivative(mlir::Value p, mlir::Value derivative,
                                 bool mayBeInfinite);
  /// `rows` is the number of rows of the tile of scores.
  llvm::SmallVector<TileValue> getModArguments(mlir::Value batch,
                                               mlir::Value queryHead,
                                               TileValue queries,
                                               TileValue keys, int64_t rows);
  /// Returns a captured scalar, or the element of a captured vector at the
  /// query head, which each thread reads for its row.
  TileValue readCapture(unsigned number, mlir::Value queryHead, int64_t rows);
  /// Reads the number of a query head from a vector, for each of `rows` rows.
  mlir::Value readNumber(mlir::Value vector, mlir::Value queryHead,
                         int64_t rows);
  /// Returns the kernel's arguments that are captures.
  llvm::SmallVector<mlir::Value> getCaptures();

private:
  TileValue multiplyWeights(llvm::ArrayRef<TileValue> weights, double factor,
                            int64_t rows);
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_MODPROGRAM_H
