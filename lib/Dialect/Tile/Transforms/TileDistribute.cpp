//===- TileDistribute.cpp - from tiles to one thread's part of them ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EraseDead.h"
#include "LaneReads.h"
#include "StructuredRewrite.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Dialect/Tile/Protocol/ProtocolVerifier.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fa4::tile {
#define GEN_PASS_DEF_TILEDISTRIBUTE
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;

namespace {
/// Rewrites the body of one role: channels, memory and control flow. Values are
/// those of LaneValues.
class Distributor : public StructuredRewrite {
public:
  Distributor(RoleOp role, LaneLayouts layouts,
              const llvm::DenseMap<Value, unsigned> &bufferOf,
              const DenseSet<Value> &asyncReads)
      : role(role), values(role, std::move(layouts), scalars),
        reads(role, values, bufferOf), asyncReads(asyncReads) {}

  LogicalResult run();

private:
  // A stage that only MMAs read stays a tile.
  void appendTypes(Value tile, SmallVectorImpl<Type> &types) override {
    if (getHome(tile) == ValueHome::Place)
      types.push_back(tile.getType());
    else
      types.append(values.getNumParts(tile), values.getPartType(tile));
  }
  void appendValues(Value tile, Value target, OpBuilder &b,
                    SmallVectorImpl<Value> &parts) override {
    if (getHome(tile) == ValueHome::Place)
      parts.push_back(scalars.lookupOrDefault(tile));
    else
      llvm::append_range(parts, values.getPartsFor(tile, target, b));
  }
  void setValues(Value tile, ValueRange parts) override {
    if (getHome(tile) == ValueHome::Place)
      scalars.map(tile, parts.front());
    else
      values.setParts(tile, parts);
  }
  LogicalResult lower(Operation &op, OpBuilder &b) override;
  void beginYield(Operation &yield, OpBuilder &b) override {
    reads.readUsed(yield, b);
  }

  LogicalResult requireOwnedRows(Operation *op, Value rowValue);
  LogicalResult requireOneRow(WaitOp op);
  Value joinParts(Value tile, OpBuilder &b);
  LogicalResult lowerMma(MmaOp op, OpBuilder &b);
  LogicalResult lowerAwait(AwaitOp op, OpBuilder &b);
  LogicalResult lowerSelect(arith::SelectOp op, OpBuilder &b);
  LogicalResult lowerWait(WaitOp op, OpBuilder &b);
  LogicalResult lowerCommit(CommitOp op, OpBuilder &b);
  LogicalResult lowerRescale(RescaleOp op, OpBuilder &b);
  LogicalResult lowerStore(StoreOp op, OpBuilder &b);
  LogicalResult lowerLoadRows(LoadRowsOp op, OpBuilder &b);
  void commitRescaled(CommitOp commit, RescaleOp rescale, OpBuilder &b);
  void commitWritten(CommitOp commit, OpBuilder &b);
  Value rowsToScale(RescaleOp op, OpBuilder &b);
  bool mayBeInitial(WaitOp wait);
  LogicalResult checkInitialValues();
  Value isPastInitial(WaitOp wait, OpBuilder &b);

  RoleOp role;
  LaneValues values;
  LaneReads reads;
  /// The channels that MMAs or TMA stores read.
  const DenseSet<Value> &asyncReads;
};
} // namespace

/// Checks that threads can access a value for each row in memory: each of them
/// takes the element of its own number.
LogicalResult Distributor::requireOwnedRows(Operation *op, Value rowValue) {
  auto type = cast<VectorType>(rowValue.getType());
  if (type.getRank() != 1)
    return success();
  const ValueLayout *layout = role.getLayoutOfRows(type.getNumElements());
  if (layout && layout->getOwnerMask() == 0)
    return success();
  return op->emitOpError("accesses a value for each of ")
         << type.getNumElements()
         << " rows, but the threads of the role do not own a row each";
}

/// Checks that a thread has one row of a tile which it is to read, or its
/// columns of one that all rows share.
LogicalResult Distributor::requireOneRow(WaitOp op) {
  if (role.getLayout()->getRowsPerThread() == 1 ||
      values.getLayout(op.getValue()) == LaneLayout::Columns)
    return success();
  return op.emitOpError("gives a tile that the threads of a '")
         << stringifyRoleKind(role.getKind())
         << "' role would read from memory: they compute with the results of "
            "their own MMAs only";
}

