//===- TileDistribute.cpp - from tiles to one thread's part of them ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EraseDead.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/LaneLayout.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEDISTRIBUTE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

namespace {
/// Rewrites the body of one role. The new body is built next to the old one,
/// which is then dropped.
class Distributor {
public:
  Distributor(RoleOp role, LaneLayouts layouts,
              const llvm::DenseMap<Value, unsigned> &bufferOf,
              const DenseSet<Value> &asyncReads)
      : role(role), layouts(std::move(layouts)), bufferOf(bufferOf),
        asyncReads(asyncReads) {}

  LogicalResult run();

private:
  Type laneType(Value value) const {
    return laneType(value, layouts.get(value));
  }
  Type laneType(Value value, LaneLayout layout) const;
  /// Returns the part of `value` that one thread has. For a value that is free
  /// in any layout, `layout` chooses the form.
  Value lane(Value value, LaneLayout layout);
  Value lane(Value value);
  void setLane(Value value, Value to) { map.map(value, to); }

  LogicalResult lowerBlock(Block &block, OpBuilder &b);
  LogicalResult lower(Operation &op, OpBuilder &b);
  LogicalResult lowerFor(scf::ForOp op, OpBuilder &b);
  LogicalResult lowerWork(WorkOp op, OpBuilder &b);
  LogicalResult lowerIf(scf::IfOp op, OpBuilder &b);
  LogicalResult lowerBranch(Region &from, Region &to, ValueRange results);
  LogicalResult lowerConstant(arith::ConstantOp op, OpBuilder &b);
  void lowerStep(vector::StepOp op, OpBuilder &b);
  LogicalResult lowerBroadcast(vector::BroadcastOp op, OpBuilder &b);
  LogicalResult lowerShapeCast(vector::ShapeCastOp op);
  LogicalResult lowerSlice(vector::ExtractStridedSliceOp op, OpBuilder &b);
  LogicalResult lowerReduction(vector::MultiDimReductionOp op, OpBuilder &b);
  LogicalResult lowerElementwise(Operation &op, OpBuilder &b);
  LogicalResult lowerSelect(arith::SelectOp op, OpBuilder &b);
  LogicalResult lowerWait(WaitOp op, OpBuilder &b);
  LogicalResult lowerCommit(CommitOp op, OpBuilder &b);
  LogicalResult lowerRescale(RescaleOp op, OpBuilder &b);
  LogicalResult lowerStore(StoreOp op, OpBuilder &b);
  void lowerLoadRows(LoadRowsOp op, OpBuilder &b);
  void commitRescaled(CommitOp commit, RescaleOp rescale, OpBuilder &b);
  void commitWritten(CommitOp commit, OpBuilder &b);
  Value rowsToScale(RescaleOp op, OpBuilder &b);
  bool mayBeInitial(WaitOp wait);
  LogicalResult checkInitialValues();
  Value isPastInitial(WaitOp wait, OpBuilder &b);

  void read(WaitOp wait, OpBuilder &b);
  void readForUses(WaitOp wait, Operation &at, OpBuilder &b);
  Value isNeeded(WaitOp wait, Operation &at, OpBuilder &b);
  void readUsed(Operation &op, OpBuilder &b);
  void readBuffer(Value channel, Operation &at, OpBuilder &b);

  RoleOp role;
  LaneLayouts layouts;
  const llvm::DenseMap<Value, unsigned> &bufferOf;
  /// The channels that MMAs or TMA stores read.
  const DenseSet<Value> &asyncReads;
  /// Map old values to the part that a thread has. For values that are free in
  /// any layout, `map` has the form for `Rows` and `whole` the form for
  /// `Whole`.
  IRMapping map, whole;
  /// The waits whose values have not been read yet, in program order.
  llvm::SmallSetVector<WaitOp, 4> unread;
  /// The rescalings that are done in place, at the commit of their result.
  llvm::DenseSet<Operation *> inPlace;
};
} // namespace

Type Distributor::laneType(Value value, LaneLayout layout) const {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return value.getType();
  if (layout == LaneLayout::Rows)
    return layouts.getPart(type);
  return VectorType::get({type.getShape().back()}, type.getElementType());
}

Value Distributor::lane(Value value, LaneLayout layout) {
  if (layout == LaneLayout::Whole && LaneLayouts::isFree(value))
    return whole.lookup(value);
  return map.lookupOrDefault(value);
}

