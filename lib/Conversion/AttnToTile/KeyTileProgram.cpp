//===- KeyTileProgram.cpp - programs on tiles of keys ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyTileProgram.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

void KeyTileProgram::computePosition() {
  firstKey = takeWorkTile(keys);
  kvHead = head;
  group = headsOfGroup(q, k);
  numQueries = countQueries(q);
  numKeys = countKeys(k);
}

/// Returns the mask whose band leaves out blocks. Tiles that take turns must
/// agree on who comes to a block of queries, which cannot be proven of a
/// diagonal that depends on what is in memory: they come to all blocks.
MaskAttr KeyTileProgram::getBandOfBlocks() {
  MaskAttr mask = attention.getMaskAttr();
  bool isKnown = !hasOwnLengths() || !mask ||
                 mask.getAlignment() == MaskAlignment::TopLeft;
  return turns && !isKnown ? MaskAttr() : mask;
}

/// If no query sees a key of the tile, one block remains, and all its queries
/// are masked. A pass may work on further blocks, in front of the first block
/// with a query that sees a key or behind the last one. All their queries are
/// masked, too.
KeyTileProgram::FullBlocks KeyTileProgram::computeQueryBlocks() {
  // mask_mod hides the queries outside of the range that it implies, in each
  // block. Tiles that take turns need blocks which begin in their order.
  PositionRange seeing;
  if (Region &region = attention.getMaskMod(); !region.empty() && !turns)
    seeing = intersect(
        b, readPositions(/*full=*/false),
        buildSeeingQueries(b, region, {getCaptures(), batch, /*head=*/Value()},
                           keysOfTile()));
  MaskAttr mask = attention.getMaskAttr();
  // There is always a block, of a sequence without queries, too.
  endBlock = ceilDiv(numQueries, queries);
  if (order.isPacked())
    endBlock = max(endBlock, 1);
  lastBlock = sub(endBlock, one);
  FullBlocks full;
  Value onDiagonal =
      mask ? sub(firstKey, diagonal(numQueries, numKeys)) : Value();
  if (mask && mask.getRight()) {
    firstSeeing = sub(onDiagonal, index(*mask.getRight()));
    if (getBandOfBlocks())
      seeing.first =
          seeing.first ? max(firstSeeing, seeing.first) : firstSeeing;
  }
  firstBlock = zero;
  if (seeing.first) {
    firstBlock = min(max(floorDiv(seeing.first, queries), 0), lastBlock);
    firstBlock = b.createOrFold<tile::AtMostOp>(firstBlock);
  }
  if (firstSeeing)
    full.from = ceilDiv(add(firstSeeing, keys - 1), queries);
  Value end = seeing.last ? add(seeing.last, 1) : Value();
  if (mask && mask.getLeft()) {
    lastSeeing = add(onDiagonal, *mask.getLeft());
    Value endOfBand = add(lastSeeing, keys);
    if (getBandOfBlocks())
      end = end ? min(endOfBand, end) : endOfBand;
  }
  // A list has its blocks wherever they are.
  if (hasList()) {
    firstBlock = zero;
    end = Value();
  } else if (hasOwnLengths() && !turns) {
    // Only where sequences have lengths of their own may a tile have no key.
    Value hasKeys = less(firstKey, numKeys, arith::CmpIPredicate::slt);
    Value seen = arith::SelectOp::create(b, hasKeys, numQueries, zero);
    end = end ? min(seen, end) : seen;
  }
  if (end) {
    endBlock = max(min(ceilDiv(end, queries), endBlock), add(firstBlock, one));
    endBlock = b.createOrFold<tile::AtLeastOp>(endBlock);
  }
  if (lastSeeing)
    full.below = floorDiv(add(lastSeeing, 1), queries);
  return full;
}

/// Takes the blocks that the op's list has for the tile's keys, or one block
/// whose queries are all masked if there are none.
void KeyTileProgram::takeListedBlocks() {
  Value blocks = findList(firstKey, kvHead, size(k, order.head));
  Value isEmpty = less(blocks, one, arith::CmpIPredicate::slt);
  numKeys = arith::SelectOp::create(b, isEmpty, zero, numKeys);
  numSteps = max(mul(max(blocks, 1), group), 1);
}

Value KeyTileProgram::getQueryBlock(Value passed) {
  if (isReversed())
    return sub(sub(endBlock, one), passed);
  return hasList() ? getListedBlock(passed, numQueries)
                   : add(firstBlock, passed);
}

Value KeyTileProgram::getStepOfBlock(Value step, Value block) {
  return hasList() ? mul(block, group) : step;
}

Value KeyTileProgram::getLoadedBlock(Value block) {
  return hasList() ? min(block, lastBlock) : block;
}

/// Finds the steps that are masked: those on blocks which are not full, or
/// whose last queries or keys lie behind the end.
void KeyTileProgram::computeSteps() {
  FullBlocks full = computeQueryBlocks();
  if (hasList())
    takeListedBlocks();
  std::optional<int64_t> knownQueries = getConstantIntValue(numQueries);
  masksQueries =
      order.isPacked() || hasList() ||
      (mayBeInfinite && (!knownQueries || *knownQueries % queries != 0));
  if (masksQueries) {
    Value whole = floorDiv(numQueries, queries);
    full.below = full.below ? min(full.below, whole) : whole;
  }
  // Where there are fewer keys than rows, all blocks are masked.
  std::optional<int64_t> known = getConstantIntValue(numKeys);
  if (!known || *known % keys != 0) {
    Value isCut = less(add(firstKey, keys), numKeys, arith::CmpIPredicate::sgt);
    full.from = arith::SelectOp::create(b, isCut, endBlock,
                                        full.from ? full.from : firstBlock);
  }
  ofBand = getMaskedSteps(full);
  if (std::optional<FullBlocks> fullOfMod = computeFullBlocksOfMod())
    ofMask = unite(ofBand, getMaskedSteps(*fullOfMod));
  if (hasList())
    return;
  // There is always a block. The maximum tells that to passes which do not know
  // the sizes.
  numSteps = max(mul(sub(endBlock, firstBlock), group), 1);
}

