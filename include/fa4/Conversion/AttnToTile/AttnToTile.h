//===- AttnToTile.h - which attention ops have a tile program ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_ATTNTOTILE_ATTNTOTILE_H
#define FA4_CONVERSION_ATTNTOTILE_ATTNTOTILE_H

#include "fa4/Dialect/Attn/IR/Attn.h"
#include "fa4/Target/TargetDescription.h"
#include <optional>
#include <string>

namespace fa4 {

/// Sizes of the tiles of scores that one CTA works on.
struct AttentionTiles {
  /// Query rows: a multiple of the rows of the target's MMA.
  int64_t rows;
  /// Keys of one block.
  int64_t keys;
};

/// The tiles for `headDim` elements a row of q, k, v and out: as many tiles of
/// the MMA's rows, each with an f32 accumulator of scores and one of the
/// output, as fit in tensor memory and as lanes can hold a row of scores of.
/// Fewer where `queries`, the number of query rows if it is known, needs fewer.
/// No rows if not even one fits.
AttentionTiles chooseAttentionTiles(const TargetDescription &target,
                                    int64_t headDim,
                                    std::optional<int64_t> queries);

/// Why there is no kernel for `op` on `target`, as one line that names the
/// combination; nothing if there is one.
std::optional<std::string> explainUnsupported(attn::AttentionOpInterface op,
                                              const TargetDescription &target);

/// An error on `op` with the explanation, if there is no kernel for it.
llvm::LogicalResult checkLegality(attn::AttentionOpInterface op,
                                  const TargetDescription &target);

} // namespace fa4

#endif // FA4_CONVERSION_ATTNTOTILE_ATTNTOTILE_H
