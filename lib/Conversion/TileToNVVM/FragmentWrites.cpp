//===- FragmentWrites.cpp - tiles of fragments in shared memory ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// The place in a tile of the bytes that a thread stores, or whose address it
/// gives: a row, and a distance in the row.
struct FragmentWriteLowering::Place {
  Value row, bytes;
  /// True in threads that store groups of columns in another order.
  Value exchanges;
};

/// The words of a group of 8 columns that a thread has, of both its rows.
static constexpr size_t kGroupWords = 4;
/// The distance between groups that threads of odd rows exchange.
static constexpr size_t kExchangedGroups = 2;

/// Returns true if threads of odd rows store the groups of 8 columns of a span
/// in another order than those of even rows. A span of 128 bytes has four
/// groups of two units of 16 bytes, and the swizzle puts unit u of row r at
/// u xor (r mod 8). Half a warp stores four rows at a time. If all of them
/// stored group g, rows 0 and 1 would store the same two units, 2g and 2g + 1,
/// and rows 2 and 3 two others: half of the banks would be used twice. With
/// group g xor 2 in odd rows they are
///
///     row     0         1             2             3
///     units   2g, +1    2g xor 4, +1  2g xor 2, +1  2g xor 6, +1
///
/// which are all of them.
static bool exchangesGroups(const Buffer &buffer) {
  return buffer.elementBytes == 4 && buffer.span == 128;
}

/// For each 16 rows and 16 columns of 16 bits, which are those of a warp,
/// stmatrix takes four matrices of 8x8: a thread's word is the one that the
/// instruction takes from it, and thread `l` gives the address of row `l mod 8`
/// of matrix `l / 8` (PTX ISA, "stmatrix"). With `.x4` these are in the order
/// of the registers of a fragment: the rows of the upper half, those of the
/// lower half, and both again eight columns to the right. Elements of 32 bits
/// are stored by pairs.
FragmentWriteLowering::Place
FragmentWriteLowering::findPlace(Operation *op, const Buffer &buffer) {
  Value thread = row();
  // Behind a loop the place is computed once more, rather than kept in
  // registers over the loop, where accumulators take nearly all.
  if (!op->getParentOfType<scf::ForOp>())
    thread = pin(b, thread);
  auto bits = [&](Value from, int64_t shift, int64_t mask) -> Value {
    Value shifted =
        shift ? arith::ShRUIOp::create(b, from, constant(shift)) : from;
    return arith::AndIOp::create(b, shifted, constant(mask));
  };
  auto times = [&](Value value, int64_t factor) -> Value {
    return arith::MulIOp::create(b, value, constant(factor));
  };
  Value lane = bits(thread, 0, 31);
  Value firstRow = times(arith::ShRUIOp::create(b, thread, constant(5)), 16);
  bool isNarrow = buffer.elementBytes == 2;
  Value inWarp = isNarrow ? bits(lane, 0, 15) : bits(lane, 2, 7);
  Place place;
  place.row = arith::AddIOp::create(b, firstRow, inWarp);
  place.bytes =
      isNarrow ? times(bits(lane, 4, 1), 16) : times(bits(lane, 0, 3), 8);
  if (!exchangesGroups(buffer))
    return place;
  Value isOdd = bits(lane, 2, 1);
  place.bytes = arith::AddIOp::create(
      b, place.bytes, times(isOdd, kExchangedGroups * kGroupWords * 8));
  place.exchanges =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, isOdd, constant(0));
  return place;
}

/// Returns the words in the order in which threads store them.
SmallVector<Value> FragmentWriteLowering::exchangeGroups(ArrayRef<Value> words,
                                                         Value exchanges) {
  SmallVector<Value> stored(words);
  constexpr size_t distance = kExchangedGroups * kGroupWords;
  for (size_t first = 0; first < words.size(); first += 2 * distance)
    for (size_t word = first; word < first + distance; ++word) {
      Value left = words[word], right = words[word + distance];
      stored[word] = arith::SelectOp::create(b, exchanges, right, left);
      stored[word + distance] =
          arith::SelectOp::create(b, exchanges, left, right);
    }
  return stored;
}

LogicalResult FragmentWriteLowering::lower(WriteOp op) {
  const Buffer &buffer = layout.buffer(op.getChannel());
  ArrayRef<Value> words = matrices.getRegisters(op.getValue());
  if (!buffer.span)
    return op.emitOpError("writes a tile to a channel without a swizzle");
  Value stage = stageOf(buffer, RingUse::Commit);
  Place place = findPlace(op, buffer);
  Value start = arith::MulIOp::create(b, place.row, constant(buffer.span));
  Value inSpan =
      arith::XOrIOp::create(b, place.bytes, swizzlePattern(buffer, start));
  Value base = arith::AddIOp::create(b, addStage(start, buffer, stage), inSpan);
  // Returns the pointer `bytes` to the right in the row, which is `down` rows
  // of a whole number of patterns below. Rows and stages begin at multiples of
  // a span, so the bits of the distance are changed in the whole address: a
  // loop then keeps one address and no distances in registers.
  auto pointer = [&](int64_t bytes, int64_t down) {
    Value swizzled =
        arith::XOrIOp::create(b, base, constant(bytes % buffer.span));
    return sharedPointer(buffer.offset +
                             bytes / buffer.span * buffer.boxBytes() +
                             down * buffer.span,
                         swizzled);
  };
  if (buffer.elementBytes == 2) {
    for (size_t word = 0; word < words.size(); word += 4)
      NVVM::StMatrixOp::create(
          b, pointer(int64_t(word) / 4 * 32, 0), words.slice(word, 4),
          NVVM::MMALayout::row,
          NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
          NVVM::LdStMatrixEltType::B16);
    return success();
  }
  SmallVector<Value> stored(words);
  if (place.exchanges)
    stored = exchangeGroups(words, place.exchanges);
  for (size_t word = 0; word < stored.size(); word += 2) {
    Value pair = vector::FromElementsOp::create(
        b, VectorType::get({2}, stored[word].getType()),
        ArrayRef(stored).slice(word, 2));
    LLVM::StoreOp::create(b, pair,
                          pointer(int64_t(word) / 4 * 32, word / 2 % 2 * 8),
                          /*alignment=*/8);
  }
  return success();
}
