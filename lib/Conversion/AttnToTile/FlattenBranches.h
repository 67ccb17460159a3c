//===- FlattenBranches.h - branches of mods as selections -----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_FLATTENBRANCHES_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_FLATTENBRANCHES_H

#include "fa4/Dialect/Attn/IR/Attn.h"

namespace fa4 {

/// Replaces each `scf.if` of the op's score_mod and mask_mod by the operations
/// of both branches, and a selection for each result. A lane works on many
/// scores at once, of which some take one branch and some the other.
///
/// Both branches are computed for all scores, which is sound in a kernel: a
/// division by zero has some result, and a derivative is selected, not
/// multiplied by 0. A branch may be what keeps an index of a captured tensor in
/// bounds. Where it is not taken, the index is 0, unless it is the batch's or
/// the head's, at which tensors have elements.
void flattenBranches(attn::AttentionOpInterface op);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_FLATTENBRANCHES_H
