//===- TileBudgets.cpp - tiles for which a target has room ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryTerms.h"
#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Target/RegisterBudget.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace fa4;

/// The number of query tiles of one CTA. With two, the MMA unit works on one
/// tile while lanes work on the scores of the other.
static constexpr int64_t kQueryTiles = 2;
/// The least number of keys in a block. Each block costs the roles a round of
/// hand-overs, which smaller blocks would not hide. If two query tiles leave no
/// room for so many keys, the kernel has one query tile, or there is no kernel.
static constexpr int64_t kLeastKeys = 128;
/// Shared memory, in bytes, for what is not a tile of q, k or v: the numbers
/// that lanes hand over for each row, barriers. Tiles of the output take the
/// place of loaded ones.
static constexpr int64_t kSmallBuffers = 3 << 10;
/// Elements of q, k, v and dout have 16 bits.
static constexpr int64_t kElementBytes = 2;
/// The bytes of a row of f32 numbers that leave at a time.
static constexpr int64_t kPartBytes = 32 * 4;

namespace {
/// The resources of an SM that the tiles of a kernel take.
struct TileDemand {
  int64_t widest = 0;    ///< Columns of the widest accumulator.
  int64_t columns = 0;   ///< Of tensor memory, of all accumulators.
  int64_t fragments = 0; ///< Words of a thread's parts of accumulators.
  int64_t roles = 0;     ///< Roles that hold them.
  int64_t summed = 0;    ///< The same of a further role, which adds up theirs.
  int64_t registers = 0; ///< Words that lanes hold of the tiles.
  int64_t bytes = 0;     ///< Of shared memory, without kSmallBuffers.
};
} // namespace

/// Returns the registers that a role of lanes has for what it holds of tiles
/// where it holds accumulators: what is left of a thread's budget (240, 160;
/// RegisterBudget.h) for addresses and the state of loops. FlashAttention-4
/// counts 216 and 128 (flash_attn/cute, sm90_config_search). Where a further
/// role takes what it needs, the others share the rest.
static int64_t getFragmentRegisters(const TargetDescription &target,
                                    const TileDemand &demand) {
  if (demand.summed == 0)
    return demand.roles > 2 ? 128 : 216;
  int64_t threads = target.registerFileWords / target.warpgroupSize;
  int64_t rest = threads - target.minRegisterBudget -
                 (demand.summed + int64_t(kRegisterSlack));
  return rest / demand.roles - int64_t(kRegisterSlack);
}

/// Returns which limit of the target the demand exceeds, in words; empty if
/// there is room.
static std::string findExceeded(const TargetDescription &target,
                                const TileDemand &demand) {
  if (demand.widest > int64_t(target.mma.maxColumns))
    return llvm::formatv("the {0} columns of an MMA", target.mma.maxColumns);
  if (target.hasTensorMemory() && demand.columns > int64_t(target.tmemColumns))
    return llvm::formatv("the {0} columns of tensor memory",
                         target.tmemColumns);
  if (int64_t most = getFragmentRegisters(target, demand);
      !target.hasTensorMemory() && demand.fragments > most)
    return llvm::formatv("the {0} registers of a thread for accumulators",
                         most);
  if (demand.registers > int64_t(target.registerFileWords))
    return llvm::formatv("the {0} registers of an SM",
                         target.registerFileWords);
  if (demand.bytes + kSmallBuffers > int64_t(target.smemBytes))
    return llvm::formatv("the {0} bytes of shared memory", target.smemBytes);
  return "";
}

/// Does the same for the kernels of an op, of which the first one counts that
/// has no room.
static std::string findExceeded(const TargetDescription &target,
                                llvm::ArrayRef<TileDemand> demands) {
  for (const TileDemand &demand : demands)
    if (std::string exceeded = findExceeded(target, demand); !exceeded.empty())
      return exceeded;
  return "";
}

