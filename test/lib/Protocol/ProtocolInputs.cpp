//===- ProtocolInputs.cpp - the numbers of a kernel for chosen sizes ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Protocol/ProtocolInputs.h"
#include "fa4/Dialect/Tile/Analysis/IndexRange.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;
using llvm::formatv;

/// The committed scalar that a wait gives, where both stand directly in the
/// work on a tile, and no other commit or wait of the role is on the channel.
/// Null otherwise: the explorer then tries all numbers.
static Value findSentScalar(WaitOp wait) {
  if (isa<VectorType>(wait.getValue().getType()))
    return {};
  SmallVector<CommitOp> commits;
  unsigned waits = 0;
  for (Operation *user : wait.getChannel().getUsers()) {
    if (auto commit = dyn_cast<CommitOp>(user))
      commits.push_back(commit);
    bool isHere =
        user->getParentOfType<RoleOp>() == wait->getParentOfType<RoleOp>();
    waits += isHere && isa<WaitOp>(user);
  }
  bool isPlain =
      commits.size() == 1 && waits == 1 &&
      commits[0]->getParentOp()->getName() == wait->getParentOp()->getName() &&
      isa<RoleOp, WorkOp>(wait->getParentOp());
  return isPlain ? commits[0].getValue() : Value();
}

ProtocolInputs::ProtocolInputs(const ProtocolModel &model) : model(model) {
  for (auto [i, loop] : llvm::enumerate(model.loops)) {
    loopIndex[loop.op] = i;
    auto op = dyn_cast<scf::ForOp>(loop.op);
    if (!op)
      continue;
    collect(op.getLowerBound());
    collect(op.getUpperBound());
    collect(op.getStep());
  }
  for (const ProtocolCondition &condition : model.conditions)
    collect(condition.value);
  llvm::sort(constants);
  constants.erase(llvm::unique(constants), constants.end());
}

/// Adds what `value` is computed from.
void ProtocolInputs::collect(Value value) {
  if (!collected.insert(value))
    return;
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number))) {
    if (number.isStrictlyPositive() && number.getSignificantBits() <= 32)
      constants.push_back(number.getSExtValue());
    return;
  }
  addInput(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument == loop.getInductionVar()) {
      collect(loop.getLowerBound());
      collect(loop.getStep());
    }
    return;
  }
  if (auto wait = value.getDefiningOp<WaitOp>())
    if (Value sent = findSentScalar(wait))
      collect(sent);
  for (Value operand : value.getDefiningOp()->getOperands())
    if (ConcreteFolder::getNumberType(operand.getType()))
      collect(operand);
}

void ProtocolInputs::addInput(Value value) {
  // Others are found when somebody asks for them.
  auto argument = dyn_cast<BlockArgument>(value);
  bool isOfKernel = argument
                        ? isa<KernelOp>(argument.getOwner()->getParentOp())
                        : isa<memref::DimOp, WorkTileOp>(value.getDefiningOp());
  if (!isOfKernel || model.roles.empty())
    return;
  auto input = getInput(value, RoleCursor(model, 0));
  if (input && llvm::none_of(inputs, [&](const ProtocolInput &other) {
        return other.name == input->name;
      }))
    inputs.push_back(*input);
}

bool ProtocolInputs::isAxisOfCluster(unsigned axis) const {
  ClusterAttr cluster = KernelOp(model.kernel).getClusterAttr();
  return cluster && cluster.getAxis() == int64_t(axis);
}

std::optional<ProtocolInput>
ProtocolInputs::getInput(Value value, const RoleCursor &cursor) {
  Type type = ConcreteFolder::getNumberType(value.getType());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto kernel = dyn_cast<KernelOp>(parent))
      return ProtocolInput{kernel.getArgName(argument.getArgNumber()).str(),
                           type, llvm::maxIntN(kIndexBits), true};
    if (isa<WorkOp>(parent) && loopIndex.count(parent))
      return ProtocolInput{
          formatv("work tile {0} of pass {1}", argument.getArgNumber(),
                  getWorkPass(cursor))
              .str(),
          type, getLastWorkTile(model.kernel, argument.getArgNumber()), false,
          isAxisOfCluster(argument.getArgNumber())};
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (loop && argument == loop.getInductionVar() && loopIndex.count(loop))
      return std::nullopt;
    return getOpaqueInput(value, cursor);
  }
  auto result = cast<OpResult>(value);
  if (auto tile = dyn_cast<WorkTileOp>(result.getOwner()))
    return ProtocolInput{
        formatv("work tile {0}", result.getResultNumber()).str(), type,
        getLastWorkTile(model.kernel, result.getResultNumber()), false,
        isAxisOfCluster(result.getResultNumber())};
  if (auto dim = dyn_cast<memref::DimOp>(result.getOwner())) {
    std::optional<StringRef> name = getSizeName(dim);
    if (!name)
      return getOpaqueInput(value, cursor);
    if (getStaticSize(*name))
      return std::nullopt;
    return ProtocolInput{name->str(), type, kMaxSize, false};
  }
  return std::nullopt;
}

