//===- AttentionProgram.h - what tile programs of attention share ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_ATTENTIONPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_ATTENTIONPROGRAM_H

#include "ScoreTerms.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>

namespace fa4 {

inline constexpr double kLog2E = 1.4426950408889634;
inline constexpr double kLn2 = 0.6931471805599453;

/// The name of the kernels' argument that is a capture.
inline std::string getCaptureName(unsigned number) {
  return "capture" + std::to_string(number);
}

/// The factor of q.k in the scores of `op`.
double getScale(attn::AttentionOpInterface op);

/// Returns true for a number of f32 that is neither subnormal nor infinite.
bool isNormalScale(double scale);

/// The factor of the gradients of q and k: that of q.k in front of score_mod,
/// and those of which a linear score_mod, or the last product of another one,
/// is part of the scale (ScoreTerms.h).
double getGradientScale(attn::AttentionOpInterface op);

/// The way in which the factor of q.k reaches the exponent of 2.
struct ScoreScale {
  /// The factor by which q.k is multiplied in front of score_mod, if any.
  std::optional<double> before;
  /// The factor by which the score, after score_mod, is multiplied in the
  /// exponent of 2. It is positive, so that the row max of q.k is that of the
  /// scores, and a score of -inf has the exponential 0.
  double exponent;
  /// What a score_mod adds is multiplied by this: the sums are scores in front
  /// of the product with `exponent`.
  double unit = 1;
};
/// `terms` is the form of score_mod, if it has one and the program uses it: the
/// factor of the score is part of the scale then.
ScoreScale chooseScoreScale(attn::AttentionOpInterface op,
                            const ScoreTerms *terms = nullptr);

/// The tensors whose rows are those of queries, and those of keys.
enum class TokenSide { Queries, Keys };

/// The rows [first, end) that a sequence has in packed tensors. Null if
/// positions count from the tensor's first row.
struct TokenRange {
  mlir::Value first, end;
};

/// The names of the arguments that list the work tiles of packed sequences
/// (PackedTilesProgram.h).
inline constexpr llvm::StringLiteral kTileCounts = "tile_counts",
                                     kTileSequences = "tile_sequences",
                                     kTileNumbers = "tile_numbers";

/// The names of those with the bounds of the tile's sequence.
struct BoundNames {
  llvm::StringLiteral first, end;
};
inline constexpr BoundNames kTileQueries = {"tile_first_queries",
                                            "tile_end_queries"};
inline constexpr BoundNames kTileKeys = {"tile_first_keys", "tile_end_keys"};

/// Where sequences are packed, the numbers of sequence b's queries begin in
/// workspaces at row align(first, kPackedAlignment) + kPackedAlignment * b, if
/// `first` is the sequence's first row in q, and are followed by zeros up to a
/// multiple of kPackedAlignment: a block of queries, which has no more rows
/// than that, has nothing of the next sequence. The copy engine takes rows of
/// f32 only from multiples of 16 bytes on: at other coordinates of the
/// innermost dimension, an H200 reports an illegal instruction.
inline constexpr int64_t kPackedAlignment = 128;

/// Builds the program of one kernel of an attention op: index arithmetic, which
/// is folded as it is built, and tiles.
class AttentionProgram {
protected:
  AttentionProgram(attn::AttentionOpInterface op, tile::KernelOp kernel);

