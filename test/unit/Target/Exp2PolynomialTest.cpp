//===- Exp2PolynomialTest.cpp - minimax polynomials of 2^x -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/Exp2Polynomial.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace fa4;

static Exp2Polynomial get(unsigned degree) {
  return llvm::cantFail(getExp2Polynomial(degree));
}

static double errorAt(const Exp2Polynomial &p, double f) {
  double value = 0;
  for (unsigned k = p.degree() + 1; k-- > 0;)
    value = value * f + p.coefficients[k];
  return value / std::exp2(f) - 1;
}

/// The error as the kernel computes: f32 fused multiply-adds at f32 points.
TEST(Exp2Polynomial, MeasuredErrorIsThatOfTheTable) {
  for (unsigned degree = 1; degree <= kMaxExp2Degree; ++degree) {
    SCOPED_TRACE(degree);
    Exp2Polynomial p = get(degree);
    EXPECT_EQ(p.degree(), degree);
    EXPECT_EQ(p.evaluate(0), 1.0f);
    double worst = 0;
    constexpr unsigned kPoints = 1 << 20;
    for (unsigned i = 0; i < kPoints; ++i) {
      float f = float(i) / kPoints;
      worst =
          std::max(worst, std::abs(p.evaluate(f) / std::exp2(double(f)) - 1));
    }
    // Each step of Horner's rule rounds by half an ulp; the last ones count.
    EXPECT_LE(worst, p.maxRelativeError + 0x1p-23);
    EXPECT_GE(worst, p.maxRelativeError * (1 - 1e-3) - 0x1p-23);
  }
}

TEST(Exp2Polynomial, ErrorsByDegree) {
  EXPECT_NEAR(get(3).maxRelativeError, 8.56e-5, 1e-7);
  double previous = 1;
  for (unsigned degree = 1; degree <= kMaxExp2Degree; ++degree) {
    double error = get(degree).maxRelativeError;
    EXPECT_LT(error, previous / 10) << degree;
    previous = error;
  }
}

/// The mark of the best polynomial: degree + 1 extrema of equal size and
/// alternating sign (c0 is not free).
TEST(Exp2Polynomial, ErrorEquioscillates) {
  for (unsigned degree = 1; degree <= 4; ++degree) {
    SCOPED_TRACE(degree);
    Exp2Polynomial p = get(degree);
    constexpr unsigned kPoints = 100000;
    unsigned runs = 0;
    double peak = 0;
    auto finish = [&] {
      ++runs;
      EXPECT_NEAR(std::abs(peak), p.maxRelativeError,
                  0.02 * p.maxRelativeError);
      peak = 0;
    };
    for (unsigned i = 1; i <= kPoints; ++i) {
      double error = errorAt(p, double(i) / kPoints);
      if (peak != 0 && (error < 0) != (peak < 0))
        finish();
      if (std::abs(error) > std::abs(peak))
        peak = error;
    }
    finish();
    EXPECT_EQ(runs, degree + 1);
  }
}

TEST(Exp2Polynomial, WholeFunction) {
  Exp2Polynomial p = get(3);
  for (float x = -125.9f; x < 126; x += 0.0371f)
    EXPECT_NEAR(p.exp2(x) / std::exp2(double(x)), 1, 9e-5) << x;
  for (int i = -126; i < 127; ++i)
    EXPECT_EQ(p.exp2(i), std::ldexp(1.0f, i));
  // Where x - floor(x) rounds to 1.
  EXPECT_NEAR(p.exp2(-1e-10f), 1, 9e-5);
  for (float x : {-127.0f, -1000.0f, -INFINITY})
    EXPECT_EQ(p.exp2(x), 0.0f) << x;
  // Infinite once it is rounded to 16 bits, and not lost.
  EXPECT_EQ(p.exp2(std::numeric_limits<float>::quiet_NaN()),
            std::numeric_limits<float>::max());
}

TEST(Exp2Polynomial, DegreeForPrecision) {
  EXPECT_EQ(llvm::cantFail(exp2DegreeForPrecision(8)), 3u);  // bf16
  EXPECT_EQ(llvm::cantFail(exp2DegreeForPrecision(11)), 3u); // f16
  unsigned previous = 0;
  for (unsigned bits = 2; bits <= 20; ++bits) {
    unsigned degree = llvm::cantFail(exp2DegreeForPrecision(bits));
    EXPECT_GE(degree, previous);
    EXPECT_LE(get(degree).maxRelativeError, std::ldexp(1.0, -int(bits) - 2));
    if (degree > 1)
      EXPECT_GT(get(degree - 1).maxRelativeError + 0x1p-24,
                std::ldexp(1.0, -int(bits) - 2));
    previous = degree;
  }
  // f32 itself: the evaluation's own rounding is too large.
  llvm::Expected<unsigned> f32 = exp2DegreeForPrecision(24);
  EXPECT_EQ(llvm::toString(f32.takeError()),
            "no polynomial of 2^x of degree up to 6 is good for 24 significant "
            "bits");
}

TEST(Exp2Polynomial, RejectsOtherDegrees) {
  for (unsigned degree : {0u, 7u, ~0u})
    EXPECT_EQ(llvm::toString(getExp2Polynomial(degree).takeError()),
              "a polynomial of 2^x has degree 1 to 6, not " +
                  std::to_string(degree));
}
