//===- ProtocolLanes.cpp - what lanes read and hand on ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtocolLanes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fa4::tile;

/// Returns a channel whose value the role owns in the same place and form as
/// the values of channel `number`, or -1.
static int findHandedOn(const ProtocolModel &model, unsigned role,
                        unsigned number) {
  const ProtocolChannel &channel = model.channels[number];
  ChannelOp op = channel.op;
  if (!op.getInPlaceOf())
    return -1;
  for (auto [i, other] : llvm::enumerate(model.channels)) {
    ChannelOp from = other.op;
    bool isSamePlace = from.getChannel() == op.getInPlaceOf() ||
                       from.getInPlaceOf() == op.getInPlaceOf();
    if (i != number && isSamePlace && other.offset == channel.offset &&
        other.stages == channel.stages &&
        from.getValueType() == op.getValueType() && other.hasConsumer(role) &&
        other.producer != int(role))
      return i;
  }
  return -1;
}

bool fa4::tile::mayHandOn(const ProtocolModel &model, unsigned role,
                          ArrayRef<Step> steps) {
  bool writes = false;
  for (const Step &step : steps) {
    if (step.kind != StepKind::Access || step.agent != Agent::Lanes)
      return false;
    if (step.writes == -1)
      continue;
    writes = true;
    if (!isa<WriteOp>(step.op) || findHandedOn(model, role, step.writes) == -1)
      return false;
  }
  return writes;
}

void fa4::tile::addHandOnReads(const ProtocolModel &model, unsigned role,
                               Operation *op, ArrayRef<Step> steps,
                               std::vector<Step> &to) {
  Step read(StepKind::Access, op);
  for (const Step &step : steps)
    if (step.writes != -1)
      read.readsLast.push_back(findHandedOn(model, role, step.writes));
  to.push_back(std::move(read));
}

/// Returns the columns of a row that a step of lanes reads or writes. If
/// several threads share the row, these are the columns of one thread's part.
/// For a value that is not distributed, they are its elements. A scalar counts
/// as one column.
static llvm::BitVector findColumns(const Step &step, ChannelOp channel) {
  VectorType type = channel.getTileType();
  if (!type)
    return llvm::BitVector(1, true);
  unsigned number =
      type.getRank() == 2 ? type.getDimSize(1) : type.getNumElements();
  number = getMatrixLayout(channel).getColumnsPerThread(number);
  llvm::BitVector columns(number);
  auto set = [&](auto op) {
    auto part = dyn_cast<VectorType>(op.getValue().getType());
    unsigned first = part ? op.getColumn() : 0;
    unsigned count = part ? part.getNumElements() : number;
    if (first < number)
      columns.set(first, std::min(first + count, number));
  };
  if (auto read = dyn_cast<ReadOp>(step.op))
    set(read);
  else if (auto write = dyn_cast<WriteOp>(step.op))
    set(write);
  else
    columns.set();
  return columns;
}

/// Returns the range of tensor memory columns (words of 32 bits) that a step of
/// lanes reads or writes. Returns nothing for a channel outside of tensor
/// memory or with more than one stage.
static std::optional<std::pair<int64_t, int64_t>>
findWords(const Step &step, const ProtocolChannel &channel) {
  if (!channel.inTensorMemory || channel.stages != 1)
    return std::nullopt;
  ChannelOp op = channel.op;
  int64_t bits = op.getTileType().getElementTypeBitWidth();
  llvm::BitVector columns = findColumns(step, op);
  if (columns.none())
    return std::nullopt;
  return std::pair(channel.offset + columns.find_first() * bits / 32,
                   channel.offset +
                       llvm::divideCeil((columns.find_last() + 1) * bits, 32));
}

namespace {

/// Tracks which columns of the next stage have been written.
class LaneCommits {
public:
  LaneCommits(const ProtocolModel &model, unsigned role)
      : model(model), role(role) {}

