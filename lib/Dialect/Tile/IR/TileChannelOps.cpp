//===- TileChannelOps.cpp - roles, channels and lanes ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

void ChannelOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getChannel(), getLabel());
}

/// Checks that a number is so small that sums and products with it do not
/// overflow. The limit is far beyond any chip; the protocol's proof rejects
/// numbers that are negative or too large for the chip at hand.
static LogicalResult verifyRange(Operation *op, StringRef what,
                                 std::optional<uint64_t> number) {
  constexpr int64_t limit = 1 << 30;
  int64_t value = number.value_or(0);
  if (value > -limit && value < limit)
    return success();
  return op->emitOpError("has ") << what << "(" << value << "), not from "
                                 << 1 - limit << " to " << limit - 1;
}

/// Checks the channels whose memory the channel may take over.
static LogicalResult verifyAfter(ChannelOp channel) {
  if (!channel.getAfter().empty() && channel.getInPlaceOf())
    return channel.emitOpError("is in place of another channel; only that "
                               "channel can say 'after'");
  for (Value value : channel.getAfter()) {
    auto other = value.getDefiningOp<ChannelOp>();
    if (!other || other.getSpace() != channel.getSpace())
      return channel.emitOpError(
          "says 'after' of a channel in another memory space");
    if (other.carriesScalars())
      return channel.emitOpError("says 'after' of channel '")
             << other.getLabel()
             << "', which carries scalars and shares its memory with no other "
                "channel";
    if (other.getInPlaceOf())
      return channel.emitOpError("says 'after' of channel '")
             << other.getLabel()
             << "', which is in place of another one: that one has the buffer";
  }
  return success();
}

/// Checks that a channel in place of `other` lies inside of its stages. Offsets
/// within a stage need a buffer of one stage: with more, the distance between
/// stages would have to be that of the whole buffer.
static LogicalResult verifyAt(ChannelOp channel, ChannelOp other) {
  auto kernel = cast<KernelOp>(channel->getParentOp());
  int64_t at = channel.getAt().value_or(0);
  int64_t elementBits = channel.getSpace() == MemorySpace::tmem ? 32 : 8;
  auto size = [&](VectorType type) {
    int64_t elements = type.getNumElements();
    if (channel.getSpace() == MemorySpace::tmem)
      elements = getMatrixLayout(kernel, type)
                     .getColumnsPerThread(type.getShape().back());
    return llvm::divideCeil(elements * type.getElementTypeBitWidth(),
                            elementBits);
  };
  int64_t end = size(other.getTileType());
  int64_t needed = size(channel.getTileType());
  if (at < 0 || at > end || at + needed > end)
    return channel.emitOpError("is at ")
           << at << " of the buffer of '" << other.getLabel() << "', which has "
           << end << (elementBits == 32 ? " columns" : " bytes")
           << "; the channel needs " << needed;
  if (at != 0 && channel.getStages() != 1)
    return channel.emitOpError("is at ")
           << at << " of a buffer of " << channel.getStages()
           << " stages; only one stage can be divided";
  return success();
}

void ChannelOp::build(OpBuilder &builder, OperationState &state, Type value,
                      StringRef label, MemorySpace space, IntegerAttr initial) {
  build(builder, state, ChannelType::get(builder.getContext(), value),
        builder.getStringAttr(label), space, /*in_place_of=*/Value(),
        /*after=*/ValueRange(), /*stages=*/1, initial, /*at=*/nullptr,
        /*split=*/nullptr, /*exchange=*/false, /*place=*/nullptr);
}

/// Checks a channel of turns, which is one named barrier.
static LogicalResult verifyTurns(ChannelOp channel) {
  if (channel.getSpace() != MemorySpace::barrier)
    return channel.emitOpError("carries no values, so it must be in a named "
                               "barrier (barrier)");
  if (channel.getStages() != 1 || channel.getInitial() ||
      channel.getInPlaceOf() || channel.getAt() || !channel.getAfter().empty())
    return channel.emitOpError("is a turn, which has one stage, and none of "
                               "'initial', 'in_place_of', 'at', 'after'");
  return success();
}

