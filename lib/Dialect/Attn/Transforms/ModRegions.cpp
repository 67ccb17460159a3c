//===- ModRegions.cpp - inlining score_mod and mask_mod regions ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/Transforms/ModRegions.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace fa4::attn;

Value fa4::attn::inlineMod(OpBuilder &builder, Region &region,
                           ValueRange arguments) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  for (Operation &op : region.front().without_terminator())
    builder.clone(op, mapping);
  return mapping.lookup(region.front().getTerminator()->getOperand(0));
}

//===----------------------------------------------------------------------===//
// Derivative rules
//===----------------------------------------------------------------------===//

namespace {
/// Emits the arithmetic of derivatives at an insertion point. In the rules `x`
/// and `y` are operands, `r` is the operation's result, and `dx` and `dy` are
/// derivatives of the operands.
class Rules {
public:
  Rules(OpBuilder &builder, Location loc) : b(loc, builder) {}

  Value constant(Type type, double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  // Derivatives are constants in many places, most of all 1.
  Value add(Value x, Value y) { return b.createOrFold<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return b.createOrFold<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return b.createOrFold<arith::DivFOp>(x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value scale(Value x, double factor) {
    return mul(x, constant(x.getType(), factor));
  }
  /// Computes 1 - x * x.
  Value oneMinusSquare(Value x) {
    return sub(constant(x.getType(), 1.0), mul(x, x));
  }
  Value onePlusSquare(Value x) {
    return add(constant(x.getType(), 1.0), mul(x, x));
  }
  Value selectIf(arith::CmpFPredicate predicate, Value x, Value y, Value then,
                 Value otherwise) {
    Value cmp = arith::CmpFOp::create(b, predicate, x, y);
    return arith::SelectOp::create(b, cmp, then, otherwise);
  }

  /// Returns dr/dx if `op` is a function of one argument that has a rule, else
  /// null.
  Value unaryFactor(Operation *op, Value x, Value r);
  /// Returns the derivative of `op`, whose cloned operands are `x`. An entry of
  /// `dx` is null if that operand does not depend on the score. Returns null if
  /// there is no rule for `op`.
  Value derive(Operation *op, ValueRange x, ArrayRef<Value> dx, Value r);

private:
  Value deriveArith(Operation *op, ValueRange x, ArrayRef<Value> dx, Value r);
  Value deriveChoice(Operation *op, ValueRange x, ArrayRef<Value> dx, Value r);
  Value derivePow(ValueRange x, ArrayRef<Value> dx, Value r);
  Value derivePowI(ValueRange x, Value dx);
  Value deriveAtan2(ValueRange x, ArrayRef<Value> dx);

  ImplicitLocOpBuilder b;
};
} // namespace

Value Rules::unaryFactor(Operation *op, Value x, Value r) {
  constexpr double ln2 = 0.6931471805599453, ln10 = 2.302585092994046;
  Type type = x.getType();
  auto reciprocal = [&](Value value) {
    return div(constant(type, 1.0), value);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return r; })
      .Case([&](math::Exp2Op) { return scale(r, ln2); })
      .Case([&](math::ExpM1Op) { return add(r, constant(type, 1.0)); })
      .Case([&](math::LogOp) { return reciprocal(x); })
      .Case([&](math::Log2Op) { return reciprocal(scale(x, ln2)); })
      .Case([&](math::Log10Op) { return reciprocal(scale(x, ln10)); })
      .Case([&](math::Log1pOp) {
        return reciprocal(add(x, constant(type, 1.0)));
      })
      .Case([&](math::SqrtOp) { return div(constant(type, 0.5), r); })
      .Case([&](math::RsqrtOp) { return scale(div(r, x), -0.5); })
      .Case([&](math::CbrtOp) { return reciprocal(scale(mul(r, r), 3.0)); })
      .Case([&](math::TanhOp) { return oneMinusSquare(r); })
      .Case([&](math::SinhOp) { return math::CoshOp::create(b, x); })
      .Case([&](math::CoshOp) { return math::SinhOp::create(b, x); })
      .Case([&](math::SinOp) { return math::CosOp::create(b, x); })
      .Case([&](math::CosOp) { return neg(math::SinOp::create(b, x)); })
      .Case([&](math::TanOp) { return onePlusSquare(r); })
      .Case([&](math::AtanOp) { return reciprocal(onePlusSquare(x)); })
      .Case([&](math::AsinOp) {
        return Value(math::RsqrtOp::create(b, oneMinusSquare(x)));
      })
      .Case([&](math::AcosOp) {
        return neg(math::RsqrtOp::create(b, oneMinusSquare(x)));
      })
      .Case([&](math::AsinhOp) {
        return Value(math::RsqrtOp::create(b, onePlusSquare(x)));
      })
      .Case([&](math::AcoshOp) {
        Value less = sub(mul(x, x), constant(type, 1.0));
        return Value(math::RsqrtOp::create(b, less));
      })
      .Case([&](math::AtanhOp) { return reciprocal(oneMinusSquare(x)); })
      .Case([&](math::ErfOp) {
        Value gauss = math::ExpOp::create(b, neg(mul(x, x)));
        return scale(gauss, 2.0 / std::sqrt(M_PI));
      })
      .Case([&](math::ErfcOp) {
        Value gauss = math::ExpOp::create(b, neg(mul(x, x)));
        return scale(gauss, -2.0 / std::sqrt(M_PI));
      })
      .Case([&](math::AbsFOp) {
        return Value(math::CopySignOp::create(b, constant(type, 1.0), x));
      })
      .Default([](Operation *) { return Value(); });
}

/// Derivative of r = x^y.
Value Rules::derivePow(ValueRange x, ArrayRef<Value> dx, Value r) {
  Value sum;
  if (dx[0]) {
    Value less = sub(x[1], constant(x[1].getType(), 1.0));
    Value power = math::PowFOp::create(b, x[0], less);
    sum = mul(dx[0], mul(x[1], power));
  }
  if (dx[1]) {
    Value term = mul(dx[1], mul(r, math::LogOp::create(b, x[0])));
    sum = sum ? add(sum, term) : term;
  }
  return sum;
}

/// Derivative of x^n, with a whole number n.
Value Rules::derivePowI(ValueRange x, Value dx) {
  Type type = x[1].getType();
  Value one = arith::ConstantOp::create(b, b.getIntegerAttr(type, 1));
  Value less = arith::SubIOp::create(b, x[1], one);
  Value power = math::FPowIOp::create(b, x[0], less);
  Value exponent = arith::SIToFPOp::create(b, x[0].getType(), x[1]);
  return mul(dx, mul(exponent, power));
}

/// Derivative of atan2(x, y), the angle of the point (y, x).
Value Rules::deriveAtan2(ValueRange x, ArrayRef<Value> dx) {
  Value square = add(mul(x[0], x[0]), mul(x[1], x[1]));
  Value sum;
  if (dx[0])
    sum = mul(dx[0], x[1]);
  if (dx[1]) {
    Value term = mul(dx[1], x[0]);
    sum = sum ? sub(sum, term) : neg(term);
  }
  return div(sum, square);
}

/// The derivative of an operation whose result is one of its operands, perhaps
/// with another sign.
Value Rules::deriveChoice(Operation *op, ValueRange x, ArrayRef<Value> dx,
                          Value r) {
  using Predicate = arith::CmpFPredicate;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
        return selectIf(Predicate::OGE, x[0], x[1], dx[0], dx[1]);
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return selectIf(Predicate::OLE, x[0], x[1], dx[0], dx[1]);
      })
      .Case([&](math::ClampFOp) {
        Value upper = selectIf(Predicate::OGT, x[0], x[2], dx[2], dx[0]);
        return selectIf(Predicate::OLT, x[0], x[1], dx[1], upper);
      })
      .Case([&](math::CopySignOp) {
        // The result is x or -x, so its derivative is dx or -dx.
        return selectIf(Predicate::OEQ, x[0], r, dx[0], neg(dx[0]));
      })
      .Case([&](arith::SelectOp) -> Value {
        return arith::SelectOp::create(b, x[0], dx[1], dx[2]);
      });
}

