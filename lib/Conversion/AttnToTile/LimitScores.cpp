//===- LimitScores.cpp - constant scores that fit into base 2 -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LimitScores.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

using namespace mlir;

/// The largest f32 number whose product with log2(e) is finite in f32.
static constexpr float kMostScore = 2.3582e38f;

/// If `operand` is a constant, limits the constant to kMostScore.
static void limit(OpOperand &operand) {
  APFloat number(0.0);
  if (!operand.get().getType().isF32() ||
      !matchPattern(operand.get(), m_ConstantFloat(&number)) ||
      !number.isFinite() || std::abs(number.convertToFloat()) <= kMostScore)
    return;
  OpBuilder b(operand.getOwner());
  float limited = std::copysign(kMostScore, number.convertToFloat());
  operand.set(arith::ConstantOp::create(b, operand.get().getLoc(),
                                        b.getF32FloatAttr(limited)));
}

void fa4::limitConstantScores(Region &scoreMod) {
  if (scoreMod.empty())
    return;
  llvm::SetVector<Operation *> scores;
  scores.insert(scoreMod.front().getTerminator());
  for (unsigned i = 0; i < scores.size(); ++i)
    for (OpOperand &operand : scores[i]->getOpOperands()) {
      limit(operand);
      if (isa_and_nonnull<arith::SelectOp, arith::AddFOp, arith::MaximumFOp,
                          arith::MinimumFOp, arith::MaxNumFOp,
                          arith::MinNumFOp>(operand.get().getDefiningOp()))
        scores.insert(operand.get().getDefiningOp());
    }
}
