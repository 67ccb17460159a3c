//===- ImportAttention.cpp - attention ops of other compilers -------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialects of these ops are not known here, so that they are read in the
// generic form, as operations that are not registered. They become what they
// are defined as: two products around a softmax. raise-to-attn knows the rest.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include <cmath>
#include <limits>

namespace fa4::attn {
#define GEN_PASS_DEF_IMPORTATTENTION
#include "fa4/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fa4::attn

using namespace mlir;

namespace {
/// An attention op as it was read. Maps are from one set of loops.
struct Attention {
  Operation *op = nullptr;
  Value q, k, v, mask;
  AffineMap qMap, kMap, vMap, maskMap, outMap;
  /// A number, or a value of a floating-point type.
  double factor = 1;
  Value scale;
  /// What is done with a scaled score; null: nothing.
  Region *region = nullptr;
};
} // namespace

/// Attributes and properties, which the generic form may write as either.
static Attribute getAttribute(Operation *op, StringRef name) {
  if (auto properties =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    if (Attribute attribute = properties.get(name))
      return attribute;
  return op->getAttr(name);
}

static RankedTensorType getTensorType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// tm_tensor.attention: q, k, v, a mask of bool or of what is added, and the
/// destination; batches first, then rows and elements.
static LogicalResult readTMTensor(Operation *op, Attention &attention) {
  unsigned operands = op->getNumOperands();
  if (operands != 4 && operands != 5)
    return op->emitOpError("has ")
           << operands << " operands, and attention has "
           << "4, or 5 with a mask";
  SmallVector<Value> values = op->getOperands();
  unsigned rank = 0;
  for (Value value : values) {
    auto type = getTensorType(value);
    if (!type || type.getRank() < 2 || (rank && type.getRank() != rank))
      return op->emitOpError("has operands that are not tensors of one rank of "
                             "at least 2: buffers are not read");
    rank = type.getRank();
  }
  int64_t size = getTensorType(values[0]).getDimSize(rank - 1);
  if (ShapedType::isDynamic(size))
    return op->emitOpError("has queries with a dynamic number of elements, of "
                           "which the scale is computed");
  attention.factor = 1 / std::sqrt(double(size));
  MLIRContext *context = op->getContext();
  // Loops: batches, query, key, element of queries and of values.
  unsigned batches = rank - 2;
  auto getMap = [&](unsigned row, unsigned inner) {
    SmallVector<AffineExpr> indices;
    for (unsigned i = 0; i < batches; ++i)
      indices.push_back(getAffineDimExpr(i, context));
    indices.push_back(getAffineDimExpr(batches + row, context));
    indices.push_back(getAffineDimExpr(batches + inner, context));
    return AffineMap::get(batches + 4, 0, indices, context);
  };
  std::tie(attention.q, attention.k, attention.v) =
      std::tuple(values[0], values[1], values[2]);
  attention.qMap = getMap(0, 2);
  attention.kMap = getMap(1, 2);
  attention.vMap = getMap(1, 3);
  attention.outMap = getMap(0, 3);
  if (operands == 5) {
    attention.mask = values[3];
    attention.maskMap = getMap(0, 1);
  }
  return success();
}

/// iree_linalg_ext.attention: q, k, v, the scale, a mask, and the destination,
/// with a map for each, and a region on scores.
static LogicalResult readIREE(Operation *op, Attention &attention) {
  auto maps = dyn_cast_or_null<ArrayAttr>(getAttribute(op, "indexing_maps"));
  unsigned operands = op->getNumOperands();
  if ((operands != 5 && operands != 6) || !maps || maps.size() != operands)
    return op->emitOpError(
        "has no indexing map for each of q, k, v, the scale, "
        "a mask, and the destination");
  SmallVector<AffineMap> read;
  for (Attribute map : maps) {
    auto affine = dyn_cast<AffineMapAttr>(map);
    if (!affine || !affine.getValue().isProjectedPermutation() ||
        (!read.empty() &&
         affine.getValue().getNumDims() != read.front().getNumDims()))
      return op->emitOpError("has indexing maps that are no projected "
                             "permutations of the same loops");
    read.push_back(affine.getValue());
  }
  for (auto [value, map] : llvm::zip(op->getOperands(), read)) {
    auto type = getTensorType(value);
    bool isScale = value == op->getOperand(3);
    if (isScale ? !isa<FloatType>(value.getType())
                : !type || type.getRank() != map.getNumResults())
      return op->emitOpError("has operands that do not go with their maps: "
                             "tensors, and a number for the scale");
  }
  attention.q = op->getOperand(0);
  attention.k = op->getOperand(1);
  attention.v = op->getOperand(2);
  attention.scale = op->getOperand(3);
  attention.qMap = read[0];
  attention.kMap = read[1];
  attention.vMap = read[2];
  attention.outMap = read.back();
  if (operands == 6) {
    attention.mask = op->getOperand(4);
    attention.maskMap = read[4];
  }
  if (op->getNumRegions() == 1 && !op->getRegion(0).empty()) {
    Region &region = op->getRegion(0);
    if (!region.hasOneBlock() || region.getNumArguments() != 1 ||
        !region.getArgument(0).getType().isF32() || region.front().empty() ||
        region.front().back().getNumOperands() != 1 ||
        region.front().back().getOperand(0).getType() !=
            region.getArgument(0).getType())
      return op->emitOpError("has a region that does not give an f32 for one");
    attention.region = &region;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
/// Writes attention as products around a softmax.
class Writer {
public:
  explicit Writer(Attention &attention)
      : attention(attention), b(attention.op), loc(attention.op->getLoc()) {}

  LogicalResult write();

private:
  LogicalResult findLoops();
  /// The map with the loops that an operation has only, in its order.
  AffineMap restrict(AffineMap map, ArrayRef<unsigned> loops);
  AffineMap getMap(ArrayRef<unsigned> results, ArrayRef<unsigned> loops);
  OpFoldResult getSize(unsigned loop);
  Value makeEmpty(ArrayRef<unsigned> dims, Type type);
  Value multiply(Value left, AffineMap leftMap, Value right, AffineMap rightMap,
                 ArrayRef<unsigned> result, unsigned reduced);
  Value modify(Value scores);
  Value toF32(OpBuilder &b, Value number);

  Attention &attention;
  OpBuilder b;
  Location loc;
  SmallVector<unsigned> ofScores;
  unsigned element = 0, key = 0;
};
} // namespace

LogicalResult Writer::findLoops() {
  unsigned elements = 0, keys = 0;
  for (unsigned i = 0; i < attention.qMap.getNumDims(); ++i) {
    bool inQ = attention.qMap.isFunctionOfDim(i),
         inK = attention.kMap.isFunctionOfDim(i),
         inV = attention.vMap.isFunctionOfDim(i),
         inOut = attention.outMap.isFunctionOfDim(i);
    if (inQ && inK && !inV && !inOut) {
      element = i;
      ++elements;
    } else if (inK && inV && !inQ && !inOut) {
      key = i;
      ++keys;
    } else if (!inOut || (!inQ && inK && !inV)) {
      return attention.op->emitOpError(
          "has a loop of none of the kinds that "
          "attention has: batches, heads, queries, "
          "keys, elements");
    }
    if (inQ ? i != element || !elements : inK)
      ofScores.push_back(i);
  }
  llvm::erase(ofScores, element);
  if (elements != 1 || keys != 1)
    return attention.op->emitOpError("has ")
           << elements << " dimensions of elements and " << keys
           << " of keys, and attention has one of each";
  if (attention.mask)
    for (AffineExpr index : attention.maskMap.getResults())
      if (!llvm::is_contained(ofScores,
                              cast<AffineDimExpr>(index).getPosition()))
        return attention.op->emitOpError(
            "has a mask that is indexed by more than its scores");
  return success();
}

AffineMap Writer::restrict(AffineMap map, ArrayRef<unsigned> loops) {
  SmallVector<unsigned> results;
  for (AffineExpr index : map.getResults())
    results.push_back(cast<AffineDimExpr>(index).getPosition());
  return getMap(results, loops);
}

AffineMap Writer::getMap(ArrayRef<unsigned> results, ArrayRef<unsigned> loops) {
  SmallVector<AffineExpr> indices;
  for (unsigned loop : results)
    indices.push_back(
        b.getAffineDimExpr(llvm::find(loops, loop) - loops.begin()));
  return AffineMap::get(loops.size(), 0, indices, b.getContext());
}

OpFoldResult Writer::getSize(unsigned loop) {
  for (auto [tensor, map] : {std::pair(attention.q, attention.qMap),
                             {attention.k, attention.kMap},
                             {attention.v, attention.vMap}})
    for (auto [dim, index] : llvm::enumerate(map.getResults()))
      if (cast<AffineDimExpr>(index).getPosition() == loop)
        return tensor::getMixedSize(b, loc, tensor, dim);
  llvm_unreachable("each loop is one of an operand");
}

Value Writer::makeEmpty(ArrayRef<unsigned> dims, Type type) {
  SmallVector<OpFoldResult> sizes;
  for (unsigned dim : dims)
    sizes.push_back(getSize(dim));
  return tensor::EmptyOp::create(b, loc, sizes, type);
}

Value Writer::toF32(OpBuilder &b, Value number) {
  Type f32 = b.getF32Type();
  unsigned width = number.getType().getIntOrFloatBitWidth();
  if (number.getType() == f32)
    return number;
  return width < 32 ? arith::ExtFOp::create(b, loc, f32, number).getResult()
                    : arith::TruncFOp::create(b, loc, f32, number).getResult();
}

/// The sum of products over `reduced`, in f32.
Value Writer::multiply(Value left, AffineMap leftMap, Value right,
                       AffineMap rightMap, ArrayRef<unsigned> result,
                       unsigned reduced) {
  SmallVector<unsigned> loops(result);
  loops.push_back(reduced);
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value empty = makeEmpty(result, b.getF32Type());
  Value init = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  SmallVector<utils::IteratorType> kinds(result.size(),
                                         utils::IteratorType::parallel);
  kinds.push_back(utils::IteratorType::reduction);
  return linalg::GenericOp::create(
             b, loc, init.getType(), ValueRange{left, right}, init,
             ArrayRef<AffineMap>{restrict(leftMap, loops),
                                 restrict(rightMap, loops),
                                 getMap(result, loops)},
             kinds,
             [&](OpBuilder &b, Location loc, ValueRange args) {
               Value product = arith::MulFOp::create(b, loc, toF32(b, args[0]),
                                                     toF32(b, args[1]));
               Value sum = arith::AddFOp::create(b, loc, args[2], product);
               linalg::YieldOp::create(b, loc, sum);
             })
      .getResult(0);
}

/// Scales scores, does with them what the region says, and masks them.
Value Writer::modify(Value scores) {
  SmallVector<Value> inputs = {scores};
  SmallVector<AffineMap> maps = {getMap(ofScores, ofScores)};
  if (attention.mask) {
    inputs.push_back(attention.mask);
    maps.push_back(restrict(attention.maskMap, ofScores));
  }
  maps.push_back(maps.front());
  SmallVector<utils::IteratorType> kinds(ofScores.size(),
                                         utils::IteratorType::parallel);
  Value empty = makeEmpty(ofScores, b.getF32Type());
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value scale = attention.scale
                      ? toF32(b, attention.scale)
                      : arith::ConstantOp::create(
                            b, loc, b.getF32FloatAttr(attention.factor))
                            .getResult();
    Value score = arith::MulFOp::create(b, loc, args[0], scale);
    if (attention.region) {
      Block &block = attention.region->front();
      IRMapping mapping;
      mapping.map(block.getArgument(0), score);
      // The last operation yields, but is not registered as a terminator.
      for (Operation &each : llvm::drop_end(block))
        b.clone(each, mapping);
      score = mapping.lookupOrDefault(block.back().getOperand(0));
    }
    if (attention.mask) {
      Value mask = args[1];
      if (mask.getType().isInteger()) {
        Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
        Value hidden = arith::ConstantOp::create(
            b, loc, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
        mask = arith::SelectOp::create(b, loc, mask, zero, hidden);
      }
      score = arith::AddFOp::create(b, loc, score, toF32(b, mask));
    }
    linalg::YieldOp::create(b, loc, score);
  };
  return linalg::GenericOp::create(b, loc, empty.getType(), inputs, empty, maps,
                                   kinds, body)
      .getResult(0);
}

LogicalResult Writer::write() {
  Operation *op = attention.op;
  if (failed(findLoops()))
    return failure();
  Value scores = modify(multiply(attention.q, attention.qMap, attention.k,
                                 attention.kMap, ofScores, element));
  unsigned dim = llvm::find(ofScores, key) - ofScores.begin();
  Value empty = makeEmpty(ofScores, b.getF32Type());
  Value probabilities =
      linalg::SoftmaxOp::create(b, loc, TypeRange{empty.getType()}, scores,
                                empty, dim)
          ->getResult(0);
  SmallVector<unsigned> results;
  for (AffineExpr index : attention.outMap.getResults())
    results.push_back(cast<AffineDimExpr>(index).getPosition());
  AffineMap scoresMap = AffineMap::getMultiDimMapWithTargets(
      attention.qMap.getNumDims(), ofScores, b.getContext());
  Value out = multiply(probabilities, scoresMap, attention.v, attention.vMap,
                       results, key);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto computed = cast<RankedTensorType>(out.getType());
  if (type.getElementType() != computed.getElementType())
    out = arith::TruncFOp::create(b, loc, computed.clone(type.getElementType()),
                                  out);
  if (out.getType() != type)
    out = tensor::CastOp::create(b, loc, type, out);
  op->getResult(0).replaceAllUsesWith(out);
  op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static bool isFloatTensor(Value value) {
  auto type = getTensorType(value);
  return type && isa<FloatType>(type.getElementType()) &&
         type.getElementTypeBitWidth() <= 32;
}

/// What both ops have in common.
static LogicalResult check(const Attention &attention) {
  Operation *op = attention.op;
  auto result = op->getNumResults() == 1 ? getTensorType(op->getResult(0))
                                         : RankedTensorType();
  if (!result || !isFloatTensor(op->getResult(0)) ||
      result.getRank() != attention.outMap.getNumResults())
    return op->emitOpError("has no tensor of floating-point numbers of at most "
                           "32 bits as its only result");
  if (!isFloatTensor(attention.q) || !isFloatTensor(attention.k) ||
      !isFloatTensor(attention.v))
    return op->emitOpError("has operands that are no tensors of floating-point "
                           "numbers of at most 32 bits");
  if (attention.mask && !isFloatTensor(attention.mask) &&
      !getTensorType(attention.mask).getElementType().isInteger(1))
    return op->emitOpError("has a mask of another type than i1 and "
                           "floating-point numbers");
  return success();
}

namespace {
struct ImportAttentionPass
    : fa4::attn::impl::ImportAttentionBase<ImportAttentionPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      StringRef name = op->getName().getStringRef();
      if (name == "tm_tensor.attention" || name == "iree_linalg_ext.attention")
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      Attention attention;
      attention.op = op;
      bool isTMTensor = op->getName().getStringRef() == "tm_tensor.attention";
      if (failed(isTMTensor ? readTMTensor(op, attention)
                            : readIREE(op, attention)) ||
          failed(check(attention)) || failed(Writer(attention).write()))
        return signalPassFailure();
    }
  }
};
} // namespace
