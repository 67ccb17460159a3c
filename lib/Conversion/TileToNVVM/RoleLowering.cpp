//===- RoleLowering.cpp - what a role does, for its threads ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleLowering.h"
#include "fa4/Conversion/LaneMathToLLVM/LaneMathToLLVM.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa4::tile;

//===----------------------------------------------------------------------===//
// Operations of other dialects that work on tiles
//===----------------------------------------------------------------------===//

LogicalResult RoleLowering::copy(Operation &op) {
  if (llvm::any_of(op.getOperands(), isHandle) ||
      llvm::any_of(op.getResults(), isHandle))
    return op.emitOpError(
        "computes with tiles, but the role is of kind 'issuer': one thread "
        "starts asynchronous work and computes scalars only");
  if (op.getNumRegions() != 0 || isa_and_nonnull<TileDialect>(op.getDialect()))
    if (!isa<Exp2Op>(op))
      return op.emitOpError("is not supported in a role");
  if (isa_and_nonnull<math::MathDialect>(op.getDialect()) && !isLaneMath(&op))
    return op.emitOpError(
        "is not supported in a kernel: threads have no instructions for it");
  lanes.finishLoadsFor(&op);
  b.clone(op, mapping);
  return success();
}

/// Rounded divisions of signed numbers take several conditions, which sizes and
/// positions do not need.
LogicalResult RoleLowering::lowerDivision(Operation &op) {
  for (Value operand : op.getOperands())
    if (!isa<IndexType, IntegerType>(operand.getType()) ||
        ranges.get(operand).smin().isNegative())
      return copy(op);
  Value lhs = mapping.lookupOrDefault(op.getOperand(0)),
        rhs = mapping.lookupOrDefault(op.getOperand(1));
  Value result = isa<arith::CeilDivSIOp>(op)
                     ? arith::CeilDivUIOp::create(b, lhs, rhs).getResult()
                     : arith::DivUIOp::create(b, lhs, rhs).getResult();
  mapping.map(op.getResult(0), result);
  return success();
}

LogicalResult RoleLowering::lowerConstant(arith::ConstantOp op) {
  if (!isHandle(op))
    return copy(*op);
  if (!matchPattern(op.getResult(), m_AnyZeroFloat()))
    return op.emitOpError(
        "is a tile that lies in no channel; the only constant tile of a role "
        "that issues is zero, as the start of an accumulator");
  handles[op] = Handle();
  return success();
}

LogicalResult RoleLowering::lowerDim(memref::DimOp op) {
  auto size = signature.size(cast<BlockArgument>(op.getSource()).getArgNumber(),
                             *op.getConstantIndex());
  mapping.map(op.getResult(), toIndex(number32(size)));
  return success();
}

LogicalResult RoleLowering::lowerLoadScalar(LoadScalarOp op) {
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(toI32(mapping.lookupOrDefault(index)));
  unsigned number = cast<BlockArgument>(op.getSource()).getArgNumber();
  mapping.map(op.getResult(), readElement(number, indices));
  return success();
}

/// Reads the element, whose indices are brought into bounds. An address begins
/// with the indices from outside of the block, as that of a row in front of a
/// loop over keys, so that it is computed once.
LogicalResult RoleLowering::lowerGather(GatherOp op) {
  if (isa<VectorType>(op.getType()))
    return op.emitOpError("reads a tile in a role whose threads hold none (run "
                          "tile-unroll first)");
  unsigned number = cast<BlockArgument>(op.getSource()).getArgNumber();
  SmallVector<Value> outside(op.getIndices().size(), constant(0));
  SmallVector<Value> inside = outside;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    Value last = arith::SubIOp::create(b, number32(signature.size(number, dim)),
                                       constant(1));
    bool isOutside = index.getParentBlock() != op->getBlock();
    (isOutside ? outside : inside)[dim] =
        arith::MinUIOp::create(b, toI32(mapping.lookupOrDefault(index)), last);
  }
  Value row = globalPointer(number, outside);
  mapping.map(op.getResult(),
              loadConstant(b, op.getType(), behind(row, number, inside)));
  return success();
}

