//===- GradientMatch.cpp - the gradient of matched attention -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// With probabilities p of scores s = f(scale * q k^T), and dout:
//
//   dv[j] = sum_i p[i,j] dout[i]
//   dp[i,j] = dout[i] . v[j]
//   ds[i,j] = p[i,j] (dp[i,j] - delta[i]) scale f'(..),
//   delta[i] = sum_j p[i,j] dp[i,j] = dout[i] . out[i]
//   dq[i] = sum_j ds[i,j] k[j],  dk[j] = sum_i ds[i,j] q[i]
//
// Programs write ds in many ways: with the quotient of p behind or before
// products, with differences multiplied out, as derivatives of the parts of a
// softmax give it. So it is compared as a polynomial in p (or e and l, where p
// = e / l), dp, delta, and what f' is made of.
//
//===----------------------------------------------------------------------===//

#include "GradientMatch.h"
#include "Polynomial.h"
#include "ResultPlace.h"
#include "TensorProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// The gradient of scores
//===----------------------------------------------------------------------===//

namespace {
/// Polynomials of what a gradient is made of, in the dimensions of the match.
class GradientAlgebra : public PolynomialMaker {
public:
  GradientAlgebra(const AttentionMatch &match, ElementTracer &tracer);

  /// Takes `product`, which is dout v^T, for dp, and `dout` for its factor.
  void setProduct(ElementRef product, ElementRef dout);

  /// The polynomial of p.
  Polynomial getProbability() { return probability; }
  /// The polynomial of ds without the factor `scale`, which is a part of the
  /// product in the match; nothing if the derivative of the scores is unknown.
  std::optional<Polynomial> getScoreGradient();

private:
  std::optional<Polynomial> makeKnown(ElementRef element) override;
  void simplify(Polynomial &polynomial) override;
  std::optional<Polynomial> makeSumOverKeys(ElementRef leaf);
  std::optional<Polynomial> makeSumOverElements(ElementRef leaf);
  std::optional<Polynomial> makeExp(ElementRef exponential);
  /// Returns d(element) / d(q k^T), or nothing if an operation has no known
  /// derivative.
  std::optional<Polynomial> differentiate(ElementRef element);
  bool dependsOnProduct(ElementRef element);
  AffineExpr dim(int i) { return getAffineDimExpr(i, match.op->getContext()); }

  const AttentionMatch &match;
  ElementTracer &tracer;
  /// The atoms of p or e, of l, of delta (times l), and of dp.
  unsigned numerator = 0, sum = 0, delta = 0, dp = 0;
  Polynomial probability;
  ElementRef product = nullptr, dout = nullptr;
};
} // namespace

GradientAlgebra::GradientAlgebra(const AttentionMatch &match,
                                 ElementTracer &tracer)
    : match(match), tracer(tracer) {
  const SoftmaxMatch &softmax = match.softmax;
  numerator = getAtom(softmax.softmax ? softmax.softmax : softmax.exponential);
  probability = Polynomial::atom(numerator);
  if (softmax.sum) {
    sum = getAtom(skipCasts(softmax.sum));
    probability = probability.times(Polynomial::atom(sum, -1));
  }
  delta = makeAtom();
  dp = makeAtom();
  for (const ScoreMask &mask : match.masks)
    conditions.push_back(getAtom(mask.condition));
}

void GradientAlgebra::setProduct(ElementRef found, ElementRef factor) {
  product = skipCasts(found);
  dout = factor;
}

/// What is hidden has the probability 0.
void GradientAlgebra::simplify(Polynomial &polynomial) {
  for (const ScoreMask &mask : match.masks) {
    unsigned condition = getAtom(mask.condition);
    Polynomial simple;
    for (const auto &each : polynomial.terms) {
      const Monomial &monomial = each.first;
      double number = each.second;
      auto has = [&](unsigned atom) {
        return llvm::any_of(monomial, [&](auto power) {
          return power.first == atom && power.second > 0;
        });
      };
      Polynomial term;
      if (!has(numerator) || !has(condition)) {
        term.terms[monomial] = number;
      } else if (!mask.isHidden) {
        Monomial rest = monomial;
        llvm::erase_if(rest,
                       [&](auto power) { return power.first == condition; });
        term.terms[rest] = number;
      }
      simple.add(term);
    }
    polynomial = std::move(simple);
  }
}

