//===- QueryGradientProgram.h - the tile program of dq ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_QUERYGRADIENTPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_QUERYGRADIENTPROGRAM_H

#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4 {

/// Builds the kernel of dq where the main kernel has no room for its sums
/// (SdpaBackwardProgram.h). Its arguments are q, k, v, dout, shift, delta,
/// captured vectors, dq and captured scalars. The grid counts tiles of queries,
/// heads and batches.
void buildQueryGradientProgram(attn::SdpaBackwardOp op, tile::KernelOp kernel,
                               const BackwardTiles &tiles);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_QUERYGRADIENTPROGRAM_H
