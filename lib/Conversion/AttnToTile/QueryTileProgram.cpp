//===- QueryTileProgram.cpp - programs on tiles of queries ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryTileProgram.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

void QueryTileProgram::computePosition(Value q, Value k) {
  firstRow = takeWorkTile(rows);
  kvHead = fold<arith::DivUIOp>(head, headsOfGroup(q, k));
  numQueries = size(q, order.seq);
  numKeys = size(k, order.seq);
}

/// Computes the blocks [first, last] that hold every key which some row of the
/// tile sees. If no row sees a key, one block remains, and all its keys are
/// masked. A pass may work on further blocks outside of this range. All their
/// keys are masked, too.
void QueryTileProgram::computeKeyBlocks() {
  MaskAttr mask = attention.getMaskAttr();
  Value endOfKeys = numKeys, endOfFull = numKeys;
  Value firstBlock = zero, endBlock;
  if (mask) {
    Value onDiagonal = add(firstRow, diagonal(numQueries, numKeys));
    if (mask.getRight()) {
      lastSeen = add(onDiagonal, *mask.getRight());
      endOfKeys = min(add(lastSeen, rows), numKeys);
      endOfFull = min(add(lastSeen, 1), numKeys);
      endBlock = tile::AtLeastOp::create(b, blocksUpTo(endOfKeys));
    }
    if (mask.getLeft()) {
      firstSeen = sub(onDiagonal, index(*mask.getLeft()));
      firstBlock = tile::AtMostOp::create(b, max(blocksBelow(firstSeen), 0));
    }
  }
  if (!endBlock)
    endBlock = blocksUpTo(endOfKeys);
  numBlocks = max(sub(endBlock, firstBlock), 1);
  endBlock = add(firstBlock, numBlocks);
  lastBlock = sub(endBlock, one);
  // Blocks below fullBlocks have no key beyond the last one that a row sees;
  // blocks from firstFull on have none before the first. j counts down from the
  // last block. Masks do no harm in other blocks.
  Value fullBlocks = max(blocksBelow(endOfFull), 0);
  if (lastSeen)
    fullBlocks = tile::AtMostOp::create(b, fullBlocks);
  maskedBelow = sub(endBlock, fullBlocks);
  if (!firstSeen)
    return;
  Value firstFull =
      tile::AtLeastOp::create(b, max(blocksUpTo(add(firstSeen, rows - 1)), 0));
  maskedFrom = sub(endBlock, firstFull);
}

/// Builds one comparison for each side of the band: the column against a limit
/// of the row.
Value QueryTileProgram::visibleKeys(Value firstKey) {
  using Predicate = arith::CmpIPredicate;
  auto rowType = VectorType::get({rows}, b.getIndexType());
  auto tileType = VectorType::get({rows, keys}, b.getIndexType());
  Value columns = vector::BroadcastOp::create(
      b, tileType,
      vector::StepOp::create(b, VectorType::get({keys}, b.getIndexType())));
  Value lastKey = sub(sub(numKeys, firstKey), one);
  Value lastKeys =
      vector::BroadcastOp::create(b, lastSeen ? rowType : tileType, lastKey);
  if (lastSeen)
    lastKeys =
        overColumns(arith::MinSIOp::create(
                        b, positions(rows, sub(lastSeen, firstKey)), lastKeys),
                    keys);
  Value visible = less(columns, lastKeys, Predicate::sle);
  if (firstSeen) {
    Value first = positions(rows, sub(firstSeen, firstKey));
    Value notBefore = less(columns, overColumns(first, keys), Predicate::sge);
    visible = arith::AndIOp::create(b, visible, notBefore);
  }
  return visible;
}
