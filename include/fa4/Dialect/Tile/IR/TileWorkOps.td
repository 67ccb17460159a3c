//===- TileWorkOps.td - the work of a CTA -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEWORKOPS_TD
#define FA4_DIALECT_TILE_IR_TILEWORKOPS_TD

include "fa4/Dialect/Tile/IR/TileOps.td"
include "mlir/Interfaces/LoopLikeInterface.td"

def Tile_WorkTileOp : Tile_Op<"work_tile", [Pure]> {
  let summary = "coordinates of the work tile";
  let description = [{
    One coordinate for each entry of the kernel's `grid`, from 0 to the extent,
    exclusive, of the only work tile of the CTA. Kernels with the schedules `static`
    and `clc` have `tile.work` in its place.

    Example:

    ```mlir
    tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %i = tile.work_tile : index
    }
    ```
  }];
  let results = (outs Variadic<Index>:$coordinates);
  let assemblyFormat = "attr-dict `:` type($coordinates)";
  let hasVerifier = 1;
}

class Tile_WidenOp<string mnemonic, string than> : Tile_Op<mnemonic, [
    Pure, SameOperandsAndResultType]> {
  let summary = "the bound of a work tile, or a " # than # " one of another";
  let arguments = (ins Index:$bound);
  let results = (outs Index:$result);
  let assemblyFormat = "$bound attr-dict";
  let hasFolder = 1;
}

def Tile_AtMostOp : Tile_WidenOp<"at_most", "smaller"> {
  let description = [{
    A number that is `bound`, or less: what `bound` is in another work tile of the kernel. **Which of them, a pass chooses; the
    results of the program do not depend on it.** So it is for the first block that a work tile works on, where those in
    front of it would do no harm: a mask hides all of them, in a program that decides by the result, and not by the bound,
    which blocks it masks.

    CTAs that work together make the same passes (`tile-pair-ctas`): theirs is the smallest of their bounds. Other CTAs have
    their own bounds. The pass replaces the operation; it is in no program behind it.

    Example: the queries that see keys of the work tile, in blocks of 128, begin with one that lies on the diagonal.

    ```mlir
    tile.kernel @causal(%k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
      %i = tile.work_tile : index
      %c2 = arith.constant 2 : index
      %diagonal = arith.muli %i, %c2 : index
      %first = tile.at_most %diagonal
    }
    ```
  }];
}

def Tile_AtLeastOp : Tile_WidenOp<"at_least", "larger"> {
  let description = [{
    As `tile.at_most`, with a number that is `bound`, or more: for the end of the blocks that a work tile works on.

    Example:

    ```mlir
    tile.kernel @window(%k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %i = tile.work_tile : index
      %c3 = arith.constant 3 : index
      %behind = arith.addi %i, %c3 : index
      %end = tile.at_least %behind
    }
    ```
  }];
}

def Tile_WorkOp : Tile_Op<"work", [
    ParentOneOf<["KernelOp", "RoleOp"]>, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"NextOp">,
    DeclareOpInterfaceMethods<LoopLikeOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the work on each of the CTA's work tiles";
  let description = [{
    The body runs once for each work tile of the CTA, with one coordinate for each
    entry of the kernel's `grid`. The kernel's `schedule` says which work tiles these are,
    and its `order` which comes first. A tile program is written inside of it;
    `tile-warp-specialize` gives each role a copy.

    The `tile.work` of all roles of a CTA have the same coordinates in the same pass, and
    make equally many passes. The proof of the protocol is about any coordinates
    and any number of passes. Channels carry their state on from one work tile to the
    next, so that a role which runs ahead begins the next tile while others
    still work on the last one.

    Example:

    ```mlir
    tile.kernel @copy(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                      %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>],
                    schedule = #tile.schedule<static>} {
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      tile.work (%i) {
        %row = arith.muli %i, %c128 : index
        %v = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.store %v, %y[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  // Builds a body with `coordinates` arguments and no operations.
  let builders = [OpBuilder<(ins "unsigned":$coordinates)>];
  let extraClassDeclaration = [{
    ::mlir::Block::BlockArgListType getCoordinates() { return getBody().getArguments(); }
    NextOp getNext();
  }];
}

def Tile_NextOp : Tile_Op<"next", [HasParent<"WorkOp">, Pure, Terminator]> {
  let summary = "go on with the next work tile of the CTA";
  let description = [{
    Ends the body of `tile.work`, and is not written out where it has no operand.
    In the roles of a kernel with the schedule `clc`, `number` is the number of the next
    work tile, from a `tile.response`.

    ```mlir
    tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>],
                    schedule = #tile.schedule<static>} {
      tile.work (%i) {
        tile.next
      }
    }
    ```
  }];
  let arguments = (ins Optional<Index>:$number);
  let builders = [OpBuilder<(ins)>];
  let assemblyFormat = "($number^)? attr-dict";
  let hasVerifier = 1;
}

def Tile_Response : Type<CPred<"fa4::tile::isResponse($_self)">, "response to a request (i128)">;

def Tile_RequestOp : Tile_Op<"request", [
    MemoryEffects<[MemRead<Tile_ChannelResource>, MemWrite<Tile_ChannelResource>]>]> {
  let summary = "ask the hardware for another work tile";
  let description = [{
    Takes the work tile of a CTA of the launch that has not started, so that the CTA never
    starts (PTX ISA, clusterlaunchcontrol.try_cancel). Asynchronous, as `tile.load`: the response
    is committed to a channel in shared memory, whose consumers wait for it.

    In a kernel with a `cluster`, a role of the `leader` asks for the work tiles of a cluster that has not started, and the response
    comes to the channel in each CTA (`.multicast::cluster::all`).

    | result | shape | element type |
    |---|---|---|
    | `response` | scalar | i128; opaque, see `tile.response` |

    Example:

    ```mlir
    tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>],
                    schedule = #tile.schedule<clc>} {
      %next = tile.channel "next" smem stages(1) : <i128>
      tile.role @request kind(issuer) {
        tile.work (%i) {
          tile.acquire %next : <i128>
          %asked = tile.request : i128
          tile.commit %next, %asked : <i128>, i128
          %response = tile.wait %next : <i128> -> i128
          %number = tile.response %response : i128
          tile.release %next : <i128>
          tile.next %number
        }
      }
    }
    ```
  }];
  let results = (outs Tile_Response:$response);
  let assemblyFormat = "attr-dict `:` type($response)";
}

def Tile_ResponseOp : Tile_Op<"response", [Pure]> {
  let summary = "the number of the work tile that a request got";
  let description = [{
    The number of the CTA that does not start, which is that of a work tile (see
    `#tile.order`), or -1 if all CTAs had started. In a kernel with a `cluster`, the number of the cluster.

    | operand or result | shape | element type |
    |---|---|---|
    | `response` | scalar | i128 |
    | `number` | scalar | index |

    Example: see `tile.request`.

    ```mlir
    tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>],
                    schedule = #tile.schedule<clc>} {
      %next = tile.channel "next" smem stages(1) : <i128>
      tile.role @lanes kind(vector) {
        tile.work (%i) {
          %response = tile.wait %next : <i128> -> i128
          tile.release %next : <i128>
          %number = tile.response %response : i128
          tile.next %number
        }
      }
    }
    ```
  }];
  let arguments = (ins Tile_Response:$response);
  let results = (outs Index:$number);
  let assemblyFormat = "$response attr-dict `:` type($response)";
  let extraClassDeclaration = [{
    /// The channel that held the response; null if a wait has not given it.
    ChannelOp getChannel();
  }];
}

#endif // FA4_DIALECT_TILE_IR_TILEWORKOPS_TD
