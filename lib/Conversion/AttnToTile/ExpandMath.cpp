//===- ExpandMath.cpp - functions of mods as those that threads have ------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandMath.h"
#include "fa4/Conversion/LaneMathToLLVM/LaneMathToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Rewrite/PatternApplicator.h"

#include <limits>

using namespace mlir;

static Value constant(PatternRewriter &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(value)));
}

namespace {
/// Replaces log10(x) by log2(x) * log10(2).
struct ExpandLog10 : OpRewritePattern<math::Log10Op> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::Log10Op op,
                                PatternRewriter &b) const override {
    if (!op.getType().isF32())
      return failure();
    Value log2 = math::Log2Op::create(b, op.getLoc(), op.getOperand());
    b.replaceOpWithNewOp<arith::MulFOp>(
        op, log2, constant(b, op.getLoc(), 0.30102999566398119521));
    return success();
  }
};

/// Replaces a clamp by a maximum and a minimum: upstream's expansion confuses
/// the two bounds.
struct ExpandClampF : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ClampFOp op,
                                PatternRewriter &b) const override {
    Value atLeast =
        arith::MaximumFOp::create(b, op.getLoc(), op.getValue(), op.getMin());
    b.replaceOpWithNewOp<arith::MinimumFOp>(op, atLeast, op.getMax());
    return success();
  }
};

/// Replaces sincos(x) by sin(x) and cos(x).
struct ExpandSincos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &b) const override {
    Value sin = math::SinOp::create(b, op.getLoc(), op.getOperand());
    Value cos = math::CosOp::create(b, op.getLoc(), op.getOperand());
    b.replaceOp(op, {sin, cos});
    return success();
  }
};

/// Replaces a question about the kind of a number by comparisons of its
/// absolute value with the limits of the kind, or of the number with itself.
template <typename Op, arith::CmpFPredicate Predicate>
struct ExpandClass : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    Value x = op.getOperand();
    if (!x.getType().isF32())
      return failure();
    Location loc = op.getLoc();
    Value abs = math::AbsFOp::create(b, loc, x);
    Value infinity = constant(b, loc, std::numeric_limits<float>::infinity());
    Value result = arith::CmpFOp::create(b, loc, Predicate, abs, infinity);
    if constexpr (std::is_same_v<Op, math::IsNormalOp>) {
      Value least = constant(b, loc, std::numeric_limits<float>::min());
      Value isLarge =
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, abs, least);
      result = arith::AndIOp::create(b, loc, result, isLarge);
    }
    b.replaceOp(op, result);
    return success();
  }
};

/// Replaces round(x) by the number without its fraction, and one further from
/// zero where the fraction is at least a half. Upstream goes by way of integers
/// of 64 bits.
struct ExpandRound : OpRewritePattern<math::RoundOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RoundOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!x.getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value one =
        math::CopySignOp::create(b, constant(rewriter, op.getLoc(), 1), x);
    Value whole = math::TruncOp::create(b, x);
    Value fraction =
        math::AbsFOp::create(b, arith::SubFOp::create(b, x, whole));
    Value isFar = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, fraction,
                                        constant(rewriter, op.getLoc(), 0.5));
    Value next = arith::AddFOp::create(b, whole, one);
    Value rounded = arith::SelectOp::create(b, isFar, next, whole);
    rewriter.replaceOp(op, rounded);
    return success();
  }
};

/// Replaces x^y by 2^(y log2 |x|), with the sign of x if y is an odd whole
/// number. Upstream's definition gives NaN for each negative x.
struct ExpandPowF : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getLhs(), y = op.getRhs();
    if (!x.getType().isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    using Predicate = arith::CmpFPredicate;
    auto number = [&](double value) {
      return constant(rewriter, op.getLoc(), value);
    };
    auto compare = [&](Predicate predicate, Value x, Value y) -> Value {
      return arith::CmpFOp::create(b, predicate, x, y);
    };
    auto select = [&](Value condition, Value x, Value y) -> Value {
      return arith::SelectOp::create(b, condition, x, y);
    };
    auto isWhole = [&](Value x) {
      return compare(Predicate::OEQ, math::TruncOp::create(b, x), x);
    };
    Value zero = number(0);
    Value log = math::Log2Op::create(b, math::AbsFOp::create(b, x));
    Value power = math::Exp2Op::create(b, arith::MulFOp::create(b, y, log));
    Value isEven = isWhole(arith::MulFOp::create(b, y, number(0.5)));
    Value signedPower =
        select(isEven, power, math::CopySignOp::create(b, power, x));
    Value none = number(std::numeric_limits<double>::quiet_NaN());
    Value ofNegative = select(isWhole(y), signedPower, none);
    Value result = select(compare(Predicate::OLT, x, zero), ofNegative, power);
    rewriter.replaceOp(
        op, select(compare(Predicate::OEQ, y, zero), number(1), result));
    return success();
  }
};

