//===- AttnToTile.h - which attention ops have a tile program ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_ATTNTOTILE_ATTNTOTILE_H
#define FA4_CONVERSION_ATTNTOTILE_ATTNTOTILE_H

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Target/TargetDescription.h"
#include <optional>
#include <string>

namespace fa4 {

/// The sizes of the tiles of scores on which one CTA works.
struct AttentionTiles {
  /// The number of query rows, a multiple of the rows of the target's MMA.
  int64_t rows;
  /// The number of keys of one block.
  int64_t keys;
  /// The limit of the target that even one tile exceeds, in words: "the 512
  /// columns of tensor memory". Empty if there is room.
  std::string exceeded;
};

/// Blocks of keys have a multiple of this: the number of columns of a row that
/// lanes load, compute and store at a time.
inline constexpr int64_t kKeyStep = 32;

/// The number of elements of a row of q and k, and of one of v and out.
struct HeadDims {
  int64_t qk, v;
};
HeadDims getHeadDims(attn::AttentionOpInterface op);

/// What whoever compiles an op chooses of its tiles.
struct TileChoice {
  /// The number of keys of a block of the forward op; 0 for one that is chosen.
  int64_t keys = 0;
  /// How many of the tiles that have room, the largest first, are passed over:
  /// lanes have more registers for what a region computes beside smaller ones.
  int64_t smaller = 0;
  /// Whether CTAs may divide the keys of a sequence of few queries.
  bool splitKeys = true;
};

/// What a choice of tiles depends on beside the target and the head dims.
struct TileRequest {
  /// The numbers of query rows and of keys, where they are known.
  std::optional<int64_t> queries = std::nullopt, allKeys = std::nullopt;
  TileChoice choice = {};
  /// True if there is neither a mask, at whose edge blocks are computed in
  /// vain, nor a score_mod, which takes registers of its own.
  bool isPlain = false;
  /// True if lanes read tables at the query or the key.
  bool readsTables = false;
  /// True if the queries of a tile see few keys, such as those of a window or
  /// of a document: the more rows a tile has, the more of its scores are
  /// hidden.
  bool isNarrow = false;
  /// What the rows of a tile, and the keys of a block, must divide: the sizes
  /// of blocks that the op lists. 0 if anything will do.
  int64_t rowsDivide = 0, keysDivide = 0;
};

/// Returns what the tiles of `op` depend on.
TileRequest getTileRequest(attn::SdpaOp op, const TileChoice &choice);

/// Returns the tiles for rows of `dims` elements. There are up to two tiles of
/// the MMA's rows: as many as fit in tensor memory, each with an f32
/// accumulator of scores and one of the output, and in shared memory beside a
/// block of keys and of values, and as lanes can hold a row of scores of. One
/// tile has two accumulators of scores. There are fewer if fewer hold the query
/// rows, and no rows if not even one tile fits. Without a number of keys in the
/// request, it is the largest power of two for which two tiles fit, but no
/// fewer than 128; a smaller choice has the powers of two below it.
///
/// Where lanes hold the accumulators there are up to three tiles (two for
/// narrow masks), one for each role of lanes, in as many registers as a thread
/// has then, and blocks of at most 128 keys, or of 160 in a long sequence
/// without a mask. A smaller choice has fewer keys, with two tiles at most.
///
/// Of blocks that the op lists, tiles and blocks are equal parts, with the most
/// rows and keys of the above for which they are.
AttentionTiles chooseAttentionTiles(const TargetDescription &target,
                                    HeadDims dims, const TileRequest &request);

/// The sizes of the tiles of the gradient's kernels: a CTA of the main kernel
/// works on a block of `keys` keys and on `queries` queries at a time; a CTA of
/// the others on `rows` rows, one that sums the gradient of sinks or of a
/// capture on `heads` heads, `sinkQueries` queries at a time, and one of a
/// capture's gradient on `captureRows` queries, `captureKeys` keys at a time.
/// The main kernel computes dq, too, `sumQueries` rows of `sumColumns` columns
/// at a time, unless a CTA of another one does, with `queryRows` queries and
/// `queryKeys` keys at a time (otherwise 0).
struct BackwardTiles {
  int64_t rows = 0, keys = 0, queries = 0, heads = 0, sinkQueries = 0;
  int64_t sumQueries = 0, sumColumns = 0;
  /// True if MMAs of the main kernel add the numbers of a query to its column
  /// of scores, and of the gradient of probabilities (QueryTerms.h).
  bool addsTerms = false;
  int64_t captureRows = 0, captureKeys = 0, queryRows = 0, queryKeys = 0;
  /// As that of AttentionTiles.
  std::string exceeded;

  bool hasQueryKernel() const { return queryRows != 0; }
};

/// What the tiles of the gradient depend on besides the head dims, where lanes
/// hold accumulators.
struct BackwardRequest {
  /// dq is to have the same bits in each run. A kernel of its own adds nothing
  /// to memory, and needs no turns.
  bool deterministic = false;
  /// There is a score_mod that is not linear: lanes hold its derivative for
  /// each score.
  bool hasDerivative = false;
  /// Exponents are multiples of q.k plus a number of the query, by a scale that
  /// is neither tiny nor huge, so that MMAs can add the numbers.
  bool isLinear = true;
  /// mask_mod computes more than comparisons of positions, for which lanes need
  /// registers.
  bool hasMaskArithmetic = false;
  /// As those of TileRequest.
  bool readsTables = false;
  int64_t rowsDivide = 0, keysDivide = 0;
  /// As that of TileChoice.
  int64_t smaller = 0;
};

/// Returns what the gradient's tiles depend on.
BackwardRequest getBackwardRequest(attn::SdpaBackwardOp op,
                                   const TileChoice &choice);

/// Returns tiles of the rows of the target's MMA: keys and queries are both the
/// rows of a product. dq has a kernel of its own where tensor memory, registers
/// or shared memory do not hold what the five products of a block need.
BackwardTiles chooseBackwardTiles(const TargetDescription &target,
                                  HeadDims dims,
                                  const BackwardRequest &request);

/// Returns the reason why there is no kernel for `op` on `target`, as one line
/// that names the combination, or nothing if there is a kernel.
std::optional<std::string> explainUnsupported(attn::AttentionOpInterface op,
                                              const TargetDescription &target,
                                              const TileChoice &choice = {});

/// Returns what to change in `op`, or in the options, so that the reason of
/// explainUnsupported goes away, as a sentence; nothing if there is a kernel.
std::optional<std::string> adviseUnsupported(attn::AttentionOpInterface op,
                                             const TargetDescription &target,
                                             const TileChoice &choice = {});

/// Emits an error on `op` with this reason if there is no kernel for it.
llvm::LogicalResult checkLegality(attn::AttentionOpInterface op,
                                  const TargetDescription &target,
                                  const TileChoice &choice = {});

} // namespace fa4

#endif // FA4_CONVERSION_ATTNTOTILE_ATTNTOTILE_H
