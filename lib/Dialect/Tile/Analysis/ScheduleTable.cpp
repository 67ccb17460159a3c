//===- ScheduleTable.cpp - the schedule of a kernel as a table ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/ScheduleTable.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace fa4::tile;

static ChannelOp channelOf(Operation *op) {
  if (!isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op))
    return nullptr;
  return op->getOperand(0).getDefiningOp<ChannelOp>();
}

/// The place of a tile that threads hold.
static constexpr llvm::StringLiteral kRegisters = "registers";

/// Describes the tile that an operation reads: its channel, and the part of the
/// value that is read.
static std::string sourceOf(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value))
    if (auto loop = dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp()))
      if (OpOperand *init = loop.getTiedLoopInit(arg))
        return sourceOf(init->get());
  if (auto loop = value.getDefiningOp<scf::ForOp>())
    return sourceOf(
        loop.getYieldedValues()[cast<OpResult>(value).getResultNumber()]);
  if (auto wait = value.getDefiningOp<WaitOp>())
    return channelOf(wait).getLabel().str();
  if (auto part = value.getDefiningOp<vector::ExtractStridedSliceOp>()) {
    std::string text = sourceOf(part.getSource()) + "[";
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(llvm::zip(part.getOffsets().getAsRange<IntegerAttr>(),
                                    part.getSizes().getAsRange<IntegerAttr>()),
                          os, [&](auto range) {
                            auto [offset, size] = range;
                            os << offset.getInt() << ":"
                               << offset.getInt() + size.getInt();
                          });
    return text + "]";
  }
  return getHome(value) == ValueHome::Fragment ? kRegisters.str() : "-";
}

/// Describes a product of tiles.
static std::string describe(MmaOp mma) {
  return sourceOf(mma.getA()) + (mma.getTransposeA() ? "^T" : "") + " * " +
         sourceOf(mma.getB()) + (mma.getTransposeB() ? "^T" : "");
}

namespace {
class Printer {
public:
  Printer(RoleOp role, size_t width, raw_ostream &os)
      : role(role), width(width), os(os) {}

  void print() {
    os << "role @" << role.getSymName() << "\n";
    number(role.getBody().front());
    print(role.getBody().front());
  }

private:
  /// The place of an operation among the operations of the same kind on its
  /// channel: before the loop, in it (`i`), or behind it.
  struct Place {
    enum { Before, In, Behind } where;
    int64_t number;
  };
  using Key = std::pair<ChannelOp, OperationName>;

  void number(Block &block);
  void print(Block &block);
  std::string iteration(Operation *op);
  void line(StringRef name, Operation *on, const Twine &detail);
  void line(StringRef name, StringRef label, StringRef iteration,
            const Twine &detail);

  RoleOp role;
  /// The width of the longest label.
  size_t width;
  raw_ostream &os;
  scf::ForOp loop;
  bool inLoop = false;
  /// True if a heading must be printed before the next line.
  bool behindLoop = false;
  llvm::DenseMap<Operation *, Place> places;
  llvm::DenseMap<Key, int64_t> count, inOneIteration;
};
} // namespace

void Printer::number(Block &block) {
  for (Operation &op : block) {
    if (ChannelOp channel = channelOf(&op)) {
      Key key = {channel, op.getName()};
      places[&op] = {inLoop ? Place::In
                     : loop ? Place::Behind
                            : Place::Before,
                     count[key]++};
      if (inLoop)
        ++inOneIteration[key];
    }
    auto nested = dyn_cast<scf::ForOp>(op);
    bool enters = nested && !loop;
    if (enters) {
      loop = nested;
      inLoop = true;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        number(inner);
    if (enters)
      inLoop = false;
  }
}

std::string Printer::iteration(Operation *op) {
  if (!op || !places.count(op))
    return "";
  int64_t each = inOneIteration.lookup({channelOf(op), op->getName()});
  Place place = places.lookup(op);
  if (!each)
    return "";
  if (place.where == Place::Before)
    return std::to_string(place.number / each);
  // `number` behind the loop counts the operations in the loop once already.
  int64_t ahead =
      (place.number - (place.where == Place::Behind ? each : 0)) / each;
  std::string base = place.where == Place::In ? "i" : "n";
  return ahead ? base + "+" + std::to_string(ahead) : base;
}

void Printer::line(StringRef name, Operation *on, const Twine &detail) {
  ChannelOp channel = on ? channelOf(on) : nullptr;
  line(name, channel ? channel.getLabel() : StringRef(), iteration(on), detail);
}

void Printer::line(StringRef name, StringRef label, StringRef iteration,
                   const Twine &detail) {
  if (behindLoop)
    os << "  then:\n";
  behindLoop = false;
  std::string text;
  llvm::raw_string_ostream line(text);
  line << "    " << llvm::left_justify(name, 12)
       << llvm::left_justify(label, width + 2)
       << llvm::left_justify(iteration, 6) << detail;
  os << StringRef(text).rtrim() << "\n";
}

void Printer::print(Block &block) {
  for (Operation &op : block) {
    if (isa<scf::ForOp>(op))
      behindLoop = false;
    if (&op == loop)
      os << "  loop, n passes (i = 0, 1, ...):\n";
    else if (isa<scf::ForOp>(op))
      os << "  loop:\n";
    if (channelOf(&op))
      line(op.getName().stripDialect(), &op, "");
    if (auto mma = dyn_cast<MmaOp>(op)) {
      if (mma.isPending())
        line("mma", kRegisters, /*iteration=*/"", describe(mma));
      else
        line("mma", findCommit(mma.getResult()), describe(mma));
    }
    // None of them crosses a block: the MMA is the definition.
    if (auto await = dyn_cast<AwaitOp>(op))
      line("await", kRegisters, /*iteration=*/"",
           describe(await.getPending().getDefiningOp<MmaOp>()));
    if (auto load = dyn_cast<LoadOp>(op))
      line("load", findCommit(load.getTile()), "");
    if (isa<StoreOp, ReduceAddOp>(op))
      line(op.getName().stripDialect(), nullptr, sourceOf(op.getOperand(0)));
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        print(inner);
    behindLoop |= isa<scf::ForOp>(op);
  }
}

void fa4::tile::printSchedule(KernelOp kernel, llvm::raw_ostream &os) {
  os << "schedule of @" << kernel.getSymName() << "\n";
  size_t width = 0;
  for (auto channel : kernel.getBody().getOps<ChannelOp>())
    width = std::max(width, channel.getLabel().size());
  kernel.walk([&](AwaitOp) { width = std::max(width, kRegisters.size()); });
  for (auto role : kernel.getBody().getOps<RoleOp>())
    if (!role.getBody().front().empty())
      Printer(role, width, os).print();
  os << "channels\n";
  for (auto channel : kernel.getBody().getOps<ChannelOp>()) {
    os << "    " << llvm::left_justify(channel.getLabel(), width + 2)
       << stringifyMemorySpace(channel.getSpace()) << "  "
       << channel.getStages() << " x " << channel.getValueType();
    if (channel.getInPlaceOf())
      os << " in place of "
         << channel.getInPlaceOf().getDefiningOp<ChannelOp>().getLabel();
    os << "\n";
  }
}
