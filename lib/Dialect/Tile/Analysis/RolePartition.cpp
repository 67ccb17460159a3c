//===- RolePartition.cpp - which role executes what ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RolePartition.h"
#include "fa4/Dialect/Tile/Analysis/ValueFlow.h"
#include "fa4/Support/NestedOps.h"
#include "fa4/Support/PostOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetOperations.h"

using namespace mlir;
using fa4::AccumulatorSpace;
using namespace fa4::tile;

/// Returns true for a store of a matrix, which goes through shared memory. A
/// store of one value for each row is done by the lanes that have the values.
static bool isMatrixStore(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getTile().getType().getRank() == 2;
  if (auto add = dyn_cast<ReduceAddOp>(op))
    return add.getTile().getType().getRank() == 2;
  return false;
}

static bool isStore(Operation *op) { return isa<StoreOp, ReduceAddOp>(op); }

/// Returns true for the work of the role that stores. Turns belong to it,
/// because only this role knows when an addition to memory has ended.
static bool isStoreWork(Operation *op) {
  return isMatrixStore(op) || isa<AwaitTurnOp, PassTurnOp>(op);
}

static bool isElementwise(Operation *op) {
  return !isa<LoadOp, MmaOp, ExchangeOp>(op) && !isStoreWork(op);
}

SmallVector<Value> RolePartition::getDataOperands(Operation *op) const {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  if (op->getNumRegions())
    getUsedValuesDefinedAbove(op->getRegions(), used);
  llvm::SetVector<Value> result;
  for (Value value : used)
    if (data.contains(value))
      result.insert(getViewed(value));
  return result.takeVector();
}

Value RolePartition::getViewed(Value value) const {
  while (Operation *def = value.getDefiningOp()) {
    if (!views.contains(def))
      break;
    value = def->getOperand(0);
  }
  return value;
}

/// Marks data: values computed from a load or an MMA, operands of MMAs, and
/// stored values. The last two count because a role that issues has no lanes to
/// compute them. Loops carry values, so the search goes on until it marks no
/// more.
void RolePartition::findData(KernelOp kernel) {
  bool changed = true;
  auto mark = [&](Value value) { changed |= data.insert(value).second; };
  while (changed) {
    changed = false;
    kernel.walk([&](Operation *op) {
      if (isa<WorkOp>(op))
        return;
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
        for (unsigned i = 0; i < loop.getNumResults(); ++i)
          if (isData(loop.getInitArgs()[i]) || isData(yield.getOperand(i))) {
            mark(loop.getRegionIterArg(i));
            mark(loop.getResult(i));
          }
        return;
      }
      // Data made in an operation's regions may leave through its results.
      bool yieldsData =
          op->getNumRegions() && fa4::anyIn(op, [&](Operation *inner) {
            return llvm::any_of(inner->getOperands(),
                                [&](Value value) { return isData(value); });
          });
      if (auto mma = dyn_cast<MmaOp>(op)) {
        // Lanes that start the MMA have what they compute from nothing loaded.
        if (!lanesStartMmas || isReadFromMemory(mma, mma.getA()))
          mark(mma.getA());
        mark(mma.getB());
      }
      if (isMatrixStore(op) || isa<ExchangeOp>(op))
        mark(op->getOperand(0));
      if (isa<LoadOp, MmaOp>(op) || yieldsData || !getDataOperands(op).empty())
        for (Value result : op->getResults())
          mark(result);
    });
  }
}

/// Returns the operation that makes the value. For a value that loops carry,
/// this is the operation that makes the value of the next iteration. Returns
/// null if loops only hand the value around.
static Operation *producer(Value value) {
  Value made = getLastMade(value);
  return made ? made.getDefiningOp() : nullptr;
}

static LogicalResult checkCarried(const RolePartition &partition,
                                  scf::ForOp loop) {
  for (auto [arg, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
    if ((partition.isData(arg) || partition.isData(result)) &&
        !producer(result))
      return loop.emitOpError("carries ")
             << arg.getType() << ", which no operation in it makes";
  return success();
}

/// Returns true for a part of a loaded tile that only MMAs read, from where the
/// load has put it.
static bool isViewForMmas(Operation *op) {
  if (!isView(op) || !op->getOperand(0).getDefiningOp<LoadOp>())
    return false;
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return RolePartition::isReadFromMemory(user, op->getResult(0));
  });
}

