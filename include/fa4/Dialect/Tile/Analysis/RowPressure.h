//===- RowPressure.h - registers that a thread's rows take ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_ROWPRESSURE_H
#define FA4_DIALECT_TILE_ANALYSIS_ROWPRESSURE_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// The registers of 32 bits that the rows of a thread take at the worst point
/// of a role after `tile-distribute`, if fragments of rows are worked on one
/// after the other.
struct RowPressure {
  /// Of whole rows, which are held until something comes from another role.
  uint64_t held = 0;
  /// Of the others, for each column of a fragment.
  double perColumn = 0;

  /// Returns the registers with fragments of `columns`, where the next fragment
  /// is read while one is worked on. 0 if no row is held: then what reduces
  /// rows says how much of them is there.
  uint64_t getRegisters(int64_t columns) const {
    return held == 0 ? 0 : held + uint64_t((perColumn + 1) * columns);
  }
};

/// Returns the pressure of that block of the role in which most is held.
RowPressure findRowPressure(RoleOp role);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROWPRESSURE_H
