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

static unsigned getWarpSize(RoleOp role) {
  return cast<KernelOp>(role->getParentOp()).getTarget().warpSize;
}

unsigned LaneValues::getNumParts(LaneLayout layout) const {
  return layout == LaneLayout::Rows
             ? RoleOp(role).getLayout()->getRowsPerThread()
             : 1;
}

unsigned LaneValues::getNumParts(Value tile) const {
  return getNumParts(layouts.get(tile));
}

Type LaneValues::getPartType(Value tile, LaneLayout layout) const {
  auto type = cast<VectorType>(tile.getType());
  if (layout == LaneLayout::Rows)
    return layouts.getRowPart(type);
  int64_t columns = type.getShape().back();
  return VectorType::get(
      {RoleOp(role).getLayout()->getColumnsPerThread(columns)},
      type.getElementType());
}

Type LaneValues::getPartType(Value tile) const {
  return getPartType(tile, layouts.get(tile));
}

/// Sums the parts of a row over the threads that hold them.
LaneValues::Parts LaneValues::combine(Value sum, OpBuilder &b) {
  const ValueLayout &layout = *RoleOp(role).getLayout();
  SmallVector<int64_t> masks(layout.getReductionMasks());
  Parts parts = partsOf.lookup(sum);
  for (Value &part : parts)
    part = CombineOp::create(b, sum.getLoc(), part.getType(),
                             vector::CombiningKind::ADD, part, masks);
  return parts;
}

void LaneValues::combineSums(Operation &op, OpBuilder &b) {
  combined.clear();
  // Loops and branches say for each value what they take (getPartsFor).
  if (op.getNumRegions() || op.hasTrait<OpTrait::IsTerminator>())
    return;
  for (Value operand : op.getOperands())
    if (isHeldInParts(operand) && !sums.takesParts(&op, operand))
      combined[operand] = combine(operand, b);
}

/// Returns true for a sum of which several threads hold parts.
bool LaneValues::isHeldInParts(Value value) const {
  return sums.contains(value) &&
         !RoleOp(role).getLayout()->getReductionMasks().empty();
}

SmallVector<Value> LaneValues::getPartsFor(Value tile, Value target,
                                           OpBuilder &b) {
  if (isHeldInParts(tile) && !sums.contains(target))
    return SmallVector<Value>(combine(tile, b));
  return SmallVector<Value>(getParts(tile, layouts.get(target)));
}

ArrayRef<Value> LaneValues::getParts(Value tile, LaneLayout layout) {
  if (auto known = combined.find(tile); known != combined.end())
    return known->second;
  bool isOther = layout == LaneLayout::Columns && LaneLayouts::isFree(tile);
  return (isOther ? ofColumns : partsOf).find(tile)->second;
}

Value LaneValues::getRow(Location loc, int64_t rows, unsigned part,
                         OpBuilder &b) {
  Value thread = RowOp::create(b, loc, b.getIndexType());
  const ValueLayout *layout = role.getLayoutOfRows(rows);
  if (!layout)
    return thread;
  AffineExpr row =
      layout->getOrigin(b.getContext(), /*columns=*/2).getResult(0) +
      layout->getRowOffset(b.getContext(), part);
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
    if (!role.getLayout()->hasElementsByColumn(b.getContext()))
      return op.emitOpError("differs from column to column, but all threads of "
                            "a role run the same code");
    setParts(op, build(cast<DenseElementsAttr>(op.getValue())
                           .reshape(cast<VectorType>(getPartType(op)))));
    return success();
  }
  auto element = cast<TypedAttr>(splat.getSplatValue<Attribute>());
  auto inLayout = [&](LaneLayout layout) -> Parts {
    auto vector = dyn_cast<VectorType>(getPartType(op, layout));
    Value part = build(
        vector ? DenseElementsAttr::get(vector, Attribute(element)) : element);
    return Parts(getNumParts(layout), part);
  };
  if (LaneLayouts::isFree(op)) {
    partsOf[op] = inLayout(LaneLayout::Rows);
    ofColumns[op] = inLayout(LaneLayout::Columns);
  } else {
    partsOf[op] = inLayout(layout);
  }
  return success();
}

