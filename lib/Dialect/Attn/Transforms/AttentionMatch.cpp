//===- AttentionMatch.cpp - products around a softmax ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "TensorProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// The softmax
//===----------------------------------------------------------------------===//

namespace {
class Matcher {
public:
  Matcher(linalg::LinalgOp op, ElementTracer &tracer, int64_t mergedHeads,
          AttentionMatch &match, std::string &reason)
      : op(op), tracer(tracer), match(match), reason(reason) {
    match.mergedHeads = mergedHeads;
  }
  bool run();

private:
  bool fail(const Twine &why) {
    reason = why.str();
    return false;
  }
  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, op.getContext()); }
  unsigned numLoops() { return op.getNumLoops(); }

  bool findFactors();
  bool matchProbabilities();
  bool matchQuotient(ElementRef quotient, ElementRef &numerator,
                     ElementRef &sum);
  bool matchLateQuotient();
  bool matchExp(ElementRef exponential);
  bool matchSum(ElementRef exponential, ElementRef sum);
  bool matchScores();
  void takeRounding(ArrayRef<unsigned> positions);
  void splitMask();
  void splitScale();
  /// The loops of the second product, other than its reduction.
  struct OuterLoops {
    SmallVector<int> batches, queries, elements;
  };
  OuterLoops findOuterLoops();
  bool nameLoops(OuterLoops &outer);
  bool findQueriesAndKeys(ElementRef &q, ElementRef &k);
  void orderBatchAndHead(ElementRef q, ElementRef k);
  bool findAxes();

  linalg::LinalgOp op;
  ElementTracer &tracer;
  AttentionMatch &match;
  std::string &reason;
  SmallVector<AffineExpr> loops; ///< Of `op`.
  unsigned reduction = 0;
  OpOperand *left = nullptr, *right = nullptr;
  ElementRef probabilities = nullptr;
};
} // namespace

/// Whether an exponential is part of an expression.
static bool hasExp(ElementRef element) {
  bool found = false;
  walk(element, [&](ElementRef each) {
    found |= each->isa<math::ExpOp>() || each->isa<math::Exp2Op>() ||
             (each->kind == Element::Leaf &&
              each->value.getDefiningOp<linalg::SoftmaxOp>());
  });
  return found;
}

bool Matcher::findFactors() {
  auto factors = getFactors(op, tracer);
  if (!factors)
    return false;
  reduction = *getReduction(op);
  for (unsigned i = 0; i < numLoops(); ++i)
    loops.push_back(dim(i));
  std::tie(left, right) = *factors;
  if (match.mergedHeads) {
    // The batch dimension is the one that both factors and the result have.
    for (unsigned i = 0; i < numLoops(); ++i)
      if (i != reduction &&
          llvm::all_of(ArrayRef{left, right}, [&](OpOperand *operand) {
            return op.getMatchingIndexingMap(operand).isFunctionOfDim(i);
          }))
        loops[i] = dim(numLoops() + 1) * match.mergedHeads + dim(i);
  }
  probabilities = traceOperand(op, left, loops, tracer);
  match.values = traceOperand(op, right, loops, tracer);
  if (!hasExp(probabilities)) {
    std::swap(probabilities, match.values);
    std::swap(left, right);
  }
  return hasExp(probabilities);
}

/// numerator / sum, or numerator * (1 / sum).
bool Matcher::matchQuotient(ElementRef quotient, ElementRef &numerator,
                            ElementRef &denominator) {
  quotient = skipCasts(quotient);
  if (quotient->isa<arith::DivFOp>()) {
    numerator = quotient->args[0];
    denominator = quotient->args[1];
    return true;
  }
  if (quotient->isa<arith::MulFOp>())
    for (unsigned i : {0u, 1u}) {
      ElementRef reciprocal = skipCasts(quotient->args[i]);
      if (!reciprocal->isa<arith::DivFOp>() ||
          !reciprocal->args[0]->isConstant(1))
        continue;
      numerator = quotient->args[1 - i];
      denominator = reciprocal->args[1];
      return true;
    }
  return false;
}