/// exp(s - (m + log l)) is e / l.
std::optional<Polynomial> GradientAlgebra::makeExp(ElementRef exponential) {
  if (!match.softmax.exponential)
    return std::nullopt;
  Polynomial difference = make(exponential->args[0]);
  difference.add(make(match.softmax.exponential->args[0]), -1);
  const auto *term = difference.getOnlyTerm();
  if (!term || term->second != -1 || term->first.size() != 1 ||
      term->first[0].second != 1)
    return std::nullopt;
  ElementRef logarithm = getElement(term->first[0].first);
  if (!logarithm || !logarithm->isa<math::LogOp>() ||
      !isEqual(skipCasts(logarithm->args[0]), skipCasts(match.softmax.sum)))
    return std::nullopt;
  return probability;
}

/// A row's sum of p dp or of e dp, times something that does not depend on the
/// key.
std::optional<Polynomial> GradientAlgebra::makeSumOverKeys(ElementRef leaf) {
  double init = 1;
  ElementRef added =
      getReduced<arith::AddFOp>(leaf, dim(match.key), tracer, init);
  if (!added || init != 0)
    return std::nullopt;
  Polynomial rest = make(added)
                        .times(Polynomial::atom(numerator, -1))
                        .times(Polynomial::atom(dp, -1));
  const auto *term = rest.getOnlyTerm();
  if (!term || llvm::any_of(term->first, [&](auto power) {
        return !match.softmax.sum || power.first != sum;
      }))
    return std::nullopt;
  return rest.times(Polynomial::atom(delta));
}

/// A row's sum of out dout, which is that of p dp.
std::optional<Polynomial>
GradientAlgebra::makeSumOverElements(ElementRef leaf) {
  double init = 1;
  ElementRef added =
      getReduced<arith::AddFOp>(leaf, dim(match.valueElement), tracer, init);
  if (!added || init != 0)
    return std::nullopt;
  std::optional<double> ratio =
      make(added).dividedBy(make(match.result).times(make(dout)));
  if (!ratio)
    return std::nullopt;
  Polynomial result =
      Polynomial::atom(delta).times(Polynomial::constant(*ratio));
  return match.softmax.sum ? result.times(Polynomial::atom(sum, -1)) : result;
}

std::optional<Polynomial> GradientAlgebra::makeKnown(ElementRef element) {
  if (product && isEqual(element, product))
    return Polynomial::atom(dp);
  if (element->isa<arith::SelectOp>()) {
    ElementRef inner = skipRowGuards(element, match.key, tracer, match.softmax);
    if (inner != element)
      return make(inner);
  }
  for (unsigned atom : {numerator, sum})
    if ((atom != sum || match.softmax.sum) &&
        isEqual(element, getElement(atom)))
      return Polynomial::atom(atom);
  if (element->isa<math::ExpOp>())
    return makeExp(element);
  if (element->kind != Element::Leaf || !product ||
      element->value == match.op->getResult(0))
    return std::nullopt;
  std::optional<Polynomial> known = makeSumOverKeys(element);
  return known ? known : makeSumOverElements(element);
}

bool GradientAlgebra::dependsOnProduct(ElementRef element) {
  bool depends = false;
  walk(element, [&](ElementRef each) {
    depends |= isEqual(skipCasts(each), skipCasts(match.product));
  });
  return depends;
}

