//===- MaskModAnalysis.h - bands in mask_mod regions ---------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_IR_MASKMODANALYSIS_H
#define FA4_LIB_DIALECT_ATTN_IR_MASKMODANALYSIS_H

#include "mlir/IR/Region.h"
#include <optional>

namespace fa4::attn {

/// A top-left aligned band: key j is visible to query i iff
/// i - left <= j <= i + right, where a missing bound does not limit.
struct Band {
  std::optional<int64_t> left, right;

  bool operator==(const Band &other) const {
    return left == other.left && right == other.right;
  }
  void intersect(const Band &other);
  /// Makes this the smallest band that holds both.
  void unite(const Band &other);
};

/// One factor of the conjunction that a mask_mod yields, and the band of keys
/// that this factor shows.
struct BandConjunct {
  mlir::OpOperand *use;
  Band band;
  /// The constant that takes the factor out if it is put in its place: false
  /// for one that is negated.
  bool neutral;
};

/// Returns those factors of the conjunction yielded by `maskMod` that compare
/// the query index with the key index, or their distance's absolute value with
/// a constant. A conjunction is written as nested `arith.andi`, as `arith.ori`
/// under a negation (`arith.xori` with true), or as `arith.select` with a
/// constant.
///
/// Index arithmetic is taken as exact: sequence positions are non-negative and
/// far below 2^31.
llvm::SmallVector<BandConjunct> findBandConjuncts(mlir::Region &maskMod);

/// Returns a band that holds every key that `maskMod` shows, and may hold
/// others: the numbers of blocks that positions lie in are compared, as in
/// i / 256 == j / 256, and conditions are combined in any way. Returns nothing
/// if `maskMod` is seen to hide all keys.
std::optional<Band> findImpliedBand(mlir::Region &maskMod);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_IR_MASKMODANALYSIS_H
