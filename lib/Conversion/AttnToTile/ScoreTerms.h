//===- ScoreTerms.h - score_mods that add to a multiple of the score ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most score_mods add a bias, and nothing else happens to the score:
//
//     score_mod(s, i, j) = factor * s + term(i, j) + ...
//
// Such a score_mod has a constant derivative, which is part of the scale, and
// its exponents are linear in q.k. For ALiBi, `s + slope * (j - i)`, the factor
// is 1, and the term has the number `j - i` and the weight `slope`.
//
// A term is *separable* if it is a sum of a number of the query and one of the
// key. Softmax does not see what all keys of a query have in common, so that
// the number of the query belongs to the row's LSE, and keys have theirs
// whatever the query is. Each is computed relative to a query i0 near i, since
// numbers that are as large as a long sequence would have large rounding
// errors:
//
//     term(i, j) = term(i0, j) + (term(i, i0) - term(i0, i0))
//
// With ALiBi and i0 = 128, query 130 and key 120 have the term -10 slope: the
// number of the key is -8 slope, and that of the query -2 slope.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_SCORETERMS_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_SCORETERMS_H

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/STLExtras.h"
#include <memory>
#include <optional>

namespace fa4 {

/// The product of `number`, of `weights`, which are the same for all queries
/// and keys of a head, and of `coefficient`.
struct ScoreTerm {
  mlir::Value number;
  llvm::SmallVector<mlir::Value, 1> weights;
  double coefficient = 1;
  bool isOfQuery = false; ///< The number may depend on the query.
  /// A number of the key alone is separable, and so are the position of the
  /// query and what is linear in it, converted to f32. Other numbers of a query
  /// may be infinite, and then do not cancel.
  bool isSeparable = false;
};

/// Kinds of terms: those that are separable and those that are not, and the
/// separable ones of which a query has a number of its own.
using TermKind = bool (*)(const ScoreTerm &);
inline bool isSeparable(const ScoreTerm &term) { return term.isSeparable; }
inline bool isMixed(const ScoreTerm &term) { return !term.isSeparable; }
inline bool movesRows(const ScoreTerm &term) {
  return term.isSeparable && term.isOfQuery;
}

/// `factor * score` and the terms, whose values are those of the region.
struct LinearScore {
  double factor = 0; ///< Not 0.
  llvm::SmallVector<ScoreTerm> terms;

  bool hasTerm(TermKind kind) const { return llvm::any_of(terms, kind); }
};

/// Returns the form of a score_mod region, or nothing if it has none or is
/// empty.
std::optional<LinearScore> findLinearScore(mlir::Region &scoreMod);

/// Returns true if the region is linear with a term that moves rows.
bool movesRows(mlir::Region &scoreMod);

/// A positive factor by which a score_mod multiplies its result last, such as
/// the cap of a softcap, and what it multiplies.
struct ScoreProduct {
  mlir::Value number;
  double factor = 1;
};
ScoreProduct findScoreProduct(mlir::Region &scoreMod);

/// If the score_mod of `op` sees the score in products with one constant only,
/// makes the constant part of the op's scale: `tanh(score / 15)` becomes
/// `tanh(score)`.
void foldScoreFactor(attn::AttentionOpInterface op);

/// A copy of a score_mod region that has such a form. Operations for which
/// threads have no instructions are expanded (ExpandMath.h).
struct ScoreTerms {
  /// `scoreMod` must be linear, with the form `linear`.
  ScoreTerms(mlir::Region &scoreMod, const LinearScore &linear);

  /// Returns true if the numbers of terms that are not separable are finite for
  /// all positions, as far as their operations say.
  bool isFinite() const;

  std::unique_ptr<mlir::Region> region;
  LinearScore score;
};

/// Returns the copy, if the region is not empty and has such a form.
std::unique_ptr<ScoreTerms> findScoreTerms(mlir::Region &scoreMod);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_SCORETERMS_H
