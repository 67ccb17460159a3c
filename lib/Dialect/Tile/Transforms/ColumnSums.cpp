//===- ColumnSums.cpp - sums of the column's number and of scalars ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnSums.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

bool ColumnSums::isSum(Value value) {
  return isa_and_nonnull<arith::AddIOp, arith::SubIOp>(value.getDefiningOp()) &&
         forms.get(value).has_value();
}

/// Adds up the terms of `sum`, once in a block for all values with these terms.
/// Returns null if there are none.
Value ColumnSums::getBase(Value value, const AffineColumn &sum,
                          OpBuilder &builder) {
  Type type = getElementTypeOrSelf(value.getType());
  SmallVector<std::pair<Value, int64_t>> terms(sum.terms.begin(),
                                               sum.terms.end());
  llvm::sort(terms, [](auto &a, auto &b) {
    return a.first.getAsOpaquePointer() < b.first.getAsOpaquePointer();
  });
  auto number = [](const void *pointer) {
    return reinterpret_cast<intptr_t>(pointer);
  };
  std::vector<intptr_t> key = {number(builder.getInsertionBlock()),
                               number(type.getAsOpaquePointer())};
  for (auto [term, coefficient] : terms)
    key.insert(key.end(), {number(term.getAsOpaquePointer()), coefficient});
  auto [known, isNew] = bases.try_emplace(std::move(key));
  if (!isNew || terms.empty())
    return known->second;
  ImplicitLocOpBuilder b(value.getLoc(), builder);
  known->second = addTerms(
      b, sum, type, [&](Value term) { return scalars.lookupOrDefault(term); });
  return known->second;
}

/// Adds a constant to `base`, which may be null.
Value ColumnSums::addConstant(Value base, int64_t number, Type type,
                              Location loc, OpBuilder &builder) {
  unsigned bits = type.isIndex() ? IndexType::kInternalStorageBitWidth
                                 : type.getIntOrFloatBitWidth();
  ImplicitLocOpBuilder b(loc, builder);
  APInt wrapped = APInt(64, number, /*isSigned=*/true).sextOrTrunc(bits);
  if (base && wrapped.isZero())
    return base;
  Value constant =
      arith::ConstantOp::create(b, b.getIntegerAttr(type, wrapped));
  return base ? arith::AddIOp::create(b, base, constant) : constant;
}

Value ColumnSums::get(Value value, int64_t column, OpBuilder &builder) {
  const AffineColumn &sum = *forms.get(value);
  Value base = getBase(value, sum, builder);
  return addConstant(
      base, sum.scale * forms.getColumns(value)[column] + sum.constant,
      getElementTypeOrSelf(value.getType()), value.getLoc(), builder);
}

Value ColumnSums::getBase(Value value, OpBuilder &b) {
  return getBase(value, *forms.get(value), b);
}

Value ColumnSums::getAt(Value value, Value base, Value first, int64_t offset,
                        OpBuilder &builder) {
  const AffineColumn &sum = *forms.get(value);
  Type type = getElementTypeOrSelf(value.getType());
  ImplicitLocOpBuilder b(value.getLoc(), builder);
  // Only sums of indices depend on the column.
  if (sum.scale != 0) {
    Value product = first;
    if (sum.scale != 1)
      product = arith::MulIOp::create(
          b, first, arith::ConstantIndexOp::create(b, sum.scale));
    base = base ? arith::AddIOp::create(b, base, product) : product;
  }
  return addConstant(base, sum.scale * offset + sum.constant, type,
                     value.getLoc(), builder);
}
