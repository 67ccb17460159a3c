//===- Numeric.h - PTX number formats and rounding -------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between double and the narrow formats, one rounding each, and
// the rules for NaN, zero and subnormals that PTX adds to IEEE 754.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MACHINE_NUMERIC_H
#define FA4_LIB_SIMULATOR_MACHINE_NUMERIC_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace fa4::sim {

enum class Round : uint8_t { Nearest, Zero, Down, Up, NearestAway, Stochastic };

template <typename To, typename From> inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

constexpr uint32_t canonicalNan32 = 0x7FFFFFFF;

/// The only NaN that single-precision arithmetic makes.
inline float canonical(float x) {
  return x != x ? bitCast<float>(canonicalNan32) : x;
}
inline double canonical(double x) { return x; }
/// .ftz: subnormals become zeros of their sign.
inline float flush(float x) {
  uint32_t bits = bitCast<uint32_t>(x);
  return (bits & 0x7F800000) ? x : bitCast<float>(bits & 0x80000000u);
}
inline double flush(double x) { return x; }

/// A binary floating-point format of at most 32 bits.
struct Format {
  uint8_t exponentBits, mantissaBits;
  int8_t bias;
  bool hasInf; ///< Otherwise the top exponent holds numbers.
  bool hasNan; ///< Without hasInf: only the all-ones mantissa.
  bool isUnsigned = false;
};
constexpr Format f16Format{5, 10, 15, true, true};
constexpr Format bf16Format{8, 7, 127, true, true};
constexpr Format tf32Format{8, 10, 127, true, true};
constexpr Format e4m3Format{4, 3, 7, false, true};
constexpr Format e5m2Format{5, 2, 15, true, true};
constexpr Format e2m3Format{2, 3, 1, false, false};
constexpr Format e3m2Format{3, 2, 3, false, false};
constexpr Format e2m1Format{2, 1, 1, false, false};

/// Rounds a double to `format`; the bits in the low end. `saturate`
/// (.satfinite) replaces what is beyond the largest number, infinities
/// included. `random` holds the bits of stochastic rounding, as many as
/// `randomBits`.
uint32_t encode(double value, const Format &format, Round round, bool saturate,
                uint32_t random = 0, unsigned randomBits = 0);
/// Decodes a number; the result is exact.
double decode(uint32_t bits, const Format &format);

/// Rounds to an integer in floating point.
double roundToIntegral(double x, Round round);

inline float fromF16(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, rest = h & 0x7FFF;
  if (rest >= 0x7C00)
    return bitCast<float>(sign | 0x7F800000 | (rest & 0x3FF) << 13);
  // Exact, subnormals too: the scale makes up for the difference of the biases.
  float magnitude = bitCast<float>(rest << 13) * bitCast<float>(0x77800000u);
  return bitCast<float>(sign | bitCast<uint32_t>(magnitude));
}
inline float fromBf16(uint16_t b) { return bitCast<float>(uint32_t(b) << 16); }

inline uint16_t toBf16(float x) { // round to nearest even
  uint32_t bits = bitCast<uint32_t>(x);
  if (x != x)
    return 0x7FFF;
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
inline uint16_t toF16(float x) { // round to nearest even
  uint32_t bits = bitCast<uint32_t>(x), sign = bits >> 16 & 0x8000;
  bits &= 0x7FFFFFFF;
  if (bits > 0x7F800000)
    return 0x7FFF;
  if (bits >= 0x477FF000) // rounds to infinity
    return uint16_t(sign | 0x7C00);
  if (bits < 0x38800000) { // subnormal: let the adder round
    float magnitude = bitCast<float>(bits) + 0.5f;
    return uint16_t(sign | (bitCast<uint32_t>(magnitude) - 0x3F000000));
  }
  return uint16_t(sign | (bits + 0xC8000FFF + (bits >> 13 & 1)) >> 13);
}

/// a + b rounded to odd: exact enough that one more rounding to a format of
/// half the precision is right.
inline double addToOdd(double a, double b) {
  double s = a + b;
  double bb = s - a;
  double error = (a - (s - bb)) + (b - bb);
  if (error != 0 && std::isfinite(s)) {
    uint64_t bits = bitCast<uint64_t>(s);
    if (!(bits & 1)) {
      // Truncate towards zero, then set the last bit.
      if ((error < 0) == (s > 0))
        bits -= 1;
      bits |= 1;
    }
    s = bitCast<double>(bits);
  }
  return s;
}

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MACHINE_NUMERIC_H
