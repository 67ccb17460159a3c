//===- AttnTiling.cpp - tiling of the attn ops ---------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The iteration space is [batch, key/value head], both parallel. Queries and
// keys are not tiled here: a mask speaks of positions in the whole sequence,
// which a slice of it no longer knows. The packed layouts have no batch
// dimension to tile, and dsinks is a sum over the batch, so that these leave
// the key/value heads only.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fa4::attn;

namespace {
/// The dimensions of an operand or result that the tiled loops cut.
struct TiledDims {
  std::optional<unsigned> batch;
  std::optional<unsigned> head;
  /// True if the head dimension counts key/value heads, false for query heads.
  bool isKeyValue = false;
};

/// One tile of the iteration space (batch, key/value head).
struct Tile {
  OpFoldResult batchOffset, batchSize; // null where the batch is not tiled
  OpFoldResult headOffset, headSize;   // in key/value heads
  OpFoldResult group;                  // query heads of a key/value head
};
} // namespace

static TiledDims getDataDims(const DimOrder &order, bool isKeyValue) {
  return {order.batch, order.head, isKeyValue};
}

static TiledDims getLseDims(const DimOrder &order) {
  return {order.lseBatch(), order.lseHead(), /*isKeyValue=*/false};
}

static constexpr TiledDims kPerQueryHead = {std::nullopt, 0u, false};

/// Returns the tiled dimensions of each output, in the order of the results (or
/// destinations).
static SmallVector<TiledDims> getOutputDims(AttentionOpInterface op) {
  DimOrder order = getDimOrder(op.getLayout());
  if (isa<SdpaOp>(op))
    return {getDataDims(order, false), getLseDims(order)};
  // The gradients of sinks and captures have a number for each query head.
  SmallVector<TiledDims> dims = {getDataDims(order, false),
                                 getDataDims(order, true),
                                 getDataDims(order, true)};
  dims.append(1 + cast<SdpaBackwardOp>(op.getOperation()).getWrt().size(),
              kPerQueryHead);
  return dims;
}

namespace {
/// What a head of a block list stands for.
enum class ListHeads { All, KeyValue, Query };
} // namespace

/// Returns nothing if the sizes do not say which heads have a list of their
/// own.
static std::optional<ListHeads> getListHeads(AttentionOpInterface op) {
  auto size = [](Value value, unsigned dim) {
    return cast<ShapedType>(value.getType()).getDimSize(dim);
  };
  int64_t heads = size(op.getBlockList(), kListHeads);
  if (heads == 1)
    return ListHeads::All;
  if (ShapedType::isDynamic(heads))
    return std::nullopt;
  if (heads == size(op.getK(), getKeyOrder(op).head))
    return ListHeads::KeyValue;
  if (heads == size(op.getQ(), getDimOrder(op.getLayout()).head))
    return ListHeads::Query;
  return std::nullopt;
}

/// Returns the dimensions of a list of blocks, or of its counts.
static TiledDims getListDims(AttentionOpInterface op) {
  TiledDims dims{getDimOrder(op.getLayout()).isPacked()
                     ? std::nullopt
                     : std::optional(kListSequences),
                 std::nullopt, false};
  ListHeads heads = *getListHeads(op);
  if (heads != ListHeads::All)
    dims.head = kListHeads;
  dims.isKeyValue = heads == ListHeads::KeyValue;
  return dims;
}

static TiledDims getOperandDims(AttentionOpInterface op, Value value) {
  DimOrder order = getDimOrder(op.getLayout());
  if (value == op.getK() || value == op.getV()) {
    TiledDims dims = getDataDims(getKeyOrder(op), true);
    // Any sequence may have any page.
    if (op.getPageTable())
      dims.batch = std::nullopt;
    return dims;
  }
  if (value == op.getPageTable() && order.isPacked())
    return {};
  if (value == op.getPageTable())
    return {kTableSequences, std::nullopt, false};
  if (value == op.getBlockList() || value == op.getBlockCounts())
    return getListDims(op);
  if (value == op.getSeqlensK())
    return {order.isPacked() ? std::nullopt : std::optional<unsigned>(0),
            std::nullopt, false};
  if (value == op.getSinks())
    return kPerQueryHead;
  auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation());
  if (backward &&
      (value == backward.getQueryList() || value == backward.getQueryCounts()))
    return getListDims(op);
  if (backward &&
      (value == backward.getFwdLse() || value == backward.getDlse()))
    return getLseDims(order);
  if (value == op.getCuSeqlensQ() || value == op.getCuSeqlensK())
    return {};
  return getDataDims(order, false); // q, out, dout
}

