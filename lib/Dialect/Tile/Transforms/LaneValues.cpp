//===- LaneValues.cpp - what one thread has of the tiles of a role ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneValues.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

Type LaneValues::getType(Value value, LaneLayout layout) const {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return value.getType();
  if (layout == LaneLayout::Rows)
    return layouts.getPart(type);
  return VectorType::get({type.getShape().back()}, type.getElementType());
}

Type LaneValues::getType(Value value) const {
  return isa<VectorType>(value.getType()) ? getType(value, layouts.get(value))
                                          : value.getType();
}

Value LaneValues::get(Value value, LaneLayout layout) {
  if (layout == LaneLayout::Whole && LaneLayouts::isFree(value))
    return whole.lookup(value);
  return map.lookupOrDefault(value);
}

Value LaneValues::get(Value value) {
  if (!isa<VectorType>(value.getType()))
    return map.lookupOrDefault(value);
  return get(value, layouts.get(value));
}

Value LaneValues::getRow(Location loc, int64_t rows, OpBuilder &b) {
  Value thread = RowOp::create(b, loc, b.getIndexType());
  const ValueLayout *layout = role.getLayoutOfRows(rows);
  if (!layout)
    return thread;
  AffineExpr row =
      layout->getOrigin(b.getContext(), /*columns=*/2).getResult(0);
  return affine::expandAffineExpr(b, loc, row, thread, {});
}

LogicalResult LaneValues::lower(arith::ConstantOp op, OpBuilder &b) {
  auto build = [&](TypedAttr attr) -> Value {
    return arith::ConstantOp::create(b, op.getLoc(), attr);
  };
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  LaneLayout layout = layouts.get(op);
  if (!splat) {
    if (layout == LaneLayout::Rows)
      return op.emitOpError("differs from row to row, but all threads of a "
                            "role run the same code");
    set(op, build(cast<DenseElementsAttr>(op.getValue())
                      .reshape(cast<VectorType>(getType(op)))));
    return success();
  }
  auto element = cast<TypedAttr>(splat.getSplatValue<Attribute>());
  auto inLayout = [&](LaneLayout layout) {
    auto vector = dyn_cast<VectorType>(getType(op, layout));
    return build(vector ? DenseElementsAttr::get(vector, Attribute(element))
                        : element);
  };
  if (LaneLayouts::isFree(op)) {
    set(op, inLayout(LaneLayout::Rows));
    whole.map(op.getResult(), inLayout(LaneLayout::Whole));
  } else {
    set(op, inLayout(layout));
  }
  return success();
}

LogicalResult LaneValues::lower(vector::StepOp op, OpBuilder &b) {
  set(op, getRow(op.getLoc(), op.getType().getNumElements(), b));
  whole.map(op.getResult(),
            vector::StepOp::create(b, op.getLoc(), op.getType()).getResult());
  return success();
}

LogicalResult LaneValues::lower(vector::BroadcastOp op, OpBuilder &b) {
  auto toVector = [&](Value from, Type type) -> Value {
    if (from.getType() == type)
      return from;
    return vector::BroadcastOp::create(b, op.getLoc(), type, from);
  };
  if (LaneLayouts::isFree(op.getResult())) {
    Value scalar = get(op.getSource());
    set(op, scalar);
    whole.map(op.getResult(), toVector(scalar, op.getType()));
    return success();
  }
  auto type = dyn_cast<VectorType>(op.getSource().getType());
  Value source = type && type.getRank() == 1
                     ? get(op.getSource(), LaneLayout::Whole)
                     : get(op.getSource());
  bool hasColumns = type && type.getShape().back() != 1 &&
                    (type.getRank() == 1 || type.getDimSize(0) == 1);
  const ValueLayout *layout = role.getLayout(op.getResultVectorType());
  if (hasColumns && layout && !layout->hasElementsByColumn(b.getContext()))
    return op.emitOpError("gives all rows the same columns, but which columns "
                          "of a row a thread holds is known only when it runs");
  set(op, toVector(source, getType(op)));
  return success();
}

LogicalResult LaneValues::lower(vector::ShapeCastOp op) {
  LaneLayout layout = layouts.get(op.getResult());
  if (op.getResult().getType().getRank() == 1 &&
      op.getSource().getType().getRank() == 2)
    layout = layouts.get(op.getSource());
  Value source = get(op.getSource(), layout);
  VectorType from = op.getSourceVectorType(), to = op.getResultVectorType();
  bool keepsRows = std::min(from.getRank(), to.getRank()) == 1 ||
                   from.getDimSize(0) == to.getDimSize(0);
  if (!keepsRows || source.getType() != getType(op.getResult(), layout))
    return op.emitOpError("moves elements from row to row, but each thread "
                          "holds its own");
  set(op, source);
  return success();
}