Value Distributor::lane(Value value) {
  if (!isa<VectorType>(value.getType()))
    return map.lookupOrDefault(value);
  return lane(value, layouts.get(value));
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

void Distributor::read(WaitOp wait, OpBuilder &b) {
  unread.remove(wait);
  Value value = wait.getValue();
  bool all = layouts.get(value) == LaneLayout::Whole;
  setLane(value, ReadOp::create(b, wait.getLoc(), laneType(value),
                                wait.getChannel(), /*column=*/0, all));
}

/// A condition, and whether it must be true or false.
using Side = std::pair<Value, bool>;

/// Returns what must hold for the operations of `block`, and of the regions in
/// it, to need the used value: the branches that the use is in are taken, and a
/// selection takes the value. Empty if the value is needed always.
static SmallVector<Side> getSides(OpOperand &use, Block *block) {
  SmallVector<Side> sides;
  Operation *op = use.getOwner();
  if (auto select = dyn_cast<arith::SelectOp>(op);
      select && !isa<VectorType>(select.getCondition().getType()) &&
      select.getTrueValue() != select.getFalseValue())
    sides.emplace_back(select.getCondition(), use.getOperandNumber() == 1);
  for (; op->getBlock() != block; op = op->getParentOp())
    if (auto branch = dyn_cast<scf::IfOp>(op->getParentOp()))
      sides.emplace_back(branch.getCondition(),
                         op->getParentRegion() == &branch.getThenRegion());
  return sides;
}

/// Returns true if the value is in tensor memory and each use of it is in one
/// side of a branch or of a selection. If none of these sides is taken, there
/// may be nothing to read: tensor memory is undefined until an MMA has written
/// it, and a loop of MMAs may make no pass. Shared memory has no such case: it
/// is written before each commit.
static bool isConditional(WaitOp wait) {
  if (wait.getChannel().getDefiningOp<ChannelOp>().getSpace() !=
      MemorySpace::tmem)
    return false;
  return llvm::none_of(wait.getValue().getUses(), [&](OpOperand &use) {
    return getSides(use, wait->getBlock()).empty();
  });
}

/// Returns true if one side of `op`, a branch or a selection, uses the value,
/// and nothing else does. The value is then read in this side.
static bool isForOneSide(Operation &op, Value value) {
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return value.hasOneUse() &&
           !isa<VectorType>(select.getCondition().getType());
  if (!isa<scf::IfOp>(op))
    return false;
  return llvm::any_of(op.getRegions(), [&](Region &branch) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return branch.isAncestor(user->getParentRegion());
    });
  });
}

/// Builds the condition under which `at` or an operation behind it needs the
/// value. Returns null if one of them needs it always, or if a condition is not
/// computed yet.
Value Distributor::isNeeded(WaitOp wait, Operation &at, OpBuilder &b) {
  if (!isConditional(wait))
    return {};
  SmallVector<Side> seen;
  Value needed;
  for (OpOperand &use : wait.getValue().getUses()) {
    Operation *ancestor = at.getBlock()->findAncestorOpInBlock(*use.getOwner());
    if (!ancestor)
      return {};
    if (ancestor->isBeforeInBlock(&at))
      continue;
    SmallVector<Side> sides = getSides(use, at.getBlock());
    llvm::erase_if(sides, [&](Side side) {
      return !map.contains(side.first) &&
             role->isAncestor(side.first.getParentRegion()->getParentOp());
    });
    if (sides.empty())
      return {};
    if (sides.size() == 1) {
      Side side = sides.front();
      if (llvm::is_contained(seen, Side(side.first, !side.second)))
        return {};
      if (llvm::is_contained(seen, side))
        continue;
      seen.push_back(side);
    }
    Value all;
    for (auto [condition, isTrue] : sides) {
      Value holds = lane(condition);
      if (!isTrue)
        holds = arith::XOrIOp::create(
            b, wait.getLoc(), holds,
            arith::ConstantIntOp::create(b, wait.getLoc(), 1, 1));
      all =
          all ? arith::AndIOp::create(b, wait.getLoc(), all, holds).getResult()
              : holds;
    }
    needed =
        needed ? arith::OrIOp::create(b, wait.getLoc(), needed, all).getResult()
               : all;
  }
  return needed;
}

