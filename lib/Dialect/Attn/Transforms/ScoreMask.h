//===- ScoreMask.h - the mask in the expression of a score ----------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_SCOREMASK_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_SCOREMASK_H

#include "TensorElement.h"

namespace fa4::attn {

/// A key is visible where `condition` holds, or, with `isHidden`, where it does
/// not.
struct ScoreMask {
  ElementRef condition = nullptr;
  bool isHidden = false;
};

/// Takes the masks off `scores`: select(c, x, -inf), and what adds
/// select(c, 0, -inf), below whatever leaves -inf as it is. A number of at most
/// -1e30 is -inf where it is sure that each of the queries, whose number must
/// be known for that, sees a key. `product` is what a condition must not depend
/// on. Returns the scores of visible keys.
ElementRef splitMasks(ElementRef scores, ElementRef product, unsigned query,
                      unsigned key, ElementTracer &tracer,
                      llvm::SmallVectorImpl<ScoreMask> &masks);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_SCOREMASK_H
