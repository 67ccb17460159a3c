//===- BranchMatch.cpp - branches that differ in numbers only ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BranchMatch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4;

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Follows blocks that do nothing but lead on to another one.
static Block *skipEmpty(Block *block) {
  // An endless loop of such blocks ends where it begins.
  llvm::SmallPtrSet<Block *, 4> seen;
  while (seen.insert(block).second) {
    auto br = dyn_cast<LLVM::BrOp>(block->front());
    if (!br || br.getNumOperands() != 0 || block->getNumArguments() != 0)
      break;
    block = br.getDest();
  }
  return block;
}

static bool isUsedOutside(Value value,
                          const llvm::SmallPtrSetImpl<Block *> &blocks) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !blocks.contains(user->getBlock());
  });
}

std::optional<Branch> Branch::find(LLVM::CondBrOp from,
                                   DominanceInfo &dominance) {
  Block *entry = from.getTrueDest();
  if (entry->getSinglePredecessor() != from->getBlock() ||
      entry->getNumArguments() != 0 || from.getFalseDest() == entry)
    return std::nullopt;
  Branch branch;
  branch.from = from;
  llvm::SmallPtrSet<Block *, 16> inside;
  llvm::ReversePostOrderTraversal<Block *> order(entry);
  for (Block *block : order)
    if (dominance.dominates(entry, block)) {
      branch.blocks.push_back(block);
      inside.insert(block);
    }
  for (Block *block : branch.blocks) {
    for (Block *next : block->getSuccessors()) {
      if (inside.contains(next))
        continue;
      Block *exit = skipEmpty(next);
      if (next->getNumArguments() != 0 || (branch.exit && branch.exit != exit))
        return std::nullopt;
      branch.exit = exit;
    }
    auto escapes = [&](Value value) { return isUsedOutside(value, inside); };
    if (llvm::any_of(block->getArguments(), escapes))
      return std::nullopt;
    for (Operation &op : *block)
      if (op.getNumRegions() != 0 || llvm::any_of(op.getResults(), escapes))
        return std::nullopt;
  }
  return branch;
}

