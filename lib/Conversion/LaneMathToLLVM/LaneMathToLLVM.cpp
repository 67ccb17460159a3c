//===- LaneMathToLLVM.cpp - arithmetic of a GPU thread as LLVM dialect ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Conversion/LaneMathToLLVM/LaneMathToLLVM.h"
#include "fa4/Conversion/Passes.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/VectorPattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

namespace fa4 {
#define GEN_PASS_DEF_LANEMATHTOLLVM
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4::tile;

static constexpr llvm::StringLiteral kExp2 = "llvm.nvvm.ex2.approx.ftz.f32";
static constexpr llvm::StringLiteral kLog2 = "llvm.nvvm.lg2.approx.ftz.f";
static constexpr llvm::StringLiteral kReciprocal = "llvm.nvvm.rcp.approx.ftz.f";
static constexpr llvm::StringLiteral kDivide = "llvm.nvvm.div.approx.ftz.f";
static constexpr llvm::StringLiteral kSqrt = "llvm.nvvm.sqrt.approx.ftz.f";
static constexpr llvm::StringLiteral kRsqrt = "llvm.nvvm.rsqrt.approx.ftz.f";

/// Returns true for a scalar or one-dimensional vector of a float type of up to
/// 32 bits.
static bool isLaneFloat(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Type element = getElementTypeOrSelf(type);
  return (!vector || (vector.getRank() == 1 && !vector.isScalable())) &&
         isa<Float32Type, Float16Type, BFloat16Type>(element);
}

static Value call(ImplicitLocOpBuilder &b, StringRef intrinsic,
                  ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                       b.getStringAttr(intrinsic), operands)
      .getResults();
}

static Value constant(ImplicitLocOpBuilder &b, Type type, double value) {
  Attribute element = b.getF32FloatAttr(static_cast<float>(value));
  auto vector = dyn_cast<VectorType>(type);
  return LLVM::ConstantOp::create(b, type,
                                  vector
                                      ? DenseElementsAttr::get(vector, element)
                                      : cast<TypedAttr>(element));
}

/// Applies `scalar` to each element of the operands, which all have one f32
/// type.
static Value mapElements(ImplicitLocOpBuilder &b, ValueRange operands,
                         llvm::function_ref<Value(ValueRange)> scalar) {
  auto vector = dyn_cast<VectorType>(operands.front().getType());
  if (!vector)
    return scalar(operands);
  Value result = LLVM::PoisonOp::create(b, vector);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    Value index = LLVM::ConstantOp::create(b, b.getI32IntegerAttr(i));
    SmallVector<Value> elements;
    for (Value operand : operands)
      elements.push_back(LLVM::ExtractElementOp::create(b, operand, index));
    result = LLVM::InsertElementOp::create(b, result, scalar(elements), index);
  }
  return result;
}

namespace {
/// Converts an operation to the special function unit's instruction for f32. An
/// operand of a narrower type is extended and the result rounded.
template <typename Op>
class SpecialFunction : public ConvertOpToLLVMPattern<Op> {
public:
  using Build = Value (*)(ImplicitLocOpBuilder &, Value);

  SpecialFunction(const LLVMTypeConverter &converter, Build build)
      : ConvertOpToLLVMPattern<Op>(converter, /*benefit=*/2), build(build) {}

  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = adaptor.getOperand().getType();
    if (!isLaneFloat(type))
      return rewriter.notifyMatchFailure(op, "not f32, f16 or bf16");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = adaptor.getOperand();
    bool narrow = !getElementTypeOrSelf(type).isF32();
    Type wide = b.getF32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      wide = vector.clone(wide);
    if (narrow)
      x = LLVM::FPExtOp::create(b, wide, x);
    Value result = build(b, x);
    if (narrow)
      result = LLVM::FPTruncOp::create(b, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  Build build;
};

/// Converts `a / b`; a reciprocal if `a` is 1.
class Divide : public ConvertOpToLLVMPattern<arith::DivFOp> {
public:
  explicit Divide(const LLVMTypeConverter &converter)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/2) {}

