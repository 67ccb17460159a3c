//===- AsyncState.h - what asynchronous operations keep per CTA ----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_ASYNCSTATE_H
#define FA4_LIB_SIMULATOR_ASYNC_ASYNCSTATE_H

#include "fa4/Simulator/Machine/State.h"
#include <bitset>
#include <deque>
#include <map>
#include <optional>

namespace fa4::sim {

/// Groups of a thread's asynchronous copies (commit_group, wait_group). Group
/// `committed` is the one that is being filled.
struct CopyGroups {
  struct Group {
    uint32_t reads = 0, writes = 0; ///< Operations that have yet to do so.
  };
  std::deque<Group> groups; ///< The last one is open.
  uint64_t first = 0;       ///< Number of groups.front().
  /// The numbers behind the last committed group that holds an operation, and
  /// behind the last group that a wait knows to have been read.
  uint64_t used = 0, waited = 0;
  bool openUsed = false;   ///< The open group holds an operation.
  bool openWaited = false; ///< And a wait came behind one of these.
  CopyGroups() { groups.emplace_back(); }
  uint64_t open() const { return first + groups.size() - 1; }
  /// Must the thread still wait for operations of its? For those that it
  /// committed, and for those that it left out of the groups that it waited for
  /// later: it meant to commit them. One that it never commits nor waits for is
  /// left to the hardware (docs/simulator-memory-model.md).
  bool isWaitMissing() const { return used > waited || openWaited; }
  void commit() {
    groups.emplace_back();
    if (openUsed)
      used = open();
    openUsed = openWaited = false;
  }
  Group &group(uint64_t number) { return groups[number - first]; }
  /// Returns true if all committed groups but the last `pending` ones are
  /// complete.
  bool complete(uint64_t pending, bool readOnly) const;
  /// Returns true if no group has outstanding operations.
  bool idle() const;
  void trim();
};

/// Tensor memory of a CTA: 128 lanes (rows) of 512 columns of 32 bits.
struct TensorMemory {
  static constexpr unsigned lanes = 128, columns = 512;
  ZeroedMemory storage{lanes * columns * 4};
  std::bitset<columns> allocated;
  /// An allocation: its first column, its size, and the instruction that made
  /// it.
  struct Block {
    uint32_t columns;
    const Inst *inst;
    unsigned ctaGroup;
    uint32_t warp;
  };
  std::map<uint32_t, Block> blocks;
  bool relinquished = false;
  uint32_t lastAllocation = 0; ///< Its columns, 0 before the first one.

  uint32_t *row(unsigned lane) const {
    return reinterpret_cast<uint32_t *>(storage.data()) + lane * columns;
  }
  /// Returns the first column of a free run of `count` columns that is aligned
  /// to `count`.
  std::optional<uint32_t> findFree(uint32_t count) const;
};

class WgmmaOp;

/// The wgmma.mma_async of a warpgroup, which are performed in order, and the
/// groups to which each of its warps has committed them.
struct WarpgroupState {
  std::deque<WgmmaOp *> inFlight; ///< Number `completed` and those behind it.
  uint64_t completed = 0;
  struct Member {
    uint64_t issued = 0;         ///< Operations that the warp has executed.
    std::deque<uint64_t> groups; ///< `issued` at each commit; old ones leave.
    uint64_t waited = 0;         ///< Operations for which it has waited.
  };
  Member members[4];
};

struct AsyncState {
  std::map<uint32_t, WarpgroupState> warpgroups; ///< By number in the CTA.
  TensorMemory tensor;
  llvm::DenseMap<uint32_t, CopyGroups> bulk; ///< By thread in the CTA.
  llvm::DenseMap<uint32_t, CopyGroups> cpAsync;
  /// The number of each warp's tcgen05.st that have not been performed.
  std::vector<uint32_t> pendingStores;
  // A tcgen05.alloc in progress: with cta_group::2 both CTAs must ask.
  uint32_t allocRequest = 0; ///< Columns, 0 when there is none.
  uint32_t allocBase = 0, allocWarp = 0;
  bool allocDone = false;
  const Inst *allocInst = nullptr;
  /// Each tcgen05.dealloc.cta_group::2 in progress, which the peer must
  /// execute, too: its number of columns by the first column; 0 once the peer
  /// has come and freed them.
  std::map<uint32_t, uint32_t> frees;
};

AsyncState &asyncState(Cta &cta);

/// Numbers of the queues of AsyncEngine.
inline uint32_t pipeQueue(uint32_t thread) { return 0x10000 + thread; }
inline uint32_t storeQueue(const Warp &warp) {
  return 0x100000 + warp.threadBase / warpSize;
}
inline uint32_t cpAsyncQueue(uint32_t thread) { return 0x200000 + thread; }
/// Of the warpgroup of a warp.
inline uint32_t wgmmaQueue(const Warp &warp) {
  return 0x300000 + warp.threadBase / warpSize - warp.index % 4;
}

//===----------------------------------------------------------------------===//
// Addresses of operands
//===----------------------------------------------------------------------===//

/// The way in which an address operand is read, by the state space in the
/// opcode.
enum class AddressSpace : uint8_t { Generic, Shared, OwnShared, Global };

/// A shared address (rank << 24 | offset) from a lane's operand; reports and
/// returns nothing when the address is not in shared memory.
std::optional<uint32_t>
sharedAddress(Exec &exec, const Inst &inst, unsigned operand, unsigned lane,
              AddressSpace space = AddressSpace::Shared);
/// Returns the host pointer to shared memory. Reports addresses that are out of
/// bounds or misaligned.
uint8_t *checkShared(Exec &exec, const Inst &inst, unsigned lane,
                     uint32_t address, uint64_t bytes, uint32_t alignment,
                     llvm::StringRef what);
uint8_t *checkGlobal(Exec &exec, const Inst &inst, unsigned lane,
                     uint64_t address, uint64_t bytes, uint32_t alignment,
                     llvm::StringRef what);

/// Describes an operation, for example "cp.async.bulk at line 12".
std::string describeOp(const Cluster &cluster, const Inst *inst);

/// The base of all operations, with the members that each of them has.
class OpBase : public AsyncOp {
public:
  OpBase(Exec &exec, const Inst &instruction, unsigned lane)
      : warp(&exec.warp), lane(lane) {
    inst = &instruction;
    issuer = exec.warp.threadBase + lane;
  }
  std::string describe(const Cluster &cluster) const override {
    return describeOp(cluster, inst);
  }
  Actor actor() const { return {inst, warp, int(lane), agent}; }

  Warp *warp;
  unsigned lane;
  AgentId agent = noAgent;
};

/// Announces an operation to the checker, if there is one.
inline AgentId beginAgent(Exec &exec, const Inst &inst, unsigned lane,
                          AgentKind kind) {
  if (ClusterChecker *checker = exec.checker())
    return checker->beginAgent(kind, exec.actor(inst, lane));
  return noAgent;
}

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_ASYNCSTATE_H