int64_t ProtocolInputs::getWorkPass(const RoleCursor &cursor) const {
  for (auto [number, loop] : llvm::enumerate(model.loops))
    if (isa<WorkOp>(loop.op) && cursor.passes(number) >= 0)
      return cursor.passes(number);
  return 0;
}

/// A value of which nothing is known, in the present passes of the loops around
/// it.
ProtocolInput ProtocolInputs::getOpaqueInput(Value value,
                                             const RoleCursor &cursor) {
  std::string name = formatv("unknown {0}", value.getAsOpaquePointer()).str();
  Region *region = value.getParentRegion();
  for (; region; region = region->getParentRegion())
    if (auto it = loopIndex.find(region->getParentOp()); it != loopIndex.end())
      name += formatv(", {0}", cursor.passes(it->second)).str();
  Type type = ConcreteFolder::getNumberType(value.getType());
  return {name, type, llvm::maxIntN(kIndexBits), true};
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

void ProtocolInputs::set(const ProtocolInput &input, TypedAttr number) {
  numbers[input.name] = number;
  fixed.clear();
}

void ProtocolInputs::erase(const ProtocolInput &input) {
  numbers.erase(input.name);
  fixed.clear();
}

void ProtocolInputs::clear() {
  numbers.clear();
  fixed.clear();
}

void ProtocolInputs::setRank(unsigned number) {
  if (rank != number)
    fixed.clear();
  rank = number;
}

std::string ProtocolInputs::describe() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const ProtocolInput &input : inputs) {
    auto number = numbers.find(input.name);
    if (number == numbers.end())
      continue;
    os << (text.empty() ? "" : ", ") << input.name << " = ";
    if (auto integer = dyn_cast<IntegerAttr>(number->second))
      os << integer.getValue().getSExtValue();
    else
      os << cast<FloatAttr>(number->second).getValueAsDouble();
  }
  return text;
}

TypedAttr ProtocolInputs::lookUp(const ProtocolInput &input) {
  auto number = numbers.find(input.name);
  if (number != numbers.end() && !input.isOfCluster)
    return number->second;
  if (number != numbers.end()) {
    int64_t size = KernelOp(model.kernel).getClusterSize();
    APInt own = cast<IntegerAttr>(number->second).getValue();
    int64_t first = own.getSExtValue() / size * size;
    return IntegerAttr::get(input.type,
                            APInt(own.getBitWidth(), first + rank, true));
  }
  lacking = input;
  return {};
}

bool ProtocolInputs::varies(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return !isa<KernelOp>(argument.getOwner()->getParentOp());
  auto [it, isNew] = isVarying.try_emplace(value, true);
  if (!isNew)
    return it->second;
  Operation *op = value.getDefiningOp();
  bool result = op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
                llvm::any_of(op->getOperands(),
                             [&](Value operand) { return varies(operand); });
  return isVarying[value] = result;
}

TypedAttr ProtocolInputs::computeInduction(scf::ForOp loop,
                                           const RoleCursor &cursor) {
  auto lower =
      dyn_cast_or_null<IntegerAttr>(evaluate(loop.getLowerBound(), cursor));
  auto step = dyn_cast_or_null<IntegerAttr>(evaluate(loop.getStep(), cursor));
  if (!lower || !step)
    return {};
  int64_t pass = std::max<int64_t>(
      cursor.passes(loopIndex.lookup(loop.getOperation())) - 1, 0);
  APInt passes(64, pass);
  unsigned bits = lower.getValue().getBitWidth();
  return IntegerAttr::get(lower.getType(),
                          lower.getValue() +
                              step.getValue() * passes.zextOrTrunc(bits));
}

/// One number for equal indices, in all roles.
TypedAttr ProtocolInputs::computeElement(LoadScalarOp load,
                                         const RoleCursor &cursor) {
  auto source = cast<BlockArgument>(load.getSource());
  std::string name;
  llvm::raw_string_ostream os(name);
  os << KernelOp(model.kernel).getArgName(source.getArgNumber()) << "[";
  for (auto [i, index] : llvm::enumerate(load.getIndices())) {
    auto number = dyn_cast_or_null<IntegerAttr>(evaluate(index, cursor));
    if (!number)
      return {};
    os << (i ? ", " : "") << number.getValue().getSExtValue();
  }
  os << "]";
  return lookUp({name, ConcreteFolder::getNumberType(load.getType()),
                 llvm::maxIntN(kIndexBits), true});
}