/// Checks a channel of scalars: it shares no memory with others, and has no
/// value that nobody has written, because loops and branches may depend on it.
static LogicalResult verifyScalars(ChannelOp channel) {
  if (channel.getSpace() != MemorySpace::smem)
    return channel.emitOpError("carries scalars of type ")
           << channel.getValueType()
           << ", which are in shared memory (smem), not in tensor memory";
  if (channel.getInitial())
    return channel.emitOpError("carries scalars, so it cannot start with "
                               "values that nobody has written ('initial')");
  if (channel.getInPlaceOf() || channel.getAt() || !channel.getAfter().empty())
    return channel.emitOpError("carries scalars, which share the memory of no "
                               "other channel ('in_place_of', 'at', 'after')");
  return success();
}

/// Checks a channel whose values tile.exchange takes.
static LogicalResult verifyExchange(ChannelOp channel) {
  if (PlaceAttr place = channel.getPlaceAttr();
      place && place.getLanded().has_value() != channel.getExchange())
    return channel.emitOpError()
           << (place.getLanded() ? "has 'landed' barriers, but nothing comes "
                                   "from another CTA without 'exchange'"
                                 : "says 'exchange', so its place must have "
                                   "'landed' barriers for what comes from the "
                                   "other CTA");
  if (!channel.getExchange())
    return success();
  auto kernel = cast<KernelOp>(channel->getParentOp());
  if (!kernel.getCluster())
    return channel.emitOpError("says 'exchange', but the kernel has no cluster "
                               "whose CTAs could exchange tiles");
  VectorType tile = channel.getTileType();
  if (channel.getSpace() != MemorySpace::smem || !tile || tile.getRank() != 2 ||
      tile.getDimSize(1) % kernel.getClusterSize() != 0)
    return channel.emitOpError(
               "says 'exchange', so it must be one of matrices with an even "
               "number of columns in shared memory, not of ")
           << channel.getValueType();
  for (auto [said, word] : {std::pair(bool(channel.getSplit()), "split"),
                            {bool(channel.getInitial()), "initial"},
                            {bool(channel.getInPlaceOf()), "in_place_of"}})
    if (said)
      return channel.emitOpError("says both 'exchange' and '")
             << word << "', which exclude each other";
  return success();
}

VectorType ChannelOp::getStageType() {
  VectorType tile = getTileType();
  return getSplit()
             ? getPartOf(
                   tile, *getSplit(),
                   cast<KernelOp>((*this)->getParentOp()).getClusterSize())
             : tile;
}

LogicalResult ChannelOp::verify() {
  if (!isa<KernelOp>((*this)->getParentOp()))
    return emitOpError("must be directly in a tile.kernel");
  if (getSplit() && getSpace() != MemorySpace::smem)
    return emitOpError("is split over CTAs, but lives in tensor memory, from "
                       "which an MMA reads the whole tile of its CTA");
  if (failed(verifySplit(*this, getTileType(), getSplit())))
    return failure();
  if (getStages() < 1)
    return emitOpError("needs at least one stage");
  int64_t initial = getInitial().value_or(0);
  if (initial < 0 || initial > static_cast<int64_t>(getStages()))
    return emitOpError("starts with ")
           << initial << " values in " << getStages() << " stages";
  if (failed(verifyRange(*this, "stages", getStages())) ||
      failed(verifyAfter(*this)) || failed(verifyExchange(*this)))
    return failure();
  if (isTurn())
    return verifyTurns(*this);
  if (getSpace() == MemorySpace::barrier)
    return emitOpError("is in a named barrier, which holds no values of type ")
           << getValueType();
  if (carriesScalars())
    return verifyScalars(*this);
  if (!getInPlaceOf()) {
    if (getAt())
      return emitOpError("says 'at' without 'in_place_of'");
    return success();
  }
  auto other = getInPlaceOf().getDefiningOp<ChannelOp>();
  if (!other || other.getSpace() != getSpace())
    return emitOpError("is in ")
           << stringifyMemorySpace(getSpace())
           << ", so it must be in place of a channel there";
  if (other.getStages() != getStages())
    return emitOpError("has stages(")
           << getStages() << "), but channel \"" << other.getLabel()
           << "\", whose buffer it shares, has stages(" << other.getStages()
           << ")";
  if (other.carriesScalars())
    return emitOpError("shares the buffer of a channel of scalars, which "
                       "shares its memory with no other channel");
  auto bits = [](VectorType type) {
    return type.getNumElements() * type.getElementTypeBitWidth();
  };
  if (bits(getTileType()) > bits(other.getTileType()))
    return emitOpError("holds ")
           << getTileType() << ", which is larger than " << other.getTileType()
           << " of channel \"" << other.getLabel()
           << "\", whose buffer it shares";
  return verifyAt(*this, other);
}

