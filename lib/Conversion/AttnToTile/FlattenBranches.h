//===- FlattenBranches.h - branches of mods as selections -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_FLATTENBRANCHES_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_FLATTENBRANCHES_H

#include "mlir/IR/Region.h"

namespace fa4 {

/// Replaces each `scf.if` of a score_mod or mask_mod by the operations of both
/// branches, and a selection for each result. A lane works on many scores at
/// once, of which some take one branch and some the other.
///
/// This is sound for kernels although neither branch was guarded by nothing: an
/// element that is read beyond a table's end is another one of the table
/// (docs/support-matrix.md), a division by zero has some result, and a
/// derivative is selected, not multiplied by 0.
void flattenBranches(mlir::Region &region);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_FLATTENBRANCHES_H
