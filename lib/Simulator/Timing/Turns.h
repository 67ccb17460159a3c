//===- Turns.h - the turns of the outermost loops of warps -----*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warps of a persistent kernel go through a loop over tiles. Whether all
// tiles are the same work is seen from what each turn of that loop executes:
// how often it branches, copies, multiplies, arrives. Clusters whose turns are
// all alike differ in the number of turns only.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_TIMING_TURNS_H
#define FA4_LIB_SIMULATOR_TIMING_TURNS_H

#include "InstructionClass.h"
#include "fa4/Simulator/Machine/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fa4::sim {

/// Which instructions of a program are counted, and what ends a turn. Plain
/// arithmetic is not counted, nor is a loop that does no more than test an
/// mbarrier: how often it repeats itself is a matter of time.
class TurnMap {
public:
  TurnMap() = default;
  /// `isCounted` says by pc which instructions in loops count.
  TurnMap(const Program &program, llvm::ArrayRef<InstructionClass> classes,
          llvm::function_ref<bool(size_t)> isCounted);

  /// The counter of an instruction; 0 if it does not count.
  uint32_t counterOf(size_t pc) const { return counters[pc]; }
  /// Whether to jump from `pc` to `target` ends a turn of an outermost loop.
  bool endsTurn(size_t pc, uint32_t target) const {
    return headers[pc] == target;
  }
  /// The number of counters; 0 of an empty map.
  uint32_t size() const { return count; }

private:
  static constexpr uint32_t noHeader = ~0u;
  std::vector<uint32_t> counters; ///< By pc.
  std::vector<uint32_t> headers;  ///< By pc: of the outermost loop around it.
  uint32_t count = 0;
};

/// What the turns of a warp have executed, by counter.
struct WarpTurns {
  using Counts = std::vector<uint32_t>;
  Counts first, others; ///< Of the first turn, and of each of the others.
  Counts current;       ///< Since the last one; of a warp that is done: behind.
  uint64_t turns = 0;
  bool areAlike = true; ///< `others` speaks for all of them.

  void end();
};

/// Whether the turns of each warp but the first are alike, and there are
/// `turns` of them in all, or none: the last one does not come back to the
/// beginning of the loop.
bool areAlike(llvm::ArrayRef<WarpTurns> warps, uint64_t turns);
/// Whether the warps of two such clusters do the same in their turns, of which
/// those of `a` have one more.
bool differByATurn(llvm::ArrayRef<WarpTurns> a, llvm::ArrayRef<WarpTurns> b);
/// Whether the warps of another cluster, which has perhaps not ended, have done
/// the same as those of `a` for `turns` turns.
bool beginAlike(llvm::ArrayRef<WarpTurns> a, llvm::ArrayRef<WarpTurns> other,
                uint64_t turns);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_TIMING_TURNS_H