/// The role's chip, which the verifier of the kernel has found.
static const TargetDescription &getTarget(RoleOp role) {
  return cast<KernelOp>(role->getParentOp()).getTarget();
}

const RoleFacts &RoleOp::getFacts() {
  const RoleTable &roles = ::getTarget(*this).roles;
  switch (getKind()) {
  case RoleKind::Issuer:
    return roles.issuer;
  case RoleKind::Vector:
    return roles.vector;
  case RoleKind::Idle:
    return roles.idle;
  case RoleKind::Matrix:
    return roles.matrix;
  }
  llvm_unreachable("no such kind of role");
}

int64_t RoleOp::getNumWarps() { return getWarps().value_or(getFacts().warps); }

int64_t RoleOp::getNumThreads() {
  return runsOnOneThread() ? 1 : getNumWarps() * ::getTarget(*this).warpSize;
}

/// Returns how a warpgroup holds matrices of so many rows.
static const ValueLayout &getLayoutOfMatrices(KernelOp kernel, int64_t rows) {
  const MmaUnit &mma = kernel.getTarget().mma;
  const ValueLayout *ofPair = kernel.getCluster() && rows == mma.minRows
                                  ? getValueLayout(mma.layoutOfPairMinRows)
                                  : nullptr;
  return ofPair ? *ofPair : *getValueLayout(ValueLayoutKind::Rows);
}

const ValueLayout &fa4::tile::getMatrixLayout(KernelOp kernel,
                                              VectorType matrix) {
  return matrix.getRank() >= 2
             ? getLayoutOfMatrices(kernel, matrix.getDimSize(0))
             : *getValueLayout(ValueLayoutKind::Rows);
}

const ValueLayout &fa4::tile::getMatrixLayout(ChannelOp channel) {
  return getMatrixLayout(cast<KernelOp>(channel->getParentOp()),
                         channel.getTileType());
}

const ValueLayout *RoleOp::getLayoutOfRows(int64_t rows) {
  const ValueLayout *layout = getLayout();
  if (!layout || layout->getNumRows(getNumThreads()) == rows)
    return layout;
  // A pair of CTAs may leave fewer rows in tensor memory, where the threads
  // would read them as the role's own.
  if (!layout->isRowPerThread())
    return nullptr;
  layout = &getLayoutOfMatrices(cast<KernelOp>((*this)->getParentOp()), rows);
  return layout->getNumRows(getNumThreads()) == rows ? layout : nullptr;
}

/// Checks the number of warps that the role gives against that of its kind.
static LogicalResult verifyWarps(RoleOp role) {
  const RoleFacts &facts = role.getFacts();
  StringRef kind = stringifyRoleKind(role.getKind());
  if (role.getKind() == RoleKind::Matrix && facts.warps == 0)
    return role.emitOpError("is of kind 'matrix', but MMAs of ")
           << ::getTarget(role).chip << " leave their results in tensor memory";
  if (failed(verifyRange(role, "warps", role.getWarps())))
    return failure();
  if (!role.getWarps())
    return facts.warps ? success()
                       : role.emitOpError("is of kind '")
                             << kind << "', so it must say how many 'warps' "
                             << "it has";
  int64_t warps = *role.getWarps();
  if (warps < 1)
    return role.emitOpError("needs at least one warp");
  if (facts.oneThread && warps != facts.warps)
    return role.emitOpError("issues from one thread, so it has ")
           << facts.warps << " warp, not " << warps;
  if (facts.warps && warps % facts.warps != 0)
    return role.emitOpError("has ")
           << warps << " warps; a role of kind '" << kind << "' on "
           << ::getTarget(role).chip << " has a multiple of " << facts.warps;
  return success();
}

/// Checks a role that only the first CTA of a cluster runs.
static LogicalResult verifyLeader(RoleOp role) {
  if (!role.getLeader())
    return success();
  if (!cast<KernelOp>(role->getParentOp()).getCluster())
    return role.emitOpError("is one of the leader, but the kernel has no "
                            "cluster that could have one");
  if (!role.getFacts().startsMmas)
    return role.emitOpError("is one of the leader, so it must be of a kind "
                            "that issues MMAs");
  return success();
}

