//===- CaptureReads.cpp - how regions read captured tensors ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureReads.h"
#include "PositionForms.h"
#include "fa4/Dialect/Attn/Transforms/ModRegions.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;

Value fa4::getReadTensor(Operation *op) {
  if (!isa<tensor::ExtractOp, memref::LoadOp>(op))
    return Value();
  Value source = getSourceOfRead(op);
  auto argument = dyn_cast<BlockArgument>(source);
  bool isOfRegion =
      argument && argument.getOwner()->getParent() == op->getParentRegion();
  return isOfRegion ? source : Value();
}

Value fa4::getReadVector(Operation *op) {
  Value tensor = getReadTensor(op);
  bool isAtHead =
      tensor &&
      llvm::equal(op->getOperands().drop_front(),
                  ValueRange(getHeadArgument(*op->getParentRegion())));
  return isAtHead ? tensor : Value();
}

/// Calls `visit` with each operation that reads capture number `capture`, and
/// with the number of the first index of its region's arguments.
static void forEachRead(AttentionOpInterface op, unsigned capture,
                        llvm::function_ref<void(Operation *, unsigned)> visit) {
  for (auto [region, numArguments] : op.getMods())
    if (!region->empty())
      for (Operation *read :
           region->getArgument(numArguments + capture).getUsers())
        visit(read, numArguments - kNumIndexArgs);
}

bool fa4::isTable(AttentionOpInterface op, unsigned capture) {
  bool isRead = false, isReadElsewhere = false;
  forEachRead(op, capture, [&](Operation *read, unsigned) {
    isRead = true;
    isReadElsewhere |= !getReadVector(read);
  });
  return isa<ShapedType>(op.getCaptures()[capture].getType()) &&
         (isReadElsewhere || !isRead);
}

llvm::SmallPtrSet<Value, 16> fa4::findDependents(Region &region,
                                                 ArrayRef<Value> roots) {
  llvm::SmallPtrSet<Value, 16> found(roots.begin(), roots.end());
  for (Operation &op : region.front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return found.contains(operand); }))
      found.insert_range(op.getResults());
  return found;
}

/// The indices of the query and of the key are the last ones.
static bool readsTables(Region &region, unsigned numArguments) {
  auto ofPosition =
      findDependents(region, {region.getArgument(numArguments - 2),
                              region.getArgument(numArguments - 1)});
  return llvm::any_of(region.front(), [&](Operation &op) {
    return getReadTensor(&op) && ofPosition.contains(op.getResult(0));
  });
}

bool fa4::readsTablesInMask(AttentionOpInterface op) {
  return !op.getMaskMod().empty() &&
         ::readsTables(op.getMaskMod(), kNumMaskModArgs);
}

bool fa4::readsTables(AttentionOpInterface op) {
  return llvm::any_of(op.getMods(), [](auto mod) {
    return !mod.first->empty() && ::readsTables(*mod.first, mod.second);
  });
}

SizeOfOperand fa4::getCountOfIndex(AttentionOpInterface op, unsigned index) {
  DimOrder order = getDimOrder(op.getLayout());
  auto size = [](Value operand, unsigned dim) {
    return cast<ShapedType>(operand.getType()).getDimSize(dim);
  };
  switch (index) {
  case 0:
    // There is one sequence less than there are bounds.
    if (order.isPacked()) {
      int64_t bounds = size(op.getCuSeqlensQ(), 0);
      return {ShapedType::isDynamic(bounds) ? bounds : bounds - 1,
              "Bounds - 1"};
    }
    return {size(op.getQ(), *order.batch), "B"};
  case 1:
    return {size(op.getQ(), order.head), "Hq"};
  case 2:
    return {size(op.getQ(), order.seq), order.isPacked() ? "Tq" : "Sq"};
  default:
    if (op.getPageTable())
      return {getKeyCapacity(op),
              llvm::formatv("SeqPages * {0}", getPageSize(op))};
    return {size(op.getK(), order.seq), order.isPacked() ? "Tk" : "Sk"};
  }
}

llvm::SetVector<std::pair<unsigned, unsigned>>
fa4::findIndexedDims(AttentionOpInterface op, unsigned capture) {
  llvm::SetVector<std::pair<unsigned, unsigned>> found;
  forEachRead(op, capture, [&](Operation *read, unsigned first) {
    ValueRange indices = read->getOperands().drop_front();
    for (auto [dim, value] : llvm::enumerate(indices)) {
      auto index = dyn_cast<BlockArgument>(value);
      if (!index || index.getOwner() != read->getBlock())
        continue;
      unsigned number = index.getArgNumber() - first;
      // No size of a call says how long packed sequences are.
      bool isPosition = number == kQuery || number == kKey;
      if (isPosition && getDimOrder(op.getLayout()).isPacked())
        continue;
      if (number < kNumIndexArgs)
        found.insert({dim, number});
    }
  });
  return found;
}