/// The division comes behind the second product, in its only user.
bool Matcher::matchLateQuotient() {
  Value product = op->getResult(0);
  Operation *user = product.hasOneUse() ? *product.getUsers().begin() : nullptr;
  auto generic = dyn_cast_or_null<linalg::LinalgOp>(user);
  bool isElementwise =
      generic ? generic.getNumParallelLoops() == generic.getNumLoops()
              : user && OpTrait::hasElementwiseMappableTraits(user);
  if (!isElementwise || user->getNumResults() != 1)
    return fail("the exponentials are not divided by their sum");
  auto rank = cast<ShapedType>(product.getType()).getRank();
  AffineMap from = AffineMap::getMultiDimIdentityMap(rank, op.getContext());
  AffineMap to = from;
  if (generic) {
    from = generic.getMatchingIndexingMap(&*product.getUses().begin());
    to = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  }
  if (!from.isPermutation() || !to.isPermutation())
    return fail("what divides by the sum has other dimensions");
  AffineMap own = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  // The indices of the quotient at which the product is that of `loops`.
  SmallVector<AffineExpr> ofUser(from.getNumDims());
  for (auto [mine, theirs] : llvm::zip(own.getResults(), from.getResults()))
    ofUser[cast<AffineDimExpr>(theirs).getPosition()] =
        loops[cast<AffineDimExpr>(mine).getPosition()];
  SmallVector<AffineExpr> indices;
  for (AffineExpr result : to.getResults())
    indices.push_back(ofUser[cast<AffineDimExpr>(result).getPosition()]);
  ElementRef numerator = nullptr;
  if (!matchQuotient(tracer.trace(user->getResult(0), indices), numerator,
                     match.sum) ||
      skipCasts(numerator)->value != product)
    return fail("the exponentials are not divided by their sum");
  match.out.tensor = user->getResult(0);
  for (AffineExpr result : to.getResults())
    for (auto [mine, theirs] : llvm::zip(own.getResults(), from.getResults()))
      if (theirs == result)
        match.out.axes.push_back(Axis(cast<AffineDimExpr>(mine).getPosition()));
  return true;
}

bool Matcher::matchExp(ElementRef element) {
  match.exponential = skipCasts(element);
  if (!match.exponential->isa<math::ExpOp>())
    return fail("what is multiplied with the values is no softmax");
  ElementRef difference = skipCasts(match.exponential->args[0]);
  if (!difference->isa<arith::SubFOp>())
    return fail("no row maximum is subtracted from the scores, so that they "
                "may overflow where attn.sdpa does not");
  match.scores = difference->args[0];
  double init = 0;
  ElementRef reduced = getReduced<arith::MaximumFOp, arith::MaxNumFOp>(
      skipCasts(difference->args[1]), dim(reduction), tracer, init);
  if (!reduced)
    return fail("what is subtracted from the scores is not their maximum "
                "over the keys");
  if (!isEqual(skipCasts(reduced), skipCasts(match.scores)))
    return fail("the maximum that is subtracted is one of other numbers than "
                "the scores");
  // The lowest number of f16 is the highest of these that are in use.
  if (!(init <= -65504))
    return fail(llvm::formatv("the maximum begins with {0}, which may be more "
                              "than a score",
                              init));
  return true;
}

bool Matcher::matchSum(ElementRef exponentials, ElementRef denominator) {
  double init = -1;
  ElementRef reduced = getReduced<arith::AddFOp>(skipCasts(denominator),
                                                 dim(reduction), tracer, init);
  if (!reduced || init != 0)
    return fail("what the exponentials are divided by is not their sum over "
                "the keys");
  if (!isEqual(skipCasts(reduced), exponentials))
    return fail("the sum that is divided by is one of other numbers than the "
                "exponentials");
  return true;
}

bool Matcher::matchProbabilities() {
  ElementRef found = skipCasts(probabilities);
  if (found->kind == Element::Leaf) {
    auto softmax = found->value.getDefiningOp<linalg::SoftmaxOp>();
    if (!softmax)
      return fail("what is multiplied with the values is no softmax");
    if (found->indices[softmax.getDimension()] != dim(reduction))
      return fail("the softmax is not over the keys");
    match.scores = tracer.trace(softmax.getInput(), found->indices);
    match.softmax = found;
    return true;
  }
  ElementRef numerator = found;
  if (!matchQuotient(found, numerator, match.sum) && !matchLateQuotient())
    return false;
  return matchExp(numerator) && matchSum(match.exponential, match.sum);
}

//===----------------------------------------------------------------------===//
// The scores
//===----------------------------------------------------------------------===//

