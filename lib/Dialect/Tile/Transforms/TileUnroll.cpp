//===- TileUnroll.cpp - a thread's row in fragments of column pairs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ColumnLoop.h"
#include "ColumnPairs.h"
#include "EraseDead.h"
#include "HoistHandOvers.h"
#include "StructuredRewrite.h"
#include "UnrollReductions.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/RowPressure.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Target/RegisterBudget.h"
#include "llvm/ADT/TypeSwitch.h"
#include <functional>

namespace fa4::tile {
#define GEN_PASS_DEF_TILEUNROLL
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

using FragmentChooser = std::function<int64_t(Operation *)>;

namespace {
/// Rewrites the body of one role. Each vector becomes pairs of columns, because
/// a packed instruction computes two f32 at once. No instruction computes two
/// integers or two conditions at once, so an operation that takes or gives
/// these becomes one operation for each column. Operations with effects stay in
/// their order; UnrollValues says when the others are built.
class Unroller : public StructuredRewrite {
public:
  /// `chooseFragment` returns how many columns are worked on at a time in the
  /// role, or in a loop of the role.
  Unroller(RoleOp role, FragmentChooser chooseFragment,
           int64_t loopInstructions, bool readsAhead,
           const llvm::DenseMap<Value, unsigned> &bufferOf,
           const llvm::DenseSet<Value> &asyncReads,
           const llvm::DenseSet<unsigned> &usedAgain)
      : role(role), chooseFragment(std::move(chooseFragment)),
        asyncReads(asyncReads),
        columns(scalars, *role.getLayout(), this->chooseFragment(role)),
        reads(columns, readsAhead, bufferOf, usedAgain),
        values(columns, reads, loopInstructions,
               /*keepsOrder=*/!role.startsMmas()),
        reductions(columns, values) {}

  LogicalResult run();

private:
  // A stage that only MMAs read stays a tile.
  void appendTypes(Value row, SmallVectorImpl<Type> &types) override {
    if (getHome(row) == ValueHome::Place)
      types.push_back(row.getType());
    else
      types.append(numPairs(row.getType()), pairType(row.getType()));
  }
  void appendValues(Value row, Value target, OpBuilder &b,
                    SmallVectorImpl<Value> &pairs) override {
    if (getHome(row) == ValueHome::Place)
      return pairs.push_back(scalars.lookupOrDefault(row));
    values.buildAll(row, b);
    llvm::append_range(pairs, columns[row].pairs);
  }
  void setValues(Value row, ValueRange pairs) override {
    if (getHome(row) == ValueHome::Place)
      return scalars.map(row, pairs.front());
    columns[row].pairs = llvm::to_vector_of<Value, 0>(pairs);
  }
  LogicalResult lower(Operation &op, OpBuilder &b) override;
  void beginYield(Operation &yield, OpBuilder &b) override {
    reads.forget(*yield.getBlock());
    values.setUser(&yield);
  }

  void lowerSimple(Operation &op, OpBuilder &b);
  void lowerFromLanes(FromLanesOp op, OpBuilder &b);
  void lowerToLanes(ToLanesOp op, OpBuilder &b);
  void lowerWrite(WriteOp op, OpBuilder &b);
  void lowerCommit(CommitOp op, OpBuilder &b);

  LogicalResult lowerLoop(scf::ForOp op, OpBuilder &b);

