//===- TileStages.cpp - stages from the memory budget ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixStages.h"
#include "Schedule.h"
#include "fa4/Dialect/Tile/Analysis/FirstFit.h"
#include "fa4/Dialect/Tile/Analysis/Lifetimes.h"
#include "fa4/Dialect/Tile/Analysis/MemoryMap.h"
#include "fa4/Dialect/Tile/Analysis/RowWork.h"
#include "fa4/Dialect/Tile/Analysis/ScheduleTable.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Support/NestedOps.h"
#include "llvm/Support/MathExtras.h"
#include <map>

namespace fa4::tile {
#define GEN_PASS_DEF_TILESTAGES
#include "fa4/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fa4::tile

using namespace mlir;
using namespace fa4::tile;
using fa4::TargetDescription;

/// Returns true if loads fill the channel in a loop. In a kernel without other
/// loops, that is the one over work tiles.
static bool isLoadRing(const ChannelUses &uses, bool hasLoops) {
  ChannelOp channel = uses.channel;
  if (channel.getSpace() != MemorySpace::smem || channel.getInPlaceOf())
    return false;
  bool inLoop = false;
  for (CommitOp commit : uses.commits) {
    if (!getLoad(commit))
      return false;
    inLoop |= hasLoops ? commit->getParentOfType<scf::ForOp>() != nullptr
                       : commit->getParentOfType<WorkOp>() != nullptr;
  }
  return inLoop;
}

/// Returns the rings in the order in which a pass of the consumer's loop waits
/// for them. If each ring has one stage, the next load of the first ring has
/// the least time: it starts when the pass is over.
static SmallVector<ChannelOp> findLoadRings(KernelOp kernel) {
  llvm::MapVector<ChannelOp, ChannelUses> uses = collectChannelUses(kernel);
  llvm::SetVector<ChannelOp> rings;
  bool hasLoops = fa4::containsOp<scf::ForOp>(kernel);
  kernel.walk([&](WaitOp wait) {
    auto channel = wait.getChannel().getDefiningOp<ChannelOp>();
    if (wait->getParentOfType<scf::ForOp>() &&
        isLoadRing(uses.find(channel)->second, hasLoops))
      rings.insert(channel);
  });
  for (auto &[channel, of] : uses)
    if (isLoadRing(of, hasLoops))
      rings.insert(channel);
  return rings.takeVector();
}

/// Returns the cycles of the MMAs in a loop. MMAs of nested loops do not count.
static uint64_t mmaCyclesIn(scf::ForOp loop, const TargetDescription &target) {
  uint64_t cycles = 0;
  loop.walk([&](MmaOp mma) {
    if (mma->getParentOfType<scf::ForOp>() == loop)
      cycles += countMmaCycles(mma, target);
  });
  return cycles;
}

/// Returns for each ring the number of stages beyond which another one gains
/// nothing.
///
/// A load of a ring of n stages starts when a value is released, and is waited
/// for n - 1 passes of the consumer's loop later. The MMAs of a pass give the
/// least time that a pass takes. Rings that one loop of loads fills advance
/// together, so the slowest of their consumers sets the pace of all. With 1280
/// cycles of MMAs in a pass (the gradient at head dim 64) and 1150 of a load, a
/// third stage has nothing to hide; with 256 cycles (a product of matrices) six
/// stages do. A ring may have `maxStages` if its pace is unknown, because no
/// MMA is in its loops, or if the time of a load is unknown. Of a kernel
/// without loops, the next work tile's values arrive while lanes work on this
/// one's: two stages ([h200] dq's sums at head dim 64 are rounded in 52 us for
/// 66).
static llvm::DenseMap<ChannelOp, int64_t>
findUsefulStages(KernelOp kernel, ArrayRef<ChannelOp> rings,
                 const TargetDescription &target, int64_t maxStages) {
  llvm::MapVector<ChannelOp, ChannelUses> uses = collectChannelUses(kernel);
  llvm::DenseMap<scf::ForOp, uint64_t> pace;
  auto forLoads = [&](ChannelOp ring, auto &&apply) {
    for (CommitOp commit : uses.find(ring)->second.commits)
      if (auto loop = commit->getParentOfType<scf::ForOp>())
        apply(loop);
  };
  for (ChannelOp ring : rings) {
    // If several loops consume a ring (with and without a mask, say), the
    // fastest one counts.
    std::optional<uint64_t> cycles;
    for (WaitOp wait : uses.find(ring)->second.waits)
      if (auto loop = wait->getParentOfType<scf::ForOp>())
        cycles =
            std::min(cycles.value_or(UINT64_MAX), mmaCyclesIn(loop, target));
    forLoads(ring, [&](scf::ForOp loop) {
      pace[loop] = std::max(pace[loop], cycles.value_or(0));
    });
  }
  llvm::DenseMap<ChannelOp, int64_t> useful;
  int64_t least = fa4::containsOp<scf::ForOp>(kernel) ? 1 : 2;
  for (ChannelOp ring : rings) {
    int64_t &stages = useful[ring] = least;
    forLoads(ring, [&](scf::ForOp loop) {
      uint64_t cycles = pace.lookup(loop);
      stages = std::max<int64_t>(
          stages, cycles == 0
                      ? maxStages
                      : 1 + llvm::divideCeil(target.latency.tma, cycles));
    });
    stages = std::min(stages, maxStages);
  }
  return useful;
}

namespace {
/// Computes the shared memory that `tile-allocate` will need for given numbers
/// of stages.
class SharedMemory {
public:
  explicit SharedMemory(KernelOp kernel) : kernel(kernel) {
    Lifetimes lifetimes(kernel);
    for (SmallVector<ChannelOp> &buffer : collectBuffers(kernel))
      if (buffer.front().getSpace() == MemorySpace::smem)
        owners.push_back(buffer.front());
    for (ChannelOp a : owners)
      for (ChannelOp b : owners)
        dead.push_back(a != b && lifetimes.deadBefore(a, b));
  }

