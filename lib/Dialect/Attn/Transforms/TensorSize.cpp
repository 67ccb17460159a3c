//===- TensorSize.cpp - sizes of tensors as products ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorSize.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4::attn;

/// What a size is computed from is looked at so far.
static constexpr unsigned kDeepest = 64;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

TensorSize TensorSize::times(const TensorSize &other) const {
  TensorSize product = *this;
  if (factor == kTooLarge || other.factor == kTooLarge ||
      llvm::MulOverflow(factor, other.factor, product.factor))
    product.factor = kTooLarge;
  product.unknowns.append(other.unknowns);
  llvm::sort(product.unknowns);
  return product;
}

bool TensorSize::isMultipleOf(const TensorSize &other) const {
  return other.factor != 0 && factor % other.factor == 0 &&
         std::includes(unknowns.begin(), unknowns.end(), other.unknowns.begin(),
                       other.unknowns.end());
}

static TensorSize getConstantSize(int64_t number) {
  TensorSize size;
  size.factor = number;
  return size;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static std::optional<TensorSize> getNumber(Value number, unsigned depth);

static TensorSize getSize(Value tensor, unsigned dim, unsigned depth) {
  auto type = cast<ShapedType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return getConstantSize(type.getDimSize(dim));
  TensorSize unknown;
  unknown.unknowns.push_back({tensor.getAsOpaquePointer(), dim});
  Operation *definition = tensor.getDefiningOp();
  if (!definition || depth > kDeepest)
    return unknown;
  std::optional<TensorSize> known;
  if (auto empty = dyn_cast<tensor::EmptyOp>(definition))
    known = getNumber(empty.getDynamicSize(dim), depth + 1);
  else if (auto conversion = dyn_cast<tensor::CastOp>(definition);
           conversion &&
           isa<RankedTensorType>(conversion.getSource().getType()))
    known = getSize(conversion.getSource(), dim, depth + 1);
  else if (auto op = dyn_cast<linalg::LinalgOp>(definition))
    known = getSize(
        op.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber())->get(),
        dim, depth + 1);
  else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(definition)) {
    if (auto size = dyn_cast<Value>(expand.getMixedOutputShape()[dim]))
      known = getNumber(size, depth + 1);
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(definition)) {
    TensorSize product;
    for (int64_t inner : collapse.getReassociationIndices()[dim])
      product = product.times(getSize(collapse.getSrc(), inner, depth + 1));
    known = product;
  } else if (auto reshape = dyn_cast<tensor::ReshapeOp>(definition)) {
    if (auto shape = reshape.getShape().getDefiningOp<tensor::FromElementsOp>())
      known = getNumber(shape.getElements()[dim], depth + 1);
  }
  return known ? *known : unknown;
}

/// Whether a comparison of a size with a number holds, as sizes are not
/// negative.
static std::optional<bool> compareSize(Value condition, unsigned depth) {
  auto comparison = condition.getDefiningOp<arith::CmpIOp>();
  APInt bound;
  if (!comparison ||
      !matchPattern(comparison.getRhs(), m_ConstantInt(&bound)) ||
      !bound.isZero() || !getNumber(comparison.getLhs(), depth + 1))
    return std::nullopt;
  if (comparison.getPredicate() == arith::CmpIPredicate::slt)
    return false;
  if (comparison.getPredicate() == arith::CmpIPredicate::sge)
    return true;
  return std::nullopt;
}

