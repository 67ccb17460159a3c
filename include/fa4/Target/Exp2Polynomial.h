//===- Exp2Polynomial.h - minimax polynomials of 2^x -----------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 2^x without the MUFU, after Cody and Waite: x = i + f with i = floor(x), 2^f
// by a polynomial p on [0, 1), and i added to the exponent bits of p(f). The
// coefficients are a table; test/python/test_exp2_polynomial.py derives them.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TARGET_EXP2POLYNOMIAL_H
#define FA4_TARGET_EXP2POLYNOMIAL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace fa4 {

inline constexpr unsigned kMaxExp2Degree = 6;

/// A polynomial c0 + c1 f + ... + cn f^n for 2^f on [0, 1) with c0 = 1, so that
/// 2^0 is exact, and no coefficient that f32 cannot hold.
struct Exp2Polynomial {
  /// The coefficients c0 to cn.
  llvm::ArrayRef<float> coefficients;
  /// The largest relative error |p(f)/2^f - 1| on [0, 1], evaluated without
  /// rounding. The evaluation in f32 adds at most about one ulp of f32 (6e-8),
  /// which does not matter up to degree 4.
  double maxRelativeError = 0;

  unsigned degree() const { return coefficients.size() - 1; }

  /// Returns p(f) as the generated code computes it: by Horner's rule, where
  /// each step is one fused f32 multiply-add that rounds to nearest.
  float evaluate(float fraction) const;

  /// Returns 2^x as the generated code computes it. x is clamped to -127 from
  /// below (which gives 0 or nearly so) and must be below 127.
  float exp2(float x) const;
};

/// Returns the polynomial of least maximal relative error. Each coefficient in
/// turn, from c1, has been rounded to f32 and the others then fitted again, so
/// that they take up its rounding error.
/// Fails unless 1 <= degree <= kMaxExp2Degree.
llvm::Expected<Exp2Polynomial> getExp2Polynomial(unsigned degree);

/// The least degree that is good enough for a result which is then rounded to
/// a type of `significandBits` bits, the implicit one included: bf16 8, f16 11,
/// e4m3 4, e5m2 3. Good enough is a relative error of at most 2^-(bits + 2):
/// half an ulp of the type is 2^-bits relative at a power of two and half of
/// that just below the next, so that the polynomial moves a result by an eighth
/// to a quarter of an ulp over the rounding that happens anyway. That is
/// degree 3 (8.6e-5) for both bf16 and f16; degree 2 (2.1e-3) is off by about
/// half an ulp of bf16 by itself.
/// Fails if no degree up to kMaxExp2Degree, as evaluated in f32, reaches it.
llvm::Expected<unsigned> exp2DegreeForPrecision(unsigned significandBits);

} // namespace fa4

#endif // FA4_TARGET_EXP2POLYNOMIAL_H