static bool isBatchTiled(AttentionOpInterface op) {
  auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation());
  return !getDimOrder(op.getLayout()).isPacked() &&
         !(backward && (backward.hasDsinks() || !backward.getWrt().empty()));
}

static OpFoldResult getSize(OpBuilder &builder, Location loc, Value value,
                            unsigned dim) {
  if (isa<BaseMemRefType>(value.getType()))
    return memref::getMixedSize(builder, loc, value, dim);
  return tensor::getMixedSize(builder, loc, value, dim);
}

static OpFoldResult apply(OpBuilder &builder, Location loc, AffineExpr expr,
                          ArrayRef<OpFoldResult> symbols) {
  return affine::makeComposedFoldedAffineApply(builder, loc, expr, symbols);
}

/// Returns the number of query heads that share a key/value head: Hq / Hkv.
static OpFoldResult getGroup(OpBuilder &builder, AttentionOpInterface op) {
  AffineExpr hq = builder.getAffineSymbolExpr(0);
  AffineExpr hkv = builder.getAffineSymbolExpr(1);
  return apply(
      builder, op.getLoc(), hq.floorDiv(hkv),
      {getSize(builder, op.getLoc(), op.getQ(),
               getDimOrder(op.getLayout()).head),
       getSize(builder, op.getLoc(), op.getK(), getKeyOrder(op).head)});
}

static OpFoldResult multiply(OpBuilder &builder, Location loc, OpFoldResult a,
                             OpFoldResult b) {
  return apply(builder, loc,
               builder.getAffineSymbolExpr(0) * builder.getAffineSymbolExpr(1),
               {a, b});
}

/// Sets `offsets` and `sizes` to the part of a tensor of sizes `whole` that
/// belongs to `tile`.
static void getSlice(OpBuilder &builder, Location loc,
                     ArrayRef<OpFoldResult> whole, const TiledDims &dims,
                     const Tile &tile, SmallVectorImpl<OpFoldResult> &offsets,
                     SmallVectorImpl<OpFoldResult> &sizes) {
  for (auto [dim, size] : llvm::enumerate(whole)) {
    if (dims.batch == dim && tile.batchSize) {
      offsets.push_back(tile.batchOffset);
      sizes.push_back(tile.batchSize);
    } else if (dims.head == dim) {
      offsets.push_back(
          dims.isKeyValue
              ? tile.headOffset
              : multiply(builder, loc, tile.headOffset, tile.group));
      sizes.push_back(dims.isKeyValue
                          ? tile.headSize
                          : multiply(builder, loc, tile.headSize, tile.group));
    } else {
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(size);
    }
  }
}

static Value extractSlice(OpBuilder &builder, Location loc, Value value,
                          const TiledDims &dims, const Tile &tile,
                          SmallVectorImpl<Operation *> &slices) {
  SmallVector<OpFoldResult> whole, offsets, sizes;
  unsigned rank = cast<ShapedType>(value.getType()).getRank();
  for (unsigned dim = 0; dim != rank; ++dim)
    whole.push_back(getSize(builder, loc, value, dim));
  getSlice(builder, loc, whole, dims, tile, offsets, sizes);
  SmallVector<OpFoldResult> strides(offsets.size(), builder.getIndexAttr(1));
  Value slice;
  if (isa<BaseMemRefType>(value.getType()))
    slice =
        memref::SubViewOp::create(builder, loc, value, offsets, sizes, strides);
  else
    slice = tensor::ExtractSliceOp::create(builder, loc, value, offsets, sizes,
                                           strides);
  slices.push_back(slice.getDefiningOp());
  return slice;
}

/// Makes a destination for a tile of a result of `type` and sizes `whole`. It
/// is no slice of the destination of the whole: nothing reads what a
/// destination had before, and upstream's passes replace an empty tensor by the
/// slice into which the loop inserts it (eliminate-empty-tensors).
static Value createDestination(OpBuilder &builder, Location loc, Type type,
                               ArrayRef<OpFoldResult> whole,
                               const TiledDims &dims, const Tile &tile) {
  SmallVector<OpFoldResult> offsets, sizes;
  getSlice(builder, loc, whole, dims, tile, offsets, sizes);
  return tensor::EmptyOp::create(builder, loc, sizes,
                                 cast<RankedTensorType>(type).getElementType());
}

