//===- TensorBox.cpp - one box of a tensor map ---------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorBox.h"
#include "../Machine/Numeric.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>
#include <cstring>

using namespace fa4::sim;

TensorBox::TensorBox(const TensorMap &tensorMap, const int32_t *coordinates)
    : map(tensorMap) {
  for (unsigned i = 0; i < 5; ++i) {
    at[i] = i < map.rank ? coordinates[i] : 0;
    extent[i] = i < map.rank ? map.box[i] : 1;
    // The traversal stride of dimension 0 is ignored without interleave.
    if (i > 0 && i < map.rank)
      extent[i] =
          (extent[i] + map.elementStrides[i] - 1) / map.elementStrides[i];
    if (i > 0)
      rows *= extent[i];
  }
  unsigned bits = map.elementBits();
  rowBytes = map.sharedBytes(extent[0]);
  globalRowBytes = extent[0] * bits / 8;
  int64_t begin = std::clamp<int64_t>(-int64_t(at[0]), 0, extent[0]);
  int64_t end = std::clamp<int64_t>(int64_t(map.dims[0]) - at[0], 0, extent[0]);
  rowBegin = begin * bits / 8;
  rowEnd = std::max(begin, end) * bits / 8;
}

uint64_t TensorBox::rowAddress(uint32_t row) const {
  if (rowBegin == rowEnd)
    return 0;
  uint64_t address =
      map.address + int64_t(at[0]) * map.elementBits() / 8 + rowBegin;
  for (unsigned i = 1; i < map.rank; ++i) {
    int64_t x =
        int64_t(at[i]) + int64_t(row % extent[i]) * map.elementStrides[i];
    row /= extent[i];
    if (x < 0 || uint64_t(x) >= map.dims[i])
      return 0;
    address += x * map.byteStrides[i - 1];
  }
  return address;
}

llvm::SmallVector<AccessRange, 4> TensorBox::ranges() const {
  llvm::SmallVector<AccessRange, 4> result;
  for (uint32_t row = 0; row < rows; row += extent[1]) {
    // Within dimension 1 the rows in bounds are contiguous.
    uint32_t first = 0;
    while (first < extent[1] && !rowAddress(row + first))
      ++first;
    uint32_t last = first;
    while (last < extent[1] && rowAddress(row + last))
      ++last;
    if (first == last)
      continue;
    uint64_t stride =
        map.rank > 1 ? map.byteStrides[0] * map.elementStrides[1] : 0;
    uint64_t address = rowAddress(row + first);
    if (stride == rowEnd - rowBegin) // One run.
      result.push_back({address, (rowEnd - rowBegin) * (last - first)});
    else
      result.push_back({address, rowEnd - rowBegin, last - first, stride});
  }
  return result;
}

/// Fills the bytes of elements outside of the tensor.
static void fillOutside(const TensorMap &map, uint8_t *to, uint32_t bytes) {
  std::memset(to, 0, bytes);
  if (!map.fillNan)
    return;
  unsigned size = map.elementBits() / 8;
  for (uint32_t i = 0; i + size <= bytes; i += size) {
    // The NaN with all bits but the sign set.
    std::memset(to + i, 0xFF, size);
    to[i + size - 1] = 0x7F;
  }
}

static bool flushes(TensorMapType type) {
  return type == TensorMapType::F32Ftz || type == TensorMapType::TF32Ftz;
}

/// Between a dense row and its swizzled place: calls
/// copy(offset in the row, shared offset, bytes).
template <typename F>
static void forEachChunk(TensorMapSwizzle swizzle, uint32_t base,
                         uint32_t bytes, F copy) {
  if (swizzle == TensorMapSwizzle::None)
    return copy(0, base, bytes);
  uint32_t chunk = swizzle == TensorMapSwizzle::B128Atom32BFlip8B ? 8 : 16;
  for (uint32_t i = 0; i < bytes; i += chunk)
    copy(i, swizzleAddress(swizzle, base + i), std::min(chunk, bytes - i));
}

