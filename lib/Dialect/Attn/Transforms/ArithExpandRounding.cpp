//===- ArithExpandRounding.cpp - roundings other than a CPU's default ----===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fa4::attn {
#define GEN_PASS_DEF_ARITHEXPANDROUNDING
#include "fa4/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fa4::attn

using namespace mlir;
using arith::RoundingMode;

/// Returns `element`, or a vector of `element` with the shape of `like`.
static Type withElement(Type like, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(like))
    return shaped.clone(element);
  return element;
}

static bool isFp8(Type element) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(element);
}

/// Returns true if the next number away from zero has the bits of `element`
/// plus one. This includes the step from the largest finite number to infinity,
/// or to NaN in f8E4M3FN.
static bool hasOrderedBits(Type element) {
  return isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(element) ||
         isFp8(element);
}

namespace {
/// How numbers between two neighbours of the narrow type are rounded: to the
/// one nearer to zero, or to the other.
enum class Direction { Inward, Outward };

/// Builds arithmetic on the source and the result of a truncation, which are
/// scalars or vectors of one shape.
class TruncationBuilder {
public:
  TruncationBuilder(OpBuilder &builder, arith::TruncFOp op)
      : b(op.getLoc(), builder), wide(op.getIn().getType()),
        narrow(op.getType()),
        bitsType(withElement(
            narrow, builder.getIntegerType(
                        getElementTypeOrSelf(narrow).getIntOrFloatBitWidth()))),
        fastmath(op.getFastmathAttr()) {
    // Arithmetic is done in f32 at least.
    if (getElementTypeOrSelf(wide).getIntOrFloatBitWidth() < 32)
      wide = withElement(wide, builder.getF32Type());
  }

  Value round(Value x, std::optional<RoundingMode> mode = std::nullopt,
              Type to = {}) {
    arith::RoundingModeAttr attribute;
    if (mode)
      attribute = arith::RoundingModeAttr::get(b.getContext(), *mode);
    return arith::TruncFOp::create(b, to ? to : narrow, x, attribute, fastmath);
  }
  Value widen(Value x) {
    return x.getType() == wide ? x : arith::ExtFOp::create(b, wide, x);
  }
  Value magnitude(Value x) { return math::AbsFOp::create(b, x); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }
  Value band(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value bor(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value toBits(Value x) { return arith::BitcastOp::create(b, bitsType, x); }
  Value fromBits(Value bits) {
    return arith::BitcastOp::create(b, narrow, bits);
  }

  Value integer(int64_t value) {
    IntegerAttr scalar =
        b.getIntegerAttr(getElementTypeOrSelf(bitsType), value);
    return arith::ConstantOp::create(b, splat(bitsType, scalar));
  }
  Value wideConstant(const APFloat &value) {
    auto element = cast<FloatType>(getElementTypeOrSelf(wide));
    APFloat converted = value;
    bool isInexact;
    converted.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &isInexact);
    return arith::ConstantOp::create(
        b, splat(wide, b.getFloatAttr(element, converted)));
  }

  ImplicitLocOpBuilder b;
  Type wide, narrow, bitsType;

private:
  static TypedAttr splat(Type type, TypedAttr scalar) {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return DenseElementsAttr::get(shaped, ArrayRef<Attribute>(scalar));
    return scalar;
  }

  arith::FastMathFlagsAttr fastmath;
};

/// A truncation to the nearest even number, and what the other roundings ask of
/// it. All comparisons are between magnitudes in the wide type, which holds
/// every number of the narrow type.
struct Nearest {
  Nearest(TruncationBuilder &t, Value x)
      : t(t), result(t.round(x)), bits(t.toBits(result)),
        source(t.magnitude(x)), back(t.magnitude(t.widen(result))) {}

  /// Is one if the result has to move a step in `direction` to be the neighbour
  /// there, else zero. An overflow that gave infinity or NaN moves back to the
  /// largest finite number.
  Value stepIf(Value condition) {
    return arith::ExtUIOp::create(t.b, t.bitsType, condition);
  }
  Value getStep(Direction direction) {
    using Predicate = arith::CmpFPredicate;
    if (direction == Direction::Outward)
      return stepIf(t.compare(Predicate::OLT, back, source));
    auto element = cast<FloatType>(getElementTypeOrSelf(t.wide));
    Value infinity =
        t.wideConstant(APFloat::getInf(element.getFloatSemantics()));
    Value isFinite = t.compare(Predicate::OLT, source, infinity);
    Value step =
        stepIf(t.band(t.compare(Predicate::UGT, back, source), isFinite));
    return arith::SubIOp::create(t.b, t.integer(0), step);
  }

