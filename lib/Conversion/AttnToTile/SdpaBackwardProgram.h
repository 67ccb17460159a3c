//===- SdpaBackwardProgram.h - the gradient's tile programs ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of attention is three kernels, or four, of which each needs what
// the one before has written (notation: attn.sdpa_backward).
//
//   preprocess   shift[i] = -log2(e) lse[i], -inf in rows that see no key;
//                main and dq, whose scores are without the numbers that a
//                linear score_mod gives to queries (ScoreTerms.h), get it with
//                these added
//                delta[i] = rowsum(dout[i] * out[i]) - dlse[i]
//                sums[i]  = 0; terms[i]: see below
//   main         for each block of keys, over all blocks of queries that see
//                one of them: dk, dv, and sums[i] += ds[i] k
//   postprocess  dq[i] = scale sums[i], rounded
//   sinks        dsinks[h] = - sum of exp2(log2(e) sinks[h] + shift[i])
//   delta[i],
//                if the op asks for it
//
// The sums of dq are f32 numbers in memory, because all blocks of keys add to
// them. The rows of shift and delta have room for whole blocks of queries, so
// that each begins where the copy engine can read it whatever the length is;
// queries behind the last one have a shift of -inf and a delta of 0.
//
// Where lanes hold accumulators, `terms` have these numbers in a form that MMAs
// of the main kernel add (QueryTerms.h), if the exponents are linear in q.k.
//
// Where tensor memory has no room for dq beside the rest, there are no sums,
// and dq has a kernel of its own (QueryGradientProgram.h) in place of
// postprocess:
//
//   dq           for each block of queries, over all blocks of keys that one of
//                them sees: dq[i] = scale * sum of ds[i,j] k[j]
//
// It computes scores and ds again, two products in excess of the five. Nothing
// else adds to its rows, so that their bits are the same in each run.
//
// In a deterministic gradient with sums, blocks of keys take turns at the sums:
// `turns` has a number for each row of queries, of which the first one of a
// block counts the turns at that block; the preprocess kernel makes them 0.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_SDPABACKWARDPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_SDPABACKWARDPROGRAM_H

#include "fa4/Conversion/AttnToTile/AttnToTile.h"
#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4 {

// The functions of this file and of GradientRowProgram.h fill the empty body of
// `kernel`, whose grid counts tiles of rows (of keys in the main kernel), heads
// (key/value heads in the main kernel) and batches. The arguments of the kernel
// come in the order of the table. Some arguments have the same condition
// wherever they appear:
//
//   terms  where the tiles say so (BackwardTiles::addsTerms)
//   sums   unless dq has a kernel of its own
//   turns  where sums is there and the gradient is deterministic

/// The arguments of the main kernel:
///
///   q, k, v, dout     always
///   terms             see above
///   shift, delta      where there are no terms
///   captured vectors  those of `op`, if any
///   sums              see above
///   dk, dv            always
///   turns             see above
///   captured scalars  those of `op`, if any
void buildSdpaBackwardProgram(attn::SdpaBackwardOp op, tile::KernelOp kernel,
                              const BackwardTiles &tiles);
} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_SDPABACKWARDPROGRAM_H
