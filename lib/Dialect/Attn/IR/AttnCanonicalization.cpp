//===- AttnCanonicalization.cpp - simpler forms of the attn ops ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskModAnalysis.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// A score_mod that yields its score, a mask_mod that shows every key.
static bool isTrivial(AttentionOpInterface op, Region &region) {
  Value yielded = region.front().getTerminator()->getOperand(0);
  if (&region == &op.getScoreMod())
    return yielded == region.getArgument(0);
  return matchPattern(yielded, m_One());
}

namespace {
/// A region that changes nothing need not be there.
struct EraseTrivialMods
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (auto [mod, numArgs] : op.getMods()) {
      Region *region = mod;
      if (region->empty() || !isTrivial(op, *region))
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        region->dropAllReferences();
        rewriter.eraseBlock(&region->front());
      });
      changed = true;
    }
    return success(changed);
  }
};

/// A captured value that no region looks at need not be captured.
struct DropUnusedCaptures
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    auto mods = op.getMods();
    auto isUsed = [&](unsigned capture) {
      return llvm::any_of(mods, [&](auto &mod) {
        return !mod.first->empty() &&
               !mod.first->getArgument(mod.second + capture).use_empty();
      });
    };
    bool changed = false;
    for (unsigned capture = op.getCaptures().size(); capture-- > 0;) {
      if (isUsed(capture))
        continue;
      changed = true;
      rewriter.modifyOpInPlace(op, [&] {
        for (auto [region, first] : mods)
          if (!region->empty())
            region->eraseArgument(first + capture);
        op.getCapturesMutable().erase(capture);
      });
    }
    return success(changed);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Static size of dimension `dim` of `value`, if it has one.
static std::optional<int64_t> getStaticSize(Value value, unsigned dim) {
  int64_t size = cast<ShapedType>(value.getType()).getDimSize(dim);
  return ShapedType::isDynamic(size) ? std::nullopt
                                     : std::optional<int64_t>(size);
}

/// Sk - Sq where both are the same static numbers for every sequence.
static std::optional<int64_t> getStaticShift(AttentionOpInterface op) {
  DimOrder order = getDimOrder(op.getLayout());
  if (order.isPacked() || op.getSeqlensK())
    return std::nullopt;
  std::optional<int64_t> sq = getStaticSize(op.getQ(), order.seq);
  std::optional<int64_t> sk = getStaticSize(op.getK(), order.seq);
  if (!sq || !sk)
    return std::nullopt;
  return *sk - *sq;
}

/// The mask attribute as a top-left aligned band, if it is one.
static std::optional<Band> getTopLeftBand(AttentionOpInterface op) {
  MaskAttr mask = op.getMaskAttr();
  if (!mask)
    return Band{};
  Band band{mask.getLeft(), mask.getRight()};
  if (mask.getAlignment() == MaskAlignment::TopLeft)
    return band;
  std::optional<int64_t> shift = getStaticShift(op);
  if (!shift)
    return std::nullopt;
  if (band.left)
    *band.left -= *shift;
  if (band.right)
    *band.right += *shift;
  return band;
}

/// The attribute for a top-left band: anchored bottom-right if that makes it
/// causal. Null where no query would see a key.
static MaskAttr getMaskAttr(AttentionOpInterface op, Band band) {
  MaskAlignment alignment = MaskAlignment::TopLeft;
  std::optional<int64_t> shift = getStaticShift(op);
  if (shift && *shift != 0 && band.right == shift) {
    alignment = MaskAlignment::BottomRight;
    band.right = 0;
    if (band.left)
      *band.left += *shift;
  }
  if (band.left && band.right && *band.left + *band.right < 0)
    return {};
  return MaskAttr::get(op.getContext(), band.left, band.right, alignment);
}

