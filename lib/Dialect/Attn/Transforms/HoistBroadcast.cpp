//===- HoistBroadcast.cpp - broadcasts by index, in front of arithmetic ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HoistBroadcast.h"
#include "TensorElement.h"
#include "TensorSize.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4::attn;

namespace {
/// An index at which a tensor is read: a constant, or, in the loops of the
/// operation that reads, an expression that has `extent` values.
struct GatherIndex {
  Value constant;
  AffineExpr index;
  OpFoldResult extent;
  /// The index is 0 where this is 1; may be null.
  Value size;
};

/// A tensor, and what each of its dimensions is in the loops.
struct Gathered {
  Value tensor;
  SmallVector<AffineExpr> indices;
};
} // namespace

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// The index that `value` is in the body of `op`; nothing if it is neither a
/// constant nor a loop.
static std::optional<GatherIndex> getIndex(OpBuilder &b, linalg::GenericOp op,
                                           Value value) {
  GatherIndex index;
  if (matchPattern(value, m_Constant())) {
    index.constant = value;
    return value.getParentBlock() == op.getBody() ? std::nullopt
                                                  : std::optional(index);
  }
  unsigned loop;
  if (auto broadcast = matchBroadcastIndex(value)) {
    if (broadcast->size.getParentBlock() == op.getBody())
      return std::nullopt;
    loop = broadcast->loop;
    index.size = broadcast->size;
  } else if (auto plain = value.getDefiningOp<linalg::IndexOp>()) {
    loop = plain.getDim();
  } else {
    return std::nullopt;
  }
  index.index = getAffineDimExpr(loop, op.getContext());
  OpOperand *init = op.getDpsInitOperand(0);
  for (auto [dim, place] :
       llvm::enumerate(op.getMatchingIndexingMap(init).getResults()))
    if (place == index.index) {
      index.extent = tensor::getMixedSize(b, op.getLoc(), init->get(), dim);
      return index;
    }
  return std::nullopt;
}

/// The indices of `extract`, in the body of `op`, if they are different loops
/// and at least one is a broadcast that sizes do not resolve.
static SmallVector<GatherIndex> getIndices(OpBuilder &b, linalg::GenericOp op,
                                           tensor::ExtractOp extract) {
  SmallVector<GatherIndex> indices;
  llvm::SmallDenseSet<AffineExpr> loops;
  bool isBroadcast = false;
  for (Value value : extract.getIndices()) {
    std::optional<GatherIndex> index = getIndex(b, op, value);
    if (!index || (!index->constant && !loops.insert(index->index).second))
      return {};
    if (index->size) {
      std::optional<TensorSize>
          size = getTensorSize(index->size),
          own =
              getLoopSize(op, cast<AffineDimExpr>(index->index).getPosition());
      isBroadcast |= !size || !own || !(*size == *own);
    }
    indices.push_back(*index);
  }
  return isBroadcast ? indices : SmallVector<GatherIndex>();
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// The operation that computes each element of `tensor` from one element of
/// one other tensor; null if there is none.
static linalg::LinalgOp getElementwise(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  if (!op || op->getNumResults() != 1 || op.getNumDpsInputs() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !isa<RankedTensorType>(op.getDpsInputOperand(0)->get().getType()) ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isPermutation() ||
      !op.getMatchingIndexingMap(op.getDpsInputOperand(0))
           .isProjectedPermutation())
    return nullptr;
  bool isArithmetic =
      llvm::all_of(op.getBlock()->without_terminator(), [](Operation &each) {
        return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
                   each.getDialect()) &&
               each.getNumRegions() == 0;
      });
  return isArithmetic ? op : nullptr;
}

