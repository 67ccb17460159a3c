//===- ResultPlace.cpp - where a product's result goes --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultPlace.h"

using namespace mlir;
using namespace fa4::attn;

/// Indices of the result of `expand`; empty if they are not known.
static SmallVector<AffineExpr> expandIndices(tensor::ExpandShapeOp expand,
                                             ArrayRef<AffineExpr> indices,
                                             ElementTracer &tracer) {
  auto type = expand.getResultType();
  SmallVector<AffineExpr> expanded(
      type.getRank(), getAffineConstantExpr(0, expand.getContext()));
  for (auto [group, index] :
       llvm::zip(expand.getReassociationIndices(), indices)) {
    AffineExpr rest = index;
    for (int64_t dim : llvm::reverse(group)) {
      int64_t size = type.getDimSize(dim);
      if (dim == group.front()) {
        expanded[dim] = rest;
        continue;
      }
      if (ShapedType::isDynamic(size))
        return {};
      expanded[dim] = tracer.simplify(rest % size);
      rest = tracer.simplify(rest.floorDiv(size));
    }
  }
  return expanded;
}

/// Indices of the result of `collapse`; empty if they are not known.
static SmallVector<AffineExpr> collapseIndices(tensor::CollapseShapeOp collapse,
                                               ArrayRef<AffineExpr> indices,
                                               ElementTracer &tracer) {
  auto source = collapse.getSrcType();
  SmallVector<AffineExpr> collapsed;
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    AffineExpr sum = getAffineConstantExpr(0, collapse.getContext());
    for (auto [position, dim] : llvm::enumerate(group)) {
      if (position != 0 && source.isDynamicDim(dim))
        return {};
      sum = position == 0 ? indices[dim]
                          : sum * source.getDimSize(dim) + indices[dim];
    }
    collapsed.push_back(tracer.simplify(sum));
  }
  return collapsed;
}

/// Indices of the result of `op`; empty if they are not known.
static SmallVector<AffineExpr> permuteIndices(linalg::LinalgOp op,
                                              Value operand,
                                              ArrayRef<AffineExpr> indices) {
  auto *use = llvm::find_if(op->getOpOperands(), [&](OpOperand &each) {
    return each.get() == operand;
  });
  if (!op.isDpsInput(use) || op->getNumResults() != 1)
    return {};
  AffineMap from = op.getMatchingIndexingMap(use);
  AffineMap to = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!from.isPermutation() || !to.isPermutation())
    return {};
  SmallVector<AffineExpr> order(from.getNumDims()), permuted;
  for (auto [mine, theirs] : llvm::zip(indices, from.getResults()))
    order[cast<AffineDimExpr>(theirs).getPosition()] = mine;
  for (AffineExpr index : to.getResults())
    permuted.push_back(order[cast<AffineDimExpr>(index).getPosition()]);
  return permuted;
}

std::optional<Place> fa4::attn::followPlace(const Place &place, Operation *user,
                                            ElementTracer &tracer) {
  Operation *definition = place.tensor.getDefiningOp();
  auto type = user->getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(user->getResult(0).getType())
                  : RankedTensorType();
  if (!type || !definition || user->getBlock() != definition->getBlock())
    return std::nullopt;
  Place next = {user->getResult(0), {}};
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(user))
    next.indices = expandIndices(expand, place.indices, tracer);
  else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(user))
    next.indices = collapseIndices(collapse, place.indices, tracer);
  else if (auto op = dyn_cast<linalg::LinalgOp>(user))
    next.indices = permuteIndices(op, place.tensor, place.indices);
  else
    next.indices = place.indices;
  if (type.getRank() != int64_t(next.indices.size()))
    return std::nullopt;
  return next;
}

bool fa4::attn::nameResult(const AttentionMatch &match,
                           const ElementTracer &tracer, const Place &place,
                           int row, int inner, AttentionOperand &result) {
  if (findOperandAxes(match, tracer, place, "results", true, row, inner, result)
          .empty())
    return true;
  result = {};
  result.tensor = place.tensor;
  auto isDim = [&](AffineExpr index, int position) {
    auto dim = dyn_cast<AffineDimExpr>(index);
    return dim && int(dim.getPosition()) == position;
  };
  bool isGrouped = match.reading.groupLoop >= 0;
  for (AffineExpr index : place.indices) {
    if (isDim(index, row))
      result.axes.push_back(Axis::Row);
    else if (isDim(index, inner))
      result.axes.push_back(Axis::Dim);
    else if (isDim(index, match.batch))
      result.axes.push_back(Axis::Batch);
    else if (match.reading.mergedHeads && index == match.headLoops[0]) {
      result.axes.push_back(Axis::Batch);
      result.mergedHeads = match.reading.mergedHeads;
    } else if (isGrouped && index == match.headLoops[0])
      result.axes.push_back(Axis::Head);
    else if (isGrouped && index == match.headLoops[1])
      result.axes.push_back(Axis::Group);
    else
      return false;
  }
  return true;
}
