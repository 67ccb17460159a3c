//===- AttentionMatch.cpp - products around a softmax ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "ResultPlace.h"
#include "TensorProduct.h"
#include "TensorSize.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// The loops of the second product, other than its reduction.
struct OuterLoops {
  SmallVector<int> batches, queries, elements;
};
} // namespace

static OuterLoops findOuterLoops(linalg::LinalgOp op, Value probabilities,
                                 Value values) {
  llvm::SmallBitVector ofProbabilities = getUsedLoops(op, probabilities),
                       ofValues = getUsedLoops(op, values);
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  OuterLoops outer;
  for (unsigned i = 0; i < op.getNumLoops(); ++i)
    if (kinds[i] == utils::IteratorType::parallel)
      (ofProbabilities[i] && ofValues[i] ? outer.batches
       : ofProbabilities[i]              ? outer.queries
                                         : outer.elements)
          .push_back(i);
  return outer;
}

/// The number of heads in the batch dimension of the second product, as the
/// reshapes of its operands say; 0 if they say nothing.
static int64_t findMergedHeads(linalg::LinalgOp op) {
  // Values come through fewer operations than probabilities.
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Operation *reshape = operand->get().getDefiningOp();
    std::optional<ReshapeGroups> groups = getReshapeGroups(reshape);
    if (!groups)
      continue;
    auto source = cast<RankedTensorType>(reshape->getOperand(0).getType());
    for (const ReassociationIndices &group : groups->source) {
      // All dimensions but the outermost one, which is the batch.
      int64_t heads = 1;
      for (int64_t dim : ArrayRef(group).drop_front(!group.empty())) {
        int64_t size = source.getDimSize(dim);
        heads = ShapedType::isDynamic(size) ? 0 : heads * size;
      }
      if (heads > 1)
        return heads;
    }
  }
  return 0;
}

SmallVector<LoopReading> fa4::attn::getLoopReadings(linalg::LinalgOp op,
                                                    ElementTracer &tracer) {
  auto factors = getFactors(op, tracer);
  if (!factors)
    return {};
  SmallVector<LoopReading> readings;
  int64_t mergedHeads = findMergedHeads(op);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (bool isSwapped : {false, true}) {
    auto [left, right] = *factors;
    if (isSwapped)
      std::swap(left, right);
    LoopReading reading;
    reading.isSwapped = isSwapped;
    OuterLoops outer = findOuterLoops(op, left, right);
    auto &[batches, queries, elements] = outer;
    // Heads that are merged with batches first: what takes each of them for a
    // batch does not see which of them share keys.
    if (mergedHeads && batches.size() == 1) {
      reading.mergedHeads = mergedHeads;
      readings.push_back(reading);
      reading.mergedHeads = 0;
    }
    // There are mostly fewer heads than queries.
    auto getSize = [&](int loop) {
      return ShapedType::isDynamic(sizes[loop])
                 ? std::numeric_limits<int64_t>::max()
                 : sizes[loop];
    };
    llvm::sort(queries, [&](int a, int b) {
      return std::pair(getSize(a), a) < std::pair(getSize(b), b);
    });
    if (queries.size() == 2 && !batches.empty())
      for (int group : queries)
        for (int head : llvm::reverse(batches))
          if (!ShapedType::isDynamic(sizes[group])) {
            reading.groupLoop = group;
            reading.headLoop = head;
            readings.push_back(reading);
          }
    reading.groupLoop = reading.headLoop = -1;
    readings.push_back(reading);
  }
  return readings;
}

SmallVector<int64_t> fa4::attn::getAttentionSizes(linalg::LinalgOp op,
                                                  const LoopReading &reading) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t heads = ShapedType::kDynamic;
  if (reading.groupLoop >= 0 && !ShapedType::isDynamic(sizes[reading.headLoop]))
    heads = sizes[reading.headLoop] * sizes[reading.groupLoop];
  int64_t batches = ShapedType::kDynamic;
  if (reading.mergedHeads)
    // The batch loop counts heads of one batch.
    for (unsigned i = 0; i < op.getNumLoops(); ++i)
      if (llvm::all_of(
              op.getDpsInputOperands(),
              [&](OpOperand *operand) {
                return op.getMatchingIndexingMap(operand).isFunctionOfDim(i);
              }) &&
          op.getIteratorTypesArray()[i] == utils::IteratorType::parallel) {
        if (!ShapedType::isDynamic(sizes[i]))
          batches = sizes[i] / reading.mergedHeads;
        sizes[i] = reading.mergedHeads;
      }
  sizes.push_back(ShapedType::kDynamic); // Elements of the first product.
  sizes.push_back(batches);              // If heads are merged with them.
  sizes.push_back(heads);                // If they are two loops.
  return sizes;
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

