//===- OutlineFactor.cpp - a product's factor as a tensor -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutlineFactor.h"
#include "TensorProduct.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fa4::attn;

/// The operations in the body of `op` that `value` is computed by.
static SmallVector<Operation *> getSlice(linalg::GenericOp op, Value value) {
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *each) { return op->isProperAncestor(each); };
  llvm::SetVector<Operation *> slice;
  (void)getBackwardSlice(value, &slice, options);
  return llvm::filter_to_vector(
      slice, [&](Operation *each) { return each->getBlock() == op.getBody(); });
}

/// The number of iterations of a loop, as the shapes of operands say.
static OpFoldResult getLoopSize(OpBuilder &b, linalg::GenericOp op,
                                unsigned loop) {
  int64_t size = op.getStaticLoopRanges()[loop];
  if (!ShapedType::isDynamic(size))
    return b.getIndexAttr(size);
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, index] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (index == getAffineDimExpr(loop, op.getContext()))
        return tensor::getMixedSize(b, op.getLoc(), operand.get(), dim);
  llvm_unreachable("each loop is a dimension of an operand");
}

void fa4::attn::outlineFactor(linalg::GenericOp op, Value factor) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  // A loop with one iteration is no dimension.
  llvm::SmallBitVector used = getUsedLoops(op, factor);
  for (auto [loop, size] : llvm::enumerate(op.getStaticLoopRanges()))
    if (size == 1)
      used.reset(loop);
  SmallVector<Operation *> slice = getSlice(op, factor);
  llvm::sort(slice,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  // The loops that are left, and what they are called.
  SmallVector<AffineExpr> renamed(op.getNumLoops(),
                                  getAffineConstantExpr(0, context));
  SmallVector<AffineExpr> own;
  SmallVector<OpFoldResult> sizes;
  for (int loop : used.set_bits()) {
    renamed[loop] = getAffineDimExpr(sizes.size(), context);
    own.push_back(getAffineDimExpr(loop, context));
    sizes.push_back(getLoopSize(b, op, loop));
  }
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  auto getRenamed = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(renamed, {}, sizes.size(), 0);
  };
  llvm::SetVector<Value> arguments;
  auto addArgument = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == op.getBody() &&
        arguments.insert(value)) {
      OpOperand &operand = op->getOpOperand(argument.getArgNumber());
      inputs.push_back(operand.get());
      maps.push_back(getRenamed(op.getMatchingIndexingMap(&operand)));
    }
  };
  addArgument(factor);
  for (Operation *each : slice)
    each->walk([&](Operation *inner) {
      llvm::for_each(inner->getOperands(), addArgument);
    });
  maps.push_back(AffineMap::getMultiDimIdentityMap(sizes.size(), context));
  SmallVector<utils::IteratorType> iterators(sizes.size(),
                                             utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(b, loc, sizes, factor.getType());
  auto outlined = linalg::GenericOp::create(
      b, loc, empty.getType(), inputs, empty, maps, iterators,
      [&](OpBuilder &b, Location loc, ValueRange args) {
        IRMapping mapping;
        for (auto [from, to] : llvm::zip(arguments, args))
          mapping.map(from, to);
        for (Operation *each : slice)
          b.clone(*each, mapping);
        linalg::YieldOp::create(b, loc, mapping.lookup(factor));
      });
  outlined.walk([&](linalg::IndexOp index) {
    if (auto dim = dyn_cast<AffineDimExpr>(renamed[index.getDim()])) {
      index.setDim(dim.getPosition());
      return;
    }
    OpBuilder inner(index);
    index.replaceAllUsesWith(
        arith::ConstantIndexOp::create(inner, loc, 0).getResult());
    index.erase();
  });

  // What uses the factor has one more input.
  unsigned position = op.getNumDpsInputs();
  SmallVector<AffineMap> operandMaps = op.getIndexingMapsArray();
  operandMaps.insert(operandMaps.begin() + position,
                     AffineMap::get(op.getNumLoops(), 0, own, context));
  op.getInputsMutable().append(outlined.getResult(0));
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(operandMaps));
  Value input = op.getBody()->insertArgument(position, factor.getType(), loc);
  factor.replaceAllUsesWith(input);
  for (Operation *each : llvm::reverse(slice))
    if (isOpTriviallyDead(each))
      each->erase();
}