  /// Is one if the source is half way between the result and its neighbour away
  /// from zero. Both differences are exact.
  Value getTieStep() {
    using Predicate = arith::CmpFPredicate;
    Value next = t.fromBits(arith::AddIOp::create(t.b, bits, t.integer(1)));
    Value above =
        arith::SubFOp::create(t.b, t.magnitude(t.widen(next)), source);
    Value below = arith::SubFOp::create(t.b, source, back);
    Value isBelow = t.compare(Predicate::OLT, back, source);
    Value isTie = t.band(isBelow, t.compare(Predicate::OEQ, above, below));
    if (isa<Float8E4M3FNType>(getElementTypeOrSelf(t.narrow))) {
      // The neighbour of 448 would be 480, but is NaN.
      Value limit = t.wideConstant(APFloat(464.0));
      isTie = t.bor(isTie, t.compare(Predicate::OEQ, source, limit));
    }
    return stepIf(isTie);
  }

  TruncationBuilder &t;
  Value result, bits, source, back;
};
} // namespace

/// Returns `x` in the narrow type, rounded as `mode` says.
static Value roundDirected(TruncationBuilder &t, Value x, RoundingMode mode) {
  Nearest nearest(t, x);
  Value step;
  if (mode == RoundingMode::toward_zero) {
    step = nearest.getStep(Direction::Inward);
  } else if (mode == RoundingMode::to_nearest_away) {
    step = nearest.getTieStep();
  } else {
    Value isNegative = arith::CmpIOp::create(t.b, arith::CmpIPredicate::slt,
                                             nearest.bits, t.integer(0));
    Value inward = nearest.getStep(Direction::Inward);
    Value outward = nearest.getStep(Direction::Outward);
    bool isDownward = mode == RoundingMode::downward;
    step =
        arith::SelectOp::create(t.b, isNegative, isDownward ? outward : inward,
                                isDownward ? inward : outward);
  }
  return t.fromBits(arith::AddIOp::create(t.b, nearest.bits, step));
}

/// Returns `x` in f32, rounded to odd: what f32 does not hold is cut off and
/// leaves its last bit set. Rounding the result to a type with two bits less
/// is as rounding `x`, in each mode (Boldo and Melquiond, "Emulation of FMA and
/// correctly rounded sums", 2008).
static Value roundToOdd(TruncationBuilder &t, Value x) {
  Type f32 = withElement(t.narrow, t.b.getF32Type());
  Type i32 = withElement(t.narrow, t.b.getI32Type());
  Value cut = t.round(x, RoundingMode::toward_zero, f32);
  Value isInexact = t.compare(arith::CmpFPredicate::ONE, t.widen(cut), x);
  Value bits = arith::BitcastOp::create(t.b, i32, cut);
  Value last = arith::ExtUIOp::create(t.b, i32, isInexact);
  return arith::BitcastOp::create(t.b, f32, t.bor(bits, last));
}

namespace {
struct ExpandRounding : public OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType());
    Type to = getElementTypeOrSelf(op.getType());
    if (!hasOrderedBits(to))
      return rewriter.notifyMatchFailure(op, "other result type");
    TruncationBuilder t(rewriter, op);
    // These conversions exist from f32 only.
    if ((to.isBF16() || isFp8(to)) && from.getIntOrFloatBitWidth() > 32) {
      rewriter.replaceOp(
          op, t.round(roundToOdd(t, op.getIn()), op.getRoundingmode()));
      return success();
    }
    if (!op.getRoundingmode())
      return rewriter.notifyMatchFailure(op, "is what a CPU does");
    RoundingMode mode = *op.getRoundingmode();
    if (mode == RoundingMode::to_nearest_even) {
      rewriter.replaceOp(op, t.round(op.getIn()));
      return success();
    }
    rewriter.replaceOp(op, roundDirected(t, t.widen(op.getIn()), mode));
    return success();
  }
};

struct ArithExpandRounding
    : public fa4::attn::impl::ArithExpandRoundingBase<ArithExpandRounding> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandRounding>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();

    WalkResult result =
        getOperation()->walk([](arith::ArithRoundingModeInterface op) {
          arith::RoundingModeAttr mode = op.getRoundingModeAttr();
          if (!mode || mode.getValue() == RoundingMode::to_nearest_even)
            return WalkResult::advance();
          op->emitOpError("has no code on a CPU that rounds ")
              << stringifyRoundingMode(mode.getValue()) << " to "
              << getElementTypeOrSelf(op->getResult(0));
          return WalkResult::interrupt();
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