std::optional<Polynomial> GradientAlgebra::differentiate(ElementRef element) {
  element = skipCasts(element);
  if (isEqual(element, skipCasts(match.product)))
    return Polynomial::constant(1);
  if (!dependsOnProduct(element))
    return Polynomial();
  SmallVector<Polynomial> args;
  for (ElementRef arg : element->args) {
    std::optional<Polynomial> derivative = differentiate(arg);
    if (!derivative)
      return std::nullopt;
    args.push_back(*derivative);
  }
  auto arg = [&](unsigned i) { return make(element->args[i]); };
  Polynomial result;
  if (element->isa<arith::NegFOp>()) {
    result.add(args[0], -1);
  } else if (element->isa<arith::AddFOp>() || element->isa<arith::SubFOp>()) {
    result = args[0];
    result.add(args[1], element->isa<arith::SubFOp>() ? -1 : 1);
  } else if (element->isa<arith::MulFOp>()) {
    result = args[0].times(arg(1));
    result.add(arg(0).times(args[1]));
  } else if (element->isa<arith::DivFOp>() && args[1].terms.empty()) {
    Polynomial denominator = arg(1);
    const auto *term = denominator.getOnlyTerm();
    if (!term || !term->first.empty())
      return std::nullopt;
    result.add(args[0], 1 / term->second);
  } else if (element->isa<math::TanhOp>()) {
    Polynomial tanh = make(element);
    result = Polynomial::constant(1);
    result.add(tanh.times(tanh), -1);
    result = result.times(args[0]);
  } else {
    return std::nullopt;
  }
  return result;
}

std::optional<Polynomial> GradientAlgebra::getScoreGradient() {
  std::optional<Polynomial> derivative = differentiate(match.scores);
  if (!derivative || derivative->terms.empty())
    return std::nullopt;
  Polynomial difference = Polynomial::atom(dp);
  Polynomial average = Polynomial::atom(delta);
  if (match.softmax.sum)
    average = average.times(Polynomial::atom(sum, -1));
  difference.add(average, -1);
  Polynomial gradient = probability.times(difference).times(*derivative);
  simplify(gradient);
  return gradient;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
class GradientMatcher {
public:
  GradientMatcher(const AttentionMatch &match, ElementTracer &tracer,
                  GradientMatch &gradient,
                  SmallVectorImpl<GradientMiss> &misses)
      : match(match), tracer(tracer), gradient(gradient), misses(misses),
        context(match.op->getContext()) {}
  bool run();

private:
  enum Part { DQ, DK, DV };
  /// A product with a meaning of each of its loops, as expressions in the
  /// dimensions of the match.
  struct Candidate {
    linalg::LinalgOp op;
    SmallVector<AffineExpr> loops;
    /// The factor that is not q, k or dout.
    ElementRef other = nullptr;
    /// What the one that is has to be multiplied with to be `known`.
    double knownFactor = 1;
  };

  AffineExpr dim(int i) { return getAffineDimExpr(i, context); }
  /// The dimensions over which the product of a part goes, the reduction last.
  SmallVector<AffineExpr> getDims(Part part);
  /// Finds the meanings of the loops of `op` for which one of its factors is
  /// `known`.
  std::optional<Candidate> findKnown(linalg::LinalgOp op, Part part,
                                     ElementRef known);
  bool findProduct(ElementRef ds);
  std::string matchScoreGradient(ElementRef ds, double &factor);
  std::string matchPart(linalg::LinalgOp op, Part part);
  std::string setResult(const Candidate &candidate, Part part, double factor);
  void followFactors(Place &place, double &factor, bool mayReshape);
  bool followHeads(Place &place, const AttentionOperand &operand);
  AttentionOperand &resultOf(Part part) {
    return part == DQ ? gradient.dq : part == DK ? gradient.dk : gradient.dv;
  }

  const AttentionMatch &match;
  ElementTracer &tracer;
  GradientMatch &gradient;
  SmallVectorImpl<GradientMiss> &misses;
  MLIRContext *context;
  ElementRef product = nullptr, dout = nullptr;
};
} // namespace

SmallVector<AffineExpr> GradientMatcher::getDims(Part part) {
  SmallVector<AffineExpr> dims;
  AffineExpr batch = match.batch < 0 ? AffineExpr() : dim(match.batch);
  AffineExpr head = match.head < 0 ? AffineExpr() : dim(match.head);
  if (int64_t mergedHeads = match.reading.mergedHeads) {
    dims.push_back(batch * mergedHeads + head);
  } else {
    if (batch)
      dims.push_back(batch);
    if (match.reading.groupLoop >= 0)
      llvm::append_range(dims, match.headLoops);
    else if (head)
      dims.push_back(head);
  }
  dims.push_back(dim(part == DQ ? match.query : match.key));
  dims.push_back(dim(part == DV ? match.valueElement : match.element));
  dims.push_back(dim(part == DQ ? match.key : match.query));
  // Dimensions with one element are no loops that have to be found.
  llvm::erase_if(dims, [&](AffineExpr each) {
    return isa<AffineConstantExpr>(tracer.simplify(each));
  });
  return dims;
}