LogicalResult RoleLowering::lowerSlice(vector::ExtractStridedSliceOp op) {
  if (!isHandle(op.getSource()))
    return copy(*op);
  auto source = handles.find(op.getSource());
  if (source == handles.end())
    return op.emitOpError("takes a part of a tile that lies in no channel");
  if (op.hasNonUnitStrides())
    return op.emitOpError("takes a part whose strides are not 1, which no "
                          "asynchronous operation can read");
  if (op.getSourceVectorType().getRank() != 2)
    return op.emitOpError("takes a part of ")
           << op.getSourceVectorType()
           << "; only a part of a matrix has a place in its channel";
  Handle part = source->second;
  SmallVector<int64_t> offsets;
  op.getOffsets(offsets);
  part.row += offsets[0];
  part.column += offsets.size() > 1 ? offsets[1] : 0;
  handles[op] = part;
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// What a loop of a role carries beside scalars.
struct RoleLowering::Carried {
  /// By iter_arg: where a tile lies when the loop begins. The loop carries a
  /// tile by the number of its stage, if the ring has more than one.
  SmallVector<Handle> entries;
  /// The positions in rings that change in the loop.
  SmallVector<RingPositions::Group> groups;
};

/// Returns what the new loop starts with.
SmallVector<Value> RoleLowering::enterLoop(scf::ForOp op, Carried &carried) {
  SmallVector<Value> inits;
  carried.entries.resize(op.getInitArgs().size());
  for (auto [init, entry] :
       llvm::zip_equal(op.getInitArgs(), carried.entries)) {
    if (!isHandle(init)) {
      inits.push_back(mapping.lookupOrDefault(init));
      continue;
    }
    entry = handles.lookup(init);
    if (entry.stage)
      inits.push_back(entry.stage);
  }
  carried.groups = positions.groupsOf(op.getRegion());
  for (auto &group : carried.groups)
    inits.push_back(RingPositions::materialize(b, group.entry));
  return inits;
}

/// Lets values of the loop, its arguments or its results, be those of the new
/// loop.
void RoleLowering::bindCarried(ValueRange from, ValueRange to,
                               Carried &carried) {
  for (auto [value, entry] : llvm::zip_equal(from, carried.entries)) {
    if (!isHandle(value)) {
      mapping.map(value, to.front());
      to = to.drop_front();
      continue;
    }
    Handle &handle = handles[value] = entry;
    if (!entry.stage)
      continue;
    handle.stage = to.front();
    to = to.drop_front();
  }
  for (auto [group, counter] : llvm::zip_equal(carried.groups, to))
    positions.enter(group, counter);
}

/// Returns what the body of the new loop yields.
FailureOr<SmallVector<Value>> RoleLowering::leavePass(scf::YieldOp yield,
                                                      Carried &carried) {
  SmallVector<Value> yielded;
  for (auto [value, entry] :
       llvm::zip_equal(yield.getOperands(), carried.entries)) {
    if (!isHandle(value)) {
      yielded.push_back(mapping.lookupOrDefault(value));
      continue;
    }
    Handle handle = handles.lookup(value);
    if (entry.channel &&
        (handle.channel != entry.channel || handle.row != entry.row ||
         handle.column != entry.column))
      return yield.emitOpError(
          "carries a tile of another channel than that of the initial value");
    if (entry.stage)
      yielded.push_back(handle.stage);
  }
  for (auto &group : carried.groups)
    yielded.push_back(RingPositions::materialize(b, positions.current(group)));
  return yielded;
}

LogicalResult RoleLowering::lowerFor(scf::ForOp op) {
  lanes.finish();
  Carried carried;
  SmallVector<Value> inits = enterLoop(op, carried);
  auto loop = scf::ForOp::create(b, mapping.lookupOrDefault(op.getLowerBound()),
                                 mapping.lookupOrDefault(op.getUpperBound()),
                                 mapping.lookupOrDefault(op.getStep()), inits);
  mapping.map(op.getInductionVar(), loop.getInductionVar());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  bindCarried(op.getRegionIterArgs(), loop.getRegionIterArgs(), carried);
  if (failed(lowerBlock(*op.getBody())))
    return failure();
  auto yielded =
      leavePass(cast<scf::YieldOp>(op.getBody()->getTerminator()), carried);
  if (failed(yielded))
    return failure();
  if (loop.getNumResults() != 0)
    scf::YieldOp::create(b, *yielded);
  bindCarried(op.getResults(), loop.getResults(), carried);
  return success();
}

LogicalResult RoleLowering::lowerBranch(Region &region,
                                        ArrayRef<RingPositions::Key> keys) {
  if (!region.empty() && failed(lowerBlock(region.front())))
    return failure();
  SmallVector<Value> yielded;
  if (!region.empty())
    for (Value value : region.front().getTerminator()->getOperands())
      if (!isHandle(value))
        yielded.push_back(mapping.lookupOrDefault(value));
  for (auto [channel, use] : keys)
    yielded.push_back(RingPositions::materialize(
        b, positions.get(cast<ChannelOp>(channel), use)));
  if (!yielded.empty())
    scf::YieldOp::create(b, yielded);
  return success();
}

/// The tiles that an scf.if gives: each is in one place, whichever branch ran.
/// Where a branch gives zeros nobody has written these: as for a loop that
/// begins with zero, who adds to the tile needs a condition.
LogicalResult RoleLowering::mergeHandles(scf::IfOp op) {
  for (OpResult result : op.getResults()) {
    if (!isHandle(result))
      continue;
    unsigned number = result.getResultNumber();
    auto first = handles.find(op.thenYield().getOperand(number)),
         second = handles.find(op.elseYield().getOperand(number));
    if (first == handles.end() || second == handles.end())
      return op.emitOpError("gives a tile that is in no channel");
    Handle one = first->second, other = second->second;
    bool isSame = one.channel == other.channel && one.row == other.row &&
                  one.column == other.column && !one.stage && !other.stage;
    if (one.channel && other.channel && !isSame)
      return op.emitOpError("chooses between tiles of two channels or stages "
                            "in a role that only issues");
    handles[result] = isSame ? one : Handle();
  }
  return success();
}

LogicalResult RoleLowering::lowerIf(scf::IfOp op) {
  lanes.finish();
  SmallVector<RingPositions::Key> keys = positions.unevenKeys(op);
  SmallVector<Value> numbers;
  for (Value result : op.getResults())
    if (!isHandle(result))
      numbers.push_back(result);
  SmallVector<Type> types(ValueRange(numbers).getTypes());
  types.append(keys.size(), b.getI32Type());
  bool hasElse = !op.getElseRegion().empty() || !keys.empty();
  auto branch = scf::IfOp::create(
      b, types, mapping.lookupOrDefault(op.getCondition()), hasElse);
  RingPositions before = positions;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(lowerBranch(op.getThenRegion(), keys)))
      return failure();
    if (hasElse) {
      // All other positions are the same behind both sides of the branch.
      std::swap(before, positions);
      b.setInsertionPointToStart(branch.elseBlock());
      if (failed(lowerBranch(op.getElseRegion(), keys)))
        return failure();
    }
  }
  ValueRange results = branch.getResults();
  mapping.map(ValueRange(numbers), results.take_front(numbers.size()));
  for (auto [key, counter] :
       llvm::zip_equal(keys, results.drop_front(numbers.size())))
    positions.enter({{{key, 0}}, {}}, counter);
  return mergeHandles(op);
}

