//===- MatrixBuilder.h - linalg on rows and matrices ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_MATRIXBUILDER_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_MATRIXBUILDER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fa4::attn {

/// Builds operations of linalg on vectors and matrices, whose numbers are f32
/// where nothing else is said.
class MatrixBuilder {
public:
  MatrixBuilder(mlir::Location loc, mlir::OpBuilder &builder)
      : b(loc, builder) {}

  using Body = mlir::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                              mlir::ValueRange)>;

  mlir::Value index(int64_t value);
  mlir::Value f32(double value);
  /// Converts `value` (any supported float type) to f32, and back.
  static mlir::Value toF32(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value);
  static mlir::Value fromF32(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value, mlir::Type type);

  mlir::Value emptyF32(llvm::ArrayRef<mlir::OpFoldResult> sizes);
  mlir::Value filled(llvm::ArrayRef<mlir::OpFoldResult> sizes, double value);
  /// Builds a linalg.generic with `numLoops` loops; the loops in `reductions`
  /// reduce. `maps` names the loops that index each input and the output.
  /// `body` returns the new output element.
  mlir::Value generic(mlir::ValueRange inputs, mlir::Value output,
                      unsigned numLoops,
                      llvm::ArrayRef<llvm::ArrayRef<unsigned>> maps,
                      llvm::ArrayRef<unsigned> reductions, Body body);
  /// Computes the sum of lhs * rhs over the last loop in f32, and adds it to
  /// `init`. Loops have numbers as in `generic`; loops 0 and 1 index the
  /// result.
  mlir::Value contract(mlir::Value lhs, llvm::ArrayRef<unsigned> lhsLoops,
                       mlir::Value rhs, llvm::ArrayRef<unsigned> rhsLoops,
                       mlir::Value init);
  /// Applies `body` to the elements of vectors [rows]. The result goes into
  /// `output`, or into a new f32 vector.
  mlir::Value mapRows(mlir::ValueRange inputs, Body body,
                      mlir::Value output = {});
  /// Applies `body` to the elements of matrices [rows, columns]; an input of
  /// rank 1 has one value for each row. The result goes into `output`, or into
  /// a new f32 matrix.
  mlir::Value mapMatrix(mlir::ValueRange inputs, Body body,
                        mlir::Value output = {});
  /// Sets all elements of `output` to `value`.
  mlir::Value filledWith(mlir::Value output, double value);
  /// Rounds the f32 `matrix` to the element type of `output` and writes it
  /// there.
  mlir::Value round(mlir::Value matrix, mlir::Value output);
  /// Reduces the columns of a matrix into `init` ([rows]).
  mlir::Value reduceColumns(mlir::Value matrix, mlir::Value init, Body combine);

protected:
  mlir::ImplicitLocOpBuilder b;
};

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_MATRIXBUILDER_H