LogicalResult LaneValues::lower(vector::ExtractStridedSliceOp op,
                                OpBuilder &b) {
  VectorType type = op.getSourceVectorType();
  // Dimensions without an offset are taken whole.
  SmallVector<int64_t> first(type.getRank(), 0), count(type.getShape());
  for (auto [dim, offset, size] :
       llvm::enumerate(op.getOffsets().getAsRange<IntegerAttr>(),
                       op.getSizes().getAsRange<IntegerAttr>())) {
    first[dim] = offset.getInt();
    count[dim] = size.getInt();
  }
  auto isWhole = [&](int64_t dim) {
    return count[dim] == type.getDimSize(dim);
  };
  if (type.getRank() > 1 && !isWhole(0))
    return op.emitOpError("takes some of the rows, but each thread holds one");
  // Elements of a thread are the same part of its columns as the slice is of
  // all columns.
  if (const ValueLayout *layout = role.getLayout(type);
      layout && type.getRank() > 1) {
    int64_t piece = layout->getPieceColumns(type.getDimSize(1));
    if (!isWhole(1) && (first[1] % piece != 0 || count[1] % piece != 0))
      return op.emitOpError("takes some of the columns, of which each thread "
                            "of a row would need an equal part; a piece has ")
             << piece << " columns at least";
  }
  Value source = get(op.getSource(), layouts.get(op.getResult()));
  if (llvm::all_of(llvm::seq<int64_t>(type.getRank()), isWhole)) {
    set(op, source);
    return success();
  }
  Type part = getType(op.getResult());
  auto vector = dyn_cast<VectorType>(part);
  int64_t size = vector ? vector.getNumElements() : 1;
  int64_t offset = first.back() * size / count.back();
  if (vector)
    source = vector::ExtractStridedSliceOp::create(b, op.getLoc(), source,
                                                   offset, size, /*strides=*/1);
  else
    source = vector::ExtractOp::create(b, op.getLoc(), source, offset);
  set(op, source);
  return success();
}

LogicalResult LaneValues::lower(vector::MultiDimReductionOp op, OpBuilder &b) {
  VectorType type = op.getSourceVectorType();
  if (type.getRank() != 2 || op.getReductionDims() != ArrayRef<int64_t>{1} ||
      layouts.get(op.getSource()) != LaneLayout::Rows)
    return op.emitOpError(
        "reduces over rows, which different threads hold; only reductions of a "
        "matrix over its columns ([1]) are supported");
  const ValueLayout *layout = role.getLayout(type);
  if (!layout->isRowPerThread())
    return op.emitOpError("reduces rows of which ")
           << layout->getThreadsPerRow()
           << " threads hold a part each; only rows that one thread holds as a "
              "whole can be reduced";
  Value source = get(op.getSource());
  Value acc = get(op.getAcc(), LaneLayout::Rows);
  // A tile's reduction does not specify the order of its elements, so any order
  // is allowed here.
  set(op.getDest(),
      isa<VectorType>(source.getType())
          ? vector::ReductionOp::create(b, op.getLoc(), op.getKind(), source,
                                        acc, arith::FastMathFlags::reassoc)
          : vector::makeArithReduction(b, op.getLoc(), op.getKind(), acc,
                                       source));
  return success();
}

LogicalResult LaneValues::lowerElementwise(Operation *op, OpBuilder &b) {
  Value result = op->getResult(0);
  LaneLayout layout = layouts.get(result);
  SmallVector<Value> operands = llvm::map_to_vector(
      op->getOperands(), [&](Value operand) { return get(operand, layout); });
  set(result, b.create(op->getLoc(), op->getName().getIdentifier(), operands,
                       getType(result), op->getAttrs())
                  ->getResult(0));
  return success();
}

LogicalResult LaneValues::lower(Operation *op, OpBuilder &b) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<arith::ConstantOp, vector::StepOp, vector::BroadcastOp,
            vector::ExtractStridedSliceOp, vector::MultiDimReductionOp>(
          [&](auto op) { return lower(op, b); })
      .Case([&](vector::ShapeCastOp op) { return lower(op); })
      .Default([&](Operation *op) -> LogicalResult {
        if (op->getNumResults() == 1 &&
            (OpTrait::hasElementwiseMappableTraits(op) || isa<Exp2Op>(op)))
          return lowerElementwise(op, b);
        return op->emitOpError("is not supported on tiles held by the threads "
                               "of role '")
               << role.getSymName() << "'";
      });
}