LogicalResult RoleLowering::checkIssued(Operation *op, StringRef why,
                                        StringRef whyCommitted) {
  if (!role.runsOnOneThread())
    return op->emitOpError("must be in a role of kind 'issuer', because ")
           << why;
  if (!llvm::all_of(op->getUsers(), llvm::IsaPred<CommitOp>))
    return op->emitOpError("must be used by tile.commit only, because ")
           << whyCommitted;
  return success();
}

LogicalResult RoleLowering::lowerOp(Operation &op) {
  b.setLoc(op.getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp op) { return lowerFor(op); })
      .Case([&](scf::IfOp op) { return lowerIf(op); })
      .Case([&](arith::ConstantOp op) { return lowerConstant(op); })
      .Case([&](WorkOp op) {
        lanes.finish();
        return work.lower(op, [&](Block &body) { return lowerBlock(body); });
      })
      .Case<WorkTileOp, ResponseOp>([&](auto op) { return work.lower(op); })
      .Case([&](RequestOp op) {
        return checkIssued(op, "one thread asks for work",
                           "the response has not come yet");
      })
      .Case([&](memref::DimOp op) { return lowerDim(op); })
      .Case([&](LoadScalarOp op) { return lowerLoadScalar(op); })
      .Case([&](GatherOp op) { return lowerGather(op); })
      .Case<arith::CeilDivSIOp, arith::FloorDivSIOp>(
          [&](auto op) { return lowerDivision(*op); })
      .Case([&](vector::ExtractStridedSliceOp op) { return lowerSlice(op); })
      .Case<AcquireOp, CommitOp, WaitOp, ReleaseOp, ExchangeOp>(
          [&](auto op) { return channels.lower(op); })
      // A load is issued where it is committed, because the barrier must expect
      // its bytes first.
      .Case([&](LoadOp op) {
        return checkIssued(op, "one thread starts a TMA load",
                           "the role cannot read what it loads");
      })
      .Case<StoreOp, ReduceAddOp>([&](auto op) {
        return copies.store(op, op.getTile(), op.getIndices());
      })
      .Case<AwaitTurnOp, PassTurnOp>([&](auto op) { return turns.lower(op); })
      .Case([&](MmaOp op) {
        return op.isPending() ? matrices.lower(op) : mmas.lower(op);
      })
      .Case<AwaitOp, FromLanesOp, ToLanesOp>([&](auto op) {
        lanes.finishLoadsFor(op);
        return matrices.lower(op);
      })
      .Case([&](WriteOp op) {
        lanes.finishLoadsFor(op);
        return op.getValue().getDefiningOp<FromLanesOp>() ? fragments.lower(op)
                                                          : lanes.lower(op);
      })
      .Case([&](PutOp op) {
        lanes.finishLoadsFor(op);
        return puts.lower(op);
      })
      .Case<RowOp, AnyOp, CombineOp, ReadOp, FenceOp, KeepOrderOp>(
          [&](auto op) { return lanes.lower(op); })
      .Default([&](Operation *op) { return copy(*op); });
}