/// Reads a value if `at` or an operation behind it needs it. Otherwise zeros
/// stand for the value.
void Distributor::readForUses(WaitOp wait, Operation &at, OpBuilder &b) {
  Value needed = isNeeded(wait, at, b);
  if (!needed)
    return read(wait, b);
  Value value = wait.getValue();
  auto branch = scf::IfOp::create(b, wait.getLoc(), TypeRange{laneType(value)},
                                  needed, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder then = branch.getThenBodyBuilder(),
            other = branch.getElseBodyBuilder();
  read(wait, then);
  scf::YieldOp::create(then, wait.getLoc(), lane(value));
  Value zero = arith::ConstantOp::create(other, wait.getLoc(),
                                         b.getZeroAttr(laneType(value)));
  scf::YieldOp::create(other, wait.getLoc(), zero);
  setLane(value, branch.getResult(0));
}

/// Reads the waited values that `op` or its regions use, and the values whose
/// stage `op` gives away.
void Distributor::readUsed(Operation &op, OpBuilder &b) {
  SmallVector<WaitOp> pending(unread.begin(), unread.end());
  for (WaitOp wait : pending) {
    bool used = llvm::any_of(wait.getValue().getUsers(), [&](Operation *user) {
      return op.isAncestor(user) && !inPlace.contains(user);
    });
    if (used && !isForOneSide(op, wait.getValue()))
      readForUses(wait, op, b);
  }
  if (op.getNumRegions())
    op.walk([&](Operation *inner) {
      if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(inner))
        readBuffer(inner->getOperand(0), op, b);
    });
}

/// Reads the values in the buffer of `channel`, because `at` is about to change
/// the buffer's owner.
void Distributor::readBuffer(Value channel, Operation &at, OpBuilder &b) {
  unsigned buffer = bufferOf.lookup(channel);
  SmallVector<WaitOp> pending(unread.begin(), unread.end());
  for (WaitOp wait : pending)
    if (bufferOf.lookup(wait.getChannel()) == buffer &&
        !wait.getValue().use_empty())
      readForUses(wait, at, b);
}

LogicalResult Distributor::lowerWait(WaitOp op, OpBuilder &b) {
  readBuffer(op.getChannel(), *op, b);
  if (op.getValue() && !isa<VectorType>(op.getValue().getType())) {
    b.clone(*op, map);
    return success();
  }
  WaitOp::create(b, op.getLoc(), /*value=*/Type(), op.getChannel());
  if (!op.getValue())
    return success();
  Type part = laneType(op.getValue());
  if (!isa<VectorType>(part) && !part.isF32() && !part.isBF16() &&
      !part.isF16() && !part.isInteger(32))
    return op.emitOpError("gives one ")
           << part << " a row; a thread reads rows of f32, bf16, f16 or i32";
  unread.insert(op);
  // A single element is read early: that costs no registers and hides the
  // latency of the read.
  if (isa<FloatType, IntegerType, IndexType>(laneType(op.getValue())) &&
      !op.getValue().use_empty() && !isConditional(op))
    read(op, b);
  return success();
}

Value Distributor::rowsToScale(RescaleOp op, OpBuilder &b) {
  Location loc = op.getLoc();
  Value factor = lane(op.getFactor(), LaneLayout::Rows);
  Value one =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(factor.getType(), 1.0));
  Value differs =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, factor, one);
  return AnyOp::create(b, loc, b.getI1Type(), differs);
}

static Value scaleRow(OpBuilder &b, Location loc, Value row, Value factor) {
  if (row.getType() != factor.getType())
    factor = vector::BroadcastOp::create(b, loc, row.getType(), factor);
  return arith::MulFOp::create(b, loc, row, factor);
}

/// Commits values that lanes have written. If asynchronous operations read
/// them, a fence comes first, because these read shared memory through another
/// proxy.
void Distributor::commitWritten(CommitOp commit, OpBuilder &b) {
  Value channel = commit.getChannel();
  if (channel.getDefiningOp<ChannelOp>().getSpace() == MemorySpace::smem &&
      asyncReads.contains(channel))
    FenceOp::create(b, commit.getLoc());
  CommitOp::create(b, commit.getLoc(), channel, /*value=*/Value());
}

