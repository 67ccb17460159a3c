//===- BlockScale.cpp - scale factors of an MMA --------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockScale.h"
#include "../Machine/Numeric.h"
#include <cmath>
#include <limits>

using namespace fa4::sim;

double fa4::sim::decodeScale(uint8_t bits, ScaleType type) {
  if (type == ScaleType::UE4M3) // The sign is ignored.
    return decode(bits & 0x7F, e4m3Format);
  constexpr int bias = 127;
  return bits == 0xFF ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(1.0, int(bits) - bias);
}

double ScaleMatrix::at(const TensorMemory &memory, unsigned quarter,
                       unsigned row, unsigned rows, unsigned block) const {
  unsigned byte = id + block;
  uint32_t cell =
      memory.row(32 * quarter +
                 row % 32)[column + row / 32 + byte / 4 * columnsOfWord(rows)];
  return decodeScale(cell >> byte % 4 * 8 & 0xFF, type);
}

const char *fa4::sim::checkScaleId(unsigned id, unsigned perRow) {
  switch (perRow) {
  case 2:
  case 6:
    return id % 2 ? "the scale factors' data identifier must be 0 or 2"
                  : nullptr;
  case 4:
    return id ? "the scale factors' data identifier must be 0" : nullptr;
  default:
    return nullptr;
  }
}
