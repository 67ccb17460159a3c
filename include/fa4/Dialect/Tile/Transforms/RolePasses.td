//===- RolePasses.td - passes on roles and channels -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Who computes what, and on which unit.

#ifndef FA4_DIALECT_TILE_TRANSFORMS_ROLEPASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_ROLEPASSES_TD

include "fa4/Support/PassWithOptions.td"

//===----------------------------------------------------------------------===//
// tile-assign-work
//===----------------------------------------------------------------------===//

def TileAssignWork : FA4_Pass<"tile-assign-work", "::fa4::tile::KernelOp"> {
  let summary = "Choose which CTA works on which work tile, and in which order";
  let description = [{
    *Input*: a tile program; the level `lazy-rescale`. *Output*: the same program with a
    `schedule` and an `order`. A program whose CTAs work on several tiles
    stands in a `tile.work`.

    With `schedule=auto` the kernel gets the schedule of its plan (`tile-plan`). Without a plan, it gets the one that
    needs no trial: `lpt` where work tiles differ or where a grid may have too few CTAs along y or z (65535), and `grid`
    elsewhere. A program whose `tile.work_tile` is in a region keeps the grid. With `clc`, CTAs stay, and ask for the tile
    of one not started.

    The order puts work tiles together that read the same tensors in their loops, as those of one head do, as long as
    these fit into half of the L2 cache (see `#tile.order`). With `clc` the longest tiles of all heads come first: a
    CTA asks for a tile when it begins the one before, and would keep a long tile waiting while others have nothing to
    do. `bench/makespan` models all schedules. A kernel that has a schedule is left as it is.

    Before:

    ```mlir
    tile.kernel @sum(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["N", "M"]},
                     %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %i = tile.work_tile : index
    }
    ```

    After, with `schedule=static`:

    ```mlir
    tile.kernel @sum(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["N", "M"]},
                     %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>],
                    schedule = #tile.schedule<static>, order = #tile.order<axis = 0>} {
      tile.work (%i) {
      }
    }
    ```
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", /*default=*/"\"auto\"",
           "auto, grid, static, lpt or clc (see #tile.schedule)">];
  let dependentDialects = ["::fa4::tile::TileDialect"];
}

//===----------------------------------------------------------------------===//
// tile-warp-specialize
//===----------------------------------------------------------------------===//

def TileWarpSpecialize : FA4_Pass<"tile-warp-specialize", "::fa4::tile::KernelOp"> {
  let summary = "Partition a tile program into roles that talk through channels";
  let description = [{
    *Input*: a tile program for one target, whose values are whole tiles; the level
    `assign-work`. *Output*: the same program as roles (`tile.role`), which run at
    the same time on warps of their own, and channels (`tile.channel`) between them.

    The pass decides which warps execute which operations. The decision follows from the dataflow and from where the
    target keeps values: tensor memory, shared memory or registers. Each role keeps a copy of the loops around its
    operations, and repeats the index arithmetic and constants that these need. Every tile that one role makes and
    another uses goes through a channel of one stage; `tile-schedule` gives channels more stages.

    | role | operations |
    |---|---|
    | `compute0`, `compute1`, ... | elementwise work and reductions, a role for each connected piece |
    | `correction` | elementwise work on an accumulator in the loop that carries it, and all elementwise work after a loop with MMAs; called `epilogue` where there is only the latter |
    | `mma`, `load` | `tile.mma`, `tile.load` |
    | `store` | `tile.store` and `tile.reduce_add` of matrices (row values are stored by the lanes that have them) |
    | `exchange` | `tile.exchange`, between the lanes that compute its tile and `mma`. The lanes acquire the channel of its result, which has the place of the tile |
    | `idle` | warps that fill the last warpgroup |

    Where MMAs accumulate in registers, the threads that hold a result start its MMA. `tile.mma` is then work of
    `compute0`, ... like elementwise work: of the piece of its result, of its accumulator, and of an operand A that lanes
    compute. Such a role is of kind `matrix`, awaits each MMA where it stands (`tile.await`), and releases a stage behind
    the await of the last MMA that reads it. There is neither a role `mma` nor one for accumulators, and no channel
    between MMAs and the arithmetic on their results.

    A channel is in tensor memory if the target's MMA writes the value there (a result for another role) or reads the
    value there (an accumulator, or a first operand that is not transposed). All other channels are in shared memory.
    An accumulator that another role modifies in the loop becomes a pair of channels on one buffer. The first
    iteration's MMA does not read an accumulator that starts from zero, whatever finite number multiplies it (a
    product of zero and an infinite factor would be NaN, which no program may count on), so that no role has to write
    the zeros. Where the result of an MMA is stored without a computation in between, the pass adds a `tile.copy` from
    tensor memory.

    Registers are divided by `assignRegisterBudgets` among warpgroups, according to
    the tile values that are live at once.

    Before:

    ```mlir
    tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                      %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                      %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
      %tm, %tn = tile.work_tile : index, index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %row = arith.muli %tm, %c128 : index
      %col = arith.muli %tn, %c128 : index
      %k = memref.dim %a, %c1 : memref<?x?xbf16>
      %zero = arith.constant dense<0.0> : vector<128x128xf32>
      %acc = scf.for %i = %c0 to %k step %c64 iter_args(%x = %zero) -> (vector<128x128xf32>) {
        %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<128x64xbf16>
        %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
        %y = tile.mma %ta, %tb acc %x : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
        scf.yield %y : vector<128x128xf32>
      }
      %out = arith.truncf %acc : vector<128x128xf32> to vector<128x128xbf16>
      tile.store %out, %c[%row, %col] : vector<128x128xbf16>, memref<?x?xbf16>
    }
    ```

    After (without index arithmetic):

    ```
    %A = tile.channel "A" smem stages(1) : <vector<128x64xbf16>>
    %B = tile.channel "B" smem stages(1) : <vector<64x128xbf16>>
    %mma_epilogue = tile.channel "mma_epilogue" tmem stages(1) : <vector<128x128xf32>>
    %epilogue_store = tile.channel "epilogue_store" smem stages(1) : <vector<128x128xbf16>>
    tile.role @epilogue kind(vector) first_warp(0) registers(..) {
      %v = tile.wait %mma_epilogue ... %o = arith.truncf %v ... tile.commit %epilogue_store, %o
    }
    tile.role @mma kind(issuer) first_warp(4) registers(..) {
      tile.acquire %mma_epilogue
      %r = scf.for %i = ... iter_args(%x = %zero) {
        %a = tile.wait %A    %b = tile.wait %B
        %y = tile.mma %a, %b acc %x if %more
        tile.release %A      tile.release %B
        scf.yield %y
      }
      tile.commit %mma_epilogue, %r
    }
    tile.role @load ... { scf.for ... { acquire, tile.load, commit: A and B } }
    tile.role @store ... { %t = tile.wait %epilogue_store    tile.store %t, ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

//===----------------------------------------------------------------------===//
// tile-split-exp
//===----------------------------------------------------------------------===//

def TileSplitExp : FA4_Pass<"tile-split-exp", "::fa4::tile::KernelOp"> {
  let summary = "Compute a share of the exponentials by a polynomial";
  let description = [{
    *Input*: scheduled roles. *Output*: the same roles, in which some `math.exp2` of a
    matrix are `tile.exp2`: it computes some pairs of columns by a polynomial, on the
    FMA pipe, and the other pairs on the special function unit. The special function
    unit alone is slower: it computes fewer exponentials a clock than the FMA pipe
    could.

    The pass rewrites a `math.exp2` in a loop of a role that holds data if its result is rounded to a narrow type
    (bf16, f16). It leaves alone an exponential of which the f32 result is used. The polynomial has the degree that
    the narrow type needs (3 for bf16 and f16). Its coefficients are those of a table, `Exp2Polynomial.cpp`, which a
    test derives.

    The polynomial is defined for exponents below 128. The pass rewrites an
    exponential only if its exponent is proven to be less, as that of a score relative
    to the maximum of its row is. Other exponentials stay on the special function unit.

    The number of emulated pairs follows from the target's rates and from the work of one iteration, which the pass
    counts in the kernel's roles. The pass takes the least number with which the slowest of four is as fast as it can
    be: the MMAs, the pipes, tensor memory, and the cycle of dependences through exponential and MMAs. That is 0 where
    the MMAs are the slowest anyway. The pairs are spread over all fragments of 32 columns but the last one.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
      tile.role @r kind(vector) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
        scf.for %i = %c0 to %c1 step %c1 {
          %x = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
          %m = vector.multi_reduction <maximumf>, %x, %ninf [1] : vector<128x128xf32> to vector<128xf32>
          %mc = vector.shape_cast %m : vector<128xf32> to vector<128x1xf32>
          %mb = vector.broadcast %mc : vector<128x1xf32> to vector<128x128xf32>
          %e = arith.subf %x, %mb : vector<128x128xf32>
          %y = math.exp2 %e : vector<128x128xf32>
          %z = arith.truncf %y : vector<128x128xf32> to vector<128x128xbf16>
          tile.acquire %p : <vector<128x128xbf16>>
          tile.commit %p, %z : <vector<128x128xbf16>>, vector<128x128xbf16>
          tile.release %s : <vector<128x128xf32>>
        }
      }
    }
    ```

    After (shortened):

    ```
    %y = tile.exp2 %e polynomial [0.695, 0.228, 0.077] pairs [2, 5, 8, ...] : vector<128x128xf32>
    ```
  }];
  let options = [
    Option<"pairsPerFragment", "pairs-per-fragment", "int64_t", /*default=*/"-1",
           "Emulated pairs in each fragment of 32 columns but the last; -1 = computed">,
    Option<"fraction", "fraction", "double", /*default=*/"-1",
           "Emulated share of all exponentials, 0 to 1 less the last fragment's share "
           "(0.75 in rows of 128 columns); -1 = computed">,
    Option<"degree", "degree", "unsigned", /*default=*/"0",
           "Degree of the polynomial; 0 = what the result's type needs">,
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the roofline of each kernel as a table, to stderr">
  ];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_ROLEPASSES_TD
