//===- RaiseToAttn.cpp - attention in linalg to attn.sdpa -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientMatch.h"
#include "HoistBroadcast.h"
#include "OutlineFactor.h"
#include "RaiseRemark.h"
#include "ScoreRegion.h"
#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace fa4::attn {
#define GEN_PASS_DEF_RAISETOATTN
#include "fa4/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fa4::attn

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

using Axes = std::array<Axis, 4>;

static Axes getAxes(Layout layout) {
  DimOrder order = getDimOrder(layout);
  Axes axes;
  axes[*order.batch] = Axis::Batch;
  axes[order.head] = Axis::Head;
  axes[order.seq] = Axis::Row;
  axes[order.dim] = Axis::Dim;
  return axes;
}

/// The axes of `order` that are also in `axes`.
static SmallVector<Axis> getPresent(ArrayRef<Axis> order, ArrayRef<Axis> axes) {
  SmallVector<Axis> present;
  llvm::copy_if(order, std::back_inserter(present),
                [&](Axis axis) { return llvm::is_contained(axes, axis); });
  return present;
}

/// For each axis of `order` that is also in `axes`, its position, with those of
/// the axes around it that are not: how an unit dimension comes and goes.
static SmallVector<ReassociationIndices> getGroups(ArrayRef<Axis> order,
                                                   ArrayRef<Axis> axes) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices pending;
  for (auto [position, axis] : llvm::enumerate(order)) {
    pending.push_back(position);
    if (!llvm::is_contained(axes, axis))
      continue;
    groups.push_back(pending);
    pending.clear();
  }
  llvm::append_range(groups.back(), pending);
  return groups;
}

static Value transpose(OpBuilder &b, Location loc, Value value,
                       ArrayRef<Axis> from, ArrayRef<Axis> to) {
  if (from == to)
    return value;
  SmallVector<int64_t> permutation;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, value);
  SmallVector<OpFoldResult> permuted;
  for (Axis axis : to) {
    permutation.push_back(llvm::find(from, axis) - from.begin());
    permuted.push_back(sizes[permutation.back()]);
  }
  Type element = cast<ShapedType>(value.getType()).getElementType();
  Value empty = tensor::EmptyOp::create(b, loc, permuted, element);
  return linalg::TransposeOp::create(b, loc, value, empty, permutation)
      ->getResult(0);
}

/// Returns the operand with the four dimensions of a layout.
static Value toLayout(OpBuilder &b, Location loc,
                      const AttentionOperand &operand, const Axes &order) {
  SmallVector<Axis> present = getPresent(order, operand.axes);
  Value value = transpose(b, loc, operand.tensor, operand.axes, present);
  if (present.size() == order.size())
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (Axis axis : order) {
    auto found = llvm::find(present, axis);
    shape.push_back(
        found == present.end() ? 1 : type.getDimSize(found - present.begin()));
  }
  return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), value,
                                       getGroups(order, present));
}

/// The result with heads in two dimensions, those of keys first: `order`
/// becomes that of its dimensions.
static Value splitHeads(OpBuilder &b, Location loc, Value value, int64_t group,
                        SmallVectorImpl<Axis> &order) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  SmallVector<Axis> split;
  SmallVector<ReassociationIndices> groups;
  for (auto [axis, size] : llvm::zip(order, type.getShape())) {
    groups.push_back({int64_t(shape.size())});
    split.push_back(axis);
    shape.push_back(size);
    if (axis != Axis::Head)
      continue;
    groups.back().push_back(shape.size());
    shape.back() = size / group;
    shape.push_back(group);
    split.push_back(Axis::Group);
  }
  order = split;
  return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), value,
                                       groups);
}

