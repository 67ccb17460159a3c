//===- Access.h - addresses of a warp's memory instruction -----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_MACHINE_ACCESS_H
#define FA4_LIB_SIMULATOR_MACHINE_ACCESS_H

#include "fa4/Simulator/Machine/State.h"

namespace fa4::sim {

/// Modifiers that say how an access orders memory, common to ld, st, atom,
/// red and fences.
bool takeScope(DecodeContext &c, Scope &scope);
/// weak, volatile, relaxed, acquire, release, ... with a scope where required.
bool takeOrder(DecodeContext &c, SyncOrder &order);
/// A state space; Generic when there is none. One that says .shared or
/// .shared::cta makes the instruction OwnShared.
bool takeSpace(DecodeContext &c, MemSpace &space);
/// L1::..., L2::..., cache operators and the like: all without effect here.
/// True when an L2::cache_hint wants a policy operand.
bool takeCacheHints(DecodeContext &c);

/// The addresses that the lanes of an access use.
struct LaneAccess {
  uint8_t *host[warpSize];    ///< Null: faulted (reported) or not executing.
  uint64_t address[warpSize]; ///< Global, or shared rank << 24 | offset.
  LaneMask shared = 0, global = 0, ok = 0;
  /// A generic address that stands for the access; 0 if all lanes faulted.
  uint64_t first() const {
    if (!(shared | global))
      return 0;
    unsigned lane = __builtin_ctz(shared | global);
    return shared >> lane & 1 ? sharedWindow | address[lane] : address[lane];
  }
};

/// Resolves the addresses of operand `op` for the executing lanes: bounds and
/// alignment are checked, faults reported. `write` refuses const and param.
void resolveLanes(Exec &x, const Inst &inst, const Operand &op, MemSpace space,
                  unsigned bytes, unsigned alignment, bool write,
                  LaneAccess &access);

/// Announces the access to the checker, once for each space that lanes access.
void noteAccess(Exec &x, const Inst &inst, const LaneAccess &access,
                unsigned bytes, AccessKind kind, const SyncOrder &order);

/// Tells the checker of the access. noteAccess does, but for those that
/// isReleasing: their instructions call it in front of their effect.
void tellChecker(Exec &x, const Inst &inst, const LaneAccess &access,
                 unsigned bytes, AccessKind kind, const SyncOrder &order);

/// Whether the checker hears of the access before it takes effect (Checker.h).
bool isReleasing(AccessKind kind, const SyncOrder &order);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_MACHINE_ACCESS_H
