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

/// Prints the operations of each role on channels, its MMAs, loads and stores,
/// one line for each in program order; and the stages of each channel. The
/// table is read off the IR, so it is right at any level with roles.
///
/// A line gives the iteration of the value. In the first loop of a role, `i` is
/// the pass. If a value has been waited for before the loop, the wait in the
/// loop gets that of `i+1`. If the loop makes n passes, lines behind it count
/// from `n`.
void printSchedule(KernelOp kernel, llvm::raw_ostream &os);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_SCHEDULETABLE_H