TypedAttr ProtocolInputs::compute(Value value, const RoleCursor &cursor) {
  if (auto input = getInput(value, cursor))
    return lookUp(*input);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeInduction(
        cast<scf::ForOp>(argument.getOwner()->getParentOp()), cursor);
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  Type type = ConcreteFolder::getNumberType(value.getType());
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return IntegerAttr::get(
        type, APInt(kIndexBits, *getStaticSize(*getSizeName(dim))));
  if (auto load = dyn_cast<LoadScalarOp>(op))
    return computeElement(load, cursor);
  if (auto wait = dyn_cast<WaitOp>(op))
    if (Value sent = findSentScalar(wait))
      return evaluate(sent, cursor);
  bool isOfNumbers = op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
                     llvm::all_of(op->getOperandTypes(), [](Type operand) {
                       return bool(ConcreteFolder::getNumberType(operand));
                     });
  if (!isOfNumbers)
    return lookUp(getOpaqueInput(value, cursor));
  SmallVector<TypedAttr> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(evaluate(operand, cursor));
    if (!operands.back())
      return {};
  }
  if (TypedAttr folded = folder.fold(result, operands))
    return folded;
  if (folder.isInteger(op))
    return {};
  // A function that upstream does not know: the same for the same operands.
  std::string name;
  llvm::raw_string_ostream os(name);
  os << op->getName() << op->getPropertiesAsAttribute();
  llvm::interleave(operands, os, ", ");
  return lookUp({name, type, llvm::maxIntN(kIndexBits), true});
}

TypedAttr ProtocolInputs::evaluate(Value value, const RoleCursor &cursor) {
  auto &known = varies(value) ? present : fixed;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  TypedAttr number = compute(value, cursor);
  // What is missing may be there the next time.
  if (number)
    (varies(value) ? present : fixed)[value] = number;
  return number;
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

std::optional<int64_t> ProtocolInputs::countPasses(unsigned number,
                                                   const RoleCursor &cursor) {
  lacking.reset();
  present.clear();
  if (isa<WorkOp>(model.loops[number].op)) {
    Type type = ConcreteFolder::getNumberType(
        IndexType::get(model.loops[number].op->getContext()));
    auto tiles = dyn_cast_or_null<IntegerAttr>(
        lookUp({"work tiles", type, kMaxSize, false}));
    return tiles ? std::optional(tiles.getInt()) : std::nullopt;
  }
  auto loop = cast<scf::ForOp>(model.loops[number].op);
  SmallVector<APInt, 3> bounds;
  for (Value value :
       {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}) {
    auto bound = dyn_cast_or_null<IntegerAttr>(evaluate(value, cursor));
    if (!bound)
      return std::nullopt;
    bounds.push_back(bound.getValue());
  }
  bool isUnsigned = loop.getUnsignedCmp();
  const APInt &lower = bounds[0], &upper = bounds[1], &step = bounds[2];
  if (isUnsigned ? lower.uge(upper) : lower.sge(upper))
    return 0;
  // The distance fits into the type as a number without sign.
  APInt distance = upper - lower;
  unsigned bits = distance.getBitWidth() + 1;
  bool goesOn = isUnsigned ? !step.isZero() : step.isStrictlyPositive();
  if (!goesOn)
    return kEndless;
  APInt by = step.zext(bits);
  APInt passes = llvm::APIntOps::RoundingUDiv(distance.zext(bits), by,
                                              APInt::Rounding::UP);
  // The induction variable that ends the loop must not wrap around.
  APInt first = isUnsigned ? lower.zext(2 * bits) : lower.sext(2 * bits);
  APInt last = first + passes.zext(2 * bits) * by.zext(2 * bits);
  bool wraps =
      isUnsigned ? !last.isIntN(bits - 1) : !last.isSignedIntN(bits - 1);
  return wraps || !passes.isIntN(40) ? kEndless
                                     : int64_t(passes.getZExtValue());
}

std::optional<bool> ProtocolInputs::holds(unsigned condition,
                                          const RoleCursor &cursor) {
  lacking.reset();
  present.clear();
  auto truth = dyn_cast_or_null<IntegerAttr>(
      evaluate(model.conditions[condition].value, cursor));
  if (!truth)
    return std::nullopt;
  return !truth.getValue().isZero();
}

std::optional<bool> ProtocolInputs::answer(const RoleCursor &cursor) {
  const ProtocolQuestion &question = cursor.question();
  if (question.kind == ProtocolQuestion::Condition)
    return holds(question.number, cursor);
  std::optional<int64_t> passes = countPasses(question.number, cursor);
  if (!passes)
    return std::nullopt;
  return question.pass < *passes;
}
