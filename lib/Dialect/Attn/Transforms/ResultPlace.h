//===- ResultPlace.h - where a product's result goes ----------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_RESULTPLACE_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_RESULTPLACE_H

#include "AttentionMatch.h"

namespace fa4::attn {

/// Where in the result of `user`, in the same block, the element at `place`
/// goes, if `user` reshapes, transposes, or works element by element; nothing
/// if that is not known. What becomes of the element is left to the tracer.
std::optional<Place> followPlace(const Place &place, mlir::Operation *user,
                                 ElementTracer &tracer);

/// Sets `result` to the tensor at `place`, whose indices must be those of the
/// batch, the query head, `row` and `inner`, with heads that may be merged with
/// batches or be in groups. False if they are others.
bool nameResult(const AttentionMatch &match, const ElementTracer &tracer,
                const Place &place, int row, int inner,
                AttentionOperand &result);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_RESULTPLACE_H
