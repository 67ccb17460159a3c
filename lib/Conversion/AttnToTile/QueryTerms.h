//===- QueryTerms.h - numbers that MMAs add to scores -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient's scores are transposed: a query is a column. Each column of
// scores has a number to be added, and each column of dP another one. Where
// lanes hold the accumulators, a thread has a part of all columns, and so each
// of a warp's threads would read all numbers from shared memory, which is the
// bottleneck of these kernels. MMAs add them instead:
//
//     S^T + 1 x^T = [K 1] [Q x]^T
//
// A number is the sum of three of 8 bits of mantissa each, which together have
// the 24 bits of f32. For example, x = 1 + 2^-10 + 2^-20 is 1, 2^-10 and 2^-20.
// An MMA takes kTermColumns columns at a time: a query has as many numbers for
// scores and as many for dP, which are the three parts and zeros.
//
// The numbers are limited to +-kLargestTerm, because the difference of
// infinities is no number. A score with -kLargestTerm has the exponential 0. An
// LSE is divided by the scale, because what MMAs add is multiplied by it: with
// a scale of kLeastTermScale or more, LSEs up to 2^80 are not limited.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_QUERYTERMS_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_QUERYTERMS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa4 {

inline constexpr int64_t kTermColumns = 16;
inline constexpr int64_t kTermParts = 3;
inline constexpr double kLargestTerm = 0x1p100;
inline constexpr double kLeastTermScale = 0x1p-20;

/// Returns true for a scale by which terms may be divided: it is neither tiny
/// nor huge.
inline bool isTermScale(double scale) {
  return scale >= kLeastTermScale && scale <= 1 / kLeastTermScale;
}

/// What MMAs add to: its number is that of the columns that the MMA takes.
enum class QueryTerm { Scores, ProbabilityGradient };
inline constexpr int64_t kQueryTerms = 2;
/// The columns of a query's numbers in all.
inline constexpr int64_t kAllTermColumns = kQueryTerms * kTermColumns;

/// Returns the numbers of queries in bf16, from the two of each row in f32.
mlir::Value packTerms(mlir::ImplicitLocOpBuilder &b, mlir::Value ofScores,
                      mlir::Value ofGradient);

/// Loads and stores the numbers of queries. `rows` are the indices of the first
/// query in a tensor with one number for each, such as the LSE; `memref` has
/// kAllTermColumns there.
mlir::Value loadTerms(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                      int64_t queries, mlir::ValueRange rows);
void storeTerms(mlir::ImplicitLocOpBuilder &b, mlir::Value terms,
                mlir::Value memref, mlir::ValueRange rows, mlir::Value to);

/// Returns the product by which `terms` are added to `rows` rows.
mlir::Value addTerm(mlir::ImplicitLocOpBuilder &b, QueryTerm term,
                    mlir::Value terms, int64_t rows);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_QUERYTERMS_H
