//===- IndexAlgebra.h - indices of tensors' elements ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_INDEXALGEBRA_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_INDEXALGEBRA_H

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"

namespace fa4::attn {

/// Computes with indices, which are never negative expressions of dimensions.
class IndexAlgebra {
public:
  /// `sizes` are those of the dimensions that indices are made of;
  /// ShapedType::kDynamic where one is not known.
  IndexAlgebra(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> sizes)
      : context(context), sizes(sizes) {}

  /// Says how large a dimension is that was not known.
  void setSize(unsigned dim, int64_t size) { sizes[dim] = size; }
  /// The size of a dimension; ShapedType::kDynamic if it is not known.
  int64_t getSize(unsigned dim) const { return sizes[dim]; }
  unsigned getNumDims() const { return sizes.size(); }
  mlir::MLIRContext *getContext() const { return context; }

  /// Divisions and remainders are resolved where sizes say how they end.
  mlir::AffineExpr simplify(mlir::AffineExpr expr);
  /// The indices in a tensor of `type` of the element that is at `indices` when
  /// each group of dimensions is one; nothing if sizes are not known.
  std::optional<llvm::SmallVector<mlir::AffineExpr>>
  split(mlir::ShapedType type,
        llvm::ArrayRef<mlir::ReassociationIndices> groups,
        llvm::ArrayRef<mlir::AffineExpr> indices);
  /// The indices, when each group of dimensions is one, of the element that is
  /// at `indices` in a tensor of `type`; nothing if sizes are not known.
  std::optional<llvm::SmallVector<mlir::AffineExpr>>
  join(mlir::ShapedType type, llvm::ArrayRef<mlir::ReassociationIndices> groups,
       llvm::ArrayRef<mlir::AffineExpr> indices);

protected:
  mlir::MLIRContext *context;

private:
  /// Splits a sum into what is a multiple of `divisor`, divided by it, and the
  /// rest.
  std::pair<mlir::AffineExpr, mlir::AffineExpr> split(mlir::AffineExpr sum,
                                                      int64_t divisor);
  /// The smallest number that `expr` does not reach; nothing if that is not
  /// known.
  std::optional<int64_t> getLimit(mlir::AffineExpr expr);
  /// Joins what a division has taken apart: (x floordiv c) * c + x mod c.
  mlir::AffineExpr joinParts(mlir::AffineExpr sum);

  llvm::SmallVector<int64_t> sizes;
};

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_INDEXALGEBRA_H
