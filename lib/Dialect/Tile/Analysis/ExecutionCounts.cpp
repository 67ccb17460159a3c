//===- ExecutionCounts.cpp - how often operations of a role run ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ExecutionCounts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa4::tile;

/// Bounds are a few operations deep; more is not worth the search.
static constexpr unsigned kMaxProofDepth = 8;

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

Polynomial ExecutionCounts::constant(int64_t value) {
  Polynomial result;
  if (value != 0)
    result[{}] = value;
  return result;
}

Polynomial ExecutionCounts::add(const Polynomial &a, const Polynomial &b,
                                int64_t factor) {
  Polynomial result = a;
  for (const auto &[monomial, coefficient] : b) {
    int64_t &sum = result[monomial];
    sum += factor * coefficient;
    if (sum == 0)
      result.erase(monomial);
  }
  return result;
}

Polynomial ExecutionCounts::multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[ma, ca] : a) {
    Polynomial row;
    for (const auto &[mb, cb] : b) {
      std::vector<unsigned> monomial(ma);
      monomial.insert(monomial.end(), mb.begin(), mb.end());
      llvm::sort(monomial);
      row[monomial] += ca * cb;
    }
    result = add(result, row);
  }
  return result;
}

static std::string toString(const Polynomial &a) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[monomial, coefficient] : a) {
    os << "+" << coefficient;
    for (unsigned atom : monomial)
      os << "*" << atom;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Polynomial ExecutionCounts::getAtom(const std::string &key, Atom atom) {
  auto [it, isNew] = atomOf.try_emplace(key, atoms.size());
  if (isNew)
    atoms.push_back(std::move(atom));
  Polynomial result;
  result[{it->second}] = 1;
  return result;
}

Polynomial ExecutionCounts::getUniqueAtom(unsigned depth) {
  return getAtom("#" + std::to_string(atoms.size()), Atom(Atom::Opaque, depth));
}

unsigned ExecutionCounts::getDepth(ArrayRef<unsigned> monomial) const {
  unsigned depth = 0;
  for (unsigned atom : monomial)
    depth = std::max(depth, atoms[atom].depth);
  return depth;
}

unsigned ExecutionCounts::depthOf(const Polynomial &a) const {
  unsigned depth = 0;
  for (const auto &[monomial, coefficient] : a)
    depth = std::max(depth, getDepth(monomial));
  return depth;
}

/// Loops around a value that is defined in `region`.
static unsigned countLoops(Region *region) {
  unsigned depth = 0;
  for (; region; region = region->getParentRegion())
    depth += isa_and_nonnull<scf::ForOp>(region->getParentOp());
  return depth;
}

ExecutionCounts::Pass ExecutionCounts::getPass(scf::ForOp loop) {
  Polynomial lower = getValue(loop.getLowerBound());
  Polynomial step = getValue(loop.getStep());
  int64_t offset = 0;
  auto constantOf = [](const Polynomial &a) {
    auto it = a.find({});
    return it == a.end() ? 0 : it->second;
  };
  if (int64_t by = constantOf(step); step == constant(by) && by > 0)
    offset = std::max<int64_t>(constantOf(lower), 0) / by;
  lower = add(lower, step, -offset);
  unsigned depth = countLoops(&loop.getRegion());
  Polynomial atom = getAtom("pass(" + std::to_string(depth) + "," +
                                toString(lower) + "," + toString(step) + ")",
                            Atom(Atom::NonNegative, depth));
  return {atom.begin()->first.front(), offset};
}

Polynomial ExecutionCounts::getOperationAtom(OpResult result) {
  Operation *op = result.getOwner();
  if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
    return getUniqueAtom(countLoops(op->getParentRegion()));
  std::string key;
  llvm::raw_string_ostream os(key);
  os << op->getName() << ":" << result.getResultNumber() << " "
     << op->getAttrDictionary() << "(";
  Atom atom;
  SmallVector<Polynomial> operands;
  for (Value operand : op->getOperands()) {
    // Tensors and other values that are not numbers are equal if they are one.
    operands.push_back(getValue(operand));
    os << toString(operands.back()) << ",";
    atom.depth = std::max(atom.depth, depthOf(operands.back()));
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case<memref::DimOp, WorkTileOp>(
          [&](auto) { atom.kind = Atom::NonNegative; })
      .Case<arith::CeilDivSIOp, arith::FloorDivSIOp, arith::DivSIOp>([&](auto) {
        if (isNonNegative(operands[0]) && isNonNegative(operands[1]))
          atom.kind = Atom::NonNegative;
      })
      .Case<arith::MinSIOp, arith::MaxSIOp>([&](auto) {
        atom.kind = isa<arith::MinSIOp>(op) ? Atom::Min : Atom::Max;
        atom.operands[0] = operands[0];
        atom.operands[1] = operands[1];
      });
  return getAtom(key, atom);
}

Polynomial ExecutionCounts::computeValue(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop =
        dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument == loop.getInductionVar() &&
        induction == Induction::Passes) {
      auto [atom, offset] = getPass(loop);
      Polynomial pass;
      pass[{atom}] = 1;
      return add(
          getValue(loop.getLowerBound()),
          multiply(getValue(loop.getStep()), add(pass, constant(-offset))));
    }
    // What runs through the same values is the same, in each role.
    if (loop && argument == loop.getInductionVar())
      return getAtom("iv(" + toString(getValue(loop.getLowerBound())) + "," +
                         toString(getValue(loop.getUpperBound())) + "," +
                         toString(getValue(loop.getStep())) + ")",
                     Atom::Opaque);
    return getUniqueAtom(countLoops(argument.getParentRegion()));
  }
  APInt number;
  if (value.getType().isIntOrIndex() &&
      matchPattern(value, m_ConstantInt(&number)) &&
      number.getSignificantBits() <= 32)
    return constant(number.getSExtValue());
  auto binary = [&](auto op, auto function) {
    return function(getValue(op.getLhs()), getValue(op.getRhs()));
  };
  return llvm::TypeSwitch<Operation *, Polynomial>(value.getDefiningOp())
      .Case([&](arith::AddIOp op) {
        return binary(op, [](auto a, auto b) { return add(a, b); });
      })
      .Case([&](arith::SubIOp op) {
        return binary(op, [](auto a, auto b) { return add(a, b, -1); });
      })
      .Case([&](arith::MulIOp op) {
        return binary(op, [](auto a, auto b) { return multiply(a, b); });
      })
      .Default(
          [&](Operation *) { return getOperationAtom(cast<OpResult>(value)); });
}

