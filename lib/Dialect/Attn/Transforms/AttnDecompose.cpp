//===- AttnDecompose.cpp - attention ops to linalg -----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttnDecompose.h"
#include "fa4/Dialect/Attn/Transforms/ModRegions.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <cmath>

namespace fa4::attn {
#define GEN_PASS_DEF_ATTNDECOMPOSE
#include "fa4/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fa4::attn

using namespace mlir;
using namespace fa4::attn;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

AttnDecomposer::AttnDecomposer(RewriterBase &rewriter, AttentionOpInterface op,
                               int64_t queryBlock)
    : MatrixBuilder(op.getLoc(), rewriter), rewriter(rewriter), op(op),
      order(getDimOrder(op.getLayout())), keyOrder(getKeyOrder(op)),
      queryBlock(queryBlock) {
  b.setInsertionPoint(op);
  q = asTensor(op.getQ());
  k = asTensor(op.getK());
  v = asTensor(op.getV());
  if (op.getBlockList()) {
    blockList = asTensor(op.getBlockList());
    blockCounts = asTensor(op.getBlockCounts());
  }
  computeScale();
  group = getGroupSize();
}

Value AttnDecomposer::asTensor(Value value, bool writable) {
  auto memref = dyn_cast<MemRefType>(value.getType());
  if (!memref)
    return value;
  auto type = RankedTensorType::get(memref.getShape(), memref.getElementType());
  return bufferization::ToTensorOp::create(b, type, value, /*restrict=*/true,
                                           writable);
}

SmallVector<Value> AttnDecomposer::getInitTensors() {
  SmallVector<Value> tensors;
  for (Value init : op.getInits())
    tensors.push_back(asTensor(init, /*writable=*/true));
  if (!tensors.empty())
    return tensors;
  ReifiedRankedShapedTypeDims shapes;
  LogicalResult reified =
      cast<ReifyRankedShapedTypeOpInterface>(op.getOperation())
          .reifyResultShapes(b, shapes);
  (void)reified; // Cannot fail on tensors.
  for (auto [shape, type] : llvm::zip(shapes, op->getResultTypes()))
    tensors.push_back(tensor::EmptyOp::create(
        b, shape, cast<RankedTensorType>(type).getElementType()));
  return tensors;
}

void AttnDecomposer::finish(ValueRange outputs) {
  if (!op.hasMemRefSemantics()) {
    SmallVector<Value> results;
    for (auto [output, type] : llvm::zip(outputs, op->getResultTypes()))
      results.push_back(output.getType() == type
                            ? output
                            : tensor::CastOp::create(b, type, output));
    rewriter.replaceOp(op, results);
    return;
  }
  for (auto [output, init] : llvm::zip(outputs, op.getInits()))
    bufferization::MaterializeInDestinationOp::create(
        b, /*result=*/Type(), output, init, /*restrict=*/true,
        /*writable=*/true);
  rewriter.eraseOp(op);
}

/// The default scale is 1 / sqrt(D). It is computed at run time if D is
/// dynamic.
void AttnDecomposer::computeScale() {
  if (FloatAttr attr = op.getScaleAttr()) {
    scale = f32(attr.getValueAsDouble());
    return;
  }
  int64_t dim = cast<ShapedType>(q.getType()).getDimSize(order.dim);
  if (!ShapedType::isDynamic(dim)) {
    scale = f32(1.0 / std::sqrt(double(dim)));
    return;
  }
  Value size = tensor::DimOp::create(b, q, order.dim);
  Value integer = arith::IndexCastOp::create(b, b.getI64Type(), size);
  Value real = arith::SIToFPOp::create(b, b.getF32Type(), integer);
  scale = arith::DivFOp::create(b, f32(1.0), math::SqrtOp::create(b, real));
}

Value AttnDecomposer::getNumSequences() {
  if (order.batch)
    return getValueOrCreateConstantIndexOp(
        b, b.getLoc(), tensor::getMixedSize(b, b.getLoc(), q, *order.batch));
  Value prefixSums = asTensor(op.getCuSeqlensQ());
  Value size = getValueOrCreateConstantIndexOp(
      b, b.getLoc(), tensor::getMixedSize(b, b.getLoc(), prefixSums, 0));
  return arith::SubIOp::create(b, size, index(1));
}

Value AttnDecomposer::getGroupSize() {
  AffineExpr hq = b.getAffineSymbolExpr(0), hkv = b.getAffineSymbolExpr(1);
  OpFoldResult size = affine::makeComposedFoldedAffineApply(
      b, b.getLoc(), hq.floorDiv(hkv),
      {tensor::getMixedSize(b, b.getLoc(), q, order.head),
       tensor::getMixedSize(b, b.getLoc(), k, keyOrder.head)});
  return getValueOrCreateConstantIndexOp(b, b.getLoc(), size);
}

OpFoldResult AttnDecomposer::getKeyCapacityOfSequence() {
  OpFoldResult keys = tensor::getMixedSize(b, b.getLoc(), k, keyOrder.seq);
  if (!op.getPageTable())
    return keys;
  AffineExpr rows = b.getAffineSymbolExpr(0), pages = b.getAffineSymbolExpr(1);
  return affine::makeComposedFoldedAffineApply(
      b, b.getLoc(), rows * pages,
      {keys, tensor::getMixedSize(b, b.getLoc(), asTensor(op.getPageTable()),
                                  kTablePages)});
}

SequenceBounds AttnDecomposer::getBounds(Value sequence) {
  auto load = [&](Value vector, Value position) -> Value {
    Value element =
        tensor::ExtractOp::create(b, asTensor(vector), ValueRange{position});
    return arith::IndexCastOp::create(b, b.getIndexType(), element);
  };
  auto cut = [&](Value prefixSums, OpFoldResult &start, OpFoldResult &length) {
    Value next = arith::AddIOp::create(b, sequence, index(1));
    Value first = load(prefixSums, sequence);
    start = first;
    length =
        arith::SubIOp::create(b, load(prefixSums, next), first).getResult();
  };
  SequenceBounds bounds;
  if (Value prefixSums = op.getCuSeqlensQ()) {
    cut(prefixSums, bounds.queryStart, bounds.queryLength);
  } else {
    bounds.queryStart = b.getIndexAttr(0);
    bounds.queryLength = tensor::getMixedSize(b, b.getLoc(), q, order.seq);
  }
  if (Value prefixSums = op.getCuSeqlensK()) {
    cut(prefixSums, bounds.keyStart, bounds.keyLength);
  } else {
    bounds.keyStart = b.getIndexAttr(0);
    bounds.keyLength = getKeyCapacityOfSequence();
  }
  bounds.keyCapacity = bounds.keyLength;
  if (Value lengths = op.getSeqlensK())
    bounds.keyLength = load(lengths, sequence);

  MaskAttr mask = op.getMaskAttr();
  if (mask && mask.getAlignment() == MaskAlignment::BottomRight)
    bounds.shift = arith::SubIOp::create(
        b, getValueOrCreateConstantIndexOp(b, b.getLoc(), bounds.keyLength),
        getValueOrCreateConstantIndexOp(b, b.getLoc(), bounds.queryLength));
  return bounds;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

AttnDecomposer::Slice AttnDecomposer::headSlice(Value tensor, Value batch,
                                                Value head,
                                                OpFoldResult headCount,
                                                OpFoldResult start,
                                                OpFoldResult count) {
  Slice slice;
  slice.offsets.assign(order.rank, b.getIndexAttr(0));
  slice.sizes = tensor::getMixedSizes(b, b.getLoc(), tensor);
  slice.strides.assign(order.rank, b.getIndexAttr(1));
  if (order.batch) {
    slice.offsets[*order.batch] = batch;
    slice.sizes[*order.batch] = b.getIndexAttr(1);
  }
  slice.offsets[order.head] = head;
  slice.sizes[order.head] = headCount;
  slice.offsets[order.seq] = start;
  slice.sizes[order.seq] = count;
  return slice;
}

AttnDecomposer::Slice AttnDecomposer::lseSlice(Value tensor, Value batch,
                                               Value head,
                                               OpFoldResult headCount,
                                               OpFoldResult start,
                                               OpFoldResult count) {
  Slice slice;
  slice.offsets.assign(order.lseRank(), b.getIndexAttr(0));
  slice.sizes.assign(order.lseRank(), b.getIndexAttr(1));
  slice.strides.assign(order.lseRank(), b.getIndexAttr(1));
  if (order.batch)
    slice.offsets[*order.lseBatch()] = batch;
  slice.offsets[order.lseHead()] = head;
  slice.sizes[order.lseHead()] = headCount;
  slice.offsets[order.lseSeq()] = start;
  slice.sizes[order.lseSeq()] = count;
  return slice;
}

/// Returns a tensor type with the given sizes and the element type of `like`.
static RankedTensorType typeOf(Value like, ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> shape;
  std::tie(shape, std::ignore) = decomposeMixedValues(
      SmallVector<OpFoldResult>(sizes.begin(), sizes.end()));
  return RankedTensorType::get(
      shape, cast<ShapedType>(like.getType()).getElementType());
}

Value AttnDecomposer::sliceHead(Value tensor, Value batch, Value head,
                                OpFoldResult start, OpFoldResult count) {
  Slice s = headSlice(tensor, batch, head, b.getIndexAttr(1), start, count);
  return tensor::ExtractSliceOp::create(
      b, typeOf(tensor, {count, s.sizes[order.dim]}), tensor, s.offsets,
      s.sizes, s.strides);
}

Value AttnDecomposer::sliceKeys(Value tensor, Value batch, Value head,
                                OpFoldResult start, OpFoldResult count) {
  return op.getPageTable() ? gatherPages(tensor, batch, head, count)
                           : sliceHead(tensor, batch, head, start, count);
}

/// Reads the first `count` keys of a sequence, which begin with a page.
Value AttnDecomposer::gatherPages(Value tensor, Value batch, Value head,
                                  OpFoldResult count) {
  Value table = asTensor(op.getPageTable());
  Value pageSize = getValueOrCreateConstantIndexOp(
      b, b.getLoc(), tensor::getMixedSize(b, b.getLoc(), tensor, keyOrder.seq));
  OpFoldResult dim = tensor::getMixedSize(b, b.getLoc(), tensor, keyOrder.dim);
  Value keys = tensor::EmptyOp::create(
      b, ArrayRef<OpFoldResult>{count, dim},
      cast<ShapedType>(tensor.getType()).getElementType());
  return generic(
      {}, keys, /*numLoops=*/2, {{0, 1}}, /*reductions=*/{},
      [&](OpBuilder &builder, Location loc, ValueRange) -> Value {
        Value key = linalg::IndexOp::create(builder, loc, 0);
        Value number = arith::DivUIOp::create(builder, loc, key, pageSize);
        Value page = tensor::ExtractOp::create(builder, loc, table,
                                               ValueRange{batch, number});
        SmallVector<Value> at(keyOrder.rank, head);
        at[*keyOrder.batch] = arith::IndexCastOp::create(
            builder, loc, builder.getIndexType(), page);
        at[keyOrder.seq] = arith::RemUIOp::create(builder, loc, key, pageSize);
        at[keyOrder.dim] = linalg::IndexOp::create(builder, loc, 1);
        return tensor::ExtractOp::create(builder, loc, tensor, at);
      });
}

Value AttnDecomposer::sliceLse(Value tensor, Value batch, Value head,
                               OpFoldResult start, OpFoldResult count) {
  Slice s = lseSlice(tensor, batch, head, b.getIndexAttr(1), start, count);
  return tensor::ExtractSliceOp::create(b, typeOf(tensor, {count}), tensor,
                                        s.offsets, s.sizes, s.strides);
}

Value AttnDecomposer::insertHead(Value matrix, Value tensor, Value batch,
                                 Value head, OpFoldResult start,
                                 OpFoldResult count) {
  Slice s = headSlice(tensor, batch, head, b.getIndexAttr(1), start, count);
  return tensor::InsertSliceOp::create(b, matrix, tensor, s.offsets, s.sizes,
                                       s.strides);
}

Value AttnDecomposer::insertLse(Value vector, Value tensor, Value batch,
                                Value head, OpFoldResult start,
                                OpFoldResult count) {
  Slice s = lseSlice(tensor, batch, head, b.getIndexAttr(1), start, count);
  return tensor::InsertSliceOp::create(b, vector, tensor, s.offsets, s.sizes,
                                       s.strides);
}

//===----------------------------------------------------------------------===//
// Scores and masks
//===----------------------------------------------------------------------===//

Value AttnDecomposer::computeScores(Value qBlock, Value kHead) {
  OpFoldResult rows = tensor::getMixedSize(b, b.getLoc(), qBlock, 0);
  OpFoldResult keys = tensor::getMixedSize(b, b.getLoc(), kHead, 0);
  return contract(qBlock, {0, 2}, kHead, {1, 2}, filled({rows, keys}, 0.0));
}

/// The numbers of a list have no order: all of them are looked at.
Value AttnDecomposer::isListed(ImplicitLocOpBuilder &bl, ValueRange at) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(bl, value);
  };
  auto size = [&](Value tensor, unsigned dim) -> Value {
    return bl.createOrFold<tensor::DimOp>(tensor, number(dim));
  };
  Value zero = number(0), one = number(1);
  Value no = arith::ConstantIntOp::create(bl, 0, 1);
  Value sharing = arith::DivUIOp::create(bl, size(q, order.head),
                                         size(blockList, kListHeads));
  Value head = arith::DivUIOp::create(bl, at[1], sharing);
  Value lists = size(blockList, kListBlocks);
  Value block = arith::DivUIOp::create(
      bl, at[2], number(op.getBlockSize()[kBlockQueries]));
  Value keyBlock =
      arith::DivUIOp::create(bl, at[3], number(op.getBlockSize()[kBlockKeys]));
  Value isBehind =
      arith::CmpIOp::create(bl, arith::CmpIPredicate::uge, block, lists);
  auto found = scf::IfOp::create(bl, bl.getI1Type(), isBehind,
                                 /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(bl);
  bl.setInsertionPointToStart(found.thenBlock());
  scf::YieldOp::create(bl, no);
  bl.setInsertionPointToStart(found.elseBlock());
  Value count = arith::IndexCastOp::create(
      bl, bl.getIndexType(),
      tensor::ExtractOp::create(bl, blockCounts,
                                ValueRange{at[0], head, block}));
  count = arith::MinSIOp::create(bl, count, size(blockList, kListEntries));
  count = arith::MaxSIOp::create(bl, count, zero);
  auto loop = scf::ForOp::create(
      bl, zero, count, one, ValueRange{no},
      [&](OpBuilder &builder, Location loc, Value entry, ValueRange before) {
        ImplicitLocOpBuilder body(loc, builder);
        Value listed = arith::IndexCastOp::create(
            body, body.getIndexType(),
            tensor::ExtractOp::create(body, blockList,
                                      ValueRange{at[0], head, block, entry}));
        Value isSame = arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                             listed, keyBlock);
        scf::YieldOp::create(
            body, arith::OrIOp::create(body, before[0], isSame).getResult());
      });
  scf::YieldOp::create(bl, loop.getResults());
  return found.getResult(0);
}