namespace {
class Matcher {
public:
  Matcher(linalg::LinalgOp op, ElementTracer &tracer, AttentionMatch &match,
          std::string &reason)
      : op(op), tracer(tracer), match(match), reason(reason) {}
  bool run();

private:
  bool fail(const Twine &why) {
    reason = why.str();
    return false;
  }
  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, op.getContext()); }
  unsigned numLoops() { return op.getNumLoops(); }

  bool findFactors();
  void setLoops(ArrayRef<int> batches);
  bool matchLateQuotient();
  bool matchProduct();
  void splitScale();
  bool nameLoops();
  bool outline(linalg::LinalgOp product, Value factor);
  bool findQueriesAndKeys(ElementRef &q, ElementRef &k);
  void orderBatchAndHead(ElementRef q, ElementRef k);
  bool findOperands();
  bool followUser(Operation *user);
  bool followResult();

  linalg::LinalgOp op;
  ElementTracer &tracer;
  AttentionMatch &match;
  std::string &reason;
  SmallVector<AffineExpr> loops; ///< Of `op`.
  unsigned reduction = 0;
  OuterLoops outer;
  ElementRef probabilities = nullptr;
  Value valueFactor; ///< In the body of `op`.
  /// Where the result is.
  Place result;
};
} // namespace

/// Whether an exponential is part of an expression.
static bool hasExp(ElementRef element) {
  return contains(element, [](ElementRef each) {
    return each->isa<math::ExpOp>() || each->isa<math::Exp2Op>() ||
           (each->kind == Element::Leaf &&
            each->value.getDefiningOp<linalg::SoftmaxOp>());
  });
}

/// Says what the loops are in the dimensions of the match.
void Matcher::setLoops(ArrayRef<int> batches) {
  const LoopReading &reading = match.reading;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (unsigned i = 0; i < numLoops(); ++i)
    loops.push_back(i != reduction && kinds[i] == utils::IteratorType::reduction
                        ? getAffineConstantExpr(0, op.getContext())
                        : tracer.simplify(dim(i)));
  if (reading.mergedHeads && batches.size() == 1)
    match.headLoops[0] = loops[batches.front()] =
        dim(numLoops() + 1) * reading.mergedHeads + dim(batches.front());
  if (reading.groupLoop >= 0) {
    int64_t group = op.getStaticLoopRanges()[reading.groupLoop];
    AffineExpr head = dim(numLoops() + 2);
    match.headLoops[0] = loops[reading.headLoop] =
        tracer.simplify(head.floorDiv(group));
    match.headLoops[1] = loops[reading.groupLoop] =
        tracer.simplify(head % group);
  }
}

bool Matcher::findFactors() {
  auto factors = getFactors(op, tracer);
  if (!factors)
    return false;
  reduction = *getReduction(op);
  auto [left, right] = *factors;
  if (match.reading.isSwapped)
    std::swap(left, right);
  valueFactor = right;
  outer = findOuterLoops(op, left, right);
  setLoops(outer.batches);
  probabilities = tracer.traceScalar(left, op, loops);
  match.values = tracer.traceScalar(right, op, loops);
  if (!probabilities || !hasExp(probabilities))
    return false;
  return match.values || outline(op, right);
}