/// Whether two expressions are made of elements of the same tensors, at
/// whatever indices.
static bool haveSameLeaves(ElementRef a, ElementRef b) {
  SmallVector<Value> leaves[2];
  for (auto [element, values] :
       {std::pair(a, &leaves[0]), std::pair(b, &leaves[1])})
    walk(element, [values = values](ElementRef each) {
      values->push_back(each->value);
    });
  return leaves[0] == leaves[1];
}

std::optional<GradientMatcher::Candidate>
GradientMatcher::findKnown(linalg::LinalgOp op, Part part, ElementRef known) {
  auto factors = getFactors(op, tracer);
  SmallVector<AffineExpr> dims = getDims(part);
  if (!factors)
    return std::nullopt;
  unsigned reduction = *getReduction(op);
  // The parallel loops that have more than one iteration.
  SmallVector<unsigned> longer;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    if (op.getIteratorTypesArray()[i] == utils::IteratorType::parallel &&
        sizes[i] != 1)
      longer.push_back(i);
  if (longer.size() + 1 != dims.size())
    return std::nullopt;
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, dims.size() - 1));
  bool mayBe = false;
  do {
    tracer.startAnew();
    Candidate candidate{op, {}, nullptr, 1};
    candidate.loops.assign(op.getNumLoops(), getAffineConstantExpr(0, context));
    for (auto [loop, i] : llvm::zip(longer, order))
      candidate.loops[loop] = dims[i];
    candidate.loops[reduction] = dims.back();
    // Most products have nothing to do with this attention, in whichever order.
    ElementRef elements[2] = {
        tracer.traceScalar(factors->first, op, candidate.loops),
        tracer.traceScalar(factors->second, op, candidate.loops)};
    if (!elements[0] || !elements[1])
      return std::nullopt;
    for (unsigned i : {0u, 1u}) {
      auto [own, factor] = splitFactor(elements[i]);
      mayBe = mayBe || haveSameLeaves(own, known);
      if (!isEqual(own, known))
        continue;
      candidate.other = elements[1 - i];
      candidate.knownFactor = 1 / factor;
      return candidate;
    }
    if (!mayBe)
      return std::nullopt;
  } while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

/// Finds dout v^T in `ds`.
bool GradientMatcher::findProduct(ElementRef ds) {
  walk(ds, [&](ElementRef each) {
    if (product || !isProduct(each, tracer) || isEqual(each, match.rawProduct))
      return;
    auto op = each->value.getDefiningOp<linalg::LinalgOp>();
    auto factors = *getFactors(op, tracer);
    SmallVector<AffineExpr> loops;
    if (!getLoops(op->getResult(0), each->indices, loops))
      return;
    loops[*getReduction(op)] = dim(match.valueElement);
    if (llvm::is_contained(loops, AffineExpr()))
      return;
    ElementRef elements[2] = {tracer.traceScalar(factors.first, op, loops),
                              tracer.traceScalar(factors.second, op, loops)};
    for (unsigned i : {0u, 1u}) {
      if (!elements[0] || !elements[1] ||
          !isEqual(skipCasts(elements[i]), skipCasts(match.values)))
        continue;
      // What is computed element by element is an operand as it stands there.
      SmallVector<ElementRef, 2> candidates = {skipCasts(elements[1 - i]),
                                               elements[1 - i]};
      for (ElementRef element : candidates)
        for (const Place &place : element->places) {
          AttentionOperand operand;
          if (product ||
              !findOperandAxes(match, tracer, place, "gradients of the output",
                               true, match.query, match.valueElement, operand)
                   .empty())
            continue;
          gradient.dout = operand;
          product = each;
          dout = candidates.front();
        }
    }
  });
  return product;
}