LogicalResult RolePartition::collectNodes(Block &block, bool afterMma) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (isViewForMmas(&op)) {
      views.insert(&op);
      continue;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (failed(checkCarried(*this, loop)) ||
          failed(collectNodes(*loop.getBody(), /*afterMma=*/false)))
        return failure();
      afterMma |= fa4::containsOp<MmaOp>(loop);
      continue;
    }
    if (auto work = dyn_cast<WorkOp>(op)) {
      if (failed(collectNodes(work.getBody().front(), afterMma)))
        return failure();
      continue;
    }
    bool isNode = isa<LoadOp, MmaOp>(op) || isStore(&op) || isStoreWork(&op) ||
                  !getDataOperands(&op).empty() ||
                  llvm::any_of(op.getResults(),
                               [&](Value value) { return isData(value); });
    if (!isNode)
      continue;
    if (op.getNumRegions() && fa4::anyIn(&op, [](Operation *inner) {
          return isa<LoadOp, MmaOp, ExchangeOp, scf::ForOp>(inner) ||
                 isStore(inner) || isStoreWork(inner);
        }))
      return op.emitOpError(
          "has loads, stores, MMAs or loops in its regions; only arithmetic "
          "can be conditional");
    nodes.insert(&op);
    // Work on rows alone stays with the role that has the rows.
    auto isAccumulated = [&](Value operand) {
      Operation *def = producer(operand);
      return def && (isa<MmaOp>(def) || accumulatorWork.contains(def));
    };
    if (afterMma && !lanesStartMmas && isElementwise(&op) &&
        llvm::any_of(getDataOperands(&op), isAccumulated))
      addAccumulatorWork(&op);
  }
  return success();
}

/// Adds work on an accumulator, with the broadcasts of the factors that it
/// multiplies by. Then one value for each row is handed over, not a matrix.
void RolePartition::addAccumulatorWork(Operation *op) {
  accumulatorWork.insert(op);
  for (Value operand : op->getOperands())
    for (Operation *def = operand.getDefiningOp();
         def && nodes.contains(def) && def->hasOneUse() &&
         isa<VectorType>(operand.getType()) && def->getNumOperands() == 1;
         def = operand.getDefiningOp()) {
      accumulatorWork.insert(def);
      operand = def->getOperand(0);
    }
}

BlockArgument
fa4::tile::findCarriedFactor(Value value, SmallVectorImpl<Operation *> *steps) {
  // For each value: the carried value that it is a multiple of. Each value is
  // looked at once.
  llvm::DenseMap<Value, BlockArgument> factors;
  llvm::SmallVector<Operation *> multiplications;
  fa4::visitPostOrder<Value>(
      value, [&](Value v) { return factors.contains(v); },
      [](Value v, SmallVectorImpl<Value> &operands) {
        if (auto rescale = v.getDefiningOp<RescaleOp>())
          operands.push_back(rescale.getValue());
        else if (auto mul = v.getDefiningOp<arith::MulFOp>())
          operands.append({mul.getLhs(), mul.getRhs()});
      },
      [&](Value v) {
        BlockArgument arg = dyn_cast<BlockArgument>(v);
        if (arg && !isa<scf::ForOp>(arg.getOwner()->getParentOp()))
          arg = BlockArgument();
        if (auto rescale = v.getDefiningOp<RescaleOp>()) {
          arg = factors.lookup(rescale.getValue());
        } else if (auto mul = v.getDefiningOp<arith::MulFOp>()) {
          arg = factors.lookup(mul.getLhs());
          arg = arg ? arg : factors.lookup(mul.getRhs());
        }
        factors.try_emplace(v, arg);
        if (arg && v.getDefiningOp())
          multiplications.push_back(v.getDefiningOp());
      });
  BlockArgument found = factors.lookup(value);
  if (found && steps)
    for (Operation *op : multiplications)
      if (factors.lookup(op->getResult(0)) == found)
        steps->push_back(op);
  return found;
}