/// A comparison that hides keys becomes the mask: select(c, x, -inf), and
/// x + select(c, 0, -inf).
void Matcher::splitMask() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto dependsOnProduct = [&](ElementRef element) {
    bool found = false;
    walk(element,
         [&](ElementRef each) { found |= isEqual(each, match.product); });
    return found;
  };
  auto split = [&](ElementRef select, ElementRef scores, double otherwise) {
    for (unsigned i : {1u, 2u})
      if (select->args[i]->isConstant(-infinity) &&
          (scores ? select->args[3 - i]->isConstant(otherwise) : true) &&
          !dependsOnProduct(select->args[0])) {
        match.visible = select->args[0];
        match.isHidden = i == 1;
        match.scores = scores ? scores : select->args[3 - i];
        return true;
      }
    return false;
  };
  ElementRef top = match.scores;
  if (top->isa<arith::SelectOp>())
    split(top, nullptr, 0);
  else if (top->isa<arith::AddFOp>())
    for (unsigned i : {0u, 1u})
      if (top->args[i]->isa<arith::SelectOp>() &&
          split(top->args[i], top->args[1 - i], 0))
        return;
}

/// A constant factor of the product, wherever it is used.
void Matcher::splitScale() {
  ElementRef scaled = nullptr;
  unsigned uses = 0, scaledUses = 0;
  auto visit = [&](ElementRef each) {
    for (ElementRef arg : each->args)
      uses += isEqual(skipCasts(arg), match.product) &&
              !each->isa<arith::ExtFOp>() && !each->isa<arith::TruncFOp>();
    if (!each->isa<arith::MulFOp>() && !each->isa<arith::DivFOp>())
      return;
    for (unsigned i : {0u, 1u}) {
      std::optional<double> factor = each->args[1 - i]->getConstant();
      bool isDivision = each->isa<arith::DivFOp>();
      if (!factor || *factor == 0 || !std::isfinite(*factor) ||
          !isEqual(skipCasts(each->args[i]), match.product) ||
          !each->type.isF32() || (isDivision && i == 1) ||
          (scaled && !isEqual(scaled, each)))
        continue;
      scaled = each;
      ++scaledUses;
      match.scale = isDivision ? 1 / *factor : *factor;
    }
  };
  walk(match.scores, visit);
  if (scaled && uses == scaledUses)
    match.product = scaled;
  else
    match.scale = 1;
}

bool Matcher::matchScores() {
  ElementRef product = nullptr;
  bool isOne = true;
  walk(match.scores, [&](ElementRef each) {
    if (!isProduct(each, tracer))
      return;
    isOne &= !product || isEqual(product, each);
    product = each;
  });
  if (!product)
    return fail("the softmax is of no product of matrices");
  if (!isOne)
    return fail("the softmax is of several products of matrices");
  match.product = product;
  return true;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

std::string fa4::attn::findOperandAxes(const AttentionMatch &match,
                                       const Element &leaf, StringRef name,
                                       bool hasQueryHeads, int row, int inner,
                                       AttentionOperand &operand) {
  if (leaf.kind != Element::Leaf)
    return ("the " + name +
            " are computed from others, element by element, where they are "
            "multiplied")
        .str();
  operand = {};
  operand.tensor = leaf.value;
  auto isDim = [](AffineExpr index, int position) {
    auto dim = dyn_cast<AffineDimExpr>(index);
    return dim && int(dim.getPosition()) == position;
  };
  for (AffineExpr index : leaf.indices) {
    auto group = dyn_cast<AffineBinaryOpExpr>(index);
    bool isGroup = group && !hasQueryHeads &&
                   index.getKind() == AffineExprKind::FloorDiv &&
                   isDim(group.getLHS(), match.head) &&
                   isa<AffineConstantExpr>(group.getRHS());
    if (isDim(index, row))
      operand.axes.push_back(Axis::Row);
    else if (isDim(index, inner))
      operand.axes.push_back(Axis::Dim);
    else if (isDim(index, match.batch))
      operand.axes.push_back(Axis::Batch);
    else if (isDim(index, match.head) || isGroup) {
      operand.axes.push_back(Axis::Head);
      if (isGroup)
        operand.group = cast<AffineConstantExpr>(group.getRHS()).getValue();
    } else
      return ("a dimension of the " + name +
              " is indexed by more than the batch, the head, the row or the "
              "element")
          .str();
  }
  for (Axis axis : {Axis::Batch, Axis::Head, Axis::Row, Axis::Dim}) {
    bool isThere = llvm::count(operand.axes, axis) == 1;
    bool isNeeded = (axis != Axis::Batch || match.batch >= 0) &&
                    (axis != Axis::Head || (match.head >= 0 && hasQueryHeads));
    if ((!isThere && isNeeded) || llvm::count(operand.axes, axis) > 1)
      return ("the " + name + " are the same for several " +
              (axis == Axis::Batch  ? "batches"
               : axis == Axis::Head ? "heads"
                                    : "rows or elements") +
              ", or are read at a diagonal")
          .str();
  }
  return "";
}

Matcher::OuterLoops Matcher::findOuterLoops() {
  AffineMap ofProbabilities = op.getMatchingIndexingMap(left);
  AffineMap ofValues = op.getMatchingIndexingMap(right);
  OuterLoops outer;
  for (unsigned i = 0; i < numLoops(); ++i) {
    bool inFirst = ofProbabilities.isFunctionOfDim(i),
         inValues = ofValues.isFunctionOfDim(i);
    if (i != reduction)
      (inFirst && inValues ? outer.batches
       : inFirst           ? outer.queries
                           : outer.elements)
          .push_back(i);
  }
  return outer;
}

/// Finds which loops of the second product are the batch, the head, the query
/// and the key.
bool Matcher::nameLoops(OuterLoops &outer) {
  auto &[batches, queries, elements] = outer;
  // Keys and values that all heads share: heads are a second dimension of
  // queries. Either may be called the heads; there are fewer of them.
  std::optional<int> sharing;
  if (queries.size() == 2 && batches.size() < 2 && !match.mergedHeads) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    bool isSecond = !ShapedType::isDynamic(sizes[queries[1]]) &&
                    (ShapedType::isDynamic(sizes[queries[0]]) ||
                     sizes[queries[1]] < sizes[queries[0]]);
    sharing = queries[isSecond];
    queries.erase(queries.begin() + isSecond);
  }
  if (queries.size() != 1 || elements.size() != 1 || batches.size() > 2)
    return fail(llvm::formatv(
        "the second product has {0} dimensions of queries, {1} of elements and "
        "{2} of batches and heads, where attn.sdpa has 1, 1 and 2",
        queries.size(), elements.size(), batches.size()));
  match.query = queries.front();
  match.key = reduction;
  if (!batches.empty())
    match.batch = batches.front();
  if (batches.size() == 2)
    match.head = batches.back();
  if (sharing)
    match.head = *sharing;
  if (match.mergedHeads) {
    if (batches.size() != 1)
      return fail("heads are merged with one of several batch dimensions");
    match.head = batches.front();
    match.batch = numLoops() + 1;
  }
  return true;
}

