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
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace fa4 {
#define GEN_PASS_DEF_LANEMATHTOLLVM
#include "fa4/Conversion/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4::tile;

static constexpr llvm::StringLiteral kLog2 = "llvm.nvvm.lg2.approx.ftz.f";
static constexpr llvm::StringLiteral kReciprocal = "llvm.nvvm.rcp.approx.ftz.f";
static constexpr llvm::StringLiteral kDivide = "llvm.nvvm.div.approx.ftz.f";
static constexpr llvm::StringLiteral kSqrt = "llvm.nvvm.sqrt.approx.ftz.f";
static constexpr llvm::StringLiteral kRsqrt = "llvm.nvvm.rsqrt.approx.ftz.f";
static constexpr llvm::StringLiteral kSin = "llvm.nvvm.sin.approx.ftz.f";
static constexpr llvm::StringLiteral kCos = "llvm.nvvm.cos.approx.ftz.f";

/// Returns true for a scalar or one-dimensional vector of a float type of up to
/// 32 bits.
static bool isLaneFloat(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Type element = getElementTypeOrSelf(type);
  return (!vector || (vector.getRank() == 1 && !vector.isScalable())) &&
         isa<Float32Type, Float16Type, BFloat16Type>(element);
}

Value LaneBuilder::constant(TypedAttr value) {
  return makeOnce(value, value.getType());
}

Value LaneBuilder::poison(Type type) { return makeOnce({}, type); }

Value LaneBuilder::makeOnce(TypedAttr value, Type type) {
  auto make = [&]() -> Value {
    if (value)
      return LLVM::ConstantOp::create(*this, type, value);
    return LLVM::PoisonOp::create(*this, type);
  };
  if (!block)
    return make();
  Value &known = constants[{value, type}];
  if (!known) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(block);
    known = make();
  }
  return known;
}

Value LaneBuilder::constant(Type type, double value) {
  Attribute element = getF32FloatAttr(static_cast<float>(value));
  auto vector = dyn_cast<VectorType>(type);
  return constant(vector ? DenseElementsAttr::get(vector, element)
                         : cast<TypedAttr>(element));
}

Value LaneBuilder::extract(Value vector, int64_t position) {
  // LLVM would find the element, too, but at a multiple of the cost.
  while (auto slice = vector.getDefiningOp<vector::ExtractStridedSliceOp>()) {
    if (slice.getSourceVectorType().getRank() != 1 || slice.hasNonUnitStrides())
      break;
    position += cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
    vector = slice.getSource();
  }
  if (auto built = vector.getDefiningOp<vector::FromElementsOp>())
    return built.getElements()[position];
  DenseElementsAttr elements;
  if (matchPattern(vector, m_Constant(&elements)))
    return constant(cast<TypedAttr>(elements.getValues<Attribute>()[position]));
  return LLVM::ExtractElementOp::create(*this, vector,
                                        constant(getI32IntegerAttr(position)));
}

Value LaneBuilder::fromElements(VectorType type, ValueRange elements) {
  Value result = poison(type);
  for (auto [position, element] : llvm::enumerate(elements))
    result = LLVM::InsertElementOp::create(
        *this, result, element, constant(getI32IntegerAttr(position)));
  return result;
}

static Value call(LaneBuilder &b, StringRef intrinsic, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                       b.getStringAttr(intrinsic), operands)
      .getResults();
}

/// Applies `scalar` to each element of the operands, which all have one type.
static Value mapElements(LaneBuilder &b, ValueRange operands,
                         llvm::function_ref<Value(ValueRange)> scalar) {
  auto vector = dyn_cast<VectorType>(operands.front().getType());
  if (!vector)
    return scalar(operands);
  SmallVector<Value> results;
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    SmallVector<Value> elements = llvm::map_to_vector(
        operands, [&](Value operand) { return b.extract(operand, i); });
    results.push_back(scalar(elements));
  }
  return b.fromElements(vector.clone(results.front().getType()), results);
}

//===----------------------------------------------------------------------===//
// Functions of the special function unit
//===----------------------------------------------------------------------===//

template <const llvm::StringLiteral &Intrinsic>
static Value callEach(LaneBuilder &b, Value x) {
  return mapElements(b, x, [&](ValueRange x) { return call(b, Intrinsic, x); });
}

