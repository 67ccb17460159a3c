//===- VisibleBlocksProgram.h - which blocks a mask shows ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a mask_mod shows may depend on tables, whose numbers nobody knows before
// the call. Two small kernels in front of the main one then find the positions
// that each of its work tiles has to visit. For work tiles of queries they are:
//
//   terms    least[g], largest[g] of each term of the keys (MaskBounds.h), for
//            each group g of kGroup keys
//   visible  first_visible[t], last_visible[t]: the first and the last key of
//            the groups of which work tile t may see a key; and where bounds
//            can tell it, first_full[t], last_full[t]: keys all of which each
//            query of t sees
//
// For work tiles of keys, queries and keys change places. A work tile of both
// kernels has 128 groups or 128 work tiles, one for each thread, of a sequence;
// and of a query head, if mask_mod depends on the head.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLEBLOCKSPROGRAM_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLEBLOCKSPROGRAM_H

#include "MaskBounds.h"
#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4 {

/// Work tiles of `rows` queries, or keys, each of which sees keys, or queries.
struct VisibleBlocksRequest {
  MaskSide tiles;
  int64_t rows;

  MaskSide getOtherSide() const {
    return tiles == MaskSide::Queries ? MaskSide::Keys : MaskSide::Queries;
  }
};

/// The positions of a group. A divisor of the rows of all work tiles.
inline constexpr int64_t kGroup = 64;
/// The rows of the two kernels' work tiles.
inline constexpr int64_t kVisibleRows = 128;

/// The names of the arguments that have positions for each work tile.
inline constexpr llvm::StringLiteral kFirstVisible = "first_visible",
                                     kLastVisible = "last_visible",
                                     kFirstFull = "first_full",
                                     kLastFull = "last_full";
/// Returns those that a mask has.
llvm::SmallVector<llvm::StringRef> getPositionNames(const MaskBounds &mask);

/// The names of the arguments that have the bounds of term `number`.
inline std::string getLeastName(unsigned number) {
  return "least" + std::to_string(number);
}
inline std::string getLargestName(unsigned number) {
  return "largest" + std::to_string(number);
}

/// Returns the terms of the side that work tiles do not have, without the
/// position itself, which needs no kernel.
llvm::SmallVector<mlir::Value> getGroupTerms(attn::AttentionOpInterface op,
                                             const MaskBounds &mask,
                                             const VisibleBlocksRequest &tiles);

/// Fill the empty body of a kernel. The arguments:
///
///   q, k              always
///   captured tensors  those of `op`
///   least, largest    for each of the group terms: outputs of the first
///                     kernel, inputs of the second one
///   first_visible...  outputs of the second kernel
///   captured scalars  those of `op`
void buildTermsProgram(attn::AttentionOpInterface op, tile::KernelOp kernel,
                       const MaskBounds &mask,
                       const VisibleBlocksRequest &tiles);
void buildVisibleBlocksProgram(attn::AttentionOpInterface op,
                               tile::KernelOp kernel, const MaskBounds &mask,
                               const VisibleBlocksRequest &tiles);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLEBLOCKSPROGRAM_H
