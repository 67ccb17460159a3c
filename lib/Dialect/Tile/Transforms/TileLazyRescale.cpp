//===- TileLazyRescale.cpp - rescale only when the row max grows much ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ReferenceAnalysis.h"
#include "fa4/Dialect/Tile/Analysis/RowExponent.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Target/LaunchLimits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILELAZYRESCALE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

namespace {
/// A row max that a loop carries, and the factor that converts sums to the
/// units of the next row max. The names are those of the pass's description.
struct CarriedMax {
  scf::ForOp loop;
  /// m and m'.
  Value carried, next;
  /// f, its select and the comparison; null where f is m'.
  arith::SelectOp finite;
  arith::CmpFOp isEmpty;
  /// Rows where m is less have summed nothing; -inf means rows where m is -inf.
  float leastMax = -std::numeric_limits<float>::infinity();
  /// m - f.
  arith::SubFOp difference;
  /// c; null for 1.
  Value scale;
  /// a.
  math::Exp2Op factor;

  Value getFinite() { return finite ? finite.getResult() : next; }
};
} // namespace

/// Returns true if `value` is the maximum of `carried` and something else.
static bool joinsMax(Value value, Value carried) {
  Operation *op = value.getDefiningOp();
  if (auto reduction = dyn_cast_if_present<vector::MultiDimReductionOp>(op))
    return (reduction.getKind() == vector::CombiningKind::MAXNUMF ||
            reduction.getKind() == vector::CombiningKind::MAXIMUMF) &&
           reduction.getAcc() == carried;
  return isa_and_present<arith::MaxNumFOp, arith::MaximumFOp>(op) &&
         llvm::is_contained(op->getOperands(), carried);
}

/// exp2 of a smaller number is 0 in f32.
static constexpr float kLeastExponent = -150;

/// Matches f = (next == -inf) ? 0 : next, and f = (next < bound) ? 0 : next for
/// a bound below which exponentials relative to 0 are 0.
static bool matchFinite(Value value, CarriedMax &max) {
  if (value == max.next)
    return true;
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select || select.getFalseValue() != max.next)
    return false;
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  std::optional<APFloat> zero = getSplat(select.getTrueValue());
  if (!compare || compare.getLhs() != max.next || !zero || !zero->isZero())
    return false;
  std::optional<APFloat> bound = getSplat(compare.getRhs());
  if (compare.getPredicate() == arith::CmpFPredicate::OLT && bound &&
      bound->isFinite())
    max.leastMax = bound->convertToFloat();
  else if (compare.getPredicate() != arith::CmpFPredicate::OEQ ||
           !matchPattern(compare.getRhs(), m_NegInfFloat()))
    return false;
  max.finite = select;
  max.isEmpty = compare;
  return true;
}

/// Returns true if a row whose maximum is below leastMax has a sum of 0 so far.
static bool isLeastMaxLow(CarriedMax max) {
  double scale = max.scale ? getSplat(max.scale)->convertToDouble() : 1.0;
  return max.leastMax * scale <= kLeastExponent;
}

/// Matches a = exp2(difference * c).
static bool matchFactor(arith::SubFOp difference, CarriedMax &max) {
  Value exponent = difference;
  if (!exponent.hasOneUse())
    return false;
  if (auto product = dyn_cast<arith::MulFOp>(*exponent.user_begin())) {
    max.scale =
        product.getLhs() == exponent ? product.getRhs() : product.getLhs();
    std::optional<APFloat> scale = getSplat(max.scale);
    if (!scale ||
        !(scale->isFinite() && !scale->isNegative() && scale->isNonZero()))
      return false;
    exponent = product;
    if (!exponent.hasOneUse())
      return false;
  }
  max.factor = dyn_cast<math::Exp2Op>(*exponent.user_begin());
  return bool(max.factor);
}

/// Returns true if all uses of m' and f stand behind both: their replacements
/// are built there.
static bool areUsesBelow(CarriedMax max) {
  Operation *definition = max.getFinite().getDefiningOp();
  return llvm::all_of(max.next.getUsers(), [&](Operation *user) {
    if (user == max.finite || user == max.isEmpty)
      return true;
    Operation *ancestor = definition->getBlock()->findAncestorOpInBlock(*user);
    return ancestor && definition->isBeforeInBlock(ancestor);
  });
}

static std::optional<CarriedMax> matchCarriedMax(scf::ForOp loop, unsigned i) {
  CarriedMax max;
  max.loop = loop;
  max.carried = loop.getRegionIterArgs()[i];
  max.next = loop.getYieldedValues()[i];
  auto type = dyn_cast<VectorType>(max.carried.getType());
  if (!type || type.getRank() != 1 || !type.getElementType().isF32() ||
      !matchPattern(loop.getInitArgs()[i], m_NegInfFloat()) ||
      !joinsMax(max.next, max.carried))
    return std::nullopt;
  for (Operation *user : max.carried.getUsers()) {
    if (user == max.next.getDefiningOp())
      continue;
    auto difference = dyn_cast<arith::SubFOp>(user);
    // Another user of m may need the true maximum, which the carried value will
    // not be any more.
    if (!difference || max.difference || difference.getLhs() != max.carried)
      return std::nullopt;
    max.difference = difference;
  }
  if (!max.difference || !matchFinite(max.difference.getRhs(), max) ||
      !matchFactor(max.difference, max) || !isLeastMaxLow(max) ||
      max.next.getDefiningOp()->getBlock() != loop.getBody() ||
      max.getFinite().getDefiningOp()->getBlock() != loop.getBody() ||
      !areUsesBelow(max))
    return std::nullopt;
  return max;
}

/// Returns true if the maximum m' bounds all exponents in sums: each is k * s -
/// f with scores s and m' >= k * s. Then rows whose m is -inf have summed
/// nothing. Otherwise they may have summed much: the exponents may be of
/// another tile than the reduced one, or be scaled by another number.
static bool boundsExponents(CarriedMax max, const ReferenceAnalysis &analysis) {
  return !fa4::anyIn(max.loop, [&](math::Exp2Op op) {
    if (op == max.factor || !analysis.get(op.getOperand()))
      return false;
    std::optional<RowExponent> form = matchRowExponent(op.getOperand());
    if (!form || form->reference != max.getFinite() || form->offset > 0)
      return true;
    std::optional<double> slack =
        getSlack(max.next, form->scores, form->scale / form->referenceScale);
    return !slack || !(*slack <= 0);
  });
}

/// Returns true if the kernel's results do not depend on the choice of the
/// reference m, provided that all sums are in units of it.
static bool isAnyReferenceRight(CarriedMax max, ReferenceAnalysis &analysis) {
  Dependence reference{max.scale ? Dependence::Log : Dependence::ScaledLog, 1};
  analysis.set(max.next, reference);
  analysis.set(max.getFinite(), reference);
  analysis.set(max.factor, Dependence{Dependence::Factor});
  // The operations between m, m' and the factor must have no other users.
  Operation *exponent = max.factor.getOperand().getDefiningOp();
  for (Operation *op :
       {max.next.getDefiningOp(), exponent, max.difference.getOperation(),
        max.factor.getOperation()})
    analysis.ignore(op);
  if (max.finite) {
    analysis.ignore(max.finite);
    analysis.ignore(max.isEmpty);
  }

  // The values that are multiplied by the factor are sums. They begin at 0, so
  // the factor of the first block does not matter.
  SmallVector<unsigned> sums;
  for (BlockArgument argument : max.loop.getRegionIterArgs()) {
    unsigned i = argument.getArgNumber() - 1;
    bool isSum = llvm::any_of(argument.getUsers(), [&](Operation *user) {
      auto product = dyn_cast<arith::MulFOp>(user);
      if (!product)
        return false;
      Value other =
          product.getLhs() == argument ? product.getRhs() : product.getLhs();
      return other == max.factor || getRowFactors(other) == max.factor;
    });
    if (!isSum)
      continue;
    std::optional<APFloat> init = getSplat(max.loop.getInitArgs()[i]);
    if (!init || !init->isZero())
      return false;
    analysis.set(argument, Dependence{Dependence::OldSum});
    sums.push_back(i);
  }
  for (Operation &op : max.loop.getBody()->without_terminator())
    if (failed(analysis.visit(&op)))
      return false;
  for (auto [i, value] : llvm::enumerate(max.loop.getYieldedValues())) {
    std::optional<Dependence> yielded = analysis.get(value);
    if (llvm::is_contained(sums, i)) {
      if (!yielded || yielded->kind != Dependence::Linear ||
          yielded->degree != 1)
        return false;
    } else if (value != max.next && yielded) {
      return false;
    }
    analysis.set(max.loop.getResult(i), yielded);
  }
  for (Operation *op = max.loop->getNextNode(); op; op = op->getNextNode())
    if (failed(analysis.visit(op)))
      return false;
  return boundsExponents(max, analysis);
}