/// The back end has an operation of its own for 2^x, and selects it in a small
/// part of the time that it takes to find one of thousands of intrinsics.
static Value buildExp2(LaneBuilder &b, Value x) {
  return LLVM::Exp2Op::create(b, x);
}

static Value buildExp(LaneBuilder &b, Value x) {
  Value log2e = b.constant(x.getType(), llvm::numbers::log2e);
  return buildExp2(b, LLVM::FMulOp::create(b, x, log2e));
}

static Value buildLog(LaneBuilder &b, Value x) {
  Value ln2 = b.constant(x.getType(), llvm::numbers::ln2);
  return LLVM::FMulOp::create(b, callEach<kLog2>(b, x), ln2);
}

static Value writePTX(LaneBuilder &b, Type type, ValueRange operands,
                      StringRef text, StringRef constraints);

/// The instructions that buildTanh becomes, for a pair: a product with
/// 2 log2(e), exponentials, sums with 1, reciprocals, and products with -2 that
/// 1 is added to. Subnormal numbers are as good as zeros in all of them.
static Value writeTanh(LaneBuilder &b, Value pair) {
  return writePTX(
      b, pair.getType(), pair,
      "{ .reg .f32 a, b; mov.b64 {a, b}, $1; "
      "mul.rn.ftz.f32 a, a, 0f4038AA3B; mul.rn.ftz.f32 b, b, 0f4038AA3B; "
      "ex2.approx.ftz.f32 a, a; ex2.approx.ftz.f32 b, b; "
      "add.rn.ftz.f32 a, a, 0f3F800000; add.rn.ftz.f32 b, b, 0f3F800000; "
      "rcp.approx.ftz.f32 a, a; rcp.approx.ftz.f32 b, b; "
      "fma.rn.ftz.f32 a, a, 0fC0000000, 0f3F800000; "
      "fma.rn.ftz.f32 b, b, 0fC0000000, 0f3F800000; mov.b64 $0, {a, b}; }",
      "=l,l");
}

/// Builds tanh as 1 - 2 / (e^2x + 1). tanh.approx has an error of 2^-11, which
/// becomes an error of 1 if the result is multiplied by a large factor that
/// caps scores: an operation has to allow it.
static Value buildTanh(LaneBuilder &b, Value x) {
  Type type = x.getType();
  if (auto pair = dyn_cast<VectorType>(type);
      pair && pair.getNumElements() == 2 && !b.mayExpandTanh())
    return writeTanh(b, x);
  Value scale = b.constant(type, 2 * llvm::numbers::log2e);
  Value exp = buildExp2(b, LLVM::FMulOp::create(b, x, scale));
  Value one = b.constant(type, 1.0);
  Value inverse = callEach<kReciprocal>(b, LLVM::FAddOp::create(b, exp, one));
  return LLVM::FMAOp::create(b, inverse, b.constant(type, -2.0), one);
}

static Value buildApproximateTanh(LaneBuilder &b, Value x) {
  return mapElements(b, x, [&](ValueRange x) {
    return writePTX(b, b.getF32Type(), x, "tanh.approx.f32 $0, $1;", "=f,f");
  });
}

/// Builds a sine or cosine of the rest of `x` after whole turns, which are
/// subtracted in two parts: the instruction's error grows with its operand.
template <const llvm::StringLiteral &Intrinsic>
static Value buildSine(LaneBuilder &b, Value x) {
  constexpr double turn = 6.2831853071795864769;
  Type type = x.getType();
  auto turns = [&](double part, Value from, Value number) -> Value {
    return LLVM::FMAOp::create(b, number, b.constant(type, -part), from);
  };
  Value number = LLVM::RoundEvenOp::create(
      b, LLVM::FMulOp::create(b, x, b.constant(type, 1 / turn)));
  Value rest = turns(float(turn), x, number);
  rest = turns(turn - float(turn), rest, number);
  return callEach<Intrinsic>(b, rest);
}

