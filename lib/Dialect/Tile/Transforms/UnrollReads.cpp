//===- UnrollReads.cpp - when a thread reads the pairs of a row ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnrollReads.h"
#include "ColumnPairs.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4::tile;

static bool isInTensorMemory(ReadOp op) {
  return op.getChannel().getDefiningOp<ChannelOp>().getSpace() ==
         MemorySpace::tmem;
}

/// Builds reads of those of the pairs `first` to `last` that are neither read
/// nor on their way.
void UnrollReads::startRead(ReadOp op, int64_t first, int64_t last,
                            OpBuilder &b) {
  SmallVector<Value, 0> &to = columns[op.getValue()].pairs;
  while (first < last && to[first])
    ++first;
  while (last > first && to[last - 1])
    --last;
  Type elementType = getElementTypeOrSelf(op.getValue());
  for (auto [begin, end] : splitAccess(2 * first, 2 * last)) {
    auto part = VectorType::get({end - begin}, elementType);
    Value value = ReadOp::create(b, op.getLoc(), part, op.getChannel(),
                                 op.getColumn() + begin, op.getAll());
    started[op].push_back({value, begin});
  }
}

/// Takes what reads have brought apart, which is its first use.
void UnrollReads::finishReads(ReadOp op, OpBuilder &b) {
  SmallVector<Value, 0> &to = columns[op.getValue()].pairs;
  for (auto [value, begin] : started[op]) {
    int64_t count = cast<VectorType>(value.getType()).getNumElements();
    for (int64_t column = 0; column < count; column += 2)
      to[(begin + column) / 2] =
          count == 2
              ? value
              : vector::ExtractStridedSliceOp::create(b, op.getLoc(), value,
                                                      column, /*sizes=*/2,
                                                      /*strides=*/1);
  }
  started[op].clear();
}

void UnrollReads::read(ReadOp op, int64_t first, int64_t last, OpBuilder &b) {
  finishReads(op, b);
  startRead(op, first, last, b);
  finishReads(op, b);
  int64_t count = numPairs(op.getValue().getType());
  if (isInTensorMemory(op) && (readsAhead || !op->hasOneUse()) && last < count)
    startRead(op, last, std::min(last + columns.fragment / 2, count), b);
}

void UnrollReads::readAll(ReadOp op, OpBuilder &b) {
  columns.forFragments(
      op.getValue().getType(),
      [&](int64_t begin, int64_t end) { read(op, begin, end, b); });
  unread.remove(op);
}

void UnrollReads::add(ReadOp op, OpBuilder &b) {
  if (op->hasOneUse() || isInTensorMemory(op))
    unread.insert(op);
  else
    readAll(op, b);
}

/// The columns of one read of tensor memory where several follow each other.
static constexpr int64_t kLongRead = 32;

/// Reads all of a value that is not worked on meanwhile: one read does not wait
/// for another.
void UnrollReads::readAtOnce(ReadOp op, OpBuilder &b) {
  finishReads(op, b);
  int64_t count = numPairs(op.getValue().getType());
  for (int64_t first = 0; first < count; first += kLongRead / 2)
    startRead(op, first, std::min(first + kLongRead / 2, count), b);
  finishReads(op, b);
  unread.remove(op);
}

void UnrollReads::readBuffer(Value channel, OpBuilder &b, bool handsOn) {
  SmallVector<ReadOp> pending(unread.begin(), unread.end());
  for (ReadOp op : pending)
    if (bufferOf.lookup(op.getChannel()) == bufferOf.lookup(channel)) {
      if (handsOn && isInTensorMemory(op) &&
          op.getChannel().getType() == channel.getType())
        readAtOnce(op, b);
      else
        readAll(op, b);
    }
}

void UnrollReads::readUsedAgain(OpBuilder &b) {
  SmallVector<ReadOp> pending(unread.begin(), unread.end());
  for (ReadOp op : pending)
    if (usedAgain.contains(bufferOf.lookup(op.getChannel())))
      readAll(op, b);
}

/// Returns the pairs of `read` whose place columns `begin` to `end` of `write`
/// take, which has the same buffer: all of them, if nothing is known.
static std::pair<int64_t, int64_t> getOverwritten(ReadOp read, WriteOp write,
                                                  int64_t begin, int64_t end) {
  auto from = read.getChannel().getDefiningOp<ChannelOp>();
  auto to = write.getChannel().getDefiningOp<ChannelOp>();
  int64_t count =
      cast<VectorType>(read.getValue().getType()).getNumElements() / 2;
  int64_t column = read.getColumn();
  begin += write.getColumn();
  end += write.getColumn();
  PlaceAttr source = from.getPlaceAttr(), target = to.getPlaceAttr();
  if (from.getSpace() == MemorySpace::tmem && from.getStages() == 1 &&
      to.getStages() == 1 && source && target) {
    // A thread has a lane; a column is a word of 32 bits.
    auto bitsOf = [](ChannelOp channel) -> int64_t {
      return channel.getTileType().getElementTypeBitWidth();
    };
    int64_t shift = 32 * (target.getOffset() - source.getOffset());
    begin = llvm::divideFloorSigned(begin * bitsOf(to) + shift, bitsOf(from));
    end = llvm::divideCeilSigned(end * bitsOf(to) + shift, bitsOf(from));
  } else if (from.getValueType() != to.getValueType() || !source || !target ||
             source.getOffset() != target.getOffset()) {
    return {0, count};
  }
  return {
      std::clamp<int64_t>(llvm::divideFloorSigned(begin - column, 2), 0, count),
      std::clamp<int64_t>(llvm::divideCeilSigned(end - column, 2), 0, count)};
}

void UnrollReads::readOverwritten(WriteOp write, int64_t begin, int64_t end,
                                  OpBuilder &b) {
  SmallVector<ReadOp> pending(unread.begin(), unread.end());
  for (ReadOp op : pending) {
    if (bufferOf.lookup(op.getChannel()) != bufferOf.lookup(write.getChannel()))
      continue;
    std::pair<int64_t, int64_t> pairs = getOverwritten(op, write, begin, end);
    columns.forFragments(op.getValue().getType(),
                         [&](int64_t first, int64_t last) {
                           if (first < pairs.second && pairs.first < last &&
                               !columns.isBuilt(op.getValue(), first, last))
                             read(op, first, last, b);
                         });
  }
}

void UnrollReads::forget(Block &block) {
  unread.remove_if([&](ReadOp op) { return op->getBlock() == &block; });
}
