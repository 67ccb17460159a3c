//===- Numeric.cpp - PTX number formats and rounding ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Numeric.h"
#include <algorithm>

using namespace fa4::sim;

double fa4::sim::roundToIntegral(double x, Round round) {
  switch (round) {
  case Round::Zero:
    return std::trunc(x);
  case Round::Down:
    return std::floor(x);
  case Round::Up:
    return std::ceil(x);
  case Round::NearestAway:
    return std::round(x);
  case Round::Nearest:
  case Round::Stochastic:
    break;
  }
  return std::nearbyint(x);
}

/// Rounds a non-negative scaled significand to an integer.
static double roundSignificand(double x, bool negative, Round round,
                               uint32_t random, unsigned randomBits) {
  switch (round) {
  case Round::Down:
    return negative ? std::ceil(x) : std::floor(x);
  case Round::Up:
    return negative ? std::floor(x) : std::ceil(x);
  case Round::Stochastic: {
    // The random bits are added below the last place, then truncation.
    double scale = std::ldexp(1.0, randomBits);
    return std::floor(x + std::floor(double(random)) / scale);
  }
  default:
    return roundToIntegral(x, round);
  }
}

uint32_t fa4::sim::encode(double value, const Format &f, Round round,
                          bool saturate, uint32_t random, unsigned randomBits) {
  uint32_t sign =
      std::signbit(value) ? 1u << (f.exponentBits + f.mantissaBits) : 0;
  uint32_t topExponent = (1u << f.exponentBits) - 1;
  uint32_t mantissaMask = (1u << f.mantissaBits) - 1;
  uint32_t infinity = topExponent << f.mantissaBits;
  // The largest finite number.
  uint32_t largest = f.hasInf   ? infinity - 1
                     : f.hasNan ? (infinity | mantissaMask) - 1
                                : infinity | mantissaMask;
  if (std::isnan(value)) {
    // Canonical: all ones, positive; formats without NaN give their maximum.
    return f.hasNan ? infinity | mantissaMask : largest;
  }
  double magnitude = std::fabs(value);
  uint32_t overflow;
  if (saturate)
    overflow = largest;
  else if (!f.hasInf)
    overflow = f.hasNan ? infinity | mantissaMask : largest;
  else
    overflow = infinity;
  if (std::isinf(value))
    return sign | overflow;
  if (magnitude == 0)
    return sign;
  int exponent = std::ilogb(magnitude);
  int minExponent = 1 - f.bias;
  int scale = std::max(exponent, minExponent) - f.mantissaBits;
  double significand = roundSignificand(std::ldexp(magnitude, -scale),
                                        sign != 0, round, random, randomBits);
  // Carry into the next binade comes out right by arithmetic on the bits.
  uint64_t integer = uint64_t(significand);
  int biased = std::max(exponent, minExponent) + f.bias;
  uint64_t bits = (uint64_t(biased - 1) << f.mantissaBits) + integer;
  if (bits > largest) {
    bool towardsZero = round == Round::Zero ||
                       (round == Round::Down && !sign) ||
                       (round == Round::Up && sign);
    return sign | (towardsZero ? largest : overflow);
  }
  return sign | uint32_t(bits);
}

double fa4::sim::decode(uint32_t bits, const Format &f) {
  uint32_t mantissaMask = (1u << f.mantissaBits) - 1;
  uint32_t topExponent = (1u << f.exponentBits) - 1;
  uint32_t mantissa = bits & mantissaMask;
  uint32_t exponent = bits >> f.mantissaBits & topExponent;
  bool negative = bits >> (f.exponentBits + f.mantissaBits) & 1;
  double value;
  if (exponent == topExponent && f.hasInf)
    value = mantissa ? NAN : INFINITY;
  else if (exponent == topExponent && f.hasNan && mantissa == mantissaMask)
    value = NAN;
  else if (exponent == 0)
    value = std::ldexp(double(mantissa), 1 - f.bias - f.mantissaBits);
  else
    value = std::ldexp(double(mantissa | (mantissaMask + 1)),
                       int(exponent) - f.bias - f.mantissaBits);
  return negative ? -value : value;
}
