//===- Exp2Polynomial.cpp - minimax polynomials of 2^x --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With c0 = 1 the relative error is, for each f,
//     e(f) = (1 + c1 f + ... + cn f^n) 2^-f - 1,
// linear in c1 to cn. The functions f^k 2^-f are a Chebyshev system on (0, 1],
// whatever subset of the exponents is free, so that the best coefficients are
// those for which e has one extremum more than there are free coefficients, of
// equal size and alternating sign.
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/Exp2Polynomial.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace llvm;

namespace fa4 {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr unsigned kGridSize = 512;

/// The points f in (0, 1] at which the error is evaluated, with 2^-f of each.
/// They are denser towards the ends, where Chebyshev extrema are.
struct Grid {
  std::array<double, kGridSize + 1> point;
  std::array<double, kGridSize + 1> scale;

  Grid() {
    for (unsigned i = 0; i <= kGridSize; ++i) {
      point[i] = 0.5 - 0.5 * std::cos(kPi * i / kGridSize);
      scale[i] = std::exp2(-point[i]);
    }
  }
};

using Coefficients = std::array<double, kMaxExp2Degree + 1>;

double errorAt(const Coefficients &c, unsigned degree, double point,
               double scale) {
  double value = c[degree];
  for (unsigned k = degree; k-- > 0;)
    value = value * point + c[k];
  return value * scale - 1;
}

double errorAt(const Coefficients &c, unsigned degree, double point) {
  return errorAt(c, degree, point, std::exp2(-point));
}

struct Extremum {
  double point;
  double error;
};

/// Returns the extremum of the parabola through three neighbouring points of
/// the grid, or the middle point if the parabola has none between them.
Extremum refine(const Coefficients &c, unsigned degree, const Grid &grid,
                unsigned i, double error) {
  if (i == 0 || i == kGridSize)
    return {grid.point[i], error};
  double x0 = grid.point[i - 1], x1 = grid.point[i], x2 = grid.point[i + 1];
  double y0 = errorAt(c, degree, x0, grid.scale[i - 1]);
  double y2 = errorAt(c, degree, x2, grid.scale[i + 1]);
  double left = (x1 - x0) * (error - y2), right = (x1 - x2) * (error - y0);
  double denominator = left - right;
  if (denominator == 0)
    return {x1, error};
  double x = x1 - 0.5 * ((x1 - x0) * left - (x1 - x2) * right) / denominator;
  if (x <= x0 || x >= x2)
    return {x1, error};
  double refined = errorAt(c, degree, x);
  if (std::abs(refined) < std::abs(error))
    return {x1, error};
  return {x, refined};
}

/// Returns the largest extremum of each run of points on which the error has
/// the same sign. The error is 0 at f = 0, so no extremum lies there.
SmallVector<Extremum> findExtrema(const Coefficients &c, unsigned degree,
                                  const Grid &grid) {
  SmallVector<Extremum> result;
  unsigned best = 0;
  double bestError = 0;
  auto finish = [&] {
    if (best != 0)
      result.push_back(refine(c, degree, grid, best, bestError));
  };
  for (unsigned i = 1; i <= kGridSize; ++i) {
    double error = errorAt(c, degree, grid.point[i], grid.scale[i]);
    if (best != 0 && (error < 0) != (bestError < 0)) {
      finish();
      best = 0;
    }
    if (best == 0 || std::abs(error) > std::abs(bestError)) {
      best = i;
      bestError = error;
    }
  }
  finish();
  return result;
}

/// Gaussian elimination with partial pivoting; the last column is the right
/// side. Returns the solution in it.
constexpr unsigned kMaxUnknowns = kMaxExp2Degree + 1;
using Matrix = std::array<std::array<double, kMaxUnknowns + 1>, kMaxUnknowns>;

void solve(Matrix &a, unsigned size) {
  for (unsigned column = 0; column < size; ++column) {
    unsigned pivot = column;
    for (unsigned row = column + 1; row < size; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column]))
        pivot = row;
    std::swap(a[pivot], a[column]);
    for (unsigned row = 0; row < size; ++row) {
      if (row == column)
        continue;
      double factor = a[row][column] / a[column][column];
      for (unsigned k = column; k < size; ++k)
        a[row][k] -= factor * a[column][k];
      a[row][size] -= factor * a[column][size];
    }
  }
  for (unsigned row = 0; row < size; ++row)
    a[row][size] /= a[row][row];
}

/// Sets the coefficients c[firstFree..degree] such that the error alternates
/// with equal size at `points`; there is one point more than there are
/// coefficients.
void fitAlternating(Coefficients &c, unsigned degree, unsigned firstFree,
                    ArrayRef<Extremum> points) {
  unsigned free = degree - firstFree + 1;
  Matrix a = {};
  for (unsigned row = 0; row <= free; ++row) {
    double x = points[row].point, scale = std::exp2(-x);
    double fixed = 0, power = 1;
    for (unsigned k = 0; k <= degree; ++k, power *= x) {
      if (k < firstFree)
        fixed += c[k] * power;
      else
        a[row][k - firstFree] = power * scale;
    }
    a[row][free] = row % 2 ? 1 : -1;
    a[row][free + 1] = 1 - fixed * scale;
  }
  solve(a, free + 1);
  for (unsigned k = 0; k < free; ++k)
    c[firstFree + k] = a[k][free + 1];
}