/// Returns why `ds` is not the gradient of the scores, or nothing, and sets
/// `factor` to what it has to be multiplied with.
std::string GradientMatcher::matchScoreGradient(ElementRef ds, double &factor) {
  if (!product && !findProduct(ds))
    return "what is multiplied holds no product of the output's gradient and "
           "the values";
  GradientAlgebra algebra(match, tracer);
  algebra.setProduct(product, dout);
  std::optional<Polynomial> expected = algebra.getScoreGradient();
  if (!expected)
    return "the derivative of what is done with the scores is not one of sums, "
           "products and tanh";
  std::optional<double> ratio = expected->dividedBy(algebra.make(ds));
  if (!ratio)
    return "what is multiplied is not p * (dp - delta), with probabilities p, "
           "dp = dout v^T and delta the sum of p * dp over the keys, times the "
           "derivative of the scores";
  factor = *ratio * match.scale;
  return "";
}

/// Goes on to what becomes of a product by constant factors, as long as
/// `factor` is not 1, by conversions, and, with `mayReshape`, in other shapes.
void GradientMatcher::followFactors(Place &place, double &factor,
                                    bool mayReshape) {
  constexpr double tolerance = 1e-6;
  while (place.tensor.hasOneUse()) {
    std::optional<Place> after =
        followPlace(place, *place.tensor.getUsers().begin(), tracer);
    if (!after || (!mayReshape && after->indices != place.indices))
      return;
    ElementRef own = skipCasts(tracer.trace(place.tensor, place.indices));
    ElementRef next = tracer.trace(after->tensor, after->indices);
    auto [inner, ratio] = splitFactor(next);
    auto [base, ownRatio] = splitFactor(own);
    ratio /= ownRatio;
    bool isDone = std::abs(factor - 1) <= tolerance;
    if (!isEqual(inner, base) || (isDone && ratio != 1))
      return;
    factor /= ratio;
    place = *after;
  }
}

/// Goes on to the sum of a gradient over the query heads that share a key,
/// where there are several.
bool GradientMatcher::followHeads(Place &place,
                                  const AttentionOperand &operand) {
  auto &[value, indices] = place;
  bool isShared =
      match.head >= 0 && !llvm::is_contained(operand.axes, Axis::Head);
  if (operand.group == 1 && !isShared)
    return true;
  unsigned groups = tracer.getNumDims() - kGradientDims;
  AffineExpr head = dim(match.head);
  tracer.setSize(groups + 1, operand.group);
  AffineExpr reduced = isShared ? head : dim(groups + 1);
  Operation *user = value.getDefiningOp();
  Value last = value;
  do {
    if (!last.hasOneUse())
      return false;
    user = *last.getUsers().begin();
    if (user->getNumResults() != 1)
      return false;
    last = user->getResult(0);
  } while (isa<tensor::ExpandShapeOp>(user));
  // The heads of keys are where those of queries were, or in the batch.
  AffineExpr whole = isShared ? head : dim(groups) * operand.group + reduced;
  SmallVector<AffineExpr> summed;
  for (AffineExpr index : indices) {
    if (isShared && index == head)
      continue;
    summed.push_back(index == head ? dim(groups) : index);
  }
  if (cast<ShapedType>(last.getType()).getRank() != int64_t(summed.size()))
    return false;
  Element leaf;
  leaf.value = last;
  leaf.indices = summed;
  double init = 1;
  ElementRef added = getReduced<arith::AddFOp>(&leaf, reduced, tracer, init);
  if (!added || init != 0)
    return false;
  SmallVector<AffineExpr> full;
  for (AffineExpr index : indices)
    full.push_back(index == head ? whole : index);
  if (!isEqual(skipCasts(added), skipCasts(tracer.trace(value, full))))
    return false;
  value = last;
  indices = summed;
  return true;
}

