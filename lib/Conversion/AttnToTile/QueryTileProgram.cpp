//===- QueryTileProgram.cpp - programs on tiles of queries ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryTileProgram.h"
#include "PositionForms.h"
#include "VisibleRange.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

void QueryTileProgram::divideKeys(const DividedKeys &divided) {
  tileQueries = divided.queries;
  heads = divided.heads;
  headRows = divided.headRows;
  fixedBlocks = divided.fixedBlocks;
  split = zero;
}

void QueryTileProgram::computePosition(Value q, Value k) {
  firstRow = takeWorkTile(rows);
  workHead = head;
  if (split) {
    split = tileIndex;
    tileIndex = firstRow = zero;
    head = mul(workHead, index(heads));
  }
  kvHead =
      heads != 1 ? workHead : fold<arith::DivUIOp>(head, headsOfGroup(q, k));
  numQueries = countQueries(q);
  numKeys = countKeys(k);
}

/// mask_mod hides the keys outside of the range that it implies, in each block.
PositionRange QueryTileProgram::visibleKeysOfMod() {
  Region &region = attention.getMaskMod();
  if (region.empty())
    return {};
  return intersect(b, readPositions(/*full=*/false),
                   buildVisibleKeys(b, region, {getCaptures(), batch, head},
                                    queriesOfTile()));
}

/// Returns keys that mask_mod shows to all queries of the tile.
PositionRange QueryTileProgram::fullKeysOfMod() {
  PositionRange full = readPositions(/*full=*/true);
  if (full.first)
    return full;
  return buildFullKeys(b, attention.getMaskMod(), {getCaptures(), batch, head},
                       queriesOfTile());
}

/// Computes the blocks [first, last] that hold every key which some row of the
/// tile sees. If no row sees a key, one block remains, and all its keys are
/// masked. A pass may work on further blocks outside of this range. All their
/// keys are masked, too.
void QueryTileProgram::computeKeyBlocks() {
  PositionRange visible = visibleKeysOfMod();
  MaskAttr mask = attention.getMaskAttr();
  Value onDiagonal =
      mask ? add(firstRow, diagonal(numQueries, numKeys)) : Value();
  Value endOfKeys = numKeys, endOfFull = numKeys;
  if (mask && mask.getRight()) {
    lastSeen = add(onDiagonal, *mask.getRight());
    endOfKeys = min(add(lastSeen, tileQueries), numKeys);
    endOfFull = min(add(lastSeen, 1), numKeys);
  }
  if (visible.last)
    endOfKeys = min(add(visible.last, 1), endOfKeys);
  Value firstBlock = zero, endBlock;
  if (lastSeen || visible.last)
    endBlock = b.createOrFold<tile::AtLeastOp>(blocksUpTo(endOfKeys));
  Value first;
  // Of a tile without keys, the range may begin anywhere.
  if (visible.first)
    first = min(visible.first, max(sub(endOfKeys, one), 0));
  if (mask && mask.getLeft()) {
    firstSeen = sub(onDiagonal, index(*mask.getLeft()));
    first = first ? max(firstSeen, first) : firstSeen;
  }
  if (first)
    firstBlock = b.createOrFold<tile::AtMostOp>(max(blocksBelow(first), 0));
  if (!endBlock)
    endBlock = blocksUpTo(numKeys);
  numBlocks = max(sub(endBlock, firstBlock), 1);
  if (hasList()) {
    takeListedBlocks();
    endOfFull = min(endOfFull, numKeys);
  } else if (split) {
    takePart(firstBlock);
    endOfFull = min(endOfFull, numKeys);
  } else {
    endBlock = add(firstBlock, numBlocks);
    lastBlock = sub(endBlock, one);
  }
  computeMaskedSteps(add(lastBlock, one), endOfFull);
}

/// Takes the split's part of `numBlocks` blocks.
void QueryTileProgram::takePart(Value firstBlock) {
  fixedBlocks ? takeFixedBlocks(firstBlock) : takeBlocksOfSplit(firstBlock);
}

/// Of n splits, split s has blocks [s m / n, (s + 1) m / n) of m. With fewer
/// blocks than splits, some have none: they visit the first block, as if the
/// sequence had no keys. For example, 3 splits of 2 blocks have blocks [0, 0),
/// [0, 1) and [1, 2).
void QueryTileProgram::takeBlocksOfSplit(Value firstBlock) {
  Value count = size(getArgument(kSplitSum), kSplitDim);
  auto boundary = [&](Value number) {
    return fold<arith::DivUIOp>(mul(number, numBlocks), count);
  };
  Value first = boundary(split), end = boundary(add(split, one));
  takeBlocks(add(firstBlock, first), add(firstBlock, end));
}

/// Split s has those of the blocks [s c, (s + 1) c) that are visible.
void QueryTileProgram::takeFixedBlocks(Value firstBlock) {
  Value first = mul(split, index(fixedBlocks));
  Value end = min(add(first, index(fixedBlocks)), add(firstBlock, numBlocks));
  takeBlocks(max(first, firstBlock), end);
}