/// Lowers an operation to the special function unit's instruction for f32. An
/// operand of a narrower type is extended and the result rounded.
static Value lowerFunction(LaneBuilder &b, Operation *op,
                           Value (*build)(LaneBuilder &, Value)) {
  Value x = op->getOperand(0);
  Type type = x.getType();
  if (!isLaneFloat(type))
    return {};
  bool narrow = !getElementTypeOrSelf(type).isF32();
  Type wide = b.getF32Type();
  if (auto vector = dyn_cast<VectorType>(type))
    wide = vector.clone(wide);
  if (narrow)
    x = LLVM::FPExtOp::create(b, wide, x);
  Value result = build(b, x);
  return narrow ? LLVM::FPTruncOp::create(b, type, result) : result;
}

/// Lowers `a / b`; a reciprocal if `a` is 1.
static Value lowerDivide(LaneBuilder &b, arith::DivFOp op) {
  Type type = op.getType();
  if (!isLaneFloat(type) || !getElementTypeOrSelf(type).isF32())
    return {};
  if (matchPattern(op.getLhs(), m_OneFloat()))
    return callEach<kReciprocal>(b, op.getRhs());
  return mapElements(b, {op.getLhs(), op.getRhs()},
                     [&](ValueRange x) { return call(b, kDivide, x); });
}

//===----------------------------------------------------------------------===//
// Words of bits
//===----------------------------------------------------------------------===//