/// Returns the numbers of the columns that the thread holds of each row.
Value LaneValues::getColumns(vector::StepOp op, OpBuilder &b) {
  const ValueLayout &layout = *role.getLayout();
  if (layout.hasElementsByColumn(b.getContext()))
    return vector::StepOp::create(b, op.getLoc(), op.getType());
  int64_t columns = op.getType().getNumElements();
  auto type =
      VectorType::get({layout.getColumnsPerThread(columns)}, b.getIndexType());
  SmallVector<Attribute> offsets;
  for (int64_t column : layout.getColumnsOfThread(b.getContext(), columns))
    offsets.push_back(b.getIndexAttr(column));
  Value thread = RowOp::create(b, op.getLoc(), b.getIndexType());
  Value origin = affine::expandAffineExpr(
      b, op.getLoc(), layout.getOrigin(b.getContext(), columns).getResult(1),
      thread, {});
  return arith::AddIOp::create(
      b, op.getLoc(), vector::BroadcastOp::create(b, op.getLoc(), type, origin),
      arith::ConstantOp::create(b, op.getLoc(),
                                DenseElementsAttr::get(type, offsets)));
}

LogicalResult LaneValues::lower(vector::StepOp op, OpBuilder &b) {
  Parts rows;
  for (unsigned part = 0; part < getNumParts(LaneLayout::Rows); ++part)
    rows.push_back(getRow(op.getLoc(), op.getType().getNumElements(), part, b));
  partsOf[op] = rows;
  ofColumns[op] = {getColumns(op, b)};
  return success();
}

LogicalResult LaneValues::lower(vector::BroadcastOp op, OpBuilder &b) {
  auto toVector = [&](Value from, Type type) -> Value {
    if (from.getType() == type)
      return from;
    return vector::BroadcastOp::create(b, op.getLoc(), type, from);
  };
  Value source = op.getSource(), result = op.getResult();
  if (LaneLayouts::isFree(result)) {
    Value scalar = get(source);
    partsOf[result] = Parts(getNumParts(LaneLayout::Rows), scalar);
    ofColumns[result] = {
        toVector(scalar, getPartType(result, LaneLayout::Columns))};
    return success();
  }
  Type part = getPartType(result);
  auto type = dyn_cast<VectorType>(source.getType());
  if (!type) {
    setParts(result, Parts(getNumParts(result), toVector(get(source), part)));
    return success();
  }
  const ValueLayout *layout = role.getLayout(op.getResultVectorType());
  bool hasColumns = type.getShape().back() != 1 &&
                    (type.getRank() == 1 || type.getDimSize(0) == 1);
  if (!hasColumns) {
    Parts parts;
    for (Value row : getParts(source))
      parts.push_back(toVector(row, part));
    setParts(result, parts);
    return success();
  }
  if (layout && layout != role.getLayout())
    return op.emitOpError("gives all rows the same columns, but which columns "
                          "of a row a thread holds is known only when it runs");
  Value columns =
      toVector(getParts(source, type.getRank() == 1 ? LaneLayout::Columns
                                                    : layouts.get(source))
                   .front(),
               part);
  setParts(result, Parts(getNumParts(result), columns));
  return success();
}

