//===- ArithExpandFp8.cpp - fp8 conversions as integer arithmetic --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fa4::attn {
#define GEN_PASS_DEF_ARITHEXPANDFP8
#include "fa4/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fa4::attn

using namespace mlir;

namespace {
/// The parameters in which the two fp8 formats differ. Sign, exponent and
/// mantissa are laid out as in IEEE 754; f8E4M3FN differs from it in that its
/// largest exponent also encodes finite numbers, with one NaN and no infinity.
struct Fp8Format {
  unsigned mantissaBits;
  int bias;
  bool hasInfinity;

  /// The bit patterns of the largest finite number, of the result of an
  /// overflow, and of NaN.
  unsigned getMaxFinite() const { return hasInfinity ? 0x7b : 0x7e; }
  unsigned getOverflow() const { return hasInfinity ? 0x7c : 0x7f; }
  unsigned getNaN() const { return hasInfinity ? 0x7e : 0x7f; }
};
} // namespace

static std::optional<Fp8Format> getFormat(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<Float8E4M3FNType>(element))
    return Fp8Format{/*mantissaBits=*/3, /*bias=*/7, /*hasInfinity=*/false};
  if (isa<Float8E5M2Type>(element))
    return Fp8Format{/*mantissaBits=*/2, /*bias=*/15, /*hasInfinity=*/true};
  return std::nullopt;
}

/// Returns `element`, or a vector of `element` with the shape of `like`.
static Type withElement(Type like, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(like))
    return shaped.clone(element);
  return element;
}

