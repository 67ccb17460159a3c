//===- TileRequests.cpp - what the tiles of an op depend on ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProgram.h"
#include "CaptureReads.h"
#include "QueryTerms.h"
#include "VisibleRange.h"
#include "fa4/Conversion/AttnToTile/AttnToTile.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

HeadDims fa4::getHeadDims(AttentionOpInterface op) {
  auto headDim = [](Value value) {
    return cast<ShapedType>(value.getType()).getShape().back();
  };
  return {headDim(op.getQ()), headDim(op.getV())};
}

/// Returns true if the region has other operations than comparisons, which
/// leave no numbers in registers, and their combinations.
static bool hasArithmetic(Region &region) {
  return region
      .walk([](Operation *op) {
        bool isPlain =
            isa<arith::CmpIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
                op) ||
            op->hasTrait<OpTrait::ConstantLike>() ||
            op->hasTrait<OpTrait::IsTerminator>();
        return isPlain ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

BackwardRequest fa4::getBackwardRequest(SdpaBackwardOp op,
                                        const TileChoice &choice) {
  BackwardRequest request;
  request.deterministic = op.getDeterministic();
  Region &scoreMod = op.getScoreMod();
  std::optional<LinearScore> linear = findLinearScore(scoreMod);
  request.hasDerivative = !scoreMod.empty() && !linear;
  request.isLinear =
      !request.hasDerivative && isTermScale(getGradientScale(op));
  request.hasMaskArithmetic = hasArithmetic(op.getMaskMod());
  // Without a term of both positions, score_mod reads numbers of keys alone.
  request.readsTables =
      fa4::readsTables(op) &&
      (!linear || linear->hasTerm(isMixed) || readsTablesInMask(op));
  request.smaller = choice.smaller;
  if (op.getBlockList()) {
    request.rowsDivide = op.getBlockSize()[kBlockQueries];
    request.keysDivide = op.getBlockSize()[kBlockKeys];
  }
  return request;
}

/// Up to so many keys, tiles of two roles were faster than of three: on an H200
/// at head dim 64 and 4k keys, 1.70 times with documents of 256 keys, 1.05 with
/// a window of 512.
static constexpr int64_t kFewKeys = 576;

/// Returns true if `rows` queries see few keys.
static bool isNarrow(SdpaOp op, int64_t rows) {
  std::optional<int64_t> seen;
  if (MaskAttr mask = op.getMaskAttr();
      mask && mask.getLeft() && mask.getRight())
    seen = *mask.getLeft() + *mask.getRight() + rows;
  if (!op.getMaskMod().empty())
    if (std::optional<int64_t> ofMod = countVisibleKeys(op.getMaskMod(), rows))
      seen = std::min(seen.value_or(*ofMod), *ofMod);
  return seen && *seen <= kFewKeys;
}

TileRequest fa4::getTileRequest(SdpaOp op, const TileChoice &choice) {
  TileRequest request;
  auto ifStatic = [](int64_t size) -> std::optional<int64_t> {
    return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
  };
  request.queries = ifStatic(cast<ShapedType>(op.getQ().getType())
                                 .getDimSize(getDimOrder(op.getLayout()).seq));
  request.allKeys = ifStatic(getKeyCapacity(op));
  request.choice = choice;
  // Of pages, blocks of a power of two take more keys at a time.
  request.isPlain = !op.getMask() && op.getMaskMod().empty() &&
                    op.getScoreMod().empty() && !op.getPageTable() &&
                    !op.getBlockList();
  request.readsTables = fa4::readsTables(op);
  request.isNarrow = isNarrow(op, kKeyStep);
  if (!op.getBlockList())
    return request;
  request.keysDivide = op.getBlockSize()[kBlockKeys];
  // All queries of one block have the same list.
  int64_t queries = op.getBlockSize()[kBlockQueries];
  if (request.queries.value_or(queries + 1) > queries)
    request.rowsDivide = queries;
  return request;
}
