//===- AttnDecompose.h - shared parts of attn-decompose ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTNDECOMPOSE_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTNDECOMPOSE_H

#include "MatrixBuilder.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace fa4::attn {

/// Positions and lengths that are the same for all blocks of one batch and
/// key/value head.
struct SequenceBounds {
  /// The sequence's first row and number of rows in the sequence dimension of q
  /// and of k.
  mlir::OpFoldResult queryStart, queryLength, keyStart, keyLength;
  /// The rows that k, or its pages, have for this sequence. With seqlens_k
  /// fewer of them may be in use.
  mlir::OpFoldResult keyCapacity;
  /// j - i of the mask's diagonal: Sk - Sq for bottom-right masks, else null.
  mlir::Value shift;
};

/// Those of a region's index arguments that are the same for a whole block.
struct BlockIndices {
  mlir::Value batch, head;
  /// Query index of the block's first row.
  mlir::Value firstQuery;
};

/// Builds the decomposition of one attention op. This base class holds what the
/// forward op and its gradient have in common. All values are tensors here;
/// memref operands are wrapped into tensors first.
class AttnDecomposer : protected MatrixBuilder {
public:
  AttnDecomposer(mlir::RewriterBase &rewriter, AttentionOpInterface op,
                 int64_t queryBlock);

protected:
  // --- operands -------------------------------------------------------------

  /// Returns `value` as a tensor.
  mlir::Value asTensor(mlir::Value value, bool writable = false);
  /// Returns the tensors into which the outputs are written: the destinations,
  /// or empty tensors.
  llvm::SmallVector<mlir::Value> getInitTensors();
  /// Replaces the op by `outputs`, or writes them to its destinations.
  void finish(mlir::ValueRange outputs);

  /// True if a size is statically 0, in which case no slice can be taken.
  bool hasNoQueries() const { return isEmpty(q, order.seq) || hasNoBatch(); }
  bool hasNoKeys() const { return getKeyCapacity(op) == 0; }

  mlir::Value getNumSequences();
  /// Returns the number of query heads that share a key/value head.
  mlir::Value getGroupSize();
  SequenceBounds getBounds(mlir::Value sequence);

  // --- slices ---------------------------------------------------------------

  /// Returns rows [start, start + count) of one head of a tensor in the op's
  /// layout, as a matrix.
  mlir::Value sliceHead(mlir::Value tensor, mlir::Value batch, mlir::Value head,
                        mlir::OpFoldResult start, mlir::OpFoldResult count);
  /// Returns keys [start, start + count) of a sequence and head from k or v, as
  /// a matrix. Pages are gathered.
  mlir::Value sliceKeys(mlir::Value tensor, mlir::Value batch, mlir::Value head,
                        mlir::OpFoldResult start, mlir::OpFoldResult count);
  /// Returns the same rows of a tensor with the layout of the LSE, as a vector.
  mlir::Value sliceLse(mlir::Value tensor, mlir::Value batch, mlir::Value head,
                       mlir::OpFoldResult start, mlir::OpFoldResult count);
  /// The inverse of sliceHead and sliceLse.
  mlir::Value insertHead(mlir::Value matrix, mlir::Value tensor,
                         mlir::Value batch, mlir::Value head,
                         mlir::OpFoldResult start, mlir::OpFoldResult count);
  mlir::Value insertLse(mlir::Value vector, mlir::Value tensor,
                        mlir::Value batch, mlir::Value head,
                        mlir::OpFoldResult start, mlir::OpFoldResult count);

  /// Offsets, sizes and strides of a slice of one head.
  struct Slice {
    llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  };
  Slice headSlice(mlir::Value tensor, mlir::Value batch, mlir::Value head,
                  mlir::OpFoldResult headCount, mlir::OpFoldResult start,
                  mlir::OpFoldResult count);
  Slice lseSlice(mlir::Value tensor, mlir::Value batch, mlir::Value head,
                 mlir::OpFoldResult headCount, mlir::OpFoldResult start,
                 mlir::OpFoldResult count);

  // --- scores ---------------------------------------------------------------

  /// Computes the products q . k of a block in f32: [rows, keys].
  mlir::Value computeScores(mlir::Value q, mlir::Value k);
  /// Computes the score that enters the softmax, inside of a generic over
  /// [rows, keys]: q . k is scaled, modified by score_mod, and replaced by -inf
  /// if the key is not visible. If `derivative` is given, it is set to the
  /// derivative of the score in front of the mask, with respect to q . k or, if
  /// the number `capture` is given, to that capture.
  mlir::Value modifyScore(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value product, const BlockIndices &indices,
                          const SequenceBounds &bounds,
                          mlir::Value *derivative = nullptr,
                          std::optional<unsigned> capture = std::nullopt);

  // --- loops ----------------------------------------------------------------

  /// Loops over the query heads of the key/value head `kvHead` and over blocks
  /// of query rows. `body` gets the query head, the head's number within the
  /// group, the block's first row (counted in the sequence) and number of rows,
  /// and the carried values; it returns the new carried values.
  using BlockBody = mlir::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value head, mlir::Value headInGroup, mlir::Value firstRow,
      mlir::OpFoldResult rows, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> forEachQueryBlock(mlir::Value kvHead,
                                                   const SequenceBounds &bounds,
                                                   mlir::ValueRange carried,
                                                   BlockBody body);
  /// Returns where a block of queries starts in the sequence dimension of q.
  mlir::OpFoldResult getStart(const SequenceBounds &bounds,
                              mlir::Value firstRow);
  /// Ends an iteration of `forall`, which writes the slices of the outputs.
  void insertParts(mlir::scf::ForallOp forall, mlir::ValueRange parts,
                   llvm::ArrayRef<Slice> slices);

  mlir::RewriterBase &rewriter;
  AttentionOpInterface op;
  DimOrder order, keyOrder; ///< Of q and out, and of k and v.
  int64_t queryBlock;
  mlir::Value q, k, v, scale, group;
  mlir::Value blockList, blockCounts; ///< Null if the op has none.

private:
  static bool isEmpty(mlir::Value tensor, unsigned dim) {
    return mlir::cast<mlir::ShapedType>(tensor.getType()).getDimSize(dim) == 0;
  }
  bool hasNoBatch() const { return order.batch && isEmpty(q, *order.batch); }
  void computeScale();
  mlir::OpFoldResult getKeyCapacityOfSequence();
  mlir::Value gatherPages(mlir::Value tensor, mlir::Value batch,
                          mlir::Value head, mlir::OpFoldResult count);
  /// Returns whether the op's block list has the block of a key for the block
  /// of a query. `at` are batch, head, query index and key index.
  mlir::Value isListed(mlir::ImplicitLocOpBuilder &builder,
                       mlir::ValueRange at);
  mlir::Value isVisible(mlir::OpBuilder &builder, mlir::Location loc,
                        const SequenceBounds &bounds,
                        mlir::ValueRange maskArguments);
};

/// Lowers one op. `queryBlock` is the pass option of that name: query rows a
/// block.
mlir::LogicalResult decomposeSdpa(mlir::RewriterBase &rewriter, SdpaOp op,
                                  int64_t queryBlock);
mlir::LogicalResult decomposeSdpaBackward(mlir::RewriterBase &rewriter,
                                          SdpaBackwardOp op,
                                          int64_t queryBlock);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTNDECOMPOSE_H
