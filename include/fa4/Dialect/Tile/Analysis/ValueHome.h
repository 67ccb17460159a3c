//===- ValueHome.h - where a role has a value ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One type, a vector of rank 1 or 2, stands for two things: a tile that the
// threads of a role compute with, and a tile of which the role only knows the
// place. The home of a value tells them apart. It follows from the operation
// that makes the value, from its uses, and from the kind of the role on the
// chip:
//
// | value | home |
// |---|---|
// | no vector: an index, a condition, a number | Whole |
// | any vector in a role that one thread runs | Place |
// | in a role of lanes: the tile of a wait that only MMAs read, also where loops carry it | Place |
// | in a role of lanes: the result of an MMA, until it is awaited | InFlight |
// | any other vector in a role of lanes | Fragment |
//
// Example, with `@mma` run by one thread and `@softmax` by lanes:
//
//   tile.role @mma kind(issuer) {
//     %k = tile.wait %keys                  // Place: a stage in shared memory
//     %s = tile.mma %q, transpose %k ...    // Place: columns of tensor memory
//   }
//   tile.role @softmax kind(vector) {
//     %s = tile.wait %scores                // Fragment: each lane has its row
//     %p = math.exp2 %s                     // Fragment
//   }
//   tile.role @compute kind(matrix) {       // where lanes start MMAs
//     %k = tile.wait %keys                  // Place
//     %s = tile.mma %q, transpose %k ...    // InFlight
//     %scores = tile.await %s               // Fragment
//   }
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_VALUEHOME_H
#define FA4_DIALECT_TILE_ANALYSIS_VALUEHOME_H

#include "fa4/Dialect/Tile/IR/Tile.h"

namespace fa4::tile {

/// Where a role has a value.
enum class ValueHome {
  /// Each thread that runs the role has the value.
  Whole,
  /// Each lane has the elements that the role's layout gives it, in registers.
  Fragment,
  /// A stage of a channel, or a part of one, in shared or tensor memory. The
  /// role knows the place of the stage, and holds none of its elements.
  Place,
  /// Registers of all lanes, to which asynchronous work still writes.
  InFlight,
};

/// Returns the home of a value in a role. Values outside of roles, such as the
/// kernel's arguments, are Whole.
ValueHome getHome(mlir::Value value);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_VALUEHOME_H
