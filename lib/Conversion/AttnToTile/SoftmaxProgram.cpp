//===- SoftmaxProgram.cpp - the state of an online softmax ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();
static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

bool fa4::isFloatOrTile(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// Numbers of a score_mod that are at least this large hide keys.
static constexpr double kLargeNumber = 0x1p16;

bool fa4::isLargeNumber(Operation &op) {
  APFloat number(0.0f);
  APInt integer;
  if (matchPattern(&op, m_ConstantFloat(&number)))
    return number.isFinite() &&
           std::abs(number.convertToDouble()) >= kLargeNumber;
  return matchPattern(&op, m_ConstantInt(&integer)) &&
         integer.abs().uge(uint64_t(kLargeNumber));
}

/// Returns true if scores may exceed the limit of exponents although q and k
/// are ordinary numbers. This is so if a score_mod hides keys by a number such
/// as -1e10, which is a constant or captured.
static bool mayExceedLimit(SdpaOp op) {
  Region &region = op.getScoreMod();
  return !region.empty() &&
         (llvm::any_of(op.getCaptures().getTypes(), isFloatOrTile) ||
          llvm::any_of(region.front(), isLargeNumber));
}

SoftmaxProgram::SoftmaxProgram(SdpaOp op, tile::KernelOp kernel, int64_t rows,
                               int64_t keys)
    : QueryTileProgram(op, kernel, rows, keys), op(op),
      hasFullRange(mayExceedLimit(op)), out(getArgument("out")),
      lse(op.hasLse() ? getArgument("lse") : Value()) {
  chooseExponentLimit();
}

/// An exponent is fma(score, c, -m) with m = round(c * row max): of the row's
/// largest score the exponent is the rounding error of m, not 0. All that is
/// summed in the row has this same factor, which cancels, unless the type that
/// probabilities are rounded to overflows. An error of up to half of the
/// type's largest exponent is allowed. The error is up to 2^-25 of the power
/// of two above m, so that m may be up to 2^24 times the largest exponent:
/// 2^28 for f16, 2^31 for bf16.
void SoftmaxProgram::chooseExponentLimit() {
  auto element = cast<FloatType>(getElementTypeOrSelf(op.getV().getType()));
  int exponent = APFloat::semanticsMaxExponent(element.getFloatSemantics()) + 1;
  exponentLimit = std::ldexp(double(exponent), 24);
}

/// Where all scores so far are -inf, or so low that their exponentials relative
/// to 0 are 0, this is 0. Relative to a maximum of -inf they would not be
/// numbers.
Value SoftmaxProgram::getReference(Value max) {
  Value tooLow = hasFullRange
                     ? arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max,
                                             splat(f32Rows(), -kInfinity))
                     : arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, max,
                                             splat(f32Rows(), -exponentLimit));
  return arith::SelectOp::create(b, tooLow, splat(f32Rows(), 0.0), max);
}

/// The sink is not multiplied by the scale. Its exponential is 1 relative to
/// itself, or 0 where the sink is -inf.
SoftmaxState SoftmaxProgram::startWithSink(Value rowSinks) {
  SoftmaxState state;
  state.max = arith::MulFOp::create(b, rowSinks, splat(f32Rows(), kLog2E));
  state.normalizer = math::Exp2Op::create(
      b, arith::SubFOp::create(b, state.max, getReference(state.max)));
  return state;
}

/// The normalizer, or NaN in rows whose largest score is beyond the limit, is
/// infinite or is not a number. It is 0 only in rows that see no key.
Value SoftmaxProgram::rejectLargeScores(SoftmaxState state) {
  Value magnitude = math::AbsFOp::create(b, state.max);
  double limit =
      hasFullRange ? double(std::numeric_limits<float>::max()) : exponentLimit;
  Value inRange = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, magnitude,
                                        splat(f32Rows(), limit));
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, state.max,
                                      splat(f32Rows(), -kInfinity));
  return arith::SelectOp::create(b, arith::OrIOp::create(b, inRange, empty),
                                 state.normalizer, splat(f32Rows(), kNaN));
}

/// A row that sees no key.
Value SoftmaxProgram::isEmpty(Value normalizer) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, normalizer,
                               splat(f32Rows(), 0.0));
}

/// 0 for a row that sees no key.
Value SoftmaxProgram::computeOut(SoftmaxState state) {
  Value rowZero = splat(f32Rows(), 0.0);
  Value normalizer = rejectLargeScores(state);
  Value empty = isEmpty(normalizer);
  Value quotient = arith::DivFOp::create(b, splat(f32Rows(), 1.0), normalizer);
  Value inverse = arith::SelectOp::create(b, empty, rowZero, quotient);
  auto type = cast<VectorType>(state.sum.getType());
  if (type.getRank() == 2)
    inverse = overColumns(inverse, type.getDimSize(1));
  return round(arith::MulFOp::create(b, state.sum, inverse), out);
}

/// -inf for a row that sees no key.
Value SoftmaxProgram::computeLse(SoftmaxState state, Value own) {
  Value normalizer = rejectLargeScores(state);
  Value empty = isEmpty(normalizer);
  Value log = math::Log2Op::create(b, normalizer);
  Value base2 = arith::AddFOp::create(b, log, state.max);
  Value natural = arith::MulFOp::create(b, base2, splat(f32Rows(), kLn2));
  if (own)
    natural = arith::AddFOp::create(b, natural, own);
  return arith::SelectOp::create(b, empty, splat(f32Rows(), -kInfinity),
                                 natural);
}