/// Whether a dimension is part of an index of an expression's elements.
static bool uses(ElementRef element, unsigned position) {
  bool found = false;
  walk(element, [&](ElementRef node) {
    for (AffineExpr index : node->indices)
      found |= index.isFunctionOfDim(position);
  });
  return found;
}

/// Finds which factors of the first product are the queries and the keys.
bool Matcher::findQueriesAndKeys(ElementRef &q, ElementRef &k) {
  auto product = match.product->value.getDefiningOp<linalg::LinalgOp>();
  auto factors = getFactors(product, tracer);
  SmallVector<AffineExpr> inner;
  if (!getLoops(product->getResult(0), match.product->indices, inner))
    return fail("the first product's result has a map that is no permutation");
  AffineExpr element = dim(numLoops());
  inner[*getReduction(product)] = element;
  if (llvm::is_contained(inner, AffineExpr()))
    return fail("the first product has loops that its result does not show");
  q = traceOperand(product, factors->first, inner, tracer);
  k = traceOperand(product, factors->second, inner, tracer);
  if (!uses(q, match.query))
    std::swap(q, k);
  if (!uses(q, match.query) || !uses(k, match.key) || uses(q, match.key) ||
      uses(k, match.query))
    return fail("the first product is not one of queries and keys");
  return true;
}

/// Of two dimensions, heads are the one in which keys or values are shared;
/// else the one that comes second in the queries.
void Matcher::orderBatchAndHead(ElementRef q, ElementRef k) {
  auto isShared = [&](int position) {
    return llvm::none_of(skipCasts(k)->indices, [&](AffineExpr index) {
      return index == dim(position);
    });
  };
  auto first = [&](int position) {
    ArrayRef<AffineExpr> indices = skipCasts(q)->indices;
    return llvm::find(indices, dim(position)) - indices.begin();
  };
  if (isShared(match.batch) ||
      (!isShared(match.head) && first(match.head) < first(match.batch)))
    std::swap(match.batch, match.head);
}

