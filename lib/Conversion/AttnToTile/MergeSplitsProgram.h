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
// A work tile of the merge kernel has a part of the columns of out, of the rows
// of one query, which are as many heads; or of all queries, if a tile of the
// kernel before has one head.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_MERGESPLITSPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_MERGESPLITSPROGRAM_H

#include "DividedKeys.h"

namespace fa4 {

/// The rows of a work tile, one for each thread of a warpgroup, and its columns
/// of out. Head dims are multiples of them.
inline constexpr int64_t kMergedRows = 128, kMergedColumns = 32;

/// Returns how many work tiles a head and sequence has.
int64_t countMergedTiles(attn::SdpaOp op, const DividedKeys &divided);

/// Fills the empty body of a kernel with the arguments split_sum, split_max,
/// split_normalizer, sinks (if `op` has some), out and lse (if `op` has one).
/// Its grid counts work tiles, heads and batches.
void buildMergeSplitsProgram(attn::SdpaOp op, tile::KernelOp kernel,
                             const DividedKeys &divided);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_MERGESPLITSPROGRAM_H
