//===- ProtocolNumbers.h - numbers of passes and conditions of a model ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expresses the numbers of passes of a ProtocolModel's loops, and the
// conditions of its branches, as linear forms over unknowns.
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

  /// Reads the lengths of all loops and divisions of the kernel. Comes first.
  void findSpans();

  /// Adds a loop to the model and returns its number. `countPasses` adds the
  /// number of its passes.
  unsigned addLoop(mlir::Operation *loop, unsigned role);
  /// Sets the form and the least value of the loop's number of passes. Emits an
  /// error on the loop if its step may not be positive, or if passes of three
  /// loops decide the number.
  mlir::LogicalResult countPasses(mlir::scf::ForOp loop, ProtocolLoop &info);
  mlir::LogicalResult countPasses(WorkOp work, ProtocolLoop &info);

  /// Adds a condition of `op` to the model and returns its number.
  mlir::FailureOr<unsigned> addCondition(mlir::Value value, mlir::Operation *op,
                                         unsigned role);
  /// Returns true if the condition is the same in all passes of the loop around
  /// it, and depends only on numbers of passes.
  bool comparesTrips(mlir::Value condition);

private:
  /// A loop or division: `trips` is `length / step`, rounded up. If
  /// `isClamped`, a negative `length` gives 0.
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
  /// The unknowns, by monomial and by the number of loops that decide them.
  std::map<std::pair<std::vector<unsigned>, unsigned>, unsigned> unknownOf;
  std::vector<Span> spans;
  /// Maps each monomial of a number of passes to the largest number of loops
  /// around a loop that synchronises and has this number.
  std::map<std::vector<unsigned>, unsigned> tripDepths;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLNUMBERS_H