/// Returns the blocks of queries to which mask_mod shows all keys of the tile;
/// none if nothing is known of it.
std::optional<KeyTileProgram::FullBlocks>
KeyTileProgram::computeFullBlocksOfMod() {
  Region &region = attention.getMaskMod();
  if (region.empty())
    return std::nullopt;
  PositionRange full = readPositions(/*full=*/true);
  if (!full.first)
    full = buildFullQueries(b, region, {getCaptures(), batch, /*head=*/Value()},
                            keysOfTile());
  if (full.isEmpty)
    return std::nullopt;
  FullBlocks blocks;
  if (full.first)
    blocks.from = max(ceilDiv(full.first, queries), 0);
  if (full.last)
    blocks.below = max(floorDiv(add(full.last, 1), queries), 0);
  return blocks;
}

/// Returns the steps on all other blocks.
KeyTileProgram::MaskedSteps
KeyTileProgram::getMaskedSteps(const FullBlocks &full) {
  auto stepsBetween = [&](Value from, Value to) {
    return mul(sub(to, from), group);
  };
  MaskedSteps steps;
  if (full.from)
    (isReversed() ? steps.from : steps.below) =
        isReversed() ? stepsBetween(full.from, endBlock)
                     : stepsBetween(firstBlock, full.from);
  if (full.below)
    (isReversed() ? steps.below : steps.from) =
        isReversed() ? stepsBetween(full.below, endBlock)
                     : stepsBetween(firstBlock, full.below);
  // A mask of steps that need none hides nothing.
  if (steps.below)
    steps.below = b.createOrFold<tile::AtLeastOp>(steps.below);
  if (steps.from)
    steps.from = b.createOrFold<tile::AtMostOp>(steps.from);
  return steps;
}

/// Work tiles take turns at a block of queries from the first tile of keys to
/// the last one, which begins no earlier (see tile-assign-work). Where a bound
/// leaves out queries in front of the keys, a tile would reach its first block
/// before those in front of it have come there, and wait; from the last block
/// on, all tiles come to a block at about the time of their turn.
bool KeyTileProgram::isReversed() {
  MaskAttr mask = getBandOfBlocks();
  return turns && mask && mask.getRight();
}

/// Builds one comparison for each side of the band: the column against a limit
/// of the row. No query sees a key behind the last one.
Value KeyTileProgram::visibleQueries(Value firstQuery) {
  using Predicate = arith::CmpIPredicate;
  auto rowType = VectorType::get({keys}, b.getIndexType());
  auto tileType = VectorType::get({keys, queries}, b.getIndexType());
  auto overRow = [&](Value scalar) -> Value {
    return vector::BroadcastOp::create(b, rowType, scalar);
  };
  Value columns = vector::BroadcastOp::create(
      b, tileType,
      vector::StepOp::create(b, VectorType::get({queries}, b.getIndexType())));
  Value isKey = less(vector::StepOp::create(b, rowType),
                     overRow(sub(numKeys, firstKey)), Predicate::slt);
  if (!firstSeeing && !lastSeeing && !masksQueries)
    return overColumns(isKey, queries);
  Value first = firstSeeing ? positions(keys, sub(firstSeeing, firstQuery))
                            : overRow(zero);
  first = arith::SelectOp::create(b, isKey, first, overRow(index(queries)));
  Value visible = less(columns, overColumns(first, queries), Predicate::sge);
  if (!lastSeeing && !masksQueries)
    return visible;
  Value last =
      lastSeeing ? positions(keys, sub(lastSeeing, firstQuery)) : Value();
  if (masksQueries) {
    Value end = overRow(sub(sub(numQueries, firstQuery), one));
    last = last ? arith::MinSIOp::create(b, last, end) : end;
  }
  Value notBehind = less(columns, overColumns(last, queries), Predicate::sle);
  return arith::AndIOp::create(b, visible, notBehind);
}

/// Returns the first and the last work tile that have the block of queries in
/// their loops (see computeQueryBlocks): tile n begins with the block
///   clamp(floor((keys n - diagonal - right) / queries), 0, lastBlock)
/// and goes on to the one in front of
///   ceil((keys n - diagonal + left + keys) / queries)
/// but has one block at least.
std::pair<Value, Value> KeyTileProgram::workTilesOf(Value block) {
  MaskAttr mask = getBandOfBlocks();
  Value first = zero, last = sub(ceilDiv(size(k, order.seq), keys), one);
  if (!mask)
    return {first, last};
  Value onDiagonal =
      add(mul(block, index(queries)), diagonal(numQueries, numKeys));
  if (mask.getRight()) {
    Value seeing =
        floorDiv(add(onDiagonal, *mask.getRight() + queries - 1), keys);
    Value isLast = less(block, lastBlock, arith::CmpIPredicate::eq);
    last = arith::SelectOp::create(b, isLast, last, min(seeing, last));
  }
  if (mask.getLeft()) {
    Value seen = floorDiv(sub(onDiagonal, index(*mask.getLeft())), keys);
    Value isFirst = less(block, zero, arith::CmpIPredicate::eq);
    first = arith::SelectOp::create(b, isFirst, zero, max(seen, 0));
  }
  return {first, last};
}
