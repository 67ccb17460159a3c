//===- ElementRange.h - what an integer of an expression may be -----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_ELEMENTRANGE_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_ELEMENTRANGE_H

#include "TensorElement.h"

namespace fa4::attn {

/// The smallest and the largest number, both of 32 bits.
struct ElementRange {
  int64_t low, high;
};

/// What the indices of a dimension may be.
using DimRange = llvm::function_ref<ElementRange(unsigned dim)>;

/// The range of the indices of a dimension of `size`; kernels count the rows of
/// dynamic ones in 32 bits.
ElementRange getIndexRange(int64_t size);

/// What the integer `element` may be, where neither it nor what it is computed
/// from leaves 32 bits or its own type; nothing if that is not known.
std::optional<ElementRange> getRange(ElementRef element, DimRange ofDim);

/// Whether `condition` holds, if it does for all such indices or for none.
std::optional<bool> getTruth(ElementRef condition, DimRange ofDim);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_ELEMENTRANGE_H