Value Rules::deriveArith(Operation *op, ValueRange x, ArrayRef<Value> dx,
                         Value r) {
  Value zero = constant(r.getType(), 0.0);
  auto orZero = [&](Value value) { return value ? value : zero; };
  // Null stands for 0.
  auto sum = [&](Value x, Value y) { return x && y ? add(x, y) : x ? x : y; };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::AddFOp) { return sum(dx[0], dx[1]); })
      .Case([&](arith::SubFOp) {
        return dx[1] ? sub(orZero(dx[0]), dx[1]) : dx[0];
      })
      .Case([&](arith::NegFOp) { return neg(dx[0]); })
      .Case([&](arith::MulFOp) {
        if (!dx[1])
          return mul(dx[0], x[1]);
        if (!dx[0])
          return mul(x[0], dx[1]);
        return add(mul(dx[0], x[1]), mul(x[0], dx[1]));
      })
      .Case([&](arith::DivFOp) {
        if (!dx[1])
          return div(dx[0], x[1]);
        Value product = mul(r, dx[1]);
        return div(dx[0] ? sub(dx[0], product) : neg(product), x[1]);
      })
      .Case([&](math::FmaOp) {
        Value ofProduct = sum(dx[0] ? mul(dx[0], x[1]) : Value(),
                              dx[1] ? mul(x[0], dx[1]) : Value());
        return sum(ofProduct, dx[2]);
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
            arith::MinNumFOp, math::ClampFOp, math::CopySignOp,
            arith::SelectOp>([&](auto) {
        SmallVector<Value> changes = llvm::map_to_vector(dx, orZero);
        return deriveChoice(op, x, changes, r);
      })
      .Case<arith::ExtFOp>([&](auto) -> Value {
        return arith::ExtFOp::create(b, r.getType(), dx[0]);
      })
      .Case<arith::TruncFOp>([&](auto) -> Value {
        return arith::TruncFOp::create(b, r.getType(), dx[0]);
      })
      .Case<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
            math::TruncOp>([&](auto) { return zero; })
      .Default([](Operation *) { return Value(); });
}

Value Rules::derive(Operation *op, ValueRange x, ArrayRef<Value> dx, Value r) {
  if (isa<math::PowFOp>(op))
    return derivePow(x, dx, r);
  if (isa<math::FPowIOp>(op))
    return derivePowI(x, dx[0]);
  if (isa<math::Atan2Op>(op))
    return deriveAtan2(x, dx);
  if (op->getNumOperands() == 1)
    if (Value factor = unaryFactor(op, x[0], r))
      return mul(dx[0], factor);
  return deriveArith(op, x, dx, r);
}

//===----------------------------------------------------------------------===//
// Differentiation of a block
//===----------------------------------------------------------------------===//

Value fa4::attn::getHeadArgument(Region &region) {
  bool hasScore = region.getArgument(0).getType().isF32();
  unsigned first =
      (hasScore ? kNumScoreModArgs : kNumMaskModArgs) - kNumIndexArgs;
  return region.getArgument(first + 1);
}

Value fa4::attn::getSourceOfRead(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([](tensor::ExtractOp read) { return read.getTensor(); })
      .Case([](memref::LoadOp read) { return read.getMemRef(); })
      .Case([](bufferization::ToTensorOp view) { return view.getBuffer(); })
      .Default([](Operation *) { return Value(); });
}

namespace {
/// Clones operations together with the derivatives of their results.
class DualCloner {
public:
  DualCloner(OpBuilder &builder) : builder(builder) {}

  IRMapping values;
  /// Maps an original value to the derivative of its clone. A value without an
  /// entry has the derivative 0.
  DenseMap<Value, Value> derivatives;
  /// The original values that are the vector with respect to whose numbers the
  /// derivative is taken.
  DenseSet<Value> vectors;

  void cloneBody(Block &block) {
    for (Operation &op : block.without_terminator())
      clone(op);
  }

  Dual lookup(Value original) {
    Value value = values.lookup(original);
    Value derivative = derivatives.lookup(original);
    if (!derivative)
      derivative = Rules(builder, value.getLoc())
                       .constant(value.getType(), /*value=*/0.0);
    return {value, derivative};
  }

  /// Takes the derivative with respect to `value`.
  void seed(Value value) {
    if (isa<ShapedType>(value.getType()))
      vectors.insert(value);
    else
      derivatives[value] = getOne(value);
  }

private:
  Value getOne(Value like) {
    return Rules(builder, like.getLoc())
        .constant(like.getType(), /*value=*/1.0);
  }

  void clone(Operation &op) {
    if (auto conditional = dyn_cast<scf::IfOp>(op))
      return cloneIf(conditional);
    Operation *copy = builder.clone(op, values);
    if (vectors.contains(getSourceOfRead(&op))) {
      if (isa<ShapedType>(op.getResult(0).getType()))
        vectors.insert(op.getResult(0));
      else
        derivatives[op.getResult(0)] = getOne(op.getResult(0));
      return;
    }
    SmallVector<Value> dx;
    for (Value operand : op.getOperands())
      dx.push_back(derivatives.lookup(operand));
    if (llvm::none_of(dx, [](Value value) { return bool(value); }) ||
        op.getNumResults() != 1 || !isa<FloatType>(op.getResult(0).getType()))
      return;
    derivatives[op.getResult(0)] =
        Rules(builder, op.getLoc())
            .derive(&op, copy->getOperands(), dx, copy->getResult(0));
  }

  /// The clone has more results than the original: first the values, then the
  /// derivatives of the float values.
  void cloneIf(scf::IfOp op) {
    if (op.getNumResults() == 0)
      return;
    SmallVector<Type> types(op.getResultTypes());
    for (Type type : op.getResultTypes())
      if (isa<FloatType>(type))
        types.push_back(type);
    auto copy = scf::IfOp::create(builder, op.getLoc(), types,
                                  values.lookup(op.getCondition()),
                                  /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    std::pair<Block *, Block *> branches[] = {
        {op.thenBlock(), copy.thenBlock()}, {op.elseBlock(), copy.elseBlock()}};
    for (auto [from, to] : branches) {
      builder.setInsertionPointToEnd(to);
      cloneBody(*from);
      SmallVector<Value> yielded, derived;
      for (Value operand : from->getTerminator()->getOperands()) {
        yielded.push_back(values.lookup(operand));
        if (isa<FloatType>(operand.getType()))
          derived.push_back(lookup(operand).derivative);
      }
      llvm::append_range(yielded, derived);
      scf::YieldOp::create(builder, op.getLoc(), yielded);
    }
    unsigned next = op.getNumResults();
    for (auto [result, twin] : llvm::zip(op.getResults(), copy.getResults())) {
      values.map(result, twin);
      if (isa<FloatType>(result.getType()))
        derivatives[result] = copy.getResult(next++);
    }
  }

  OpBuilder &builder;
};
} // namespace

Dual fa4::attn::inlineScoreModWithDerivative(OpBuilder &builder, Region &region,
                                             ValueRange arguments,
                                             unsigned wrt) {
  DualCloner cloner(builder);
  cloner.values.map(region.getArguments(), arguments);
  cloner.seed(region.getArgument(wrt));
  cloner.cloneBody(region.front());
  return cloner.lookup(region.front().getTerminator()->getOperand(0));
}

/// Returns true if `Rules::derive` has a rule for `op`.
static bool hasRule(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MaxNumFOp,
             arith::MinimumFOp, arith::MinNumFOp, arith::SelectOp,
             arith::ExtFOp, arith::TruncFOp>(op) ||
         isa<math::FmaOp, math::ClampFOp, math::CopySignOp, math::PowFOp,
             math::FPowIOp, math::FloorOp, math::CeilOp, math::RoundOp,
             math::RoundEvenOp, math::TruncOp, math::ExpOp, math::Exp2Op,
             math::ExpM1Op, math::LogOp, math::Log2Op, math::Log10Op,
             math::Log1pOp, math::SqrtOp, math::RsqrtOp, math::CbrtOp,
             math::TanhOp, math::SinhOp, math::CoshOp, math::SinOp, math::CosOp,
             math::TanOp, math::AtanOp, math::AsinOp, math::AcosOp>(op) ||
         isa<math::Atan2Op, math::AcoshOp, math::AsinhOp, math::AtanhOp,
             math::ErfOp, math::ErfcOp, math::AbsFOp>(op);
}

/// Collects into `active` the values whose derivative may be non-zero. Returns
/// the first operation on such a value that has no rule, or null. A vector is
/// to be read at `head` only.
static Operation *findNonDifferentiable(Block &block, Value head,
                                        DenseSet<Value> &active) {
  for (Operation &op : block.without_terminator()) {
    if (auto conditional = dyn_cast<scf::IfOp>(op)) {
      for (Region *branch :
           {&conditional.getThenRegion(), &conditional.getElseRegion()})
        if (!branch->empty())
          if (Operation *bad =
                  findNonDifferentiable(branch->front(), head, active))
            return bad;
      for (Value result : conditional.getResults())
        if (isa<FloatType>(result.getType()))
          active.insert(result);
      continue;
    }
    bool usesActive = false;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        usesActive |= active.contains(operand);
    });
    if (!usesActive)
      continue;
    if (active.contains(getSourceOfRead(&op))) {
      if (!isa<bufferization::ToTensorOp>(op) &&
          !llvm::equal(op.getOperands().drop_front(), ValueRange(head)))
        return &op;
      active.insert(op.getResult(0));
      continue;
    }
    // Comparisons and conversions to integers are constant almost everywhere,
    // so their derivative is 0.
    bool integerResults = llvm::all_of(
        op.getResultTypes(), [](Type type) { return type.isIntOrIndex(); });
    if (integerResults && op.getNumRegions() == 0 && !isa<arith::BitcastOp>(op))
      continue;
    if (!hasRule(&op) || !isa<FloatType>(op.getResult(0).getType()))
      return &op;
    active.insert(op.getResult(0));
  }
  return nullptr;
}

Operation *fa4::attn::findNonDifferentiable(Region &region, unsigned wrt) {
  DenseSet<Value> active = {region.getArgument(wrt)};
  return ::findNonDifferentiable(region.front(), getHeadArgument(region),
                                 active);
}

LogicalResult fa4::attn::verifyDifferentiable(Operation *user, Region &region,
                                              unsigned wrt) {
  Operation *bad = findNonDifferentiable(region, wrt);
  if (!bad)
    return success();
  InFlightDiagnostic diag =
      user->emitOpError("score_mod cannot be differentiated through '")
      << bad->getName() << "'";
  diag.attachNote(bad->getLoc()) << "the operation is here";
  return diag;
}
