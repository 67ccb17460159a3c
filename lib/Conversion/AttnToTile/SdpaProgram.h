//===- SdpaProgram.h - the tile program of attention ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_SDPAPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_SDPAPROGRAM_H

#include "DividedKeys.h"
#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4 {

/// Fills the empty body of `kernel` with the program for `op`. The kernel's
/// arguments are q, k, v, out, lse (if `op` has one) and the captures, and its
/// grid counts query tiles, query heads and batches. Where keys are divided
/// (DividedKeys.h), it has the outputs of a split in the place of out and lse,
/// and its grid counts splits, the heads of work tiles and batches.
void buildSdpaProgram(attn::SdpaOp op, tile::KernelOp kernel,
                      const AttentionTiles &tiles,
                      const std::optional<DividedKeys> &divided);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_SDPAPROGRAM_H