  RoleOp role;
  FragmentChooser chooseFragment;
  const llvm::DenseSet<Value> &asyncReads;
  RowColumns columns;
  UnrollReads reads;
  UnrollValues values;
  UnrollReductions reductions;
};
} // namespace

void Unroller::lowerFromLanes(FromLanesOp op, OpBuilder &b) {
  SmallVector<Value> pairs;
  for (Value part : op.getParts()) {
    values.buildAll(part, b);
    llvm::append_range(pairs, columns[part].pairs);
  }
  scalars.map(op.getTile(),
              FromLanesOp::create(b, op.getLoc(), op.getTile().getType(), pairs)
                  .getTile());
}

void Unroller::lowerToLanes(ToLanesOp op, OpBuilder &b) {
  SmallVector<Type> types;
  for (Value part : op.getParts())
    appendTypes(part, types);
  ValueRange pairs =
      ToLanesOp::create(b, op.getLoc(), types, scalars.lookup(op.getTile()))
          .getParts();
  for (Value part : op.getParts()) {
    int64_t count = numPairs(part.getType());
    setValues(part, pairs.take_front(count));
    pairs = pairs.drop_front(count);
  }
}

void Unroller::lowerWrite(WriteOp op, OpBuilder &b) {
  Value value = op.getValue();
  columns.forFragments(value.getType(), [&](int64_t first, int64_t last) {
    values.beginWrite();
    values.build(value, first, last, b);
    reads.readOverwritten(op, 2 * first, 2 * last, b);
    for (auto [begin, end] : splitAccess(2 * first, 2 * last)) {
      ArrayRef<Value> parts =
          ArrayRef(columns[value].pairs).slice(begin / 2, (end - begin) / 2);
      WriteOp::create(b, op.getLoc(), joinPairs(parts, op.getLoc(), b),
                      op.getChannel(), op.getColumn() + begin);
    }
    bool isAnyBuilt = values.buildEarly(op, b);
    values.endFragment(op.getLoc(), b, /*keepsOrder=*/isAnyBuilt);
    reductions.foldEarly(op, b);
  });
}

/// Keeps arithmetic behind a commit from delaying the commit. See
/// tile.keep_order.
void Unroller::lowerCommit(CommitOp op, OpBuilder &b) {
  b.clone(*op, scalars);
  auto rest =
      llvm::make_range(std::next(op->getIterator()), op->getBlock()->end());
  auto usesRows = [](Operation &next) {
    return llvm::any_of(next.getOperandTypes(), isRow);
  };
  if (!role.startsMmas() && asyncReads.contains(op.getChannel()) &&
      llvm::any_of(rest, usesRows))
    KeepOrderOp::create(b, op.getLoc());
}

/// A loop over blocks without a mask has no integers, which the loop over the
/// other blocks may have. If it works on one tile, the fragment is its own;
/// with two, as in the gradient at head dim 64, a smaller one is faster (by 2%
/// in the model of a B200).
LogicalResult Unroller::lowerLoop(scf::ForOp op, OpBuilder &b) {
  int64_t outside = columns.fragment;
  bool isInnermost =
      !fa4::anyIn(op, [&](scf::ForOp loop) { return loop != op; });
  auto numTiles = llvm::count_if(op.getOps<ReadOp>(), [](ReadOp read) {
    return isRow(read.getValue().getType()) && !read.getAll();
  });
  if (isInnermost && numTiles <= 1)
    columns.fragment = chooseFragment(op);
  LogicalResult result = rebuild(op, b);
  columns.fragment = outside;
  return result;
}

/// Lowers an operation, before which the reads that it ends are complete.
LogicalResult Unroller::lower(Operation &op, OpBuilder &b) {
  values.setUser(&op);
  if (op.getNumRegions())
    values.buildCaptured(op, b);
  op.walk([&](Operation *inner) {
    if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(inner))
      reads.readBuffer(inner->getOperand(0), b,
                       /*handsOn=*/isa<CommitOp>(inner));
    if (isa<CommitOp>(inner))
      reads.readUsedAgain(b);
  });
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp op) { return lowerLoop(op, b); })
      .Case<scf::IfOp, WorkOp>([&](auto op) { return rebuild(op, b); })
      .Default([&](Operation *op) {
        lowerSimple(*op, b);
        return success();
      });
}

void Unroller::lowerSimple(Operation &op, OpBuilder &b) {
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](vector::ReductionOp op) { reductions.lower(op, b); })
      .Case([&](vector::ExtractOp op) {
        int64_t column = op.getStaticPosition().front();
        values.build(op.getSource(), column / 2, column / 2 + 1, b);
        scalars.map(op.getResult(),
                    columns.getElement(op.getSource(), column, b));
      })
      .Case([&](WriteOp op) {
        if (isRow(op.getValue().getType()))
          return lowerWrite(op, b);
        reads.readBuffer(op.getChannel(), b);
        b.clone(*op, scalars);
      })
      .Case([&](CommitOp op) { lowerCommit(op, b); })
      .Case([&](FromLanesOp op) { lowerFromLanes(op, b); })
      .Case([&](ToLanesOp op) { lowerToLanes(op, b); })
      .Default([&](Operation *op) {
        bool isOfRow =
            op->getNumResults() == 1 && isRow(op->getResult(0).getType());
        if (!isOfRow)
          b.clone(*op, scalars);
        else if (auto read = dyn_cast<ReadOp>(op))
          reads.add(read, b);
        // Other rows are built when they are needed.
      });
}

