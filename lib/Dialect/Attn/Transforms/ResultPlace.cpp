//===- ResultPlace.cpp - where a product's result goes --------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ResultPlace.h"
#include "TensorSize.h"

using namespace mlir;
using namespace fa4::attn;

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
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ReshapeOp>(
          user)) {
    std::optional<ReshapeGroups> groups = getReshapeGroups(user);
    if (!groups || user->getOperand(0) != place.tensor)
      return std::nullopt;
    auto source = cast<ShapedType>(place.tensor.getType());
    auto joined = tracer.join(source, groups->source, place.indices);
    auto indices =
        joined ? tracer.split(type, groups->result, *joined) : std::nullopt;
    if (!indices)
      return std::nullopt;
    next.indices = *indices;
  } else if (auto op = dyn_cast<linalg::LinalgOp>(user))
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