/// Returns a result of the op with the dimensions of what it replaces.
static Value fromLayout(OpBuilder &b, Location loc, Value value,
                        const AttentionOperand &replaced, const Axes &order) {
  SmallVector<Axis> wanted;
  for (Axis axis : replaced.axes) {
    wanted.push_back(axis);
    if (replaced.mergedHeads && axis == Axis::Batch)
      wanted.push_back(Axis::Head);
  }
  SmallVector<Axis> present = getPresent(order, wanted);
  if (present.size() < order.size())
    value = tensor::CollapseShapeOp::create(b, loc, value,
                                            getGroups(order, present));
  if (auto split = llvm::find(wanted, Axis::Group); split != wanted.end()) {
    int64_t group = cast<ShapedType>(replaced.tensor.getType())
                        .getDimSize(split - wanted.begin());
    value = splitHeads(b, loc, value, group, present);
  }
  value = transpose(b, loc, value, present, wanted);
  if (replaced.mergedHeads) {
    SmallVector<ReassociationIndices> groups;
    for (auto [position, axis] : llvm::enumerate(wanted)) {
      if (axis == Axis::Head)
        groups.back().push_back(position);
      else
        groups.push_back({int64_t(position)});
    }
    value = tensor::CollapseShapeOp::create(b, loc, value, groups);
  }
  if (value.getType() != replaced.tensor.getType())
    value = tensor::CastOp::create(b, loc, replaced.tensor.getType(), value);
  return value;
}

