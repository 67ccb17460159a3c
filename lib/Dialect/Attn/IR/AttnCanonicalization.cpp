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

static Value getYielded(Region &region) {
  return region.front().getTerminator()->getOperand(0);
}

/// Returns true for a score_mod that yields its score unchanged or whose scores
/// are all hidden, and for a mask_mod that shows every key.
static bool isTrivial(AttentionOpInterface op, Region &region) {
  Region &maskMod = op.getMaskMod();
  if (&region == &maskMod)
    return matchPattern(getYielded(maskMod), m_One());
  return getYielded(region) == region.getArgument(0) ||
         (!maskMod.empty() && matchPattern(getYielded(maskMod), m_Zero()));
}

/// Returns the numbers of the captures whose gradients `op` gives.
static ArrayRef<int64_t> getWrt(AttentionOpInterface op) {
  auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation());
  return backward ? backward.getWrt() : ArrayRef<int64_t>();
}

namespace {
/// Removes a score_mod or mask_mod that has no effect, unless the op has
/// gradients of captures, which are derivatives of the score_mod.
struct EraseTrivialMods
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    if (!getWrt(op).empty())
      return failure();
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

/// Removes captured values that neither region uses, unless captures are known
/// by their numbers.
struct DropUnusedCaptures
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    auto mods = op.getMods();
    if (!getWrt(op).empty())
      return failure();
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

/// Returns the size of dimension `dim` of `value` if that size is static.
static std::optional<int64_t> getStaticSize(Value value, unsigned dim) {
  int64_t size = cast<ShapedType>(value.getType()).getDimSize(dim);
  return ShapedType::isDynamic(size) ? std::nullopt
                                     : std::optional<int64_t>(size);
}

/// Returns Sk - Sq if both lengths are static and the same for every sequence.
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

/// Returns the mask attribute as a top-left aligned band, or nothing if the
/// band depends on dynamic lengths.
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

/// Returns the attribute for a top-left aligned band. A band that is a causal
/// mask when anchored at the bottom right is written so. Returns null if no
/// query would see a key.
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
/// Moves those factors of a mask_mod that describe a causal mask or a window
/// into the mask attribute: lowerings skip key blocks by the attribute, but
/// cannot read a region.
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

/// Removes the bounds of a band that hide no key at the op's static sizes. For
/// example, a bottom-right causal mask hides nothing from a single query.
struct DropVacuousMaskBounds
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    MaskAttr mask = op.getMaskAttr();
    if (!mask)
      return failure();
    // The tensors' sizes stand for the lengths of single sequences (cu_seqlens,
    // seqlens_k), which are at most as large: a bound that hides nothing in a
    // longer sequence hides nothing in a shorter one.
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
  patterns.add<EraseTrivialMods, DropUnusedCaptures, MaskModToMaskAttr,
               DropVacuousMaskBounds, DropUnusedLse, FoldTensorCastIntoOperands,
               RefineResultTypes>(getContext());
}
