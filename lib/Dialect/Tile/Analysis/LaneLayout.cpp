//===- LaneLayout.cpp - how a tile's elements are spread over lanes ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/LaneLayout.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

static int64_t rankOf(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type ? type.getRank() : 0;
}

bool LaneLayouts::isFree(Value value) {
  if (rankOf(value) != 1)
    return false;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (auto broadcast = dyn_cast_or_null<vector::BroadcastOp>(op))
    return rankOf(broadcast.getSource()) == 0;
  return isa_and_nonnull<vector::StepOp>(op);
}

Type LaneLayouts::getRowPart(VectorType tile) const {
  // A value that is free in any layout may have any number of elements.
  RoleOp holder = role;
  const ValueLayout *layout = holder.getLayout(tile);
  return (layout ? layout : holder.getLayout())->getRowPart(tile);
}

LaneLayout LaneLayouts::get(Value value) const {
  auto type = cast<VectorType>(value.getType());
  if (type.getRank() > 1)
    return RoleOp(role).getLayout(type) ? LaneLayout::Rows
                                        : LaneLayout::Columns;
  if (auto known = rank1.find(value); known != rank1.end())
    return known->second;
  return type.getDimSize(0) == rows ? LaneLayout::Rows : LaneLayout::Columns;
}

/// Propagates the layouts of vectors of rank 1 until none changes. All rules
/// say that two layouts are equal, so their order does not matter.
struct LaneLayouts::Inference {
  LaneLayouts &layouts;
  bool changed = true;
  LogicalResult result = success();

  void require(Operation *op, Value value, LaneLayout layout) {
    if (rankOf(value) != 1 || isFree(value) || failed(result))
      return;
    auto [known, isNew] = layouts.rank1.try_emplace(value, layout);
    changed |= isNew;
    int64_t size = cast<VectorType>(value.getType()).getDimSize(0);
    if (known->second != layout)
      result = op->emitOpError("uses a tile both as one element a thread and "
                               "as a whole: it needs two lane layouts");
    else if (isNew && layout == LaneLayout::Rows &&
             !layouts.role.getLayoutOfRows(size))
      result = op->emitOpError("has ")
               << size << " rows in a role whose threads hold " << layouts.rows;
  }

  void same(Operation *op, Value a, Value b) {
    if (auto known = layouts.rank1.find(a); known != layouts.rank1.end())
      require(op, b, known->second);
    if (auto known = layouts.rank1.find(b); known != layouts.rank1.end())
      require(op, a, known->second);
  }

  void visit(Operation *op);
  void visitRegions(Operation *op);
};

/// Visits a loop or a branch, which hand values on to their bodies' arguments
/// and to their results.
void LaneLayouts::Inference::visitRegions(Operation *op) {
  auto visitNames = [&](Value value) {
    for (Value name : getPreviousValues(value, FlowThrough::Regions))
      same(op, name, value);
  };
  llvm::for_each(op->getResults(), visitNames);
  for (Region &region : op->getRegions())
    llvm::for_each(region.getArguments(), visitNames);
}

void LaneLayouts::Inference::visit(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<scf::ForOp, scf::IfOp>([&](auto op) { visitRegions(op); })
      .Case([&](vector::BroadcastOp op) {
        if (rankOf(op.getResult()) == 2)
          require(op, op.getSource(), LaneLayout::Columns);
        else
          same(op, op.getSource(), op.getResult());
      })
      .Case([&](vector::ShapeCastOp op) {
        if (rankOf(op.getSource()) == rankOf(op.getResult()))
          return;
        Value vector =
            rankOf(op.getSource()) == 1 ? op.getSource() : op.getResult();
        Value matrix =
            rankOf(op.getSource()) == 1 ? op.getResult() : op.getSource();
        bool column = cast<VectorType>(matrix.getType()).getShape().back() == 1;
        require(op, vector, column ? LaneLayout::Rows : LaneLayout::Columns);
      })
      .Case([&](vector::MultiDimReductionOp op) {
        if (op.getReductionDims() != ArrayRef<int64_t>{1})
          return;
        require(op, op.getAcc(), LaneLayout::Rows);
        require(op, op.getDest(), LaneLayout::Rows);
      })
      .Case([&](vector::ExtractStridedSliceOp op) {
        require(op, op.getSource(), LaneLayout::Columns);
        require(op, op.getResult(), LaneLayout::Columns);
      })
      .Case(
          [&](RescaleOp op) { require(op, op.getFactor(), LaneLayout::Rows); })
      .Case<StoreOp, LoadRowsOp>(
          [&](auto op) { require(op, op.getTile(), LaneLayout::Rows); })
      .Case([&](CommitOp op) {
        if (op.getValue() && isa<VectorType>(op.getValue().getType()))
          require(op, op.getValue(), LaneLayout::Rows);
      })
      .Default([&](Operation *op) {
        if (!OpTrait::hasElementwiseMappableTraits(op) &&
            !isa<Exp2Op, CopyOp>(op))
          return;
        for (Value operand : op->getOperands())
          if (rankOf(operand) == 1)
            same(op, operand, op->getResult(0));
      });
}

/// Returns true if the threads can hold the matrix: it has rows that they hold
/// together, or one row for all of them.
static bool isMatrixOf(RoleOp role, VectorType type) {
  if (type.isScalable())
    return false;
  const ValueLayout *layout = role.getLayout(type);
  return layout ? layout->canHold(type)
                : type.getRank() == 2 && type.getDimSize(0) == 1;
}

static LogicalResult verifyMatrices(RoleOp role, int64_t rows) {
  return fa4::checkEach(role, [&](Operation *op) -> LogicalResult {
    for (Value result : op->getResults()) {
      auto type = dyn_cast<VectorType>(result.getType());
      if (!type || type.getRank() == 1 || getHome(result) == ValueHome::Place)
        continue;
      if (!isMatrixOf(role, type))
        return op->emitOpError("gives ")
               << type << " in a role whose threads hold " << rows << " rows";
    }
    return success();
  });
}

FailureOr<LaneLayouts> LaneLayouts::infer(RoleOp role) {
  LaneLayouts layouts;
  layouts.role = role;
  layouts.rows = role.getLayout()->getNumRows(role.getNumThreads());
  if (failed(verifyMatrices(role, layouts.rows)))
    return failure();
  Inference inference{layouts};
  while (inference.changed && succeeded(inference.result)) {
    inference.changed = false;
    // A walk in each direction, so that a layout reaches the operands of a
    // chain as quickly as its results.
    role.walk([&](Operation *op) { inference.visit(op); });
    role.walk<WalkOrder::PostOrder, ReverseIterator>(
        [&](Operation *op) { inference.visit(op); });
  }
  if (failed(inference.result))
    return failure();
  return layouts;
}