LogicalResult Distributor::lowerWait(WaitOp op, OpBuilder &b) {
  reads.readBuffer(op.getChannel(), *op, b);
  // A scalar, or a stage that only MMAs of the role read.
  if (op.getValue() && (!isa<VectorType>(op.getValue().getType()) ||
                        getHome(op.getValue()) == ValueHome::Place)) {
    b.clone(*op, scalars);
    return success();
  }
  WaitOp::create(b, op.getLoc(), /*value=*/Type(), op.getChannel());
  if (!op.getValue())
    return success();
  if (failed(requireOneRow(op)))
    return failure();
  Type part = values.getPartType(op.getValue());
  if (!isa<VectorType>(part) && !part.isF32() && !part.isBF16() &&
      !part.isF16() && !part.isInteger(32))
    return op.emitOpError("gives one ")
           << part << " a row; a thread reads rows of f32, bf16, f16 or i32";
  if (values.getLayout(op.getValue()) == LaneLayout::Rows &&
      failed(requireOwnedRows(op, op.getValue())))
    return failure();
  reads.add(op, b);
  return success();
}

Value Distributor::rowsToScale(RescaleOp op, OpBuilder &b) {
  Location loc = op.getLoc();
  Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1.0));
  Value any;
  for (Value factor : values.getParts(op.getFactor(), LaneLayout::Rows)) {
    Value differs =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, factor, one);
    any =
        any ? arith::OrIOp::create(b, loc, any, differs).getResult() : differs;
  }
  return AnyOp::create(b, loc, b.getI1Type(), any);
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
  return fa4::checkEach(role, [&](WaitOp wait) -> LogicalResult {
    if (!wait.getValue() || !mayBeInitial(wait))
      return success();
    for (Operation *user : wait.getValue().getUsers())
      if (user->getBlock() == wait->getBlock() && !reads.isInPlace(user))
        return user->emitOpError("uses the first value of channel \"")
               << wait.getChannel().getDefiningOp<ChannelOp>().getLabel()
               << "\", which nobody has written: only a tile.rescale that is "
                  "committed in the value's place leaves it alone";
    return success();
  });
}

/// Builds a condition that is true if the value of `wait` has been committed.
/// Returns null if the wait is in no loop, or never gives an initial value.
Value Distributor::isPastInitial(WaitOp wait, OpBuilder &b) {
  if (!mayBeInitial(wait))
    return {};
  // The first wait runs for the first time in the first pass of all loops
  // around it.
  Location loc = wait.getLoc();
  Value past;
  for (auto loop = wait->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    Value later = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                        values.get(loop.getInductionVar()),
                                        values.get(loop.getLowerBound()));
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
  if (reads.isUnread(rescale.getValue()))
    reads.read(wait, then);
  Value factor = values.getParts(rescale.getFactor(), LaneLayout::Rows).front();
  Value scaled =
      scaleRow(then, loc, values.getParts(rescale.getValue()).front(), factor);
  WriteOp::create(then, commit.getLoc(), scaled, commit.getChannel(),
                  /*column=*/0);
  commitWritten(commit, b);
}

/// The least number of elements of a thread from which on a branch around their
/// products is worth its vote. Measured on an H100 in FlashAttention-4's loop:
/// 1.3% to 1.6% less time with 64 elements, 1.5% with 128, 0.4% to 0.8% more
/// with 32.
static constexpr int64_t kBranchElements = 48;

