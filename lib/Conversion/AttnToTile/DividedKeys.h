//===- DividedKeys.h - few queries, whose keys CTAs divide ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sequence of few queries has one work tile for each key/value head, which
// would read all keys alone. Where the number of queries is static and small,
// several CTAs divide the visible blocks of keys:
//
//   kernel         split s of n: max, normalizer and sum of its blocks, as the
//                  loop over blocks of a whole sequence has them at its end
//   merge kernel   out and the LSE of all splits (MergeSplitsProgram.h)
//
// The number of splits follows from the sizes of a call. With `batch_invariant`
// it follows from the number of keys that there is room for alone, and splits
// begin at multiples of a fixed number of keys: what a sequence adds up, and in
// which order, is the same whatever else is in the call, and further splits are
// empty. Where the op lists blocks, splits divide the list, which has all
// queries.
//
// The query heads that share a key/value head see the same keys. Their rows are
// in one tile: row r is of query r / headRows and head r % headRows. For
// example, 2 queries of 5 heads have 16 rows, of which 6 are not used.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_DIVIDEDKEYS_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_DIVIDEDKEYS_H

#include "KernelLaunch.h"
#include "fa4/Conversion/AttnToTile/AttnToTile.h"

namespace fa4 {

/// A tile that has all queries of a sequence.
struct DividedKeys {
  int64_t queries; ///< Of a sequence.
  int64_t heads;   ///< The query heads of a tile: 1 or those of a group.
  /// The rows of a query: `heads`, rounded up to a power of two, so that the
  /// number of a row's query is a shift.
  int64_t headRows;
  AttentionTiles tiles = {}; ///< With room for all rows.
  /// The blocks of each split where the op is `batch_invariant`: a split has
  /// the same keys in each call then. 0 where blocks are divided evenly.
  int64_t fixedBlocks = 0;

  int64_t countRows() const { return queries * headRows; }
};

/// Returns the tile if CTAs divide the op's keys.
std::optional<DividedKeys> findDividedKeys(attn::SdpaOp op,
                                           const TargetDescription &target,
                                           const TileChoice &choice);

/// The names of what splits hand to the merge kernel: f32, sequences x heads x
/// splits x rows; the sum has the columns of v beyond.
inline constexpr llvm::StringLiteral kSplitSum = "split_sum",
                                     kSplitMax = "split_max",
                                     kSplitNormalizer = "split_normalizer";
/// The dimension of the splits in them.
inline constexpr unsigned kSplitDim = 2;

/// Launches both kernels in front of the op, which write `destinations`.
void convertDividedKeys(Conversion &conversion, const DividedKeys &divided,
                        llvm::MutableArrayRef<mlir::Value> destinations);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_DIVIDEDKEYS_H
