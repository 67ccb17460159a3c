//===- LLVMMergeBranches.cpp - one body of equal branches ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeSize.h"
#include "fa4/Conversion/TileToNVVM/KernelManifest.h"
#include "fa4/Dialect/LLVMIR/Transforms/Passes.h"
#include "fa4/Target/TargetDescription.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace fa4 {
#define GEN_PASS_DEF_LLVMMERGEBRANCHES
#include "fa4/Dialect/LLVMIR/Transforms/Passes.h.inc"
} // namespace fa4

using namespace mlir;
using namespace fa4;

//===----------------------------------------------------------------------===//
// Chains of branches
//===----------------------------------------------------------------------===//

/// The last lane, and no segments (PTX ISA, shfl.sync, operand c).
static constexpr int64_t kWholeWarp = 31;

/// Returns true if all threads of a warp have the same value: a shuffle from
/// one lane of the warp, and what is computed from such and constants.
static bool isSameInWarp(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto shuffle = dyn_cast<NVVM::ShflOp>(op)) {
    llvm::APInt segments;
    return shuffle.getKind() == NVVM::ShflKind::idx &&
           matchPattern(shuffle.getOffset(), m_Constant()) &&
           matchPattern(shuffle.getMaskAndClamp(), m_ConstantInt(&segments)) &&
           segments == kWholeWarp;
  }
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  return isa<LLVM::ICmpOp, LLVM::AddOp, LLVM::SubOp>(op) &&
         llvm::all_of(op->getOperands(), isSameInWarp);
}

/// Returns the conditional branch of a block that computes nothing but its
/// condition, and into which only `from` leads where its condition is false.
static LLVM::CondBrOp getNextOfChain(LLVM::CondBrOp from) {
  Block *next = from.getFalseDest();
  auto branch = dyn_cast<LLVM::CondBrOp>(next->getTerminator());
  if (!branch || next->getSinglePredecessor() != from->getBlock() ||
      next->getNumArguments() != 0 ||
      !llvm::all_of(next->without_terminator(),
                    [](Operation &op) { return isPure(&op); }))
    return LLVM::CondBrOp();
  return branch;
}

/// Branches of which one at most is taken, the first one whose condition holds.
static SmallVector<Branch> findChain(LLVM::CondBrOp from,
                                     DominanceInfo &dominance) {
  SmallVector<Branch> chain;
  for (; from && isSameInWarp(from.getCondition());
       from = getNextOfChain(from)) {
    std::optional<Branch> branch = Branch::find(from, dominance);
    if (!branch)
      break;
    chain.push_back(std::move(*branch));
  }
  return chain;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

namespace {
/// Makes one body of branches beside each other in a chain.
class Merger {
public:
  Merger(ArrayRef<Branch> branches, size_t pattern)
      : branches(branches), pattern(branches[pattern]),
        b(branches.front().from->getLoc(), branches.front().from) {}

  /// Returns false, and changes nothing, if the branches are not alike.
  bool match();
  void merge();

private:
  using Numbers = SmallVector<int64_t>;

  void joinConditions();
  void setNumber(NumberPlace place, const Numbers &numbers);
  Value getScaled(int64_t distance, Type type);
  Value getSelected(const Numbers &numbers, Type type);
  void guard(Operation *op, ArrayRef<size_t> owners);
  Value constant(int64_t number, Type type) {
    return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, number));
  }
  /// Behind what was computed at the beginning of the body.
  void setInsertionPointToBegin() {
    b.setInsertionPointAfterValue(lastAtBegin);
  }

  ArrayRef<Branch> branches;
  const Branch &pattern;
  ImplicitLocOpBuilder b;
  /// For each branch, how it differs from the pattern.
  SmallVector<BranchMatch> matches;
  /// The number of the branch that is taken, and the last operation of those at
  /// the beginning of the body that belong to it.
  Value number, lastAtBegin;
  llvm::MapVector<std::pair<int64_t, Type>, Value> scaled;
};
} // namespace

bool Merger::match() {
  for (const Branch &branch : branches) {
    if (&branch == &pattern) {
      matches.emplace_back();
      continue;
    }
    std::optional<BranchMatch> match = BranchMatch::find(pattern, branch);
    if (!match)
      return false;
    matches.push_back(std::move(*match));
  }
  return true;
}

