//===- TileClusterOps.td - what CTAs give each other -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILECLUSTEROPS_TD
#define FA4_DIALECT_TILE_IR_TILECLUSTEROPS_TD

include "fa4/Dialect/Tile/IR/TileOps.td"

def Tile_ExchangeOp : Tile_Op<"exchange", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>]> {
  let summary = "rows of both CTAs for columns of both";
  let description = [{
    Each of the two CTAs of a cluster has a tile. The result has the rows of both tiles, the leader's first, and of their columns the half
    that belongs to the CTA, the leader's being the first one: element `(r * M + i, j)` of the result in CTA `c` is
    element `(i, c * N / 2 + j)` of `tile` in CTA `r`. So half of each tile stays where it is, and the CTAs exchange the
    others. **Both CTAs execute the operation equally often.**

    A product over rows of both CTAs needs that: where each CTA has computed `P` for 128 keys of its own and 128 queries,
    the transposed result times values of all 256 keys is a product of a pair of CTAs, with 64 queries in each.
    The result is the `a` of MMAs and nothing else.

    In a role, `tile` is the value of a channel with `exchange`, and the result is committed to a channel in place of that one.
    A stage of such a channel has room for the result and, behind it, for the half of the tile that goes to the other CTA. Lanes that write
    the tile write both; the operation copies the second to the other CTA's stage, and waits until the other CTA's half has come. So
    **the stages of both CTAs must be free** when the tile is written: who writes it acquires the channel of the result, whose releases
    by the leader's MMAs count in both CTAs.

    | operand or result | shape | element type |
    |---|---|---|
    | `tile` | `M x N` | bf16, f16 |
    | result | `2 M x N / 2` | that of `tile` |

    Example:

    ```mlir
    // Y^T Z for 256 rows of y and z, of which each CTA has 128 and computes 128 columns of y.
    tile.kernel @k(%y: memref<?x256xbf16> {tile.name = "y", tile.dims = ["M", "256"]},
                   %z: memref<?x64xbf16> {tile.name = "z", tile.dims = ["M", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>],
                    cluster = #tile.cluster<size = 2, axis = 0>} {
      %i = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c128 = arith.constant 128 : index
      %row = arith.muli %i, %c128 : index
      %in_pair = arith.remui %i, %c2 : index
      %others = arith.muli %in_pair, %c128 : index
      %first = arith.subi %row, %others : index
      %ty = tile.load %y[%row, %c0] : memref<?x256xbf16> -> vector<128x256xbf16>
      %twice = arith.addf %ty, %ty : vector<128x256xbf16>
      %a = tile.exchange %twice : vector<128x256xbf16> -> vector<256x128xbf16>
      %tz = tile.load %z[%first, %c0] split(1) : memref<?x64xbf16> -> vector<256x64xbf16>
      %r = tile.mma transpose %a, %tz : vector<256x128xbf16>, vector<256x64xbf16> -> vector<128x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_MmaOperand:$tile);
  let results = (outs Tile_MmaOperand:$result);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

#endif // FA4_DIALECT_TILE_IR_TILECLUSTEROPS_TD