  LogicalResult
  matchAndRewrite(arith::DivFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Type type = adaptor.getLhs().getType();
    if (!isLaneFloat(type) || !getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value result =
        matchPattern(op.getLhs(), m_OneFloat())
            ? mapElements(b, adaptor.getRhs(),
                          [&](ValueRange x) { return call(b, kReciprocal, x); })
            : mapElements(b, {adaptor.getLhs(), adaptor.getRhs()},
                          [&](ValueRange x) { return call(b, kDivide, x); });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Returns true if `op` selects an f32 by one bit of an i32.
static bool isBitSelect(arith::SelectOp op, Value &word, APInt &bit) {
  auto compare = op.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!op.getType().isF32() || !compare ||
      compare.getPredicate() != arith::CmpIPredicate::ne ||
      !matchPattern(compare.getRhs(), m_Zero()))
    return false;
  auto both = compare.getLhs().getDefiningOp<arith::AndIOp>();
  if (!both || !both.getType().isInteger(32) ||
      !matchPattern(both.getRhs(), m_ConstantInt(&bit)))
    return false;
  word = both.getLhs();
  return bit.isPowerOf2();
}

/// ptxas moves bits of a register to predicates, several at a time, where they
/// are tested by `and` and `setp.ne`. LLVM would make shifts of these.
class BitSelect : public ConvertOpToLLVMPattern<arith::SelectOp> {
public:
  explicit BitSelect(const LLVMTypeConverter &converter)
      : ConvertOpToLLVMPattern(converter, /*benefit=*/2) {}

  LogicalResult
  matchAndRewrite(arith::SelectOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value word;
    APInt bit;
    if (!isBitSelect(op, word, bit))
      return rewriter.notifyMatchFailure(op, "not by a bit");
    Value mask = LLVM::ConstantOp::create(
        rewriter, op.getLoc(),
        rewriter.getI32IntegerAttr(static_cast<int32_t>(bit.getSExtValue())));
    auto select = LLVM::InlineAsmOp::create(
        rewriter, op.getLoc(), op.getType(),
        ValueRange{adaptor.getTrueValue(), adaptor.getFalseValue(),
                   rewriter.getRemappedValue(word), mask},
        "{ .reg .pred p; .reg .b32 t; and.b32 t, $3, $4; setp.ne.b32 p, t, 0; "
        "selp.f32 $0, $1, $2, p; }",
        "=f,f,f,r,n", /*has_side_effects=*/false, /*is_align_stack=*/false,
        LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    rewriter.replaceOp(op, select.getResults());
    return success();
  }
};

/// Converts a pair of exponentials to the polynomial. See `tile.exp2` for the
/// formula.
class Exp2Polynomial : public ConvertOpToLLVMPattern<Exp2Op> {
public:
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(Exp2Op op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    VectorType type = op.getOperand().getType();
    if (type.getShape() != ArrayRef<int64_t>{2} ||
        op.getPairs() != ArrayRef<int64_t>{0})
      return rewriter.notifyMatchFailure(op, "not one pair");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op,
                       lower(b, adaptor.getOperand(), op.getCoefficients()));
    return success();
  }

private:
  static Value lower(ImplicitLocOpBuilder &b, Value x,
                     ArrayRef<float> coefficients);
};
} // namespace

Value Exp2Polynomial::lower(ImplicitLocOpBuilder &b, Value x,
                            ArrayRef<float> coefficients) {
  auto type = cast<VectorType>(x.getType());
  auto bits = VectorType::get({2}, b.getI32Type());
  // A smaller value would make the exponent's field negative.
  Value clamped = LLVM::MaximumOp::create(b, x, constant(b, type, -127.0));
  // With this added the lowest bit of the mantissa counts ones; rounded down,
  // the low bits are floor(x) in two's complement.
  Value shifter = constant(b, type, 0x1.8p23);
  Value shifted =
      LLVM::InlineAsmOp::create(
          b, type, ValueRange{clamped, shifter}, "add.rm.ftz.f32x2 $0, $1, $2;",
          "=l,l,l",
          /*has_side_effects=*/false, /*is_align_stack=*/false,
          LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
          .getResult(0);
  Value floor = LLVM::FSubOp::create(b, shifted, shifter);
  Value fraction = LLVM::FSubOp::create(b, clamped, floor);
  Value sum = constant(b, type, coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    sum = LLVM::FMAOp::create(b, sum, fraction, constant(b, type, coefficient));
  sum = LLVM::FMAOp::create(b, sum, fraction, constant(b, type, 1.0));
  // The shift moves the integer to the exponent's field; its upper bits are
  // shifted out.
  Value mantissaBits = LLVM::ConstantOp::create(
      b, bits, DenseElementsAttr::get(bits, b.getI32IntegerAttr(23)));
  Value exponent = LLVM::ShlOp::create(
      b, LLVM::BitcastOp::create(b, bits, shifted), mantissaBits);
  Value result =
      LLVM::AddOp::create(b, exponent, LLVM::BitcastOp::create(b, bits, sum));
  return LLVM::BitcastOp::create(b, type, result);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

template <const llvm::StringLiteral &Intrinsic>
static Value callEach(ImplicitLocOpBuilder &b, Value x) {
  return mapElements(b, x, [&](ValueRange x) { return call(b, Intrinsic, x); });
}

static Value buildExp(ImplicitLocOpBuilder &b, Value x) {
  Value log2e = constant(b, x.getType(), llvm::numbers::log2e);
  return callEach<kExp2>(b, LLVM::FMulOp::create(b, x, log2e));
}

static Value buildLog(ImplicitLocOpBuilder &b, Value x) {
  Value ln2 = constant(b, x.getType(), llvm::numbers::ln2);
  return LLVM::FMulOp::create(b, callEach<kLog2>(b, x), ln2);
}

/// Builds tanh as 1 - 2 / (e^2x + 1). tanh.approx has an error of 2^-11, which
/// becomes an error of 1 if the result is multiplied by a large factor that
/// caps scores.
static Value buildTanh(ImplicitLocOpBuilder &b, Value x) {
  Type type = x.getType();
  Value scale = constant(b, type, 2 * llvm::numbers::log2e);
  Value exp = callEach<kExp2>(b, LLVM::FMulOp::create(b, x, scale));
  Value one = constant(b, type, 1.0);
  Value inverse = callEach<kReciprocal>(b, LLVM::FAddOp::create(b, exp, one));
  return LLVM::FMAOp::create(b, inverse, constant(b, type, -2.0), one);
}

template <typename From, typename To>
using Direct =
    VectorConvertToLLVMPattern<From, To, arith::AttrConvertFastMathToLLVM>;

void fa4::tile::populateLaneMathToLLVM(const LLVMTypeConverter &converter,
                                       RewritePatternSet &patterns) {
  patterns.add<SpecialFunction<math::Exp2Op>>(converter, callEach<kExp2>);
  patterns.add<SpecialFunction<math::ExpOp>>(converter, buildExp);
  patterns.add<SpecialFunction<math::Log2Op>>(converter, callEach<kLog2>);
  patterns.add<SpecialFunction<math::LogOp>>(converter, buildLog);
  patterns.add<SpecialFunction<math::TanhOp>>(converter, buildTanh);
  patterns.add<SpecialFunction<math::SqrtOp>>(converter, callEach<kSqrt>);
  patterns.add<SpecialFunction<math::RsqrtOp>>(converter, callEach<kRsqrt>);
  patterns.add<
      BitSelect, Divide, Exp2Polynomial, Direct<math::FmaOp, LLVM::FMAOp>,
      Direct<math::AbsFOp, LLVM::FAbsOp>, Direct<math::FloorOp, LLVM::FFloorOp>,
      Direct<math::CeilOp, LLVM::FCeilOp>,
      Direct<math::TruncOp, LLVM::FTruncOp>,
      Direct<math::RoundEvenOp, LLVM::RoundEvenOp>,
      Direct<math::CopySignOp, LLVM::CopySignOp>>(converter);
}

void fa4::tile::markLaneMathIllegal(ConversionTarget &target) {
  target.addIllegalDialect<math::MathDialect>();
  target.addIllegalOp<Exp2Op>();
  target.addDynamicallyLegalOp<arith::SelectOp>([](arith::SelectOp op) {
    Value word;
    APInt bit;
    return !isBitSelect(op, word, bit);
  });
  target.addDynamicallyLegalOp<arith::DivFOp>([](arith::DivFOp op) {
    return !getElementTypeOrSelf(op.getType()).isF32();
  });
}

bool fa4::tile::isLaneMath(Operation *op) {
  auto isLaneType = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return !isa<FloatType>(element) ||
           isa<Float32Type, Float16Type, BFloat16Type>(element);
  };
  if (!llvm::all_of(op->getOperandTypes(), isLaneType) ||
      !llvm::all_of(op->getResultTypes(), isLaneType))
    return false;
  return !isa<math::MathDialect>(op->getDialect()) ||
         isa<math::Exp2Op, math::ExpOp, math::Log2Op, math::LogOp, math::TanhOp,
             math::SqrtOp, math::RsqrtOp, math::FmaOp, math::AbsFOp,
             math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp,
             math::CopySignOp>(op);
}

namespace {
struct LaneMathToLLVM : public fa4::impl::LaneMathToLLVMBase<LaneMathToLLVM> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    populateLaneMathToLLVM(converter, patterns);
    ConversionTarget target(getContext());
    target.addLegalDialect<LLVM::LLVMDialect>();
    markLaneMathIllegal(target);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