  /// Maps a channel to the columns that have been written on every path.
  using Written = std::map<unsigned, llvm::BitVector>;

  LogicalResult complete(std::vector<Step> &steps, Written &written) const;

private:
  /// Moves reads in front of writes to other columns of the same stage. Lanes
  /// may read and overwrite a value some columns at a time, which is correct.
  /// But a stage of the model has no columns: a read behind a write would seem
  /// to find the new value.
  void readBeforeWrites(std::vector<Step> &steps) const;
  enum class Overlap { None, OfStages, OfColumns };
  /// Returns whether `write` overwrites a stage of `from` that `read` reads,
  /// and if so, whether they have a column in common.
  Overlap findOverlap(const Step &write, const Step &read, unsigned from) const;
  void write(const Step &step, Written &written) const;
  /// Adds the steps that must be inserted in front of a commit.
  LogicalResult commit(const Step &step, Written &written,
                       std::vector<Step> &before) const;

  const ProtocolModel &model;
  unsigned role;
};

} // namespace

void LaneCommits::write(const Step &step, Written &written) const {
  ChannelOp channel = model.channels[step.writes].op;
  llvm::BitVector columns = findColumns(step, channel);
  auto [it, isFirst] = written.try_emplace(step.writes, columns);
  if (!isFirst)
    it->second |= columns;
}

LaneCommits::Overlap LaneCommits::findOverlap(const Step &write,
                                              const Step &read,
                                              unsigned from) const {
  if (write.writes == -1)
    return Overlap::None;
  const ProtocolChannel &source = model.channels[from];
  if (findHandedOn(model, role, write.writes) == int(from)) {
    return findColumns(write, source.op).anyCommon(findColumns(read, source.op))
               ? Overlap::OfColumns
               : Overlap::OfStages;
  }
  if (!model.overlap(from, 0, write.writes, 0))
    return Overlap::None;
  auto read32 = findWords(read, source);
  auto written = findWords(write, model.channels[write.writes]);
  if (!read32 || !written)
    return Overlap::OfColumns;
  return read32->first < written->second && written->first < read32->second
             ? Overlap::OfColumns
             : Overlap::OfStages;
}

/// Moving a read forward never hides a race: nothing synchronises between the
/// steps, so the earlier read needs at least as much order.
void LaneCommits::readBeforeWrites(std::vector<Step> &steps) const {
  for (auto read = steps.begin(); read != steps.end(); ++read) {
    if (!isa<ReadOp>(read->op) || read->readsLast.size() != 1)
      continue;
    unsigned from = read->readsLast.front();
    auto to = read;
    for (auto step = read; step != steps.begin();) {
      --step;
      if (!isa<ReadOp, WriteOp>(step->op) || step->agent != Agent::Lanes)
        break;
      Overlap overlap = findOverlap(*step, *read, from);
      if (overlap == Overlap::OfColumns)
        break;
      if (overlap == Overlap::OfStages)
        to = step;
    }
    std::rotate(to, read, std::next(read));
  }
}

LogicalResult LaneCommits::commit(const Step &step, Written &written,
                                  std::vector<Step> &before) const {
  auto it = written.find(step.channel);
  if (it != written.end()) {
    bool isWhole = it->second.all();
    written.erase(it);
    if (isWhole)
      return success();
    return step.op->emitError("channel \"")
           << model.channels[step.channel].label << "\": @"
           << model.roles[role].name
           << " commits a stage of which some columns are not written";
  }
  int from = findHandedOn(model, role, step.channel);
  if (from == -1)
    return success();
  // Lanes have not written the stage, so the value before is handed on. The
  // model reads that value and writes it again, one after the other.
  Step read(StepKind::Access, step.op), write(StepKind::Access, step.op);
  read.readsLast.push_back(from);
  write.writes = step.channel;
  before.push_back(std::move(read));
  before.push_back(std::move(write));
  return success();
}

