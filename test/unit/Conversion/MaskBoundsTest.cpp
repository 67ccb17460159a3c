//===- MaskBoundsTest.cpp - a mask_mod by bounds of its numbers ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Conversion/AttnToTile/MaskBounds.h"
#include "../Dialect/Attn/RandomMaskMod.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

namespace {
/// Queries and keys from a first to a last one.
struct Rectangle {
  int64_t firstQuery, lastQuery, firstKey, lastKey;
};

/// What bounds tell of a rectangle.
struct Verdict {
  bool mayBeHidden, mayBeVisible;
};

class MaskBoundsTest : public ::testing::Test {
protected:
  MaskBoundsTest() {
    context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, tensor::TensorDialect>();
  }

  Verdict judge(Region &mask, const MaskBounds &bounds, const Rectangle &scores,
                bool unknown);
  std::optional<Bounds> boundTerm(Region &mask, Value term,
                                  const Rectangle &scores, bool unknown);
  bool evaluate(TileValue condition);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<ImplicitLocOpBuilder> b;
};
} // namespace

/// Finds the bounds of a term by evaluating it everywhere. Those of a condition
/// say whether it is false, and whether it is true, anywhere. None if an index
/// is larger than a kernel's, which has 32 bits.
std::optional<Bounds> MaskBoundsTest::boundTerm(Region &mask, Value term,
                                                const Rectangle &scores,
                                                bool unknown) {
  int64_t least = INT64_MAX, largest = INT64_MIN;
  for (int64_t i = scores.firstQuery; i <= scores.lastQuery; ++i)
    for (int64_t j = scores.firstKey; j <= scores.lastKey; ++j) {
      int64_t value = evaluateInMaskMod(mask, term, i, j, unknown);
      least = std::min(least, value);
      largest = std::max(largest, value);
    }
  auto constant = [&](TypedAttr number) -> TileValue {
    return {arith::ConstantOp::create(*b, number)};
  };
  if (term.getType().isInteger(1))
    return Bounds{constant(b->getBoolAttr(least == 0)),
                  constant(b->getBoolAttr(largest != 0))};
  if (!llvm::isInt<32>(least) || !llvm::isInt<32>(largest))
    return std::nullopt;
  return Bounds{constant(b->getI32IntegerAttr(least)),
                constant(b->getI32IntegerAttr(largest))};
}

/// Folds the operations that have been built, up to `condition`.
bool MaskBoundsTest::evaluate(TileValue condition) {
  if (!condition.value)
    return true;
  llvm::DenseMap<Value, Attribute> values;
  for (Operation &op : *module->getBody()) {
    SmallVector<Attribute> operands = llvm::map_to_vector(
        op.getOperands(), [&](Value value) { return values.lookup(value); });
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)) || results.size() != 1) {
      ADD_FAILURE() << "not folded: " << op.getName().getStringRef().str();
      return false;
    }
    auto same = dyn_cast<Value>(results[0]);
    values[op.getResult(0)] =
        same ? values.lookup(same) : cast<Attribute>(results[0]);
  }
  auto result = cast<IntegerAttr>(values.lookup(condition.value));
  return !result.getValue().isZero();
}

Verdict MaskBoundsTest::judge(Region &mask, const MaskBounds &bounds,
                              const Rectangle &scores, bool unknown) {
  module = ModuleOp::create(UnknownLoc::get(&context));
  b = ImplicitLocOpBuilder::atBlockEnd(module->getLoc(), module->getBody());
  TermBounds terms;
  for (MaskSide side : {MaskSide::None, MaskSide::Queries, MaskSide::Keys})
    for (Value term : bounds.getTerms(side)) {
      auto found = boundTerm(mask, term, scores, unknown);
      if (!found)
        return {true, true};
      terms[term] = *found;
    }
  Bounds visible = bounds.buildVisible(*b, terms, /*rows=*/1, /*columns=*/1);
  return {evaluate(visible.low), evaluate(visible.high)};
}

