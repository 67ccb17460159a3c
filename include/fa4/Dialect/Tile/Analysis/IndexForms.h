//===- IndexForms.h - the integers of a kernel as forms ---------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives each integer of a kernel a form (IndexForm.h) over typed symbols
// (IndexSymbols.h), as a signed number. All static analyses that read indices,
// loop bounds or conditions ask this one. For example,
//
//   %i = tile.work_tile
//   %row = arith.muli %i, %c128
//   %begin = arith.addi %row, %c64       128 * WorkCoordinate(0) + 64
//
// The result of an operation is the sum or product of its operands' forms only
// if the sum or product fits into the type for all operands (IntegerRanges).
// Otherwise it is a residue. Other operations give symbols with the types and
// operands of the operation. This holds for tile.load_scalar, too: it gives the
// same number for equal indices in every role.
//
// A scalar that comes through a channel is the committed value if each commit
// has one wait in the role: both must stand once at the top of the work on a
// tile. Otherwise it is an opaque symbol.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_INDEXFORMS_H
#define FA4_DIALECT_TILE_ANALYSIS_INDEXFORMS_H

#include "fa4/Dialect/Tile/Analysis/IndexSymbols.h"
#include "fa4/Dialect/Tile/Analysis/IntegerRanges.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace fa4::tile {

class IndexForms {
public:
  using Kind = IndexSymbol::Kind;

  /// How the value of an induction variable is expressed.
  enum class Induction {
    /// As a symbol with the loop's bounds and step: sums over the loop need it.
    Whole,
    /// As `lower bound + pass * step`. The symbol `pass` is shared by all loops
    /// of equal depth, lower bound and step. Loops that start whole steps apart
    /// (one is peeled) share it too, counted from the first: see Pass.
    Passes,
  };
  explicit IndexForms(Induction induction = Induction::Whole)
      : induction(induction) {}

  /// Returns the form of an index or integer.
  IndexForm get(mlir::Value value);

  /// Returns the size of dimensions with this name (`tile.dims`).
  IndexForm getSize(llvm::StringRef name);
  /// Returns the number of the cluster along its axis, a symbol, where `depth`
  /// loops are around the coordinate of the work tile.
  IndexForm getClusterNumber(KernelOp kernel, unsigned depth = 0);

  /// The symbol that counts the passes of a loop. The first pass has the number
  /// `offset`, which is at least 0.
  struct Pass {
    unsigned symbol;
    int64_t offset;
  };
  Pass getPass(mlir::scf::ForOp loop);

  /// Returns how many passes the loop makes each time.
  IndexForm getTripCount(mlir::scf::ForOp loop);
  /// Returns the number of work tiles that the CTA works on, a symbol.
  IndexForm getTripCount(WorkOp work);
  /// Returns true if the loop's body runs at least once each time.
  bool runsAtLeastOnce(mlir::scf::ForOp loop);

  /// Returns true if `form >= 0` is proven.
  bool isNonNegative(const IndexForm &form) {
    return symbols.isNonNegative(form);
  }

  IndexSymbols &getSymbols() { return symbols; }
  const IndexSymbol &getSymbol(unsigned number) const {
    return symbols[number];
  }
  /// Returns the bounds of the integers of the kernel.
  IntegerRanges &getRanges() { return ranges; }

private:
  IndexForm compute(mlir::Value value);
  IndexForm computeWaited(WaitOp wait);
  IndexForm computeArgument(mlir::BlockArgument argument);
  IndexForm computeResult(mlir::OpResult result);
  IndexForm getCoordinate(mlir::Value value, unsigned axis);
  IndexForm getShifted(mlir::OpResult result);
  IndexForm getCast(mlir::OpResult result, bool isSigned);
  IndexForm getNumber(const llvm::APInt &number);
  IndexForm getOpaque(mlir::Value value, IndexBounds bounds);
  IndexForm getFunction(mlir::OpResult result);

  mlir::ConstantIntRanges getRange(mlir::Value value);
  bool isNonNegative(mlir::Value value);

  Induction induction;
  IntegerRanges ranges;
  IndexSymbols symbols;
  llvm::DenseMap<mlir::Value, IndexForm> forms;
  /// The waits for scalars whose values are being computed.
  llvm::SmallPtrSet<mlir::Operation *, 4> waited;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_INDEXFORMS_H
