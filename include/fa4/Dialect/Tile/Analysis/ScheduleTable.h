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

/// Prints a table of what each role does: a line for each of its MMAs, loads,
/// stores and operations on channels, in program order. Also prints the stages
/// of each channel. The table is read off the IR, so it is right at any level
/// with roles.
///
/// A line gives the iteration to which the value belongs. In the first loop of
/// a role, `i` is the pass. A role that has waited for a value before the loop
/// is one value ahead: its wait in the loop gives the value of `i+1`. If the
/// loop makes n passes, lines behind it count from `n`.
void printSchedule(KernelOp kernel, llvm::raw_ostream &os);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_SCHEDULETABLE_H
