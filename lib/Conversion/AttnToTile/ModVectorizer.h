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

/// A value for each element of a tile of rows x columns, in the smallest form
/// that holds it.
struct TileValue {
  /// A scalar where it does not vary, `vector<rows>` or `vector<columns>` where
  /// it varies over one of these, else `vector<rows x columns>`.
  mlir::Value value;
  bool overRows = false;
  bool overColumns = false;
};

/// Whether an operation is one of arith or math on numbers of up to 32 bits and
/// index, element by element.
bool isElementwise(mlir::Operation *op);

/// The first operation of a score_mod or mask_mod region that cannot be applied
/// to vectors element by element, or for which there is no code; or null.
mlir::Operation *findUnvectorizable(mlir::Region &region);

/// `value` as a vector over rows and/or columns, at least those that it varies
/// over.
mlir::Value broadcastTo(mlir::ImplicitLocOpBuilder &b, TileValue value,
                        bool overRows, bool overColumns, int64_t rows,
                        int64_t columns);

/// Copies the operations of a region without unvectorizable ones to the
/// builder's insertion point, each over what its operands vary over. Returns
/// the yielded value.
TileValue inlineMod(mlir::ImplicitLocOpBuilder &b, mlir::Region &region,
                    llvm::ArrayRef<TileValue> arguments, int64_t rows,
                    int64_t columns);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_MODVECTORIZER_H
