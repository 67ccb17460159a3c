//===- ListedProgram.cpp - programs whose blocks a call lists ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListedProgram.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

ListedProgram::ListedProgram(AttentionOpInterface op, tile::KernelOp kernel,
                             TokenSide rows, int64_t columns)
    : MaskedProgram(op, kernel), listedColumns(columns) {
  bool ofQueries = rows == TokenSide::Queries;
  list = ofQueries ? "block_list" : "query_list";
  counts = ofQueries ? "block_counts" : "query_counts";
  sizeOfRows = ofQueries ? kBlockQueries : kBlockKeys;
  sizeOfColumns = ofQueries ? kBlockKeys : kBlockQueries;
}

Value ListedProgram::findList(Value first, Value ofHead, Value numHeads) {
  Value lists = getArgument(list);
  ArrayRef<int64_t> blockSize = attention.getBlockSize();
  Value sharing = fold<arith::DivUIOp>(numHeads, size(lists, kListHeads));
  Value number = floorDiv(first, blockSize[sizeOfRows]);
  Value numLists = size(lists, kListBlocks);
  at = {batch, fold<arith::DivUIOp>(ofHead, sharing),
        min(number, sub(numLists, one))};
  Value count = readIndex(getArgument(counts), at);
  count = min(max(count, 0), size(lists, kListEntries));
  Value isBehind = less(number, numLists, arith::CmpIPredicate::sge);
  count = arith::SelectOp::create(b, isBehind, zero, count);
  return mul(count, index(blockSize[sizeOfColumns] / listedColumns));
}

Value ListedProgram::getListedBlock(Value step, Value numColumns) {
  int64_t blockColumns = attention.getBlockSize()[sizeOfColumns];
  Value parts = index(blockColumns / listedColumns);
  SmallVector<Value> entry = at;
  entry.push_back(fold<arith::DivUIOp>(step, parts));
  Value listed = readIndex(getArgument(list), entry);
  Value end = ceilDiv(numColumns, blockColumns);
  Value isBefore = less(listed, zero, arith::CmpIPredicate::slt);
  listed = arith::SelectOp::create(b, isBefore, end, min(max(listed, 0), end));
  return add(mul(listed, parts), fold<arith::RemUIOp>(step, parts));
}

Value ListedProgram::maskBlock(Value tile, Value step,
                               const MaskedSteps &ofBand,
                               const std::optional<MaskedSteps> &ofMask,
                               ArrayRef<TileValue> arguments,
                               llvm::function_ref<Value()> visible,
                               bool inParts) {
  if (hasList() && inParts)
    return maskAlways(tile, arguments, visible());
  return maskSteps(tile, step, ofBand, ofMask, arguments, visible);
}
