//===- Passes.td - passes on the tile dialect -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD

// In the order of the pipeline.
include "fa4/Dialect/Tile/Transforms/ProgramPasses.td"
include "fa4/Dialect/Tile/Transforms/RolePasses.td"
// They have a page of their own.
#ifndef FA4_SCHEDULE_PASSES_APART
include "fa4/Dialect/Tile/Transforms/SchedulePasses.td"
#endif
include "fa4/Dialect/Tile/Transforms/MemoryPasses.td"
include "fa4/Dialect/Tile/Transforms/LanePasses.td"
include "fa4/Dialect/Tile/Transforms/ProtocolPasses.td"

#endif // FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
