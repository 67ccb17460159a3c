//===- TensorElement.cpp - an element of a tensor as an expression --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorElement.h"
#include "TensorSize.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>

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
  if (auto integer = dyn_cast<IntegerAttr>(constant);
      integer && integer.getValue().getBitWidth() <= 64)
    return type.isInteger(1) ? double(!integer.getValue().isZero())
                             : double(integer.getValue().getSExtValue());
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
  if (a->op != b->op || a->attributes != b->attributes)
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

std::pair<ElementRef, double> fa4::attn::splitFactor(ElementRef element) {
  double factor = 1;
  while (true) {
    element = skipCasts(element);
    std::optional<double> number;
    unsigned rest = 0;
    if (element->isa<arith::MulFOp>()) {
      rest = element->args[0]->getConstant() ? 1 : 0;
      number = element->args[1 - rest]->getConstant();
    } else if (element->isa<arith::DivFOp>()) {
      number = element->args[1]->getConstant();
      if (number)
        number = 1 / *number;
    } else if (element->isa<arith::NegFOp>()) {
      number = -1;
    }
    if (!number || *number == 0 || !std::isfinite(*number))
      return {element, factor};
    factor *= *number;
    element = element->args[rest];
  }
}

bool fa4::attn::contains(ElementRef element,
                         llvm::function_ref<bool(ElementRef)> isIt) {
  return isIt(element) || llvm::any_of(element->args, [&](ElementRef arg) {
           return contains(arg, isIt);
         });
}

bool fa4::attn::dependsOn(ElementRef element, unsigned dim) {
  return contains(element, [&](ElementRef each) {
    return llvm::any_of(each->indices, [&](AffineExpr index) {
      return index.isFunctionOfDim(dim);
    });
  });
}

void fa4::attn::walk(ElementRef element,
                     llvm::function_ref<void(ElementRef)> visit) {
  visit(element);
  for (ElementRef arg : element->args)
    walk(arg, visit);
}

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

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
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  unsigned reductions = op.getNumReductionLoops();
  for (unsigned i = 0; i < loops.size(); ++i)
    if (kinds[i] == utils::IteratorType::reduction && sizes[i] == 1 &&
        reductions > 1) {
      loops[i] = getAffineConstantExpr(0, op.getContext());
      --reductions;
    }
  for (auto [place, index] : llvm::zip(map.getResults(), indices))
    if (auto dim = dyn_cast<AffineDimExpr>(place))
      loops[dim.getPosition()] = index;
  return true;
}

ElementRef ElementTracer::traceReshape(Operation *reshape,
                                       const ReshapeGroups &groups,
                                       ArrayRef<AffineExpr> indices) {
  Value source = reshape->getOperand(0);
  auto outer = join(cast<ShapedType>(reshape->getResult(0).getType()),
                    groups.result, indices);
  if (!outer)
    return nullptr;
  auto inner = split(cast<ShapedType>(source.getType()), groups.source, *outer);
  return inner ? trace(source, *inner) : nullptr;
}

ElementRef ElementTracer::traceSlice(tensor::ExtractSliceOp slice,
                                     ArrayRef<AffineExpr> indices) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<AffineExpr> source;
  unsigned next = 0;
  for (auto [dim, offset, stride] :
       llvm::enumerate(slice.getMixedOffsets(), slice.getMixedStrides())) {
    std::optional<int64_t> start = getConstantIntValue(offset),
                           step = getConstantIntValue(stride);
    if (!start || !step)
      return nullptr;
    AffineExpr index = dropped[dim] ? getAffineConstantExpr(0, context)
                                    : indices[next++] * *step;
    source.push_back(simplify(index + *start));
  }
  return trace(slice.getSource(), source);
}

ElementRef ElementTracer::traceElementwise(linalg::LinalgOp op, OpResult result,
                                           ArrayRef<AffineExpr> indices) {
  SmallVector<AffineExpr> loops;
  if (!getLoops(result, indices, loops))
    return nullptr;
  // A sum of one number is that number.
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  for (auto [loop, kind, size] :
       llvm::zip(loops, op.getIteratorTypesArray(), sizes)) {
    if (kind == utils::IteratorType::reduction && size != 1)
      return nullptr;
    if (!loop && size == 1)
      loop = getAffineConstantExpr(0, context);
    if (!loop)
      return nullptr;
  }
  Operation *yield = op.getBlock()->getTerminator();
  return traceScalar(yield->getOperand(result.getResultNumber()), op, loops);
}

/// Returns true for operations that compute one number from numbers.
static bool isArithmetic(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         // What these do depends on the type of what they are given.
         !isa<arith::BitcastOp, arith::ScalingExtFOp, arith::ScalingTruncFOp>(
             op);
}

/// The attributes that say what an operation computes.
static DictionaryAttr getMeaning(Operation *op) {
  NamedAttrList attributes(op->getAttrs());
  attributes.erase("fastmath");
  attributes.erase("overflowFlags");
  return attributes.getDictionary(op->getContext());
}

std::optional<BroadcastIndex> fa4::attn::matchBroadcastIndex(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select || !matchPattern(select.getTrueValue(), m_Zero()))
    return std::nullopt;
  auto index = select.getFalseValue().getDefiningOp<linalg::IndexOp>();
  auto comparison = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!index || !comparison ||
      comparison.getPredicate() != arith::CmpIPredicate::eq ||
      !matchPattern(comparison.getRhs(), m_One()))
    return std::nullopt;
  return BroadcastIndex{unsigned(index.getDim()), comparison.getLhs()};
}

