//===- ModVectorizer.h - score_mod and mask_mod regions on tiles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_MODVECTORIZER_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_MODVECTORIZER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Region.h"

namespace fa4 {

/// A value for each element of a tile of rows x columns, in its smallest form.
struct TileValue {
  /// A scalar if the value is the same everywhere, `vector<rows>` or
  /// `vector<columns>` if it varies along one dimension, else `vector<rows x
  /// columns>`. A captured tensor that is read element by element is the
  /// kernel's argument.
  mlir::Value value;
  bool overRows = false;
  bool overColumns = false;
};

/// Returns true for operations of arith or math that work element by element on
/// index and on numbers of up to 32 bits.
bool isElementwise(mlir::Operation *op);

/// Returns the first operation of a score_mod or mask_mod region that has no
/// lowering or cannot be applied to vectors element by element, or null.
mlir::Operation *findUnvectorizable(mlir::Region &region);

/// Returns `value` as a vector over rows, columns or both; the dimensions must
/// include those along which it varies.
mlir::Value broadcastTo(mlir::ImplicitLocOpBuilder &b, TileValue value,
                        bool overRows, bool overColumns, int64_t rows,
                        int64_t columns);

/// Copies the operations of a region to the builder's insertion point, each
/// over the dimensions along which its operands vary, if `results`, values of
/// the region, are computed from them. The region must have no operation that
/// cannot be vectorised. Returns what becomes of `results`.
llvm::SmallVector<TileValue> inlineMod(mlir::ImplicitLocOpBuilder &b,
                                       mlir::Region &region,
                                       llvm::ArrayRef<TileValue> arguments,
                                       mlir::ValueRange results, int64_t rows,
                                       int64_t columns);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_MODVECTORIZER_H