LogicalResult LaneValues::lower(vector::ShapeCastOp op) {
  LaneLayout layout = layouts.get(op.getResult());
  if (op.getResult().getType().getRank() == 1 &&
      op.getSource().getType().getRank() == 2)
    layout = layouts.get(op.getSource());
  Parts source = llvm::to_vector<2>(getParts(op.getSource(), layout));
  VectorType from = op.getSourceVectorType(), to = op.getResultVectorType();
  bool keepsRows = std::min(from.getRank(), to.getRank()) == 1 ||
                   from.getDimSize(0) == to.getDimSize(0);
  if (!keepsRows ||
      source.front().getType() != getPartType(op.getResult(), layout))
    return op.emitOpError("moves elements from row to row, but each thread "
                          "holds its own");
  setParts(op, source);
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
  const ValueLayout *layout =
      type.getRank() > 1 ? role.getLayout(type) : role.getLayout();
  if (layout) {
    int64_t columns = type.getRank() > 1 ? 1 : 0;
    int64_t piece = layout->getPieceColumns(type.getDimSize(columns));
    if (!isWhole(columns) &&
        (first[columns] % piece != 0 || count[columns] % piece != 0))
      return op.emitOpError("takes some of the columns, of which each thread "
                            "of a row would need an equal part; a piece has ")
             << piece << " columns at least";
  }
  Parts source =
      llvm::to_vector<2>(getParts(op.getSource(), layouts.get(op.getResult())));
  if (llvm::all_of(llvm::seq<int64_t>(type.getRank()), isWhole)) {
    setParts(op, source);
    return success();
  }
  auto vector = dyn_cast<VectorType>(getPartType(op.getResult()));
  int64_t size = vector ? vector.getNumElements() : 1;
  int64_t offset = first.back() * size / count.back();
  for (Value &part : source)
    part = vector ? vector::ExtractStridedSliceOp::create(
                        b, op.getLoc(), part, offset, size, /*strides=*/1)
                        .getResult()
                  : vector::ExtractOp::create(b, op.getLoc(), part, offset)
                        .getResult();
  setParts(op, source);
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
  SmallVector<int64_t> masks(layout->getReductionMasks());
  if (llvm::any_of(masks, [&](int64_t mask) {
        return mask >= int64_t(getWarpSize(role));
      }))
    return op.emitOpError("reduces rows of which ")
           << layout->getThreadsPerRow()
           << " threads hold a part each; only rows that one thread holds as a "
              "whole can be reduced";
  bool isPart = isHeldInParts(op.getDest());
  Parts source = llvm::to_vector<2>(getParts(op.getSource()));
  ArrayRef<Value> acc = getParts(op.getAcc(), LaneLayout::Rows);
  // A tile's reduction does not specify the order of its elements, so any order
  // is allowed here.
  for (auto [part, row] : llvm::enumerate(source)) {
    // Threads combine their parts of a row before the accumulator is added,
    // which all of them have.
    Value start = masks.empty() || isPart ? acc[part] : Value();
    Value sum = row;
    if (isa<VectorType>(row.getType()))
      sum = start
                ? vector::ReductionOp::create(b, op.getLoc(), op.getKind(), row,
                                              start,
                                              arith::FastMathFlags::reassoc)
                      .getDest()
                : vector::ReductionOp::create(b, op.getLoc(), op.getKind(), row,
                                              arith::FastMathFlags::reassoc)
                      .getDest();
    else if (start)
      sum =
          vector::makeArithReduction(b, op.getLoc(), op.getKind(), start, row);
    if (!masks.empty() && !isPart) {
      sum = CombineOp::create(b, op.getLoc(), sum.getType(), op.getKind(), sum,
                              masks);
      sum = vector::makeArithReduction(b, op.getLoc(), op.getKind(), acc[part],
                                       sum);
    }
    row = sum;
  }
  setParts(op.getDest(), source);
  return success();
}

LogicalResult LaneValues::lowerElementwise(Operation *op, OpBuilder &b) {
  Value result = op->getResult(0);
  LaneLayout layout = layouts.get(result);
  Type type = getPartType(result);
  Parts parts;
  for (unsigned part = 0; part < getNumParts(result); ++part) {
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) {
          return isa<VectorType>(operand.getType())
                     ? getParts(operand, layout)[part]
                     : get(operand);
        });
    parts.push_back(b.create(op->getLoc(), op->getName().getIdentifier(),
                             operands, type, op->getAttrs())
                        ->getResult(0));
  }
  setParts(result, parts);
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