static std::optional<TensorSize> getNumber(Value number, unsigned depth) {
  APInt constant;
  if (matchPattern(number, m_ConstantInt(&constant)))
    return constant.isNegative() || constant.getSignificantBits() > 64
               ? std::nullopt
               : std::optional(getConstantSize(constant.getSExtValue()));
  Operation *definition = number.getDefiningOp();
  if (!definition || depth > kDeepest)
    return std::nullopt;
  if (auto dim = dyn_cast<tensor::DimOp>(definition)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
    if (!index || !type || *index < 0 || *index >= type.getRank())
      return std::nullopt;
    return getSize(dim.getSource(), *index, depth + 1);
  }
  if (auto cast = dyn_cast<arith::IndexCastOp>(definition);
      cast && (number.getType().isIndex() || number.getType().isInteger(64)))
    return getNumber(cast.getIn(), depth + 1);
  if (auto product = dyn_cast<arith::MulIOp>(definition)) {
    std::optional<TensorSize> left = getNumber(product.getLhs(), depth + 1);
    std::optional<TensorSize> right =
        left ? getNumber(product.getRhs(), depth + 1) : std::nullopt;
    return right ? std::optional(left->times(*right)) : std::nullopt;
  }
  if (auto select = dyn_cast<arith::SelectOp>(definition))
    if (std::optional<bool> holds =
            compareSize(select.getCondition(), depth + 1))
      return getNumber(*holds ? select.getTrueValue() : select.getFalseValue(),
                       depth + 1);
  return std::nullopt;
}

TensorSize fa4::attn::getTensorSize(Value tensor, unsigned dim) {
  return getSize(tensor, dim, 0);
}

std::optional<TensorSize> fa4::attn::getTensorSize(Value number) {
  return getNumber(number, 0);
}

std::optional<TensorSize> fa4::attn::getLoopSize(linalg::LinalgOp op,
                                                 unsigned loop) {
  for (OpOperand &operand : op.getDpsInitsMutable())
    for (auto [dim, index] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (index == getAffineDimExpr(loop, op.getContext()))
        return getTensorSize(operand.get(), dim);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Finds the groups of a reshape, which does not name them.
static std::optional<ReshapeGroups> findGroups(tensor::ReshapeOp reshape) {
  auto sourceType = dyn_cast<RankedTensorType>(reshape.getSource().getType());
  auto resultType = dyn_cast<RankedTensorType>(reshape.getResult().getType());
  if (!sourceType || !resultType || sourceType.getRank() == 0 ||
      resultType.getRank() == 0)
    return std::nullopt;
  ReshapeGroups groups;
  int64_t i = sourceType.getRank(), j = resultType.getRank();
  // From the innermost dimension on: sizes to the left may be of several.
  while (i > 0 && j > 0) {
    groups.source.push_back({--i});
    groups.result.push_back({--j});
    TensorSize own = getTensorSize(reshape.getSource(), i),
               other = getTensorSize(reshape.getResult(), j);
    while (!(own == other)) {
      if (other.isMultipleOf(own) && i > 0) {
        own = own.times(getTensorSize(reshape.getSource(), --i));
        groups.source.back().insert(groups.source.back().begin(), i);
      } else if (own.isMultipleOf(other) && j > 0) {
        other = other.times(getTensorSize(reshape.getResult(), --j));
        groups.result.back().insert(groups.result.back().begin(), j);
      } else {
        return std::nullopt;
      }
    }
  }
  // What is left has one element.
  for (; i > 0; --i) {
    if (!getTensorSize(reshape.getSource(), i - 1).isOne())
      return std::nullopt;
    groups.source.back().insert(groups.source.back().begin(), i - 1);
  }
  for (; j > 0; --j) {
    if (!getTensorSize(reshape.getResult(), j - 1).isOne())
      return std::nullopt;
    groups.result.back().insert(groups.result.back().begin(), j - 1);
  }
  std::reverse(groups.source.begin(), groups.source.end());
  std::reverse(groups.result.begin(), groups.result.end());
  return groups;
}

std::optional<ReshapeGroups> fa4::attn::getReshapeGroups(Operation *op) {
  auto single = [](int64_t rank) {
    return llvm::map_to_vector(llvm::seq<int64_t>(0, rank), [](int64_t dim) {
      return ReassociationIndices{dim};
    });
  };
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    return ReshapeGroups{single(expand.getSrcType().getRank()),
                         expand.getReassociationIndices()};
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op))
    return ReshapeGroups{collapse.getReassociationIndices(),
                         single(collapse.getResultType().getRank())};
  if (auto reshape = dyn_cast_or_null<tensor::ReshapeOp>(op))
    return findGroups(reshape);
  return std::nullopt;
}