/// Runs Remez' second algorithm for c[firstFree..degree]. The other
/// coefficients stay as they are.
void fitMinimax(Coefficients &c, unsigned degree, unsigned firstFree,
                const Grid &grid) {
  unsigned count = degree - firstFree + 2;
  SmallVector<Extremum> reference;
  for (unsigned i = 1; i <= count; ++i)
    reference.push_back({0.5 - 0.5 * std::cos(kPi * i / count), 0});
  constexpr unsigned kMaxIterations = 20;
  for (unsigned iteration = 0; iteration < kMaxIterations; ++iteration) {
    fitAlternating(c, degree, firstFree, reference);
    SmallVector<Extremum> extrema = findExtrema(c, degree, grid);
    // The coefficients that are already rounded can add a sign change that the
    // free ones cannot level out. The smaller of the two outermost extrema is
    // dropped then.
    while (extrema.size() > count) {
      if (std::abs(extrema.front().error) < std::abs(extrema.back().error))
        extrema.erase(extrema.begin());
      else
        extrema.pop_back();
    }
    if (extrema.size() < count)
      return;
    auto [least, most] = std::minmax_element(
        extrema.begin(), extrema.end(), [](Extremum a, Extremum b) {
          return std::abs(a.error) < std::abs(b.error);
        });
    bool levelled = std::abs(most->error) - std::abs(least->error) <=
                    1e-6 * std::abs(most->error);
    reference = extrema;
    if (levelled)
      return;
  }
}

double maxError(const Coefficients &c, unsigned degree, const Grid &grid) {
  double result = 0;
  for (const Extremum &extremum : findExtrema(c, degree, grid))
    result = std::max(result, std::abs(extremum.error));
  return result;
}

} // namespace

Expected<Exp2Polynomial> deriveExp2Polynomial(unsigned degree) {
  if (degree < 1 || degree > kMaxExp2Degree)
    return createStringError(
        formatv("a polynomial of 2^x has degree 1 to {0}, not {1}",
                kMaxExp2Degree, degree));
  Grid grid;
  Coefficients c = {};
  c[0] = 1;
  fitMinimax(c, degree, /*firstFree=*/1, grid);
  Exp2Polynomial result;
  result.minimaxError = maxError(c, degree, grid);
  for (unsigned k = 1; k <= degree; ++k) {
    c[k] = static_cast<float>(c[k]);
    if (k < degree)
      fitMinimax(c, degree, k + 1, grid);
  }
  for (unsigned k = 0; k <= degree; ++k)
    result.coefficients.push_back(static_cast<float>(c[k]));
  result.maxRelativeError = maxError(c, degree, grid);
  return result;
}

Expected<unsigned> exp2DegreeForPrecision(unsigned significandBits) {
  // The rounding error of the evaluation in f32: the last step of Horner's rule
  // rounds a value between 1 and 2.
  constexpr double kEvaluationError = 0x1p-24;
  double bound = std::ldexp(1.0, -static_cast<int>(significandBits) - 2);
  for (unsigned degree = 1; degree <= kMaxExp2Degree; ++degree) {
    Expected<Exp2Polynomial> polynomial = deriveExp2Polynomial(degree);
    if (!polynomial)
      return polynomial.takeError();
    if (polynomial->maxRelativeError + kEvaluationError <= bound)
      return degree;
  }
  return createStringError(
      formatv("no polynomial of 2^x of degree up to {0} is good for {1} "
              "significant bits",
              kMaxExp2Degree, significandBits));
}

float Exp2Polynomial::evaluate(float fraction) const {
  float value = coefficients.back();
  for (unsigned k = degree(); k-- > 0;)
    value = std::fma(value, fraction, coefficients[k]);
  return value;
}

float Exp2Polynomial::exp2(float x) const {
  // The bits of NaN, as the GPU makes it, are 0x7fffffff; shifted into the
  // exponent and added to themselves they are those of the largest number.
  if (std::isnan(x))
    return std::numeric_limits<float>::max();
  x = std::fmax(x, -127.0f);
  // The kernel adds 1.5 * 2^23 rounding down, which leaves floor(x) in the low
  // bits; subtracting it again is exact.
  float whole = std::floor(x);
  uint32_t bits = bit_cast<uint32_t>(evaluate(x - whole));
  bits += static_cast<uint32_t>(static_cast<int32_t>(whole)) << 23;
  return bit_cast<float>(bits);
}

} // namespace fa4