/// Replaces a power with a whole exponent that is not constant by x^y.
struct ExpandFPowI : OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &b) const override {
    if (!op.getType().isF32())
      return failure();
    Value exponent =
        arith::SIToFPOp::create(b, op.getLoc(), op.getType(), op.getRhs());
    b.replaceOpWithNewOp<math::PowFOp>(op, op.getLhs(), exponent);
    return success();
  }
};

/// Keeps track of values whose operations are replaced.
struct Tracker : RewriterBase::Listener {
  explicit Tracker(ArrayRef<Value *> tracked) : tracked(tracked) {}
  void notifyOperationReplaced(Operation *op, ValueRange by) override {
    for (auto [from, to] : llvm::zip(op->getResults(), by))
      for (Value *value : tracked)
        if (*value == from)
          *value = to;
  }
  ArrayRef<Value *> tracked;
};
} // namespace

/// Operations for which upstream has a polynomial.
static bool hasPolynomial(StringRef name) {
  return llvm::is_contained(
      {math::AtanOp::getOperationName(), math::Atan2Op::getOperationName(),
       math::AsinOp::getOperationName(), math::AcosOp::getOperationName(),
       math::ErfOp::getOperationName(), math::ErfcOp::getOperationName(),
       math::CbrtOp::getOperationName(), math::ExpM1Op::getOperationName(),
       math::Log1pOp::getOperationName()},
      name);
}

static FrozenRewritePatternSet getPatterns(MLIRContext *context) {
  using Predicate = arith::CmpFPredicate;
  RewritePatternSet patterns(context);
  math::populateExpansionPatterns(
      patterns, {"tan", "sinh", "cosh", "asinh", "acosh", "atanh"});
  // Powers with constant exponents are products.
  populateMathAlgebraicSimplificationPatterns(patterns);
  patterns.add<ExpandClampF, ExpandLog10, ExpandSincos, ExpandPowF, ExpandRound,
               ExpandClass<math::IsNaNOp, Predicate::UNO>,
               ExpandClass<math::IsInfOp, Predicate::OEQ>,
               ExpandClass<math::IsFiniteOp, Predicate::OLT>,
               ExpandClass<math::IsNormalOp, Predicate::OLT>>(context);
  // This pattern is for exponents that are no small constants.
  patterns.add<ExpandFPowI>(context, /*benefit=*/0);
  populateMathF32ExpansionPatterns(patterns, hasPolynomial);
  populateMathPolynomialApproximationPatterns(patterns, hasPolynomial);
  return patterns;
}

static SmallVector<Operation *> collectUnknown(Region &region) {
  SmallVector<Operation *> unknown;
  region.walk([&](Operation *op) {
    if (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
        !fa4::tile::isLaneMath(op))
      unknown.push_back(op);
  });
  return unknown;
}

void fa4::expandMath(Region &region, ArrayRef<Value *> tracked) {
  SmallVector<Operation *> unknown = collectUnknown(region);
  if (unknown.empty())
    return;
  MLIRContext *context = unknown.front()->getContext();
  FrozenRewritePatternSet patterns = getPatterns(context);
  PatternApplicator applicator(patterns);
  applicator.applyDefaultCostModel();
  PatternRewriter rewriter(context);
  Tracker tracker(tracked);
  rewriter.setListener(&tracker);
  // An expansion may have operations that are expanded in turn.
  for (bool changed = true; changed; unknown = collectUnknown(region)) {
    changed = false;
    for (Operation *op : unknown) {
      rewriter.setInsertionPoint(op);
      changed |= succeeded(applicator.matchAndRewrite(op, rewriter));
    }
  }
}
