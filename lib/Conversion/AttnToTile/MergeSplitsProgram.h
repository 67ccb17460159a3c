//===- MergeSplitsProgram.h - the results of splits, merged ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each split of a sequence's keys (DividedKeys.h) has the state of an online
// softmax. Two states are merged as one is moved to a new maximum: their sums
// and normalizers are multiplied by exp2(max - new max) and added.
//
// A work tile of the merge kernel has a row of out, or a part of it. Its
// threads have an element each, so that the kernel has no shared memory: an SM
// works on many rows, and waits for the numbers of several splits at a time.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_MERGESPLITSPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_MERGESPLITSPROGRAM_H

#include "DividedKeys.h"

namespace fa4 {

/// Returns how many work tiles a head and sequence has.
int64_t countMergedTiles(attn::SdpaOp op, const DividedKeys &divided);

/// Fills the empty body of a kernel with the arguments split_sum, split_max,
/// split_normalizer, sinks (if `op` has some), out and lse (if `op` has one).
/// Its grid counts work tiles, heads and batches.
void buildMergeSplitsProgram(attn::SdpaOp op, tile::KernelOp kernel,
                             const DividedKeys &divided);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_MERGESPLITSPROGRAM_H
