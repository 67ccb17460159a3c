//===- MaskModAnalysisTest.cpp - bands in mask_mod regions ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the band that the analysis reads off a comparison with the
// comparison itself, at every pair of positions of a small square.
//
//===----------------------------------------------------------------------===//

#include "MaskModAnalysis.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa4::attn;

namespace {
constexpr int64_t kSize = 8;

class MaskModAnalysis : public ::testing::Test {
protected:
  MaskModAnalysis() {
    context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect>();
  }

  /// The bands of an op whose mask_mod is `body`, on %b, %h, %i, %j.
  SmallVector<Band> getBands(StringRef body) {
    std::string source = R"(
      func.func @f(%x: tensor<1x8x1x16xf32>) -> tensor<1x8x1x16xf32> {
        %o = attn.sdpa %x, %x, %x layout<bshd>
          : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>
            -> tensor<1x8x1x16xf32>
          mask_mod(%b: index, %h: index, %i: index, %j: index) {)";
    source += body;
    source += R"(
          }
        return %o : tensor<1x8x1x16xf32>
      })";
    module = parseSourceString<ModuleOp>(source, &context);
    SmallVector<Band> bands;
    if (!module) {
      ADD_FAILURE() << "not parsed: " << source;
      return bands;
    }
    module->walk([&](SdpaOp op) {
      for (const BandConjunct &conjunct : findBandConjuncts(op.getMaskMod()))
        bands.push_back(conjunct.band);
    });
    return bands;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

static bool contains(const Band &band, int64_t i, int64_t j) {
  return (!band.left || i - *band.left <= j) &&
         (!band.right || j <= i + *band.right);
}

TEST_F(MaskModAnalysis, ComparisonsOfSignedDistance) {
  struct Case {
    const char *predicate;
    bool (*holds)(int64_t, int64_t);
  } cases[] = {
      {"sle", [](int64_t a, int64_t b) { return a <= b; }},
      {"slt", [](int64_t a, int64_t b) { return a < b; }},
      {"sge", [](int64_t a, int64_t b) { return a >= b; }},
      {"sgt", [](int64_t a, int64_t b) { return a > b; }},
      {"eq", [](int64_t a, int64_t b) { return a == b; }},
  };
  for (const Case &c : cases) {
    for (int64_t distance = -3; distance <= 3; ++distance) {
      for (bool queryFirst : {false, true}) {
        // %i - %j (or %j - %i) <predicate> distance
        std::string body = "%c = arith.constant " + std::to_string(distance) +
                           " : index\n%d = arith.subi " +
                           (queryFirst ? "%i, %j" : "%j, %i") +
                           " : index\n%r = arith.cmpi " + c.predicate +
                           ", %d, %c : index\nattn.yield %r : i1";
        SmallVector<Band> bands = getBands(body);
        ASSERT_EQ(bands.size(), 1u) << body;
        for (int64_t i = 0; i != kSize; ++i)
          for (int64_t j = 0; j != kSize; ++j)
            EXPECT_EQ(contains(bands[0], i, j),
                      c.holds(queryFirst ? i - j : j - i, distance))
                << body << "\nat i = " << i << ", j = " << j;
      }
    }
  }
}

TEST_F(MaskModAnalysis, UnsignedComparisonOfPositions) {
  SmallVector<Band> bands = getBands(R"(
    %r = arith.cmpi uge, %i, %j : index
    attn.yield %r : i1)");
  ASSERT_EQ(bands.size(), 1u);
  EXPECT_EQ(bands[0].left, std::nullopt);
  EXPECT_EQ(bands[0].right, 0);
}

TEST_F(MaskModAnalysis, UnsignedComparisonOfDifferenceIsNoBand) {
  // True as well where j > i: the difference wraps.
  EXPECT_TRUE(getBands(R"(
    %c = arith.constant 3 : index
    %d = arith.subi %i, %j : index
    %r = arith.cmpi uge, %d, %c : index
    attn.yield %r : i1)")
                  .empty());
}

TEST_F(MaskModAnalysis, ConjunctionGivesEachFactor) {
  SmallVector<Band> bands = getBands(R"(
    %c = arith.constant 4 : index
    %causal = arith.cmpi sle, %j, %i : index
    %d = arith.subi %i, %j : index
    %near = arith.cmpi sle, %d, %c : index
    %even = arith.cmpi eq, %h, %b : index
    %x = arith.andi %causal, %even : i1
    %r = arith.andi %x, %near : i1
    attn.yield %r : i1)");
  ASSERT_EQ(bands.size(), 2u);
  bands[0].intersect(bands[1]);
  EXPECT_EQ(bands[0].left, 4);
  EXPECT_EQ(bands[0].right, 0);
}

TEST_F(MaskModAnalysis, DisjunctionIsNoBand) {
  EXPECT_TRUE(getBands(R"(
    %c = arith.constant 4 : index
    %causal = arith.cmpi sle, %j, %i : index
    %prefix = arith.cmpi slt, %j, %c : index
    %r = arith.ori %causal, %prefix : i1
    attn.yield %r : i1)")
                  .empty());
}

TEST_F(MaskModAnalysis, NarrowIndexArithmeticIsNoBand) {
  // Positions do not fit 8 bits, so that this is not j <= i.
  EXPECT_TRUE(getBands(R"(
    %a = arith.index_cast %j : index to i8
    %c = arith.index_cast %i : index to i8
    %r = arith.cmpi sle, %a, %c : i8
    attn.yield %r : i1)")
                  .empty());
}
