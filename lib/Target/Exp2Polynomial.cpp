//===- Exp2Polynomial.cpp - minimax polynomials of 2^x --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Target/Exp2Polynomial.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace llvm;

namespace fa4 {

// What test/python/test_exp2_polynomial.py derives, to the last bit.
static constexpr float degree1[] = {1, 0x1.d8dc72p-1f};
static constexpr float degree2[] = {1, 0x1.54f8d6p-1f, 0x1.51d9cap-2f};
static constexpr float degree3[] = {1, 0x1.63e658p-1f, 0x1.d23794p-3f,
                                    0x1.3baa9ap-4f};
static constexpr float degree4[] = {1, 0x1.62d6c6p-1f, 0x1.ee2454p-3f,
                                    0x1.abf854p-5f, 0x1.b7f768p-7f};
static constexpr float degree5[] = {1,
                                    0x1.62e4bap-1f,
                                    0x1.ebdb6ap-3f,
                                    0x1.c91c1p-5f,
                                    0x1.277c1cp-7f,
                                    0x1.e96912p-10f};
static constexpr float degree6[] = {1,
                                    0x1.62e42cp-1f,
                                    0x1.ebfd3ap-3f,
                                    0x1.c68af6p-5f,
                                    0x1.3cfd82p-7f,
                                    0x1.473738p-10f,
                                    0x1.c4458p-13f};

static constexpr Exp2Polynomial polynomials[] = {
    {degree1, 3.8221588e-2}, {degree2, 2.0533353e-3}, {degree3, 8.5592326e-5},
    {degree4, 2.8980524e-6}, {degree5, 8.2453136e-8}, {degree6, 2.1084646e-9},
};
static_assert(std::size(polynomials) == kMaxExp2Degree);

Expected<Exp2Polynomial> getExp2Polynomial(unsigned degree) {
  if (degree < 1 || degree > kMaxExp2Degree)
    return createStringError(
        formatv("a polynomial of 2^x has degree 1 to {0}, not {1}",
                kMaxExp2Degree, degree));
  return polynomials[degree - 1];
}

Expected<unsigned> exp2DegreeForPrecision(unsigned significandBits) {
  // The rounding error of the evaluation in f32: the last step of Horner's rule
  // rounds a value between 1 and 2.
  constexpr double kEvaluationError = 0x1p-24;
  double bound = std::ldexp(1.0, -static_cast<int>(significandBits) - 2);
  for (const Exp2Polynomial &polynomial : polynomials)
    if (polynomial.maxRelativeError + kEvaluationError <= bound)
      return polynomial.degree();
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
