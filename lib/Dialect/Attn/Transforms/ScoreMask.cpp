//===- ScoreMask.cpp - the mask in the expression of a score --------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreMask.h"
#include "ElementRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Conditions of one query and one key
//===----------------------------------------------------------------------===//

namespace {
/// Computes conditions that depend on nothing but the query and the key.
class ConditionEvaluator {
public:
  ConditionEvaluator(unsigned query, unsigned key) : query(query), key(key) {}

  /// Nothing if the number depends on more, or is one of an operation that
  /// indices are seldom computed by.
  std::optional<int64_t> evaluate(ElementRef element, int64_t i, int64_t j);

private:
  std::optional<int64_t> evaluate(AffineExpr index, int64_t i, int64_t j);

  unsigned query, key;
};
} // namespace

static std::optional<int64_t> compute(AffineExprKind kind, int64_t a,
                                      int64_t b) {
  switch (kind) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::Mod:
    return b > 0 ? std::optional((a % b + b) % b) : std::nullopt;
  case AffineExprKind::FloorDiv:
    return b > 0 ? std::optional(llvm::divideFloorSigned(a, b)) : std::nullopt;
  case AffineExprKind::CeilDiv:
    return b > 0 ? std::optional(llvm::divideCeilSigned(a, b)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> ConditionEvaluator::evaluate(AffineExpr index, int64_t i,
                                                    int64_t j) {
  if (auto constant = dyn_cast<AffineConstantExpr>(index))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(index))
    return dim.getPosition() == query ? std::optional(i)
           : dim.getPosition() == key ? std::optional(j)
                                      : std::nullopt;
  auto binary = dyn_cast<AffineBinaryOpExpr>(index);
  std::optional<int64_t> left, right;
  if (binary)
    left = evaluate(binary.getLHS(), i, j);
  if (left)
    right = evaluate(binary.getRHS(), i, j);
  return right ? compute(index.getKind(), *left, *right) : std::nullopt;
}

std::optional<int64_t> ConditionEvaluator::evaluate(ElementRef element,
                                                    int64_t i, int64_t j) {
  if (element->kind == Element::Index)
    return evaluate(element->indices.front(), i, j);
  if (auto number = dyn_cast_or_null<IntegerAttr>(element->constant)) {
    if (number.getValue().getBitWidth() > 64)
      return std::nullopt;
    return element->type.isInteger(1) ? int64_t(number.getValue().isOne())
                                      : number.getValue().getSExtValue();
  }
  if (element->kind != Element::Apply)
    return std::nullopt;
  SmallVector<int64_t, 3> x;
  for (ElementRef arg : element->args) {
    std::optional<int64_t> number = evaluate(arg, i, j);
    if (!number)
      return std::nullopt;
    x.push_back(*number);
  }
  bool isTruth = element->type.isInteger(1);
  if (element->isa<arith::CmpIOp>())
    return arith::applyCmpPredicate(
        element->attributes.getAs<arith::CmpIPredicateAttr>("predicate")
            .getValue(),
        APInt(64, x[0], true), APInt(64, x[1], true));
  if (element->isa<arith::SelectOp>())
    return x[0] ? x[1] : x[2];
  if (element->isa<arith::AndIOp>())
    return x[0] & x[1];
  if (element->isa<arith::OrIOp>())
    return x[0] | x[1];
  if (element->isa<arith::XOrIOp>())
    return x[0] ^ x[1];
  if (element->isa<arith::ExtUIOp>() && x[0] >= 0)
    return x[0];
  if (element->isa<arith::IndexCastOp>() && llvm::isInt<31>(x[0]))
    return x[0];
  if (element->isa<arith::ExtSIOp>() && !element->args[0]->type.isInteger(1))
    return x[0];
  if (isTruth)
    return std::nullopt;
  // Numbers that wrap around are left to whoever computes them.
  auto exact = [&](std::optional<int64_t> number) {
    unsigned width =
        element->type.isIndex() ? 64 : element->type.getIntOrFloatBitWidth();
    return number && width <= 64 && llvm::isIntN(width, *number) ? number
                                                                 : std::nullopt;
  };
  int64_t result;
  if (element->isa<arith::AddIOp>() && !llvm::AddOverflow(x[0], x[1], result))
    return exact(result);
  if (element->isa<arith::SubIOp>() && !llvm::SubOverflow(x[0], x[1], result))
    return exact(result);
  if (element->isa<arith::MulIOp>() && !llvm::MulOverflow(x[0], x[1], result))
    return exact(result);
  if (element->isa<arith::DivSIOp>() && x[1] > 0)
    return x[0] / x[1];
  if (element->isa<arith::RemSIOp>() && x[1] > 0)
    return x[0] % x[1];
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

namespace {
class MaskSplitter {
public:
  MaskSplitter(ElementRef product, ElementTracer &tracer, double highest)
      : product(product), tracer(tracer), highest(highest) {}

  ElementRef split(ElementRef scores);
  SmallVector<ScoreMask> masks;

private:
  bool dependsOnProduct(ElementRef element) {
    return contains(element,
                    [&](ElementRef each) { return isEqual(each, product); });
  }
  bool isHiding(ElementRef element) {
    std::optional<double> number = skipCasts(element)->getConstant();
    return number && *number <= highest;
  }
  /// The branch of a select for visible keys, with its mask; null if it is
  /// none.
  ElementRef takeSelect(ElementRef select);
  ElementRef splitSum(ElementRef sum);

  ElementRef product;
  ElementTracer &tracer;
  double highest; ///< Of the numbers that hide a key.
};
} // namespace

ElementRef MaskSplitter::takeSelect(ElementRef select) {
  if (!select->isa<arith::SelectOp>() || dependsOnProduct(select->args[0]))
    return nullptr;
  for (unsigned i : {1u, 2u})
    if (isHiding(select->args[i])) {
      masks.push_back({select->args[0], i == 1});
      return select->args[3 - i];
    }
  return nullptr;
}

ElementRef MaskSplitter::splitSum(ElementRef sum) {
  SmallVector<ElementRef> args = sum->args;
  unsigned own = dependsOnProduct(args[0]) ? 0 : 1;
  ElementRef other = args[1 - own];
  // What is subtracted would be +inf.
  if (dependsOnProduct(other) || (sum->isa<arith::SubFOp>() && own == 1))
    return sum;
  args[own] = split(args[own]);
  // What is added may be a mask itself.
  if (sum->isa<arith::AddFOp>())
    args[1 - own] = split(other);
  return tracer.apply(*sum->op, sum->attributes, sum->type, args);
}

ElementRef MaskSplitter::split(ElementRef scores) {
  if (ElementRef visible = takeSelect(scores))
    return split(visible);
  if (scores->isa<arith::AddFOp>() || scores->isa<arith::SubFOp>())
    return splitSum(scores);
  SmallVector<ElementRef> args = scores->args;
  if (scores->isa<arith::ExtFOp>() || scores->isa<arith::TruncFOp>()) {
    args[0] = split(args[0]);
  } else if (scores->isa<arith::MulFOp>() || scores->isa<arith::DivFOp>()) {
    unsigned own = args[1]->getConstant() ? 0 : 1;
    std::optional<double> factor = args[1 - own]->getConstant();
    // A finite number must not become one that hides nothing.
    if (!factor || *factor < 1e-3 || *factor > 1e3 ||
        (scores->isa<arith::DivFOp>() && own == 1))
      return scores;
    args[own] = split(args[own]);
  } else {
    return scores;
  }
  return args == scores->args ? scores
                              : tracer.apply(*scores->op, scores->attributes,
                                             scores->type, args);
}

/// Whether all queries see the first key, however many there are.
static bool allSeeFirstKey(ArrayRef<ScoreMask> masks, unsigned key,
                           ElementTracer &tracer) {
  return llvm::all_of(masks, [&](const ScoreMask &mask) {
    return getTruth(mask.condition, [&](unsigned dim) {
             return dim == key ? ElementRange{0, 0}
                               : getIndexRange(tracer.getSize(dim));
           }) == !mask.isHidden;
  });
}

/// Whether each query sees a key: the first one, the last one, or the one with
/// its own number.
static bool eachSeesKey(ArrayRef<ScoreMask> masks, unsigned query, unsigned key,
                        ElementTracer &tracer) {
  if (allSeeFirstKey(masks, key, tracer))
    return true;
  int64_t queries = tracer.getSize(query), keys = tracer.getSize(key);
  if (ShapedType::isDynamic(queries) || ShapedType::isDynamic(keys) ||
      queries > (1 << 20))
    return false;
  ConditionEvaluator evaluator(query, key);
  auto sees = [&](int64_t i, int64_t j) {
    return llvm::all_of(masks, [&](const ScoreMask &mask) {
      std::optional<int64_t> holds = evaluator.evaluate(mask.condition, i, j);
      return holds && (*holds != 0) != mask.isHidden;
    });
  };
  for (int64_t i = 0; i < queries; ++i)
    if (!sees(i, 0) && !sees(i, keys - 1) && !(i < keys && sees(i, i)))
      return false;
  return true;
}

ElementRef fa4::attn::splitMasks(ElementRef scores, ElementRef product,
                                 unsigned query, unsigned key,
                                 ElementTracer &tracer,
                                 SmallVectorImpl<ScoreMask> &masks) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  MaskSplitter exact(product, tracer, -infinity), wide(product, tracer, -1e30);
  ElementRef visible = wide.split(scores);
  if (eachSeesKey(wide.masks, query, key, tracer)) {
    masks.assign(wide.masks.begin(), wide.masks.end());
    return visible;
  }
  visible = exact.split(scores);
  masks.assign(exact.masks.begin(), exact.masks.end());
  return visible;
}