//===----------------------------------------------------------------------===//
// The threshold
//===----------------------------------------------------------------------===//

namespace {
/// The largest threshold, and the sentence that says why.
struct ThresholdLimit {
  double limit;
  std::string reason;
};
} // namespace

/// Returns the limit that sums set. Probabilities are at most 2^threshold. A
/// sum has at most kMaxSize of them, and its reciprocal must not be subnormal.
static ThresholdLimit getSumLimit() {
  int largest = -APFloat::semanticsMinExponent(APFloat::IEEEsingle());
  int terms = llvm::Log2_64(kMaxSize);
  return {double(largest - terms),
          llvm::formatv("so that sums of 2^{0} probabilities of up to "
                        "2^threshold, and their reciprocals, are normal "
                        "numbers of f32",
                        terms)};
}

/// Returns the lowest limit: that of sums, or of a type to which probabilities
/// are rounded.
static ThresholdLimit getLimit(CarriedMax max,
                               const ReferenceAnalysis &analysis) {
  ThresholdLimit result = getSumLimit();
  max.loop->walk([&](arith::TruncFOp truncate) {
    std::optional<Dependence> source = analysis.get(truncate.getIn());
    if (!source || source->kind != Dependence::Linear || source->degree < 1)
      return;
    auto type = cast<FloatType>(getElementTypeOrSelf(truncate.getType()));
    int exponent = APFloat::semanticsMaxExponent(type.getFloatSemantics());
    double limit = double(exponent) / source->degree;
    if (limit >= result.limit)
      return;
    std::string name;
    llvm::raw_string_ostream(name) << type;
    result = {limit, llvm::formatv("so that probabilities of up to 2^threshold "
                                   "can be rounded to {0}",
                                   name)};
  });
  return result;
}

static LogicalResult checkThreshold(Operation *op, double threshold,
                                    const ThresholdLimit &limit) {
  // The comparisons are false for NaN, so NaN is refused.
  if (threshold >= 0 && threshold <= limit.limit)
    return success();
  return op->emitError()
         << llvm::formatv("tile-lazy-rescale: the threshold must be from 0 to "
                          "{0}, {1}; got {2}",
                          llvm::format("%g", limit.limit), limit.reason,
                          llvm::format("%g", threshold))
                .str();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

static Value splat(CarriedMax max, double value) {
  OpBuilder b = OpBuilder::atBlockBegin(
      &max.loop->getParentOfType<KernelOp>().getBody().front());
  auto type = cast<VectorType>(max.carried.getType());
  return arith::ConstantOp::create(
      b, max.next.getLoc(),
      DenseElementsAttr::get(type, APFloat(float(value))));
}

/// Keeps the old reference in rows where m would grow by no more than the
/// threshold.
static void keepMax(CarriedMax max, double threshold) {
  Value finite = max.getFinite();
  ImplicitLocOpBuilder b(max.next.getLoc(), max.loop.getContext());
  b.setInsertionPointAfterValue(finite);
  Value grown = arith::SubFOp::create(b, finite, max.carried);
  SmallPtrSet<Operation *, 8> ours = {grown.getDefiningOp(), max.finite,
                                      max.isEmpty};
  if (max.scale) {
    // A new constant is built, because the existing one may be defined further
    // down.
    Value scale = splat(max, getSplat(max.scale)->convertToDouble());
    grown = arith::MulFOp::create(b, grown, scale);
  }
  Value keep = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, grown,
                                     splat(max, threshold));
  Value next = arith::SelectOp::create(b, keep, max.carried, max.next);
  ours.insert(next.getDefiningOp());
  if (max.finite) {
    Value newFinite = arith::SelectOp::create(b, keep, max.carried, finite);
    ours.insert(newFinite.getDefiningOp());
    finite.replaceAllUsesExcept(newFinite, ours);
  }
  Value previous = max.next;
  previous.replaceAllUsesExcept(next, ours);
}

