//===- TensorProduct.cpp - products and reductions of tensors ------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fa4::attn;

std::optional<unsigned> fa4::attn::getReduction(linalg::LinalgOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  if (loops.empty() ||
      op.getNumParallelLoops() + loops.size() != op.getNumLoops() ||
      int64_t(op->getNumResults()) != op.getNumDpsInits())
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<unsigned> longer = llvm::filter_to_vector(
      loops, [&](unsigned loop) { return sizes[loop] != 1; });
  if (longer.size() > 1)
    return std::nullopt;
  return longer.empty() ? loops.back() : longer.front();
}

/// Whether a value in the body of `op` depends on what has been accumulated.
static bool dependsOnSums(Value value, linalg::LinalgOp op) {
  SmallVector<Value> open = {value};
  llvm::SmallPtrSet<Value, 8> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (llvm::is_contained(op.getRegionOutputArgs(), next))
      return true;
    Operation *definition = next.getDefiningOp();
    if (definition && definition->getBlock() == op.getBlock())
      llvm::append_range(open, definition->getOperands());
  }
  return false;
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

llvm::SmallBitVector fa4::attn::getUsedLoops(linalg::LinalgOp op,
                                             Value number) {
  llvm::SmallBitVector loops(op.getNumLoops());
  SmallVector<Value> open = {number};
  llvm::SmallPtrSet<Value, 8> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getOwner() != op.getBlock())
        continue;
      AffineMap map =
          op.getMatchingIndexingMap(&op->getOpOperand(argument.getArgNumber()));
      for (unsigned i = 0; i < op.getNumLoops(); ++i)
        if (map.isFunctionOfDim(i))
          loops.set(i);
      continue;
    }
    Operation *definition = next.getDefiningOp();
    if (definition->getBlock() != op.getBlock())
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(definition))
      loops.set(index.getDim());
    llvm::append_range(open, definition->getOperands());
  }
  return loops;
}

std::optional<std::pair<Value, Value>>
fa4::attn::getFactors(linalg::LinalgOp op, ElementTracer &tracer) {
  if (!op.hasPureTensorSemantics() || !getReduction(op) ||
      op->getNumResults() != 1)
    return std::nullopt;
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!result.isProjectedPermutation() ||
      result.getNumResults() != op.getNumParallelLoops())
    return std::nullopt;
  auto [combiner, added] = getCombiner(op, 0);
  if (!isa_and_nonnull<arith::AddFOp>(combiner))
    return std::nullopt;
  auto product = skipExtensions(added).getDefiningOp<arith::MulFOp>();
  if (!product || product->getBlock() != op.getBlock())
    return std::nullopt;
  std::pair<Value, Value> factors = {product.getLhs(), product.getRhs()};
  llvm::SmallBitVector left = getUsedLoops(op, factors.first),
                       right = getUsedLoops(op, factors.second);
  if (!left.test(right) && !right.test(left))
    return std::nullopt;
  Value init = op.getDpsInitOperand(0)->get();
  SmallVector<AffineExpr> anywhere(cast<ShapedType>(init.getType()).getRank(),
                                   getAffineConstantExpr(0, op.getContext()));
  if (!tracer.trace(init, anywhere)->isConstant(0))
    return std::nullopt;
  return factors;
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