/// The division comes behind the second product, in its only user.
bool Matcher::matchLateQuotient() {
  Value product = op->getResult(0);
  Operation *user = product.hasOneUse() ? *product.getUsers().begin() : nullptr;
  auto generic = dyn_cast_or_null<linalg::LinalgOp>(user);
  bool isElementwise =
      generic ? generic.getNumParallelLoops() == generic.getNumLoops()
              : user && OpTrait::hasElementwiseMappableTraits(user);
  if (!isElementwise || user->getNumResults() != 1 ||
      !isa<RankedTensorType>(user->getResult(0).getType()))
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
  // The indices of the quotient at which the product is that of `loops`.
  SmallVector<AffineExpr> ofUser(from.getNumDims());
  for (auto [mine, theirs] : llvm::zip(result.indices, from.getResults()))
    ofUser[cast<AffineDimExpr>(theirs).getPosition()] = mine;
  Place quotient = {user->getResult(0), {}};
  for (AffineExpr index : to.getResults())
    quotient.indices.push_back(
        ofUser[cast<AffineDimExpr>(index).getPosition()]);
  ElementRef element =
      skipCasts(tracer.trace(quotient.tensor, quotient.indices));
  ElementRef numerator = nullptr, divisor = nullptr;
  if (element->isa<arith::DivFOp>()) {
    numerator = element->args[0];
    divisor = element->args[1];
  } else if (element->isa<arith::MulFOp>()) {
    for (unsigned i : {0u, 1u})
      if (ElementRef reciprocal = skipCasts(element->args[i]);
          reciprocal->isa<arith::DivFOp>() &&
          reciprocal->args[0]->isConstant(1)) {
        numerator = element->args[1 - i];
        divisor = reciprocal->args[1];
      }
  }
  if (!numerator || skipCasts(numerator)->value != product)
    return fail("the exponentials are not divided by their sum");
  if (!matchDivisor(divisor, reduction, tracer, match.softmax, reason))
    return false;
  result = quotient;
  return true;
}

//===----------------------------------------------------------------------===//
// The scores
//===----------------------------------------------------------------------===//

/// A constant factor of the product, wherever it is used.
void Matcher::splitScale() {
  ElementRef scaled = nullptr;
  unsigned uses = 0, scaledUses = 0;
  double scale = 1;
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
          (isDivision && i == 1) || (scaled && !isEqual(scaled, each)))
        continue;
      scaled = each;
      ++scaledUses;
      scale = isDivision ? 1 / *factor : *factor;
    }
  };
  walk(match.scores, visit);
  if (!scaled || uses != scaledUses)
    return;
  match.product = scaled;
  match.scale *= scale;
}

/// The name of an operation that is not looked into, and what to do about it.
static std::string describeOpaque(ElementRef leaf) {
  Operation *op = leaf->value.getDefiningOp();
  if (!op || isa<linalg::LinalgOp>(op))
    return "";
  std::string name = op->getName().getStringRef().str();
  return ": they come from " + name +
         (isa<CallOpInterface>(op) ? ", which --inline would have resolved"
                                   : ", which is not looked into");
}

bool Matcher::matchProduct() {
  ElementRef product = nullptr, opaque = nullptr;
  bool isOne = true;
  walk(match.scores, [&](ElementRef each) {
    if (each->kind == Element::Leaf && dependsOn(each, reduction) &&
        each->value.getDefiningOp())
      opaque = each;
    if (!isProduct(each, tracer))
      return;
    isOne &= !product || isEqual(product, each);
    product = each;
  });
  if (!product)
    return fail("the softmax is of no product of matrices" +
                (opaque ? describeOpaque(opaque) : ""));
  if (!isOne)
    return fail("the softmax is of several products of matrices");
  match.product = match.rawProduct = product;
  return true;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

static StringRef getName(Axis axis) {
  switch (axis) {
  case Axis::Batch:
    return "batches";
  case Axis::Head:
  case Axis::Group:
    return "heads";
  case Axis::Row:
    return "rows";
  case Axis::Dim:
    return "elements";
  }
  llvm_unreachable("an axis");
}

std::string fa4::attn::findOperandAxes(const AttentionMatch &match,
                                       const ElementTracer &tracer,
                                       const Place &place, StringRef name,
                                       bool hasQueryHeads, int row, int inner,
                                       AttentionOperand &operand) {
  operand = {};
  operand.tensor = place.tensor;
  auto isDim = [](AffineExpr index, int position) {
    auto dim = dyn_cast<AffineDimExpr>(index);
    return dim && int(dim.getPosition()) == position;
  };
  // A dimension with one element is whichever of its kind is missing.
  constexpr Axis unit = Axis::Group;
  for (AffineExpr index : place.indices) {
    auto group = dyn_cast<AffineBinaryOpExpr>(index);
    bool isGroup = group && !hasQueryHeads &&
                   index.getKind() == AffineExprKind::FloorDiv &&
                   isDim(group.getLHS(), match.head) &&
                   isa<AffineConstantExpr>(group.getRHS());
    int64_t size = cast<ShapedType>(place.tensor.getType())
                       .getDimSize(operand.axes.size());
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
    } else if (size == 1 && isa<AffineConstantExpr>(index)) {
      operand.axes.push_back(unit);
    } else
      return ("a dimension of the " + name +
              " is indexed by more than the batch, the head, the row or the "
              "element")
          .str();
  }
  auto getDimSize = [&](int position) {
    return position < 0 ? 1 : tracer.getSize(position);
  };
  for (auto [axis, position] : {std::pair(Axis::Batch, match.batch),
                                {Axis::Head, match.head},
                                {Axis::Row, row},
                                {Axis::Dim, inner}}) {
    auto count = llvm::count(operand.axes, axis);
    bool isShared = axis == Axis::Head && !hasQueryHeads;
    if (count > 1 ||
        (count == 0 && position >= 0 && !isShared && getDimSize(position) != 1))
      return ("the " + name + " are the same for several " +
              (axis == Axis::Row || axis == Axis::Dim ? "rows or elements"
                                                      : getName(axis)) +
              ", or are read at a diagonal")
          .str();
    auto *free = llvm::find(operand.axes, unit);
    if (count == 0 && free != operand.axes.end())
      *free = axis;
  }
  if (llvm::is_contained(operand.axes, unit))
    return ("the " + name + " have more than four dimensions").str();
  return "";
}

