//===- AttentionMatch.h - products around a softmax -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTENTIONMATCH_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTENTIONMATCH_H

#include "ScoreMask.h"
#include "SoftmaxMatch.h"

namespace fa4::attn {

/// What a dimension of an operand means. Where heads are two dimensions, Head
/// is the one of the key's head, and Group that of the query heads that share
/// it.
enum class Axis { Batch, Head, Row, Dim, Group };

/// An operand of attention: a tensor whose dimensions are these.
struct AttentionOperand {
  mlir::Value tensor;
  llvm::SmallVector<Axis> axes;
  /// The number of query heads that share one of its heads.
  int64_t group = 1;
  /// If not 0, its batch dimension counts batches and, faster, so many heads.
  int64_t mergedHeads = 0;
};

/// How the loops of the second product are read.
struct LoopReading {
  /// If not 0, the batch loop counts batches and, faster, so many heads.
  int64_t mergedHeads = 0;
  /// If not negative, heads are two loops: those of keys, and, faster, those of
  /// the queries that share a key.
  int headLoop = -1, groupLoop = -1;
  /// The factor that holds the probabilities is the second one.
  bool isSwapped = false;
};

/// Attention that is written as products around a softmax. Dimensions of the
/// expressions are numbered by the loops of the second product.
struct AttentionMatch {
  AttentionOperand q, k, v;
  /// The value that the op replaces, and the meaning of its dimensions.
  AttentionOperand out;
  LoopReading reading;
  /// What the loops of the reading are in the dimensions: that of batches and
  /// heads, or those of key heads and of the groups.
  mlir::AffineExpr headLoops[2];
  /// The scores that the softmax is of, `product` in them, and the factor of
  /// the product of the operands in that.
  ElementRef scores = nullptr, product = nullptr;
  double scale = 1;
  /// Keys are visible where none of these hides them.
  llvm::SmallVector<ScoreMask> masks;
  /// The dimensions that are the batch, the query head, the query and the key;
  /// -1: there is none.
  int batch = -1, head = -1, query = -1, key = -1;

  /// Where the match fails because an operand is in no tensor, but computed in
  /// the body of a product: that product, and the number there.
  mlir::linalg::GenericOp fusedProduct;
  mlir::Value fusedFactor;

  // For the gradient. The dimensions that are the element of queries and keys,
  // and that of values.
  int element = -1, valueElement = -1;
  /// The product of queries and keys, as it is written.
  ElementRef rawProduct = nullptr;
  /// Elements of the operands, without constant factors around them, and what
  /// these have to be multiplied with to be those of `q` and `k`.
  ElementRef queries = nullptr, keys = nullptr, values = nullptr;
  double queryFactor = 1, keyFactor = 1;
  SoftmaxMatch softmax;
  /// The second product, and an element of the result.
  mlir::linalg::LinalgOp op;
  ElementRef result = nullptr;
};

/// Sets `operand` to the tensor of `place`, whose indices must be the batch,
/// the head (or, without `hasQueryHeads`, that of the group), `row` and
/// `inner`, in any order. Returns why that fails; empty if it does not.
std::string findOperandAxes(const AttentionMatch &match,
                            const ElementTracer &tracer, const Place &place,
                            llvm::StringRef name, bool hasQueryHeads, int row,
                            int inner, AttentionOperand &operand);

/// Finds what attention `op` is the second product of. `reason` says why it is
/// none, and stays empty where nothing looks like attention.
bool matchAttention(mlir::linalg::LinalgOp op, ElementTracer &tracer,
                    AttentionMatch &match, std::string &reason);

/// The sizes of the dimensions for the tracer of matchAttention.
llvm::SmallVector<int64_t> getAttentionSizes(mlir::linalg::LinalgOp op,
                                             const LoopReading &reading);

/// The ways in which the loops of `op` may be read, the likeliest first; none
/// if it is no product.
llvm::SmallVector<LoopReading> getLoopReadings(mlir::linalg::LinalgOp op,
                                               ElementTracer &tracer);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTENTIONMATCH_H
