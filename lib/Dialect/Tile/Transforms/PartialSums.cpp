//===- PartialSums.cpp - sums of rows that threads keep in parts ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartialSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4::tile;

static bool isSum(Operation *op) {
  auto reduction = dyn_cast_or_null<vector::MultiDimReductionOp>(op);
  return reduction && reduction.getKind() == vector::CombiningKind::ADD;
}

bool PartialSums::isPartOrZero(Value value) const {
  return contains(value) || matchPattern(value, m_AnyZeroFloat());
}

/// Returns true if the value may be a part, as far as is known: its operands,
/// or the values that a loop carries into it, are parts.
bool PartialSums::staysPartial(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument != loop.getInductionVar() &&
           isPartOrZero(loop.getTiedLoopInit(argument)->get()) &&
           contains(loop.getTiedLoopYieldedValue(argument)->get());
  }
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return contains(loop.getTiedLoopRegionIterArg(cast<OpResult>(value)));
  if (isSum(op))
    return isPartOrZero(cast<vector::MultiDimReductionOp>(op).getAcc());
  auto product = dyn_cast<arith::MulFOp>(op);
  return product &&
         isPartOrZero(product.getLhs()) != isPartOrZero(product.getRhs());
}

/// All sums, products and carried values of rows are taken for parts until an
/// operand of one shows that it is none.
PartialSums::PartialSums(RoleOp role) {
  auto consider = [&](Value value) {
    auto type = dyn_cast<VectorType>(value.getType());
    if (type && type.getRank() == 1 && type.getElementType().isF32())
      sums.insert(value);
  };
  role.walk([&](Operation *op) {
    if (isSum(op) || isa<arith::MulFOp, scf::ForOp>(op))
      llvm::for_each(op->getResults(), consider);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      llvm::for_each(loop.getRegionIterArgs(), consider);
  });
  bool changed = true;
  while (changed) {
    SmallVector<Value> others;
    for (Value value : sums)
      if (!staysPartial(value))
        others.push_back(value);
    for (Value value : others)
      sums.erase(value);
    changed = !others.empty();
  }
}

bool PartialSums::takesParts(Operation *op, Value operand) const {
  if (isSum(op))
    return contains(op->getResult(0)) &&
           operand == cast<vector::MultiDimReductionOp>(op).getAcc();
  return isa<arith::MulFOp>(op) && contains(op->getResult(0));
}
