//===- Swizzle.h - swizzled addresses of shared memory -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor copies and matrix descriptors permute 16-byte chunks (or larger
// atoms) of shared memory by bits of the address itself: an exclusive or of
// chunk-index bits with row bits (PTX ISA, "Swizzling modes").
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_SWIZZLE_H
#define FA4_LIB_SIMULATOR_ASYNC_SWIZZLE_H

#include "fa4/Simulator/Machine/TensorMap.h"

namespace fa4::sim {

/// Returns the address at which the byte with linear address `a` is stored.
inline uint32_t swizzleAddress(TensorMapSwizzle swizzle, uint32_t a) {
  switch (swizzle) {
  case TensorMapSwizzle::None:
    return a;
  case TensorMapSwizzle::B32:
    return a ^ (a >> 3 & 0x10);
  case TensorMapSwizzle::B64:
    return a ^ (a >> 3 & 0x30);
  case TensorMapSwizzle::B128:
    return a ^ (a >> 3 & 0x70);
  case TensorMapSwizzle::B128Atom32B:
    return a ^ (a >> 2 & 0x60);
  case TensorMapSwizzle::B128Atom32BFlip8B:
    return a ^ (a >> 2 & 0x60) ^ (a >> 4 & 0x8);
  case TensorMapSwizzle::B128Atom64B:
    return a ^ (a >> 1 & 0x40);
  }
  return a;
}

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_SWIZZLE_H