/// Keeps only the columns that are also in `other`.
static void keepOnly(LaneCommits::Written &written,
                     const LaneCommits::Written &other) {
  for (auto it = written.begin(); it != written.end();)
    it = other.count(it->first) ? std::next(it) : written.erase(it);
}

LogicalResult LaneCommits::complete(std::vector<Step> &steps,
                                    Written &written) const {
  readBeforeWrites(steps);
  std::vector<Step> result;
  for (Step &step : steps) {
    if (step.kind == StepKind::Access && step.writes != -1)
      write(step, written);
    if (step.kind == StepKind::Commit && failed(commit(step, written, result)))
      return failure();
    if (step.kind == StepKind::Loop) {
      // A pass must not rely on columns that an earlier pass has written.
      Written inside = written;
      for (auto &[channel, columns] : inside)
        columns.reset();
      if (failed(complete(step.body, inside)))
        return failure();
      keepOnly(written, inside);
    }
    if (step.kind == StepKind::If) {
      Written other = written;
      if (failed(complete(step.body, written)) ||
          failed(complete(step.elseBody, other)))
        return failure();
      keepOnly(written, other);
      for (auto &[channel, columns] : written)
        columns &= other[channel];
    }
    result.push_back(std::move(step));
  }
  steps = std::move(result);
  return success();
}

LogicalResult fa4::tile::completeLaneCommits(ProtocolModel &model,
                                             unsigned role) {
  LaneCommits::Written written;
  return LaneCommits(model, role).complete(model.roles[role].body, written);
}

//===----------------------------------------------------------------------===//
// Reads that matter only in part of the role
//===----------------------------------------------------------------------===//

Region *fa4::tile::findBranch(ReadOp read) {
  Region *user = nullptr;
  SmallVector<Operation *> users(read->getUsers());
  llvm::SmallPtrSet<Operation *, 16> followed;
  // Depth first: most values soon reach an operation that ends the search.
  while (!users.empty()) {
    Operation *op = users.pop_back_val();
    if (!followed.insert(op).second)
      continue;
    if (op->getBlock() == read->getBlock() && op->getNumRegions() == 0 &&
        isPure(op)) {
      users.append(op->user_begin(), op->user_end());
      continue;
    }
    while (op->getParentOp() && !isa<scf::IfOp>(op->getParentOp()))
      op = op->getParentOp();
    Region *region = op->getParentOp() ? op->getParentRegion() : nullptr;
    if (!region || (user && user != region) ||
        region->getParentOp()->getBlock() != read->getBlock())
      return nullptr;
    user = region;
  }
  for (Operation *op = read->getNextNode(); user && op != user->getParentOp();
       op = op->getNextNode())
    if (op->getNumRegions() != 0 ||
        isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, WriteOp>(op))
      return nullptr;
  return user;
}

std::optional<std::pair<Value, bool>> fa4::tile::findSelection(ReadOp read) {
  std::optional<std::pair<Value, bool>> result;
  SmallVector<OpOperand *> uses;
  // An operation that uses a value twice is followed once: a chain of n squares
  // has 2^n paths.
  llvm::SmallPtrSet<Operation *, 16> followed;
  for (OpOperand &use : read->getUses())
    uses.push_back(&use);
  // Depth first: most values soon reach an operation that ends the search.
  while (!uses.empty()) {
    OpOperand *use = uses.pop_back_val();
    Operation *op = use->getOwner();
    auto select = dyn_cast<arith::SelectOp>(op);
    if (select && use->getOperandNumber() != 0 &&
        !isa<VectorType>(select.getCondition().getType())) {
      std::pair<Value, bool> side(select.getCondition(),
                                  use->getOperandNumber() == 1);
      if (result.value_or(side) != side)
        return std::nullopt;
      result = side;
      continue;
    }
    if (op->getBlock() != read->getBlock() || op->getNumRegions() != 0 ||
        !isPure(op))
      return std::nullopt;
    if (!followed.insert(op).second)
      continue;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
  }
  return result;
}