/// Takes the blocks that the op's list has for the tile's queries, or one block
/// without keys if there are none.
void QueryTileProgram::takeListedBlocks() {
  Value heads = size(getArgument("q"), order.head);
  numBlocks = findList(firstRow, head, heads);
  split ? takePart(zero) : takeBlocks(zero, numBlocks);
  // Masks count steps down from the last one of all blocks (getStepOfBlock).
  lastBlock = sub(blocksUpTo(numKeys), one);
}

Value QueryTileProgram::getStepOfBlock(Value j) {
  if (!hasList())
    return j;
  return sub(lastBlock, getListedBlock(add(firstTaken, j), numKeys));
}

/// Takes blocks [first, end), or one block without keys if there are none.
void QueryTileProgram::takeBlocks(Value first, Value end) {
  Value isEmpty = less(end, add(first, one), arith::CmpIPredicate::slt);
  numKeys = arith::SelectOp::create(b, isEmpty, zero, numKeys);
  numBlocks = max(sub(end, first), 1);
  firstTaken = first;
  lastBlock = sub(add(first, numBlocks), one);
}

/// `endBlock` is behind the last block of the loop, and `endOfFull` behind the
/// last key that all rows see by the band.
void QueryTileProgram::computeMaskedSteps(Value endBlock, Value endOfFull) {
  // Blocks below fullBlocks have no key beyond the last one that a row sees;
  // blocks from firstFull on have none before the first. j counts down from the
  // last block. Masks do no harm in other blocks.
  Value fullBlocks = max(blocksBelow(endOfFull), 0);
  if (lastSeen)
    fullBlocks = b.createOrFold<tile::AtMostOp>(fullBlocks);
  ofBand.below = sub(endBlock, fullBlocks);
  if (firstSeen) {
    Value firstFull = b.createOrFold<tile::AtLeastOp>(
        max(blocksUpTo(add(firstSeen, tileQueries - 1)), 0));
    ofBand.from = sub(endBlock, firstFull);
  }
  if (attention.getMaskMod().empty())
    return;
  PositionRange full = fullKeysOfMod();
  if (full.isEmpty)
    return;
  MaskedSteps ofMod;
  if (full.last) {
    Value end = max(blocksBelow(add(full.last, 1)), 0);
    ofMod.below = sub(endBlock, b.createOrFold<tile::AtMostOp>(end));
  }
  if (full.first) {
    Value first = max(blocksUpTo(full.first), 0);
    ofMod.from = sub(endBlock, b.createOrFold<tile::AtLeastOp>(first));
  }
  ofMask = unite(ofBand, ofMod);
}

SmallVector<TileValue> QueryTileProgram::getArgumentsOfBlock(Value firstKey) {
  if (attention.getScoreMod().empty() && attention.getMaskMod().empty())
    return {};
  return getModArguments(
      batch, head, {rowPositions(firstRow), /*overRows=*/true},
      {positions(keys, firstKey), false, /*overColumns=*/true}, rows);
}

SmallVector<ModProgram::TileTerm>
QueryTileProgram::buildTermsOfBlock(const ScoreTerms &terms, double unit,
                                    ArrayRef<TileValue> arguments) {
  SmallVector<TileValue> ofFirst(arguments);
  ofFirst[kQuery] = {firstRow};
  SmallVector<TileTerm> all =
      buildTerms(terms, isSeparable, unit, ofFirst, rows, keys);
  llvm::append_range(all,
                     buildTerms(terms, isMixed, unit, arguments, rows, keys));
  return all;
}

/// Returns start + i for each row of the tile's i-th query.
Value QueryTileProgram::rowPositions(Value start) {
  if (headRows == 1)
    return positions(rows, start);
  auto type = VectorType::get({rows}, b.getIndexType());
  Value steps = vector::StepOp::create(b, type);
  Value width = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getIndexAttr(headRows)));
  return arith::AddIOp::create(b, arith::DivUIOp::create(b, steps, width),
                               vector::BroadcastOp::create(b, type, start));
}

Value QueryTileProgram::loadQueries(Value q) {
  Value tile = loadTile(q, rows, firstRow, head);
  if (headRows != 1)
    tile.getDefiningOp<tile::LoadOp>().setInner(
        ArrayRef<int64_t>{order.head, headRows});
  return tile;
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
                        b, rowPositions(sub(lastSeen, firstKey)), lastKeys),
                    keys);
  Value visible = less(columns, lastKeys, Predicate::sle);
  if (firstSeen) {
    Value first = rowPositions(sub(firstSeen, firstKey));
    Value notBefore = less(columns, overColumns(first, keys), Predicate::sge);
    visible = arith::AndIOp::create(b, visible, notBefore);
  }
  return visible;
}