/// The layout for which the fewest operands are transposed.
static Layout chooseLayout(const AttentionMatch &match) {
  Layout best = Layout::bshd;
  unsigned fewest = -1;
  for (Layout layout : {Layout::bshd, Layout::bhsd, Layout::sbhd}) {
    Axes order = getAxes(layout);
    unsigned transposed = 0;
    for (const AttentionOperand *operand :
         {&match.q, &match.k, &match.v, &match.out})
      transposed += getPresent(order, operand->axes) != operand->axes;
    if (transposed < fewest) {
      fewest = transposed;
      best = layout;
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

static Type getElement(Value value) {
  return cast<ShapedType>(value.getType()).getElementType();
}

/// The size of an axis, or `otherwise` if the operand has none.
static int64_t getSize(const AttentionOperand &operand, Axis axis,
                       int64_t otherwise = 1) {
  auto found = llvm::find(operand.axes, axis);
  return found == operand.axes.end()
             ? otherwise
             : cast<ShapedType>(operand.tensor.getType())
                   .getDimSize(found - operand.axes.begin());
}

/// Whether all of the operands have the same size along an axis, as far as
/// sizes are known.
static bool isOneSize(ArrayRef<const AttentionOperand *> operands, Axis axis) {
  int64_t size = ShapedType::kDynamic;
  for (const AttentionOperand *operand : operands) {
    int64_t own = getSize(*operand, axis, ShapedType::kDynamic);
    if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(own) &&
        own != size)
      return false;
    size = ShapedType::isDynamic(own) ? size : own;
  }
  return true;
}

/// Says why the op cannot have these operands; empty if it can.
static std::string checkOperands(const AttentionMatch &match) {
  Type type = getElement(match.q.tensor);
  if (getElement(match.k.tensor) != type || getElement(match.v.tensor) != type)
    return "queries, keys and values have different element types";
  if (!isSupportedInputType(type) ||
      !isSupportedOutputType(getElement(match.out.tensor), type))
    return "attn.sdpa has no such element types";
  // A map may read a part of a tensor only.
  if (!isOneSize({&match.q, &match.k, &match.v}, Axis::Batch) ||
      !isOneSize({&match.q, &match.out}, Axis::Row) ||
      !isOneSize({&match.k, &match.v}, Axis::Row) ||
      !isOneSize({&match.q, &match.k}, Axis::Dim) ||
      !isOneSize({&match.v, &match.out}, Axis::Dim))
    return "the products read a part of their operands only";
  bool isShared = !llvm::is_contained(match.k.axes, Axis::Head);
  if (match.k.group != match.v.group ||
      isShared == llvm::is_contained(match.v.axes, Axis::Head))
    return "keys and values are shared by different numbers of heads";
  int64_t queries = getSize(match.q, Axis::Head);
  for (const AttentionOperand *operand : {&match.k, &match.v})
    if (operand->group != 1 &&
        (ShapedType::isDynamic(queries) ||
         getSize(*operand, Axis::Head) * operand->group != queries))
      return "heads of keys and values are not shared by equal numbers of "
             "query heads";
  return "";
}

namespace {
/// Attention that has been raised, in one of the layouts.
struct Raised {
  SdpaOp op;
  Layout layout;
};
} // namespace

/// The shape of the rows' log-sum-exp.
static RankedTensorType getLseType(RankedTensorType q, const DimOrder &order) {
  return RankedTensorType::get({q.getDimSize(*order.batch),
                                q.getDimSize(order.head),
                                q.getDimSize(order.seq)},
                               Float32Type::get(q.getContext()));
}

/// Makes attn.sdpa in front of `place`, with the log-sum-exp if a gradient
/// needs that.
static Raised build(AttentionMatch &match, ElementTracer &tracer,
                    Operation *place, bool hasGradient) {
  OpBuilder b(place);
  Location loc = match.out.tensor.getLoc();
  Layout layout = chooseLayout(match);
  Axes order = getAxes(layout);
  Value q = toLayout(b, loc, match.q, order),
        k = toLayout(b, loc, match.k, order),
        v = toLayout(b, loc, match.v, order);
  DimOrder dims = getDimOrder(layout);
  auto qType = cast<RankedTensorType>(q.getType());
  SmallVector<int64_t> shape(qType.getShape());
  shape[dims.dim] = cast<ShapedType>(v.getType()).getDimSize(dims.dim);
  auto type = RankedTensorType::get(shape, getElement(match.out.tensor));

  ScoreRegionWriter writer(match, tracer, loc);
  auto op = SdpaOp::create(
      b, loc, type, hasGradient ? getLseType(qType, dims) : Type(), q, k, v,
      /*page_table=*/Value(), /*block_list=*/Value(), /*block_counts=*/Value(),
      /*cu_seqlens_q=*/Value(), /*cu_seqlens_k=*/Value(), /*seqlens_k=*/Value(),
      /*sinks=*/Value(), writer.getCaptures(), ValueRange(), layout, MaskAttr(),
      b.getF32FloatAttr(match.scale), /*block_size=*/ArrayRef<int64_t>(),
      /*batch_invariant=*/false);
  if (writer.hasScoreMod())
    writer.writeScoreMod(b, op.getScoreMod());
  if (!match.masks.empty())
    writer.writeMaskMod(b, op.getMaskMod());
  Value result = fromLayout(b, loc, op.getOut(), match.out, order);
  match.out.tensor.replaceAllUsesWith(result);
  return {op, layout};
}

/// The tensor with elements of `type`, which is at least as wide as its own.
static Value widen(OpBuilder &b, Location loc, Value value, Type type) {
  return getElement(value) == type
             ? value
             : arith::ExtFOp::create(
                   b, loc, cast<ShapedType>(value.getType()).clone(type),
                   value);
}

/// Makes attn.sdpa_backward in front of `place`.
static void buildGradient(const AttentionMatch &match, GradientMatch &gradient,
                          const Raised &forward, Operation *place) {
  OpBuilder b(place);
  Location loc = place->getLoc();
  SdpaOp op = forward.op;
  Axes order = getAxes(forward.layout);
  Value dout = toLayout(b, loc, gradient.dout, order), out = op.getOut();
  Type element = getElement(out);
  if (getElement(dout).getIntOrFloatBitWidth() >
      element.getIntOrFloatBitWidth())
    element = getElement(dout);
  out = widen(b, loc, out, element);
  dout = widen(b, loc, dout, element);
  SmallVector<Type> types;
  for (auto [input, result] : {std::pair(op.getQ(), &gradient.dq),
                               {op.getK(), &gradient.dk},
                               {op.getV(), &gradient.dv}})
    types.push_back(
        cast<ShapedType>(input.getType()).clone(getElement(result->tensor)));
  auto backward = SdpaBackwardOp::create(
      b, loc, types[0], types[1], types[2], /*dsinks=*/Type(),
      /*dcaptures=*/TypeRange(), op.getQ(), op.getK(), op.getV(), out, dout,
      op.getLse(), /*dlse=*/Value(), /*query_list=*/Value(),
      /*query_counts=*/Value(), /*block_list=*/Value(),
      /*block_counts=*/Value(), /*cu_seqlens_q=*/Value(),
      /*cu_seqlens_k=*/Value(), /*seqlens_k=*/Value(), /*sinks=*/Value(),
      op.getCaptures(), ValueRange(), forward.layout, MaskAttr(),
      op.getScaleAttr(), /*block_size=*/ArrayRef<int64_t>(),
      /*deterministic=*/false, /*wrt=*/ArrayRef<int64_t>());
  IRMapping mapping;
  op.getScoreMod().cloneInto(&backward.getScoreMod(), mapping);
  op.getMaskMod().cloneInto(&backward.getMaskMod(), mapping);
  for (auto [value, result] : {std::pair(backward.getDq(), &gradient.dq),
                               {backward.getDk(), &gradient.dk},
                               {backward.getDv(), &gradient.dv}})
    result->tensor.replaceAllUsesWith(
        fromLayout(b, loc, value, *result, order));
}

/// Says why the gradient's op cannot have these operands; empty if it can.
static std::string checkGradient(const AttentionMatch &match,
                                 const GradientMatch &gradient) {
  Type out = getElement(match.out.tensor),
       dout = getElement(gradient.dout.tensor);
  Type input = getElement(match.q.tensor);
  if (!isSupportedOutputType(dout, input))
    return "attn.sdpa_backward has no such type of the output's gradient";
  if (out != dout &&
      out.getIntOrFloatBitWidth() == dout.getIntOrFloatBitWidth())
    return "the output and its gradient have different types of one width";
  for (const AttentionOperand *result :
       {&gradient.dq, &gradient.dk, &gradient.dv})
    if (!isSupportedOutputType(getElement(result->tensor), input))
      return "attn.sdpa_backward has no such types of gradients";
  return "";
}

/// The first of the operations in their block.
static Operation *getFirst(ArrayRef<Operation *> ops) {
  return *llvm::min_element(
      ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

/// Whether all of the values are there in front of `place`.
static bool areDefinedBefore(ArrayRef<Value> values, Operation *place) {
  DominanceInfo dominance;
  return llvm::all_of(values, [&](Value value) {
    return dominance.properlyDominates(value, place);
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct RaiseToAttnPass : fa4::attn::impl::RaiseToAttnBase<RaiseToAttnPass> {
  void runOnOperation() override;

private:
  /// Raises what `op` is the second product of, and its gradient. Returns true
  /// if an operand was made a tensor for that, and `op` is to be tried again.
  bool raise(linalg::LinalgOp op);
  /// Builds what `match` has found.
  void build(AttentionMatch &match, ElementTracer &tracer);

  /// Why operations that look like attention are not raised, or products that
  /// look like its gradient; those that are part of what is raised have no
  /// remark.
  llvm::MapVector<Operation *, std::string> reasons, gradientReasons;
  llvm::DenseSet<Operation *> raised;
};

/// Erases what nothing uses any more, from the end on.
void eraseDeadOps(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != root)
      ops.push_back(op);
    // The body of an operation goes with it.
    return isa_and_nonnull<linalg::LinalgDialect>(op->getDialect())
               ? WalkResult::skip()
               : WalkResult::advance();
  });
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op) &&
        isa_and_nonnull<linalg::LinalgDialect, tensor::TensorDialect,
                        arith::ArithDialect, math::MathDialect>(
            op->getDialect()))
      op->erase();
}

} // namespace

void RaiseToAttnPass::build(AttentionMatch &match, ElementTracer &tracer) {
  GradientMatch gradient;
  SmallVector<GradientMiss> misses;
  bool hasGradient = matchGradient(match, tracer, gradient, misses);
  Operation *place = match.out.tensor.getDefiningOp(), *gradientPlace = nullptr;
  if (hasGradient) {
    std::string why = checkGradient(match, gradient);
    gradientPlace = getFirst(
        {gradient.products[0], gradient.products[1], gradient.products[2]});
    Operation *first = getFirst({place, gradientPlace});
    if (why.empty() &&
        !(areDefinedBefore({match.q.tensor, match.k.tensor, match.v.tensor},
                           first) &&
          areDefinedBefore(gradient.dout.tensor, gradientPlace)))
      why = "an operand is computed only after the first of the products";
    if (why.empty()) {
      place = first;
      raised.insert(gradient.products.begin(), gradient.products.end());
    } else {
      hasGradient = false;
      for (linalg::LinalgOp product : gradient.products)
        misses.push_back({product, why});
    }
  }
  for (const auto &[op, why] : misses)
    gradientReasons.insert({op, why});
  Raised forward = ::build(match, tracer, place, hasGradient);
  if (hasGradient)
    buildGradient(match, gradient, forward, gradientPlace);
}

bool RaiseToAttnPass::raise(linalg::LinalgOp op) {
  std::string reasons[2];
  ElementTracer zeros(&getContext(), {});
  for (const LoopReading &reading : getLoopReadings(op, zeros)) {
    SmallVector<int64_t> sizes = getAttentionSizes(op, reading);
    sizes.append(kGradientDims, ShapedType::kDynamic);
    ElementTracer tracer(&getContext(), sizes);
    AttentionMatch match;
    match.reading = reading;
    std::string &reason = reasons[reading.isSwapped];
    if (matchAttention(op, tracer, match, reason)) {
      reason = checkOperands(match);
      if (reason.empty()) {
        build(match, tracer);
        return false;
      }
    }
    if (match.fusedProduct) {
      outlineFactor(match.fusedProduct, match.fusedFactor);
      hoistBroadcasts(op->getParentOp());
      return true;
    }
  }
  for (const std::string &reason : reasons)
    if (!reason.empty()) {
      this->reasons.insert({op, reason});
      return false;
    }
  if (std::string why = explainUnmatched(op); !why.empty())
    this->reasons.insert({op, why});
  return false;
}

/// Checks that reshapes name dimensions that there are. Upstream's verifier
/// narrows their numbers to 32 bits first, and takes 4294967296 for 0.
static LogicalResult verifyGroups(Operation *root) {
  auto verify = [](auto op, int64_t rank) {
    for (const ReassociationIndices &group : op.getReassociationIndices())
      for (int64_t dim : group)
        if (dim < 0 || dim >= rank)
          return WalkResult(op.emitOpError("names dimension ")
                            << dim << " of a tensor of rank " << rank);
    return WalkResult::advance();
  };
  WalkResult result = root->walk([&](Operation *op) {
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return verify(expand, expand.getResultType().getRank());
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
      return verify(collapse, collapse.getSrcType().getRank());
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void RaiseToAttnPass::runOnOperation() {
  if (failed(verifyGroups(getOperation())))
    return signalPassFailure();
  hoistBroadcasts(getOperation());
  SmallVector<linalg::LinalgOp> ops;
  getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops)
    while (!raised.contains(op) && raise(op))
      ;
  // A product of the gradient may look like attention that ends in it.
  for (const auto &[op, reason] : gradientReasons)
    if (!raised.contains(op))
      op->emitRemark("not raised to attn.sdpa_backward: ") << reason;
  for (const auto &[op, reason] : reasons)
    if (!raised.contains(op) && !gradientReasons.contains(op))
      op->emitRemark("not raised to attn.sdpa: ") << reason;
  eraseDeadOps(getOperation());
}
