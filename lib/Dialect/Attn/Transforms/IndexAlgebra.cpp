//===- IndexAlgebra.cpp - indices of tensors' elements ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexAlgebra.h"

using namespace mlir;
using namespace fa4::attn;

std::optional<int64_t> IndexAlgebra::getLimit(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int64_t size = sizes[dim.getPosition()];
    return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() + 1;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (factor && expr.getKind() == AffineExprKind::Mod)
    return factor.getValue();
  std::optional<int64_t> left = getLimit(binary.getLHS());
  if (!left)
    return std::nullopt;
  if (factor && expr.getKind() == AffineExprKind::Mul)
    return (*left - 1) * factor.getValue() + 1;
  if (factor && expr.getKind() == AffineExprKind::FloorDiv)
    return (*left - 1) / factor.getValue() + 1;
  std::optional<int64_t> right = getLimit(binary.getRHS());
  if (!right || expr.getKind() != AffineExprKind::Add)
    return std::nullopt;
  return *left + *right - 1;
}

std::pair<AffineExpr, AffineExpr> IndexAlgebra::split(AffineExpr sum,
                                                      int64_t divisor) {
  AffineExpr zero = getAffineConstantExpr(0, context);
  if (sum.getKind() == AffineExprKind::Add) {
    auto binary = cast<AffineBinaryOpExpr>(sum);
    auto [left, leftRest] = split(binary.getLHS(), divisor);
    auto [right, rightRest] = split(binary.getRHS(), divisor);
    return {left + right, leftRest + rightRest};
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(sum))
    return {getAffineConstantExpr(constant.getValue() / divisor, context),
            getAffineConstantExpr(constant.getValue() % divisor, context)};
  auto binary = dyn_cast<AffineBinaryOpExpr>(sum);
  auto factor = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                       : AffineConstantExpr();
  if (factor && sum.getKind() == AffineExprKind::Mul &&
      factor.getValue() % divisor == 0)
    return {binary.getLHS() * (factor.getValue() / divisor), zero};
  return {zero, sum};
}

AffineExpr IndexAlgebra::simplify(AffineExpr expr) {
  // A dimension with one element has one index.
  if (auto dim = dyn_cast<AffineDimExpr>(expr);
      dim && dim.getPosition() < sizes.size() && sizes[dim.getPosition()] == 1)
    return getAffineConstantExpr(0, context);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr left = simplify(binary.getLHS()),
             right = simplify(binary.getRHS());
  auto divisor = dyn_cast<AffineConstantExpr>(right);
  bool isMod = expr.getKind() == AffineExprKind::Mod;
  if (divisor && divisor.getValue() > 0 &&
      (isMod || expr.getKind() == AffineExprKind::FloorDiv)) {
    auto [multiple, rest] = split(left, divisor.getValue());
    std::optional<int64_t> limit = getLimit(rest);
    if (limit && *limit <= divisor.getValue())
      return isMod ? rest : multiple;
  }
  return joinParts(getAffineBinaryOpExpr(expr.getKind(), left, right));
}

AffineExpr IndexAlgebra::joinParts(AffineExpr sum) {
  SmallVector<AffineExpr> terms = {sum};
  // Sums are chains to the left.
  while (terms.front().getKind() == AffineExprKind::Add) {
    auto binary = cast<AffineBinaryOpExpr>(terms.front());
    terms.front() = binary.getLHS();
    terms.insert(terms.begin() + 1, binary.getRHS());
  }
  auto getFactor = [](AffineExpr term) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(term);
    auto factor = binary && term.getKind() == AffineExprKind::Mul
                      ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                      : AffineConstantExpr();
    return factor ? std::pair(binary.getLHS(), factor.getValue())
                  : std::pair(term, int64_t(1));
  };
  for (AffineExpr &a : terms)
    for (AffineExpr &b : terms) {
      auto [quotient, quotientFactor] = getFactor(a);
      auto [rest, restFactor] = getFactor(b);
      if (quotient.getKind() != AffineExprKind::FloorDiv ||
          rest.getKind() != AffineExprKind::Mod)
        continue;
      auto division = cast<AffineBinaryOpExpr>(quotient);
      auto modulo = cast<AffineBinaryOpExpr>(rest);
      auto divisor = dyn_cast<AffineConstantExpr>(division.getRHS());
      if (!divisor || division.getLHS() != modulo.getLHS() ||
          division.getRHS() != modulo.getRHS() ||
          quotientFactor != restFactor * divisor.getValue())
        continue;
      a = division.getLHS() * restFactor;
      b = getAffineConstantExpr(0, context);
    }
  AffineExpr joined = getAffineConstantExpr(0, context);
  for (AffineExpr term : terms)
    joined = joined + term;
  return joined;
}

std::optional<SmallVector<AffineExpr>>
IndexAlgebra::split(ShapedType type, ArrayRef<ReassociationIndices> groups,
                    ArrayRef<AffineExpr> indices) {
  // A group without dimensions is of a tensor with one element.
  SmallVector<AffineExpr> inner(type.getRank(),
                                getAffineConstantExpr(0, context));
  for (auto [group, index] : llvm::zip(groups, indices)) {
    AffineExpr rest = index;
    // From the innermost dimension on; the outermost one takes what is left.
    unsigned left = llvm::count_if(
        group, [&](int64_t dim) { return type.getDimSize(dim) != 1; });
    for (int64_t dim : llvm::reverse(group)) {
      int64_t size = type.getDimSize(dim);
      if (size == 1)
        continue;
      if (--left == 0) {
        inner[dim] = rest;
        continue;
      }
      if (ShapedType::isDynamic(size))
        return std::nullopt;
      inner[dim] = simplify(rest % size);
      rest = simplify(rest.floorDiv(size));
    }
  }
  return inner;
}

std::optional<SmallVector<AffineExpr>>
IndexAlgebra::join(ShapedType type, ArrayRef<ReassociationIndices> groups,
                   ArrayRef<AffineExpr> indices) {
  SmallVector<AffineExpr> outer;
  for (const ReassociationIndices &group : groups) {
    AffineExpr sum = getAffineConstantExpr(0, context);
    for (int64_t dim : group) {
      int64_t size = type.getDimSize(dim);
      if (size == 1)
        continue;
      bool isFirst = sum == getAffineConstantExpr(0, context);
      if (ShapedType::isDynamic(size) && !isFirst)
        return std::nullopt;
      sum = isFirst ? indices[dim] : sum * size + indices[dim];
    }
    outer.push_back(simplify(sum));
  }
  return outer;
}