/// An operation on all of a tensor's elements, or on none, if `inputs` is
/// empty.
static Value makeMap(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes,
                     Type element, ValueRange inputs,
                     llvm::function_ref<Value(OpBuilder &, ValueRange)> body) {
  MLIRContext *context = b.getContext();
  Value empty = tensor::EmptyOp::create(b, loc, sizes, element);
  SmallVector<AffineMap> maps(
      inputs.size() + 1,
      AffineMap::getMultiDimIdentityMap(sizes.size(), context));
  SmallVector<utils::IteratorType> iterators(sizes.size(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), inputs, empty, maps, iterators,
             [&](OpBuilder &b, Location loc, ValueRange args) {
               linalg::YieldOp::create(b, loc, body(b, args));
             })
      .getResult(0);
}

/// Reads `tensor` at the indices, in the order of its dimensions.
static Gathered read(OpBuilder &b, Location loc, Value tensor,
                     ArrayRef<GatherIndex> indices) {
  Gathered gathered;
  SmallVector<OpFoldResult> sizes;
  for (const GatherIndex &index : indices) {
    if (index.constant)
      continue;
    gathered.indices.push_back(index.index);
    sizes.push_back(index.extent);
  }
  Type element = cast<ShapedType>(tensor.getType()).getElementType();
  gathered.tensor =
      makeMap(b, loc, sizes, element, {}, [&](OpBuilder &b, ValueRange) {
        SmallVector<Value> values;
        unsigned next = 0;
        for (const GatherIndex &index : indices) {
          Value value = index.constant;
          if (!value)
            value = linalg::IndexOp::create(b, loc, next++);
          if (index.size) {
            Value zero = arith::ConstantIndexOp::create(b, loc, 0),
                  one = arith::ConstantIndexOp::create(b, loc, 1),
                  isOne = arith::CmpIOp::create(
                      b, loc, arith::CmpIPredicate::eq, index.size, one);
            value = arith::SelectOp::create(b, loc, isOne, zero, value);
          }
          values.push_back(value);
        }
        return tensor::ExtractOp::create(b, loc, tensor, values).getResult();
      });
  return gathered;
}

/// The dimensions of a group that have more than one element.
static SmallVector<int64_t> getLong(ShapedType type, ArrayRef<int64_t> group) {
  return llvm::filter_to_vector(
      group, [&](int64_t dim) { return type.getDimSize(dim) != 1; });
}

/// The indices of a group of dimensions, of `type`, that are one dimension, and
/// at `index`, behind a reshape; nothing if the sizes are not known.
static LogicalResult splitIndex(OpBuilder &b, GatherIndex index,
                                ShapedType type, ArrayRef<int64_t> group,
                                MutableArrayRef<GatherIndex> indices) {
  if (group.size() == 1) {
    indices[group[0]] = index;
    return success();
  }
  if (index.constant || index.size)
    return failure();
  for (int64_t dim : llvm::reverse(group)) {
    int64_t size = type.getDimSize(dim);
    if (ShapedType::isDynamic(size))
      return failure();
    indices[dim] = {};
    indices[dim].index = dim == group[0] ? index.index : index.index % size;
    indices[dim].extent = b.getIndexAttr(size);
    index.index = index.index.floorDiv(size);
  }
  return success();
}

/// The indices in the source of a reshape at which its result is read at
/// `indices`; nothing if that is no reshape, or if sizes are not known.
static std::optional<std::pair<Value, SmallVector<GatherIndex>>>
lookThroughReshape(OpBuilder &b, Value tensor, ArrayRef<GatherIndex> indices) {
  Operation *op = tensor.getDefiningOp();
  std::optional<ReshapeGroups> groups = getReshapeGroups(op);
  if (!groups)
    return std::nullopt;
  Value source = op->getOperand(0);
  auto type = cast<ShapedType>(source.getType());
  GatherIndex first;
  first.constant = arith::ConstantIndexOp::create(b, op->getLoc(), 0);
  SmallVector<GatherIndex> ofSource(type.getRank(), first);
  for (auto [from, to] : llvm::zip(groups->source, groups->result)) {
    SmallVector<int64_t> source = getLong(type, from),
                         result =
                             getLong(cast<ShapedType>(tensor.getType()), to);
    if (result.size() > 1)
      return std::nullopt;
    if (!source.empty() &&
        (result.empty() ||
         failed(splitIndex(b, indices[result[0]], type, source, ofSource))))
      return std::nullopt;
  }
  return std::pair(source, ofSource);
}

