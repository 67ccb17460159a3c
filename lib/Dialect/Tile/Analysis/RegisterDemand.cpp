//===- RegisterDemand.cpp - registers that roles need ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/RegisterDemand.h"
#include "fa4/Dialect/Tile/Analysis/BlockUsers.h"
#include "fa4/Dialect/Tile/Analysis/ChannelUses.h"
#include "fa4/Dialect/Tile/Analysis/ValueHome.h"
#include "fa4/Support/NestedOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <map>

using namespace mlir;
using namespace fa4;
using namespace fa4::tile;

/// Returns the number of 32-bit registers for a thread's part of the tile.
/// Indices have 32 bits; conditions are bits of a mask.
static unsigned registersOf(Value value, RoleOp role) {
  if (!isa<VectorType, PendingType>(value.getType()))
    return 1;
  if (getHome(value) == ValueHome::Place)
    return 0;
  VectorType type = getTileType(value.getType());
  const ValueLayout *layout = role.getLayout(type);
  if (!layout)
    layout = role.getLayout();
  if (type.getRank() == 1)
    return layout->getRowsPerThread();
  unsigned bits =
      type.getElementType().isIndex() ? 32 : type.getElementTypeBitWidth();
  return llvm::divideCeil(layout->getNumElements(type.getDimSize(1)) * bits,
                          32);
}

/// Returns true if the value occupies a register for each column. A splat needs
/// none, and a row value that is broadcast along the row needs one; column
/// values that are broadcast over the rows need as many as there are columns.
static bool isHeld(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def || !isa<VectorType, PendingType>(value.getType()) ||
      isa<vector::ShapeCastOp, vector::StepOp>(def) ||
      matchPattern(def, m_Constant()))
    return false;
  auto broadcast = dyn_cast<vector::BroadcastOp>(def);
  if (!broadcast)
    return true;
  auto source = dyn_cast<VectorType>(broadcast.getSourceType());
  return source && source.getShape().back() != 1 &&
         !broadcast.getSource().getDefiningOp<vector::StepOp>();
}

/// Returns the registers of a row that is worked on in fragments, because no
/// reduction needs all of it at once: two fragments of 32 columns in flight. In
/// kernels that go on from tile to tile, roles that hold whole rows need more
/// registers. The others then make do with fragments of half the size (see
/// tile-unroll), and some registers for the state of the next tile.
static unsigned streamedRegisters(RoleOp role) {
  bool isPersistent = role->getParentOfType<KernelOp>().isPersistent();
  return isPersistent ? 48 : 64;
}

/// Returns the largest number of registers that the tile values of a block
/// occupy at once. A result may take the place of an operand that dies, as in
/// elementwise work.
static unsigned peakRegisters(Block &block, RoleOp role) {
  // The registers of values whose last user is an operation.
  llvm::DenseMap<Operation *, unsigned> dying;
  unsigned live = 0, peak = 0;
  for (Operation &op : block) {
    unsigned inner = 0, results = 0, unused = 0;
    for (Region &region : op.getRegions())
      for (Block &nested : region)
        inner = std::max(inner, peakRegisters(nested, role));
    for (Value result : op.getResults()) {
      if (!isHeld(result))
        continue;
      unsigned registers = registersOf(result, role);
      Operation *last = getLastUser(result, block);
      (last ? dying[last] : unused) += registers;
      results += registers;
    }
    live -= dying.lookup(&op);
    peak = std::max(peak, live + std::max(inner, results));
    live += results - unused;
  }
  return peak;
}

/// Counts the matrices in shared memory that the MMAs of the role's loops read,
/// once for each instruction: an instruction addresses its part of a matrix by
/// a descriptor of its own.
static unsigned countDescriptors(RoleOp role, const TargetDescription &target) {
  unsigned count = 0;
  role.walk([&](MmaOp mma) {
    if (!mma->getParentOfType<scf::ForOp>())
      return;
    int64_t bytes =
        mma.getK() * mma.getA().getType().getElementTypeBitWidth() / 8;
    count += llvm::divideCeil(bytes, target.mma.kBytes) *
             (liesInTensorMemory(mma.getA()) ? 1 : 2);
  });
  return count;
}

/// Returns the registers that loads from pages take beyond those of other
/// loads: where the table is and how large, and what is read of it before parts
/// of a tile are copied (lib/Conversion/TileToNVVM/PageCopies.cpp). Few copies
/// fit into what any role has, unless it reads its work from a list, too: ptxas
/// spilled none of the forms of test/python/test_page_table.py then.
static unsigned countPageRegisters(RoleOp role) {
  constexpr unsigned kTable = 16;
  constexpr int64_t kFewCopies = 8, kCopyBytes = 128;
  bool hasList = bool(role->getParentOfType<KernelOp>().getWorkCountArgument());
  unsigned registers = 0;
  role.walk([&](LoadOp load) {
    if (!load.getPages())
      return;
    VectorType tile = load.getPartType();
    int64_t bytes = tile.getDimSize(1) * tile.getElementTypeBitWidth() / 8;
    int64_t copies = tile.getDimSize(0) / load.getRowsOfCopy() *
                     llvm::divideCeil(bytes, kCopyBytes);
    if (hasList || copies > kFewCopies)
      registers = kTable;
  });
  return registers;
}

