//===- ConcreteFolder.h - arithmetic on numbers that are known ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an operation of arith, index or math gives for given operands, as the
// code of a kernel computes it: an index has kIndexBits bits. The work is done
// by the folders of the dialects upstream. ExecutionCounts, which says the same
// for all operands at once, is not asked: the two are compared in tests.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_CONCRETEFOLDER_H
#define FA4_DIALECT_TILE_ANALYSIS_CONCRETEFOLDER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace fa4::tile {

class ConcreteFolder {
public:
  ConcreteFolder() = default;
  ConcreteFolder(const ConcreteFolder &) = delete;

  /// The type in which numbers of `type` are given and returned: an index is an
  /// integer; null for what is neither a number nor an index.
  static mlir::Type getNumberType(mlir::Type type);

  /// The value of `result`, of the type getNumberType says, where the operands
  /// of its operation have these values. Null where the operation has no such
  /// value (a division by zero, a shift by its width or more), or is not one
  /// that upstream folds.
  mlir::TypedAttr fold(mlir::OpResult result,
                       llvm::ArrayRef<mlir::TypedAttr> operands);

  /// Whether upstream folds the operation for all operands for which it has a
  /// value.
  static bool isInteger(mlir::Operation *op);

private:
  /// A copy of `op` on values of which nothing is known, so that its folder has
  /// nothing to look at but the operands that it is given. Null if there is
  /// none: the operation is not of numbers.
  mlir::Operation *getCopy(mlir::Operation *op);
  mlir::Operation *makeCopy(mlir::Operation *op);

  mlir::Block copies;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> copyOf;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_CONCRETEFOLDER_H