/// As `read`, but in front of what `tensor` is computed by.
static Gathered gather(OpBuilder &b, Location loc, Value tensor,
                       ArrayRef<GatherIndex> indices) {
  if (auto source = lookThroughReshape(b, tensor, indices))
    return gather(b, loc, source->first, source->second);
  linalg::LinalgOp producer = getElementwise(tensor);
  if (!producer)
    return read(b, loc, tensor, indices);
  AffineMap from =
      producer.getMatchingIndexingMap(producer.getDpsInputOperand(0));
  AffineMap to = producer.getMatchingIndexingMap(producer.getDpsInitOperand(0));
  SmallVector<GatherIndex> ofInput;
  for (AffineExpr loop : from.getResults())
    ofInput.push_back(indices[*to.getResultPosition(loop)]);
  Gathered inner =
      gather(b, loc, producer.getDpsInputOperand(0)->get(), ofInput);
  Block *body = producer.getBlock();
  Value result = body->getTerminator()->getOperand(0);
  if (result == body->getArgument(0))
    return inner;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, inner.tensor);
  inner.tensor = makeMap(b, loc, sizes, result.getType(), inner.tensor,
                         [&](OpBuilder &b, ValueRange args) {
                           IRMapping mapping;
                           mapping.map(body->getArgument(0), args[0]);
                           for (Operation &each : body->without_terminator())
                             b.clone(each, mapping);
                           return mapping.lookupOrDefault(result);
                         });
  return inner;
}

/// Whether `op` does nothing but to read the tensor as `read` does.
static bool isRead(linalg::GenericOp op, tensor::ExtractOp extract,
                   ArrayRef<GatherIndex> indices) {
  SmallVector<AffineExpr> order, loops;
  for (const GatherIndex &index : indices)
    if (!index.constant)
      order.push_back(index.index);
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    loops.push_back(getAffineDimExpr(loop, op.getContext()));
  return op.getNumDpsInputs() == 0 && order == loops &&
         op.getBody()->getTerminator()->getOperand(0) == extract.getResult();
}

/// Gives `op` the element that `extract` reads as another input.
static void hoist(linalg::GenericOp op, tensor::ExtractOp extract) {
  OpBuilder b(op);
  if (op.getNumParallelLoops() != op.getNumLoops() || op->getNumResults() != 1)
    return;
  SmallVector<GatherIndex> indices = getIndices(b, op, extract);
  Value tensor = extract.getTensor();
  if (indices.empty() || tensor.getParentBlock() == op.getBody())
    return;
  // Nothing would change, again and again.
  if (isRead(op, extract, indices) && !getElementwise(tensor) &&
      !lookThroughReshape(b, tensor, indices))
    return;
  Gathered gathered = gather(b, op.getLoc(), tensor, indices);
  unsigned position = op.getNumDpsInputs();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.insert(
      maps.begin() + position,
      AffineMap::get(op.getNumLoops(), 0, gathered.indices, op.getContext()));
  op.getInputsMutable().append(gathered.tensor);
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  Value input = op.getBody()->insertArgument(position, extract.getType(),
                                             extract.getLoc());
  extract.replaceAllUsesWith(input);
  extract.erase();
}

void fa4::attn::hoistBroadcasts(Operation *root) {
  SmallVector<tensor::ExtractOp> extracts;
  root->walk([&](tensor::ExtractOp extract) { extracts.push_back(extract); });
  for (tensor::ExtractOp extract : extracts)
    if (auto op = dyn_cast<linalg::GenericOp>(extract->getParentOp()))
      hoist(op, extract);
}
