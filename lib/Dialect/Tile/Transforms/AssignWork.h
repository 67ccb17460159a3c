//===- AssignWork.h - which CTA works on which tile ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ASSIGNWORK_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ASSIGNWORK_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Returns the schedules for a tile program whose schedule nobody has chosen,
/// the best one first. All but the last one must be tried: the kernel may not
/// allow them.
llvm::SmallVector<Schedule> getSchedulesToTry(KernelOp kernel);

/// Gives the kernel the schedule, the order in which its work tiles are worked
/// on, and the `tile.work` around work on several tiles. A kernel that has a
/// schedule or roles stays as it is. With `static`, CTAs go on to further work
/// tiles where no more than `fewBlocks` of unequal length are along the order's
/// axis (0: always). Emits an error if the kernel cannot have this schedule.
llvm::LogicalResult assignWork(KernelOp kernel, Schedule schedule,
                               int64_t fewBlocks = 0);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ASSIGNWORK_H
