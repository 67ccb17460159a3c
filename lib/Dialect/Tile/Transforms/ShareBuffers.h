//===- ShareBuffers.h - channels that use the same memory ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_SHAREBUFFERS_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_SHAREBUFFERS_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Target/TargetDescription.h"

namespace fa4::tile {

/// Makes channels use tensor memory in turn (`in_place_of`), as far as the
/// order of the roles allows, and with additional waiting if the columns of the
/// target do not suffice otherwise. Returns the columns that the kernel then
/// needs, which may still be more than the target has.
int64_t shareBuffersInTurn(KernelOp kernel, const TargetDescription &target);

/// Calls shareBuffersInTurn, and records (`after`) whose memory a channel may
/// take over because it is dead.
void shareBuffers(KernelOp kernel, const TargetDescription &target);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_SHAREBUFFERS_H