bool Matcher::findAxes() {
  OuterLoops outer = findOuterLoops();
  ElementRef q, k;
  if (!nameLoops(outer) || !findQueriesAndKeys(q, k))
    return false;
  if (outer.batches.size() == 2)
    orderBatchAndHead(q, k);
  match.element = numLoops();
  match.valueElement = outer.elements.front();
  match.queries = q;
  match.keys = k;
  auto set = [&](StringRef name, ElementRef leaf, int row, int inner,
                 AttentionOperand &operand) {
    std::string why = findOperandAxes(match, *skipCasts(leaf), name,
                                      name == "queries", row, inner, operand);
    return why.empty() || fail(why);
  };
  return set("queries", q, match.query, match.element, match.q) &&
         set("keys", k, match.key, match.element, match.k) &&
         set("values", match.values, match.key, match.valueElement, match.v);
}

/// If all that happens to the result is that it is rounded to a narrower type,
/// the op gives that type.
void Matcher::takeRounding(ArrayRef<unsigned> positions) {
  Value result = match.out.tensor;
  Operation *user = result.hasOneUse() ? *result.getUsers().begin() : nullptr;
  if (!user || user->getNumResults() != 1 ||
      !isa<RankedTensorType>(user->getResult(0).getType()) ||
      cast<ShapedType>(user->getResult(0).getType()).getRank() !=
          int64_t(positions.size()))
    return;
  SmallVector<AffineExpr> indices;
  for (unsigned position : positions)
    indices.push_back(loops[position]);
  ElementRef rounded = tracer.trace(user->getResult(0), indices);
  if (rounded->isa<arith::TruncFOp>() &&
      isEqual(rounded->args[0], tracer.trace(result, indices)))
    match.out.tensor = user->getResult(0);
}

bool Matcher::run() {
  if (!findFactors() || !matchProbabilities() || !matchScores() || !findAxes())
    return false;
  ElementRef product = match.rawProduct = match.product;
  splitScale();
  splitMask();
  // The mask may have been all that the factor was used beside.
  if (match.visible && match.product == product)
    splitScale();
  AffineMap own = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<unsigned> positions;
  if (match.out.tensor) {
    for (Axis axis : match.out.axes)
      positions.push_back(unsigned(axis));
  } else {
    match.out.tensor = op->getResult(0);
    for (AffineExpr result : own.getResults())
      positions.push_back(cast<AffineDimExpr>(result).getPosition());
  }
  takeRounding(positions);
  SmallVector<AffineExpr> indices;
  for (unsigned position : positions)
    indices.push_back(loops[position]);
  match.op = op;
  match.result = tracer.trace(match.out.tensor, indices);
  match.out.axes.clear();
  for (unsigned position : positions)
    match.out.axes.push_back(int(position) == match.query   ? Axis::Row
                             : int(position) == match.batch ? Axis::Batch
                             : int(position) == match.head && !match.mergedHeads
                                 ? Axis::Head
                             : int(position) == match.head ? Axis::Batch
                                                           : Axis::Dim);
  return true;
}

bool fa4::attn::matchAttention(linalg::LinalgOp op, ElementTracer &tracer,
                               int64_t mergedHeads, AttentionMatch &match,
                               std::string &reason) {
  return Matcher(op, tracer, mergedHeads, match, reason).run();
}

SmallVector<int64_t> fa4::attn::getAttentionSizes(linalg::LinalgOp op,
                                                  int64_t mergedHeads) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (mergedHeads) {
    // The batch loop counts heads of one batch.
    for (unsigned i = 0; i < op.getNumLoops(); ++i)
      if (llvm::all_of(
              op.getDpsInputOperands(),
              [&](OpOperand *operand) {
                return op.getMatchingIndexingMap(operand).isFunctionOfDim(i);
              }) &&
          op.getIteratorTypesArray()[i] == utils::IteratorType::parallel)
        sizes[i] = mergedHeads;
  }
  sizes.push_back(ShapedType::kDynamic); // Elements of the first product.
  sizes.push_back(ShapedType::kDynamic); // Batches, if heads are merged.
  return sizes;
}

int64_t fa4::attn::findMergedHeads(linalg::LinalgOp op) {
  // Values come through fewer operations than probabilities.
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse)
      continue;
    for (const ReassociationIndices &group :
         collapse.getReassociationIndices()) {
      // All dimensions but the outermost one, which is the batch.
      int64_t heads = 1;
      for (int64_t dim : ArrayRef(group).drop_front()) {
        int64_t size = collapse.getSrcType().getDimSize(dim);
        heads = ShapedType::isDynamic(size) ? 0 : heads * size;
      }
      if (heads > 1)
        return heads;
    }
  }
  return 0;
}
