//===- PageCopies.cpp - tiles from pages of a cache ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of rows of a sequence is copied in parts, each from one page. One
// thread issues all copies, which takes longer than the copies themselves where
// pages are small. Two paths therefore:
//
//   all rows count     the pages are read first, by one access each without
//                      checks, then the copies are issued
//   rows are cut off   a loop over the parts, each with its own end (`to`)
//
// The second one is that of the last tile of a sequence.
//
//===----------------------------------------------------------------------===//

#include "RoleParts.h"

using namespace mlir;
using namespace fa4::tile;

static unsigned getNumber(Value memref) {
  return cast<BlockArgument>(memref).getArgNumber();
}

Value CopyLowering::isBelow(Value number, unsigned argument, int64_t dim) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number,
                               number32(signature.size(argument, dim)));
}

/// Of a place in a sequence, returns that in the page of row `row` of the tile.
/// For example, with pages of 64 rows, row 128 of a tile at position 256 that
/// ends at 400 is row 0 of page table[b, 6], of which 16 rows count. No row of
/// a page counts that the tensor does not have.
CopyPlace CopyLowering::placeInPage(LoadOp op, CopyPlace place, Value row) {
  int64_t dim = op.getTileDims().front();
  Value size = constant(op.getPageSize());
  Value position = arith::AddIOp::create(b, place.indices[dim], row);
  Value number = arith::DivUIOp::create(b, position, size);
  Value first = arith::MulIOp::create(b, number, size);
  Value &page = place.indices[kPageDim];
  page = readElement(getNumber(op.getPages()), {page, number});
  place.indices[dim] = arith::SubIOp::create(b, position, first);
  Value end = arith::SubIOp::create(b, place.to, first);
  place.to = arith::SelectOp::create(
      b, isBelow(page, getNumber(op.getSource()), kPageDim), end, constant(0));
  return place;
}

/// Returns whether all rows of the tile count and the table has their pages.
Value CopyLowering::areAllInPages(LoadOp op, const CopyPlace &place) {
  unsigned table = getNumber(op.getPages());
  Value position = place.indices[op.getTileDims().front()];
  int64_t rows = op.getPartType().getDimSize(0);
  Value last = arith::DivUIOp::create(b, add(position, rows - 1),
                                      constant(op.getPageSize()));
  Value inBounds =
      arith::AndIOp::create(b, isBelow(last, table, /*dim=*/1),
                            isBelow(place.indices[kPageDim], table, /*dim=*/0));
  Value isBefore = arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                         add(position, rows), place.to);
  return arith::AndIOp::create(b, inBounds, isBefore);
}

/// Returns the coordinates of a part whose rows count, by the map that begins
/// where the tensor does: its element (i, j) is row i + j of a page, and there
/// is none where i is R or more (see TensorMap). `page` may be no page.
SmallVector<Value> CopyLowering::wholePart(LoadOp op, const CopyPlace &place,
                                           Value page, Value row) {
  const TensorMap &map = signature.tensorMap(op);
  SmallVector<Value> at;
  for (int64_t dim : map.dims)
    at.push_back(dim == int64_t(kPageDim) ? page : place.indices[dim]);
  at[map.getFirst()] = arith::SelectOp::create(
      b, isBelow(page, getNumber(op.getSource()), kPageDim), constant(0),
      constant(map.getRows()));
  at[map.second] = row;
  return at;
}

void CopyLowering::loadWholePages(LoadOp op, const LoadTarget &target,
                                  const CopyPlace &place) {
  unsigned table = getNumber(op.getPages());
  int64_t rows = op.getPartType().getDimSize(0), step = op.getRowsOfCopy();
  Value position = place.indices[op.getTileDims().front()];
  Value size = constant(op.getPageSize());
  SmallVector<SmallVector<Value>> parts;
  for (int64_t row = 0; row < rows; row += step) {
    Value at = add(position, row);
    Value number = arith::DivUIOp::create(b, at, size);
    Value page =
        loadConstant(b, b.getI32Type(),
                     globalPointer(table, {place.indices[kPageDim], number}));
    // A part begins at a multiple of its rows, which may be those of a page.
    Value first = step == op.getPageSize()
                      ? constant(0)
                      : arith::RemUIOp::create(b, at, size).getResult();
    parts.push_back(wholePart(op, place, page, first));
  }
  Value map = argument(signature.mapBehindParameter(op));
  for (auto [number, part] : llvm::enumerate(parts))
    for (int64_t box = 0; box < target.buffer.boxes(); ++box) {
      SmallVector<Value> at(part);
      at.front() = add(at.front(), box * signature.tensorMap(op).box.front());
      issue(target, pointerToBox(target, box, number * step), map, at);
    }
}

/// Keeps the loop small: it runs once for a sequence, and what an unrolled one
/// has in registers the other path would lack.
static Attribute keepRolled(Builder &b) {
  MLIRContext *context = b.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(context, b.getBoolAttr(true), {}, {},
                                          {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {});
}

/// Loads `row` and the rows that are copied with it, with their own end.
void CopyLowering::loadCutPart(LoadOp op, const LoadTarget &target,
                               const CopyPlace &place, Value row) {
  CopyPlace part = placeInPage(op, place, row);
  Value bytes = arith::MulIOp::create(
      b, row, constant(target.buffer.elementOffset(/*row=*/1, 0)));
  for (int64_t box = 0; box < target.buffer.boxes(); ++box) {
    Value to = pointerToBox(target, box);
    to = LLVM::GEPOp::create(b, to.getType(), b.getI8Type(), to,
                             LLVM::GEPArg(bytes));
    SmallVector<Value> at = coordinates(signature.tensorMap(op), part, box);
    forMapOfLoad(op, at, [&](Value map) { issue(target, to, map, at); });
  }
}

void CopyLowering::loadCutPages(LoadOp op, const LoadTarget &target,
                                const CopyPlace &place) {
  int64_t rows = op.getPartType().getDimSize(0), step = op.getRowsOfCopy();
  auto loop = scf::WhileOp::create(
      b, TypeRange{b.getI32Type()}, ValueRange{constant(0)},
      [&](OpBuilder &, Location, ValueRange row) {
        loadCutPart(op, target, place, row.front());
        Value next = add(row.front(), step);
        Value isMore = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, next,
                                             constant(rows));
        scf::ConditionOp::create(b, isMore, next);
      },
      [&](OpBuilder &, Location, ValueRange row) {
        scf::YieldOp::create(b, row);
      });
  loop->setDiscardableAttr(kLoopAnnotation, keepRolled(b));
}

void CopyLowering::loadPages(LoadOp op, const LoadTarget &target) {
  CopyPlace place = placeOf(op, op.getIndices());
  auto branch = scf::IfOp::create(b, areAllInPages(op, place),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  loadWholePages(op, target, place);
  b.setInsertionPointToStart(branch.elseBlock());
  loadCutPages(op, target, place);
}
