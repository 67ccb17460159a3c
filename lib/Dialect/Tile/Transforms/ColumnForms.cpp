//===- ColumnForms.cpp - values of columns as linear forms ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnForms.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// The most terms, and the largest coefficient, of a form. Indices of masks
/// have fewer, and a chain of doublings would overflow.
static constexpr unsigned kMaxTerms = 8;
static constexpr int64_t kMaxCoefficient = 8;

bool AffineColumn::add(const AffineColumn &other, int64_t sign) {
  auto fits = [](int64_t value, int64_t limit) {
    return -limit <= value && value <= limit;
  };
  scale += sign * other.scale;
  constant += sign * other.constant;
  if (!fits(scale, kMaxCoefficient) || !fits(constant, kMaxColumnTerm))
    return false;
  for (auto [value, coefficient] : other.terms) {
    int64_t &sum = terms[value];
    sum += sign * coefficient;
    if (!fits(sum, kMaxCoefficient))
      return false;
  }
  terms.remove_if([](auto &term) { return term.second == 0; });
  return terms.size() <= kMaxTerms;
}

Value fa4::tile::addTerms(ImplicitLocOpBuilder &b, const AffineColumn &form,
                          Type type, llvm::function_ref<Value(Value)> build) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  };
  Value sum;
  for (auto [term, coefficient] : form.terms) {
    Value product = build(term);
    if (std::abs(coefficient) != 1)
      product =
          arith::MulIOp::create(b, product, constant(std::abs(coefficient)));
    if (coefficient < 0)
      sum = arith::SubIOp::create(b, sum ? sum : constant(0), product);
    else
      sum = sum ? arith::AddIOp::create(b, sum, product) : product;
  }
  return sum;
}

ArrayRef<int64_t> ColumnForms::getColumns(Value value) {
  int64_t count = cast<VectorType>(value.getType()).getNumElements();
  SmallVector<int64_t> &columns = columnsOf[count];
  if (columns.empty())
    columns = layout.getColumnsOfThread(value.getContext(),
                                        count * layout.getThreadsPerRow());
  return columns;
}

/// Returns true for a vector that has the number of each of the thread's
/// columns.
bool ColumnForms::isColumnNumber(Value value) {
  if (value.getDefiningOp<vector::StepOp>())
    return true;
  DenseIntElementsAttr numbers;
  if (!matchPattern(value, m_Constant(&numbers)) || numbers.isSplat())
    return false;
  ArrayRef<int64_t> columns = getColumns(value);
  return llvm::equal(numbers.getValues<APInt>(), columns,
                     [](const APInt &number, int64_t column) {
                       return number.getSExtValue() == column;
                     });
}

std::optional<AffineColumn> ColumnForms::compute(Value value) {
  AffineColumn result;
  APInt splat;
  if (matchPattern(value, m_ConstantInt(&splat))) {
    if (splat.getSignificantBits() > 64 || splat.abs().ugt(kMaxColumnTerm))
      return std::nullopt;
    result.constant = splat.getSExtValue();
    return result;
  }
  Operation *op = value.getDefiningOp();
  if (isColumnNumber(value)) {
    result.scale = 1;
    return result;
  }
  if (auto broadcast = dyn_cast_or_null<vector::BroadcastOp>(op)) {
    if (isa<VectorType>(broadcast.getSource().getType()))
      return std::nullopt;
    result.terms.insert({broadcast.getSource(), 1});
    return result;
  }
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  const std::optional<AffineColumn> &lhs = get(op->getOperand(0)),
                                    &rhs = get(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  result = *lhs;
  if (!result.add(*rhs, isa<arith::AddIOp>(op) ? 1 : -1))
    return std::nullopt;
  return result;
}

const std::optional<AffineColumn> &ColumnForms::get(Value value) {
  fa4::visitPostOrder<Value>(
      value, [&](Value v) { return forms.contains(v); },
      [](Value v, SmallVectorImpl<Value> &operands) {
        Operation *op = v.getDefiningOp();
        if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
          operands.append(op->operand_begin(), op->operand_end());
      },
      [&](Value v) {
        std::optional<AffineColumn> form = compute(v);
        forms.try_emplace(v, std::move(form));
      });
  return forms.find(value)->second;
}
