//===- AsyncState.cpp - what asynchronous operations keep per CTA --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fa4::sim;

bool CopyGroups::complete(uint64_t pending, bool readOnly) const {
  // groups.back() is open and does not count.
  size_t committed = groups.size() - 1;
  for (size_t i = 0; i + pending < committed; ++i)
    if (groups[i].reads || (!readOnly && groups[i].writes))
      return false;
  return true;
}

bool CopyGroups::idle() const {
  for (const Group &group : groups)
    if (group.reads || group.writes)
      return false;
  return true;
}

void CopyGroups::trim() {
  while (groups.size() > 1 && !groups.front().reads && !groups.front().writes) {
    groups.pop_front();
    ++first;
  }
}

std::optional<uint32_t> TensorMemory::findFree(uint32_t count) const {
  for (uint32_t base = 0; base + count <= columns; base += count) {
    bool free = true;
    for (uint32_t i = 0; i < count && free; ++i)
      free = !allocated[base + i];
    if (free)
      return base;
  }
  return std::nullopt;
}

AsyncState &fa4::sim::asyncState(Cta &cta) {
  if (!cta.async) {
    cta.async = std::make_shared<AsyncState>();
    cta.async->pendingStores.resize(cta.warps.size());
  }
  return *cta.async;
}

std::string fa4::sim::describeOp(const Cluster &cluster, const Inst *inst) {
  return (inst->opcode + " at line " + llvm::Twine(inst->line)).str();
}

std::optional<uint32_t> fa4::sim::sharedAddress(Exec &exec, const Inst &inst,
                                                unsigned operand, unsigned lane,
                                                AddressSpace space) {
  const Operand &op = exec.operand(inst, operand);
  uint64_t value = exec.value(op, lane);
  if (op.width == 4)
    value = uint32_t(value);
  uint64_t address = value;
  if (value >> 32) {
    if (Exec::classify(value, address) != MemSpace::Shared) {
      exec.report(inst, "out-of-bounds",
                  llvm::formatv("operand {0}: address {1:x} is not in shared "
                                "memory",
                                operand, value)
                      .str(),
                  lane);
      return std::nullopt;
    }
  } else if (space == AddressSpace::Generic) {
    exec.report(inst, "out-of-bounds",
                llvm::formatv("operand {0}: generic address {1:x} is not in "
                              "shared memory",
                              operand, value)
                    .str(),
                lane);
    return std::nullopt;
  }
  uint32_t rank = uint32_t(address) >> sharedRankShift;
  if (space == AddressSpace::OwnShared && rank != exec.cta.rank &&
      rank < exec.cluster.ctas.size()) {
    exec.report(inst, "out-of-bounds",
                llvm::formatv("operand {0}: shared {1:x} is of CTA rank {2}, "
                              "but must be in .shared::cta, which is that of "
                              "the executing CTA",
                              operand, uint32_t(address) & sharedOffsetMask,
                              rank)
                    .str(),
                lane);
    return std::nullopt;
  }
  return uint32_t(address);
}

uint8_t *fa4::sim::checkShared(Exec &exec, const Inst &inst, unsigned lane,
                               uint32_t address, uint64_t bytes,
                               uint32_t alignment, llvm::StringRef what) {
  if (address % alignment) {
    exec.report(inst, "misaligned",
                llvm::formatv("{0}: shared address {1:x} is not a multiple of "
                              "{2}",
                              what, address, alignment)
                    .str(),
                lane);
    return nullptr;
  }
  uint8_t *data = exec.cluster.resolveShared(address, bytes);
  if (!data)
    exec.report(inst, "out-of-bounds",
                llvm::formatv("{0}: {1} bytes at shared {2:x} are outside of "
                              "the CTA's shared memory",
                              what, bytes, address)
                        .str() +
                    exec.cluster.noSuchCta(address),
                lane);
  return data;
}

uint8_t *fa4::sim::checkGlobal(Exec &exec, const Inst &inst, unsigned lane,
                               uint64_t address, uint64_t bytes,
                               uint32_t alignment, llvm::StringRef what) {
  if (address % alignment) {
    exec.report(inst, "misaligned",
                llvm::formatv("{0}: global address {1:x} is not a multiple of "
                              "{2}",
                              what, address, alignment)
                    .str(),
                lane);
    return nullptr;
  }
  uint8_t *data = exec.grid.memory.resolve(address, bytes);
  if (!data)
    exec.report(inst, "out-of-bounds",
                llvm::formatv("{0}: {1} bytes at {2}", what, bytes,
                              exec.grid.memory.describe(address))
                    .str(),
                lane);
  return data;
}

void fa4::sim::asyncLanesExit(Exec &exec, LaneMask mask) {
  if (!exec.cta.async)
    return;
  AsyncState &state = *exec.cta.async;
  const Inst &inst = exec.program.insts[exec.frag->pc];
  if (!state.warpgroups.empty() && (exec.warp.live & ~mask) == 0)
    checkWarpgroupExit(exec, inst);
  forEachLane(mask, [&](unsigned lane) {
    uint32_t thread = exec.warp.index * warpSize + lane;
    auto it = state.bulk.find(thread);
    if (it == state.bulk.end())
      return;
    // The memory that is read goes away with the CTA; writes do not.
    if (it->second.isWaitMissing())
      exec.reportStrict(
          inst, "exit-with-async-outstanding",
          "a thread exits while its bulk copies may still read shared "
          "memory: cp.async.bulk.wait_group(.read) is missing",
          lane);
  });
}

void fa4::sim::asyncClusterExit(Cluster &cluster) {
  for (Cta &cta : cluster.ctas) {
    if (!cta.async)
      continue;
    for (const auto &[column, block] : cta.async->tensor.blocks) {
      cluster.report("tmem-not-freed",
                     llvm::formatv("CTA rank {0} exits without freeing tensor "
                                   "memory columns [{1}, {2})",
                                   cta.rank, column, column + block.columns)
                         .str(),
                     {block.inst, &cta.warps[block.warp], -1, noAgent});
    }
  }
}
