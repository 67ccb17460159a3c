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
  /// The registers of whole rows, which are held until a value comes from
  /// another role.
  uint64_t held = 0;
  /// The registers of the other rows, for each column of a fragment.
  double perColumn = 0;

  /// Returns the registers with fragments of `columns`, where the next fragment
  /// is read while one is worked on. Returns 0 if no row is held: in such
  /// roles, the reductions decide how much of a row is in registers.
  uint64_t getRegisters(int64_t columns) const {
    return held == 0 ? 0 : held + uint64_t((perColumn + 1) * columns);
  }
};

/// Returns the pressure of the block of the role that holds most.
RowPressure findRowPressure(RoleOp role);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_ROWPRESSURE_H
