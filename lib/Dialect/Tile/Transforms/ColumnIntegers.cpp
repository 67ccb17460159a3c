//===- ColumnIntegers.cpp - integers and conditions of a row's columns ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnIntegers.h"
#include "ColumnPairs.h"
#include "fa4/Dialect/Tile/Analysis/Uniformity.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4::tile;

bool fa4::tile::isPerColumn(Operation *op) {
  auto isRowOfIntegers = [](Type type) {
    return isRow(type) && getElementTypeOrSelf(type).isIntOrIndex();
  };
  return llvm::any_of(op->getOperandTypes(), isRowOfIntegers) ||
         llvm::any_of(op->getResultTypes(), isRowOfIntegers);
}

bool ColumnIntegers::isOfPositions(Value value) {
  fa4::visitPostOrder<Value>(
      value, [&](Value v) { return ofPositions.contains(v); },
      [](Value v, SmallVectorImpl<Value> &operands) {
        if (Operation *op = v.getDefiningOp();
            op && OpTrait::hasElementwiseMappableTraits(op))
          llvm::copy_if(op->getOperands(), std::back_inserter(operands),
                        [](Value operand) { return isRow(operand.getType()); });
      },
      [&](Value v) {
        Operation *op = v.getDefiningOp();
        bool answer =
            isa_and_nonnull<vector::StepOp, vector::BroadcastOp,
                            arith::ConstantOp>(op) ||
            (op && OpTrait::hasElementwiseMappableTraits(op) &&
             isPerColumn(op) && llvm::all_of(op->getOperands(), [&](Value o) {
               return !isRow(o.getType()) || ofPositions.lookup(o);
             }));
        ofPositions.try_emplace(v, answer);
      });
  return ofPositions.lookup(value);
}

bool fa4::tile::hasUniformIntegers(RoleOp role, Operation *within) {
  DenseSet<Value> uniform;
  auto isUniformRow = [&](Value value) {
    return !isa<VectorType>(value.getType()) || uniform.contains(value);
  };
  WalkResult walk = role.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumResults() != 1 ||
        !isa<VectorType>(op->getResult(0).getType()))
      return WalkResult::advance();
    Value row = op->getResult(0);
    bool isSource = isa<vector::StepOp, arith::ConstantOp>(op);
    if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
      isSource = !isa<VectorType>(broadcast.getSource().getType()) &&
                 isUniform(broadcast.getSource());
    bool isComputed = OpTrait::hasElementwiseMappableTraits(op) &&
                      llvm::all_of(op->getOperands(), isUniformRow);
    if (isSource || isComputed)
      uniform.insert(row);
    bool isInteger = isa<IntegerType, IndexType>(getElementTypeOrSelf(row));
    return isComputed && isInteger && within->isAncestor(op) &&
                   !isa<arith::AddIOp, arith::SubIOp, arith::CmpIOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walk.wasInterrupted();
}