LogicalResult RoleOp::verify() {
  if (failed(verifyWarps(*this)) || failed(verifyLeader(*this)) ||
      failed(verifyRange(*this, "first_warp", getFirstWarp())))
    return failure();
  const TargetDescription &target = ::getTarget(*this);
  unsigned group = target.warpsPerWarpgroup();
  if (getFirstWarp() && (static_cast<int64_t>(*getFirstWarp()) < 0 ||
                         (getNumWarps() >= group && *getFirstWarp() % group)))
    return emitOpError("first warp of a warpgroup must be a multiple of ")
           << group;
  if (auto registers = getRegisters();
      registers && (*registers < target.minRegisterBudget ||
                    *registers > target.maxRegisterBudget ||
                    *registers % target.registerGranule))
    return emitOpError("register budget must be a multiple of ")
           << target.registerGranule << " from " << target.minRegisterBudget
           << " to " << target.maxRegisterBudget << ", not "
           << static_cast<int64_t>(*registers);
  return success();
}

/// Roles have names for people and reports: nothing refers to them.
bool RoleOp::canDiscardOnUseEmpty() { return false; }

/// In a cluster, the leader issues what all CTAs do together, and nothing else:
/// MMAs, and requests for the work of all.
static LogicalResult verifySides(RoleOp role) {
  if (!cast<KernelOp>(role->getParentOp()).getCluster())
    return success();
  return fa4::checkEach(role, [&](Operation *op) -> LogicalResult {
    if (isa<MmaOp, RequestOp>(op) && !role.getLeader())
      return op->emitOpError("is one of a cluster, so it must be in a role of "
                             "the 'leader'");
    if (isa<LoadOp, StoreOp, ReduceAddOp, ExchangeOp>(op) && role.getLeader())
      return op->emitOpError("is done by each CTA of a cluster for itself, so "
                             "it cannot be in a role of the 'leader'");
    return success();
  });
}

/// Checks that only MMAs of the leader have tiles of which each CTA of a
/// cluster has a part.
static LogicalResult verifyParts(RoleOp role) {
  return fa4::checkEach(role, [&](WaitOp wait) -> LogicalResult {
    if (role.getLeader() ||
        !wait.getChannel().getDefiningOp<ChannelOp>().getSplit())
      return success();
    return wait.emitOpError("is in a role that each CTA of a cluster runs for "
                            "itself, but has only a part of the tile there "
                            "('split'), which MMAs of the 'leader' read");
  });
}

/// Checks that MMAs of lanes, and no others, have results that are pending,
/// each of which is awaited once.
static LogicalResult verifyPending(RoleOp role) {
  return fa4::checkEach(role, [&](MmaOp mma) -> LogicalResult {
    if (mma.isPending() != (role.getKind() == RoleKind::Matrix))
      return mma.emitOpError(mma.isPending() ? "gives a pending tile"
                                             : "gives a tile")
             << " in a role of kind '" << stringifyRoleKind(role.getKind())
             << "'; the threads of a 'matrix' role hold results, which are "
                "pending until they are awaited";
    if (mma.isPending() &&
        !(mma->hasOneUse() && isa<AwaitOp, MmaOp>(*mma->user_begin())))
      return mma.emitOpError("must be awaited once (tile.await)");
    return success();
  });
}

LogicalResult RoleOp::verifyRegions() {
  if (failed(verifySides(*this)) || failed(verifyParts(*this)) ||
      failed(verifyPending(*this)))
    return failure();
  if (getKind() == RoleKind::Idle && !getBody().front().empty())
    return emitOpError("is idle, but its body has operations");
  LogicalResult result = success();
  visitUsedValuesDefinedAbove(getBody(), [&](OpOperand *use) {
    Operation *def = use->get().getDefiningOp();
    if (failed(result) || !def || isa<ChannelOp>(def))
      return;
    result =
        use->getOwner()->emitOpError("uses a value of '")
        << def->getName() << "', which is outside of role '" << getSymName()
        << "': a role uses the kernel's arguments and channels, and computes "
           "everything else for itself";
  });
  return result;
}

