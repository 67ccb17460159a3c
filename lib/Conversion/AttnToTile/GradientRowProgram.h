//===- GradientRowProgram.h - before and after the main kernel -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient's kernels that work on each row of queries by itself
// (SdpaBackwardProgram.h says what they compute).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_GRADIENTROWPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_GRADIENTROWPROGRAM_H

#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4 {

/// Clears the arguments, which have numbers of rows of packed queries: those of
/// the preprocess kernel's and the captures' outputs that there are.
void buildClearProgram(attn::SdpaBackwardOp op, tile::KernelOp kernel,
                       const BackwardTiles &tiles);

/// The arguments of the preprocess kernel:
///
///   out, dout, lse    always
///   dlse              if `op` has it
///   captured vectors  where a linear score_mod gives queries numbers
///   shift, delta      where a kernel reads them
///   moved_shift       likewise: shift without the numbers of score_mod
///   terms             see SdpaBackwardProgram.h
///   sums, turns       see there
///   captured scalars  as the vectors
void buildPreprocessProgram(attn::SdpaBackwardOp op, tile::KernelOp kernel,
                            const BackwardTiles &tiles);
/// The arguments are sums and dq, always.
void buildPostprocessProgram(attn::SdpaBackwardOp op, tile::KernelOp kernel,
                             const BackwardTiles &tiles);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_GRADIENTROWPROGRAM_H