/// Finds which loops of the second product are the batch, the head, the query
/// and the key.
bool Matcher::nameLoops() {
  const LoopReading &reading = match.reading;
  auto &[batches, queries, elements] = outer;
  if (reading.groupLoop >= 0) {
    llvm::erase(queries, reading.groupLoop);
    llvm::erase(batches, reading.headLoop);
  }
  // Keys and values that all heads share: heads are a second dimension of
  // queries. Either may be called the heads; there are fewer of them.
  std::optional<int> sharing;
  if (queries.size() == 2 && batches.size() < 2 && !reading.mergedHeads &&
      reading.groupLoop < 0) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    bool isSecond = !ShapedType::isDynamic(sizes[queries[1]]) &&
                    (ShapedType::isDynamic(sizes[queries[0]]) ||
                     sizes[queries[1]] < sizes[queries[0]]);
    sharing = queries[isSecond];
    queries.erase(queries.begin() + isSecond);
  }
  if (queries.size() != 1 || elements.size() != 1 ||
      batches.size() > (reading.groupLoop >= 0 ? 1 : 2))
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
  if (reading.groupLoop >= 0)
    match.head = numLoops() + 2;
  if (reading.mergedHeads) {
    if (batches.size() != 1)
      return fail("heads are merged with one of several batch dimensions");
    match.head = batches.front();
    match.batch = numLoops() + 1;
  }
  return true;
}

/// Whether a tensor holds an operand's element, or does but for a factor.
static bool hasPlace(ElementRef element) {
  while (element->places.empty()) {
    ElementRef inner = element->isa<arith::ExtFOp>()
                           ? element->args.front()
                           : splitFactor(element).first;
    if (inner == element)
      return false;
    element = inner;
  }
  return true;
}

/// An operand that is computed where it is multiplied has to be a tensor first.
bool Matcher::outline(linalg::LinalgOp product, Value factor) {
  while (auto extension = factor.getDefiningOp<arith::ExtFOp>())
    factor = extension.getIn();
  auto generic = dyn_cast<linalg::GenericOp>(product.getOperation());
  if (!generic || isa<BlockArgument>(factor) ||
      factor.getParentBlock() != generic.getBody())
    return fail("the expression of an operand is too large");
  match.fusedProduct = generic;
  match.fusedFactor = factor;
  return fail("an operand is computed where it is multiplied");
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
  q = tracer.traceScalar(factors->first, product, inner);
  k = tracer.traceScalar(factors->second, product, inner);
  for (auto [element, factor] :
       {std::pair(q, factors->first), {k, factors->second}})
    if (!element || !hasPlace(element))
      return outline(product, factor);
  if (!dependsOn(k, match.key))
    std::swap(q, k);
  auto isThere = [&](ElementRef element, int position) {
    return tracer.getSize(position) == 1 || dependsOn(element, position);
  };
  if (!isThere(q, match.query) || !isThere(k, match.key) ||
      dependsOn(q, match.key) || dependsOn(k, match.query))
    return fail("the first product is not one of queries and keys");
  tracer.setSize(numLoops(),
                 product.getStaticLoopRanges()[*getReduction(product)]);
  return true;
}

