//===- TileTurnOps.td - an order among CTAs -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILETURNOPS_TD
#define FA4_DIALECT_TILE_IR_TILETURNOPS_TD

include "fa4/Dialect/Tile/IR/TileOps.td"

def Tile_AwaitTurnOp : Tile_Op<"await_turn", [
    MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until it is the turn of the work tile";
  let description = [{
    Sums of floating-point numbers depend on their order. Work tiles that add to one place
    (`tile.reduce_add`) do so in a fixed order by taking turns: each waits until all work
    tiles before it have passed their turn at this place, adds, and passes the turn on.

    The *place* is the element at `indices` of `turns`, which counts the turns that have been passed, and is 0 when
    the kernel starts. The work tiles that take turns there are those whose coordinate `tile` is from `first` to
    `last`, both included, and whose other coordinates are equal. **The IR does not say which of them is first**: they take
    turns in the order in which the kernel's `schedule` and `order` work on them, as that is the order in which none of
    them waits for one that cannot start. The number of a turn is therefore

        tile - first    where work tiles with small coordinates come first,
        last - tile     where `#tile.order` is descending.

    In a kernel with a `cluster`, turns along the axis of the cluster are those of clusters, so that its CTAs do not wait for each other: `tile`
    is the coordinate divided by the number of CTAs (`arith.divui`), `first` and `last` are such numbers, too, and CTAs with different numbers in
    their clusters come to different places. A CTA without a work tile takes its turns as the others do.

    With `parts(n)`, n operations add in the turn, in their order each to a part of what the work tile adds, and each part has
    a turn of its own: the next work tile adds the first part while this one adds the second. Part p is counted at the p-th element
    behind the place along the last dimension, and the order is that of the turns. `tile-schedule` does so where it divides what is stored.

    `tile-verify-outputs` proves that `first` and `last` are the same for all work tiles that come to
    a place, and that each work tile between comes there once. Work tiles that have nothing to add are not counted,
    and need not come. It proves as well that the order of turns is that of the sums: work tiles that add to one element of an
    `"ordered"` output do so in turns at one place, each of them once.

    | operand or result | shape | type |
    |---|---|---|
    | `turns` | rank 1 or more | memref of i32, an argument of the kernel; indices are in bounds |
    | `tile` | scalar | index: a coordinate of the work tile, or the number of its cluster along the cluster's axis |
    | `first`, `last` | scalar | index |
    | `turn` | scalar | `!tile.turn` |

    Example:

    ```mlir
    // Row sums: the 128 rows of `y` get the sum of all blocks of 128 rows of `x`, from the first block to the last one.
    tile.kernel @sum(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                     %y: memref<128x64xf32> {tile.name = "y", tile.dims = ["128", "64"], tile.output = "ordered"},
                     %turns: memref<1xi32> {tile.name = "turns", tile.dims = ["1"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %i = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %n = memref.dim %x, %c0 : memref<?x64xf32>
      %blocks = arith.ceildivsi %n, %c128 : index
      %last = arith.subi %blocks, %c1 : index
      %row = arith.muli %i, %c128 : index
      %t = tile.load %x[%row, %c0] : memref<?x64xf32> -> vector<128x64xf32>
      %turn = tile.await_turn %turns[%c0] of %i in %c0 to %last : memref<1xi32>
      tile.reduce_add %t, %y[%c0, %c0] in_turn(%turn) : vector<128x64xf32>, memref<128x64xf32>
      tile.pass_turn %turn
    }
    ```
  }];
  let arguments = (ins MemRefRankOf<[I32], [1, 2, 3, 4, 5]>:$turns,
                       Variadic<Index>:$indices, Index:$tile, Index:$first,
                       Index:$last, DefaultValuedAttr<I64Attr, "1">:$parts);
  let results = (outs Tile_TurnType:$turn);
  let assemblyFormat = [{
    $turns `[` $indices `]` `of` $tile `in` $first `to` $last
    (`parts` `(` $parts^ `)`)? attr-dict `:` type($turns)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operation that passes this turn on.
    PassTurnOp getPass();
    /// The tile.reduce_add of this turn, in their order.
    ::llvm::SmallVector<::mlir::Operation *> getAdditions();
    /// The coordinate that `tile` is, or that `tile` is the quotient of.
    ::mlir::Value getCoordinate();
    /// The axis of the grid along which that is the coordinate.
    unsigned getAxis();
  }];
}

def Tile_PassTurnOp : Tile_Op<"pass_turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "let the next work tile have its turn";
  let description = [{
    Waits until everything that the role has added *has been added*, and is seen by other CTAs (that a tile has been read
    from shared memory is not enough), and then counts the turn as passed.

    Example: see `tile.await_turn`.

    ```mlir
    tile.kernel @k(%turns: memref<1xi32> {tile.name = "turns", tile.dims = ["1"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %i = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %turn = tile.await_turn %turns[%c0] of %i in %i to %i : memref<1xi32>
      tile.pass_turn %turn
    }
    ```
  }];
  let arguments = (ins Tile_TurnType:$turn);
  let assemblyFormat = "$turn attr-dict";
  let hasVerifier = 1;
}

#endif // FA4_DIALECT_TILE_IR_TILETURNOPS_TD
