//===- ExecutionCounts.h - how often operations of a role run ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each role computes its loop bounds for itself. To tell that two roles do
// something equally often, counts are compared as forms over the values from
// which the bounds are computed (IndexForms.h). For example, a loop over [0, n
// - 1) and its peeled last pass together run as often as another role's loop
// over [0, n).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_EXECUTIONCOUNTS_H
#define FA4_DIALECT_TILE_ANALYSIS_EXECUTIONCOUNTS_H

#include "fa4/Dialect/Tile/Analysis/IndexForms.h"

namespace fa4::tile {

class ExecutionCounts {
public:
  /// Returns how often `op` runs in one run of its role. Equal forms mean equal
  /// counts, whatever the values of the symbols; equal counts may have
  /// different forms. A product of a loop's count and a term that depends on
  /// the loop's induction variable stands for the sum over the loop.
  IndexForm getCount(mlir::Operation *op);

  /// Returns the forms of which counts are made.
  IndexForms &getForms() { return forms; }

private:
  IndexForms forms;
};

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_EXECUTIONCOUNTS_H
