//===- ProtocolPasses.td - passes that check roles and channels -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PROTOCOLPASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_PROTOCOLPASSES_TD

include "fa4/Support/PassWithOptions.td"

def TileVerifyProtocol : FA4_Pass<"tile-verify-protocol", "::fa4::tile::KernelOp"> {
  let summary = "Prove that roles neither deadlock nor race";
  let description = [{
    *Input*: a kernel of roles, from `tile-warp-specialize` to `tile-unroll`. *Output*: the
    same kernel, or an error. A kernel without roles is left alone.

    Proves, for all numbers of passes of the kernel's loops, that

    - no role waits forever;
    - accesses to one stage, or to stages that share memory, are ordered;
    - a read gets the value that the role has waited for;
    - each channel is used in balance.

    `ProtocolVerifier.h` says how. Of a kernel with places (`tile-allocate`) it also checks offsets, capacity,
    barriers, what completes a phase of them (arrivals, bytes), warps and registers. Of a distributed kernel it also
    checks that lanes fence what they write for asynchronous operations.

    A rejection is one error with notes. They say which role waits for which, or which two accesses nothing orders;
    what the later role has waited for before, and which operations that covers; and the fewest passes of the loops
    with which it happens. `tile-schedule`, `tile-allocate` and `tile-distribute` do the same at their end,
    `tile-share-buffers` at its beginning, and `tile-to-nvvm` at its beginning, unless they are told `verify=false`;
    `fa4-opt --verify-protocol` does it for a module.

    The first values of a channel with `initial(n)` are undefined, also where lanes have
    rescaled them and handed them on in their place: an MMA must not add to them.

    An MMA that lanes have started reads its stages when it starts and when it is awaited: whoever writes a stage in
    between is ordered with one of these at most.

    A distributed role that commits a buffer in the place of a value of the same type that it has waited for hands on
    what is there, whether its lanes have written it or not. It may write some columns before it reads others. All
    columns of any other stage must be written before the commit.

    Loops may be in loops. Numbers of passes, and conditions, that depend on an outer induction variable are the same
    in all roles that compute them alike for the same pass, and may be anything in the next one.

    Assumed is that lowering gives each operation its meaning (who arrives where, fences of tensor memory), and that
    no dimension is larger than 2^29. Integers wrap around as their types say. Not supported, and an error: numbers of
    passes and conditions that the induction variables of more than two loops decide, and loops whose step is not
    proven to be positive. What is a number of passes of one loop only by way of two others' (the first tile is
    peeled, say, and its blocks are counted again) is not seen to be.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
      tile.role @producer kind(vector) {
        %v = arith.constant dense<1.0> : vector<128xf32>
        tile.acquire %c : <vector<128xf32>>
        tile.commit %c, %v : <vector<128xf32>>, vector<128xf32>
      }
      tile.role @consumer kind(vector) {
        %v = tile.wait %c : <vector<128xf32>> -> vector<128xf32>
        %w = arith.addf %v, %v : vector<128xf32>
        tile.release %c : <vector<128xf32>>
      }
    }
    ```

    After: the same. Without `tile.wait` and `tile.release` in a loop of
    `@consumer`, for example, the error is: channel "c": 1 values are committed, ...
  }];
  let options = [
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the size of each kernel's proof to standard error">
  ];
}

def TileVerifyOutputs : FA4_Pass<"tile-verify-outputs", "::fa4::tile::KernelOp"> {
  let summary = "Prove that each element of an output is written once";
  let description = [{
    *Input*: a kernel of any level from `tile` to `unroll`. *Output*: the same kernel,
    or an error.

    Proves for all sizes that the work tiles of the grid together write each element of an output (`tile.output` of
    `tile.kernel`) once. `OutputCoverage.h` says how. A store that is missing, is there twice, or has the wrong place
    is an error, and so is an output of which the pass cannot prove this. For arguments without `tile.output` it is a
    remark. `tile-to-nvvm` does the same at its beginning, unless `verify=false` is given; `fa4-opt --verify-protocol`
    does it for a module.

    Before:

    ```mlir
    tile.kernel @k(%x: memref<?x64xf32> {tile.name = "x", tile.dims = ["N", "64"]},
                   %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 256>]} {
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %c256 = arith.constant 256 : index
      %i = tile.work_tile : index
      %a = arith.muli %i, %c256 : index
      %b = arith.addi %a, %c128 : index
      %t = tile.load %x[%a, %c0] : memref<?x64xf32> -> vector<128x64xf32>
      %u = tile.load %x[%b, %c0] : memref<?x64xf32> -> vector<128x64xf32>
      tile.store %t, %y[%a, %c0] : vector<128x64xf32>, memref<?x64xf32>
      tile.store %u, %y[%b, %c0] : vector<128x64xf32>, memref<?x64xf32>
    }
    ```

    After: the same. Without the second `tile.store` the error is: output 'y': no store
    writes elements [128:256, 0:64] of the [0:256, 0:64] of each work tile.
  }];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_PROTOCOLPASSES_TD