/// Of two dimensions, heads are the one in which keys or values are shared;
/// else the one that comes second in the queries. Indices of a dimension of one
/// element are 0: it is no shared one, and the loops' order stays.
void Matcher::orderBatchAndHead(ElementRef q, ElementRef k) {
  ArrayRef<AffineExpr> ofQueries, ofKeys;
  if (ElementRef leaf = splitFactor(q).first; !leaf->places.empty())
    ofQueries = leaf->places.front().indices;
  if (ElementRef leaf = splitFactor(k).first; !leaf->places.empty())
    ofKeys = leaf->places.front().indices;
  auto isShared = [&](int position) {
    return !llvm::is_contained(ofKeys, dim(position));
  };
  auto first = [&](int position) {
    return llvm::find(ofQueries, dim(position)) - ofQueries.begin();
  };
  bool isOneBatch = tracer.getSize(match.batch) == 1;
  if (!isOneBatch &&
      (isShared(match.batch) ||
       (!isShared(match.head) && first(match.head) < first(match.batch))))
    std::swap(match.batch, match.head);
}

namespace {
/// A tensor that may be an operand.
struct Candidate {
  AttentionOperand operand;
  /// What it has to be multiplied with.
  double factor = 1;
};
} // namespace

static Type getElementType(const Candidate &candidate) {
  return cast<ShapedType>(candidate.operand.tensor.getType()).getElementType();
}

/// The tensors that may be an operand whose element is `element`: those that
/// hold it, and, with `mayHaveFactor`, those that hold it without a constant
/// factor.
static SmallVector<Candidate> findCandidates(
    ElementRef element, bool mayHaveFactor,
    llvm::function_ref<std::string(const Place &, AttentionOperand &)> findAxes,
    std::string &why) {
  SmallVector<Candidate> candidates;
  double factor = 1;
  bool isRounded = false;
  while (true) {
    for (const Place &place : element->places) {
      Candidate candidate;
      candidate.factor = factor;
      std::string reason = findAxes(place, candidate.operand);
      if (reason.empty()) {
        candidates.push_back(candidate);
        break;
      }
      if (why.empty())
        why = reason;
    }
    if (element->isa<arith::ExtFOp>() || element->isa<arith::TruncFOp>()) {
      isRounded |= element->isa<arith::TruncFOp>();
      element = element->args.front();
      continue;
    }
    auto [inner, own] = splitFactor(element);
    // The rounding of a product is part of what a narrow type holds, unless
    // the factor only changes the exponent.
    int exponent = 0;
    bool isExact = std::abs(std::frexp(own, &exponent)) == 0.5;
    bool isWide = !isRounded && element->type.getIntOrFloatBitWidth() >= 32;
    if (inner == element || !mayHaveFactor || (!isExact && !isWide))
      return candidates;
    element = inner;
    factor *= own;
  }
}

/// Chooses for each operand the tensor with the narrowest type that all three
/// of them have.
static bool chooseCandidates(ArrayRef<Candidate> (&of)[3],
                             const Candidate *(&chosen)[3]) {
  Type best;
  for (const Candidate &first : of[0]) {
    Type type = getElementType(first);
    const Candidate *found[3];
    for (unsigned i : {0u, 1u, 2u}) {
      // The last one has the fewest operations in front of it.
      found[i] = nullptr;
      for (const Candidate &candidate : of[i])
        if (getElementType(candidate) == type)
          found[i] = &candidate;
    }
    if (llvm::is_contained(found, nullptr) ||
        (best && best.getIntOrFloatBitWidth() <= type.getIntOrFloatBitWidth()))
      continue;
    best = type;
    llvm::copy(found, chosen);
  }
  return bool(best);
}