bool RolePartition::isCompute(Operation *op) const {
  bool isOfLanes = isElementwise(op) || (lanesStartMmas && isa<MmaOp>(op));
  return nodes.contains(op) && isOfLanes && !accumulatorWork.contains(op);
}

bool RolePartition::isReadFromMemory(Operation *op, Value operand) {
  auto mma = dyn_cast<MmaOp>(op);
  if (!mma || operand == mma.getAcc())
    return false;
  return operand == mma.getB() || mma.getTransposeA();
}

llvm::EquivalenceClasses<Operation *> RolePartition::findPieces() const {
  llvm::EquivalenceClasses<Operation *> pieces;
  for (Operation *op : nodes) {
    if (!isCompute(op))
      continue;
    pieces.insert(op);
    for (Value operand : getDataOperands(op))
      if (Operation *def = producer(operand);
          def && isCompute(def) && !isReadFromMemory(op, operand))
        pieces.unionSets(op, def);
  }
  joinMakers(pieces);
  return pieces;
}

/// Where there are as many products of what several pieces with MMAs have
/// computed as there are such pieces, lets each join one of these: no further
/// warpgroup needs registers for it. An example is dq, a sum over the keys of
/// all pieces, if it is cut along its columns. A product that is not cut has a
/// role of its own, as otherwise one role would have more work than the others.
void RolePartition::joinMakers(
    llvm::EquivalenceClasses<Operation *> &pieces) const {
  llvm::MapVector<Operation *, llvm::SetVector<Operation *>> makers;
  llvm::DenseSet<Operation *> withMma;
  for (Operation *op : nodes) {
    if (!isCompute(op))
      continue;
    Operation *piece = pieces.getLeaderValue(op);
    if (isa<MmaOp>(op))
      withMma.insert(piece);
    for (Value operand : getDataOperands(op))
      if (Operation *def = producer(operand);
          def && isCompute(def) && isReadFromMemory(op, operand))
        makers[piece].insert(pieces.getLeaderValue(def));
  }
  // The products by the first of their makers.
  llvm::MapVector<Operation *, SmallVector<Operation *>> products;
  for (auto &[piece, of] : makers)
    if (of.size() > 1 && !of.contains(piece) &&
        llvm::set_is_subset(of, withMma))
      products[of.front()].push_back(piece);
  for (auto &[first, same] : products) {
    const llvm::SetVector<Operation *> &of = makers[same.front()];
    if (same.size() != of.size() || llvm::any_of(same, [&](Operation *piece) {
          return makers[piece].getArrayRef() != of.getArrayRef();
        }))
      continue;
    for (auto [piece, maker] : llvm::zip_equal(same, of))
      pieces.unionSets(piece, maker);
  }
}

/// Finds work on accumulators: in a loop, the operations between a carried
/// accumulator and the MMA that adds to it; anywhere, the operations between an
/// MMA's result and a store.
void RolePartition::findAccumulatorWork(KernelOp kernel) {
  if (lanesStartMmas)
    return;
  kernel.walk([&](MmaOp mma) {
    SmallVector<Operation *> steps;
    if (!mma.getAcc() || !findCarriedFactor(mma.getAcc(), &steps))
      return;
    for (Operation *op : steps) {
      correctsInLoop = true;
      addAccumulatorWork(op);
    }
  });
  for (Operation *op : nodes)
    if (isa<CopyOp>(op))
      accumulatorWork.insert(op);
  findLastResults();
}

