//===- FirstFit.cpp - first-fit placement of buffers ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/Analysis/FirstFit.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace fa4::tile;

int64_t
fa4::tile::placeFirstFit(MutableArrayRef<PlacedBuffer> buffers,
                         function_ref<bool(unsigned, unsigned)> mayShare) {
  SmallVector<unsigned> bySize = to_vector(seq<unsigned>(0, buffers.size()));
  sort(bySize, [&](unsigned a, unsigned b) {
    return std::pair(-buffers[a].size, a) < std::pair(-buffers[b].size, b);
  });
  int64_t top = 0;
  for (auto [n, index] : enumerate(bySize)) {
    PlacedBuffer &buffer = buffers[index];
    SmallVector<unsigned> others;
    for (unsigned other : ArrayRef(bySize).take_front(n))
      if (!mayShare(index, other))
        others.push_back(other);
    sort(others, [&](unsigned a, unsigned b) {
      return std::pair(buffers[a].offset, a) < std::pair(buffers[b].offset, b);
    });
    buffer.offset = 0;
    for (unsigned other : others)
      if (buffers[other].offset < buffer.end() &&
          buffer.offset < buffers[other].end())
        buffer.offset = alignTo(buffers[other].end(), buffer.alignment);
    top = std::max(top, buffer.end());
  }
  return top;
}
