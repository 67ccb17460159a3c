//===- AttnDecompose.h - shared parts of attn-decompose ------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTNDECOMPOSE_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTNDECOMPOSE_H

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace fa4::attn {

/// What is fixed for one batch and key/value head.
struct SequenceBounds {
  /// First row and number of rows in q's and k's sequence dimension.
  mlir::OpFoldResult queryStart, queryLength, keyStart, keyLength;
  /// Rows that k has for this sequence, of which seqlens_k may use fewer.
  mlir::OpFoldResult keyCapacity;
  /// j - i of the mask's diagonal: Sk - Sq for bottom-right masks, else null.
  mlir::Value shift;
};

/// The indices that a region sees, as far as the loops around a block fix them.
struct BlockIndices {
  mlir::Value batch, head;
  /// Query index of the block's first row.
  mlir::Value firstQuery;
};

/// Builds the decomposition of one attention op: everything that the forward
/// op and its gradient have in common. All values are tensors here; memref
/// operands are wrapped.
class AttnDecomposer {
public:
  AttnDecomposer(mlir::RewriterBase &rewriter, AttentionOpInterface op,
                 int64_t queryBlock);

protected:
  using Body = mlir::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                              mlir::ValueRange)>;

  // --- operands -------------------------------------------------------------

  /// `value` as a tensor.
  mlir::Value asTensor(mlir::Value value, bool writable = false);
  /// Tensors to start the outputs from: the destinations, or empty ones.
  llvm::SmallVector<mlir::Value> getInitTensors();
  /// Replaces the op by `outputs`, or writes them to its destinations.
  void finish(mlir::ValueRange outputs);

  /// Static sizes of 0, of which slices cannot be taken.
  bool hasNoQueries() const { return isEmpty(q, order.seq) || hasNoBatch(); }
  bool hasNoKeys() const { return isEmpty(k, order.seq); }

  mlir::Value getNumSequences();
  /// Query heads of a key/value head.
  mlir::Value getGroupSize();
  SequenceBounds getBounds(mlir::Value sequence);

  // --- slices ---------------------------------------------------------------

  /// Rows [start, start + count) of one head of a tensor in the op's layout,
  /// as a matrix.
  mlir::Value sliceHead(mlir::Value tensor, mlir::Value batch, mlir::Value head,
                        mlir::OpFoldResult start, mlir::OpFoldResult count);
  /// The same of a tensor laid out as the LSE, as a vector.
  mlir::Value sliceLse(mlir::Value tensor, mlir::Value batch, mlir::Value head,
                       mlir::OpFoldResult start, mlir::OpFoldResult count);
  /// The inverse of sliceHead and sliceLse.
  mlir::Value insertHead(mlir::Value matrix, mlir::Value tensor,
                         mlir::Value batch, mlir::Value head,
                         mlir::OpFoldResult start, mlir::OpFoldResult count);
  mlir::Value insertLse(mlir::Value vector, mlir::Value tensor,
                        mlir::Value batch, mlir::Value head,
                        mlir::OpFoldResult start, mlir::OpFoldResult count);

  /// Offsets, sizes and strides of such a slice.
  struct Slice {
    llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  };
  Slice headSlice(mlir::Value tensor, mlir::Value batch, mlir::Value head,
                  mlir::OpFoldResult headCount, mlir::OpFoldResult start,
                  mlir::OpFoldResult count);
  Slice lseSlice(mlir::Value tensor, mlir::Value batch, mlir::Value head,
                 mlir::OpFoldResult headCount, mlir::OpFoldResult start,
                 mlir::OpFoldResult count);

  // --- linalg ---------------------------------------------------------------

  mlir::Value emptyF32(llvm::ArrayRef<mlir::OpFoldResult> sizes);
  mlir::Value filled(llvm::ArrayRef<mlir::OpFoldResult> sizes, double value);
  /// linalg.generic over `numLoops` loops, of which those in `reductions`
  /// reduce; `maps` gives the loops that index each input and the output.
  /// `body` returns the new output element.
  mlir::Value generic(mlir::ValueRange inputs, mlir::Value output,
                      unsigned numLoops,
                      llvm::ArrayRef<llvm::ArrayRef<unsigned>> maps,
                      llvm::ArrayRef<unsigned> reductions, Body body);
  /// sum over the last loop of lhs * rhs in f32, added to `init`. Loop numbers
  /// as in `generic`: 0, 1 index the result.
  mlir::Value contract(mlir::Value lhs, llvm::ArrayRef<unsigned> lhsLoops,
                       mlir::Value rhs, llvm::ArrayRef<unsigned> rhsLoops,
                       mlir::Value init);
  /// Elementwise on [rows], into `output` or a new f32 vector.
  mlir::Value mapRows(mlir::ValueRange inputs, Body body,
                      mlir::Value output = {});
  /// Elementwise on [rows, columns], into `output` or a new f32 matrix; inputs
  /// of rank 1 are per row.
  mlir::Value mapMatrix(mlir::ValueRange inputs, Body body,
                        mlir::Value output = {});
  /// All of `output` set to `value`.
  mlir::Value filledWith(mlir::Value output, double value);
  /// f32 `matrix` rounded to the element type of `output`, into it.
  mlir::Value round(mlir::Value matrix, mlir::Value output);
  /// Reduces the columns of a matrix into `init` ([rows]).
  mlir::Value reduceColumns(mlir::Value matrix, mlir::Value init, Body combine);

  /// q . k of a block, f32: [rows, keys].
  mlir::Value computeScores(mlir::Value q, mlir::Value k);
  /// The score that enters the softmax, inside a generic over [rows, keys]:
  /// scaled, modified, -inf where the key is not visible. `derivative`, if
  /// given, is set to its derivative with respect to q . k (1 if masked).
  mlir::Value modifyScore(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value product, const BlockIndices &indices,
                          const SequenceBounds &bounds,
                          mlir::Value *derivative = nullptr);

  // --- scalars --------------------------------------------------------------

  mlir::Value index(int64_t value);
  mlir::Value f32(double value);
  /// `value` (any supported float) in f32 and back.
  static mlir::Value toF32(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value);
  static mlir::Value fromF32(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value, mlir::Type type);

  // --- loops ----------------------------------------------------------------

  /// Loops over the query heads of key/value head `kvHead` and the blocks of
  /// query rows; `body` gets the query head, the head's number in the group,
  /// first row and number of rows of the block (rows counted in the sequence)
  /// and the carried values, and returns their new values.
  using BlockBody = mlir::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value head, mlir::Value headInGroup, mlir::Value firstRow,
      mlir::OpFoldResult rows, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> forEachQueryBlock(mlir::Value kvHead,
                                                   const SequenceBounds &bounds,
                                                   mlir::ValueRange carried,
                                                   BlockBody body);

  mlir::RewriterBase &rewriter;
  mlir::ImplicitLocOpBuilder b;
  AttentionOpInterface op;
  DimOrder order;
  int64_t queryBlock;
  mlir::Value q, k, v, scale, group;

private:
  static bool isEmpty(mlir::Value tensor, unsigned dim) {
    return mlir::cast<mlir::ShapedType>(tensor.getType()).getDimSize(dim) == 0;
  }
  bool hasNoBatch() const { return order.batch && isEmpty(q, *order.batch); }
  void computeScale();
  mlir::Value isVisible(mlir::OpBuilder &builder, mlir::Location loc,
                        const SequenceBounds &bounds,
                        mlir::ValueRange maskArguments);
};

/// Lower one op; `queryBlock` as the pass option.
mlir::LogicalResult decomposeSdpa(mlir::RewriterBase &rewriter, SdpaOp op,
                                  int64_t queryBlock);
mlir::LogicalResult decomposeSdpaBackward(mlir::RewriterBase &rewriter,
                                          SdpaBackwardOp op,
                                          int64_t queryBlock);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_ATTNDECOMPOSE_H
