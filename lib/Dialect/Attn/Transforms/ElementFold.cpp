//===- ElementFold.cpp - one way to write an element's expression ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs write numbers in many ways: a factor as f64 that is rounded to f32,
// a mask that is `and`ed with true, 2^x as a power. Expressions have one of
// them, so that what compares them does not need to know the others.
//
//===----------------------------------------------------------------------===//

#include "TensorElement.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace fa4::attn;

ElementRef ElementTracer::constant(TypedAttr number) {
  Element element;
  element.kind = Element::Constant;
  element.type = number.getType();
  element.constant = number;
  return add(element);
}

template <typename Op> static bool is(OperationName op) {
  return op.getTypeID() == TypeID::get<Op>();
}

/// The number of an operation on constants; nothing if it is not known.
static std::optional<double> compute(OperationName op, ArrayRef<double> x) {
  if (is<arith::ExtFOp>(op) || is<arith::TruncFOp>(op))
    return x[0];
  if (is<arith::NegFOp>(op))
    return -x[0];
  if (is<math::SqrtOp>(op))
    return std::sqrt(x[0]);
  if (is<math::RsqrtOp>(op))
    return 1 / std::sqrt(x[0]);
  if (is<arith::AddFOp>(op))
    return x[0] + x[1];
  if (is<arith::SubFOp>(op))
    return x[0] - x[1];
  if (is<arith::MulFOp>(op))
    return x[0] * x[1];
  if (is<arith::DivFOp>(op))
    return x[0] / x[1];
  return std::nullopt;
}

/// Whether `element` is true or false.
static std::optional<bool> getTruth(ElementRef element) {
  std::optional<double> number = element->getConstant();
  return number && element->type.isInteger(1) ? std::optional(*number != 0)
                                              : std::nullopt;
}

static bool isNot(ElementRef element) {
  return element->isa<arith::XOrIOp>() && element->type.isInteger(1) &&
         getTruth(element->args[1]) == true;
}

ElementRef ElementTracer::foldLogic(OperationName op,
                                    ArrayRef<ElementRef> args) {
  for (unsigned i : {0u, 1u}) {
    std::optional<bool> truth = getTruth(args[i]);
    if (!truth)
      continue;
    if (is<arith::AndIOp>(op))
      return *truth ? args[1 - i] : args[i];
    if (is<arith::OrIOp>(op))
      return *truth ? args[i] : args[1 - i];
    if (is<arith::XOrIOp>(op) && !*truth)
      return args[1 - i];
    if (is<arith::XOrIOp>(op) && isNot(args[1 - i]))
      return args[1 - i]->args[0];
    // The constant is the second operand of what says not.
    if (is<arith::XOrIOp>(op) && i == 0)
      return apply<arith::XOrIOp>(args[0]->type, {args[1], args[0]});
  }
  return nullptr;
}

ElementRef ElementTracer::fold(OperationName op, Type type,
                               ArrayRef<ElementRef> args) {
  SmallVector<double> numbers;
  for (ElementRef arg : args)
    if (std::optional<double> number = arg->getConstant();
        number && isa<FloatType>(arg->type))
      numbers.push_back(*number);
  if (isa<FloatType>(type) && numbers.size() == args.size())
    if (std::optional<double> result = compute(op, numbers))
      return constant(type, *result);
  if (is<arith::SIToFPOp>(op))
    if (std::optional<double> number = args[0]->getConstant())
      return constant(type, *number);
  auto isConstant = [&](unsigned i, double number) {
    return args[i]->isConstant(number);
  };
  if ((is<arith::AndIOp>(op) || is<arith::OrIOp>(op) ||
       is<arith::XOrIOp>(op)) &&
      type.isInteger(1))
    return foldLogic(op, args);
  for (unsigned i : {0u, 1u}) {
    if (is<arith::AddFOp>(op) && isConstant(i, 0))
      return args[1 - i];
    if (is<arith::MulFOp>(op) && isConstant(i, 1))
      return args[1 - i];
    if ((is<arith::MaximumFOp>(op) || is<arith::MaxNumFOp>(op)) &&
        isConstant(i, -std::numeric_limits<double>::infinity()))
      return args[1 - i];
  }
  if ((is<arith::SubFOp>(op) && isConstant(1, 0)) ||
      (is<arith::DivFOp>(op) && isConstant(1, 1)))
    return args[0];
  if (is<arith::SelectOp>(op)) {
    if (std::optional<bool> truth = getTruth(args[0]))
      return args[*truth ? 1 : 2];
    if (isNot(args[0]))
      return apply<arith::SelectOp>(type, {args[0]->args[0], args[2], args[1]});
    if (isEqual(args[1], args[2]))
      return args[1];
    // select(c, x, false) is c and x.
    if (getTruth(args[2]) == false)
      return apply<arith::AndIOp>(type, {args[0], args[1]});
    if (getTruth(args[1]) == true)
      return apply<arith::OrIOp>(type, {args[0], args[2]});
  }
  if (is<math::PowFOp>(op)) {
    if (std::optional<double> base = args[0]->getConstant();
        base && *base > 0 && std::isfinite(*base))
      return apply<math::Exp2Op>(
          type, {apply<arith::MulFOp>(
                    type, {args[1], constant(type, std::log2(*base))})});
    if (isConstant(1, 2))
      return apply<arith::MulFOp>(type, {args[0], args[0]});
  }
  return nullptr;
}

ElementRef ElementTracer::apply(OperationName op, DictionaryAttr attributes,
                                Type type, ArrayRef<ElementRef> args) {
  if (ElementRef simple = fold(op, type, args))
    return simple;
  Element element;
  element.kind = Element::Apply;
  element.type = type;
  element.op = op;
  element.attributes = attributes ? attributes : DictionaryAttr::get(context);
  element.args.assign(args.begin(), args.end());
  return add(element);
}