// What bounds rule out is nowhere in the rectangle, of masks on whose numbers
// of each side nothing else is known.
TEST_F(MaskBoundsTest, RandomRectangles) {
  constexpr unsigned kSeeds = 100;
  unsigned empty = 0, full = 0;
  for (unsigned seed = 0; seed != kSeeds; ++seed) {
    RandomOp random(context, seed);
    Region &mask = random.get().getMaskMod();
    MaskBounds bounds(random.get());
    for (int64_t i = 0; i < kQueries; i += 3)
      for (int64_t j = 0; j < kKeys; j += 4)
        for (bool unknown : {false, true}) {
          Rectangle scores{i, std::min(i + 2, kQueries - 1), j,
                           std::min(j + 3, kKeys - 1)};
          bool isVisible = false, isHidden = false;
          for (int64_t x = scores.firstQuery; x <= scores.lastQuery; ++x)
            for (int64_t y = scores.firstKey; y <= scores.lastKey; ++y)
              (evaluateMaskMod(mask, x, y, unknown) ? isVisible : isHidden) =
                  true;
          Verdict verdict = judge(mask, bounds, scores, unknown);
          ASSERT_TRUE(verdict.mayBeVisible || !isVisible)
              << random.source << "\nat i = " << i << ", j = " << j;
          ASSERT_TRUE(verdict.mayBeHidden || !isHidden)
              << random.source << "\nat i = " << i << ", j = " << j;
          empty += !verdict.mayBeVisible;
          full += !verdict.mayBeHidden;
        }
  }
  EXPECT_GT(empty, 40u * kSeeds / 10);
  EXPECT_GT(full, 40u * kSeeds / 10);
}

namespace {
/// An op whose mask reads a table of documents.
class TableMask : public MaskBoundsTest {
protected:
  MaskBounds parse(StringRef mask) {
    std::string text =
        R"(func.func @f(%q: tensor<1x?x2x16xf32>, %t: tensor<?xi32>)
             -> tensor<1x?x2x16xf32> {
             %o = attn.sdpa %q, %q, %q layout<bshd> captures(%t : tensor<?xi32>)
               : tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>
                 -> tensor<1x?x2x16xf32>
             mask_mod(%b: index, %h: index, %i: index, %j: index,
                      %u: tensor<?xi32>) {
               %x = tensor.extract %u[%i] : tensor<?xi32>
               %y = tensor.extract %u[%j] : tensor<?xi32>)" +
        mask.str() + R"( attn.yield %visible : i1
             } return %o : tensor<1x?x2x16xf32> })";
    source = parseSourceString<ModuleOp>(text, &context);
    SdpaOp found;
    source->walk([&](SdpaOp op) { found = op; });
    return MaskBounds(found);
  }
  OwningOpRef<ModuleOp> source;
};
} // namespace

TEST_F(TableMask, Documents) {
  MaskBounds mask = parse("%visible = arith.cmpi eq, %x, %y : i32");
  EXPECT_TRUE(mask.isUseful());
  EXPECT_TRUE(mask.canBeFull());
  EXPECT_FALSE(mask.dependsOnHead());
  EXPECT_EQ(mask.getTerms(MaskSide::Queries).size(), 1u);
  EXPECT_EQ(mask.getTerms(MaskSide::Keys).size(), 1u);
}

// A difference of numbers of tables may wrap around.
TEST_F(TableMask, DifferenceOfTables) {
  MaskBounds mask = parse(R"(
    %c0 = arith.constant 0 : i32
    %d = arith.subi %x, %y : i32
    %visible = arith.cmpi eq, %d, %c0 : i32)");
  EXPECT_FALSE(mask.isUseful());
}

// A cast to fewer bits wraps around, too.
TEST_F(TableMask, NarrowDistance) {
  for (StringRef type : {"i32", "i8"}) {
    std::string text = llvm::formatv(R"(
      %d = arith.subi %i, %j : index
      %narrow = arith.index_cast %d : index to {0}
      %c9 = arith.constant 9 : {0}
      %near = arith.cmpi slt, %narrow, %c9 : {0}
      %same = arith.cmpi eq, %x, %y : i32
      %visible = arith.ori %same, %near : i1)",
                                     type);
    EXPECT_EQ(parse(text).isUseful(), type == "i32");
  }
}

// Of a conjunction, one part that is known hides a rectangle, but does not show
// one.
TEST_F(TableMask, ConjunctionWithTheUnknown) {
  MaskBounds mask = parse(R"(
    %c3 = arith.constant 3 : index
    %p = arith.muli %i, %j : index
    %r = arith.remui %p, %c3 : index
    %c0 = arith.constant 0 : index
    %unknown = arith.cmpi eq, %r, %c0 : index
    %same = arith.cmpi eq, %x, %y : i32
    %visible = arith.andi %same, %unknown : i1)");
  EXPECT_TRUE(mask.isUseful());
  EXPECT_FALSE(mask.canBeFull());
}

// Where no table is read at a position, VisibleRange tells the bounds.
TEST_F(TableMask, NoTable) {
  MaskBounds mask = parse(R"(
    %c0 = arith.constant 0 : index
    %n = tensor.extract %u[%c0] : tensor<?xi32>
    %j32 = arith.index_cast %j : index to i32
    %visible = arith.cmpi slt, %j32, %n : i32)");
  EXPECT_FALSE(mask.isUseful());
}
