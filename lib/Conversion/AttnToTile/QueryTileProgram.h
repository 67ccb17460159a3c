//===- QueryTileProgram.h - programs on tiles of queries ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_QUERYTILEPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_QUERYTILEPROGRAM_H

#include "DividedKeys.h"
#include "ListedProgram.h"

namespace fa4 {

/// A program whose work tiles have queries as rows, and which loops over the
/// blocks of keys that these queries see.
class QueryTileProgram : protected ListedProgram {
protected:
  QueryTileProgram(attn::AttentionOpInterface op, tile::KernelOp kernel,
                   int64_t rows, int64_t keys)
      : ListedProgram(op, kernel, TokenSide::Queries, keys), rows(rows),
        keys(keys), tileQueries(rows) {}

  /// Lets a tile have all queries of a sequence and a part of the visible
  /// blocks. To be called first.
  void divideKeys(const DividedKeys &divided);
  void computePosition(mlir::Value q, mlir::Value k);
  void computeKeyBlocks();
  /// Returns the step in which a loop over all blocks would visit the block
  /// that step `j` visits: another one than `j` if a list has the blocks. A
  /// list may have any number, so that this may be no step of such a loop. It
  /// is masked then.
  mlir::Value getStepOfBlock(mlir::Value j);
  /// Returns the arguments of mask_mod on a block of keys; none if the op has
  /// no region.
  llvm::SmallVector<TileValue> getArgumentsOfBlock(mlir::Value firstKey);
  /// Returns the terms of a linear score_mod on a block, `unit` times, with the
  /// block's arguments. Separable terms are those of the tile's first query, so
  /// that all queries have the same ones.
  llvm::SmallVector<TileTerm>
  buildTermsOfBlock(const ScoreTerms &terms, double unit,
                    llvm::ArrayRef<TileValue> arguments);
  mlir::Value visibleKeys(mlir::Value firstKey);
  mlir::Value loadQueries(mlir::Value q);

  const int64_t rows, keys;
  /// The coordinate of the work tile's head, and its key/value head.
  mlir::Value workHead, kvHead;
  mlir::Value split; ///< The tile's part of the blocks; null if it has all.
  mlir::Value firstRow;
  mlir::Value numQueries, numKeys;
  /// The number of key blocks of the loop, and the block that comes first.
  mlir::Value numBlocks, lastBlock;
  /// The steps whose blocks the band of the mask or the last key cuts, and
  /// these with those in which mask_mod may hide keys; none if nothing is known
  /// of mask_mod.
  MaskedSteps ofBand;
  std::optional<MaskedSteps> ofMask;
  /// The i-th query of the tile sees the keys from firstSeen + i up to lastSeen
  /// + i. Null if there is no such bound.
  mlir::Value firstSeen, lastSeen;

private:
  void computeMaskedSteps(mlir::Value endBlock, mlir::Value endOfFull);
  mlir::Value rowPositions(mlir::Value start);
  void takePart(mlir::Value firstBlock);
  void takeBlocksOfSplit(mlir::Value firstBlock);
  void takeFixedBlocks(mlir::Value firstBlock);
  void takeBlocks(mlir::Value first, mlir::Value end);
  void takeListedBlocks();
  PositionRange queriesOfTile() {
    return {firstRow, add(firstRow, tileQueries - 1)};
  }
  PositionRange visibleKeysOfMod();
  PositionRange fullKeysOfMod();
  mlir::Value blocksBelow(mlir::Value key) { return floorDiv(key, keys); }
  mlir::Value blocksUpTo(mlir::Value key) { return ceilDiv(key, keys); }

  mlir::Value firstTaken;  ///< The first block that the loop visits.
  int64_t tileQueries;     ///< The queries of a tile.
  int64_t headRows = 1;    ///< The rows of a query.
  int64_t heads = 1;       ///< The heads to which these belong.
  int64_t fixedBlocks = 0; ///< Of a split; 0 if it has a share of all blocks.
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_QUERYTILEPROGRAM_H