/// Corrects the indices that a tile's regions see. In the tiled op batch and
/// head start at 0 again, so the tile's first batch and first query head are
/// added; both become captured values behind the others.
static void shiftRegionIndices(OpBuilder &builder, AttentionOpInterface tiled) {
  OpBuilder::InsertionGuard guard(builder);
  for (auto [region, numArgs] : tiled.getMods()) {
    if (region->empty())
      continue;
    unsigned firstIndex = numArgs - kNumIndexArgs;
    Block &block = region->front();
    builder.setInsertionPointToStart(&block);
    for (unsigned index : {0u, 1u}) {
      Value offset = block.addArgument(builder.getIndexType(), tiled.getLoc());
      Value local = block.getArgument(firstIndex + index);
      auto global =
          arith::AddIOp::create(builder, tiled.getLoc(), local, offset);
      local.replaceAllUsesExcept(global, global);
    }
  }
}

static bool usesBatchOrHead(AttentionOpInterface op) {
  return llvm::any_of(op.getMods(), [](const auto &mod) {
    auto [region, numArgs] = mod;
    unsigned first = numArgs - kNumIndexArgs;
    return !region->empty() && !(region->getArgument(first).use_empty() &&
                                 region->getArgument(first + 1).use_empty());
  });
}

static Tile getTile(OpBuilder &builder, AttentionOpInterface op,
                    ArrayRef<OpFoldResult> offsets,
                    ArrayRef<OpFoldResult> sizes) {
  Tile tile;
  if (isBatchTiled(op)) {
    tile.batchOffset = offsets[0];
    tile.batchSize = sizes[0];
  }
  tile.headOffset = offsets.back();
  tile.headSize = sizes.back();
  tile.group = getGroup(builder, op);
  return tile;
}

static SmallVector<Range> getIterationDomain(OpBuilder &builder,
                                             AttentionOpInterface op) {
  DimOrder order = getDimOrder(op.getLayout());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<Range> domain;
  if (isBatchTiled(op))
    domain.push_back(
        {zero, getSize(builder, op.getLoc(), op.getQ(), *order.batch), one});
  domain.push_back(
      {zero, getSize(builder, op.getLoc(), op.getK(), getKeyOrder(op).head),
       one});
  return domain;
}

static SmallVector<utils::IteratorType>
getLoopIteratorTypes(AttentionOpInterface op) {
  return SmallVector<utils::IteratorType>(isBatchTiled(op) ? 2 : 1,
                                          utils::IteratorType::parallel);
}

/// Returns the operands of the op on a tile, with the slices that this takes,
/// up to its inits where these are made anew.
static SmallVector<Value> sliceOperands(OpBuilder &builder,
                                        AttentionOpInterface op,
                                        const Tile &tile,
                                        ArrayRef<TiledDims> outputDims,
                                        SmallVectorImpl<Operation *> &slices) {
  unsigned firstCapture = op.getFirstCaptureNumber();
  unsigned firstInit = op.getFirstInitNumber();
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (number >= firstCapture && number < firstInit) {
      operands.push_back(operand.get());
      continue;
    }
    if (number >= firstInit && op->getNumResults() != 0)
      break;
    TiledDims dims = number >= firstInit ? outputDims[number - firstInit]
                                         : getOperandDims(op, operand.get());
    operands.push_back(
        extractSlice(builder, op.getLoc(), operand.get(), dims, tile, slices));
  }
  return operands;
}

/// Returns the first batch and head of a tile, if the regions of the op need
/// them.
static SmallVector<Value>
getFirstIndices(OpBuilder &builder, AttentionOpInterface op, const Tile &tile) {
  if (!usesBatchOrHead(op))
    return {};
  Location loc = op.getLoc();
  OpFoldResult batch =
      tile.batchOffset ? tile.batchOffset : builder.getIndexAttr(0);
  OpFoldResult head = multiply(builder, loc, tile.headOffset, tile.group);
  Value first = getValueOrCreateConstantIndexOp(builder, loc, batch);
  return {first, getValueOrCreateConstantIndexOp(builder, loc, head)};
}

