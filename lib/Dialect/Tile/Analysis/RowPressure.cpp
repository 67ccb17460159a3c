//===- RowPressure.cpp - registers that a thread's rows take ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RowPressure.h"
#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4::tile;

/// The registers of a condition in each column. A thread has only seven
/// predicates, so some conditions are in registers for a while.
static constexpr double kRegistersOfCondition = 0.3;

/// Returns the registers that one column of the row takes.
static double registersOfColumn(Value row) {
  Type type = cast<VectorType>(row.getType()).getElementType();
  if (type.isIndex())
    return 1;
  return type.isInteger(1) ? kRegistersOfCondition
                           : type.getIntOrFloatBitWidth() / 32.0;
}

/// Returns true if the row takes no registers: it is the same in all columns,
/// or the number of the column.
static bool isCheap(Operation *op) {
  return isa<vector::StepOp, vector::BroadcastOp, arith::ConstantOp>(op);
}

namespace {
/// Adds up the rows that are alive, from the block's front to its end.
class PressureOfBlock {
public:
  explicit PressureOfBlock(Block &block) : block(block) {
    unsigned waits = 0;
    for (Operation &op : block) {
      waitsBefore[&op] = waits;
      waits += isa<WaitOp>(op);
    }
  }

  RowPressure find();

private:
  void change(Value row, Operation *lastUser, int sign) {
    double registers = sign * registersOfColumn(row);
    if (waitsBefore[lastUser] != waitsBefore[row.getDefiningOp()])
      held += registers * cast<VectorType>(row.getType()).getNumElements();
    else
      perColumn += registers;
  }

  Block &block;
  /// The number of waits in front of each operation.
  DenseMap<Operation *, unsigned> waitsBefore;
  double held = 0, perColumn = 0;
};
} // namespace

RowPressure PressureOfBlock::find() {
  DenseMap<Operation *, SmallVector<Value>> dying;
  RowPressure worst;
  for (Operation &op : block) {
    for (Value row : dying[&op])
      change(row, &op, -1);
    for (Value row : op.getResults()) {
      Operation *last = getLastUser(row, block);
      if (!last || !isa<VectorType>(row.getType()) || isCheap(&op))
        continue;
      change(row, last, 1);
      dying[last].push_back(row);
    }
    worst.held = std::max(worst.held, uint64_t(held));
    worst.perColumn = std::max(worst.perColumn, perColumn);
  }
  return worst;
}

RowPressure fa4::tile::findRowPressure(RoleOp role) {
  RowPressure result;
  role.walk([&](Block *block) {
    RowPressure here = PressureOfBlock(*block).find();
    if (here.held > result.held)
      result = here;
  });
  return result;
}
