//===- DTypeTest.cpp - rounding and decoding of element types
//---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Manifest/DType.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace fa4::sim;

TEST(DType, NamesRoundTrip) {
  for (unsigned i = 0; i <= unsigned(DType::F64); ++i)
    EXPECT_EQ(dtypeByName(dtypeName(DType(i))), DType(i));
  EXPECT_FALSE(dtypeByName("float32"));
}

TEST(DType, Bf16RoundsToNearestEven) {
  EXPECT_EQ(encodeFloat(DType::BF16, 1.0), 0x3F80u);
  EXPECT_EQ(encodeFloat(DType::BF16, 1.0 + 0x1p-8), 0x3F80u); // Tie to even.
  EXPECT_EQ(encodeFloat(DType::BF16, 1.0 + 0x3p-8), 0x3F82u); // Tie to even.
  EXPECT_EQ(encodeFloat(DType::BF16, 1.0 + 0x1.1p-8), 0x3F81u);
  // Not a float: must not be rounded twice.
  EXPECT_EQ(encodeFloat(DType::BF16, 1.0 + 0x1p-8 + 0x1p-40), 0x3F81u);
  EXPECT_EQ(encodeFloat(DType::BF16, 3.4e38), 0x7F80u);
  EXPECT_EQ(encodeFloat(DType::BF16, -INFINITY), 0xFF80u);
  EXPECT_TRUE(
      std::isnan(decodeFloat(DType::BF16, encodeFloat(DType::BF16, NAN))));
}

TEST(DType, Fp8) {
  EXPECT_EQ(encodeFloat(DType::E4M3, 448.0), 0x7Eu);
  EXPECT_EQ(encodeFloat(DType::E4M3, 1e9) & 0x7F, 0x7Fu); // No infinity: NaN.
  EXPECT_EQ(encodeFloat(DType::E4M3, 0x1p-9), 0x01u);
  EXPECT_EQ(encodeFloat(DType::E5M2, 1e9), 0x7Cu);
  EXPECT_EQ(encodeFloat(DType::E5M2, -57344.0), 0xFBu);
}

TEST(DType, EveryBitPatternSurvives) {
  for (DType type : {DType::E4M3, DType::E5M2, DType::F16, DType::BF16})
    for (uint64_t bits = 0; bits < uint64_t(1) << (8 * dtypeBytes(type));
         ++bits) {
      double value = decodeFloat(type, bits);
      if (!std::isnan(value))
        ASSERT_EQ(encodeFloat(type, value), bits) << value;
    }
}
