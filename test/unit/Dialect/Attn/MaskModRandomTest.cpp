//===- MaskModRandomTest.cpp - random mask_mod regions -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Draws conditions on positions, and evaluates them at every pair of positions
// of a small rectangle by upstream's folders: no band that is read off a
// condition may hide a key that the condition shows, and canonicalisation must
// keep which keys are seen.
//
//===----------------------------------------------------------------------===//

#include "MaskModAnalysis.h"
#include "RandomMaskMod.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "gtest/gtest.h"
#include <vector>

using namespace mlir;
using namespace fa4::attn;

namespace {
constexpr unsigned kSeeds = 400;

/// Which keys each query sees, for both values of the unknown condition.
using Visible = std::vector<bool>;
} // namespace

static bool contains(const Band &band, int64_t i, int64_t j) {
  return (!band.left || i - *band.left <= j) &&
         (!band.right || j <= i + *band.right);
}

static Visible getVisible(SdpaOp op) {
  Visible visible;
  Region &region = op.getMaskMod();
  Band band;
  int64_t shift = 0;
  if (MaskAttr mask = op.getMaskAttr()) {
    band = {mask.getLeft(), mask.getRight()};
    if (mask.getAlignment() == MaskAlignment::BottomRight)
      shift = kKeys - kQueries;
  }
  for (bool unknown : {false, true})
    for (int64_t i = 0; i != kQueries; ++i)
      for (int64_t j = 0; j != kKeys; ++j)
        visible.push_back(
            contains(band, i + shift, j) &&
            (region.empty() || evaluateMaskMod(region, i, j, unknown)));
  return visible;
}

/// Returns the text afterwards.
static std::string canonicalize(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createCanonicalizerPass());
  EXPECT_TRUE(succeeded(passes.run(module)));
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

namespace {
class MaskModRandom : public ::testing::Test {
protected:
  MaskModRandom() {
    context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect,
                        math::MathDialect>();
  }

  MLIRContext context;
};
} // namespace

TEST_F(MaskModRandom, ImpliedBandHidesNoVisibleKey) {
  unsigned bounded = 0;
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    RandomOp random(context, seed);
    Region &region = random.get().getMaskMod();
    std::optional<Band> band = findImpliedBand(region);
    bounded += band && (band->left || band->right);
    for (bool unknown : {false, true})
      for (int64_t i = 0; i != kQueries; ++i)
        for (int64_t j = 0; j != kKeys; ++j)
          ASSERT_TRUE((band && contains(*band, i, j)) ||
                      !evaluateMaskMod(region, i, j, unknown))
              << random.source << "\nat i = " << i << ", j = " << j;
  }
  EXPECT_GT(bounded, kSeeds / 5);
}

TEST_F(MaskModRandom, CanonicalizationKeepsWhatIsVisible) {
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    for (bool isDynamic : {false, true}) {
      for (StringRef mask :
           {"", "mask<window, left = 5, right = 2, top_left>",
            "mask<window, left = 3, right = 3, bottom_right>"}) {
        RandomOp random(context, seed, mask, isDynamic);
        Visible before = getVisible(random.get());
        std::string once = canonicalize(random.getModule());
        ASSERT_EQ(before, getVisible(random.get()))
            << random.source << "\nbecame\n"
            << once;
        ASSERT_EQ(once, canonicalize(random.getModule())) << random.source;
      }
    }
  }
}
