//===- KeyTileProgram.h - programs on tiles of keys ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_KEYTILEPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_KEYTILEPROGRAM_H

#include "ListedProgram.h"

namespace fa4 {

/// A program whose work tiles have keys as rows, and which loops over the
/// blocks of queries that see these keys, of all query heads of a group.
class KeyTileProgram : protected ListedProgram {
protected:
  KeyTileProgram(attn::AttentionOpInterface op, tile::KernelOp kernel,
                 int64_t keys, int64_t queries)
      : ListedProgram(op, kernel, TokenSide::Keys, queries), keys(keys),
        queries(queries), q(getArgument("q")), k(getArgument("k")) {}

  void computePosition();
  void computeSteps();
  bool isReversed();
  /// Returns the number of the block of queries behind `passed` ones of the
  /// loop. A list may have any number, so that there may be no such block: all
  /// of its queries are masked then.
  mlir::Value getQueryBlock(mlir::Value passed);
  /// Returns the step in which a loop over all blocks would work on the block
  /// that `step` works on: another one if a list has the blocks.
  mlir::Value getStepOfBlock(mlir::Value step, mlir::Value block);
  /// Returns `block`, or one that exists if a list has a number of no block.
  mlir::Value getLoadedBlock(mlir::Value block);
  mlir::Value visibleQueries(mlir::Value firstQuery);
  std::pair<mlir::Value, mlir::Value> workTilesOf(mlir::Value block);

  const int64_t keys, queries;
  mlir::Value q, k;
  /// Null if work tiles take no turns at blocks of queries.
  mlir::Value turns;
  /// True if the scores that queries behind the last one have may be infinite,
  /// or no number.
  bool mayBeInfinite = false;

  mlir::Value kvHead, group;
  mlir::Value firstKey, numQueries, numKeys;
  /// The blocks of queries from firstBlock up to endBlock, exclusive, hold
  /// every query that sees a key of the tile. The heads of the group take
  /// turns: step s works on the block firstBlock + s / group, or endBlock - 1 -
  /// s / group if the blocks are worked on in reverse, or on one of a list.
  mlir::Value firstBlock, endBlock, numSteps;
  mlir::Value lastBlock; ///< The last one of all blocks of queries.
  /// The steps whose blocks the band of the mask or the last query or key
  /// cuts, and those in which mask_mod may hide scores; none if nothing is
  /// known of it.
  MaskedSteps ofBand;
  std::optional<MaskedSteps> ofMask;
  /// The key of row r of the tile is seen by the queries from firstSeeing + r
  /// up to lastSeeing + r. Null if there is no such bound.
  mlir::Value firstSeeing, lastSeeing;
  /// True if queries behind the last one have to be masked. Without a
  /// score_mod, zeros suffice: these are loaded for q and dout, and the shift
  /// is -inf. But a score_mod may make a NaN of them, and behind a packed
  /// sequence stand the queries of the next one. So may the blocks of a list.
  bool masksQueries = false;

private:
  /// The blocks of queries that see all keys of the tile by the op's mask: from
  /// `from` on, and in front of `below`. Null if there is no such bound.
  struct FullBlocks {
    mlir::Value from, below;
  };
  attn::MaskAttr getBandOfBlocks();
  PositionRange keysOfTile() { return {firstKey, add(firstKey, keys - 1)}; }
  std::optional<FullBlocks> computeFullBlocksOfMod();
  MaskedSteps getMaskedSteps(const FullBlocks &full);
  FullBlocks computeQueryBlocks();
  void takeListedBlocks();
};

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_KEYTILEPROGRAM_H
