//===- ScoreDerivative.cpp - score_mod with its derivative, as a region ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreDerivative.h"
#include "ExpandMath.h"
#include "ScoreTerms.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace fa4;

fa4::ScoreDerivative::ScoreDerivative(Region &scoreMod, unsigned wrt) {
  Block &block = region.emplaceBlock();
  for (BlockArgument argument : scoreMod.getArguments())
    block.addArgument(argument.getType(), argument.getLoc());
  OpBuilder builder(scoreMod.getContext());
  builder.setInsertionPointToStart(&block);
  Region product;
  IRMapping mapping;
  scoreMod.cloneInto(&product, mapping);
  auto [number, last] = findScoreProduct(product);
  factor = last;
  product.front().getTerminator()->setOperand(0, number);
  results = attn::inlineScoreModWithDerivative(builder, product,
                                               block.getArguments(), wrt);
  expandMath(region, {&results.value, &results.derivative});
}

bool fa4::holdsForSlice(Value value, llvm::function_ref<bool(Value)> visit) {
  llvm::DenseSet<Value> seen;
  bool holds = true;
  fa4::visitPostOrder<Value>(
      value, [&](Value each) { return !holds || seen.contains(each); },
      [](Value each, SmallVectorImpl<Value> &operands) {
        if (Operation *def = each.getDefiningOp())
          llvm::append_range(operands, def->getOperands());
      },
      [&](Value each) {
        seen.insert(each);
        holds &= visit(each);
      });
  return holds;
}

/// Returns true for a divisor that is the same for all scores of a head. It
/// counts as not 0, because scores that are divided by 0 are infinite.
static bool isUniform(Value value) {
  // The arguments are the score, b, h, i, j and the captures.
  constexpr unsigned varying[] = {0, 3, 4};
  return holdsForSlice(value, [&](Value each) {
    auto argument = dyn_cast<BlockArgument>(each);
    return !argument || !llvm::is_contained(varying, argument.getArgNumber());
  });
}

/// Whether the operation gives finite numbers of finite ones.
static bool staysFinite(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto number = dyn_cast<FloatAttr>(constant.getValue());
    return !number || number.getValue().isFinite();
  }
  if (auto divide = dyn_cast<arith::DivFOp>(op))
    return isUniform(divide.getRhs());
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::SelectOp, arith::SIToFPOp,
             arith::UIToFPOp, math::FmaOp, math::AbsFOp, math::CopySignOp,
             math::TanhOp, math::SinOp, math::CosOp, math::FloorOp,
             math::CeilOp, math::TruncOp, math::RoundEvenOp>(op);
}

bool fa4::mayOnlyBeFinite(Value value) {
  return holdsForSlice(value, [](Value each) {
    Operation *def = each.getDefiningOp();
    return !def || !isa<FloatType>(each.getType()) || staysFinite(def);
  });
}

bool fa4::ScoreDerivative::isFinite() {
  return mayOnlyBeFinite(results.value) && mayOnlyBeFinite(results.derivative);
}
