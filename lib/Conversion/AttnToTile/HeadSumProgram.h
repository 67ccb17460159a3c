//===- HeadSumProgram.h - sums over all queries of a head ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_HEADSUMPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_HEADSUMPROGRAM_H

#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4 {

// Each function fills the empty body of `kernel`, whose grid counts tiles of
// heads.

/// The gradient of the sinks (SdpaBackwardProgram.h). The arguments are shift,
/// delta, sinks and dsinks, always.
void buildSinksProgram(attn::SdpaBackwardOp op, tile::KernelOp kernel,
                       const BackwardTiles &tiles);
/// The gradient of a capture from the parts of its rows (CaptureProgram.h). The
/// arguments are parts and dcapture, always.
void buildCaptureSumProgram(attn::SdpaBackwardOp op, tile::KernelOp kernel,
                            const BackwardTiles &tiles);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_HEADSUMPROGRAM_H