/// One branch is taken where any of the conditions holds, and counts those that
/// do not in front of it.
void Merger::joinConditions() {
  Operation *first = branches.front().from;
  auto last = cast<LLVM::CondBrOp>(branches.back().from);
  Value any = branches.front().getCondition();
  for (const Branch &branch : branches.drop_front()) {
    for (Operation &op : llvm::make_early_inc_range(
             branch.from->getBlock()->without_terminator()))
      op.moveBefore(first);
    b.setInsertionPoint(first);
    any = LLVM::OrOp::create(b, any, branch.getCondition());
  }
  b.setInsertionPointToStart(pattern.blocks.front());
  Type i32 = b.getI32Type();
  number = constant(branches.size() - 1, i32);
  for (size_t i = branches.size() - 1; i-- > 0;)
    number = LLVM::SelectOp::create(b, branches[i].getCondition(),
                                    constant(i, i32), number);
  lastAtBegin = number;
  b.setInsertionPoint(first);
  LLVM::CondBrOp::create(b, any, pattern.blocks.front(), ValueRange(),
                         last.getFalseDest(), last.getFalseDestOperands());
}

/// Returns the number of the branch times `distance`.
Value Merger::getScaled(int64_t distance, Type type) {
  Value &value = scaled[{distance, type}];
  if (value)
    return value;
  OpBuilder::InsertionGuard guard(b);
  setInsertionPointToBegin();
  Value wide = number;
  if (type.getIntOrFloatBitWidth() > 32)
    wide = LLVM::ZExtOp::create(b, type, wide);
  else if (type.getIntOrFloatBitWidth() < 32)
    wide = LLVM::TruncOp::create(b, type, wide);
  value = LLVM::MulOp::create(b, wide, constant(distance, type));
  lastAtBegin = value;
  return value;
}

/// Returns the number that the branch has in a list.
Value Merger::getSelected(const Numbers &numbers, Type type) {
  OpBuilder::InsertionGuard guard(b);
  setInsertionPointToBegin();
  Value value = constant(numbers.back(), type);
  for (size_t i = numbers.size() - 1; i-- > 0;) {
    Value is = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, number,
                                    constant(i, number.getType()));
    value = LLVM::SelectOp::create(b, is, constant(numbers[i], type), value);
  }
  lastAtBegin = value;
  return value;
}

static bool areEquidistant(ArrayRef<int64_t> numbers) {
  for (size_t i = 2; i < numbers.size(); ++i)
    if (numbers[i] - numbers[i - 1] != numbers[1] - numbers[0])
      return false;
  return true;
}

void Merger::setNumber(NumberPlace place, const Numbers &numbers) {
  Operation *op = place.op;
  b.setLoc(op->getLoc());
  b.setInsertionPoint(op);
  Type type = place.isOffset() ? b.getI32Type()
                               : op->getOperand(place.operand).getType();
  bool isLinear = areEquidistant(numbers);
  Value varying = isLinear ? getScaled(numbers[1] - numbers[0], type)
                           : getSelected(numbers, type);
  int64_t rest = isLinear ? numbers[0] : 0;
  // A constant summand stays last, where it becomes part of an address.
  if (auto gep = dyn_cast<LLVM::GEPOp>(op); gep && place.isOffset()) {
    gep.getBaseMutable().set(
        LLVM::GEPOp::create(b, gep.getType(), gep.getElemType(), gep.getBase(),
                            ArrayRef<LLVM::GEPArg>{varying}));
    gep.setRawConstantIndices(int32_t(rest));
    gep.setNoWrapFlags(LLVM::GEPNoWrapFlags::none);
    return;
  }
  if (auto add = dyn_cast<LLVM::AddOp>(op)) {
    add->setOperand(0, LLVM::AddOp::create(b, add.getLhs(), varying));
    add->setOperand(1, constant(rest, type));
    add.setOverflowFlags(LLVM::IntegerOverflowFlags::none);
    return;
  }
  if (rest != 0)
    varying = LLVM::AddOp::create(b, varying, constant(rest, type));
  op->setOperand(place.operand, varying);
}

/// Has an operation executed by the branches `owners` only.
void Merger::guard(Operation *op, ArrayRef<size_t> owners) {
  b.setLoc(op->getLoc());
  b.setInsertionPoint(op);
  Value isOwner;
  for (size_t owner : owners) {
    Value is = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, number,
                                    constant(owner, number.getType()));
    isOwner = isOwner ? LLVM::OrOp::create(b, isOwner, is).getResult() : is;
  }
  Block *before = op->getBlock();
  Block *with = before->splitBlock(op);
  Block *after = with->splitBlock(op->getNextNode());
  b.setInsertionPointToEnd(before);
  LLVM::CondBrOp::create(b, isOwner, with, after);
  b.setInsertionPointToEnd(with);
  LLVM::BrOp::create(b, ValueRange(), after);
}