/// Returns whether a key is visible. `maskArguments` are batch, head, query
/// index and key index.
Value AttnDecomposer::isVisible(OpBuilder &builder, Location loc,
                                const SequenceBounds &bounds,
                                ValueRange maskArguments) {
  ImplicitLocOpBuilder bl(loc, builder);
  Value visible;
  auto require = [&](Value condition) {
    visible =
        visible ? arith::AndIOp::create(bl, visible, condition) : condition;
  };
  if (MaskAttr mask = op.getMaskAttr()) {
    Value distance =
        arith::SubIOp::create(bl, maskArguments[3], maskArguments[2]);
    if (bounds.shift)
      distance = arith::SubIOp::create(bl, distance, bounds.shift);
    auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) {
      Value limit = arith::ConstantIndexOp::create(bl, bound);
      require(arith::CmpIOp::create(bl, predicate, distance, limit));
    };
    if (mask.getRight())
      compare(arith::CmpIPredicate::sle, *mask.getRight());
    if (mask.getLeft())
      compare(arith::CmpIPredicate::sge, -*mask.getLeft());
  }
  if (blockList)
    require(isListed(bl, maskArguments));
  if (!op.getMaskMod().empty()) {
    SmallVector<Value> arguments(maskArguments);
    llvm::append_range(arguments, op.getCaptures());
    require(inlineMod(bl, op.getMaskMod(), arguments));
  }
  return visible;
}

