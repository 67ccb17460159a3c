//===- ModPatterns.cpp - simpler forms of score_mod, mask_mod and mask ----===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModPatterns.h"
#include "MaskModAnalysis.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Dialect/Attn/IR/SimplifyMods.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

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
// Scores of -inf
//===----------------------------------------------------------------------===//

/// Returns the choice by which `scoreMod` gives some scores -inf, which hides
/// their keys, and whether its condition holds for those that are hidden.
static std::optional<std::pair<arith::SelectOp, bool>>
findHidingSelect(Region &scoreMod) {
  auto select = getYielded(scoreMod).getDefiningOp<arith::SelectOp>();
  if (!select)
    return std::nullopt;
  for (bool isHidden : {false, true})
    if (matchPattern(isHidden ? select.getTrueValue() : select.getFalseValue(),
                     m_NegInfFloat()))
      return std::pair(select, isHidden);
  return std::nullopt;
}

/// Collects the operations that `value` is computed from, in their order.
/// Returns false if it depends on the score, or on operations with regions.
static bool collectCondition(Value value, Value score,
                             llvm::SetVector<Operation *> &slice) {
  bool isIndependent = true;
  fa4::visitPostOrder<Value>(
      value,
      [&](Value each) {
        return !isIndependent || slice.contains(each.getDefiningOp());
      },
      [](Value each, SmallVectorImpl<Value> &operands) {
        if (Operation *def = each.getDefiningOp())
          llvm::append_range(operands, def->getOperands());
      },
      [&](Value each) {
        Operation *def = each.getDefiningOp();
        isIndependent &= each != score && (!def || def->getNumRegions() == 0);
        if (def)
          slice.insert(def);
      });
  return isIndependent;
}

namespace {
/// Moves a condition on positions and captures that gives a score of -inf from
/// score_mod to mask_mod. Both mean that the key is hidden, but only in
/// mask_mod is a band of keys looked for.
struct HidingScoreModToMaskMod
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    Region &scoreMod = op.getScoreMod();
    if (scoreMod.empty())
      return failure();
    auto found = findHidingSelect(scoreMod);
    if (!found)
      return failure();
    arith::SelectOp select = found->first;
    bool isHidden = found->second;
    llvm::SetVector<Operation *> slice;
    if (!collectCondition(select.getCondition(), scoreMod.getArgument(0),
                          slice))
      return failure();
    Region &maskMod = getOrCreateMaskMod(op, rewriter);
    Operation *yield = maskMod.front().getTerminator();
    rewriter.setInsertionPoint(yield);
    IRMapping mapping;
    mapping.map(scoreMod.getArguments().drop_front(), maskMod.getArguments());
    for (Operation *each : slice)
      rewriter.clone(*each, mapping);
    Value visible = mapping.lookup(select.getCondition());
    if (isHidden) {
      Value always = arith::ConstantOp::create(rewriter, op.getLoc(),
                                               rewriter.getBoolAttr(true));
      visible =
          arith::XOrIOp::create(rewriter, select.getLoc(), visible, always);
    }
    visible = arith::AndIOp::create(rewriter, select.getLoc(),
                                    yield->getOperand(0), visible);
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, visible); });
    Operation *score = scoreMod.front().getTerminator();
    rewriter.modifyOpInPlace(score, [&] {
      score->setOperand(0, isHidden ? select.getFalseValue()
                                    : select.getTrueValue());
    });
    return success();
  }