/// Returns the registers that numbers of blocks take which a role reads from a
/// list (a table of more than one dimension) beside those of the list of its
/// work: where the table is, how large, and how many entries are left. Without
/// a list of work they fit into what any role has.
static unsigned countListRegisters(RoleOp role) {
  constexpr unsigned kList = 16;
  if (!role->getParentOfType<KernelOp>().getWorkCountArgument())
    return 0;
  WalkResult walk = role.walk([](LoadScalarOp load) {
    bool isNumber = load.getType().isInteger();
    return isNumber && load.getIndices().size() > 1 ? WalkResult::interrupt()
                                                    : WalkResult::advance();
  });
  return walk.wasInterrupted() ? kList : 0;
}

static bool reducesRows(RoleOp role) {
  return fa4::containsOp<vector::MultiDimReductionOp, vector::ReductionOp>(
      role);
}

unsigned fa4::tile::registersAcrossWaits(RoleOp role) {
  unsigned most = 0;
  if (reducesRows(role))
    return most;
  bool hasLoop = fa4::containsOp<scf::ForOp>(role);
  role.walk([&](WaitOp wait) {
    Block *block = wait->getBlock();
    if ((hasLoop && !isa<scf::ForOp>(block->getParentOp())) ||
        !wait.getValue() ||
        cast<VectorType>(wait.getValue().getType()).getRank() != 2)
      return;
    unsigned held = 0;
    for (Operation &op : *block) {
      if (&op == wait)
        break;
      // Column values stay in shared memory until they are used.
      if (isa<vector::BroadcastOp>(op))
        continue;
      for (Value result : op.getResults())
        if (Operation *last = getLastUser(result, *block);
            last && wait->isBeforeInBlock(last) && isHeld(result))
          held += registersOf(result, role);
    }
    most = std::max(most, held);
  });
  return most;
}

/// Returns the registers that a role needs, and its weight, which is the number
/// of elementwise operations on its rows. A row that is reduced is held as a
/// whole, together with the values to which it is converted.
static RoleDemand demandOf(RoleOp role, const TargetDescription &target) {
  RoleDemand demand{static_cast<unsigned>(role.getNumWarps()), 0, 0};
  if (role.runsOnOneThread()) {
    unsigned descriptors = countDescriptors(role, target);
    demand.wantedRegisters =
        kRegisterSlack + role.getFacts().stateRegisters + descriptors -
        std::min(descriptors, kUniformDescriptors) +
        std::max(countPageRegisters(role), countListRegisters(role));
    return demand;
  }
  unsigned row = 0, copied = 0;
  role.walk([&](Operation *op) {
    if (auto copy = dyn_cast<CopyOp>(op))
      copied = std::max(copied, registersOf(copy.getResult(), role));
    for (Value result : op->getResults())
      row = std::max(row, registersOf(result, role));
    if (op->getNumResults() == 1 && !isa<vector::BroadcastOp>(op))
      demand.weight += registersOf(op->getResult(0), role);
  });
  unsigned peak = peakRegisters(role.getBody().front(), role);
  // Results of MMAs that lanes start are in registers as a whole.
  if (reducesRows(role))
    peak = std::max(peak, row + row / 2);
  else if (!role.startsMmas())
    peak = std::min(peak, streamedRegisters(role) + registersAcrossWaits(role));
  // A copy holds the whole row, so that its buffer can be released, and a
  // fragment that is being converted.
  if (copied != 0)
    peak = std::max(peak, copied + streamedRegisters(role) / 2);
  demand.wantedRegisters =
      std::min(peak + kRegisterSlack, target.maxRegistersPerThread);
  return demand;
}

/// Levels the demands of roles that do the same work on different rows. A
/// difference of a few operations then does not cost a third role its
/// registers.
static void levelDemands(ArrayRef<RoleOp> roles,
                         MutableArrayRef<RoleDemand> demands) {
  // Roles that do the same have the same numbers of waits, commits and
  // reductions.
  std::map<std::array<unsigned, 3>, SmallVector<RoleDemand *>> alike;
  for (auto [i, demand] : llvm::enumerate(demands)) {
    RoleOp role = roles[i];
    if (role.runsOnOneThread())
      continue;
    std::array<unsigned, 3> counts = {0, 0, 0};
    role.walk([&](Operation *op) {
      counts[0] += isa<WaitOp>(op);
      counts[1] += isa<CommitOp>(op);
      counts[2] += isa<vector::MultiDimReductionOp, vector::ReductionOp>(op);
    });
    alike[counts].push_back(&demand);
  }
  for (auto &[counts, group] : alike) {
    unsigned wanted = 0, weight = 0;
    for (RoleDemand *demand : group) {
      wanted = std::max(wanted, demand->wantedRegisters);
      weight = std::max(weight, demand->weight);
    }
    for (RoleDemand *demand : group) {
      demand->wantedRegisters = wanted;
      demand->weight = weight;
    }
  }
}

SmallVector<RoleDemand>
fa4::tile::findRegisterDemands(ArrayRef<RoleOp> roles,
                               const TargetDescription &target) {
  SmallVector<RoleDemand> demands;
  for (RoleOp role : roles)
    demands.push_back(demandOf(role, target));
  levelDemands(roles, demands);
  return demands;
}