LogicalResult Distributor::lowerRescale(RescaleOp op, OpBuilder &b) {
  // Skipping the product saves memory traffic. In registers the product of a
  // few elements is as quick as the branch around it.
  if (reads.isInPlace(op))
    return success();
  Location loc = op.getLoc();
  auto scale = [&](OpBuilder &b) {
    SmallVector<Value> scaled;
    for (auto [row, factor] :
         llvm::zip_equal(values.getParts(op.getValue()),
                         values.getParts(op.getFactor(), LaneLayout::Rows)))
      scaled.push_back(scaleRow(b, loc, row, factor));
    return scaled;
  };
  VectorType type = op.getResult().getType();
  if (!role.startsMmas() ||
      role.getLayout()->getNumElements(type.getDimSize(1)) < kBranchElements) {
    values.setParts(op.getResult(), scale(b));
    return success();
  }
  ArrayRef<Value> old = values.getParts(op.getValue());
  auto branch =
      scf::IfOp::create(b, loc, ValueRange(old).getTypes(), rowsToScale(op, b),
                        /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder then = branch.getThenBodyBuilder(),
            other = branch.getElseBodyBuilder();
  scf::YieldOp::create(then, loc, scale(then));
  scf::YieldOp::create(other, loc, old);
  values.setParts(op.getResult(), branch.getResults());
  return success();
}

LogicalResult Distributor::lowerCommit(CommitOp op, OpBuilder &b) {
  Value value = op.getValue();
  if (value)
    if (auto rescale = value.getDefiningOp<RescaleOp>();
        rescale && reads.isInPlace(rescale)) {
      commitRescaled(op, rescale, b);
      return success();
    }
  reads.readBuffer(op.getChannel(), *op, b);
  if (value && !isa<VectorType>(value.getType())) {
    b.clone(*op, scalars);
    return success();
  }
  if (value) {
    if (values.getLayout(value) == LaneLayout::Columns &&
        !LaneLayouts::isFree(value))
      return op.emitOpError("commits a tile that each thread holds as a whole; "
                            "a channel takes one row a thread");
    if (failed(requireOwnedRows(op, value)))
      return failure();
    ArrayRef<Value> rows = values.getParts(value, LaneLayout::Rows);
    WriteOp::create(b, op.getLoc(),
                    rows.size() == 1 ? rows.front() : joinParts(value, b),
                    op.getChannel(), /*column=*/0);
  }
  commitWritten(op, b);
  return success();
}

/// Returns a tile of lanes as an operand of an operation on tiles.
Value Distributor::joinParts(Value tile, OpBuilder &b) {
  return FromLanesOp::create(b, tile.getLoc(), tile.getType(),
                             values.getParts(tile, LaneLayout::Rows));
}

/// Lowers an MMA that the lanes of the role start. Operands in stages stay as
/// they are.
LogicalResult Distributor::lowerMma(MmaOp op, OpBuilder &b) {
  IRMapping operands = scalars;
  for (Value operand : {Value(op.getA()), Value(op.getAcc())})
    if (operand && getHome(operand) == ValueHome::Fragment)
      operands.map(operand, joinParts(operand, b));
  if (getHome(op.getB()) == ValueHome::Fragment)
    return op.emitOpError("has a B in registers; an MMA reads it from shared "
                          "memory");
  scalars.map(op.getResult(), b.clone(*op, operands)->getResult(0));
  return success();
}

LogicalResult Distributor::lowerAwait(AwaitOp op, OpBuilder &b) {
  auto await = AwaitOp::create(b, op.getLoc(), values.get(op.getPending()));
  SmallVector<Type> types(values.getNumParts(op.getResult()),
                          values.getPartType(op.getResult()));
  values.setParts(
      op.getResult(),
      ToLanesOp::create(b, op.getLoc(), types, await.getResult()).getParts());
  return success();
}

/// Lowers a store of a value for each row. Of the threads that hold copies of a
/// row's value, its owner stores it.
LogicalResult Distributor::lowerStore(StoreOp op, OpBuilder &b) {
  if (op.getTile().getType().getRank() != 1)
    return op.emitOpError("stores a matrix from the registers of role '")
           << role.getSymName()
           << "'; commit it to a channel, whose consumer stores it";
  SmallVector<Value> indices = llvm::map_to_vector(
      op.getIndices(), [&](Value index) { return values.get(index); });
  Value to = op.getTo() ? values.get(op.getTo()) : Value();
  ArrayRef<Value> parts = values.getParts(op.getTile(), LaneLayout::Rows);
  if (parts.size() == 1 && failed(requireOwnedRows(op, op.getTile())))
    return failure();
  PutOp::create(b, op.getLoc(), parts.front(), op.getDest(), indices, to,
                parts.drop_front(), op.getTileDims().front());
  return success();
}

/// Lowers a load of rows: each thread reads the element of its row, or the
/// single element of all rows.
LogicalResult Distributor::lowerLoadRows(LoadRowsOp op, OpBuilder &b) {
  VectorType type = op.getTile().getType();
  SmallVector<Value> first = llvm::map_to_vector(
      op.getIndices(), [&](Value index) { return values.get(index); });
  SmallVector<Value> elements;
  for (unsigned part = 0; part < values.getNumParts(op.getTile()); ++part) {
    SmallVector<Value> indices = first;
    for (int64_t dim : op.getTileDims()) {
      Value row = values.getRow(op.getLoc(), type.getNumElements(), part, b);
      indices[dim] = arith::AddIOp::create(b, op.getLoc(), indices[dim], row);
    }
    elements.push_back(LoadScalarOp::create(
        b, op.getLoc(), type.getElementType(), op.getSource(), indices));
  }
  values.setParts(op.getTile(), elements);
  return success();
}

/// Lowers a selection between tiles. If one of them is still to be read, it
/// becomes a branch that reads this tile only where it is taken.
LogicalResult Distributor::lowerSelect(arith::SelectOp op, OpBuilder &b) {
  if (!reads.isUnread(op.getTrueValue()) && !reads.isUnread(op.getFalseValue()))
    return values.lowerElementwise(op, b);
  Value result = op.getResult();
  auto branch =
      scf::IfOp::create(b, op.getLoc(), TypeRange{values.getPartType(result)},
                        values.get(op.getCondition()),
                        /*addThenBlock=*/true,
                        /*addElseBlock=*/true);
  auto give = [&](Value value, OpBuilder side) {
    if (reads.isUnread(value))
      reads.read(value.getDefiningOp<WaitOp>(), side);
    scf::YieldOp::create(side, op.getLoc(),
                         values.getParts(value, values.getLayout(result)));
  };
  give(op.getTrueValue(), branch.getThenBodyBuilder());
  give(op.getFalseValue(), branch.getElseBodyBuilder());
  values.setParts(result, branch.getResults());
  return success();
}

static bool hasTiles(Operation &op) {
  auto isTile = llvm::IsaPred<VectorType>;
  return llvm::any_of(op.getOperandTypes(), isTile) ||
         llvm::any_of(op.getResultTypes(), isTile);
}

LogicalResult Distributor::lower(Operation &op, OpBuilder &b) {
  reads.readUsed(op, b);
  values.combineSums(op, b);
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](WaitOp op) { return lowerWait(op, b); })
      .Case([&](CommitOp op) { return lowerCommit(op, b); })
      .Case<AcquireOp, ReleaseOp>([&](auto op) {
        reads.readBuffer(op.getChannel(), *op, b);
        b.clone(*op, scalars);
        return success();
      })
      .Case([&](RescaleOp op) { return lowerRescale(op, b); })
      // A copy needs no operation: lanes read the value and write it elsewhere.
      .Case([&](CopyOp op) {
        SmallVector<Value> parts(values.getParts(op.getValue()));
        values.setParts(op.getResult(), parts);
        return success();
      })
      .Case([&](MmaOp op) { return lowerMma(op, b); })
      .Case([&](AwaitOp op) { return lowerAwait(op, b); })
      .Case([&](StoreOp op) { return lowerStore(op, b); })
      .Case([&](LoadRowsOp op) { return lowerLoadRows(op, b); })
      .Case<scf::ForOp, scf::IfOp, WorkOp>(
          [&](auto op) { return rebuild(op, b); })
      .Default([&](Operation *op) -> LogicalResult {
        bool isOfPlace =
            isView(op) && getHome(op->getOperand(0)) == ValueHome::Place;
        if (op->getNumRegions() == 0 && (!hasTiles(*op) || isOfPlace)) {
          b.clone(*op, scalars);
          return success();
        }
        if (auto select = dyn_cast<arith::SelectOp>(op))
          return lowerSelect(select, b);
        return values.lower(op, b);
      });
}

LogicalResult Distributor::run() {
  if (failed(checkInitialValues()) || failed(rebuildBody(role.getBody())))
    return failure();
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