/// Returns the bytes of tiles of `rows` rows in all, each with rows of q or k
/// and of v or dout.
static int64_t countTileBytes(HeadDims dims, int64_t rows) {
  return kElementBytes * rows * (dims.qk + dims.v);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Returns the number of keys of a block if the user has not chosen it. The
/// number is a power of two, so that the number of a key's block is a shift.
static int64_t chooseKeys(const TargetDescription &target, int64_t headDim) {
  int64_t inTensorMemory = target.tmemColumns / kQueryTiles - headDim;
  int64_t inRegisters =
      target.registerFileWords / (kQueryTiles * target.mma.rows) * 2 / 3;
  int64_t most =
      std::min<int64_t>({inTensorMemory, inRegisters, target.mma.maxColumns});
  return llvm::bit_floor<uint64_t>(std::max(most, kLeastKeys));
}

/// Returns the words of accumulators that a thread holds where lanes hold them:
/// a row of scores, the probabilities of the block before, in 16 bits, and a
/// row of the output. A thread of 128 holds half of a row of 64.
static int64_t countFragments(HeadDims dims, int64_t keys) {
  return keys / 2 + keys / 4 + dims.v / 2;
}

/// Returns the demand where each role of lanes holds the accumulators of one
/// query tile. Shared memory has two stages of keys and of values: the loads of
/// a block go on while lanes work on the one before.
static TileDemand getFragmentDemand(const TargetDescription &target,
                                    HeadDims dims, int64_t keys,
                                    int64_t queryTiles, bool readsTables) {
  TileDemand demand;
  demand.widest = std::max(dims.v, keys);
  demand.fragments = countFragments(dims, keys);
  // What is read of tables, or where, for the columns that both rows of a
  // thread have.
  if (readsTables)
    demand.fragments += keys / 4;
  demand.roles = queryTiles;
  demand.bytes = 2 * countTileBytes(dims, keys) + kElementBytes * queryTiles *
                                                      int64_t(target.mma.rows) *
                                                      dims.qk;
  return demand;
}

/// The most query tiles of a CTA where lanes hold the accumulators. A third
/// role leaves each of them fewer registers.
static constexpr int64_t kFragmentQueryTiles = 3;

/// The keys of a block without a mask where lanes hold the accumulators: more
/// work between two hand-overs. Measured on an H100 at head dim 128, with 128
/// keys beside: 1.03 times the speed at 4k keys, 1.02 at 16k, 0.97 at 1k.
static constexpr int64_t kLongKeys = 160;
/// From how many keys on a sequence is long.
static constexpr int64_t kLongSequence = 2048;

/// Returns the numbers of keys, powers of two up to `most`, of which blocks
/// that the op lists have a multiple, the largest first.
static SmallVector<int64_t> getListedKeys(const TileRequest &request,
                                          int64_t most) {
  SmallVector<int64_t> numbers;
  for (int64_t keys = most; keys >= kKeyStep; keys /= 2)
    if (request.keysDivide % keys == 0)
      numbers.push_back(keys);
  return numbers;
}

/// Returns true if each tile of `rows` rows is in one block that the op lists.
static bool isInListedBlock(const TileRequest &request, int64_t rows) {
  return request.rowsDivide == 0 || request.rowsDivide % rows == 0;
}

/// Returns the numbers of keys of a block to try where lanes hold the
/// accumulators, the fastest first.
static SmallVector<int64_t> getFragmentKeys(const TileRequest &request,
                                            int64_t queryTiles) {
  if (request.choice.keys != 0)
    return {request.choice.keys};
  if (request.keysDivide != 0)
    return getListedKeys(request, kLeastKeys);
  SmallVector<int64_t> keys = {kLeastKeys, kLeastKeys * 3 / 4, kLeastKeys / 2};
  // No fewer keys are needed for any head dim, but some regions need them.
  if (request.choice.smaller != 0)
    keys.push_back(kLeastKeys / 4);
  if (request.isPlain &&
      request.allKeys.value_or(kLongSequence) >= kLongSequence)
    keys.insert(keys.begin(), kLongKeys);
  // Fewer keys are worth less than a third query tile.
  if (queryTiles > kQueryTiles)
    keys = {kLeastKeys};
  return keys;
}

/// What tiles exceed that are to be smaller than all that there are.
static constexpr llvm::StringLiteral kNoSmallerTiles = "the smallest ones";

/// Returns the tiles where lanes hold accumulators: the largest number of query
/// tiles, and for these the most keys.
static AttentionTiles chooseFragmentTiles(const TargetDescription &target,
                                          HeadDims dims,
                                          const TileRequest &request) {
  int64_t native = target.mma.rows;
  int64_t most = request.isNarrow ? kQueryTiles : kFragmentQueryTiles;
  int64_t needed =
      request.queries ? llvm::divideCeil(*request.queries, native) : most;
  AttentionTiles tiles;
  int64_t passedOver = 0;
  for (int64_t count = std::clamp<int64_t>(needed, 1, most); count > 0;
       --count) {
    if (!isInListedBlock(request, count * native))
      continue;
    for (int64_t keys : getFragmentKeys(request, count)) {
      tiles = {count * native, keys,
               findExceeded(target, getFragmentDemand(target, dims, keys, count,
                                                      request.readsTables))};
      if (tiles.exceeded.empty() && passedOver++ == request.choice.smaller)
        return tiles;
    }
  }
  if (tiles.exceeded.empty())
    tiles.exceeded = kNoSmallerTiles;
  tiles.rows = 0;
  return tiles;
}

/// Scores of two tiles are there at any time, so that the MMA unit computes one
/// while lanes work on the other: with one query tile, those of two blocks of
/// keys. A lane holds its row of scores and, for half of the row, the values
/// that are computed from it. Shared memory has one block of keys and values.
static TileDemand getDemand(const TargetDescription &target, HeadDims dims,
                            int64_t keys, int64_t queryTiles) {
  int64_t rows = queryTiles * target.mma.rows;
  TileDemand demand;
  demand.widest = dims.v;
  demand.columns = kQueryTiles * keys + queryTiles * dims.v;
  demand.registers = rows * (keys + keys / 2);
  demand.bytes = countTileBytes(dims, keys) + kElementBytes * rows * dims.qk;
  return demand;
}

AttentionTiles fa4::chooseAttentionTiles(const TargetDescription &target,
                                         HeadDims dims,
                                         const TileRequest &request) {
  if (target.mma.accumulatorSpace == AccumulatorSpace::Registers)
    return chooseFragmentTiles(target, dims, request);
  int64_t native = target.mma.rows;
  int64_t keys = request.choice.keys;
  if (keys == 0)
    keys = chooseKeys(target, dims.v) >> request.choice.smaller;
  // A power of two, unless the user has chosen it.
  if (request.keysDivide != 0 && request.choice.keys == 0)
    keys = std::gcd(keys, request.keysDivide);
  if (keys < kKeyStep || (request.choice.keys && request.choice.smaller))
    return {0, keys, kNoSmallerTiles.str()};
  int64_t needed = request.queries ? llvm::divideCeil(*request.queries, native)
                                   : kQueryTiles;
  int64_t tiles = std::clamp<int64_t>(needed, 1, kQueryTiles);
  std::string exceeded;
  for (; tiles > 0; --tiles) {
    if (!isInListedBlock(request, tiles * native))
      continue;
    exceeded = findExceeded(target, getDemand(target, dims, keys, tiles));
    if (exceeded.empty())
      break;
  }
  return {tiles * native, keys, exceeded};
}

//===----------------------------------------------------------------------===//
// The gradient
//===----------------------------------------------------------------------===//

/// Returns the columns of tensor memory that accumulators need.
static int64_t countColumns(const TargetDescription &target,
                            ArrayRef<int64_t> accumulators) {
  int64_t columns = 0;
  for (int64_t each : accumulators)
    columns += llvm::alignTo(each, target.tmemAllocationColumns);
  return columns;
}

/// Returns true if the main kernel has room for dq. Tensor memory has two tiles
/// of scores, and the sums of dk and dv; dq takes the place of one of the
/// scores.
static bool hasRoomForQueryGradient(const TargetDescription &target,
                                    HeadDims dims) {
  int64_t rows = target.mma.rows;
  if (std::max(dims.qk, dims.v) > rows)
    return false;
  TileDemand demand;
  demand.columns = 2 * rows + dims.qk + dims.v;
  // The gradient of the scores is an operand, and dq leaves in two parts.
  demand.bytes = countTileBytes(dims, 2 * rows) + kElementBytes * rows * rows +
                 2 * kPartBytes * rows;
  return findExceeded(target, demand).empty();
}

/// The main kernel without dq: two tiles of scores, and the sums of dk and dv.
static TileDemand getMainDemand(const TargetDescription &target, HeadDims dims,
                                const BackwardTiles &tiles) {
  TileDemand demand;
  demand.widest = std::max(dims.qk, dims.v);
  demand.columns =
      countColumns(target, {tiles.queries, tiles.queries, dims.qk, dims.v});
  demand.bytes = countTileBytes(dims, tiles.keys + tiles.queries);
  return demand;
}

/// The kernel of dq: two tiles of scores, and the sums.
static TileDemand getQueryDemand(const TargetDescription &target, HeadDims dims,
                                 const BackwardTiles &tiles) {
  TileDemand demand;
  demand.widest = dims.qk;
  demand.columns =
      countColumns(target, {tiles.queryKeys, tiles.queryKeys, dims.qk});
  demand.bytes = countTileBytes(dims, tiles.queryRows + tiles.queryKeys);
  return demand;
}

/// Returns the words that a thread holds of `columns` columns of scores: these,
/// dP, and the derivative of a score_mod if there is one. What is computed from
/// them takes their place.
static int64_t countScoreWords(const BackwardRequest &request,
                               int64_t columns) {
  return columns / 2 * (request.hasDerivative ? 3 : 2);
}

/// The main kernel where lanes hold accumulators: a role has a product's rows
/// of keys, and holds the sums of dk and dv for them. If a further role adds up
/// dq, each of them also counts P in 16 bits. Shared memory has two stages of
/// q, dout and the numbers that MMAs add, and for dq two of the gradient of the
/// scores, and what leaves.
static TileDemand getMainFragments(const TargetDescription &target,
                                   HeadDims dims, const BackwardTiles &tiles,
                                   const BackwardRequest &request) {
  TileDemand demand;
  demand.roles = tiles.keys / target.mma.rows;
  demand.widest = std::max(dims.qk, dims.v);
  int64_t sums = (dims.qk + dims.v) / 2;
  demand.fragments = countScoreWords(request, tiles.queries) + sums;
  // ptxas 13.0 spills with 176 words of sums beside 32 of scores, under a mask,
  // and does not with 160, or with 144 beside 64.
  // With 128 queries it does with 208 words in all, and does not with 192.
  if (sums > 160 || tiles.queries > int64_t(target.mma.rows))
    demand.fragments += kRegisterSlack;
  if (request.readsTables)
    demand.fragments += tiles.queries;
  demand.bytes = countTileBytes(dims, tiles.keys + 2 * tiles.queries);
  if (tiles.hasQueryKernel())
    return demand;
  int64_t exchanged = tiles.keys + (tiles.addsTerms ? kAllTermColumns : 0);
  demand.bytes += tiles.queries * (2 * kElementBytes * exchanged + 4 * dims.qk);
  if (tiles.sumColumns == dims.qk && tiles.sumQueries == tiles.queries) {
    // The sum, and what leaves of it.
    demand.summed = dims.qk;
    demand.fragments += tiles.queries / 4;
  }
  return demand;
}

/// The kernel of dq where lanes hold accumulators.
static TileDemand getQueryFragments(const TargetDescription &target,
                                    HeadDims dims, const BackwardTiles &tiles,
                                    const BackwardRequest &request) {
  TileDemand demand;
  demand.roles = tiles.queryRows / target.mma.rows;
  demand.widest = std::max(dims.qk, tiles.queryKeys);
  demand.fragments = countScoreWords(request, tiles.queryKeys) + dims.qk / 2;
  if (request.readsTables)
    demand.fragments += tiles.queryKeys;
  demand.bytes = countTileBytes(dims, tiles.queryRows + 2 * tiles.queryKeys);
  return demand;
}

/// The columns at which a tile of k can be cut: those of a swizzle of 64 bytes.
/// With narrower ones, loads and MMAs would have more pieces.
static constexpr int64_t kSwizzleColumns = 32;

/// Chooses a number of queries at a time, and the parts of dq: rows, if each
/// role can have those of an MMA; otherwise columns, if k can be cut there.
static void divideSums(BackwardTiles &tiles, HeadDims dims, int64_t queries,
                       int64_t native) {
  tiles.queries = queries;
  tiles.sumQueries = std::min(queries, native);
  bool isCut = tiles.keys == kQueryTiles * native && queries == native &&
               dims.qk % (kQueryTiles * kSwizzleColumns) == 0;
  tiles.sumColumns = isCut ? dims.qk / kQueryTiles : dims.qk;
}

/// Returns the tiles where lanes hold accumulators. A role has 64 keys, and
/// works on 128 queries at a time where the sums that it keeps leave room for
/// their scores; otherwise on 64, or on 32 beside large sums or a derivative.
/// dq is a sum over the keys of all roles. It is cut along its rows or columns,
/// so that each role computes as many; where it cannot be, a role of its own
/// computes it, or a kernel.
static BackwardTiles
chooseFragmentBackwardTiles(const TargetDescription &target, HeadDims dims,
                            const BackwardRequest &request) {
  int64_t native = target.mma.rows;
  BackwardTiles tiles;
  int64_t passedOver = 0;
  tiles.rows = tiles.heads = 2 * native;
  // A tile of keys is in one block that the op lists.
  tiles.keys = kQueryTiles * native;
  if (request.keysDivide % tiles.keys != 0)
    tiles.keys = native;
  tiles.queries = tiles.sinkQueries = tiles.captureKeys = native;
  tiles.captureRows = kQueryTiles * native;
  if (!request.deterministic && !request.hasDerivative) {
    tiles.addsTerms = request.isLinear;
    SmallVector<int64_t> numbers = {native};
    if (request.isLinear && !request.hasMaskArithmetic)
      numbers.insert(numbers.begin(), kQueryTiles * native);
    for (int64_t queries : numbers) {
      // With one role, a block of queries is one part of dq.
      if (request.rowsDivide % queries != 0 || queries > tiles.keys)
        continue;
      divideSums(tiles, dims, queries, native);
      tiles.exceeded =
          findExceeded(target, getMainFragments(target, dims, tiles, request));
      if (tiles.exceeded.empty() && passedOver++ == request.smaller)
        return tiles;
    }
  }
  tiles.addsTerms = false;
  divideSums(tiles, dims, native, native);
  tiles.queryRows = kQueryTiles * native;
  SmallVector<int64_t> numbers = {native, native / 2};
  if (request.smaller != 0)
    numbers.push_back(native / 4);
  for (int64_t columns : numbers) {
    tiles.queries = tiles.queryKeys = columns;
    tiles.exceeded =
        findExceeded(target, {getMainFragments(target, dims, tiles, request),
                              getQueryFragments(target, dims, tiles, request)});
    if (tiles.exceeded.empty() && passedOver++ == request.smaller)
      return tiles;
  }
  if (tiles.exceeded.empty())
    tiles.exceeded = kNoSmallerTiles;
  return tiles;
}

BackwardTiles fa4::chooseBackwardTiles(const TargetDescription &target,
                                       HeadDims dims,
                                       const BackwardRequest &request) {
  if (target.mma.accumulatorSpace == AccumulatorSpace::Registers)
    return chooseFragmentBackwardTiles(target, dims, request);
  int64_t rows = target.mma.rows;
  // As in forward, lanes work on two tiles by turns. There they hold a row of
  // scores; here they hold one of probabilities and one of derivatives.
  BackwardTiles tiles;
  tiles.rows = tiles.keys = tiles.queries = tiles.heads = rows;
  tiles.sinkQueries = tiles.captureKeys = rows / 2;
  tiles.captureRows = kQueryTiles * rows;
  tiles.sumQueries = rows;
  tiles.sumColumns = dims.qk;
  TileDemand capture;
  capture.bytes = countTileBytes(dims, tiles.captureRows + tiles.captureKeys);
  if (!findExceeded(target, capture).empty())
    tiles.captureRows = rows;
  int64_t passedOver = 0;
  if (hasRoomForQueryGradient(target, dims) && passedOver++ == request.smaller)
    return tiles;
  tiles.queryRows = rows;
  for (auto [queries, queryKeys] :
       {std::pair(rows, rows), {rows / 2, rows}, {rows / 2, rows / 2}}) {
    tiles.queries = queries;
    tiles.queryKeys = queryKeys;
    tiles.exceeded =
        findExceeded(target, {getMainDemand(target, dims, tiles),
                              getQueryDemand(target, dims, tiles)});
    if (tiles.exceeded.empty() && passedOver++ == request.smaller)
      return tiles;
  }
  if (tiles.exceeded.empty())
    tiles.exceeded = kNoSmallerTiles;
  return tiles;
}