Polynomial ExecutionCounts::getValue(Value value) {
  if (auto known = values.find(value); known != values.end())
    return known->second;
  Polynomial result =
      value.getType().isIntOrIndex() || isa<BlockArgument>(value)
          ? computeValue(value)
          : getOperationAtom(cast<OpResult>(value));
  values[value] = result;
  return result;
}

//===----------------------------------------------------------------------===//
// Proofs and counts
//===----------------------------------------------------------------------===//

bool ExecutionCounts::isNonNegative(const Polynomial &a, unsigned depth) {
  if (a.empty())
    return true;
  if (depth > kMaxProofDepth)
    return false;
  if (llvm::all_of(a, [&](const auto &term) {
        return term.second > 0 && llvm::all_of(term.first, [&](unsigned atom) {
                 return atoms[atom].kind == Atom::NonNegative;
               });
      }))
    return true;
  // max(x, y) is at least either of them; -min(x, y) is at least -x and -y. In
  // the other cases it is only known to be one of them: these come first, as
  // what is chosen later may then depend on them, and need no second attempt.
  for (bool either : {false, true})
    for (const auto &[monomial, coefficient] : a) {
      if (monomial.size() != 1)
        continue;
      const Atom &atom = atoms[monomial[0]];
      if ((atom.kind != Atom::Min && atom.kind != Atom::Max) ||
          either != ((atom.kind == Atom::Max) == (coefficient > 0)))
        continue;
      Polynomial rest = a;
      rest.erase(monomial);
      auto holdsWith = [&, factor = coefficient](unsigned operand) {
        return isNonNegative(add(rest, atom.operands[operand], factor),
                             depth + 1);
      };
      if (!either)
        return holdsWith(0) && holdsWith(1);
      if (holdsWith(0) || holdsWith(1))
        return true;
    }
  return false;
}

bool ExecutionCounts::isNonNegative(const Polynomial &a) {
  auto [it, isUnknown] = proofs.try_emplace(a, false);
  if (isUnknown)
    it->second = isNonNegative(a, 0);
  return it->second;
}

bool ExecutionCounts::runsAtLeastOnce(scf::ForOp loop) {
  Polynomial length =
      add(getValue(loop.getUpperBound()), getValue(loop.getLowerBound()), -1);
  return isNonNegative(add(length, constant(-1)));
}

Polynomial ExecutionCounts::getTripCount(scf::ForOp loop) {
  Polynomial lower = getValue(loop.getLowerBound());
  Polynomial upper = getValue(loop.getUpperBound());
  Polynomial step = getValue(loop.getStep());
  Polynomial length = add(upper, lower, -1);
  if (step == constant(1) && isNonNegative(length))
    return length;
  return getAtom(
      "trips(" + toString(length) + "," + toString(step) + ")",
      Atom(Atom::NonNegative, std::max(depthOf(length), depthOf(step))));
}

Polynomial ExecutionCounts::getCount(Operation *op) {
  Polynomial count = constant(1);
  for (Operation *child = op, *parent = op->getParentOp();
       parent && !isa<RoleOp, KernelOp>(parent);
       child = parent, parent = parent->getParentOp()) {
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      count = multiply(count, getTripCount(loop));
    } else if (auto branch = dyn_cast<scf::IfOp>(parent)) {
      Polynomial taken =
          getAtom("if(" + toString(getValue(branch.getCondition())) + ")",
                  Atom::NonNegative);
      bool isElse = child->getParentRegion() == &branch.getElseRegion();
      count = multiply(count, isElse ? add(constant(1), taken, -1) : taken);
    } else {
      count = multiply(count, getUniqueAtom());
    }
  }
  return count;
}
