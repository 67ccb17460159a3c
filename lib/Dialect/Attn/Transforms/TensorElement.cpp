//===- TensorElement.cpp - an element of a tensor as an expression --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorElement.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

std::optional<double> Element::getConstant() const {
  if (kind != Constant)
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(constant))
    return number.getValueAsDouble();
  return std::nullopt;
}

bool Element::isConstant(double number) const {
  std::optional<double> own = getConstant();
  return own && *own == number;
}

bool fa4::attn::isEqual(ElementRef a, ElementRef b) {
  if (a == b)
    return true;
  if (a->kind != b->kind || a->type != b->type || a->value != b->value ||
      a->indices != b->indices || a->constant != b->constant ||
      a->args.size() != b->args.size())
    return false;
  if (a->op && (a->op->getName() != b->op->getName() ||
                a->op->getAttrDictionary() != b->op->getAttrDictionary()))
    return false;
  return llvm::all_of(llvm::zip(a->args, b->args), [](auto pair) {
    return isEqual(std::get<0>(pair), std::get<1>(pair));
  });
}

ElementRef fa4::attn::skipCasts(ElementRef element) {
  while (element->isa<arith::ExtFOp>() || element->isa<arith::TruncFOp>())
    element = element->args.front();
  return element;
}

void fa4::attn::walk(ElementRef element,
                     llvm::function_ref<void(ElementRef)> visit) {
  visit(element);
  for (ElementRef arg : element->args)
    walk(arg, visit);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

std::optional<int64_t> ElementTracer::getLimit(AffineExpr expr) {
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

std::pair<AffineExpr, AffineExpr> ElementTracer::split(AffineExpr sum,
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

AffineExpr ElementTracer::simplify(AffineExpr expr) {
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
  return getAffineBinaryOpExpr(expr.getKind(), left, right);
}

bool fa4::attn::getLoops(OpResult result, ArrayRef<AffineExpr> indices,
                         SmallVectorImpl<AffineExpr> &loops) {
  auto op = dyn_cast<linalg::LinalgOp>(result.getOwner());
  if (!op || int64_t(result.getResultNumber()) >= op.getNumDpsInits())
    return false;
  AffineMap map =
      op.getMatchingIndexingMap(op.getDpsInitOperand(result.getResultNumber()));
  // A reduction may keep the dimension that it reduces, with one element.
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return false;
  loops.assign(op.getNumLoops(), AffineExpr());
  for (auto [place, index] : llvm::zip(map.getResults(), indices))
    if (auto dim = dyn_cast<AffineDimExpr>(place))
      loops[dim.getPosition()] = index;
  return true;
}

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

ElementRef ElementTracer::traceCollapse(Value source,
                                        ArrayRef<ReassociationIndices> groups,
                                        ArrayRef<AffineExpr> indices) {
  auto type = cast<ShapedType>(source.getType());
  SmallVector<AffineExpr> inner(type.getRank());
  for (auto [group, index] : llvm::zip(groups, indices)) {
    AffineExpr rest = index;
    // From the innermost dimension on; the outermost one takes what is left.
    unsigned left = llvm::count_if(
        group, [&](int64_t dim) { return type.getDimSize(dim) != 1; });
    for (int64_t dim : llvm::reverse(group)) {
      int64_t size = type.getDimSize(dim);
      if (size == 1) {
        inner[dim] = getAffineConstantExpr(0, context);
        continue;
      }
      if (--left == 0) {
        inner[dim] = rest;
        continue;
      }
      if (ShapedType::isDynamic(size))
        return nullptr;
      inner[dim] = simplify(rest % size);
      rest = simplify(rest.floorDiv(size));
    }
  }
  return trace(source, inner);
}

ElementRef ElementTracer::traceExpand(Value source, ShapedType result,
                                      ArrayRef<ReassociationIndices> groups,
                                      ArrayRef<AffineExpr> indices) {
  SmallVector<AffineExpr> outer;
  for (const ReassociationIndices &group : groups) {
    AffineExpr sum = getAffineConstantExpr(0, context);
    for (int64_t dim : group) {
      int64_t size = result.getDimSize(dim);
      if (size == 1)
        continue;
      bool isFirst = sum == getAffineConstantExpr(0, context);
      if (ShapedType::isDynamic(size) && !isFirst)
        return nullptr;
      sum = isFirst ? indices[dim] : sum * size + indices[dim];
    }
    outer.push_back(simplify(sum));
  }
  return trace(source, outer);
}

ElementRef ElementTracer::traceElementwise(linalg::LinalgOp op, OpResult result,
                                           ArrayRef<AffineExpr> indices) {
  SmallVector<AffineExpr> loops;
  if (op.getNumParallelLoops() != op.getNumLoops() ||
      !getLoops(result, indices, loops) ||
      llvm::is_contained(loops, AffineExpr()))
    return nullptr;
  Operation *yield = op.getBlock()->getTerminator();
  return traceScalar(yield->getOperand(result.getResultNumber()), op, loops);
}

/// Returns true for operations that compute one number from numbers.
static bool isArithmetic(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         op->getNumResults() == 1 && op->getNumRegions() == 0;
}

ElementRef ElementTracer::traceScalar(Value value, linalg::LinalgOp op,
                                      ArrayRef<AffineExpr> loops) {
  Element element;
  element.type = value.getType();
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    element.kind = Element::Constant;
    element.constant = constant;
    return add(element);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == op.getBlock()) {
    OpOperand &operand = op->getOpOperand(argument.getArgNumber());
    if (!isa<RankedTensorType>(operand.get().getType()))
      return traceScalar(operand.get(), op, loops);
    SmallVector<AffineExpr> indices;
    for (AffineExpr index : op.getMatchingIndexingMap(&operand).getResults()) {
      bool isKnown = true;
      index.walk([&](AffineExpr each) {
        if (auto dim = dyn_cast<AffineDimExpr>(each))
          isKnown &= bool(loops[dim.getPosition()]);
      });
      if (!isKnown)
        return nullptr;
      indices.push_back(simplify(index.replaceDims(loops)));
    }
    return trace(operand.get(), indices);
  }
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != op.getBlock()) {
    element.kind = Element::Scalar;
    element.value = value;
    return add(element);
  }
  if (auto index = dyn_cast<linalg::IndexOp>(definition)) {
    if (!loops[index.getDim()])
      return nullptr;
    element.kind = Element::Index;
    element.indices = {loops[index.getDim()]};
    return add(element);
  }
  if (!isArithmetic(definition))
    return nullptr;
  element.kind = Element::Apply;
  element.op = definition;
  for (Value operand : definition->getOperands()) {
    ElementRef arg = traceScalar(operand, op, loops);
    if (!arg)
      return nullptr;
    element.args.push_back(arg);
  }
  return add(element);
}

ElementRef ElementTracer::traceDefinition(Operation *definition,
                                          OpResult result,
                                          ArrayRef<AffineExpr> indices) {
  Element element;
  element.type = cast<ShapedType>(result.getType()).getElementType();
  DenseElementsAttr dense;
  if (matchPattern(result, m_Constant(&dense)) && dense.isSplat()) {
    element.kind = Element::Constant;
    element.constant = dense.getSplatValue<TypedAttr>();
    return add(element);
  }
  if (auto op = dyn_cast<linalg::LinalgOp>(definition))
    return traceElementwise(op, result, indices);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(definition))
    return traceCollapse(collapse.getSrc(), collapse.getReassociationIndices(),
                         indices);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(definition))
    return traceExpand(expand.getSrc(), expand.getResultType(),
                       expand.getReassociationIndices(), indices);
  if (auto cast = dyn_cast<tensor::CastOp>(definition))
    if (isa<RankedTensorType>(cast.getSource().getType()))
      return trace(cast.getSource(), indices);
  if (!isArithmetic(definition) ||
      !OpTrait::hasElementwiseMappableTraits(definition))
    return nullptr;
  element.kind = Element::Apply;
  element.op = definition;
  for (Value operand : definition->getOperands()) {
    if (isa<RankedTensorType>(operand.getType())) {
      element.args.push_back(trace(operand, indices));
      continue;
    }
    Element scalar;
    scalar.kind = Element::Scalar;
    scalar.type = operand.getType();
    scalar.value = operand;
    element.args.push_back(add(scalar));
  }
  return add(element);
}

ElementRef ElementTracer::trace(Value tensor, ArrayRef<AffineExpr> indices) {
  // What is used several times is in the expression several times.
  auto result = dyn_cast<OpResult>(tensor);
  if (result && elements.size() < limit)
    if (ElementRef element =
            traceDefinition(result.getOwner(), result, indices))
      return element;
  Element leaf;
  leaf.type = cast<ShapedType>(tensor.getType()).getElementType();
  leaf.value = tensor;
  leaf.indices.assign(indices.begin(), indices.end());
  return add(leaf);
}