  // Index arithmetic.
  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }
  template <typename Op> mlir::Value fold(mlir::Value x, mlir::Value y) {
    return b.createOrFold<Op>(x, y);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return fold<mlir::arith::AddIOp>(x, y);
  }
  mlir::Value add(mlir::Value x, int64_t y) { return add(x, index(y)); }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return fold<mlir::arith::SubIOp>(x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return fold<mlir::arith::MulIOp>(x, y);
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return fold<mlir::arith::MinSIOp>(x, y);
  }
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return fold<mlir::arith::MaxSIOp>(x, y);
  }
  mlir::Value max(mlir::Value x, int64_t y) { return max(x, index(y)); }
  mlir::Value floorDiv(mlir::Value x, int64_t y) {
    return fold<mlir::arith::FloorDivSIOp>(x, index(y));
  }
  mlir::Value ceilDiv(mlir::Value x, int64_t y) {
    return fold<mlir::arith::CeilDivSIOp>(x, index(y));
  }
  mlir::Value less(mlir::Value x, mlir::Value y,
                   mlir::arith::CmpIPredicate predicate) {
    return mlir::arith::CmpIOp::create(b, predicate, x, y);
  }
  /// Reads the position of the work tile: sets head and batch, and returns the
  /// first of its `rows` rows. Where the kernel has a list of the work tiles of
  /// packed sequences, the row is one of the sequence, and the rows of both
  /// sides are set; otherwise, tensors are one sequence.
  mlir::Value takeWorkTile(int64_t rows);
  mlir::Value size(mlir::Value memref, unsigned dim);
  /// Returns the number at an index of a tensor of i32.
  mlir::Value readIndex(mlir::Value memref, mlir::ValueRange at);
  /// Returns the bounds of packed sequence `sequence` as they stand in memory.
  TokenRange readBounds(TokenSide side, mlir::Value sequence);
  /// Returns the rows of a matrix between two bounds. Those that are no rows,
  /// or do not ascend, count as the nearest that do.
  TokenRange clampTokens(TokenSide side, const TokenRange &bounds);
  mlir::Value countSequences(TokenSide side);
  /// Returns true if the number of keys of a sequence stands in memory.
  bool hasOwnLengths() { return order.isPacked() || attention.getSeqlensK(); }
  /// Returns the number of queries, and of keys, of the work tile's sequence.
  mlir::Value countQueries(mlir::Value q);
  mlir::Value countKeys(mlir::Value k);
  /// Returns the number of query heads that share a key/value head.
  mlir::Value headsOfGroup(mlir::Value q, mlir::Value k);
  /// Returns the distance from the first query on the diagonal of the mask to
  /// the first key: key = query + distance.
  mlir::Value diagonal(mlir::Value numQueries, mlir::Value numKeys);

  // Tiles.
  mlir::VectorType f32Type(llvm::ArrayRef<int64_t> shape) {
    return mlir::VectorType::get(shape, b.getF32Type());
  }
  mlir::Value splat(mlir::VectorType type, double value);
  /// Repeats the value of each row (of each column) in a tile of this many rows
  /// and columns.
  mlir::Value overColumns(mlir::Value rowValues, int64_t columns);
  mlir::Value overRows(mlir::Value columnValues, int64_t rows);
  /// The positions start, start + 1, ..., start + n - 1.
  mlir::Value positions(int64_t n, mlir::Value start);
  mlir::Value round(mlir::Value tile, mlir::Value memref);
  /// Converts a tile to f32.
  mlir::Value widen(mlir::Value tile);
  /// Adds the columns of a tile to `sums`, which has a number for each row.
  mlir::Value addColumns(mlir::Value tile, mlir::Value sums);
  /// Counts up to `steps`. `body` gets the number of a step and the values of
  /// the step before, at first `init`; returns the values of the last step.
  mlir::ValueRange
  repeat(mlir::Value steps, llvm::ArrayRef<mlir::Value> init,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                           mlir::ValueRange)>
             body);
  /// The same with one value.
  mlir::Value
  repeat(mlir::Value steps, mlir::Value init,
         llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> body);
  /// Returns null if the kernel has no argument of this name.
  mlir::Value getArgument(llvm::StringRef name);
  /// Loads rows [position, position + rows) of one head from a tensor in the
  /// op's layout. Positions are those in the work tile's sequence. Rows behind
  /// the end of a sequence are 0, whatever memory has there.
  mlir::Value loadTile(mlir::Value memref, int64_t rows, mlir::Value position,
                       mlir::Value head);
  void storeTile(mlir::Value tile, mlir::Value memref, mlir::Value position,
                 mlir::Value head);
  /// Loads these rows from a tensor that has one number for each row and the
  /// layout of the LSE.
  mlir::Value loadRows(mlir::Value memref, int64_t rows, mlir::Value position,
                       mlir::Value head);
  void storeRows(mlir::Value values, mlir::Value memref, mlir::Value position,
                 mlir::Value head);
  /// Does the same as loadRows by threads, each of which reads the number of
  /// its row. The tensor may begin anywhere and have any strides.
  mlir::Value readRows(mlir::Value memref, int64_t rows, mlir::Value position,
                       mlir::Value head);
  llvm::SmallVector<mlir::Value>
  indices(mlir::Value memref, mlir::Value position, mlir::Value head);
  llvm::SmallVector<mlir::Value>
  rowIndices(mlir::Value memref, mlir::Value position, mlir::Value head);
  mlir::DenseI64ArrayAttr tileDims(mlir::Value memref);

  attn::AttentionOpInterface attention;
  tile::KernelOp kernel;
  attn::DimOrder order, keyOrder; ///< Of q and out, and of k and v.
  mlir::ImplicitLocOpBuilder b;
  mlir::Value zero, one;
  mlir::Value tileIndex;   ///< The number of the work tile in its head.
  mlir::Value head, batch; ///< Of the work tile.
  /// The rows of the work tile's sequence; `paddedRows` are those in workspaces
  /// with numbers of queries (kPackedAlignment). Null unless there is a list of
  /// work tiles.
  TokenRange queryTokens, keyTokens, paddedRows;

private:
  void takeListedTile(mlir::Value number);
  llvm::StringRef getName(mlir::Value argument);
  bool isOfKeys(mlir::Value memref);
  const attn::DimOrder &orderOf(mlir::Value memref) {
    return isOfKeys(memref) ? keyOrder : order;
  }
  const TokenRange &tokensOf(mlir::Value memref);
  /// Returns the row of a matrix at which tiles end: that behind the last query
  /// or key of the sequence, if its length stands in memory or its keys lie in
  /// pages, or null.
  mlir::Value getEndOfLoads(mlir::Value memref);
  const TokenRange &rowsOf(mlir::Value memref);
  mlir::Value getPageTable() { return getArgument("page_table"); }
  mlir::Value getMatrix(TokenSide side) {
    return getArgument(side == TokenSide::Queries ? "q" : "k");
  }
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_ATTENTIONPROGRAM_H
