//===- TurnSums.h - the order of sums ---------------------------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that turns order the sums of a kernel's ordered outputs (TurnOrder.h).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_ANALYSIS_TURNSUMS_H
#define FA4_LIB_DIALECT_TILE_ANALYSIS_TURNSUMS_H

#include "TurnVisits.h"

namespace fa4::tile {

/// The additions in the turns of one tile.await_turn.
class TurnSums {
public:
  TurnSums(KernelOp kernel, AwaitTurnOp op, TurnIntegers &integers)
      : kernel(kernel), op(op), integers(integers) {}

  /// Checks that work tiles which add to one element of an ordered output take
  /// turns at one place.
  mlir::LogicalResult checkAdditions(Visit visit, Visit other);
  /// Checks that one turn adds to an element at most once, because additions of
  /// one turn have no order. Also checks that no addition begins in front of
  /// the tensor.
  mlir::LogicalResult checkOnce(Visit visit);

private:
  mlir::LogicalResult checkOrder(ReduceAddOp add, ReduceAddOp otherAdd,
                                 Visit &visit, Visit &other);
  mlir::LogicalResult checkOnce(ReduceAddOp add, Visit &visit);
  llvm::SmallVector<ReduceAddOp> getOrdered(mlir::Value output);
  mlir::FailureOr<std::optional<Conditions>>
  overlap(ReduceAddOp add, ReduceAddOp otherAdd, Visit &visit, Visit &other);

  KernelOp kernel;
  AwaitTurnOp op;
  TurnIntegers &integers;
};

/// Checks that a single operation takes the turns of each ordered output,
/// because turns of different operations have no order.
mlir::LogicalResult verifySingleTurns(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_ANALYSIS_TURNSUMS_H
