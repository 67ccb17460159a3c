//===- IRMutator.cpp - mutations of parsed IR -----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IRMutator.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace fa4::fuzz;

/// Returns the values of this type that the op may use at its place.
static SmallVector<Value> getVisible(Operation *user, Type type) {
  DominanceInfo dominance;
  SmallVector<Value> values;
  auto add = [&](Value value) {
    if (value.getType() == type && dominance.properlyDominates(value, user))
      values.push_back(value);
  };
  for (Operation *parent = user->getParentOp(); parent;
       parent = parent->getParentOp()) {
    for (Region &region : parent->getRegions())
      for (Block &block : region) {
        llvm::for_each(block.getArguments(), add);
        for (Operation &op : block)
          llvm::for_each(op.getResults(), add);
      }
    if (parent->hasTrait<OpTrait::IsIsolatedFromAbove>())
      break;
  }
  return values;
}

static void changeOperand(Operation *op, TextMutator &random) {
  if (!op->getNumOperands())
    return;
  OpOperand &operand = op->getOpOperand(random.below(op->getNumOperands()));
  SmallVector<Value> values = getVisible(op, operand.get().getType());
  if (!values.empty())
    operand.set(values[random.below(values.size())]);
}

/// Returns true if an operation outside of the op uses a value of the op's
/// regions.
static bool isUsedOutside(Operation *op) {
  auto isUsed = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !op->isProperAncestor(user);
    });
  };
  return op
      ->walk([&](Block *block) {
        bool used = llvm::any_of(block->getArguments(), isUsed);
        for (Operation &inner : *block)
          used |= llvm::any_of(inner.getResults(), isUsed);
        return used ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Erases an operation and replaces its results by other values.
static void erase(Operation *op, TextMutator &random) {
  if (isUsedOutside(op))
    return;
  for (OpResult result : op->getResults()) {
    if (result.use_empty())
      continue;
    SmallVector<Value> values = getVisible(op, result.getType());
    llvm::erase(values, result);
    if (values.empty())
      return;
    result.replaceAllUsesWith(values[random.below(values.size())]);
  }
  op->erase();
}

static void duplicate(Operation *op) {
  Operation *copy = op->clone();
  op->getBlock()->getOperations().insertAfter(op->getIterator(), copy);
}

/// Moves an operation to any place in its block or in another one.
static void move(Operation *op, Operation *to) {
  if (!op->isProperAncestor(to) && op != to)
    op->moveBefore(to);
}

static Attribute changeNumber(IntegerAttr attr, TextMutator &random) {
  static constexpr int64_t kValues[] = {-1, 0,  1,  2,   3,   4,    8,
                                        16, 32, 64, 100, 128, 1024, INT64_MAX};
  APInt value = attr.getValue();
  unsigned width = value.getBitWidth();
  switch (random.below(3)) {
  case 0:
    return IntegerAttr::get(attr.getType(), value + 1);
  case 1:
    return IntegerAttr::get(attr.getType(), value - 1);
  default:
    int64_t other = kValues[random.below(std::size(kValues))];
    return IntegerAttr::get(attr.getType(),
                            APInt(64, other).sextOrTrunc(width));
  }
}

/// Drops or changes an attribute, or takes one of another op.
static void changeAttribute(Operation *op, ArrayRef<Operation *> ops,
                            TextMutator &random, bool &generic) {
  ArrayRef<NamedAttribute> attrs = op->getAttrs();
  if (attrs.empty())
    return;
  NamedAttribute attr = attrs[random.below(attrs.size())];
  auto integer = dyn_cast<IntegerAttr>(attr.getValue());
  if (random.below(10) == 0) {
    op->removeAttr(attr.getName());
    // Some upstream ops verify without an attribute that has a default, but
    // only print in the generic form then.
    generic = true;
  } else if (integer && random.below(2)) {
    op->setAttr(attr.getName(), changeNumber(integer, random));
  } else {
    SmallVector<Attribute> others;
    for (Operation *other : ops)
      if (Attribute value = other->getAttr(attr.getName()))
        if (value != attr.getValue())
          others.push_back(value);
    if (!others.empty())
      op->setAttr(attr.getName(), others[random.below(others.size())]);
  }
}

static void change(Operation *op, ArrayRef<Operation *> ops,
                   TextMutator &random, bool &generic) {
  switch (random.below(6)) {
  case 0:
  case 1:
    return changeOperand(op, random);
  case 2:
    return changeAttribute(op, ops, random, generic);
  case 3:
    if (op->hasTrait<OpTrait::IsTerminator>())
      return;
    return random.below(4) ? erase(op, random) : duplicate(op);
  default:
    if (op->hasTrait<OpTrait::IsTerminator>())
      return;
    if (Operation *next = op->getNextNode(); next && random.below(2))
      return move(op->getNextNode(), op);
    return move(op, ops[random.below(ops.size())]);
  }
}

std::string fa4::fuzz::mutate(ModuleOp module, TextMutator &random) {
  bool generic = false;
  do {
    SmallVector<Operation *> ops;
    module->walk([&](Operation *op) {
      if (op != module)
        ops.push_back(op);
    });
    if (ops.empty())
      break;
    change(ops[random.below(ops.size())], ops, random, generic);
  } while (random.below(2));
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  module.print(os, generic ? flags.printGenericOpForm() : flags);
  return text;
}