namespace {
/// The factors of a mask_mod that are a causal mask or a window become the
/// mask attribute, which lowerings turn into skipped key blocks.
struct MaskModToMaskAttr
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (op.getMaskMod().empty())
      return failure();
    SmallVector<BandConjunct> conjuncts = findBandConjuncts(op.getMaskMod());
    std::optional<Band> band = getTopLeftBand(op);
    if (conjuncts.empty() || !band)
      return failure();
    for (const BandConjunct &conjunct : conjuncts)
      band->intersect(conjunct.band);
    MaskAttr mask = ::getMaskAttr(op, *band);
    if (!mask)
      return failure();

    rewriter.setInsertionPointToStart(&op.getMaskMod().front());
    Value always = arith::ConstantOp::create(rewriter, op.getLoc(),
                                             rewriter.getBoolAttr(true));
    for (const BandConjunct &conjunct : conjuncts)
      rewriter.modifyOpInPlace(conjunct.use->getOwner(),
                               [&] { conjunct.use->set(always); });
    rewriter.modifyOpInPlace(op, [&] { op.setMaskAttr(mask); });
    return success();
  }
};

/// Drops the bounds of a band that hide nothing at the op's static sizes: a
/// bottom-right causal mask with one query, for one.
struct DropVacuousMaskBounds
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    MaskAttr mask = op.getMaskAttr();
    if (!mask)
      return failure();
    // Lengths of single sequences (cu_seqlens, seqlens_k) are at most the
    // sizes of the tensors, and a bound that hides nothing in a longer sequence
    // hides nothing in a shorter one.
    DimOrder order = getDimOrder(op.getLayout());
    std::optional<int64_t> sq = getStaticSize(op.getQ(), order.seq);
    std::optional<int64_t> sk = getStaticSize(op.getK(), order.seq);
    bool topLeft = mask.getAlignment() == MaskAlignment::TopLeft;
    std::optional<int64_t> rightLimit = topLeft ? sk : sq;
    std::optional<int64_t> leftLimit = topLeft ? sq : sk;

    std::optional<int64_t> left = mask.getLeft(), right = mask.getRight();
    if (left && leftLimit && *left >= *leftLimit - 1)
      left = std::nullopt;
    if (right && rightLimit && *right >= *rightLimit - 1)
      right = std::nullopt;
    if (left == mask.getLeft() && right == mask.getRight())
      return failure();
    MaskAttr smaller;
    if (left || right)
      smaller =
          MaskAttr::get(op.getContext(), left, right, mask.getAlignment());
    rewriter.modifyOpInPlace(op, [&] { op.setMaskAttr(smaller); });
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Results and types
//===----------------------------------------------------------------------===//

/// `op` again with other types for its results and the regions of the old one.
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
/// An LSE that nobody reads is not computed.
struct DropUnusedLse : public OpRewritePattern<SdpaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SdpaOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getLse() || !op.getLse().use_empty())
      return failure();
    auto slim = SdpaOp::create(
        rewriter, op.getLoc(), op.getOut().getType(), /*lse=*/Type(), op.getQ(),
        op.getK(), op.getV(), op.getCuSeqlensQ(), op.getCuSeqlensK(),
        op.getSeqlensK(), op.getSinks(), op.getCaptures(),
        op.getInits().take_front(1), op.getLayoutAttr(), op.getMaskAttr(),
        op.getScaleAttr());
    slim->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    for (auto [from, to] : llvm::zip(op->getRegions(), slim->getRegions()))
      rewriter.inlineRegionBefore(from, to, to.end());
    rewriter.replaceAllUsesWith(op.getOut(), slim.getOut());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Reads through casts that only forget static sizes.
struct FoldTensorCastIntoOperands
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    // Captures and destinations are tied to block arguments and results.
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

/// Gives results the static sizes that the operands have.
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
  patterns.add<EraseTrivialMods, DropUnusedCaptures, MaskModToMaskAttr,
               DropVacuousMaskBounds, DropUnusedLse, FoldTensorCastIntoOperands,
               RefineResultTypes>(getContext());
}
