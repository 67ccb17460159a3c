//===- TensorProduct.cpp - products and reductions of tensors ------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa4::attn;

std::optional<unsigned> fa4::attn::getReduction(linalg::LinalgOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  if (loops.size() != 1 || op.getNumParallelLoops() + 1 != op.getNumLoops() ||
      int64_t(op->getNumResults()) != op.getNumDpsInits())
    return std::nullopt;
  return loops.front();
}

/// Whether a value in the body of `op` depends on what has been accumulated.
static bool dependsOnSums(Value value, linalg::LinalgOp op) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return llvm::is_contained(op.getRegionOutputArgs(), argument);
  Operation *definition = value.getDefiningOp();
  return definition->getBlock() == op.getBlock() &&
         llvm::any_of(definition->getOperands(), [&](Value operand) {
           return dependsOnSums(operand, op);
         });
}

/// Returns the operation that adds to the accumulator of a result, and the
/// value added.
static std::pair<Operation *, Value> getCombiner(linalg::LinalgOp op,
                                                 unsigned result) {
  Block *body = op.getBlock();
  BlockArgument sum = op.getRegionOutputArgs()[result];
  Operation *last = body->getTerminator()->getOperand(result).getDefiningOp();
  if (!last || last->getBlock() != body || last->getNumOperands() != 2)
    return {};
  for (unsigned i : {0u, 1u})
    if (last->getOperand(i) == sum &&
        !dependsOnSums(last->getOperand(1 - i), op))
      return {last, last->getOperand(1 - i)};
  return {};
}

static Value skipExtensions(Value value) {
  while (auto extension = value.getDefiningOp<arith::ExtFOp>())
    value = extension.getIn();
  return value;
}

std::optional<std::pair<OpOperand *, OpOperand *>>
fa4::attn::getFactors(linalg::LinalgOp op, ElementTracer &tracer) {
  if (!getReduction(op) || op.getNumDpsInputs() != 2 ||
      op->getNumResults() != 1)
    return std::nullopt;
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!result.isProjectedPermutation() ||
      result.getNumResults() + 1 != op.getNumLoops())
    return std::nullopt;
  auto [combiner, added] = getCombiner(op, 0);
  if (!isa_and_nonnull<arith::AddFOp>(combiner))
    return std::nullopt;
  auto product = added.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  OpOperand *factors[2];
  for (unsigned i : {0u, 1u}) {
    auto argument =
        dyn_cast<BlockArgument>(skipExtensions(product->getOperand(i)));
    if (!argument || argument.getOwner() != op.getBlock() ||
        argument.getArgNumber() > 1)
      return std::nullopt;
    factors[i] = &op->getOpOperand(argument.getArgNumber());
  }
  Value init = op.getDpsInitOperand(0)->get();
  SmallVector<AffineExpr> anywhere(cast<ShapedType>(init.getType()).getRank(),
                                   getAffineConstantExpr(0, op.getContext()));
  if (factors[0] == factors[1] || !tracer.trace(init, anywhere)->isConstant(0))
    return std::nullopt;
  return std::pair(factors[0], factors[1]);
}

ElementRef fa4::attn::traceOperand(linalg::LinalgOp op, OpOperand *operand,
                                   ArrayRef<AffineExpr> loops,
                                   ElementTracer &tracer) {
  SmallVector<AffineExpr> indices;
  for (AffineExpr index : op.getMatchingIndexingMap(operand).getResults())
    indices.push_back(tracer.simplify(index.replaceDims(loops)));
  return tracer.trace(operand->get(), indices);
}

ElementRef fa4::attn::getReduced(ElementRef leaf, AffineExpr reduced,
                                 ElementTracer &tracer, double &init,
                                 llvm::function_ref<bool(Operation *)> isIt) {
  if (leaf->kind != Element::Leaf)
    return nullptr;
  auto op = leaf->value.getDefiningOp<linalg::LinalgOp>();
  std::optional<unsigned> loop = op ? getReduction(op) : std::nullopt;
  SmallVector<AffineExpr> loops;
  auto result = dyn_cast<OpResult>(leaf->value);
  if (!loop || !getLoops(result, leaf->indices, loops))
    return nullptr;
  loops[*loop] = reduced;
  unsigned number = result.getResultNumber();
  auto [combiner, added] = getCombiner(op, number);
  if (!combiner || !isIt(combiner) || llvm::is_contained(loops, AffineExpr()))
    return nullptr;
  std::optional<double> first =
      tracer.trace(op.getDpsInitOperand(number)->get(), leaf->indices)
          ->getConstant();
  if (!first)
    return nullptr;
  init = *first;
  return tracer.traceScalar(added, op, loops);
}

bool fa4::attn::isProduct(ElementRef element, ElementTracer &tracer) {
  if (element->kind != Element::Leaf)
    return false;
  auto product = element->value.getDefiningOp<linalg::LinalgOp>();
  return product && getFactors(product, tracer);
}
