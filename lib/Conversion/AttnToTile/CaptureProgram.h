//===- CaptureProgram.h - tile programs of captures' gradients ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a captured value c takes two kernels behind those of
// SdpaBackwardProgram.h, in whose notation they are:
//
//   capture      parts[i] = sum of p[i,j] (dp[i,j] - delta[i]) ds[i,j]/dc over
//                the keys j
//   capture sum  dc[h] = the sum of parts[i] over the queries of head h
//
// They compute the scores again, which is two products of five more than the
// main kernel's. That kernel's registers and shared memory are in use; and its
// rows are keys, so that a sum for each query head would take as many sums a
// thread as there are heads in a group.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_CAPTUREPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_CAPTUREPROGRAM_H

#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4 {

/// Fills the empty body of `kernel`, that of capture number `capture`, whose
/// grid counts tiles of queries, heads and batches. The capture's sum is a
/// HeadSumProgram. The arguments of the kernel:
///
///   q, k, v, dout, shift, delta  always
///   captured vectors             those of `op`, if any
///   parts                        always
///   captured scalars             those of `op`, if any
void buildCaptureProgram(attn::SdpaBackwardOp op, tile::KernelOp kernel,
                         const BackwardTiles &tiles, unsigned capture);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_CAPTUREPROGRAM_H
