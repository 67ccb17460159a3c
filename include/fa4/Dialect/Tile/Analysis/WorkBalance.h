//===- WorkBalance.h - how work tiles differ ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds which work tiles take longer than others, and which of them read the
// same tensors. Both decide in which order to work on them.
//
// The work of a tile is the passes of its loops. The analysis looks at how the
// bounds of the loops depend on the coordinates of the work tile. With causal
// attention
//
//   n = ceildiv(min(256 i + 256, Sk), 128),    for j = 0 to n { load k[b, j, h]
//   }
//
// n rises with coordinate i and does not depend on h and b, so that tiles
// differ along axis 0, and those with the largest i take longest. The loads in
// the loop depend on h and b, not on i: the work tiles of one (h, b) read the
// same keys.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_WORKBALANCE_H
#define FA4_DIALECT_TILE_ANALYSIS_WORKBALANCE_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// How a number changes when one coordinate of the work tile grows and the
/// others stay the same. Sliding is the difference of two numbers that both
/// rise: a range that moves along (windows, documents) has about as many
/// elements everywhere.
enum class Trend { Constant, Rising, Falling, Sliding, Unknown };

struct WorkBalance {
  /// The axis along which work tiles read the same tensors in their loops.
  unsigned axis = 0;
  /// How the passes of the loops change along the axis; Constant if all work
  /// tiles take equally long.
  Trend trend = Trend::Constant;
  /// The bytes that the loops of a work tile read and that all work tiles along
  /// `axis` have in common, for each element of the dimension `size`. 0 if they
  /// read different bytes, or if the loops run along several dimensions.
  int64_t sharedBytes = 0;
  llvm::StringRef size;
};

/// Looks at a tile program whose coordinates come from tile.work_tile.
WorkBalance findWorkBalance(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_WORKBALANCE_H