namespace {
/// Builds i32 and f32 arithmetic on scalars, or on vectors of one shape.
class BitBuilder {
public:
  BitBuilder(OpBuilder &builder, Location loc, Type like)
      : b(loc, builder), i8(withElement(like, b.getI8Type())),
        i32(withElement(like, b.getI32Type())),
        f32(withElement(like, b.getF32Type())) {}

  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, splat(i32, value));
  }
  Value band(Value x, int64_t mask) {
    return arith::AndIOp::create(b, x, constant(mask));
  }
  Value bor(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value shl(Value x, int64_t bits) {
    return arith::ShLIOp::create(b, x, constant(bits));
  }
  Value shr(Value x, Value bits) { return arith::ShRUIOp::create(b, x, bits); }
  Value shr(Value x, int64_t bits) { return shr(x, constant(bits)); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value compare(arith::CmpIPredicate predicate, Value x, int64_t y) {
    return arith::CmpIOp::create(b, predicate, x, constant(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value bitcast(Type type, Value x) {
    return arith::BitcastOp::create(b, type, x);
  }

  ImplicitLocOpBuilder b;
  Type i8, i32, f32;

private:
  TypedAttr splat(Type type, int64_t value) {
    IntegerAttr scalar = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      return DenseElementsAttr::get(shaped, scalar);
    return scalar;
  }
};
} // namespace

/// Converts fp8 bits to f32. A normal number keeps its mantissa, moved to the
/// top, and gets a new exponent bias. A subnormal number is its mantissa as an
/// integer times a power of two; f32 holds this product exactly.
static Value extendToF32(BitBuilder &bits, Value value,
                         const Fp8Format &format) {
  using Predicate = arith::CmpIPredicate;
  ImplicitLocOpBuilder &b = bits.b;
  Value raw = arith::ExtUIOp::create(b, bits.i32, bits.bitcast(bits.i8, value));
  Value sign = bits.shl(bits.band(raw, 0x80), 24);
  Value magnitude = bits.band(raw, 0x7f);

  unsigned shift = 23 - format.mantissaBits;
  Value normal = bits.add(bits.shl(magnitude, shift),
                          bits.constant((127 - format.bias) << 23));
  // The f32 bits of 2^(1 - bias - mantissaBits), which is the value of the last
  // mantissa bit of a subnormal number.
  int64_t unit = int64_t(127 + 1 - format.bias - int(format.mantissaBits))
                 << 23;
  Value integer = arith::UIToFPOp::create(b, bits.f32, magnitude);
  Value unitValue = bits.bitcast(bits.f32, bits.constant(unit));
  Value subnormal =
      bits.bitcast(bits.i32, arith::MulFOp::create(b, integer, unitValue));
  Value isSubnormal =
      bits.compare(Predicate::ult, magnitude, 1 << format.mantissaBits);
  Value result = bits.select(isSubnormal, subnormal, normal);

  if (format.hasInfinity) {
    // Infinity and NaN keep their mantissa under f32's largest exponent.
    Value special = bits.bor(bits.shl(magnitude, shift),
                             bits.constant(int64_t(0xff) << 23));
    result = bits.select(bits.compare(Predicate::uge, magnitude, 0x7c), special,
                         result);
  } else {
    result = bits.select(bits.compare(Predicate::eq, magnitude, 0x7f),
                         bits.constant(0x7fc00000), result);
  }
  return bits.bitcast(bits.f32, bits.bor(result, sign));
}

/// Converts f32 to fp8 bits and rounds to nearest even. For a normal result,
/// half of the last kept bit is added before the lower bits are dropped. For a
/// subnormal result, a large power of two is added, so that the f32 addition
/// itself rounds at the right bit.
static Value truncateFromF32(BitBuilder &bits, Value value, Type type,
                             const Fp8Format &format) {
  using Predicate = arith::CmpIPredicate;
  ImplicitLocOpBuilder &b = bits.b;
  Value raw = bits.bitcast(bits.i32, value);
  Value sign = bits.shr(bits.band(raw, int64_t(0x80000000)), 24);
  Value magnitude = bits.band(raw, 0x7fffffff);

  unsigned shift = 23 - format.mantissaBits;
  Value odd = bits.band(bits.shr(magnitude, shift), 1);
  Value half = bits.constant((int64_t(1) << (shift - 1)) - 1);
  Value rounded = bits.add(bits.add(magnitude, half), odd);
  Value normal = bits.shr(
      bits.sub(rounded, bits.constant(int64_t(127 - format.bias) << 23)),
      shift);

  // With this addend, the last mantissa bit of the sum is worth one subnormal
  // unit.
  int64_t anchorBits =
      int64_t(127 + 1 - format.bias - int(format.mantissaBits) + 23) << 23;
  Value anchor = bits.bitcast(bits.f32, bits.constant(anchorBits));
  Value sum =
      arith::AddFOp::create(b, bits.bitcast(bits.f32, magnitude), anchor);
  Value subnormal =
      bits.sub(bits.bitcast(bits.i32, sum), bits.constant(anchorBits));
  int64_t smallestNormal = int64_t(127 + 1 - format.bias) << 23;
  Value result =
      bits.select(bits.compare(Predicate::ult, magnitude, smallestNormal),
                  subnormal, normal);

  Value overflows = bits.compare(Predicate::ugt, result, format.getMaxFinite());
  result = bits.select(overflows, bits.constant(format.getOverflow()), result);
  Value isHuge = bits.compare(Predicate::uge, magnitude, int64_t(0x7f800000));
  result = bits.select(isHuge, bits.constant(format.getOverflow()), result);
  Value isNaN = bits.compare(Predicate::ugt, magnitude, int64_t(0x7f800000));
  result = bits.select(isNaN, bits.constant(format.getNaN()), result);
  Value narrow = arith::TruncIOp::create(b, bits.i8, bits.bor(result, sign));
  return bits.bitcast(type, narrow);
}

namespace {
struct ExpandExtF : public OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Fp8Format> format = getFormat(op.getIn().getType());
    if (!format)
      return failure();
    BitBuilder bits(rewriter, op.getLoc(), op.getType());
    Value result = extendToF32(bits, op.getIn(), *format);
    unsigned width = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
    // Every fp8 number is an f16 and bf16 number too.
    if (width > 32)
      result = arith::ExtFOp::create(bits.b, op.getType(), result);
    else if (result.getType() != op.getType())
      result = arith::TruncFOp::create(bits.b, op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ExpandTruncF : public OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Fp8Format> format = getFormat(op.getType());
    if (!format)
      return failure();
    Type source = getElementTypeOrSelf(op.getIn().getType());
    if (source.getIntOrFloatBitWidth() > 32)
      return rewriter.notifyMatchFailure(op, "would round twice");
    if (op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) !=
        arith::RoundingMode::to_nearest_even)
      return rewriter.notifyMatchFailure(op, "rounds to nearest even only");
    BitBuilder bits(rewriter, op.getLoc(), op.getType());
    Value value = op.getIn();
    if (!source.isF32())
      value = arith::ExtFOp::create(bits.b, bits.f32, value);
    rewriter.replaceOp(op, truncateFromF32(bits, value, op.getType(), *format));
    return success();
  }
};

struct ArithExpandFp8
    : public fa4::attn::impl::ArithExpandFp8Base<ArithExpandFp8> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExtF, ExpandTruncF>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
