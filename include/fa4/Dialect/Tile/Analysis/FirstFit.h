//===- FirstFit.h - first-fit placement of buffers ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_FIRSTFIT_H
#define FA4_DIALECT_TILE_ANALYSIS_FIRSTFIT_H

#include "mlir/Support/LLVM.h"
#include <cstdint>

namespace fa4::tile {

/// A contiguous range of bytes or columns.
struct PlacedBuffer {
  int64_t size;
  int64_t alignment;
  int64_t offset = 0;

  int64_t end() const { return offset + size; }
};

/// Puts each buffer at the lowest place where it overlaps no buffer with which
/// it may not share memory. Larger buffers are placed first; equal ones keep
/// their order. `mayShare` gets the indices of two buffers. Returns the end of
/// the highest buffer.
int64_t placeFirstFit(llvm::MutableArrayRef<PlacedBuffer> buffers,
                      llvm::function_ref<bool(unsigned, unsigned)> mayShare);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_FIRSTFIT_H