void Merger::merge() {
  joinConditions();
  // The numbers of each place in all branches.
  llvm::MapVector<std::pair<Operation *, unsigned>, Numbers> places;
  llvm::MapVector<Operation *, SmallVector<size_t>> absent;
  SmallVector<std::tuple<Operation *, Operation *, size_t>> additional;
  for (auto [i, match] : llvm::enumerate(matches)) {
    for (const NumberInBranch &difference : match.numbers) {
      NumberPlace place = difference.place;
      Numbers &numbers = places[{place.op, place.operand}];
      if (numbers.empty())
        numbers.assign(branches.size(), place.get());
      numbers[i] = difference.number;
    }
    for (const LoneOperation &lone : match.lone) {
      if (lone.isOfPattern())
        absent[lone.op].push_back(i);
      else
        additional.push_back({lone.op, lone.before, i});
    }
  }
  for (auto &[place, numbers] : places)
    setNumber({place.first, place.second}, numbers);
  for (auto [op, place, i] : additional) {
    b.setInsertionPoint(place);
    IRMapping constants;
    for (Value operand : op->getOperands())
      if (Operation *from = operand.getDefiningOp();
          from && matchPattern(operand, m_Constant()))
        b.clone(*from, constants);
    guard(b.clone(*op, constants), i);
  }
  for (auto &[op, without] : absent) {
    SmallVector<size_t> owners;
    for (size_t i = 0; i < branches.size(); ++i)
      if (!llvm::is_contained(without, i))
        owners.push_back(i);
    guard(op, owners);
  }
  // What leads to the other branches, and these themselves.
  SmallVector<Block *> dead;
  for (const Branch &branch : branches) {
    if (&branch != &branches.front())
      dead.push_back(branch.from->getBlock());
    else
      branch.from->erase();
    if (&branch != &pattern)
      llvm::append_range(dead, branch.blocks);
  }
  for (Block *block : dead)
    block->dropAllDefinedValueUses();
  for (Block *block : dead)
    block->dropAllReferences();
  for (Block *block : dead)
    block->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static int64_t countBytes(ArrayRef<Branch> branches) {
  int64_t instructions = 0;
  for (const Branch &branch : branches)
    instructions += countInstructions(branch);
  return instructions * kInstructionBytes;
}

/// Merges branches of a chain, as many as are alike beside each other, if they
/// take more than `cacheBytes` together; the pattern is the one with the most
/// operations, because additions of 0 are absent in others. Returns true if
/// there were such.
static bool mergeInChain(ArrayRef<Branch> chain, int64_t cacheBytes) {
  for (size_t first = 0; first + 1 < chain.size(); ++first)
    for (size_t count = chain.size() - first; count > 1; --count) {
      ArrayRef<Branch> run = chain.slice(first, count);
      if (cacheBytes != 0 && countBytes(run) <= cacheBytes)
        break;
      auto longest =
          llvm::max_element(run, [](const Branch &a, const Branch &b) {
            return a.countOperations() < b.countOperations();
          });
      Merger merger(run, longest - run.begin());
      if (!merger.match())
        continue;
      merger.merge();
      return true;
    }
  return false;
}

/// Merges branches of one chain. Returns false if there is nothing to merge.
static bool mergeOnce(LLVM::LLVMFuncOp function, int64_t cacheBytes) {
  DominanceInfo dominance(function);
  for (Block &block : function.getBody())
    if (auto from = dyn_cast<LLVM::CondBrOp>(block.getTerminator()))
      if (mergeInChain(findChain(from, dominance), cacheBytes))
        return true;
  return false;
}

namespace {
class LLVMMergeBranchesPass
    : public fa4::impl::LLVMMergeBranchesBase<LLVMMergeBranchesPass> {
public:
  using LLVMMergeBranchesBase::LLVMMergeBranchesBase;
  void runOnOperation() override {
    LLVM::LLVMFuncOp function = getOperation();
    std::optional<int64_t> bytes = getCacheBytes(function);
    bool changed = false;
    while (bytes && !function.isExternal() && mergeOnce(function, *bytes))
      changed = true;
    if (!changed)
      markAllAnalysesPreserved();
  }

private:
  /// Returns the bytes that branches may have together before they are merged;
  /// nothing if that is not known.
  std::optional<int64_t> getCacheBytes(LLVM::LLVMFuncOp function) const {
    if (cacheBytes >= 0)
      return cacheBytes;
    const TargetDescription *target =
        lookupTarget(tile::getKernelChip(function));
    if (!target || target->instructionCacheBytes == 0)
      return std::nullopt;
    return target->instructionCacheBytes;
  }
};
} // namespace
