//===- AttnCanonicalization.cpp - simpler forms of the attn ops ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModPatterns.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Results and types
//===----------------------------------------------------------------------===//

/// Builds `op` again with other result types; the new op takes over the
/// regions.
static Operation *cloneWithTypes(PatternRewriter &rewriter, Operation *op,
                                 TypeRange types) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addTypes(types);
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  for (unsigned i = 0, e = op->getNumRegions(); i != e; ++i)
    state.addRegion();
  Operation *clone = rewriter.create(state);
  for (auto [from, to] : llvm::zip(op->getRegions(), clone->getRegions()))
    rewriter.inlineRegionBefore(from, to, to.end());
  return clone;
}

namespace {
/// Removes the LSE result if it has no use, so that lowerings do not compute
/// the LSE.
struct DropUnusedLse : public OpRewritePattern<SdpaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SdpaOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getLse() || !op.getLse().use_empty())
      return failure();
    auto slim = SdpaOp::create(
        rewriter, op.getLoc(), op.getOut().getType(), /*lse=*/Type(), op.getQ(),
        op.getK(), op.getV(), op.getPageTable(), op.getBlockList(),
        op.getBlockCounts(), op.getCuSeqlensQ(), op.getCuSeqlensK(),
        op.getSeqlensK(), op.getSinks(), op.getCaptures(),
        op.getInits().take_front(1), op.getLayoutAttr(), op.getMaskAttr(),
        op.getScaleAttr(), op.getBlockSizeAttr(), op.getBatchInvariantAttr());
    slim->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    for (auto [from, to] : llvm::zip(op->getRegions(), slim->getRegions()))
      rewriter.inlineRegionBefore(from, to, to.end());
    rewriter.replaceAllUsesWith(op.getOut(), slim.getOut());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Replaces an operand by the source of its tensor.cast if the cast only
/// forgets static sizes.
struct FoldTensorCastIntoOperands
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    // Only operands before the captures are replaced: changing the type of a
    // capture or a destination would change a block argument or a result.
    unsigned end = op.getFirstCaptureNumber();
    for (OpOperand &operand : op->getOpOperands().take_front(end)) {
      auto cast = operand.get().getDefiningOp<tensor::CastOp>();
      if (!cast || !tensor::canFoldIntoConsumerOp(cast))
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(cast.getSource()); });
      changed = true;
    }
    return success(changed);
  }
};

/// Gives each result dimension the static size that an operand proves for it.
struct RefineResultTypes
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
      types.push_back(refine(cast<RankedTensorType>(type), op, index));
    if (llvm::equal(types, op->getResultTypes()))
      return failure();

    SmallVector<Value> inits;
    for (auto [init, type] : llvm::zip(op.getInits(), types))
      inits.push_back(castTo(rewriter, op.getLoc(), type, init));
    Operation *refined = cloneWithTypes(rewriter, op, types);
    if (!inits.empty())
      cast<AttentionOpInterface>(refined).getInitsMutable().assign(inits);
    SmallVector<Value> results;
    for (auto [result, type] :
         llvm::zip(refined->getResults(), op->getResultTypes()))
      results.push_back(castTo(rewriter, op.getLoc(), type, result));
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  static RankedTensorType refine(RankedTensorType type, AttentionOpInterface op,
                                 unsigned index) {
    RankedTensorType inferred =
        op.inferResultType(index, type.getElementType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [size, known] : llvm::zip(shape, inferred.getShape()))
      if (ShapedType::isDynamic(size))
        size = known;
    return type.clone(shape);
  }

  static Value castTo(PatternRewriter &rewriter, Location loc, Type type,
                      Value value) {
    if (value.getType() == type)
      return value;
    return tensor::CastOp::create(rewriter, loc, type, value);
  }
};
} // namespace

void AttnDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  populateModPatterns(patterns);
  patterns.add<DropUnusedLse, FoldTensorCastIntoOperands, RefineResultTypes>(
      getContext());
}
