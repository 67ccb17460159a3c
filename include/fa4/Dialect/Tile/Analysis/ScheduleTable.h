//===- ScheduleTable.h - the schedule of a kernel as a table ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_SCHEDULETABLE_H
#define FA4_DIALECT_TILE_ANALYSIS_SCHEDULETABLE_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Prints what each role of the kernel does, one line for each operation on
/// a channel, MMA, load or store, in order; and the stages of each channel. It
/// is read off the IR, so that it says what the kernel does at any level with
/// roles.
///
/// The iteration of a line is that of the value: where the first loop of a role
/// makes n passes, `i` is the pass, a value of which one has been waited
/// for before the loop is that of `i+1` in it, and lines behind the loop
/// count from `n`.
void printSchedule(KernelOp kernel, llvm::raw_ostream &os);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_SCHEDULETABLE_H