std::string GradientMatcher::setResult(const Candidate &candidate, Part part,
                                       double factor) {
  linalg::LinalgOp op = candidate.op;
  Place place = {op->getResult(0), {}};
  for (AffineExpr result :
       op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults())
    place.indices.push_back(
        candidate.loops[cast<AffineDimExpr>(result).getPosition()]);
  const AttentionOperand &of = part == DQ   ? match.q
                               : part == DK ? match.k
                                            : match.v;
  bool isShared = part != DQ && match.head >= 0 &&
                  (of.group != 1 || !llvm::is_contained(of.axes, Axis::Head));
  // The sum over the heads that share a key has shapes of its own.
  followFactors(place, factor, /*mayReshape=*/!isShared);
  if (part != DQ && match.reading.mergedHeads && of.group != 1)
    return "heads that share keys are merged with the batch";
  if (part != DQ && !followHeads(place, of))
    return "the gradients of heads that share a key are not added up";
  followFactors(place, factor, /*mayReshape=*/true);
  if (std::abs(factor - 1) > 1e-6)
    return "the factor of the scores is not that of their gradient";
  AttentionOperand &result = resultOf(part);
  if (nameResult(match, tracer, place, part == DQ ? match.query : match.key,
                 part == DV ? match.valueElement : match.element, result))
    return "";
  // Heads that share keys are gone, or have a number of their own.
  result = {};
  result.tensor = place.tensor;
  for (AffineExpr index : place.indices) {
    auto plain = dyn_cast<AffineDimExpr>(index);
    int position = plain ? int(plain.getPosition()) : -1;
    if (position < 0) {
      result = {};
      return "the dimensions of the gradient are not those of its operand";
    }
    result.axes.push_back(
        position == match.query || position == match.key ? Axis::Row
        : position == match.element || position == match.valueElement
            ? Axis::Dim
        : position == match.batch ? Axis::Batch
                                  : Axis::Head);
  }
  return "";
}

/// Returns why `op`, which is a product with q, k or dout, is not the gradient
/// `part`; nothing if it is, or is no such product.
std::string GradientMatcher::matchPart(linalg::LinalgOp op, Part part) {
  if (resultOf(part).tensor || (part == DV && !dout))
    return "";
  ElementRef known = part == DQ   ? match.keys
                     : part == DK ? match.queries
                                  : splitFactor(dout).first;
  std::optional<Candidate> candidate = findKnown(op, part, known);
  if (!candidate)
    return "";
  double factor = 1;
  if (part == DV) {
    GradientAlgebra algebra(match, tracer);
    std::optional<double> ratio =
        algebra.getProbability().dividedBy(algebra.make(candidate->other));
    if (!ratio)
      return "what is multiplied with the output's gradient are not the "
             "probabilities";
    factor = *ratio;
  } else if (std::string why = matchScoreGradient(candidate->other, factor);
             !why.empty()) {
    return why;
  }
  // The operand in place of what is multiplied.
  factor *= candidate->knownFactor * (part == DQ   ? match.keyFactor
                                      : part == DK ? match.queryFactor
                                                   : splitFactor(dout).second);
  std::string why = setResult(*candidate, part, factor);
  if (why.empty())
    gradient.products.push_back(op);
  return why;
}

bool GradientMatcher::run() {
  Block *block = match.out.tensor.getDefiningOp()->getBlock();
  SmallVector<linalg::LinalgOp> products;
  Operation *forward = match.rawProduct->value.getDefiningOp();
  for (auto op : block->getOps<linalg::LinalgOp>())
    if (op != forward && op != match.op && getFactors(op, tracer))
      products.push_back(op);
  // dv last: by then it is known which tensor is dout.
  for (Part part : {DQ, DK, DV})
    for (linalg::LinalgOp op : products)
      if (std::string why = matchPart(op, part);
          !why.empty() && !llvm::is_contained(gradient.products, op))
        misses.push_back({op, why});
  if (gradient.products.size() == 3) {
    llvm::sort(gradient.products, [](linalg::LinalgOp a, linalg::LinalgOp b) {
      return a->isBeforeInBlock(b);
    });
    return true;
  }
  std::string missing;
  for (auto [part, name] :
       {std::pair(DQ, "queries"), {DK, "keys"}, {DV, "values"}})
    if (!resultOf(part).tensor)
      missing += (missing.empty() ? "" : " and ") + std::string(name);
  for (linalg::LinalgOp op : gradient.products)
    misses.push_back(
        {op, "there is no gradient of the " + missing + " with it"});
  return false;
}

bool fa4::attn::matchGradient(const AttentionMatch &match,
                              ElementTracer &tracer, GradientMatch &gradient,
                              SmallVectorImpl<GradientMiss> &misses) {
  return GradientMatcher(match, tracer, gradient, misses).run();
}
