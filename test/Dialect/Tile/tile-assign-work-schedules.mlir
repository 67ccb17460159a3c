// The schedule that is asked for is the one that kernels get, those of tile-assign-work.mlir here: work tiles are numbered
// and handed out, or the grid stays. A kernel that says its schedule itself keeps that.
//
// RUN: fa4-opt %S/tile-assign-work.mlir --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=static}))' | FileCheck %s --check-prefix=STATIC
// RUN: fa4-opt %S/tile-assign-work.mlir --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=clc}))' | FileCheck %s --check-prefix=CLC
// RUN: fa4-opt %S/tile-assign-work.mlir --split-input-file --pass-pipeline='builtin.module(tile.kernel(tile-assign-work{schedule=grid}))' | FileCheck %s --check-prefix=GRID

// CTAs stay, and take their work tiles in the order that begins with the longest.
// STATIC-LABEL: tile.kernel @causal
// STATIC-SAME: descending = true
// STATIC-SAME: schedule = #tile.schedule<static>
// STATIC: tile.work (%[[I:.*]], %[[H:.*]]) {
// STATIC: arith.muli %[[I]],
// STATIC-LABEL: tile.kernel @given
// STATIC-SAME: schedule = #tile.schedule<lpt>

// CTAs ask for work tiles.
// CLC-LABEL: tile.kernel @causal
// CLC-SAME: schedule = #tile.schedule<clc>
// CLC: tile.work
// CLC-LABEL: tile.kernel @given
// CLC-SAME: schedule = #tile.schedule<lpt>

// Each work tile has a CTA, in the order of the grid.
// GRID-LABEL: tile.kernel @causal
// GRID-NOT: schedule
// GRID: tile.work_tile
// GRID-LABEL: tile.kernel @given
// GRID-SAME: schedule = #tile.schedule<lpt>
