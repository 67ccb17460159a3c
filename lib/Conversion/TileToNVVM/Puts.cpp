//===- Puts.cpp - elements of rows in global memory ---===//
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

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

LogicalResult PutLowering::lower(PutOp op) {
  if (failed(requireLanes(op)))
    return failure();
  const ValueLayout &rows = *role.getLayout();
  if (rows.isRowPerThread()) {
    putElement(op, op.getValue(), row());
    return success();
  }
  // The owner of a row is one of the threads that hold parts of it.
  Value thread = row();
  Value copies =
      arith::AndIOp::create(b, thread, constant(rows.getOwnerMask()));
  Value owns =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, copies, constant(0));
  Value first = evaluate(
      rows.getOrigin(b.getContext(), /*columns=*/2).getResult(0), thread);
  auto branch = scf::IfOp::create(b, owns, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> elements = {op.getValue()};
  llvm::append_range(elements, op.getOthers());
  for (auto [part, element] : llvm::enumerate(elements))
    putElement(op, element,
               add(first, rows.getRowOffset(b.getContext(), part)));
  return success();
}

/// Writes an element of row `tileRow` (an i32) of the tile.
void PutLowering::putElement(PutOp op, Value element, Value tileRow) {
  unsigned number = cast<BlockArgument>(op.getDest()).getArgNumber();
  Value offset, inBounds;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    Value at = toI32(mapping.lookupOrDefault(index));
    if (dim == op.getDim()) {
      at = arith::AddIOp::create(b, at, tileRow);
      inBounds = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at,
                                       number32(signature.size(number, dim)));
      if (op.getTo()) {
        Value isInFront =
            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at,
                                  toI32(mapping.lookupOrDefault(op.getTo())));
        inBounds = arith::AndIOp::create(b, inBounds, isInFront);
      }
    }
    Value term = elementsBefore(number, dim, at);
    offset = offset ? arith::AddIOp::create(b, offset, term) : term;
  }
  Value base = argument(signature.pointerParameter(number));
  Value value = mapping.lookupOrDefault(element);
  auto branch = scf::IfOp::create(b, inBounds, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value pointer = LLVM::GEPOp::create(b, base.getType(), value.getType(), base,
                                      LLVM::GEPArg(offset));
  LLVM::StoreOp::create(b, value, pointer);
}
