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
    *Input*: roles with places. *Output*: the same roles, in which some loops are two
    or three loops that follow each other, each without a condition that the original
    loop had. In attention the condition says whether a block of keys needs a mask, so
    that the loop over masked blocks is followed by one without any mask.

    The pass splits a loop of a compute role that contains an `scf.if` whose condition compares the induction variable
    with a value from outside of the loop (`slt`, `sle`, `sgt`, `sge`), or is the `ori` or `andi` of two such
    comparisons in opposite directions. The condition is constant in each of the new loops. Their bounds are clamped
    to those of the original loop, so that each iteration runs once, and in the same order. A loop with more than 150
    operations on rows stays one loop: copies of it would take as long to compile again, and its branch costs little.

    Before:

    ```mlir
    tile.kernel @k(%n: index {tile.name = "n"}, %m: index {tile.name = "m"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      tile.role @compute kind(vector) {
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
    *Input*: roles whose values are whole tiles. *Output*: roles that say what one
    thread does: its values are one row of each tile.

    This concerns roles that hold data: those of kind `vector` and `matrix`. The layout of a tile says which elements a thread
    gets: where a role has as many threads as tiles have rows, the row that it can access in tensor memory. A matrix
    `vector<128x64xf32>` becomes `vector<64xf32>`, a vector with one element for each row a scalar; one with an
    element for each column stays whole. Which of the two a vector of rank 1 is follows from its origin and uses; to
    be both is an error, and so is an operation on elements of other threads.

    In a role of kind `matrix` a thread holds parts of two rows, and what is done with a tile is done with each part. A
    value for each row is two scalars. A reduction over the columns is one of the thread's part, then of the four threads
    that hold a row (`tile.combine`), and then with the start value, which all of them have. A tile is put together by
    `tile.from_lanes` where an MMA or a stage takes it; `tile.to_lanes` gives the parts of an awaited one. A `tile.wait`
    whose tile only MMAs read stays as it is. Lanes of such a role read no tiles from stages.

    In other roles `tile.wait` has no result afterwards. A `tile.read` reads the stage where the value is first used, at the latest
    before the stage is handed on. A `tile.write` precedes `tile.commit`, followed by a `tile.fence` where MMAs or TMA
    stores read what the lanes have written to shared memory. A `tile.rescale` of a value that stays in its buffer
    reads and writes the buffer only in warps in which some factor is not 1, and not in the first pass of a loop that
    begins with an undefined value (`initial`).

    The pass takes the order of the elements in a `vector.multi_reduction` as unspecified.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x64xbf16>>
      tile.role @r kind(vector) {
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
    tile.role @r kind(vector) {
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
// tile-float-positions
//===----------------------------------------------------------------------===//

def TileFloatPositions : FA4_Pass<"tile-float-positions", "::fa4::tile::KernelOp"> {
  let summary = "Convert numbers of columns to f32 once, and count on there";
  let description = [{
    *Input*: roles of `tile-distribute`. *Output*: the same roles. Where a `score_mod` converts distances or positions to
    f32, the number is the same in all columns of a thread but for a constant. What is the same is converted once, and
    the constants are added in f32; minima, maxima and absolute values come behind the conversion, which is monotone and
    symmetric about 0.

    All integers up to 2^24 are numbers of f32, so that the result is exact up to there. Larger ones may be off by a unit in the last
    place of f32.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %out = tile.channel "out" tmem stages(1) : <vector<128x4xf32>>
      tile.role @compute kind(vector) {
        %i = tile.work_tile : index
        %columns = vector.step : vector<4xindex>
        %row = vector.broadcast %i : index to vector<4xindex>
        %distance = arith.subi %row, %columns : vector<4xindex>
        %integers = arith.index_cast %distance : vector<4xindex> to vector<4xi32>
        %numbers = arith.sitofp %integers : vector<4xi32> to vector<4xf32>
        tile.acquire %out : <vector<128x4xf32>>
        tile.write %numbers, %out[0] : vector<4xf32>, <vector<128x4xf32>>
      }
    }
    ```

    After, in short:

    ```
        %integer = arith.index_cast %i : index to i32
        %first = arith.sitofp %integer : i32 to f32
        %same = vector.broadcast %first : f32 to vector<4xf32>
        %numbers = arith.addf %same, dense<[0, -1, -2, -3]> : vector<4xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// tile-unroll
//===----------------------------------------------------------------------===//

def TileUnroll : FA4_Pass<"tile-unroll", "::fa4::tile::KernelOp"> {
  let summary = "Split a thread's rows into fragments of column pairs";
  let description = [{
    *Input*: roles of `tile-distribute`, in which a value is one row of a tile.
    *Output*: the same roles on vectors of two columns, which the packed instructions
    of the target work on (f32x2, conversions to two narrow values).

    A vector of `n` columns becomes `n / 2` vectors of two, in *fragments* of `fragment` columns. One fragment goes
    through all operations before the next fragment starts, so that its registers are free early: an operation without
    effects is placed where an operation with effects needs its result. Reads and writes of channels become one for
    each fragment.

    Reads of tensor memory take long: the next fragment is read while one is worked on, where a value has several
    uses, and so is held as a whole anyway, or the role is known to have the registers. A write to a buffer whose
    value has not been read yet waits for the reads of those columns alone that it overwrites.

    What the program computes in front of a write from numbers of the fragment is computed with them, so that fewer
    numbers are held, and `tile.keep_order` behind it keeps it there. Where rows are held until something comes from
    another role, fragments are made so small (`fragment / 4` at least) that the role's registers hold them, too.

    A reduction keeps four partial results. Sums and products of f32 work on pairs. In reductions of other kinds each
    step takes two elements, which for maxima and minima is one instruction. If the elements of a sum are also written
    to a channel, they are added as they are written, and need no registers afterwards.

    What MMAs and TMA stores wait for comes first: arithmetic behind such a commit is kept there by `tile.keep_order`.
    An acquire of a stage with one number a row is moved in front of the wait for the row, because a wait in the midst
    of arithmetic keeps ptxas from overlapping what is before and behind it.

    A signed comparison of the number of a column with a value that is the same in all columns becomes one word of
    bits for 32 columns, made by shifts, and a test of one bit for each element: ptxas moves the bits to predicates
    several at a time. Sums of indices are taken not to overflow. Where a thread holds only some columns of its row, a bit
    stands for a column of the thread, and the layout says how many of these are in front of a limit.

    In a role of kind `matrix` no operation is kept in its place, and no arithmetic becomes a loop: a branch between an MMA
    and its await makes ptxas wait for the MMA.

    Arithmetic of `loop-instructions` or more for two columns, such as that of a long `score_mod`, becomes a loop over
    the pairs of a fragment: a copy for each pair would be nearly all of the time of a compilation, and more than
    instruction caches hold. The loop carries the pairs of its operands, computes with the first ones, moves the others
    up, and puts its results behind them, at most four for each pair.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x4xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x4xbf16>>
      tile.role @r kind(vector) {
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
    %x0 = tile.read %s : <vector<128x4xf32>> -> vector<2xf32>
    %x1 = tile.read %s[2] : <vector<128x4xf32>> -> vector<2xf32>
    %y0 = math.exp2 %x0 : vector<2xf32>
    %z0 = arith.truncf %y0 : vector<2xf32> to vector<2xbf16>
    tile.write %z0, %p : vector<2xbf16>, <vector<128x4xbf16>>
    // And the same for %x1.
    ```
  }];
  let options = [
    Option<"fragment", "fragment", "int64_t", /*default=*/"32",
           "Columns of a fragment; down to a quarter of them in a role that has "
           "too few registers">,
    Option<"loopInstructions", "loop-instructions", "int64_t",
           /*default=*/"64",
           "Instructions for a pair of columns from which on arithmetic is a "
           "loop">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_LANEPASSES_TD