/// Returns true if the wait may give an initial value of its channel, which is
/// undefined.
bool Distributor::mayBeInitial(WaitOp wait) {
  auto channel = wait.getChannel().getDefiningOp<ChannelOp>();
  if (!channel.getInitial().value_or(0))
    return false;
  WaitOp first;
  role.walk([&](WaitOp other) {
    if (!first && other.getChannel() == wait.getChannel())
      first = other;
  });
  return first == wait;
}

/// Checks that lanes leave undefined values alone. They may only be rescaled in
/// their place, where the first pass is left out, or be used in a branch.
LogicalResult Distributor::checkInitialValues() {
  WalkResult result = role.walk([&](WaitOp wait) -> WalkResult {
    if (!wait.getValue() || !mayBeInitial(wait))
      return WalkResult::advance();
    for (Operation *user : wait.getValue().getUsers())
      if (user->getBlock() == wait->getBlock() && !inPlace.contains(user))
        return user->emitOpError("uses the first value of channel \"")
               << wait.getChannel().getDefiningOp<ChannelOp>().getLabel()
               << "\", which nobody has written: only a tile.rescale that is "
                  "committed in the value's place leaves it alone";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Builds a condition that is true if the value of `wait` has been committed.
/// Returns null if the wait is in no loop, or never gives an initial value.
Value Distributor::isPastInitial(WaitOp wait, OpBuilder &b) {
  if (!mayBeInitial(wait))
    return {};
  // The first wait runs for the first time in the first pass of all loops.
  Location loc = wait.getLoc();
  Value past;
  for (auto loop = wait->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    Value later = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                        lane(loop.getInductionVar()),
                                        lane(loop.getLowerBound()));
    past = past ? arith::OrIOp::create(b, loc, past, later).getResult() : later;
  }
  return past;
}

/// Commits a value that is rescaled in its own buffer. The buffer is only
/// touched if a row of the warp has a factor other than 1.
void Distributor::commitRescaled(CommitOp commit, RescaleOp rescale,
                                 OpBuilder &b) {
  Location loc = rescale.getLoc();
  auto wait = rescale.getValue().getDefiningOp<WaitOp>();
  Value any = rowsToScale(rescale, b);
  // An undefined value is not read, whatever the factor is.
  if (Value past = isPastInitial(wait, b))
    any = arith::AndIOp::create(b, loc, any, past);
  auto branch = scf::IfOp::create(b, loc, any);
  OpBuilder then = branch.getThenBodyBuilder();
  if (wait && unread.contains(wait))
    read(wait, then);
  Value factor = lane(rescale.getFactor(), LaneLayout::Rows);
  Value scaled = scaleRow(then, loc, lane(rescale.getValue()), factor);
  WriteOp::create(then, commit.getLoc(), scaled, commit.getChannel(),
                  /*column=*/0);
  commitWritten(commit, b);
}

LogicalResult Distributor::lowerRescale(RescaleOp op, OpBuilder &b) {
  // Skipping the product saves memory traffic. In registers the product is as
  // quick as the branch around it.
  if (!inPlace.contains(op))
    setLane(op.getResult(), scaleRow(b, op.getLoc(), lane(op.getValue()),
                                     lane(op.getFactor(), LaneLayout::Rows)));
  return success();
}

LogicalResult Distributor::lowerCommit(CommitOp op, OpBuilder &b) {
  Value value = op.getValue();
  if (value)
    if (auto rescale = value.getDefiningOp<RescaleOp>();
        rescale && inPlace.contains(rescale)) {
      commitRescaled(op, rescale, b);
      return success();
    }
  readBuffer(op.getChannel(), *op, b);
  if (value && !isa<VectorType>(value.getType())) {
    b.clone(*op, map);
    return success();
  }
  if (value) {
    if (layouts.get(value) == LaneLayout::Whole && !LaneLayouts::isFree(value))
      return op.emitOpError("commits a tile that each thread holds as a whole; "
                            "a channel takes one row a thread");
    WriteOp::create(b, op.getLoc(), lane(value, LaneLayout::Rows),
                    op.getChannel(), /*column=*/0);
  }
  commitWritten(op, b);
  return success();
}

LogicalResult Distributor::lowerStore(StoreOp op, OpBuilder &b) {
  if (op.getTile().getType().getRank() != 1)
    return op.emitOpError("stores a matrix from the registers of role '")
           << role.getSymName()
           << "'; commit it to a channel, whose consumer stores it";
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(lane(index));
  Value to = op.getTo() ? lane(op.getTo()) : Value();
  PutOp::create(b, op.getLoc(), lane(op.getTile(), LaneLayout::Rows),
                op.getDest(), indices, to, op.getTileDims().front());
  return success();
}

/// Lowers a load of rows: each thread reads the element of its row, or the
/// single element of all rows.
void Distributor::lowerLoadRows(LoadRowsOp op, OpBuilder &b) {
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(lane(index));
  for (int64_t dim : op.getTileDims()) {
    Value row = RowOp::create(b, op.getLoc(), b.getIndexType());
    indices[dim] = arith::AddIOp::create(b, op.getLoc(), indices[dim], row);
  }
  setLane(op.getTile(),
          LoadScalarOp::create(b, op.getLoc(),
                               op.getTile().getType().getElementType(),
                               op.getSource(), indices));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

LogicalResult Distributor::lowerConstant(arith::ConstantOp op, OpBuilder &b) {
  auto type = dyn_cast<VectorType>(op.getType());
  if (!type) {
    b.clone(*op, map);
    return success();
  }
  auto build = [&](TypedAttr attr) -> Value {
    return arith::ConstantOp::create(b, op.getLoc(), attr);
  };
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  LaneLayout layout = layouts.get(op);
  if (!splat) {
    if (layout == LaneLayout::Rows)
      return op.emitOpError("differs from row to row, but all threads of a "
                            "role run the same code");
    setLane(op, build(cast<DenseElementsAttr>(op.getValue())
                          .reshape(cast<VectorType>(laneType(op)))));
    return success();
  }
  auto element = cast<TypedAttr>(splat.getSplatValue<Attribute>());
  auto inLayout = [&](LaneLayout layout) {
    auto vector = dyn_cast<VectorType>(laneType(op, layout));
    return build(vector ? DenseElementsAttr::get(vector, Attribute(element))
                        : element);
  };
  if (LaneLayouts::isFree(op)) {
    map.map(op.getResult(), inLayout(LaneLayout::Rows));
    whole.map(op.getResult(), inLayout(LaneLayout::Whole));
  } else {
    setLane(op, inLayout(layout));
  }
  return success();
}

void Distributor::lowerStep(vector::StepOp op, OpBuilder &b) {
  map.map(op.getResult(),
          RowOp::create(b, op.getLoc(), b.getIndexType()).getResult());
  whole.map(op.getResult(),
            vector::StepOp::create(b, op.getLoc(), op.getType()).getResult());
}

LogicalResult Distributor::lowerBroadcast(vector::BroadcastOp op,
                                          OpBuilder &b) {
  auto toVector = [&](Value from, Type type) -> Value {
    if (from.getType() == type)
      return from;
    return vector::BroadcastOp::create(b, op.getLoc(), type, from);
  };
  if (LaneLayouts::isFree(op.getResult())) {
    Value scalar = lane(op.getSource());
    map.map(op.getResult(), scalar);
    whole.map(op.getResult(), toVector(scalar, op.getType()));
    return success();
  }
  bool vector = isa<VectorType>(op.getSource().getType()) &&
                cast<VectorType>(op.getSource().getType()).getRank() == 1;
  Value source =
      vector ? lane(op.getSource(), LaneLayout::Whole) : lane(op.getSource());
  Type part = laneType(op.getResult());
  if (auto columns = dyn_cast<VectorType>(source.getType());
      columns && columns != part && columns.getNumElements() != 1)
    return op.emitOpError("gives all rows the same columns, but a thread holds "
                          "one half of a row, which of the two is known only "
                          "when it runs");
  setLane(op.getResult(), toVector(source, part));
  return success();
}

LogicalResult Distributor::lowerShapeCast(vector::ShapeCastOp op) {
  LaneLayout layout = layouts.get(op.getResult());
  if (op.getResult().getType().getRank() == 1 &&
      op.getSource().getType().getRank() == 2)
    layout = layouts.get(op.getSource());
  Value source = lane(op.getSource(), layout);
  VectorType from = op.getSourceVectorType(), to = op.getResultVectorType();
  bool keepsRows = std::min(from.getRank(), to.getRank()) == 1 ||
                   from.getDimSize(0) == to.getDimSize(0);
  if (!keepsRows || source.getType() != laneType(op.getResult(), layout))
    return op.emitOpError("moves elements from row to row, but each thread "
                          "holds its own");
  setLane(op.getResult(), source);
  return success();
}

LogicalResult Distributor::lowerSlice(vector::ExtractStridedSliceOp op,
                                      OpBuilder &b) {
  auto numbers = [](ArrayAttr attr) {
    return llvm::map_to_vector(attr.getAsRange<IntegerAttr>(),
                               [](IntegerAttr a) { return a.getInt(); });
  };
  SmallVector<int64_t> offsets = numbers(op.getOffsets()),
                       sizes = numbers(op.getSizes()),
                       strides = numbers(op.getStrides());
  VectorType type = op.getSourceVectorType();
  auto isWhole = [&](int64_t dim) {
    return dim >= static_cast<int64_t>(offsets.size()) ||
           (offsets[dim] == 0 && sizes[dim] == type.getDimSize(dim));
  };
  if (type.getRank() > 1 && !isWhole(0))
    return op.emitOpError("takes some of the rows, but each thread holds one");
  bool isHalved =
      type.getRank() > 1 && type.getDimSize(0) != 1 &&
      !getMatrixLayout(role->getParentOfType<KernelOp>(), type).hasWholeRows();
  if (isHalved && !isWhole(1))
    return op.emitOpError("takes some of the columns, but each thread holds "
                          "one half of a row");
  Value source = lane(op.getSource(), layouts.get(op.getResult()));
  if (static_cast<int64_t>(offsets.size()) < type.getRank() ||
      (isHalved && type.getRank() == 2))
    setLane(op.getResult(), source);
  else if (isa<VectorType>(laneType(op.getResult())))
    setLane(op.getResult(), vector::ExtractStridedSliceOp::create(
                                b, op.getLoc(), source, offsets.back(),
                                sizes.back(), strides.back()));
  else
    setLane(op.getResult(),
            vector::ExtractOp::create(b, op.getLoc(), source, offsets.back()));
  return success();
}

LogicalResult Distributor::lowerReduction(vector::MultiDimReductionOp op,
                                          OpBuilder &b) {
  if (op.getSourceVectorType().getRank() != 2 ||
      op.getReductionDims() != ArrayRef<int64_t>{1} ||
      layouts.get(op.getSource()) != LaneLayout::Rows)
    return op.emitOpError(
        "reduces over rows, which different threads hold; only reductions of a "
        "matrix over its columns ([1]) are supported");
  Value source = lane(op.getSource());
  Value acc = lane(op.getAcc(), LaneLayout::Rows);
  Value result;
  // A tile's reduction does not specify the order of its elements, so any order
  // is allowed here.
  if (isa<VectorType>(source.getType()))
    result = vector::ReductionOp::create(b, op.getLoc(), op.getKind(), source,
                                         acc, arith::FastMathFlags::reassoc);
  else
    result =
        vector::makeArithReduction(b, op.getLoc(), op.getKind(), acc, source);
  setLane(op.getDest(), result);
  return success();
}

//===----------------------------------------------------------------------===//
// Everything else
//===----------------------------------------------------------------------===//

LogicalResult Distributor::lowerElementwise(Operation &op, OpBuilder &b) {
  Value result = op.getResult(0);
  LaneLayout layout = layouts.get(result);
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(lane(operand, layout));
  Operation *copy = b.create(op.getLoc(), op.getName().getIdentifier(),
                             operands, laneType(result), op.getAttrs());
  setLane(result, copy->getResult(0));
  return success();
}

/// Lowers a selection between tiles. If one of them is still to be read, it
/// becomes a branch that reads this tile only where it is taken.
LogicalResult Distributor::lowerSelect(arith::SelectOp op, OpBuilder &b) {
  auto isUnread = [&](Value value) {
    auto wait = value.getDefiningOp<WaitOp>();
    return wait && unread.contains(wait);
  };
  if (!isUnread(op.getTrueValue()) && !isUnread(op.getFalseValue()))
    return lowerElementwise(*op, b);
  Value result = op.getResult();
  auto branch = scf::IfOp::create(b, op.getLoc(), TypeRange{laneType(result)},
                                  lane(op.getCondition()),
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  auto give = [&](Value value, OpBuilder side) {
    if (isUnread(value))
      read(value.getDefiningOp<WaitOp>(), side);
    scf::YieldOp::create(side, op.getLoc(), lane(value, layouts.get(result)));
  };
  give(op.getTrueValue(), branch.getThenBodyBuilder());
  give(op.getFalseValue(), branch.getElseBodyBuilder());
  setLane(result, branch.getResult(0));
  return success();
}

LogicalResult Distributor::lowerFor(scf::ForOp op, OpBuilder &b) {
  SmallVector<Value> inits;
  for (auto [init, arg] : llvm::zip(op.getInitArgs(), op.getRegionIterArgs()))
    inits.push_back(isa<VectorType>(arg.getType())
                        ? lane(init, layouts.get(arg))
                        : lane(init));
  auto loop =
      scf::ForOp::create(b, op.getLoc(), lane(op.getLowerBound()),
                         lane(op.getUpperBound()), lane(op.getStep()), inits);
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  setLane(op.getInductionVar(), loop.getInductionVar());
  for (auto [from, to] :
       llvm::zip(op.getRegionIterArgs(), loop.getRegionIterArgs()))
    setLane(from, to);
  // The builder has already made a terminator if the loop carries no values.
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  for (auto [from, to] : llvm::zip(op.getResults(), loop.getResults()))
    setLane(from, to);
  return lowerBranch(op.getRegion(), loop.getRegion(), op.getResults());
}

LogicalResult Distributor::lowerWork(WorkOp op, OpBuilder &b) {
  auto work = WorkOp::create(b, op.getLoc(), op.getCoordinates().size());
  for (auto [from, to] : llvm::zip(op.getCoordinates(), work.getCoordinates()))
    setLane(from, to);
  OpBuilder inside(work.getNext());
  if (failed(lowerBlock(op.getBody().front(), inside)))
    return failure();
  if (Value number = op.getNext().getNumber())
    work.getNext().getNumberMutable().assign(lane(number));
  return success();
}

LogicalResult Distributor::lowerIf(scf::IfOp op, OpBuilder &b) {
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.push_back(isa<VectorType>(result.getType()) ? laneType(result)
                                                      : result.getType());
  auto branch =
      scf::IfOp::create(b, op.getLoc(), types, lane(op.getCondition()),
                        /*addThenBlock=*/true,
                        /*addElseBlock=*/!op.getElseRegion().empty());
  for (auto [from, to] : llvm::zip(op.getResults(), branch.getResults()))
    setLane(from, to);
  for (auto [from, to] : llvm::zip(op->getRegions(), branch->getRegions())) {
    if (from.empty())
      continue;
    if (!to.front().empty())
      to.front().back().erase();
    if (failed(lowerBranch(from, to, op.getResults())))
      return failure();
  }
  return success();
}

/// Lowers a region that yields `results`.
LogicalResult Distributor::lowerBranch(Region &from, Region &to,
                                       ValueRange results) {
  OpBuilder b = OpBuilder::atBlockEnd(&to.front());
  if (failed(lowerBlock(from.front(), b)))
    return failure();
  Operation &yield = from.front().back();
  readUsed(yield, b);
  SmallVector<Value> values;
  for (auto [value, result] : llvm::zip(yield.getOperands(), results))
    values.push_back(isa<VectorType>(result.getType())
                         ? lane(value, layouts.get(result))
                         : lane(value));
  scf::YieldOp::create(b, yield.getLoc(), values);
  return success();
}

static bool hasTiles(Operation &op) {
  auto isTile = llvm::IsaPred<VectorType>;
  return llvm::any_of(op.getOperandTypes(), isTile) ||
         llvm::any_of(op.getResultTypes(), isTile);
}

LogicalResult Distributor::lower(Operation &op, OpBuilder &b) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](WaitOp op) { return lowerWait(op, b); })
      .Case([&](CommitOp op) { return lowerCommit(op, b); })
      .Case<AcquireOp, ReleaseOp>([&](auto op) {
        readBuffer(op.getChannel(), *op, b);
        b.clone(*op, map);
        return success();
      })
      .Case([&](RescaleOp op) { return lowerRescale(op, b); })
      // A copy needs no operation: lanes read the value and write it elsewhere.
      .Case([&](CopyOp op) {
        setLane(op.getResult(), lane(op.getValue()));
        return success();
      })
      .Case([&](StoreOp op) { return lowerStore(op, b); })
      .Case([&](scf::ForOp op) { return lowerFor(op, b); })
      .Case([&](scf::IfOp op) { return lowerIf(op, b); })
      .Case([&](WorkOp op) { return lowerWork(op, b); })
      .Case([&](arith::ConstantOp op) { return lowerConstant(op, b); })
      .Case([&](vector::StepOp op) {
        lowerStep(op, b);
        return success();
      })
      .Case([&](LoadRowsOp op) {
        lowerLoadRows(op, b);
        return success();
      })
      .Case([&](vector::BroadcastOp op) { return lowerBroadcast(op, b); })
      .Case([&](vector::ShapeCastOp op) { return lowerShapeCast(op); })
      .Case([&](vector::ExtractStridedSliceOp op) { return lowerSlice(op, b); })
      .Case(
          [&](vector::MultiDimReductionOp op) { return lowerReduction(op, b); })
      .Default([&](Operation *op) -> LogicalResult {
        if (op->getNumRegions() == 0 && !hasTiles(*op)) {
          b.clone(*op, map);
          return success();
        }
        if (auto select = dyn_cast<arith::SelectOp>(op))
          return lowerSelect(select, b);
        bool elementwise =
            OpTrait::hasElementwiseMappableTraits(op) || isa<Exp2Op>(op);
        if (elementwise && op->getNumResults() == 1)
          return lowerElementwise(*op, b);
        return op->emitOpError("is not supported on tiles held by the threads "
                               "of role '")
               << role.getSymName() << "'";
      });
}

LogicalResult Distributor::lowerBlock(Block &block, OpBuilder &b) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    readUsed(op, b);
    if (failed(lower(op, b)))
      return failure();
  }
  return success();
}

