//===- ProtocolNumbers.h - numbers of passes and conditions of a model ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How often the loops of a ProtocolModel run and what its branches ask, as
// linear forms over unknowns.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLNUMBERS_H
#define FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLNUMBERS_H

#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolModel.h"
#include "llvm/ADT/DenseMap.h"

namespace fa4::tile {

class ProtocolNumbers {
public:
  explicit ProtocolNumbers(ProtocolModel &model) : model(model) {}

  /// Looks at all loops and divisions of the kernel, before the rest.
  void findSpans();

  /// Adds a loop to the model, without its number of passes; its index.
  unsigned addLoop(mlir::Operation *loop, unsigned role);
  /// What is known of its number of passes. An error on the loop if its step
  /// may not be positive, or if three loops decide the number.
  mlir::LogicalResult countPasses(mlir::scf::ForOp loop, ProtocolLoop &info);
  mlir::LogicalResult countPasses(WorkOp work, ProtocolLoop &info);

  /// Adds a condition of `op` to the model; its index.
  mlir::FailureOr<unsigned> addCondition(mlir::Value value, mlir::Operation *op,
                                         unsigned role);
  /// Whether the condition is the same in all passes of the loop around it, and
  /// numbers of passes decide it.
  bool comparesTrips(mlir::Value condition);

private:
  /// `trips` is what `length` is in steps, rounded up; 0 if `length` is
  /// negative and `isClamped`.
  struct Span {
    Polynomial length, trips;
    int64_t step;
    bool isClamped;
  };

  llvm::SmallVector<unsigned, 2> loopsAround(mlir::Operation *op);
  mlir::FailureOr<LinearForm> toForm(const Polynomial &polynomial,
                                     unsigned depth, bool countsPasses,
                                     mlir::Operation *op);
  std::pair<Polynomial, ProtocolCondition::Predicate>
  getComparison(mlir::Value condition);
  void takeSlope(Polynomial &form, ProtocolCondition &condition);
  void compareTrips(Polynomial &form, ProtocolCondition &condition);

  ProtocolModel &model;
  llvm::DenseMap<mlir::Operation *, unsigned> loopIndex;
  ExecutionCounts counts{ExecutionCounts::Induction::Passes};
  /// By monomial and depth.
  std::map<std::pair<std::vector<unsigned>, unsigned>, unsigned> unknownOf;
  std::vector<Span> spans;
  /// Of monomials of numbers of passes, the most loops around one that
  /// synchronises.
  std::map<std::vector<unsigned>, unsigned> tripDepths;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLNUMBERS_H