int64_t Branch::countOperations() const {
  int64_t count = 0;
  for (Block *block : blocks)
    count += llvm::count_if(*block, [](Operation &op) {
      return !op.hasTrait<OpTrait::ConstantLike>();
    });
  return count;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getInteger(Value value) {
  llvm::APInt number;
  if (!value.getType().isInteger() || value.getType().isInteger(1) ||
      !matchPattern(value, m_ConstantInt(&number)) || number.getBitWidth() > 64)
    return std::nullopt;
  return number.getSExtValue();
}

/// The offset in bytes of a getelementptr that has one, a constant.
static std::optional<int64_t> getOffset(Operation *op) {
  auto gep = dyn_cast<LLVM::GEPOp>(op);
  if (!gep || !gep.getDynamicIndices().empty() ||
      !gep.getElemType().isInteger(8) ||
      gep.getRawConstantIndices().size() != 1)
    return std::nullopt;
  return gep.getRawConstantIndices().front();
}

int64_t NumberPlace::get() const {
  return isOffset() ? *getOffset(op) : *getInteger(op->getOperand(operand));
}

/// Returns the place of the number that `op` adds to its first operand.
static std::optional<NumberPlace> getSummand(Operation *op) {
  if (isa<LLVM::AddOp>(op) && getInteger(op->getOperand(1)))
    return NumberPlace{op, 1};
  if (getOffset(op))
    return NumberPlace{op, NumberPlace::kOffset};
  return std::nullopt;
}

/// Returns false if the operand may have to be a constant: inline assembly has
/// constraints for that.
static bool mayBecomeVariable(Operation *op) {
  auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
  if (!assembly)
    return true;
  SmallVector<StringRef> constraints;
  assembly.getConstraints().split(constraints, ',');
  return llvm::none_of(constraints, [](StringRef each) {
    return each.contains('n') || each.contains('i');
  });
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

namespace {
/// Walks over the blocks of two branches at a time.
class Matcher {
public:
  Matcher(const Branch &pattern, const Branch &other)
      : pattern(pattern), other(other),
        inPattern(llvm::from_range, pattern.blocks),
        inOther(llvm::from_range, other.blocks) {}

  bool matchBranches();
  BranchMatch match;

private:
  bool matchBlock(Block &of, Block &in);
  bool matchOperation(Operation *of, Operation *in);
  bool matchOperand(NumberPlace place, Value in,
                    SmallVectorImpl<NumberInBranch> &numbers) const;
  bool matchSuccessors(Operation *of, Operation *in);
  bool enter(Block *of, Block *in);
  bool isSame(Value of, Value in) const;
  bool isAbsent(Operation *of);
  bool isLone(Operation *op,
              const llvm::SmallPtrSetImpl<Block *> &blocks) const;

  const Branch &pattern, &other;
  llvm::SmallPtrSet<Block *, 32> inPattern, inOther;
  llvm::DenseMap<Block *, Block *> blocks;
  /// What a value of the pattern is in the other branch.
  llvm::DenseMap<Value, Value> values;
};
} // namespace

/// Values from outside are the same ones, or constants of the same attribute.
bool Matcher::isSame(Value of, Value in) const {
  if (Value known = values.lookup(of))
    return known == in;
  Operation *one = of.getDefiningOp(), *two = in.getDefiningOp();
  if (one && two && one->hasTrait<OpTrait::ConstantLike>())
    return one->getName() == two->getName() &&
           one->getAttrDictionary() == two->getAttrDictionary() &&
           of.getType() == in.getType();
  return of == in && !inPattern.contains(of.getParentBlock());
}

bool Matcher::matchOperand(NumberPlace place, Value in,
                           SmallVectorImpl<NumberInBranch> &numbers) const {
  Value of = place.op->getOperand(place.operand);
  if (isSame(of, in))
    return true;
  std::optional<int64_t> number = getInteger(in);
  if (!number || !getInteger(of) || of.getType() != in.getType() ||
      !mayBecomeVariable(place.op))
    return false;
  numbers.push_back({place, *number});
  return true;
}

/// Compares the attributes of two operations without the offsets that these
/// may have.
static bool haveSameAttributes(Operation *of, Operation *in) {
  if (of->getAttrDictionary() == in->getAttrDictionary())
    return true;
  if (!getOffset(of) || !getOffset(in))
    return false;
  auto one = cast<LLVM::GEPOp>(of), two = cast<LLVM::GEPOp>(in);
  return one.getNoWrapFlags() == two.getNoWrapFlags() &&
         of->getDiscardableAttrDictionary() ==
             in->getDiscardableAttrDictionary();
}

bool Matcher::matchOperation(Operation *of, Operation *in) {
  if (of->getName() != in->getName() ||
      of->getNumOperands() != in->getNumOperands() ||
      of->getNumSuccessors() != in->getNumSuccessors() ||
      of->getResultTypes() != in->getResultTypes() ||
      !haveSameAttributes(of, in))
    return false;
  SmallVector<NumberInBranch> numbers;
  for (auto [i, operand] : llvm::enumerate(in->getOperands()))
    if (!matchOperand({of, unsigned(i)}, operand, numbers))
      return false;
  if (!matchSuccessors(of, in))
    return false;
  if (std::optional<int64_t> offset = getOffset(in);
      offset && offset != getOffset(of))
    numbers.push_back({{of, NumberPlace::kOffset}, *offset});
  llvm::append_range(match.numbers, numbers);
  for (auto [one, two] : llvm::zip_equal(of->getResults(), in->getResults()))
    values[one] = two;
  return true;
}

bool Matcher::enter(Block *of, Block *in) {
  if (!inPattern.contains(of) || !inOther.contains(in))
    return !inPattern.contains(of) && !inOther.contains(in);
  auto [known, isNew] = blocks.try_emplace(of, in);
  if (!isNew)
    return known->second == in;
  if (of->getArgumentTypes() != in->getArgumentTypes())
    return false;
  for (auto [one, two] :
       llvm::zip_equal(of->getArguments(), in->getArguments()))
    values[one] = two;
  return true;
}

bool Matcher::matchSuccessors(Operation *of, Operation *in) {
  return llvm::all_of(
      llvm::zip_equal(of->getSuccessors(), in->getSuccessors()),
      [&](auto pair) { return enter(std::get<0>(pair), std::get<1>(pair)); });
}

/// Takes an addition as one of 0 that the other branch does not have.
bool Matcher::isAbsent(Operation *of) {
  std::optional<NumberPlace> place = getSummand(of);
  if (!place)
    return false;
  Value summand = of->getOperand(0);
  Value known = values.lookup(summand);
  if (!known && inPattern.contains(summand.getParentBlock()))
    return false;
  match.numbers.push_back({*place, 0});
  values[of->getResult(0)] = known ? known : summand;
  return true;
}

/// Returns true if an operation needs nothing of its branch, and gives nothing.
/// Registers are set for a whole branch (PTX ISA, setmaxnreg).
bool Matcher::isLone(Operation *op,
                     const llvm::SmallPtrSetImpl<Block *> &blocks) const {
  auto isFromOutside = [&](Value operand) {
    return matchPattern(operand, m_Constant()) ||
           !blocks.contains(operand.getParentBlock());
  };
  return op->getNumResults() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa<NVVM::SetMaxRegisterOp>(op) &&
         llvm::all_of(op->getOperands(), isFromOutside);
}

bool Matcher::matchBlock(Block &of, Block &in) {
  auto skip = [](Block::iterator &it) {
    while (it->hasTrait<OpTrait::ConstantLike>())
      ++it;
    return &*it;
  };
  auto ofIt = of.begin(), inIt = in.begin();
  while (true) {
    Operation *one = skip(ofIt), *two = skip(inIt);
    if (matchOperation(one, two)) {
      if (one->hasTrait<OpTrait::IsTerminator>())
        return true;
      ++ofIt;
      ++inIt;
    } else if (isAbsent(one)) {
      ++ofIt;
    } else if (isLone(one, inPattern)) {
      match.lone.push_back({one, one});
      ++ofIt;
    } else if (isLone(two, inOther)) {
      match.lone.push_back({two, one});
      ++inIt;
    } else {
      return false;
    }
  }
}

bool Matcher::matchBranches() {
  if (pattern.exit != other.exit ||
      pattern.blocks.size() != other.blocks.size() ||
      !enter(pattern.blocks.front(), other.blocks.front()))
    return false;
  return llvm::all_of(pattern.blocks, [&](Block *block) {
    Block *counterpart = blocks.lookup(block);
    return counterpart && matchBlock(*block, *counterpart);
  });
}

/// Branches that have less in common are different code, even where all of it
/// could be guarded: one lone operation of so many.
static constexpr int64_t kOperationsForLone = 4;

std::optional<BranchMatch> BranchMatch::find(const Branch &pattern,
                                             const Branch &other) {
  Matcher matcher(pattern, other);
  if (!matcher.matchBranches() ||
      int64_t(matcher.match.lone.size()) * kOperationsForLone >
          pattern.countOperations())
    return std::nullopt;
  return std::move(matcher.match);
}