private:
  /// A mask_mod that is created shows all keys.
  static Region &getOrCreateMaskMod(AttentionOpInterface op,
                                    PatternRewriter &rewriter) {
    Region &maskMod = op.getMaskMod();
    if (!maskMod.empty())
      return maskMod;
    rewriter.modifyOpInPlace(op, [&] {
      Block &block = maskMod.emplaceBlock();
      for (BlockArgument each : op.getScoreMod().getArguments().drop_front())
        block.addArgument(each.getType(), each.getLoc());
      OpBuilder b = OpBuilder::atBlockEnd(&block);
      Value always =
          arith::ConstantOp::create(b, op.getLoc(), b.getBoolAttr(true));
      YieldOp::create(b, op.getLoc(), always);
    });
    return maskMod;
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

static std::optional<int64_t> getStaticKeyCapacity(AttentionOpInterface op) {
  int64_t keys = getKeyCapacity(op);
  return ShapedType::isDynamic(keys) ? std::nullopt : std::optional(keys);
}

/// Returns Sk - Sq if both lengths are static and the same for every sequence.
static std::optional<int64_t> getStaticShift(AttentionOpInterface op) {
  DimOrder order = getDimOrder(op.getLayout());
  if (order.isPacked() || op.getSeqlensK())
    return std::nullopt;
  std::optional<int64_t> sq = getStaticSize(op.getQ(), order.seq);
  std::optional<int64_t> sk = getStaticKeyCapacity(op);
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

/// Returns `band`, anchored as `alignment` says, without the bounds that hide
/// no key at the op's static sizes.
///
/// The tensors' sizes stand for the lengths of single sequences (cu_seqlens,
/// seqlens_k), which are at most as large: a bound that hides nothing in a
/// longer sequence hides nothing in a shorter one.
static Band dropVacuousBounds(AttentionOpInterface op, Band band,
                              MaskAlignment alignment) {
  DimOrder order = getDimOrder(op.getLayout());
  std::optional<int64_t> sq = getStaticSize(op.getQ(), order.seq);
  std::optional<int64_t> sk = getStaticKeyCapacity(op);
  bool topLeft = alignment == MaskAlignment::TopLeft;
  std::optional<int64_t> rightLimit = topLeft ? sk : sq;
  std::optional<int64_t> leftLimit = topLeft ? sq : sk;
  if (band.left && leftLimit && *band.left >= *leftLimit - 1)
    band.left = std::nullopt;
  if (band.right && rightLimit && *band.right >= *rightLimit - 1)
    band.right = std::nullopt;
  return band;
}

namespace {
/// Moves those factors of a mask_mod that describe a causal mask or a window
/// into the mask attribute, by which lowerings skip key blocks.
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
    Value never = arith::ConstantOp::create(rewriter, op.getLoc(),
                                            rewriter.getBoolAttr(false));
    for (const BandConjunct &conjunct : conjuncts)
      rewriter.modifyOpInPlace(conjunct.use->getOwner(), [&] {
        conjunct.use->set(conjunct.neutral ? always : never);
      });
    rewriter.modifyOpInPlace(op, [&] { op.setMaskAttr(mask); });
    return success();
  }
};

/// Narrows the mask attribute to a band outside of which mask_mod shows no key,
/// so that lowerings skip the key blocks there. The region stays: inside of the
/// band it hides keys, too. For example, keys of the same document of 256 are
/// at most 255 away.
struct NarrowMaskToMaskMod
    : public OpInterfaceRewritePattern<AttentionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(AttentionOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (op.getMaskMod().empty())
      return failure();
    std::optional<Band> implied = findImpliedBand(op.getMaskMod());
    std::optional<Band> band = getTopLeftBand(op);
    if (!implied || !band)
      return failure();
    implied->intersect(*band);
    // A bound that hides nothing would be dropped again.
    auto drop = [&](const Band &each) {
      return dropVacuousBounds(op, each, MaskAlignment::TopLeft);
    };
    Band narrowed = drop(*implied);
    if (narrowed == drop(*band))
      return failure();
    MaskAttr mask = ::getMaskAttr(op, narrowed);
    if (!mask)
      return failure();
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
    Band band{mask.getLeft(), mask.getRight()};
    Band smaller = dropVacuousBounds(op, band, mask.getAlignment());
    if (smaller == band)
      return failure();
    MaskAttr smallerMask;
    if (smaller.left || smaller.right)
      smallerMask = MaskAttr::get(op.getContext(), smaller.left, smaller.right,
                                  mask.getAlignment());
    rewriter.modifyOpInPlace(op, [&] { op.setMaskAttr(smallerMask); });
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

void fa4::attn::populateModPatterns(RewritePatternSet &patterns) {
  patterns.add<EraseTrivialMods, DropUnusedCaptures, HidingScoreModToMaskMod,
               MaskModToMaskAttr, NarrowMaskToMaskMod, DropVacuousMaskBounds>(
      patterns.getContext());
}

static void foldConstants(Region &region) {
  // It does no harm if the greedy driver gives up early.
  if (!region.empty())
    (void)applyPatternsGreedily(region, FrozenRewritePatternSet());
}

/// Lets a score_mod all of whose scores are hidden yield the score itself,
/// where it must stay because derivatives by captures are taken of it. The
/// gradient would multiply probabilities that are 0 by derivatives that are
/// computed from the scores, and may be infinite.
static void bypassHiddenScoreMod(AttentionOpInterface op) {
  Region &scoreMod = op.getScoreMod(), &maskMod = op.getMaskMod();
  if (scoreMod.empty() || maskMod.empty() ||
      !matchPattern(getYielded(maskMod), m_Zero()))
    return;
  scoreMod.front().getTerminator()->setOperand(0, scoreMod.getArgument(0));
  foldConstants(scoreMod);
}

void fa4::attn::simplifyMods(AttentionOpInterface op) {
  MLIRContext *context = op.getContext();
  PatternRewriter rewriter(context);
  foldConstants(op.getScoreMod());
  foldConstants(op.getMaskMod());
  HidingScoreModToMaskMod moveConditions(context);
  while (succeeded(moveConditions.matchAndRewrite(op, rewriter)))
    foldConstants(op.getScoreMod());
  foldConstants(op.getMaskMod());
  if (succeeded(MaskModToMaskAttr(context).matchAndRewrite(op, rewriter)))
    foldConstants(op.getMaskMod());
  (void)NarrowMaskToMaskMod(context).matchAndRewrite(op, rewriter);
  if (failed(EraseTrivialMods(context).matchAndRewrite(op, rewriter)))
    bypassHiddenScoreMod(op);
}