Value AttnDecomposer::modifyScore(OpBuilder &builder, Location loc,
                                  Value product, const BlockIndices &indices,
                                  const SequenceBounds &bounds,
                                  Value *derivative,
                                  std::optional<unsigned> capture) {
  ImplicitLocOpBuilder bl(loc, builder);
  Value row = linalg::IndexOp::create(bl, 0);
  Value query = arith::AddIOp::create(bl, row, indices.firstQuery);
  Value key = linalg::IndexOp::create(bl, 1);
  SmallVector<Value> maskArguments = {indices.batch, indices.head, query, key};

  Value score = arith::MulFOp::create(bl, product, scale);
  if (derivative)
    *derivative = scale;
  if (!op.getScoreMod().empty()) {
    SmallVector<Value> arguments = {score};
    llvm::append_range(arguments, maskArguments);
    llvm::append_range(arguments, op.getCaptures());
    if (derivative) {
      Dual dual = inlineScoreModWithDerivative(
          bl, op.getScoreMod(), arguments,
          capture ? kNumScoreModArgs + *capture : 0);
      score = dual.value;
      *derivative =
          capture ? dual.derivative
                  : Value(arith::MulFOp::create(bl, dual.derivative, scale));
    } else {
      score = inlineMod(bl, op.getScoreMod(), arguments);
    }
  }
  Value visible = isVisible(bl, loc, bounds, maskArguments);
  if (!visible)
    return score;
  Value hidden = arith::ConstantOp::create(
      bl, bl.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  return arith::SelectOp::create(bl, visible, score, hidden);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value>
AttnDecomposer::forEachQueryBlock(Value kvHead, const SequenceBounds &bounds,
                                  ValueRange carried, BlockBody body) {
  Value zero = index(0), one = index(1);
  Value firstHead = arith::MulIOp::create(b, kvHead, group);
  Value length =
      getValueOrCreateConstantIndexOp(b, b.getLoc(), bounds.queryLength);
  auto heads = scf::ForOp::create(b, zero, group, one, carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(heads.getBody());
  Value inGroup = heads.getInductionVar();
  Value head = arith::AddIOp::create(b, firstHead, inGroup);
  if (queryBlock == 0) {
    SmallVector<Value> next = body(head, inGroup, zero, bounds.queryLength,
                                   heads.getRegionIterArgs());
    scf::YieldOp::create(b, next);
    return SmallVector<Value>(heads.getResults());
  }

  auto blocks = scf::ForOp::create(b, zero, length, index(queryBlock),
                                   heads.getRegionIterArgs());
  scf::YieldOp::create(b, blocks.getResults());
  b.setInsertionPointToStart(blocks.getBody());
  Value firstRow = blocks.getInductionVar();
  AffineExpr total = b.getAffineSymbolExpr(0), first = b.getAffineSymbolExpr(1);
  AffineMap map =
      AffineMap::get(0, 2, {b.getAffineConstantExpr(queryBlock), total - first},
                     b.getContext());
  OpFoldResult rows = affine::makeComposedFoldedAffineMin(
      b, b.getLoc(), map, {bounds.queryLength, firstRow});
  SmallVector<Value> next =
      body(head, inGroup, firstRow, rows, blocks.getRegionIterArgs());
  scf::YieldOp::create(b, next);
  return SmallVector<Value>(heads.getResults());
}

OpFoldResult AttnDecomposer::getStart(const SequenceBounds &bounds,
                                      Value firstRow) {
  AffineExpr sum = b.getAffineSymbolExpr(0) + b.getAffineSymbolExpr(1);
  return affine::makeComposedFoldedAffineApply(
      b, b.getLoc(), sum, {bounds.queryStart, getAsOpFoldResult(firstRow)});
}

void AttnDecomposer::insertParts(scf::ForallOp forall, ValueRange parts,
                                 ArrayRef<Slice> slices) {
  b.setInsertionPointToEnd(forall.getTerminator().getBody());
  for (auto [part, tensor, slice] :
       llvm::zip(parts, forall.getRegionIterArgs(), slices))
    tensor::ParallelInsertSliceOp::create(b, part, tensor, slice.offsets,
                                          slice.sizes, slice.strides);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Slices and loops over elements are those of dense tensors. Captures are only
/// read, by the operations of the regions.
static LogicalResult checkDense(AttentionOpInterface op) {
  SmallVector<Type> types(op->getResultTypes());
  for (OpOperand &operand : op->getOpOperands())
    if (operand.getOperandNumber() < op.getFirstCaptureNumber() ||
        operand.getOperandNumber() >= op.getFirstInitNumber())
      types.push_back(operand.get().getType());
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (Attribute encoding = tensor.getEncoding())
        return op->emitOpError("has a tensor with the encoding ")
               << encoding << "; only dense tensors are decomposed";
  return success();
}

namespace {
struct AttnDecompose
    : public fa4::attn::impl::AttnDecomposeBase<AttnDecompose> {
  using AttnDecomposeBase::AttnDecomposeBase;

  void runOnOperation() override {
    if (queryBlock < 0) {
      emitError(getOperation()->getLoc(),
                "query-block must not be negative, got ")
          << int64_t(queryBlock);
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    getOperation()->walk([&](AttentionOpInterface op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      if (failed(checkDense(cast<AttentionOpInterface>(op))))
        return signalPassFailure();
      LogicalResult result =
          isa<SdpaOp>(op)
              ? decomposeSdpa(rewriter, cast<SdpaOp>(op), queryBlock)
              : decomposeSdpaBackward(rewriter, cast<SdpaBackwardOp>(op),
                                      queryBlock);
      if (failed(result))
        return signalPassFailure();
    }
  }
};
} // namespace
