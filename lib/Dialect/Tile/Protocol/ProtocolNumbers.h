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

#include "fa4/Dialect/Tile/Analysis/IndexForms.h"
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
    IndexForm length, trips;
    int64_t step;
    bool isClamped;
  };

  llvm::SmallVector<unsigned, 2> loopsAround(mlir::Operation *op);
  mlir::FailureOr<LinearForm> toForm(const IndexForm &number, unsigned depth,
                                     bool countsPasses, mlir::Operation *op);
  std::pair<IndexForm, ProtocolCondition::Predicate>
  getComparison(mlir::Value condition);
  void takeSlope(IndexForm &form, ProtocolCondition &condition);
  void compareTrips(IndexForm &form, ProtocolCondition &condition);

  ProtocolModel &model;
  llvm::DenseMap<mlir::Operation *, unsigned> loopIndex;
  IndexForms forms{IndexForms::Induction::Passes};
  /// The unknowns, by monomial and by the number of loops that decide them.
  std::map<std::pair<IndexForm::Monomial, unsigned>, unsigned> unknownOf;
  std::vector<Span> spans;
  /// Maps each monomial of a number of passes to the largest number of loops
  /// around a loop that synchronises and has this number.
  std::map<IndexForm::Monomial, unsigned> tripDepths;
};

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_PROTOCOL_PROTOCOLNUMBERS_H