/// Writes one instruction of PTX, or a block of them, without side effects.
static Value writePTX(LaneBuilder &b, Type type, ValueRange operands,
                      StringRef text, StringRef constraints) {
  return LLVM::InlineAsmOp::create(
             b, type, operands, text, constraints, /*has_side_effects=*/false,
             /*is_align_stack=*/false, LLVM::TailCallKind::None,
             LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

/// Returns the instruction that rounds f32 as `op` says, or nothing: PTX rounds
/// to f16 in each direction, to bf16 only to the nearest number and to zero
/// (PTX ISA, "cvt").
static std::optional<StringRef> findConversion(arith::TruncFOp op) {
  using Mode = arith::RoundingMode;
  Type to = getElementTypeOrSelf(op.getType());
  if (!getElementTypeOrSelf(op.getIn().getType()).isF32())
    return std::nullopt;
  switch (op.getRoundingmode().value_or(Mode::to_nearest_even)) {
  case Mode::toward_zero:
    return to.isBF16() ? "cvt.rz.bf16.f32 $0, $1;" : "cvt.rz.f16.f32 $0, $1;";
  case Mode::downward:
    return to.isF16() ? std::optional<StringRef>("cvt.rm.f16.f32 $0, $1;")
                      : std::nullopt;
  case Mode::upward:
    return to.isF16() ? std::optional<StringRef>("cvt.rp.f16.f32 $0, $1;")
                      : std::nullopt;
  case Mode::to_nearest_even:
  case Mode::to_nearest_away:
    return std::nullopt;
  }
  llvm_unreachable("unknown rounding mode");
}

/// Returns true for a rounding that LLVM's conversion has.
static bool roundsAsLLVM(arith::TruncFOp op) {
  auto mode = op.getRoundingmode();
  return !mode || *mode == arith::RoundingMode::to_nearest_even;
}

/// Lowers a conversion whose rounding is not LLVM's default. LLVM has
/// intrinsics with a rounding mode, but the NVPTX back end ignores that mode.
static Value lowerRounding(LaneBuilder &b, arith::TruncFOp op) {
  std::optional<StringRef> text = findConversion(op);
  if (!text)
    return {};
  return mapElements(b, op.getIn(), [&](ValueRange x) -> Value {
    Value bits = writePTX(b, b.getI16Type(), x, *text, "=h,f");
    return LLVM::BitcastOp::create(b, getElementTypeOrSelf(op.getType()), bits);
  });
}

/// Lowers `n < 32 ? shift(x, n) : 0`, with an unsigned comparison, to a shift
/// of PTX, which gives 0 for each amount above 31 by itself (PTX ISA, 9.7.8,
/// "shl", "shr"). LLVM recognises the form, too, but not after InstCombine,
/// which makes the comparison of a maximum with 0 a signed one.
static Value lowerFullShift(LaneBuilder &b, arith::SelectOp op) {
  auto inRange = op.getCondition().getDefiningOp<arith::CmpIOp>();
  Operation *shift = op.getTrueValue().getDefiningOp();
  APInt width;
  if (!isa_and_nonnull<arith::ShLIOp, arith::ShRUIOp>(shift) ||
      !op.getType().isInteger(32) || !inRange ||
      inRange.getPredicate() != arith::CmpIPredicate::ult ||
      inRange.getLhs() != shift->getOperand(1) ||
      !matchPattern(inRange.getRhs(), m_ConstantInt(&width)) || width != 32 ||
      !matchPattern(op.getFalseValue(), m_Zero()))
    return {};
  return writePTX(b, op.getType(), shift->getOperands(),
                  isa<arith::ShLIOp>(shift) ? "shl.b32 $0, $1, $2;"
                                            : "shr.u32 $0, $1, $2;",
                  "=r,r,r");
}

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

/// ptxas moves several bits of a register to predicates at a time if each bit
/// is tested by `and` and `setp.ne`. LLVM would turn these tests into shifts.
static Value lowerBitSelect(LaneBuilder &b, arith::SelectOp op) {
  Value word;
  APInt bit;
  if (!isBitSelect(op, word, bit) || !b.mayWriteBitSelect())
    return {};
  Value mask =
      b.constant(b.getI32IntegerAttr(static_cast<int32_t>(bit.getSExtValue())));
  return writePTX(b, op.getType(),
                  {op.getTrueValue(), op.getFalseValue(), word, mask},
                  "{ .reg .pred p; .reg .b32 t; and.b32 t, $3, $4; setp.ne.b32 "
                  "p, t, 0; selp.f32 $0, $1, $2, p; }",
                  "=f,f,f,r,n");
}

//===----------------------------------------------------------------------===//
// The polynomial
//===----------------------------------------------------------------------===//

/// Lowers a pair of exponentials to the polynomial. See `tile.exp2` for the
/// formula.
static Value lowerPolynomial(LaneBuilder &b, Exp2Op op) {
  VectorType type = op.getOperand().getType();
  if (type.getShape() != ArrayRef<int64_t>{2} ||
      op.getPairs() != ArrayRef<int64_t>{0})
    return {};
  Value x = op.getOperand();
  ArrayRef<float> coefficients = op.getCoefficients();
  auto bits = VectorType::get({2}, b.getI32Type());
  // A smaller value would make the exponent's field negative.
  Value clamped = LLVM::MaximumOp::create(b, x, b.constant(type, -127.0));
  // In the sum of x and this number, the lowest bit of the mantissa stands for
  // 1. The sum is rounded down, so its low bits are floor(x) in two's
  // complement.
  Value shifter = b.constant(type, 0x1.8p23);
  Value shifted = writePTX(b, type, {clamped, shifter},
                           "add.rm.ftz.f32x2 $0, $1, $2;", "=l,l,l");
  Value floor = LLVM::FSubOp::create(b, shifted, shifter);
  Value fraction = LLVM::FSubOp::create(b, clamped, floor);
  Value sum = b.constant(type, coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    sum = LLVM::FMAOp::create(b, sum, fraction, b.constant(type, coefficient));
  sum = LLVM::FMAOp::create(b, sum, fraction, b.constant(type, 1.0));
  // The shift moves the integer to the exponent's field; its upper bits are
  // shifted out.
  Value mantissaBits =
      b.constant(DenseElementsAttr::get(bits, b.getI32IntegerAttr(23)));
  Value exponent = LLVM::ShlOp::create(
      b, LLVM::BitcastOp::create(b, bits, shifted), mantissaBits);
  Value result =
      LLVM::AddOp::create(b, exponent, LLVM::BitcastOp::create(b, bits, sum));
  return LLVM::BitcastOp::create(b, type, result);
}

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

/// Lowers an operation on integers to LLVM's, whose result need not be poison
/// for any operand. Indices are converted by upstream's patterns.
template <typename To> static Value lowerBits(LaneBuilder &b, Operation *op) {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (!element.isSignlessInteger())
    return {};
  Value x = op->getOperand(0);
  if constexpr (std::is_same_v<To, LLVM::CtPopOp>)
    return To::create(b, x.getType(), x);
  else
    return To::create(b, x.getType(), x, /*isPoison=*/false);
}

/// Returns what builds a function of the special function unit, or null.
static Value (*findFunction(Operation *op))(LaneBuilder &, Value) {
  return llvm::TypeSwitch<Operation *, Value (*)(LaneBuilder &, Value)>(op)
      .Case([](math::Exp2Op) { return buildExp2; })
      .Case([](math::ExpOp) { return buildExp; })
      .Case([](math::Log2Op) { return callEach<kLog2>; })
      .Case([](math::LogOp) { return buildLog; })
      .Case([](math::TanhOp op) {
        bool mayApproximate = arith::bitEnumContainsAll(
            op.getFastmath(), arith::FastMathFlags::afn);
        return mayApproximate ? buildApproximateTanh : buildTanh;
      })
      .Case([](math::SqrtOp) { return callEach<kSqrt>; })
      .Case([](math::RsqrtOp) { return callEach<kRsqrt>; })
      .Case([](math::SinOp) { return buildSine<kSin>; })
      .Case([](math::CosOp) { return buildSine<kCos>; })
      .Default(nullptr);
}

static Value lowerFloat(LaneBuilder &b, Operation *op) {
  if (op->getNumResults() != 1 || !isLaneFloat(op->getResult(0).getType()))
    return {};
  return lowerToSame<SameInLLVM<math::FmaOp, LLVM::FMAOp>,
                     SameInLLVM<math::AbsFOp, LLVM::FAbsOp>,
                     SameInLLVM<math::FloorOp, LLVM::FFloorOp>,
                     SameInLLVM<math::CeilOp, LLVM::FCeilOp>,
                     SameInLLVM<math::TruncOp, LLVM::FTruncOp>,
                     SameInLLVM<math::RoundEvenOp, LLVM::RoundEvenOp>,
                     SameInLLVM<math::CopySignOp, LLVM::CopySignOp>>(b, op);
}

Value fa4::tile::lowerLaneMath(LaneBuilder &b, Operation *op) {
  if (auto build = findFunction(op))
    return lowerFunction(b, op, build);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::SelectOp op) {
        Value shifted = lowerFullShift(b, op);
        return shifted ? shifted : lowerBitSelect(b, op);
      })
      .Case([&](arith::DivFOp op) { return lowerDivide(b, op); })
      .Case([&](arith::TruncFOp op) { return lowerRounding(b, op); })
      .Case([&](Exp2Op op) { return lowerPolynomial(b, op); })
      .Case([&](math::AbsIOp op) { return lowerBits<LLVM::AbsOp>(b, op); })
      .Case([&](math::CtPopOp op) { return lowerBits<LLVM::CtPopOp>(b, op); })
      .Case([&](math::CountLeadingZerosOp op) {
        return lowerBits<LLVM::CountLeadingZerosOp>(b, op);
      })
      .Case([&](math::CountTrailingZerosOp op) {
        return lowerBits<LLVM::CountTrailingZerosOp>(b, op);
      })
      .Default([&](Operation *op) { return lowerFloat(b, op); });
}

/// Returns true if `lane-math-to-llvm` must not leave the operation.
static bool mustBeLowered(Operation *op) {
  auto divide = dyn_cast<arith::DivFOp>(op);
  auto truncate = dyn_cast<arith::TruncFOp>(op);
  return isa<Exp2Op>(op) || (truncate && !roundsAsLLVM(truncate)) ||
         isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
         (divide && getElementTypeOrSelf(divide.getType()).isF32());
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
  if (auto truncate = dyn_cast<arith::TruncFOp>(op))
    return roundsAsLLVM(truncate) || findConversion(truncate);
  return !isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
         findFunction(op) ||
         isa<math::FmaOp, math::AbsFOp, math::FloorOp, math::CeilOp,
             math::TruncOp, math::RoundEvenOp, math::CopySignOp, math::AbsIOp,
             math::CtPopOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp>(op);
}

namespace {
struct LaneMathToLLVM : public fa4::impl::LaneMathToLLVMBase<LaneMathToLLVM> {
  void runOnOperation() override {
    // The lowering knows a selection by a bit from the operations that compute
    // its condition. None of these operations is replaced here.
    auto lower = [](Operation *op) -> LogicalResult {
      LaneBuilder builder(op);
      if (Value lowered = lowerLaneMath(builder, op)) {
        op->getResult(0).replaceAllUsesWith(lowered);
        op->erase();
        return success();
      }
      if (!mustBeLowered(op))
        return success();
      return op->emitOpError("has no instructions for a thread on these types");
    };
    if (failed(fa4::checkEach(getOperation(), lower)))
      signalPassFailure();
  }
};
} // namespace
