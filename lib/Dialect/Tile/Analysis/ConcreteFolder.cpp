//===- ConcreteFolder.cpp - arithmetic on numbers that are known ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ConcreteFolder.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace fa4::tile;

Type ConcreteFolder::getNumberType(Type type) {
  if (unsigned bits = getIntegerBits(type))
    return IntegerType::get(type.getContext(), bits);
  return isa<FloatType>(type) ? type : Type();
}

/// Returns the arith operation on integers that computes the same as `op` on
/// indices. It is needed because the index dialect does not fold where 32 and
/// 64 bits give different results. Returns an empty name if the name of `op`
/// serves.
static StringRef getIntegerName(Operation *op) {
  if (isa<arith::IndexCastOp, index::CastSOp, arith::IndexCastUIOp,
          index::CastUOp>(op)) {
    unsigned from = getIntegerBits(op->getOperand(0).getType());
    unsigned to = getIntegerBits(op->getResult(0).getType());
    bool isSigned = isa<arith::IndexCastOp, index::CastSOp>(op);
    return from == to  ? "arith.bitcast"
           : from > to ? "arith.trunci"
           : isSigned  ? "arith.extsi"
                       : "arith.extui";
  }
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("index.add", "arith.addi")
      .Case("index.sub", "arith.subi")
      .Case("index.mul", "arith.muli")
      .Case("index.divs", "arith.divsi")
      .Case("index.divu", "arith.divui")
      .Case("index.ceildivs", "arith.ceildivsi")
      .Case("index.ceildivu", "arith.ceildivui")
      .Case("index.floordivs", "arith.floordivsi")
      .Case("index.rems", "arith.remsi")
      .Case("index.remu", "arith.remui")
      .Case("index.maxs", "arith.maxsi")
      .Case("index.maxu", "arith.maxui")
      .Case("index.mins", "arith.minsi")
      .Case("index.minu", "arith.minui")
      .Case("index.shl", "arith.shli")
      .Case("index.shrs", "arith.shrsi")
      .Case("index.shru", "arith.shrui")
      .Case("index.and", "arith.andi")
      .Case("index.or", "arith.ori")
      .Case("index.xor", "arith.xori")
      .Case("index.cmp", "arith.cmpi")
      .Default("");
}

Operation *ConcreteFolder::makeCopy(Operation *op) {
  // An operation that reads memory, or asks for the thread, does not fold.
  if (op->getNumRegions() != 0 || op->getNumSuccessors() != 0 ||
      !isa_and_nonnull<arith::ArithDialect, index::IndexDialect,
                       math::MathDialect>(op->getDialect()))
    return nullptr;
  SmallVector<Type> operandTypes, resultTypes;
  for (Type type : op->getOperandTypes())
    operandTypes.push_back(getNumberType(type));
  for (Type type : op->getResultTypes())
    resultTypes.push_back(getNumberType(type));
  if (llvm::is_contained(operandTypes, Type()) ||
      llvm::is_contained(resultTypes, Type()))
    return nullptr;
  SmallVector<Value> operands;
  for (Type type : operandTypes)
    operands.push_back(copies.addArgument(type, op->getLoc()));
  StringRef name = getIntegerName(op);
  if (name.empty())
    return Operation::create(op->getLoc(), op->getName(), resultTypes, operands,
                             op->getDiscardableAttrDictionary(),
                             op->getPropertiesStorage(), BlockRange(), 0);
  OperationState state(op->getLoc(), name, operands, resultTypes);
  if (auto compare = dyn_cast<index::CmpOp>(op)) {
    auto predicate = arith::symbolizeCmpIPredicate(
        index::stringifyIndexCmpPredicate(compare.getPred()));
    state.addAttribute("predicate", arith::CmpIPredicateAttr::get(
                                        op->getContext(), *predicate));
  }
  return Operation::create(state);
}

Operation *ConcreteFolder::getCopy(Operation *op) {
  auto [it, isNew] = copyOf.try_emplace(op, nullptr);
  if (isNew)
    if (Operation *copy = makeCopy(op)) {
      copies.push_back(copy);
      it->second = copy;
    }
  return it->second;
}

bool ConcreteFolder::isInteger(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, index::IndexDialect>(
             op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return getIntegerBits(type) != 0; });
}

/// Returns the number as a constant of the type `type`, or null.
static TypedAttr getConstant(Attribute attribute, Type type) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return IntegerAttr::get(
        type, integer.getValue().sextOrTrunc(type.getIntOrFloatBitWidth()));
  return dyn_cast<FloatAttr>(attribute);
}

TypedAttr ConcreteFolder::fold(OpResult result, ArrayRef<TypedAttr> operands) {
  Type type = getNumberType(result.getType());
  if (!type || llvm::is_contained(operands, TypedAttr()))
    return {};
  Attribute constant;
  if (matchPattern(result, m_Constant(&constant)))
    return getConstant(constant, type);
  Operation *copy = getCopy(result.getOwner());
  if (!copy)
    return {};
  SmallVector<OpFoldResult> folded;
  SmallVector<Attribute> attributes(operands.begin(), operands.end());
  if (failed(copy->fold(attributes, folded)) || folded.empty())
    return {};
  OpFoldResult of = folded[result.getResultNumber()];
  if (auto value = dyn_cast<Value>(of)) {
    for (auto [given, attribute] : llvm::zip(copy->getOperands(), operands))
      if (given == value)
        return attribute;
    return {};
  }
  Attribute attribute = cast<Attribute>(of);
  return isa<IntegerAttr, FloatAttr>(attribute) ? cast<TypedAttr>(attribute)
                                                : TypedAttr();
}
