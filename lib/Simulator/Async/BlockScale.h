//===- BlockScale.h - scale factors of an MMA ----------------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An MMA of a kind that scales blocks multiplies each block of 16 or 32
// elements of a row of A, and of a column of B, with a factor of its own, which
// is in tensor memory (PTX ISA, "Block Scaling"). The factors of row r are in
// lane r % 32 and column r / 32, a byte each, neighbours along K in a word.
// Each quarter of the 128 lanes holds all factors that the rows of D in it
// need.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ASYNC_BLOCKSCALE_H
#define FA4_LIB_SIMULATOR_ASYNC_BLOCKSCALE_H

#include "MatrixOperand.h"
#include "Tcgen05.h"

namespace fa4::sim {

/// The value of a scale factor.
double decodeScale(uint8_t bits, ScaleType type);

/// The factors of A or of B.
struct ScaleMatrix {
  uint32_t column = 0; ///< Of tensor memory, where row 0 is.
  unsigned id = 0;     ///< Byte of the word in which a row's factors begin.
  unsigned perRow = 0; ///< Factors of a row, for one instruction's K.
  ScaleType type = ScaleType::UE8M0;

  /// Columns that hold the factors of `rows` rows. Those of a row that reach
  /// beyond a word go on in the same column of the next 128 rows' place.
  unsigned columns(unsigned rows) const {
    return columnsOfWord(rows) * ((id + perRow + 3) / 4);
  }
  /// Factor `block` of row `row`, as lanes 32 * quarter to 32 * quarter + 31
  /// see it; `rows` of the whole matrix.
  double at(const TensorMemory &memory, unsigned quarter, unsigned row,
            unsigned rows, unsigned block) const;

private:
  static unsigned columnsOfWord(unsigned rows) { return (rows + 31) / 32; }
};

/// Returns what is wrong with the data identifier of scale factors, `perRow` of
/// them a row, or null.
const char *checkScaleId(unsigned id, unsigned perRow);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ASYNC_BLOCKSCALE_H
