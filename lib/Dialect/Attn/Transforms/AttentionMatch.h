//===- AttentionMatch.h - products around a softmax -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTENTIONMATCH_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTENTIONMATCH_H

#include "TensorElement.h"

namespace fa4::attn {

/// What a dimension of an operand means.
enum class Axis { Batch, Head, Row, Dim };

/// An operand of attention: a tensor whose dimensions are these.
struct AttentionOperand {
  mlir::Value tensor;
  llvm::SmallVector<Axis> axes;
  /// The number of query heads that share one of its heads.
  int64_t group = 1;
};

/// Attention that is written as products around a softmax. Dimensions of the
/// expressions are numbered by the loops of the second product.
struct AttentionMatch {
  AttentionOperand q, k, v;
  /// The value that the op replaces, and the meaning of its dimensions. With
  /// `mergedHeads`, its batch dimension counts batches and, faster, so many
  /// heads.
  AttentionOperand out;
  int64_t mergedHeads = 0;
  /// The scores that the softmax is of, `product` in them, and the factor of
  /// the product.
  ElementRef scores = nullptr, product = nullptr;
  double scale = 1;
  /// A key is visible where this holds (or, with `isHidden`, where it does
  /// not); null: everywhere.
  ElementRef visible = nullptr;
  bool isHidden = false;
  /// The dimensions that are the batch, the query head, the query and the key;
  /// -1: there is none.
  int batch = -1, head = -1, query = -1, key = -1;

  // For the gradient. The dimensions that are the element of queries and keys,
  // and that of values.
  int element = -1, valueElement = -1;
  /// The product of queries and keys, without factors.
  ElementRef rawProduct = nullptr;
  ElementRef queries = nullptr, keys = nullptr, values = nullptr;
  /// The probabilities are either an element of a linalg.softmax, or an
  /// exponential divided by a sum.
  ElementRef softmax = nullptr, exponential = nullptr, sum = nullptr;
  /// The second product, and an element of the result.
  mlir::linalg::LinalgOp op;
  ElementRef result = nullptr;
};

/// Sets `operand` to the tensor of `leaf`, whose indices must be the batch, the
/// head (or, without `hasQueryHeads`, that of the group), `row` and `inner`, in
/// any order. Returns why that fails; empty if it does not.
std::string findOperandAxes(const AttentionMatch &match, const Element &leaf,
                            llvm::StringRef name, bool hasQueryHeads, int row,
                            int inner, AttentionOperand &operand);

/// Finds what attention `op` is the second product of. `reason` says why it is
/// none, and stays empty where nothing looks like attention.
bool matchAttention(mlir::linalg::LinalgOp op, ElementTracer &tracer,
                    int64_t mergedHeads, AttentionMatch &match,
                    std::string &reason);

/// The sizes of the dimensions for the tracer of matchAttention.
llvm::SmallVector<int64_t> getAttentionSizes(mlir::linalg::LinalgOp op,
                                             int64_t mergedHeads);

/// The number of heads in the batch dimension of the second product, as the
/// reshapes of its operands say; 0 if they say nothing.
int64_t findMergedHeads(mlir::linalg::LinalgOp op);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTENTIONMATCH_H