bool Matcher::findOperands() {
  ElementRef q, k;
  if (!findQueriesAndKeys(q, k))
    return false;
  if (outer.batches.size() == 2)
    orderBatchAndHead(q, k);
  match.element = numLoops();
  match.valueElement = outer.elements.front();
  if (!hasPlace(match.values))
    return outline(op, valueFactor);
  std::string why[3];
  auto find = [&](StringRef name, ElementRef element, int row, int inner,
                  std::string &why) {
    bool isQuery = name == "queries";
    auto candidates = findCandidates(
        element, name != "values",
        [&](const Place &place, AttentionOperand &operand) {
          return findOperandAxes(match, tracer, place, name, isQuery, row,
                                 inner, operand);
        },
        why);
    return candidates;
  };
  SmallVector<Candidate> ofQueries = find("queries", q, match.query,
                                          match.element, why[0]),
                         ofKeys =
                             find("keys", k, match.key, match.element, why[1]),
                         ofValues = find("values", match.values, match.key,
                                         match.valueElement, why[2]);
  ArrayRef<Candidate> all[3] = {ofQueries, ofKeys, ofValues};
  for (unsigned i : {0u, 1u, 2u})
    if (all[i].empty())
      return fail(why[i]);
  const Candidate *chosen[3];
  if (!chooseCandidates(all, chosen))
    return fail("queries, keys and values have different element types");
  match.q = chosen[0]->operand;
  match.k = chosen[1]->operand;
  match.v = chosen[2]->operand;
  match.scale = chosen[0]->factor * chosen[1]->factor;
  auto [queries, queryFactor] = splitFactor(q);
  auto [keys, keyFactor] = splitFactor(k);
  match.queries = queries;
  match.keys = keys;
  match.queryFactor = queryFactor / chosen[0]->factor;
  match.keyFactor = keyFactor / chosen[1]->factor;
  return true;
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// Goes on to the result of `user`, if that is the same in another shape or
/// rounded to a narrower type.
bool Matcher::followUser(Operation *user) {
  std::optional<Place> next = followPlace(result, user, tracer);
  if (!next)
    return false;
  ElementRef own = tracer.trace(result.tensor, result.indices),
             element = tracer.trace(next->tensor, next->indices);
  bool isRounded =
      element->isa<arith::TruncFOp>() && isEqual(element->args[0], own);
  if (!isRounded && !isEqual(element, own))
    return false;
  result = *next;
  return true;
}

/// What happens to the result only is part of the op: the op gives the type to
/// which it is rounded.
bool Matcher::followResult() {
  if (!nameResult(match, tracer, result, match.query, match.valueElement,
                  match.out))
    return fail("the result's dimensions are not those of attn.sdpa");
  bool isRounded = false;
  Place named = result;
  while (result.tensor.hasOneUse()) {
    Type before = getElementTypeOrSelf(result.tensor);
    if (!followUser(*result.tensor.getUsers().begin()))
      break;
    bool isRounding = getElementTypeOrSelf(result.tensor) != before;
    if (isRounded && isRounding)
      break;
    isRounded |= isRounding;
    AttentionOperand out;
    if (!nameResult(match, tracer, result, match.query, match.valueElement,
                    out))
      continue;
    match.out = out;
    named = result;
  }
  result = named;
  match.result = tracer.trace(result.tensor, result.indices);
  return true;
}

bool Matcher::run() {
  if (!findFactors() ||
      !matchSoftmax(probabilities, reduction, tracer, match.softmax, reason))
    return false;
  match.op = op;
  result.tensor = op->getResult(0);
  for (AffineExpr index :
       op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults())
    result.indices.push_back(loops[cast<AffineDimExpr>(index).getPosition()]);
  if (!match.softmax.softmax && !match.softmax.sum && !matchLateQuotient())
    return false;
  match.scores = match.softmax.scores;
  if (!matchProduct() || !nameLoops() || !findOperands())
    return false;
  splitScale();
  ElementRef product = match.product;
  match.scores = splitMasks(match.scores, match.rawProduct, match.query,
                            match.key, tracer, match.masks);
  // The mask may have been all that the factor was used beside.
  if (product == match.rawProduct)
    splitScale();
  return followResult();
}

bool fa4::attn::matchAttention(linalg::LinalgOp op, ElementTracer &tracer,
                               AttentionMatch &match, std::string &reason) {
  return Matcher(op, tracer, match, reason).run();
}