llvm::SmallVector<AccessRange, 4>
TensorBox::sharedRanges(uint32_t address) const {
  constexpr uint32_t swizzled = 128; // Swizzling permutes within that many.
  uint32_t base = address & sharedOffsetMask, window = address - base;
  llvm::SmallVector<AccessRange, 4> result;
  auto add = [&](uint32_t offset, uint32_t bytes) {
    if (!result.empty() &&
        result.back().address + result.back().bytes == window + offset)
      result.back().bytes += bytes;
    else
      result.push_back({window + offset, bytes});
  };
  bool isWhole = map.isPadded() || (rowBegin == 0 && rowEnd == globalRowBytes);
  // Blocks of rows within which bytes are permuted, where all are in bounds.
  uint32_t together = rowBytes % swizzled == 0   ? 1
                      : swizzled % rowBytes == 0 ? swizzled / rowBytes
                                                 : rows;
  auto isInBounds = [&](uint32_t row) { return rowAddress(row) != 0; };
  for (uint32_t row = 0; row < rows; ++row) {
    uint32_t start = base + row * rowBytes;
    if (isWhole && row % together == 0 && row + together <= rows &&
        llvm::all_of(llvm::seq(row, row + together), isInBounds)) {
      add(start, together * rowBytes);
      row += together - 1;
      continue;
    }
    if (!isInBounds(row))
      continue;
    forEachChunk(map.swizzle, start, rowBytes,
                 [&](uint32_t from, uint32_t to, uint32_t count) {
                   uint32_t begin = isWhole ? from : std::max(from, rowBegin);
                   uint32_t end =
                       isWhole ? from + count : std::min(from + count, rowEnd);
                   if (begin < end)
                     add(to + begin - from, end - begin);
                 });
  }
  return result;
}

/// A row of padded elements: each 16 of them get 16 bytes of shared memory. The
/// manual leaves the padding's contents open; all ones show who reads them.
static void pad(const TensorMap &map, const uint8_t *from, uint8_t *to,
                uint32_t bytes) {
  const uint32_t group = 16 * map.elementBits() / 8;
  std::memset(to, 0xFF, bytes);
  for (uint32_t i = 0; i < bytes; i += 16, from += group)
    std::memcpy(to + i, from, group);
}

/// A row of bytes with 6 bits each, without the bits between (b6p2x16).
static void packSixBits(const uint8_t *from, uint8_t *to, uint32_t elements) {
  uint32_t bits = 0, count = 0;
  for (uint32_t i = 0; i < elements; ++i) {
    bits |= uint32_t(from[i] & 0x3F) << count;
    for (count += 6; count >= 8; count -= 8, bits >>= 8)
      *to++ = uint8_t(bits);
  }
}

void TensorBox::load(uint8_t *window, uint32_t base, intptr_t toHost,
                     uint32_t begin, uint32_t end) const {
  llvm::SmallVector<uint8_t, 1024> buffer(rowBytes), padded;
  if (map.isPadded())
    padded.resize(rowBytes);
  for (uint32_t row = begin; row < end; ++row) {
    uint64_t address = rowAddress(row);
    const uint8_t *source = buffer.data();
    const uint8_t *global = reinterpret_cast<const uint8_t *>(address + toHost);
    if (address && rowBegin == 0 && rowEnd == globalRowBytes &&
        !flushes(map.type)) {
      source = global;
    } else {
      fillOutside(map, buffer.data(), globalRowBytes);
      if (address)
        std::memcpy(buffer.data() + rowBegin, global, rowEnd - rowBegin);
      if (flushes(map.type))
        for (uint32_t i = 0; i < rowBytes; i += 4) {
          float x;
          std::memcpy(&x, &buffer[i], 4);
          x = flush(x);
          std::memcpy(&buffer[i], &x, 4);
        }
    }
    if (map.isPadded()) {
      pad(map, source, padded.data(), rowBytes);
      source = padded.data();
    }
    forEachChunk(map.swizzle, base + row * rowBytes, rowBytes,
                 [&](uint32_t from, uint32_t to, uint32_t count) {
                   std::memcpy(window + to, source + from, count);
                 });
  }
}

void TensorBox::readShared(const uint8_t *window, uint32_t base, uint32_t row,
                           uint8_t *to) const {
  llvm::SmallVector<uint8_t, 256> padded(map.isPadded() ? rowBytes : 0);
  uint8_t *bytes = map.isPadded() ? padded.data() : to;
  forEachChunk(map.swizzle, base + row * rowBytes, rowBytes,
               [&](uint32_t offset, uint32_t from, uint32_t count) {
                 std::memcpy(bytes + offset, window + from, count);
               });
  if (map.isPadded())
    packSixBits(bytes, to, rowBytes);
}
