//===- TileSchedule.h - the passes that schedule roles ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_PIPELINES_TILESCHEDULE_H
#define FA4_PIPELINES_TILESCHEDULE_H

#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace fa4 {

/// Adds the passes that schedule the roles of a kernel by its plan. A kernel
/// without a plan gets one first. With `verify`, the protocol of the result is
/// proven.
void addTileSchedule(mlir::OpPassManager &kernels,
                     const tile::TilePlanOptions &plan,
                     const tile::TileStagesOptions &stages, bool verify);

/// Registers these passes as the pipeline `tile-schedule`, for modules and for
/// kernels.
void registerTileSchedulePipeline();

} // namespace fa4

#endif // FA4_PIPELINES_TILESCHEDULE_H