  int64_t bytes() {
    SmallVector<PlacedBuffer> buffers;
    for (ChannelOp owner : owners)
      buffers.push_back(
          {static_cast<int64_t>(owner.getStages()) * getSmemBytes(owner),
           getSmemAlignment(owner)});
    unsigned count = owners.size();
    int64_t total = placeFirstFit(buffers, [&](unsigned a, unsigned b) {
      return dead[a * count + b] || dead[b * count + a];
    });
    // Each stage has a full and an empty barrier.
    for (auto channel : kernel.getBody().getOps<ChannelOp>())
      total += 2 * channel.getStages() * kernel.getTarget().mbarrierBytes;
    return total + kTmemAddressBytes;
  }

private:
  KernelOp kernel;
  SmallVector<ChannelOp> owners;
  /// A matrix of flags: true if the buffer of the row is dead before the buffer
  /// of the column is written.
  SmallVector<bool> dead;
};
} // namespace

/// Returns true if lanes that start MMAs write the channel for MMAs that others
/// start.
static bool isBetweenMatrixRoles(ChannelOp channel) {
  bool hasCommit = false, hasWait = false;
  for (Operation *user : channel.getChannel().getUsers()) {
    if (isa<CommitOp, WaitOp>(user) && !isInMatrixRole(user))
      return false;
    hasCommit |= isa<CommitOp>(user);
    hasWait |= isa<WaitOp>(user);
  }
  return hasCommit && hasWait && channel.getTileType();
}

/// Gives buffers that CTAs, or the lanes of several roles, exchange in a loop a
/// second stage, if there is room. Lanes write such a buffer when the MMAs of
/// all of them have read the last value, and the MMAs wait until all parts have
/// come. With one stage, this takes longer than a load.
static void doubleExchanges(KernelOp kernel, const TargetDescription &target,
                            SharedMemory &memory) {
  for (SmallVector<ChannelOp> &buffer : collectBuffers(kernel)) {
    ChannelOp owner = buffer.front();
    if (!(owner.getExchange() || isBetweenMatrixRoles(owner)) ||
        owner.getStages() != 1 ||
        llvm::none_of(owner.getChannel().getUsers(), [](Operation *user) {
          return isa<CommitOp>(user) && user->getParentOfType<scf::ForOp>();
        }))
      continue;
    auto setStages = [&](int64_t stages) {
      for (ChannelOp channel : buffer)
        channel.setStages(stages);
    };
    setStages(2);
    if (memory.bytes() > static_cast<int64_t>(target.smemBytes))
      setStages(1);
  }
}

/// Gives each ring one more stage in turn until the next one gains nothing or
/// does not fit. A round that does not fit for all rings gives second stages
/// but no third ones: a load of the other rings waits for its turn anyway, and
/// rings of different lengths make more states to prove.
static void growRings(SmallVector<ChannelOp> rings,
                      const llvm::DenseMap<ChannelOp, int64_t> &usefulStages,
                      SharedMemory &memory, const TargetDescription &target) {
  for (bool more = true; more;) {
    llvm::erase_if(rings, [&](ChannelOp ring) {
      return static_cast<int64_t>(ring.getStages()) >=
             usefulStages.lookup(ring);
    });
    if (rings.empty())
      break;
    SmallVector<ChannelOp> grown;
    for (ChannelOp ring : rings) {
      int64_t stages = ring.getStages();
      ring.setStages(stages + 1);
      if (memory.bytes() <= static_cast<int64_t>(target.smemBytes)) {
        grown.push_back(ring);
        continue;
      }
      ring.setStages(stages);
      more = false;
    }
    for (ChannelOp ring : grown)
      if (!more && ring.getStages() > 2)
        ring.setStages(ring.getStages() - 1);
  }
}

StageFit fa4::tile::chooseStages(KernelOp kernel) {
  const TargetDescription &target = kernel.getTarget();
  int64_t maxStages = kernel.getPlanOrFastest().getMaxStages();
  // Rings of large values come first: for a value that arrives in parts, the
  // next load waits for a part only.
  std::map<int64_t, SmallVector<ChannelOp>, std::greater<>> bySize;
  for (ChannelOp ring : findLoadRings(kernel))
    bySize[getSmemBytes(ring)].push_back(ring);
  SmallVector<ChannelOp> all;
  for (const auto &[size, rings] : bySize)
    llvm::append_range(all, rings);
  llvm::DenseMap<ChannelOp, int64_t> useful =
      findUsefulStages(kernel, all, target, maxStages);
  SharedMemory memory(kernel);
  StageFit fit = {memory.bytes(), ChannelOp(), /*largestSingle=*/0};
  if (fit.bytes <= static_cast<int64_t>(target.smemBytes)) {
    if (maxStages > 1)
      doubleExchanges(kernel, target, memory);
    growRings(all, useful, memory, target);
  }
  for (ChannelOp ring : all) {
    if (ring.getStages() != 1)
      continue;
    if (!fit.single && useful.lookup(ring) > 1)
      fit.single = ring;
    fit.largestSingle =
        std::max<int64_t>(fit.largestSingle, getSmemBytes(ring));
  }
  return fit;
}

void fa4::tile::requireStages(ChannelOp channel, int64_t stages) {
  auto kernel = channel->getParentOfType<KernelOp>();
  for (SmallVector<ChannelOp> &buffer : collectBuffers(kernel))
    if (llvm::is_contained(buffer, channel))
      for (ChannelOp sharing : buffer)
        sharing.setStages(std::max<int64_t>(sharing.getStages(), stages));
}

namespace {

struct TileStages : public fa4::tile::impl::TileStagesBase<TileStages> {
  using TileStagesBase::TileStagesBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    chooseStages(kernel);
    if (!print)
      return;
    // Kernels are scheduled in parallel, so each table is printed as a whole.
    std::string table;
    llvm::raw_string_ostream os(table);
    printSchedule(kernel, os);
    llvm::errs() << table;
  }
};

} // namespace
