//===- TileFloatPositions.cpp - numbers of columns in f32 ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worked example, for a thread with the columns 0, 1, 8 and 9 of a row:
//
//   %d = arith.subi %row, %columns        // row - (first + [0, 1, 8, 9])
//   %n = arith.subi %c0, %d
//   %distance = arith.maxsi %d, %n
//   %f = arith.sitofp %distance
//
// %d has the form (row - first) - [0, 1, 8, 9]. In f32 it is the number
// (row - first), converted once, plus the constants [-0, -1, -8, -9]; %f is its
// absolute value. What were four instructions for a column is one, and the
// absolute value is part of the instruction that uses it.
//
//===----------------------------------------------------------------------===//

#include "ColumnForms.h"
#include "ColumnPairs.h"
#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEFLOATPOSITIONS
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

/// The integers up to this are numbers of f32.
static constexpr int64_t kMostExact = int64_t(1) << 24;

namespace {
/// Rewrites conversions of one role.
class Floats {
public:
  explicit Floats(const ValueLayout &layout) : forms(layout) {}

  /// Replaces the conversion, if its operand is made of numbers of columns.
  void rewrite(arith::SIToFPOp op);

private:
  bool isOfColumns(Value value);
  Value convert(Value value, ImplicitLocOpBuilder &b);
  Value convertForm(const AffineColumn &form, Value value,
                    ImplicitLocOpBuilder &b);

  ColumnForms forms;
};
} // namespace

/// An index has 32 bits in a kernel.
static Value skipCasts(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  return value;
}

/// Returns true for `maxsi(x, 0 - x)`.
static bool isAbsolute(arith::MaxSIOp op) {
  auto negated = op.getRhs().getDefiningOp<arith::SubIOp>();
  return negated && matchPattern(negated.getLhs(), m_Zero()) &&
         negated.getRhs() == op.getLhs();
}

/// Conversion to f32 is monotone, and symmetric about 0: minima, maxima and
/// absolute values may come behind it.
bool Floats::isOfColumns(Value value) {
  value = skipCasts(value);
  if (const std::optional<AffineColumn> &form = forms.get(value)) {
    ArrayRef<int64_t> columns = forms.getColumns(value);
    int64_t last = columns.empty() ? 0 : columns.back();
    return std::abs(form->constant) + std::abs(form->scale * last) <=
           kMostExact;
  }
  Operation *op = value.getDefiningOp();
  if (auto max = dyn_cast_or_null<arith::MaxSIOp>(op); max && isAbsolute(max))
    return isOfColumns(max.getLhs());
  return isa_and_nonnull<arith::MaxSIOp, arith::MinSIOp>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isOfColumns(operand); });
}

/// Returns the sum of the terms, converted, plus a constant for each column.
Value Floats::convertForm(const AffineColumn &form, Value value,
                          ImplicitLocOpBuilder &b) {
  auto type = VectorType::get(cast<VectorType>(value.getType()).getShape(),
                              b.getF32Type());
  SmallVector<float> numbers;
  for (int64_t column : forms.getColumns(value))
    numbers.push_back(float(form.constant + form.scale * column));
  Value constants = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef(numbers)));
  if (form.terms.empty())
    return constants;
  Type element = form.terms.front().first.getType();
  Value sum = addTerms(b, form, element, [](Value term) { return term; });
  if (element.isIndex())
    sum = arith::IndexCastOp::create(b, b.getI32Type(), sum);
  sum = arith::SIToFPOp::create(b, b.getF32Type(), sum);
  Value row = vector::BroadcastOp::create(b, type, sum);
  bool isZero = llvm::all_of(numbers, [](float x) { return x == 0; });
  return isZero ? row : arith::AddFOp::create(b, row, constants).getResult();
}

Value Floats::convert(Value value, ImplicitLocOpBuilder &b) {
  value = skipCasts(value);
  if (const std::optional<AffineColumn> &form = forms.get(value))
    return convertForm(*form, value, b);
  Operation *op = value.getDefiningOp();
  if (auto max = dyn_cast<arith::MaxSIOp>(op); max && isAbsolute(max))
    return math::AbsFOp::create(b, convert(max.getLhs(), b));
  Value lhs = convert(op->getOperand(0), b),
        rhs = convert(op->getOperand(1), b);
  if (isa<arith::MaxSIOp>(op))
    return arith::MaximumFOp::create(b, lhs, rhs);
  return arith::MinimumFOp::create(b, lhs, rhs);
}

/// A number that is the same in all columns is converted once as it is.
void Floats::rewrite(arith::SIToFPOp op) {
  Value value = skipCasts(op.getIn());
  const std::optional<AffineColumn> &form = forms.get(value);
  bool isSame = form && form->scale == 0;
  if (isSame || !isOfColumns(value))
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value converted = convert(value, b);
  op.getResult().replaceAllUsesWith(converted);
}

namespace {
struct TileFloatPositions
    : public fa4::tile::impl::TileFloatPositionsBase<TileFloatPositions> {
  using TileFloatPositionsBase::TileFloatPositionsBase;

  void runOnOperation() override {
    for (auto role : getOperation().getBody().getOps<RoleOp>()) {
      const ValueLayout *layout = role.getLayout();
      if (!layout)
        continue;
      Floats floats(*layout);
      for (auto op : fa4::collectOpsIf(role, [](arith::SIToFPOp op) {
             return isRow(op.getType()) &&
                    getElementTypeOrSelf(op.getType()).isF32();
           }))
        floats.rewrite(op);
    }
  }
};
} // namespace