LogicalResult Unroller::run() {
  if (failed(verifyRows(role)))
    return failure();
  hoistAcquires(role);
  hoistReleases(role);
  auto allocate = [&](Value value) { columns.allocate(value); };
  role.walk([&](Operation *op) { llvm::for_each(op->getResults(), allocate); });
  role.walk(
      [&](Block *block) { llvm::for_each(block->getArguments(), allocate); });
  if (failed(rebuildBody(role.getBody())))
    return failure();
  // Pairs were built in advance.
  eraseDead(role.getBody().front());
  return success();
}

namespace {
struct TileUnroll : public fa4::tile::impl::TileUnrollBase<TileUnroll> {
  using TileUnrollBase::TileUnrollBase;

  void runOnOperation() override {
    if (fragment < 2 || fragment % 2) {
      getOperation()->emitError("tile-unroll: fragment must be a positive even "
                                "number of columns, not ")
          << fragment.getValue();
      return signalPassFailure();
    }
    KernelOp kernel = getOperation();
    llvm::DenseMap<Value, unsigned> bufferOf = numberBuffers(kernel);
    llvm::DenseSet<Value> asyncReads = findAsyncReads(kernel);
    llvm::DenseSet<unsigned> usedAgain = findBuffersUsedAgain(kernel, bufferOf);
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      if (!role.getLayout())
        continue;
      RowPressure pressure = findRowPressure(role);
      auto chooseFragment = [=](Operation *within) {
        return fragmentOf(role, within, pressure);
      };
      if (failed(Unroller(role, chooseFragment, loopFrom(role),
                          /*readsAhead=*/pressure.held != 0, bufferOf,
                          asyncReads, usedAgain)
                     .run()))
        return signalPassFailure();
    }
  }

  /// From how many instructions on arithmetic becomes a loop. A loop is a
  /// branch, over which ptxas keeps no MMA of lanes under way.
  int64_t loopFrom(RoleOp role) {
    return role.startsMmas() ? std::numeric_limits<int64_t>::max()
                             : int64_t(loopInstructions);
  }

  /// Registers of a row that is held beside the fragment of a loop over pairs:
  /// the products of probabilities and derivatives, for example.
  static constexpr uint64_t kHeldByLoops = 128;

  /// The largest fragment with which `within`, the role or a loop of it, has
  /// enough registers, half of the pass's or a quarter of it if necessary. Two
  /// fragments are in flight: one is read while the other one is worked on.
  int64_t fragmentOf(RoleOp role, Operation *within,
                     const RowPressure &pressure) {
    if (!role.getRegisters())
      return fragment;
    uint64_t registers = *role.getRegisters();
    // A loop over pairs works on few of them at a time. Of the rows that count
    // as held, those that are read in front of a wait are in shared memory.
    if (hasLongArithmetic(role, loopFrom(role))) {
      uint64_t held = std::min<uint64_t>(pressure.held, kHeldByLoops);
      bool fits = held + 2 * fragment + kRegisterSlack <= registers;
      return fits || fragment % 4 ? int64_t(fragment) : fragment / 2;
    }
    if (registers < uint64_t(2 * fragment) + kRegisterSlack)
      return fragment % 4 == 0 ? fragment / 2 : int64_t(fragment);
    int64_t columns = fragment;
    // Beside a column, its integers take registers, and so does the address of
    // an element of a table, which has 64 bits.
    if (columns % 4 == 0 &&
        (hasUniformIntegers(role, within) || fa4::containsOp<GatherOp>(within)))
      columns /= 2;
    while (columns % 4 == 0 && 4 * columns > fragment &&
           pressure.getRegisters(columns) + kRegisterSlack > registers)
      columns /= 2;
    return columns;
  }
};
} // namespace
