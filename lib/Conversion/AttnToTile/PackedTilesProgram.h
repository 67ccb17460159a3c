//===- PackedTilesProgram.h - the work tiles of packed sequences ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many rows a packed sequence has stands in memory, so that no size of a
// call says which work tiles there are. A small kernel in front of the main one
// lists them: number t of the list is tile tile_numbers[t] of sequence
// tile_sequences[t]. T rows of N sequences have at most ceildiv(T, rows) + N
// tiles, since each sequence has at most one that is not whole. The list has
// one more, as many as there are bounds of sequences. How many tiles there are
// stands in tile_counts[0], which is the `work_count` of the main kernel:
// nobody works on those behind, which belong to no sequence.
//
// With 128 rows a tile, sequences of 300, 0 and 100 rows (T = 400, N = 3):
//
//   t                   0    1    2    3  4  5  6
//   tile_counts         4    4    4    4  4  4  4
//   tile_sequences      0    0    0    2  0  0  0
//   tile_numbers        0    1    2    0  0  0  0
//   tile_first_queries  0    0    0  300  0  0  0
//   tile_end_queries  300  300  300  400  0  0  0
//
// tile_first_keys and tile_end_keys are the same of the keys. They are the
// bounds as they stand in cu_seqlens, so that a kernel finds its rows by one
// access to memory, and not by two, of which one waits for the other.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_PACKEDTILESPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_PACKEDTILESPROGRAM_H

#include "AttentionProgram.h"

namespace fa4 {

/// Work tiles of `rows` rows of packed queries, or of packed keys.
struct PackedTilesRequest {
  TokenSide side;
  int64_t rows;
};

/// The number of tiles of the list that a work tile of the kernel fills, one
/// for each thread.
inline constexpr int64_t kListedTiles = 128;

/// What is listed of each tile, beside tile_counts.
inline constexpr llvm::StringLiteral kListColumns[] = {
    kTileSequences,   kTileNumbers,    kTileQueries.first,
    kTileQueries.end, kTileKeys.first, kTileKeys.end};

/// Returns those of an op. Keys in pages have no bounds.
inline llvm::ArrayRef<llvm::StringLiteral>
getListColumns(attn::AttentionOpInterface op) {
  return llvm::ArrayRef(kListColumns).drop_back(op.getPageTable() ? 2 : 0);
}

/// Fills the empty body of a kernel. The arguments:
///
///   q, or k                     by the side
///   cu_seqlens_q, cu_seqlens_k
///   tile_counts, and as above   outputs: a number for each tile
void buildPackedTilesProgram(attn::AttentionOpInterface op,
                             tile::KernelOp kernel,
                             const PackedTilesRequest &request);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_PACKEDTILESPROGRAM_H