LogicalResult RoleLowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    if (failed(lowerOp(op)))
      return failure();
  }
  lanes.finish();
  return success();
}

/// Whether addresses that the role accesses depend on the number of the CTA in
/// its cluster.
static bool dependsOnRank(RoleOp role) {
  return fa4::anyIn(role, [](Operation *op) {
    auto write = dyn_cast<WriteOp>(op);
    return isa<LoadOp, ExchangeOp>(op) ||
           (write &&
            write.getChannel().getDefiningOp<ChannelOp>().getExchange());
  });
}

LogicalResult RoleLowering::lower() {
  auto kernel = cast<KernelOp>(role->getParentOp());
  if (kernel.getCluster() && dependsOnRank(role))
    rank = readRegister(b, kRankRegister);
  for (BlockArgument arg : kernel.getBody().getArguments()) {
    if (isa<MemRefType>(arg.getType()))
      continue;
    Value value = argument(signature.scalarParameter(arg.getArgNumber()));
    mapping.map(arg, arg.getType().isIndex() ? toIndex(value) : value);
  }
  // Constants may stand outside of the roles, where canonicalization has moved
  // them.
  auto isHere = [&](Operation *user) { return role->isProperAncestor(user); };
  for (Operation &op : kernel.getBody().front())
    if (!isa<ChannelOp, RoleOp>(op) && llvm::any_of(op.getUsers(), isHere) &&
        failed(lowerOp(op)))
      return failure();
  OpBuilder::InsertionGuard guard(b);
  if (kernel.getWorkCount()) {
    auto branch =
        scf::IfOp::create(b, work.hasWorkTile(), /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  if (failed(lowerBlock(role.getBody().front())))
    return failure();
  copies.finish();
  return success();
}
