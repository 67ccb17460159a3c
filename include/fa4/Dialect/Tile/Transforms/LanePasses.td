//===- LanePasses.td - passes on what one thread does -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Roles that hold data: from tiles to the registers of a thread.

#ifndef FA4_DIALECT_TILE_TRANSFORMS_LANEPASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_LANEPASSES_TD

include "fa4/Support/PassWithOptions.td"

//===----------------------------------------------------------------------===//
// tile-split-loop
//===----------------------------------------------------------------------===//

def TileSplitLoop : FA4_Pass<"tile-split-loop", "::fa4::tile::KernelOp"> {
  let summary = "Split loops of compute roles where a condition changes";
  let description = [{
    A loop of a compute role with an `scf.if` whose condition compares the
    induction variable with a value from outside of the loop (`slt`, `sle`,
    `sgt`, `sge`), or is the `ori` or `andi` of two such comparisons in opposite
    directions, becomes two or three loops that follow each other, in each of which
    the condition is constant and the branch gone: blocks that need a mask, then
    blocks that do not. The bounds are clamped to those of the loop, so that each
    iteration runs once and in order.

    Before:

    ```mlir
    tile.kernel @k(%n: index {tile.name = "n"}, %m: index {tile.name = "m"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      tile.role @compute warps(4) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %one = arith.constant dense<1.0> : vector<128xf32>
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %one) -> (vector<128xf32>) {
          %masked = arith.cmpi slt, %i, %m : index
          %y = scf.if %masked -> (vector<128xf32>) {
            %z = arith.addf %x, %one : vector<128xf32>
            scf.yield %z : vector<128xf32>
          } else {
            scf.yield %x : vector<128xf32>
          }
          scf.yield %y : vector<128xf32>
        }
      }
    }
    ```

    After:

    ```
    %low = arith.maxsi %m, %c0 : index
    %mid = arith.minsi %low, %n : index
    %r0 = scf.for %i = %c0 to %mid step %c1 iter_args(%x = %one) -> (vector<128xf32>) {
      %z = arith.addf %x, %one : vector<128xf32>
      scf.yield %z : vector<128xf32>
    }
    %r = scf.for %i = %mid to %n step %c1 iter_args(%x = %r0) -> (vector<128xf32>) {
      scf.yield %x : vector<128xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// tile-distribute
//===----------------------------------------------------------------------===//

def TileDistribute : FA4_Pass<"tile-distribute", "::fa4::tile::KernelOp"> {
  let summary = "Give each thread of a role its part of every tile";
  let description = [{
    In roles that hold data (all but those with `issue`), which have as many
    threads as the tiles have rows, each thread gets the row that it can access
    in tensor memory: a matrix `vector<128x64xf32>` becomes `vector<64xf32>`, a
    vector with one element a row becomes that element, and one with an element
    a column stays whole. Which of the two a vector of rank 1 is follows from
    where it comes from and how it is used; where it would have to be both,
    there is an error.

    `tile.wait` gives no value any more: `tile.read` reads the stage where the
    value is first used, and before its stage changes hands. `tile.commit` is
    preceded by a `tile.write`, and by a `tile.fence` where MMAs or TMA stores
    read what lanes wrote to shared memory. A `tile.rescale` of a value that is handed on in
    its own buffer reads and writes it only in warps that have a factor other
    than 1, and not in the first pass of a loop that begins with an undefined
    value (`initial`).

    The order of elements in `vector.multi_reduction` is taken as unspecified.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x64xbf16>>
      tile.role @r warps(4) {
        %c = arith.constant dense<0.0> : vector<128xf32>
        %x = tile.wait %s : <vector<128x64xf32>> -> vector<128x64xf32>
        %m = vector.multi_reduction <maxnumf>, %x, %c [1] : vector<128x64xf32> to vector<128xf32>
        %mc = vector.shape_cast %m : vector<128xf32> to vector<128x1xf32>
        %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x64xf32>
        %d = arith.subf %x, %mb : vector<128x64xf32>
        %y = arith.truncf %d : vector<128x64xf32> to vector<128x64xbf16>
        tile.acquire %p : <vector<128x64xbf16>>
        tile.commit %p, %y : <vector<128x64xbf16>>, vector<128x64xbf16>
        tile.release %s : <vector<128x64xf32>>
      }
    }
    ```

    After:

    ```
    tile.role @r warps(4) {
      %c = arith.constant 0.0 : f32
      tile.wait %s : <vector<128x64xf32>>
      %x = tile.read %s : <vector<128x64xf32>> -> vector<64xf32>
      %m = vector.reduction <maxnumf>, %x, %c fastmath<reassoc> : vector<64xf32> into f32
      %mb = vector.broadcast %m : f32 to vector<64xf32>
      %d = arith.subf %x, %mb : vector<64xf32>
      %y = arith.truncf %d : vector<64xf32> to vector<64xbf16>
      tile.acquire %p : <vector<128x64xbf16>>
      tile.write %y, %p : vector<64xbf16>, <vector<128x64xbf16>>
      tile.commit %p : <vector<128x64xbf16>>
      tile.release %s : <vector<128x64xf32>>
    }
    ```
  }];
  let options = [
    Option<"verify", "verify", "bool", /*default=*/"true",
           "Prove the protocol of the result, as tile-verify-protocol">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// tile-unroll
//===----------------------------------------------------------------------===//

def TileUnroll : FA4_Pass<"tile-unroll", "::fa4::tile::KernelOp"> {
  let summary = "Split a thread's rows into fragments of column pairs";
  let description = [{
    After `tile-distribute`: every vector of `n` columns becomes `n / 2` vectors
    of two, which packed instructions (f32x2, conversion to two narrow values)
    work on. What has no effect is placed where something that has one needs it,
    fragment by fragment: a fragment goes through all its operations before the
    next one starts, so that its registers are free early. Reads and
    writes of channels become one a fragment.

    Reductions keep four partial results; sums and products of f32 are of
    pairs, and of other kinds each step folds in two elements (one instruction
    for maxima and minima). A sum of what is also written is formed as it is
    written: its elements need no registers from then on.

    Signed comparisons of the column's number with something that is the same in all
    columns become a word of bits for 32 columns, made by shifts, and a test
    of one bit an element: ptxas moves the bits to predicates several at a time.
    Sums of indices are taken not to overflow.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x4xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x4xbf16>>
      tile.role @r warps(4) {
        tile.wait %s : <vector<128x4xf32>>
        %x = tile.read %s : <vector<128x4xf32>> -> vector<4xf32>
        %y = math.exp2 %x : vector<4xf32>
        %z = arith.truncf %y : vector<4xf32> to vector<4xbf16>
        tile.acquire %p : <vector<128x4xbf16>>
        tile.write %z, %p : vector<4xbf16>, <vector<128x4xbf16>>
        tile.commit %p : <vector<128x4xbf16>>
        tile.release %s : <vector<128x4xf32>>
      }
    }
    ```

    After (shortened, `fragment=2`):

    ```
    tile.wait %s : <vector<128x4xf32>>
    %x0 = tile.read %s : <vector<128x4xf32>> -> vector<2xf32>
    %x1 = tile.read %s[2] : <vector<128x4xf32>> -> vector<2xf32>
    tile.acquire %p : <vector<128x4xbf16>>
    %y0 = math.exp2 %x0 : vector<2xf32>
    %z0 = arith.truncf %y0 : vector<2xf32> to vector<2xbf16>
    tile.write %z0, %p : vector<2xbf16>, <vector<128x4xbf16>>
    %y1 = math.exp2 %x1 : vector<2xf32>
    %z1 = arith.truncf %y1 : vector<2xf32> to vector<2xbf16>
    tile.write %z1, %p[2] : vector<2xbf16>, <vector<128x4xbf16>>
    tile.commit %p : <vector<128x4xbf16>>
    tile.release %s : <vector<128x4xf32>>
    ```
  }];
  let options = [
    Option<"fragment", "fragment", "int64_t", /*default=*/"32",
           "Columns of a fragment">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_LANEPASSES_TD
