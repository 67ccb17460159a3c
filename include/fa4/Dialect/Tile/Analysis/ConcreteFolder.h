//===- ConcreteFolder.h - arithmetic on numbers that are known ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the result of an operation of arith, index or math for given
// operands, as the code of a kernel computes it: an index has kIndexBits bits.
// The folders of the upstream dialects do the work. IndexForms answers the
// same question for all operands at once and is not asked here, so that tests
// can compare the two.
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

  /// Returns the type in which numbers of `type` are given and returned: an
  /// index becomes an integer. Returns null for a type of neither numbers nor
  /// indices.
  static mlir::Type getNumberType(mlir::Type type);

  /// Returns the value of `result` for these values of the operands, in the
  /// type that getNumberType names. Returns null if the operation has no value
  /// (a division by zero, a shift by its width or more), or if upstream does
  /// not fold it.
  mlir::TypedAttr fold(mlir::OpResult result,
                       llvm::ArrayRef<mlir::TypedAttr> operands);

  /// Returns true if upstream folds the operation for all operands for which it
  /// has a value.
  static bool isInteger(mlir::Operation *op);

private:
  /// Returns a copy of `op` on unknown values, so that its folder sees nothing
  /// but the operands that it is given. Returns null if `op` does not compute
  /// numbers.
  mlir::Operation *getCopy(mlir::Operation *op);
  mlir::Operation *makeCopy(mlir::Operation *op);

  mlir::Block copies;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> copyOf;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_CONCRETEFOLDER_H