/// The loop that `value` is the index of: that of a broadcast index whose size
/// is that of the loop.
static std::optional<unsigned> getBroadcastLoop(Value value,
                                                linalg::LinalgOp op) {
  std::optional<BroadcastIndex> index = matchBroadcastIndex(value);
  if (!index)
    return std::nullopt;
  std::optional<TensorSize> size = getTensorSize(index->size);
  std::optional<TensorSize> own = getLoopSize(op, index->loop);
  return size && own && *size == *own ? std::optional(index->loop)
                                      : std::nullopt;
}

ElementRef ElementTracer::traceScalar(Value value, linalg::LinalgOp op,
                                      ArrayRef<AffineExpr> loops) {
  llvm::SaveAndRestore deeper(depth, depth + 1);
  if (depth > kDeepest || elements.size() >= limit)
    return nullptr;
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
    element.indices = {simplify(loops[index.getDim()])};
    return add(element);
  }
  if (std::optional<unsigned> loop = getBroadcastLoop(value, op)) {
    element.kind = Element::Index;
    element.indices = {simplify(loops[*loop])};
    return add(element);
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(definition)) {
    SmallVector<AffineExpr> indices;
    for (Value index : extract.getIndices()) {
      element.args.push_back(traceScalar(index, op, loops));
      if (!element.args.back())
        return nullptr;
      if (element.args.back()->kind == Element::Index)
        indices.push_back(element.args.back()->indices.front());
    }
    if (indices.size() == element.args.size())
      return trace(extract.getTensor(), indices);
    element.kind = Element::Gather;
    element.value = extract.getTensor();
    return add(element);
  }
  if (!isArithmetic(definition))
    return nullptr;
  SmallVector<ElementRef> args;
  for (Value operand : definition->getOperands()) {
    args.push_back(traceScalar(operand, op, loops));
    if (!args.back())
      return nullptr;
  }
  return apply(definition->getName(), getMeaning(definition), value.getType(),
               args);
}

ElementRef ElementTracer::traceCount(DenseElementsAttr numbers,
                                     ArrayRef<AffineExpr> indices) {
  constexpr int64_t most = 1 << 20;
  ShapedType type = numbers.getType();
  auto isLong = [](int64_t size) { return size != 1; };
  if (!type.getElementType().isInteger() ||
      type.getElementType().isInteger(1) || type.getNumElements() > most ||
      llvm::count_if(type.getShape(), isLong) != 1)
    return nullptr;
  auto values = numbers.getValues<APInt>();
  std::optional<int64_t> first = (*values.begin()).trySExtValue();
  std::optional<int64_t> second = (*(values.begin() + 1)).trySExtValue();
  if (!first || !second || !llvm::isInt<31>(*first) ||
      !llvm::isInt<31>(*second))
    return nullptr;
  int64_t next = *first, step = *second - *first;
  for (const APInt &value : values) {
    if (value.trySExtValue() != next || !llvm::isInt<31>(next))
      return nullptr;
    next += step;
  }
  unsigned dim =
      llvm::find_if(type.getShape(), isLong) - type.getShape().begin();
  Element count;
  count.kind = Element::Index;
  count.type = IndexType::get(context);
  count.indices = {simplify(indices[dim] * step + *first)};
  return apply<arith::IndexCastOp>(type.getElementType(), {add(count)});
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
  if (dense)
    return traceCount(dense, indices);
  if (auto op = dyn_cast<linalg::LinalgOp>(definition))
    return traceElementwise(op, result, indices);
  if (auto groups = getReshapeGroups(definition))
    return traceReshape(definition, *groups, indices);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(definition))
    return traceSlice(slice, indices);
  if (auto cast = dyn_cast<tensor::CastOp>(definition))
    if (isa<RankedTensorType>(cast.getSource().getType()))
      return trace(cast.getSource(), indices);
  if (!isArithmetic(definition) ||
      !OpTrait::hasElementwiseMappableTraits(definition))
    return nullptr;
  SmallVector<ElementRef> args;
  for (Value operand : definition->getOperands()) {
    if (isa<RankedTensorType>(operand.getType())) {
      args.push_back(trace(operand, indices));
      continue;
    }
    Element scalar;
    scalar.kind = Element::Scalar;
    scalar.type = operand.getType();
    scalar.value = operand;
    args.push_back(add(scalar));
  }
  return apply(definition->getName(), getMeaning(definition), element.type,
               args);
}

ElementRef ElementTracer::trace(Value tensor, ArrayRef<AffineExpr> indices) {
  llvm::SaveAndRestore deeper(depth, depth + 1);
  Place place = {tensor, SmallVector<AffineExpr>(indices)};
  // What is used several times is in the expression several times.
  auto result = dyn_cast<OpResult>(tensor);
  if (result && elements.size() < limit && depth <= kDeepest)
    if (ElementRef element =
            traceDefinition(result.getOwner(), result, indices)) {
      element->places.push_back(place);
      return element;
    }
  Element leaf;
  leaf.type = cast<ShapedType>(tensor.getType()).getElementType();
  leaf.value = tensor;
  for (AffineExpr index : indices)
    leaf.indices.push_back(simplify(index));
  leaf.places.push_back(place);
  return add(leaf);
}