/// Adds the work on the results of the last MMAs if no loop is around them.
/// Such a piece reads only these results, and only stores read its values. If a
/// kernel has no other pieces, they stay with the compute roles.
void RolePartition::findLastResults() {
  llvm::EquivalenceClasses<Operation *> pieces = findPieces();
  llvm::SmallPtrSet<Operation *, 8> readers, others;
  for (Operation *op : nodes) {
    if (!isCompute(op))
      continue;
    Operation *piece = pieces.getLeaderValue(op);
    for (Value operand : getDataOperands(op)) {
      Operation *def = producer(operand);
      if (isa_and_nonnull<MmaOp>(def))
        readers.insert(piece);
      else if (!def || !isCompute(def))
        others.insert(piece);
    }
    bool toStores = llvm::all_of(op->getUsers(), [&](Operation *user) {
      return isStore(user) || isCompute(user);
    });
    if (!toStores || op->getParentOfType<scf::ForOp>())
      others.insert(piece);
  }
  if (others.empty())
    return;
  for (Operation *piece : readers)
    if (!others.contains(piece))
      for (Operation *op : pieces.members(piece))
        accumulatorWork.insert(op);
}

ValueOrigin RolePartition::getOrigin(Value value) const {
  ValueOrigin origin{roleOf.lookup(producer(value)), {}, 0};
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    origin.loop = cast<scf::ForOp>(arg.getOwner()->getParentOp());
    origin.index = arg.getArgNumber() - 1;
  } else if (auto loop = value.getDefiningOp<scf::ForOp>()) {
    origin.loop = loop;
    origin.index = cast<OpResult>(value).getResultNumber();
  }
  return origin;
}

void RolePartition::assignRoles() {
  llvm::EquivalenceClasses<Operation *> pieces = findPieces();
  auto add = [&](RoleTask task, StringRef name) -> unsigned {
    for (auto [i, role] : llvm::enumerate(roles))
      if (role.name == name)
        return i;
    roles.push_back({task, name.str()});
    return roles.size() - 1;
  };
  llvm::DenseMap<Operation *, unsigned> pieceRole;
  for (Operation *op : nodes)
    if (isCompute(op)) {
      Operation *leader = pieces.getLeaderValue(op);
      // A store of a constant for each row needs no lanes of its own.
      if (isStore(op) && getDataOperands(op).empty() && !pieceRole.empty())
        pieceRole.try_emplace(
            leader, roleOf[*llvm::find_if(nodes, [&](Operation *node) {
              return isCompute(node);
            })]);
      if (!pieceRole.count(leader)) {
        std::string name = "compute" + std::to_string(pieceRole.size());
        pieceRole[leader] = add(RoleTask::Compute, name);
      }
      roleOf[op] = pieceRole[leader];
      roles[roleOf[op]].startsMmas |= isa<MmaOp>(op);
    }
  StringRef correction = correctsInLoop ? "correction" : "epilogue";
  for (Operation *op : nodes)
    if (accumulatorWork.contains(op))
      roleOf[op] = add(RoleTask::Correction, correction);
  for (auto [task, name] :
       {std::pair<RoleTask, StringRef>{RoleTask::Mma, "mma"},
        {RoleTask::Load, "load"},
        {RoleTask::Store, "store"},
        {RoleTask::Exchange, "exchange"}})
    for (Operation *op : nodes)
      if (task == RoleTask::Mma        ? isa<MmaOp>(op) && !lanesStartMmas
          : task == RoleTask::Load     ? isa<LoadOp>(op)
          : task == RoleTask::Exchange ? isa<ExchangeOp>(op)
                                       : isStoreWork(op))
        roleOf[op] = add(task, name);
}

LogicalResult RolePartition::run(KernelOp kernel) {
  lanesStartMmas =
      kernel.getTarget().mma.accumulatorSpace == AccumulatorSpace::Registers;
  findData(kernel);
  if (failed(collectNodes(kernel.getBody().front(), /*afterMma=*/false)))
    return failure();
  findAccumulatorWork(kernel);
  assignRoles();
  return success();
}

FailureOr<RolePartition> RolePartition::compute(KernelOp kernel) {
  RolePartition partition;
  if (failed(partition.run(kernel)))
    return failure();
  return partition;
}

std::optional<unsigned> RolePartition::getRole(Operation *op) const {
  auto it = roleOf.find(op);
  if (it == roleOf.end())
    return std::nullopt;
  return it->second;
}

bool RolePartition::touches(Operation *op, unsigned role) const {
  return fa4::anyIn(op,
                    [&](Operation *inner) { return getRole(inner) == role; });
}