/// Collects rescalings of a waited value that can be done in place: their
/// result is only committed, in the same block and to the same buffer.
static void collectInPlace(RoleOp role,
                           const llvm::DenseMap<Value, unsigned> &bufferOf,
                           llvm::DenseSet<Operation *> &inPlace) {
  role.walk([&](RescaleOp op) {
    auto wait = op.getValue().getDefiningOp<WaitOp>();
    if (!wait || !op->hasOneUse())
      return;
    auto commit = dyn_cast<CommitOp>(*op->user_begin());
    if (commit && commit->getBlock() == op->getBlock() &&
        wait->getBlock() == op->getBlock() &&
        bufferOf.lookup(commit.getChannel()) ==
            bufferOf.lookup(wait.getChannel()))
      inPlace.insert(op);
  });
}

LogicalResult Distributor::run() {
  collectInPlace(role, bufferOf, inPlace);
  if (failed(checkInitialValues()))
    return failure();
  Block &old = role.getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(&role.getBody().emplaceBlock());
  if (failed(lowerBlock(old, b))) {
    role.getBody().back().erase();
    return failure();
  }
  old.dropAllReferences();
  old.erase();
  // Some values were built in two forms, of which one may be unused.
  eraseDead(role.getBody().front());
  return success();
}

namespace {
/// Rewrites the kernel's roles to the part of one thread.
LogicalResult distribute(KernelOp kernel) {
  llvm::DenseMap<Value, unsigned> bufferOf = numberBuffers(kernel);
  DenseSet<Value> asyncReads = findAsyncReads(kernel);
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    if (!role.getLayout())
      continue;
    // In other layouts a row value would be a vector, and a reduction would
    // have to combine lanes.
    assert(role.getLayout()->isRowPerThread(role.getContext()) &&
           "a kind of role has a layout that tile-distribute does not know");
    // Erased first, so that no value is read for operations that nothing uses.
    eraseDead(role.getBody().front());
    FailureOr<LaneLayouts> layouts = LaneLayouts::infer(role);
    if (failed(layouts) ||
        failed(Distributor(role, *layouts, bufferOf, asyncReads).run()))
      return failure();
  }
  return success();
}

struct TileDistribute
    : public fa4::tile::impl::TileDistributeBase<TileDistribute> {
  using TileDistributeBase::TileDistributeBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (failed(distribute(kernel)) ||
        (verify && failed(verifyProtocol(kernel))))
      signalPassFailure();
  }
};
} // namespace
