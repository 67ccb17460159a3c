//===- TensorSize.h - sizes of tensors as products ------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a dynamic size is computed from, as far as it is a product of sizes of
// other tensors and constants: torch-mlir writes each reshape with such sizes,
// and selects of what it would be if a size were negative.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORSIZE_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORSIZE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace fa4::attn {

/// A constant times sizes that are not known, which are sorted.
struct TensorSize {
  /// A dimension of a tensor whose size nothing says.
  using Unknown = std::pair<const void *, unsigned>;

  int64_t factor = 1;
  llvm::SmallVector<Unknown, 2> unknowns;

  /// The factor of a product that is too large for one: it is equal to nothing.
  static constexpr int64_t kTooLarge = -1;

  bool operator==(const TensorSize &other) const {
    return factor != kTooLarge && factor == other.factor &&
           unknowns == other.unknowns;
  }
  bool isOne() const { return factor == 1 && unknowns.empty(); }
  TensorSize times(const TensorSize &other) const;
  /// Whether this is `other` times a size.
  bool isMultipleOf(const TensorSize &other) const;
};

/// The size of a dimension of a tensor.
TensorSize getTensorSize(mlir::Value tensor, unsigned dim);

/// The size that `number`, an index or an integer, is; nothing if it is not
/// computed from sizes alone.
std::optional<TensorSize> getTensorSize(mlir::Value number);

/// The number of iterations of a loop of `op`; nothing if no result shows it.
std::optional<TensorSize> getLoopSize(mlir::linalg::LinalgOp op, unsigned loop);

/// The dimensions of the source and of the result of a reshape that go
/// together: those of a group of the source become one, and that becomes the
/// group of the result. Nothing if sizes do not say so.
struct ReshapeGroups {
  llvm::SmallVector<mlir::ReassociationIndices> source, result;
};
/// Returns those of a tensor.expand_shape, tensor.collapse_shape or
/// tensor.reshape, whose source is operand 0; nothing for other operations and
/// for null.
std::optional<ReshapeGroups> getReshapeGroups(mlir::Operation *op);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_TENSORSIZE_H