static FailureOr<TilingResult>
getTiledImplementation(OpBuilder &builder, AttentionOpInterface op,
                       ArrayRef<OpFoldResult> offsets,
                       ArrayRef<OpFoldResult> sizes) {
  Location loc = op.getLoc();
  // A captured vector would have to be sliced, too.
  auto backward = dyn_cast<SdpaBackwardOp>(op.getOperation());
  if (backward && !backward.getWrt().empty())
    return failure();
  if (op.getBlockList() && !getListHeads(op))
    return failure();
  Tile tile = getTile(builder, op, offsets, sizes);
  SmallVector<TiledDims> outputDims = getOutputDims(op);
  SmallVector<Operation *> slices;
  SmallVector<Value> operands =
      sliceOperands(builder, op, tile, outputDims, slices);
  SmallVector<Value> destinations;
  if (op->getNumResults() != 0) {
    ReifiedRankedShapedTypeDims shapes;
    if (failed(reifyResultShapes(builder, op, shapes)))
      return failure();
    for (auto [type, shape, dims] :
         llvm::zip(op->getResultTypes(), shapes, outputDims))
      destinations.push_back(
          createDestination(builder, loc, type, shape, dims, tile));
  }

  SmallVector<Value> firstIndices = getFirstIndices(builder, op, tile);
  // The segment of the destinations is as it was in `op` until they are set.
  unsigned inits = op->getNumResults() != 0 ? op.getInits().size() : 0;
  operands.append(destinations.begin(), destinations.begin() + inits);
  auto tiled = cast<AttentionOpInterface>(
      cloneWithoutRegions(builder, op.getOperation(),
                          ValueRange(destinations).getTypes(), operands));
  if (inits == 0)
    tiled.getInitsMutable().append(destinations);
  for (auto [from, to] : llvm::zip(op->getRegions(), tiled->getRegions()))
    if (!from.empty())
      builder.cloneRegionBefore(from, to, to.end());
  if (!firstIndices.empty()) {
    tiled.getCapturesMutable().append(firstIndices);
    shiftRegionIndices(builder, tiled);
  }
  return TilingResult{{tiled}, SmallVector<Value>(tiled->getResults()), slices};
}

static LogicalResult
getResultTilePosition(OpBuilder &builder, AttentionOpInterface op,
                      unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                      ArrayRef<OpFoldResult> sizes,
                      SmallVectorImpl<OpFoldResult> &resultOffsets,
                      SmallVectorImpl<OpFoldResult> &resultSizes) {
  ReifiedRankedShapedTypeDims shapes;
  if (failed(reifyResultShapes(builder, op, shapes)))
    return failure();
  getSlice(builder, op.getLoc(), shapes[resultNumber],
           getOutputDims(op)[resultNumber],
           getTile(builder, op, offsets, sizes), resultOffsets, resultSizes);
  return success();
}

//===----------------------------------------------------------------------===//
// TilingInterface
//===----------------------------------------------------------------------===//

SmallVector<Range> SdpaOp::getIterationDomain(OpBuilder &builder) {
  return ::getIterationDomain(builder, *this);
}

SmallVector<utils::IteratorType> SdpaOp::getLoopIteratorTypes() {
  return ::getLoopIteratorTypes(*this);
}

FailureOr<TilingResult>
SdpaOp::getTiledImplementation(OpBuilder &builder,
                               ArrayRef<OpFoldResult> offsets,
                               ArrayRef<OpFoldResult> sizes) {
  return ::getTiledImplementation(builder, *this, offsets, sizes);
}

LogicalResult SdpaOp::getResultTilePosition(
    OpBuilder &builder, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  return ::getResultTilePosition(builder, *this, resultNumber, offsets, sizes,
                                 resultOffsets, resultSizes);
}

SmallVector<Range> SdpaBackwardOp::getIterationDomain(OpBuilder &builder) {
  return ::getIterationDomain(builder, *this);
}

SmallVector<utils::IteratorType> SdpaBackwardOp::getLoopIteratorTypes() {
  return ::getLoopIteratorTypes(*this);
}

FailureOr<TilingResult>
SdpaBackwardOp::getTiledImplementation(OpBuilder &builder,
                                       ArrayRef<OpFoldResult> offsets,
                                       ArrayRef<OpFoldResult> sizes) {
  return ::getTiledImplementation(builder, *this, offsets, sizes);
}

LogicalResult SdpaBackwardOp::getResultTilePosition(
    OpBuilder &builder, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  return ::getResultTilePosition(builder, *this, resultNumber, offsets, sizes,
                                 resultOffsets, resultSizes);
}