LogicalResult CommitOp::verify() {
  if (getChannel().getType().isTurn())
    return getValue() ? emitOpError("commits a value to a channel of turns")
                      : success();
  if (!getValue() && !getChannel().getType().getTileType())
    return emitOpError("must have the scalar that it commits as an operand");
  if (getValue() &&
      getValue().getType() != getChannel().getType().getValueType())
    return emitOpError("commits ")
           << getValue().getType() << " to a channel of "
           << getChannel().getType().getValueType();
  auto load = getValue() ? getValue().getDefiningOp<LoadOp>() : LoadOp();
  auto channel = getChannel().getDefiningOp<ChannelOp>();
  if (load && load.getSplit() != channel.getSplit()) {
    auto describe = [](std::optional<uint64_t> split) {
      return split ? ("split(" + Twine(*split) + ")").str() : "no 'split'";
    };
    return emitOpError("commits a load with ")
           << describe(load.getSplit()) << " to a channel with "
           << describe(channel.getSplit());
  }
  if (channel.getSplit() && !load) {
    uint64_t split = *channel.getSplit();
    InFlightDiagnostic diagnostic =
        emitOpError("commits to a channel with split(")
        << split << "), so its value must come from a tile.load with split("
        << split << "), got ";
    if (Value value = getValue(); !value)
      return diagnostic << "what lanes have written";
    else if (Operation *def = value.getDefiningOp())
      return diagnostic << "'" << def->getName() << "'";
    return diagnostic << "a block argument";
  }
  return success();
}