/// Makes the factor 1 in rows where m is -inf or too low. Nothing has been
/// summed there, so any factor is right, and 1 costs nothing. Returns the new
/// factor.
static Value ignoreFreshSums(CarriedMax max) {
  ImplicitLocOpBuilder b(max.next.getLoc(), max.loop.getContext());
  b.setInsertionPointAfter(max.factor);
  auto predicate = std::isinf(max.leastMax) ? arith::CmpFPredicate::OEQ
                                            : arith::CmpFPredicate::OLT;
  Value isFresh = arith::CmpFOp::create(b, predicate, max.carried,
                                        splat(max, max.leastMax));
  Value factor = max.factor;
  auto select = arith::SelectOp::create(b, isFresh, splat(max, 1.0), factor);
  factor.replaceAllUsesExcept(select, select);
  return select;
}

/// Replaces products of accumulators that `loop` carries with rows of `factor`
/// by tile.rescale.
static void rescaleAccumulators(scf::ForOp loop, Value factor) {
  for (arith::MulFOp product :
       llvm::make_early_inc_range(loop.getBody()->getOps<arith::MulFOp>())) {
    Value accumulator = product.getLhs(), rows = product.getRhs();
    if (getRowFactors(accumulator) == factor)
      std::swap(accumulator, rows);
    auto argument = dyn_cast<BlockArgument>(accumulator);
    if (getRowFactors(rows) != factor || !argument ||
        argument.getOwner() != loop.getBody() || !product->hasOneUse())
      continue;
    auto mma = dyn_cast<MmaOp>(*product->user_begin());
    if (!mma || mma.getAcc() != product)
      continue;
    OpBuilder b(product);
    product.replaceAllUsesWith(
        Value(RescaleOp::create(b, product.getLoc(), accumulator, factor)));
    auto broadcast = rows.getDefiningOp();
    Operation *cast = broadcast->getOperand(0).getDefiningOp();
    product.erase();
    for (Operation *dead : {broadcast, cast})
      if (dead->use_empty())
        dead->erase();
  }
}

namespace {
struct TileLazyRescale
    : public fa4::tile::impl::TileLazyRescaleBase<TileLazyRescale> {
  using TileLazyRescaleBase::TileLazyRescaleBase;

  void runOnOperation() override {
    if (failed(checkThreshold(getOperation(), threshold, getSumLimit())))
      return signalPassFailure();
    SmallVector<CarriedMax> found;
    bool isGood = true;
    getOperation().walk([&](scf::ForOp loop) {
      for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
        std::optional<CarriedMax> max = matchCarriedMax(loop, i);
        if (!max)
          continue;
        APFloat one(1.0f);
        ReferenceAnalysis analysis(max->scale ? *getSplat(max->scale) : one);
        if (!isAnyReferenceRight(*max, analysis))
          continue;
        // All loops of a kernel are alike, so one error says enough.
        isGood = isGood && succeeded(checkThreshold(loop, threshold,
                                                    getLimit(*max, analysis)));
        found.push_back(*max);
      }
    });
    if (!isGood)
      return signalPassFailure();
    for (CarriedMax max : found) {
      if (threshold > 0)
        keepMax(max, threshold);
      rescaleAccumulators(max.loop, ignoreFreshSums(max));
    }
    if (found.empty())
      return;
    // Merges the new constants with equal ones that are there already.
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};
} // namespace
