//===- MaskBounds.cpp - a mask_mod by bounds of its numbers ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskBounds.h"
#include "CaptureReads.h"
#include "PositionForms.h"
#include "fa4/Dialect/Attn/Transforms/ModRegions.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::attn;
using Predicate = arith::CmpIPredicate;

/// The indices of a condition's values in Decided.
enum : unsigned { kFalse, kTrue };

static MaskSide join(MaskSide x, MaskSide y) {
  if (x == y || y == MaskSide::None)
    return x;
  return x == MaskSide::None ? y : MaskSide::Both;
}

/// Returns true if the bounds of a term of this type can be found.
static bool hasBounds(Type type) {
  return type.isIndex() || type.isInteger(1) || type.isInteger(kIndexBits);
}

static bool isOrdered(Predicate predicate) {
  switch (predicate) {
  case Predicate::eq:
  case Predicate::ne:
  case Predicate::slt:
  case Predicate::sle:
  case Predicate::sgt:
  case Predicate::sge:
    return true;
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// What can be told
//===----------------------------------------------------------------------===//

/// Returns the end of the result of an operation without wrap-around.
int64_t MaskBounds::computeEnd(Operation &op) const {
  APInt constant;
  if (op.getNumResults() != 1)
    return 0;
  if (matchPattern(&op, m_ConstantInt(&constant)))
    return constant.getSignificantBits() <= kIndexBits
               ? std::abs(constant.getSExtValue()) + 1
               : 0;
  auto end = [&](unsigned i) { return facts.lookup(op.getOperand(i)).end; };
  if (isa<arith::IndexCastOp>(op))
    return end(0);
  if (!isa<arith::AddIOp, arith::SubIOp>(op) || end(0) == 0 || end(1) == 0)
    return 0;
  int64_t sum = end(0) + end(1);
  return sum < kIndexEnd ? sum : 0;
}

void MaskBounds::learn(Operation &op) {
  Fact fact;
  for (Value operand : op.getOperands())
    fact.side = join(fact.side, getSide(operand));
  fact.end = computeEnd(op);
  for (Value result : op.getResults())
    facts[result] = fact;
}

/// Returns true if the bounds of a value come from those of its operands, and
/// not from a kernel that computes the value.
bool MaskBounds::isCombined(Value value) const {
  return getSide(value) == MaskSide::Both;
}

MaskBounds::Decided MaskBounds::lookup(Value value) const {
  auto found = decided.find(value);
  return found == decided.end() ? Decided() : found->second;
}

MaskBounds::Decided MaskBounds::decide(Value value) const {
  constexpr Decided all{{true, true}};
  if (!isCombined(value))
    return hasBounds(value.getType()) ? all : Decided();
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned i) { return lookup(op->getOperand(i)); };
  auto known = [&](unsigned i) { return operand(i).canBeRuledOut[kTrue]; };
  // A conjunction is false where one operand is, and true where both are.
  auto conjunction = [&](unsigned one, unsigned both) {
    Decided x = operand(0), y = operand(1), result;
    result.canBeRuledOut[both] = x.canBeRuledOut[both] || y.canBeRuledOut[both];
    result.canBeRuledOut[one] = x.canBeRuledOut[one] && y.canBeRuledOut[one];
    return result;
  };
  bool isCondition = value.getType().isInteger(1);
  return llvm::TypeSwitch<Operation *, Decided>(op)
      .Case([&](arith::CmpIOp cmp) {
        bool isKnown = known(0) && known(1) && isOrdered(cmp.getPredicate()) &&
                       !cmp.getLhs().getType().isInteger(1);
        return isKnown ? all : Decided();
      })
      .Case([&](arith::AndIOp) {
        return isCondition ? conjunction(kFalse, kTrue) : Decided();
      })
      .Case([&](arith::OrIOp) {
        return isCondition ? conjunction(kTrue, kFalse) : Decided();
      })
      .Case([&](arith::XOrIOp) {
        bool isKnown = isCondition && known(0) && known(1) &&
                       operand(0).canBeRuledOut[kFalse] &&
                       operand(1).canBeRuledOut[kFalse];
        return isKnown ? all : Decided();
      })
      .Case([&](arith::SelectOp) {
        Decided which = operand(0), x = operand(1), y = operand(2), result;
        for (unsigned i : {kFalse, kTrue})
          result.canBeRuledOut[i] =
              isCondition &&
              (which.canBeRuledOut[kTrue] || x.canBeRuledOut[i]) &&
              (which.canBeRuledOut[kFalse] || y.canBeRuledOut[i]);
        return result;
      })
      .Case<arith::AddIOp, arith::SubIOp, arith::IndexCastOp>([&](auto) {
        // A cast to fewer bits would wrap around.
        bool isKnown = facts.lookup(value).end != 0 && !isCondition &&
                       hasBounds(value.getType());
        for (unsigned i : llvm::seq(op->getNumOperands()))
          isKnown &= known(i);
        return isKnown ? all : Decided();
      })
      .Default(Decided());
}

bool MaskBounds::readsTableAtPosition() const {
  llvm::SmallPtrSet<Value, 16> needed = {visible};
  for (Operation &op : llvm::reverse(maskMod.front().without_terminator())) {
    if (llvm::none_of(op.getResults(),
                      [&](Value result) { return needed.contains(result); }))
      continue;
    if (getReadTensor(&op) && getSide(op.getResult(0)) != MaskSide::None)
      return true;
    needed.insert_range(op.getOperands());
  }
  return false;
}

MaskBounds::MaskBounds(AttentionOpInterface op) : maskMod(op.getMaskMod()) {
  if (maskMod.empty())
    return;
  Block &block = maskMod.front();
  facts[block.getArgument(kQuery)] = {MaskSide::Queries, kPositionEnd};
  facts[block.getArgument(kKey)] = {MaskSide::Keys, kPositionEnd};
  for (Operation &inner : block.without_terminator())
    learn(inner);
  visible = block.getTerminator()->getOperand(0);
  fa4::visitPostOrder<Value>(
      visible, [&](const Value &value) { return decided.contains(value); },
      [&](const Value &value, SmallVectorImpl<Value> &operands) {
        if (isCombined(value))
          llvm::append_range(operands, value.getDefiningOp()->getOperands());
      },
      [&](const Value &value) {
        Decided found = decide(value);
        decided.insert({value, found});
      });
  usesHead =
      findDependents(maskMod, getHeadArgument(maskMod)).contains(visible);
  isUsefulMask = readsTableAtPosition() && lookup(visible).canBeRuledOut[kTrue];
}

bool MaskBounds::canBeFull() const {
  return lookup(visible).canBeRuledOut[kFalse];
}

SmallVector<Value> MaskBounds::getTerms(MaskSide side) const {
  SmallVector<Value> terms;
  for (const auto &[value, known] : decided)
    if (getSide(value) == side && hasBounds(value.getType()) &&
        side != MaskSide::Both)
      terms.push_back(value);
  return terms;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {
class BoundsBuilder {
public:
  BoundsBuilder(ImplicitLocOpBuilder &b, int64_t rows, int64_t columns)
      : b(b), rows(rows), columns(columns) {}

  Bounds build(Operation *op, ArrayRef<Bounds> operands);

private:
  TileValue combine(TileValue x, TileValue y,
                    llvm::function_ref<Value(Value, Value)> op);
  TileValue both(TileValue x, TileValue y);
  TileValue either(TileValue x, TileValue y);
  template <typename Op> TileValue arithmetic(TileValue x, TileValue y) {
    return combine(
        x, y, [&](Value x, Value y) -> Value { return Op::create(b, x, y); });
  }
  TileValue compare(Predicate predicate, TileValue x, TileValue y) {
    return combine(x, y, [&](Value x, Value y) -> Value {
      return arith::CmpIOp::create(b, predicate, x, y);
    });
  }
  Bounds compare(Predicate predicate, const Bounds &x, const Bounds &y);

  ImplicitLocOpBuilder &b;
  int64_t rows, columns;
};
} // namespace

TileValue BoundsBuilder::combine(TileValue x, TileValue y,
                                 llvm::function_ref<Value(Value, Value)> op) {
  bool overRows = x.overRows || y.overRows,
       overColumns = x.overColumns || y.overColumns;
  auto widen = [&](TileValue value) {
    return broadcastTo(b, value, overRows, overColumns, rows, columns);
  };
  return {op(widen(x), widen(y)), overRows, overColumns};
}

TileValue BoundsBuilder::both(TileValue x, TileValue y) {
  if (!x.value || !y.value)
    return x.value ? x : y;
  return arithmetic<arith::AndIOp>(x, y);
}

TileValue BoundsBuilder::either(TileValue x, TileValue y) {
  if (!x.value || !y.value)
    return {};
  return arithmetic<arith::OrIOp>(x, y);
}

/// Returns when a comparison may be false, and when it may be true.
Bounds BoundsBuilder::compare(Predicate predicate, const Bounds &x,
                              const Bounds &y) {
  switch (predicate) {
  case Predicate::eq:
    // Two numbers are equal for certain if each has one value, the same.
    return {either(compare(Predicate::ne, x.low, y.high),
                   compare(Predicate::ne, x.high, y.low)),
            both(compare(Predicate::sle, x.low, y.high),
                 compare(Predicate::sle, y.low, x.high))};
  case Predicate::sgt:
  case Predicate::sge:
    return compare(
        predicate == Predicate::sgt ? Predicate::slt : Predicate::sle, y, x);
  case Predicate::slt:
  case Predicate::sle:
    return {compare(arith::invertPredicate(predicate), x.high, y.low),
            compare(predicate, x.low, y.high)};
  default: {
    Bounds isEqual = compare(Predicate::eq, x, y);
    return {isEqual.high, isEqual.low};
  }
  }
}

Bounds BoundsBuilder::build(Operation *op, ArrayRef<Bounds> operands) {
  return llvm::TypeSwitch<Operation *, Bounds>(op)
      .Case([&](arith::CmpIOp cmp) {
        return compare(cmp.getPredicate(), operands[0], operands[1]);
      })
      .Case([&](arith::AndIOp) -> Bounds {
        return {either(operands[0].low, operands[1].low),
                both(operands[0].high, operands[1].high)};
      })
      .Case([&](arith::OrIOp) -> Bounds {
        return {both(operands[0].low, operands[1].low),
                either(operands[0].high, operands[1].high)};
      })
      .Case([&](arith::XOrIOp) -> Bounds {
        const Bounds &x = operands[0], &y = operands[1];
        return {either(both(x.high, y.high), both(x.low, y.low)),
                either(both(x.high, y.low), both(x.low, y.high))};
      })
      .Case([&](arith::SelectOp) -> Bounds {
        const Bounds &which = operands[0], &x = operands[1], &y = operands[2];
        return {either(both(which.high, x.low), both(which.low, y.low)),
                either(both(which.high, x.high), both(which.low, y.high))};
      })
      .Case([&](arith::AddIOp) -> Bounds {
        return {arithmetic<arith::AddIOp>(operands[0].low, operands[1].low),
                arithmetic<arith::AddIOp>(operands[0].high, operands[1].high)};
      })
      .Case([&](arith::SubIOp) -> Bounds {
        return {arithmetic<arith::SubIOp>(operands[0].low, operands[1].high),
                arithmetic<arith::SubIOp>(operands[0].high, operands[1].low)};
      })
      // All numbers are i32.
      .Default([&](Operation *) { return operands[0]; });
}

Bounds MaskBounds::buildVisible(ImplicitLocOpBuilder &b,
                                const TermBounds &terms, int64_t rows,
                                int64_t columns) const {
  BoundsBuilder builder(b, rows, columns);
  TermBounds all = terms;
  for (const auto &[value, known] : decided) {
    bool isKnown = known.canBeRuledOut[kFalse] || known.canBeRuledOut[kTrue];
    if (!isCombined(value) || !isKnown)
      continue;
    Operation *op = value.getDefiningOp();
    SmallVector<Bounds> operands;
    for (Value operand : op->getOperands())
      operands.push_back(all.lookup(operand));
    Bounds bounds = builder.build(op, operands);
    all[value] = bounds;
  }
  return all.lookup(visible);
}