LogicalResult WaitOp::verify() {
  if (getChannel().getType().isTurn())
    return getValue() ? emitOpError("waits for a value of a channel of turns")
                      : success();
  if (!getValue() && !getChannel().getType().getTileType())
    return emitOpError("must have the scalar that it waits for as its result");
  if (getValue() &&
      getValue().getType() != getChannel().getType().getValueType())
    return emitOpError("gives ") << getValue().getType() << " of a channel of "
                                 << getChannel().getType().getValueType();
  auto channel = getChannel().getDefiningOp<ChannelOp>();
  if (getValue() && channel.getExchange())
    for (Operation *user : getValue().getUsers())
      if (!isa<ExchangeOp>(user))
        return emitOpError("gives a tile of a channel with 'exchange' to '")
               << user->getName() << "'; only tile.exchange takes it";
  return success();
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Returns the layout that says which of its columns a lane has, or null.
static const ValueLayout *getColumnLayout(Operation *op, VectorType tile,
                                          bool all) {
  auto role = op->getParentOfType<RoleOp>();
  if (!role)
    return nullptr;
  if (tile.getRank() == 2)
    return &getMatrixLayout(cast<KernelOp>(role->getParentOp()), tile);
  return all ? role.getLayout() : nullptr;
}

/// Checks a lane's access to a tile: it takes consecutive ones of the columns
/// that the lane has of a row of a matrix, or of a vector of column values
/// (`all`), or the lane's element of a vector of row values.
static LogicalResult verifyLaneAccess(Operation *op, Type lane, VectorType tile,
                                      int64_t column, bool all) {
  bool rowValue = tile.getRank() == 1 && !all;
  int64_t columns = rowValue ? 1 : tile.getShape().back();
  if (const ValueLayout *layout = getColumnLayout(op, tile, all))
    columns = layout->getColumnsPerThread(columns);
  auto vector = dyn_cast<VectorType>(lane);
  int64_t count = vector ? vector.getNumElements() : 1;
  if (getElementTypeOrSelf(lane) != tile.getElementType() ||
      (rowValue && vector) || column < 0 || column > columns - count)
    return op->emitOpError("accesses ")
           << lane << " at column " << column << "; a lane has " << columns
           << " columns of a row of " << tile;
  return success();
}

/// Checks that a channel that lanes read or write carries tiles.
static LogicalResult verifyCarriesTiles(Operation *op, ChannelType channel) {
  if (channel.getTileType())
    return success();
  return op->emitOpError("accesses a channel of scalars (")
         << channel.getValueType()
         << "), which are operands of tile.commit and results of tile.wait";
}

LogicalResult ReadOp::verify() {
  ChannelType channel = getChannel().getType();
  if (failed(verifyCarriesTiles(*this, channel)))
    return failure();
  return verifyLaneAccess(*this, getValue().getType(), channel.getTileType(),
                          getColumn(), getAll());
}

LogicalResult WriteOp::verify() {
  ChannelType channel = getChannel().getType();
  if (failed(verifyCarriesTiles(*this, channel)))
    return failure();
  if (auto tile = dyn_cast<VectorType>(getValue().getType());
      tile && tile.getRank() == 2) {
    if (tile == channel.getTileType() && getColumn() == 0)
      return success();
    return emitOpError("writes a tile of type ")
           << tile << " at column " << getColumn() << " of a channel of "
           << channel.getTileType() << "; a tile is written as a whole";
  }
  return verifyLaneAccess(*this, getValue().getType(), channel.getTileType(),
                          getColumn(), /*all=*/false);
}

/// Checks that the parts of a tile are what the threads of the role around `op`
/// hold of it: as many elements, in vectors that each are of one row.
static LogicalResult verifyParts(Operation *op, VectorType tile,
                                 TypeRange parts) {
  auto role = op->getParentOfType<RoleOp>();
  const ValueLayout *layout = role ? role.getLayout(tile) : nullptr;
  if (!layout)
    return op->emitOpError("must be in a role whose threads hold ")
           << tile.getDimSize(0) << " rows";
  int64_t perRow = layout->getColumnsPerThread(tile.getDimSize(1)), sum = 0;
  for (Type type : parts) {
    auto part = cast<VectorType>(type);
    int64_t count = part.getNumElements();
    if (part.getElementType() != tile.getElementType() || perRow % count != 0)
      return op->emitOpError("has a part ")
             << part << " of " << tile << ", of which a thread holds " << perRow
             << " elements a row";
    sum += count;
  }
  if (int64_t all = layout->getNumElements(tile.getDimSize(1)); sum != all)
    return op->emitOpError("has ") << sum << " elements of " << tile
                                   << ", of which a thread holds " << all;
  return success();
}

LogicalResult CombineOp::verify() {
  // Of all targets: the operation may also be outside of a kernel.
  constexpr int64_t kWarpSize = 32;
  using Kind = vector::CombiningKind;
  static constexpr Kind kForFloats[] = {Kind::ADD,      Kind::MUL,
                                        Kind::MINNUMF,  Kind::MAXNUMF,
                                        Kind::MINIMUMF, Kind::MAXIMUMF};
  static constexpr Kind kForIntegers[] = {Kind::ADD,   Kind::MUL,   Kind::MINUI,
                                          Kind::MINSI, Kind::MAXUI, Kind::MAXSI,
                                          Kind::AND,   Kind::OR,    Kind::XOR};
  Type type = getType();
  bool fits = type.isFloat() ? llvm::is_contained(kForFloats, getKind())
                             : llvm::is_contained(kForIntegers, getKind());
  if (!fits)
    return emitOpError("combines values of type ")
           << type << " by " << vector::stringifyCombiningKind(getKind())
           << ", which is not for this type";
  if (getMasks().empty())
    return emitOpError("has no masks");
  for (int64_t mask : getMasks())
    if (mask < 1 || mask >= kWarpSize || !llvm::isPowerOf2_64(mask))
      return emitOpError("has the mask ")
             << mask << "; masks are powers of two below " << kWarpSize
             << ", the threads of a warp";
  return success();
}

LogicalResult FromLanesOp::verify() {
  return verifyParts(*this, getTile().getType(), getParts().getTypes());
}

LogicalResult ToLanesOp::verify() {
  return verifyParts(*this, getTile().getType(), getParts().getTypes());
}

LogicalResult PutOp::verify() {
  auto type = cast<MemRefType>(getDest().getType());
  if (static_cast<int64_t>(getIndices().size()) != type.getRank() ||
      static_cast<int64_t>(getDim()) >= type.getRank())
    return emitOpError("needs ")
           << type.getRank() << " indices and one of their dimensions";
  if (getValue().getType() != type.getElementType())
    return emitOpError("writes ") << getValue().getType() << " to " << type;
  auto role = (*this)->getParentOfType<RoleOp>();
  const ValueLayout *layout = role ? role.getLayout() : nullptr;
  if (int64_t rows = layout ? layout->getRowsPerThread() : 1;
      rows != int64_t(getOthers().size()) + 1)
    return emitOpError("writes elements of ")
           << getOthers().size() + 1 << " rows; a thread holds parts of "
           << rows;
  return success();
}
