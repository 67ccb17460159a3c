//===- Passes.td - passes on the tile dialect -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// In the order of the pipeline.

//===----------------------------------------------------------------------===//
// tile-subtile
//===----------------------------------------------------------------------===//

def TileSubtile : Pass<"tile-subtile", "::fa4::tile::KernelOp"> {
  let summary = "Cut MMAs into ones of the target's rows";
  let description = [{
    Where an MMA has more rows than one of the target's, cuts the dimension that
    these rows are into equal parts, wherever it leads: through elementwise
    operations, reductions, broadcasts, loops and branches to loads and stores,
    which get an offset. Everything that depends on the rows is there once for each
    part afterwards, in the order of the original operations; what does not (keys,
    values) is shared by all parts. Along the rows of one MMA another may sum: it
    becomes a sequence of MMAs that add to the first one's result.

    A kernel without such MMAs is left as it is. An operation that cannot work on
    parts is an error.

    Before:

    ```mlir
    tile.kernel @scores(%q: memref<?x64xbf16> {tile.name = "q", tile.dims = ["M", "64"]},
                        %k: memref<?x64xbf16> {tile.name = "k", tile.dims = ["N", "64"]},
                        %m: memref<?xf32> {tile.name = "m", tile.dims = ["M"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>]} {
      %i = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %c256 = arith.constant 256 : index
      %zero = arith.constant dense<0.0> : vector<256xf32>
      %row = arith.muli %i, %c256 : index
      %tq = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<256x64xbf16>
      %tk = tile.load %k[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      %s = tile.mma %tq, transpose %tk : vector<256x64xbf16>, vector<128x64xbf16> -> vector<256x128xf32>
      %max = vector.multi_reduction <maxnumf>, %s, %zero [1] : vector<256x128xf32> to vector<256xf32>
      tile.store %max, %m[%row] : vector<256xf32>, memref<?xf32>
    }
    ```

    After (shortened):

    ```
    %tq0 = tile.load %q[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %row1 = arith.addi %row, %c128 : index
    %tq1 = tile.load %q[%row1, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %tk = tile.load %k[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %s0 = tile.mma %tq0, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %s1 = tile.mma %tq1, transpose %tk : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    ...
    tile.store %max1, %m[%row1] : vector<128xf32>, memref<?xf32>
    ```
  }];
}


//===----------------------------------------------------------------------===//
// tile-lazy-rescale
//===----------------------------------------------------------------------===//

def TileLazyRescale : Pass<"tile-lazy-rescale", "::fa4::tile::KernelOp"> {
  let summary = "Rescale accumulators only when the row max has grown much";
  let description = [{
    An online softmax keeps sums in units of `2^(c m)`, where `m` is the row max so
    far, and multiplies them by `a = 2^(c (m - m'))` when it grows to `m'`. Any `m`
    will do as long as nothing overflows. So this pass keeps the old `m` in rows
    where `c (m' - m) <= threshold` (FlashAttention-4, arXiv 2603.05451): there `a`
    is 1, and sums are at most `2^threshold` times as large.

    It looks for a loop that carries a row max `m` from -inf,

    ```
    m' = rowmax(x) joined with m       (vector.multi_reduction <maxnumf>)
    f  = m' or 0 where m' is -inf      (optional: arith.cmpf oeq, arith.select)
    a  = exp2((m - f) * c)             c > 0, a splat constant; optional
    ```

    and puts selects behind `m'` and `f`. `a` becomes 1 in rows where `m` is -inf,
    in which nothing has been summed yet. The carried `m` is then no longer the row
    max but a reference that it exceeds by no more than the threshold. The pass
    proves that any reference is right: it follows what depends on `m` through the
    loop and what comes after, and leaves the loop alone unless all sums begin
    at 0 and are in units of `2^(c m)`, and only values in which `m` cancels, as
    `sum / l` and `c m + log2(l)`, go anywhere else.

    Products of a carried MMA accumulator and the row factor `a` become
    `tile.rescale`, which costs nothing in a block where all factors are 1.

    With `threshold = 0` the reference is always the row max, as it was.

    Before:

    ```mlir
    tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                   %y: memref<?x64xf32> {tile.name = "y", tile.dims = ["M", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %n = memref.dim %x, %c0 : memref<?x64xbf16>
      %q = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      %zero = arith.constant dense<0.0> : vector<128x64xf32>
      %ninf = arith.constant dense<0xFF800000> : vector<128xf32>
      %none = arith.constant dense<0.0> : vector<128xf32>
      %r:3 = scf.for %j = %c0 to %n step %c128 iter_args(%o = %zero, %m = %ninf, %l = %none) -> (vector<128x64xf32>, vector<128xf32>, vector<128xf32>) {
        %k = tile.load %x[%j, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        %s = tile.mma %q, transpose %k : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
        %m2 = vector.multi_reduction <maxnumf>, %s, %m [1] : vector<128x128xf32> to vector<128xf32>
        %d = arith.subf %m, %m2 : vector<128xf32>
        %a = math.exp2 %d : vector<128xf32>
        %m2c = vector.shape_cast %m2 : vector<128xf32> to vector<128x1xf32>
        %m2b = vector.broadcast %m2c : vector<128x1xf32> to vector<128x128xf32>
        %e = arith.subf %s, %m2b : vector<128x128xf32>
        %p = math.exp2 %e : vector<128x128xf32>
        %pb = arith.truncf %p : vector<128x128xf32> to vector<128x128xbf16>
        %la = arith.mulf %l, %a : vector<128xf32>
        %l2 = vector.multi_reduction <add>, %p, %la [1] : vector<128x128xf32> to vector<128xf32>
        %ac = vector.shape_cast %a : vector<128xf32> to vector<128x1xf32>
        %ab = vector.broadcast %ac : vector<128x1xf32> to vector<128x64xf32>
        %oa = arith.mulf %o, %ab : vector<128x64xf32>
        %o2 = tile.mma %pb, %k acc %oa : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
        scf.yield %o2, %m2, %l2 : vector<128x64xf32>, vector<128xf32>, vector<128xf32>
      }
      %lc = vector.shape_cast %r#2 : vector<128xf32> to vector<128x1xf32>
      %lb = vector.broadcast %lc : vector<128x1xf32> to vector<128x64xf32>
      %on = arith.divf %r#0, %lb : vector<128x64xf32>
      tile.store %on, %y[%c0, %c0] : vector<128x64xf32>, memref<?x64xf32>
    }
    ```

    After (shortened):

    ```
    %m1 = vector.multi_reduction <maxnumf>, %s, %m [1] : vector<128x128xf32> to vector<128xf32>
    %grown = arith.subf %m1, %m : vector<128xf32>
    %keep = arith.cmpf ole, %grown, %threshold : vector<128xf32>
    %m2 = arith.select %keep, %m, %m1 : vector<128xi1>, vector<128xf32>
    ...
    %fresh = arith.cmpf oeq, %m, %ninf : vector<128xf32>
    %a2 = arith.select %fresh, %one, %a : vector<128xi1>, vector<128xf32>
    ...
    %oa = tile.rescale %o, %a2 : vector<128x64xf32>, vector<128xf32>
    ```
  }];
  let options = [
    Option<"threshold", "threshold", "double", /*default=*/"8.0",
           "Growth of the row max, in units of log2, up to which it is ignored; 0 = none">
  ];
}


//===----------------------------------------------------------------------===//
// tile-warp-specialize
//===----------------------------------------------------------------------===//

def TileWarpSpecialize : Pass<"tile-warp-specialize", "::fa4::tile::KernelOp"> {
  let summary = "Partition a tile program into roles that talk through channels";
  let description = [{
    Decides from the dataflow and from where the target keeps values which warps
    execute what, and replaces the program by `tile.role`s. Each keeps a copy of
    the loops with its own operations; index arithmetic and constants are
    repeated where they are needed. Every tile that one role makes and another
    uses goes through a `tile.channel` of one stage.

    | role | operations |
    |---|---|
    | `compute0`, `compute1`, ... | elementwise work and reductions, a role for each connected piece |
    | `correction` | elementwise work on an accumulator in the loop that carries it, and all elementwise work after a loop with MMAs; called `epilogue` where there is only the latter |
    | `mma`, `load` | `tile.mma`, `tile.load` |
    | `store` | `tile.store` and `tile.reduce_add` of matrices (row values are stored by the lanes that have them) |
    | `idle` | warps that fill the last warpgroup |

    Channels are in tensor memory if the target's MMA writes there (`mma` to others)
    or reads there (accumulators; a first operand that is not transposed), otherwise in
    shared memory. An accumulator that another role modifies in the loop becomes a
    pair of channels on one buffer. An accumulator that starts from zero is not read by
    the first iteration's MMA, so that nobody has to write the zeros. A result that an
    MMA leaves in tensor memory and that is stored as it is gets a `tile.copy`.

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
    tile.role @epilogue warps(4) first_warp(0) registers(..) {
      %v = tile.wait %mma_epilogue ... %o = arith.truncf %v ... tile.commit %epilogue_store, %o
    }
    tile.role @mma warps(1) issue first_warp(4) registers(..) {
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
// tile-schedule
//===----------------------------------------------------------------------===//

def TileSchedule : Pass<"tile-schedule", "::fa4::tile::KernelOp"> {
  let summary = "Software-pipeline the roles of a kernel and choose stages";
  let description = [{
    Decides the order of operations in each role of a kernel, from the dataflow
    of all roles.

    1. *Split arrival* (`split-arrival`): a matrix that a compute role commits
       and that is only ever the A operand of MMAs is committed in two parts
       along K, three quarters of the columns (in multiples of 32) and the rest,
       so that the MMA of the first part runs while the second is computed.
    2. *Pipelining*: in a loop of MMAs, what depends on a round trip through
       other roles in the same iteration is of stage 1, all else of stage 0. The
       loop becomes a prologue (stage 0 of iteration 0), a loop of one iteration
       less (stage 1 of iteration i, stage 0 of i + 1) and an epilogue. Older
       iterations come first; an MMA of stage 0 whose result has one
       buffer follows the operations of the last iteration that consume what
       was made of the buffer's last value, so that the buffer, or what was
       put in its place, is free. A loop that may not run at all is put under a
       condition.
    3. *Loads* are issued in the order in which their consumers wait for them,
       so that the loop of a load role is pipelined like its consumer's.
    4. Waits go directly before the first use, releases directly after
       the last. In compute roles an acquire goes where the value begins to be
       computed elementwise, and what no commit depends on behind the last one;
       outside of loops each value is computed directly before its first use.
    5. *Stages*: rings that loads fill get as many as shared memory holds, evenly,
       up to `max-stages`. A value that is used in both stages needs two.

    Expects one loop a role for each channel; a loop for which this does not
    hold is left in its order, with a remark. The order does not deadlock if the
    order of the input does not.

    Before:

    ```mlir
    tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
      %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
      %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
      tile.role @mma warps(1) issue {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        scf.for %i = %c0 to %c8 step %c1 {
          %ta = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
          tile.acquire %s : <vector<128x128xf32>>
          %ts = tile.mma %ta, transpose %ta : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
          tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
          %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
          tile.acquire %o : <vector<128x64xf32>>
          %to = tile.mma %tp, %ta : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
          tile.commit %o, %to : <vector<128x64xf32>>, vector<128x64xf32>
          tile.release %p : <vector<128x128xbf16>>
          tile.release %a : <vector<128x64xbf16>>
        }
      }
      tile.role @compute warps(4) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        scf.for %i = %c0 to %c8 step %c1 {
          %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
          %tp = arith.truncf %ts : vector<128x128xf32> to vector<128x128xbf16>
          tile.release %s : <vector<128x128xf32>>
          tile.acquire %p : <vector<128x128xbf16>>
          tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
        }
      }
    }
    ```

    After (role `@mma`, with `split-arrival=false`):

    ```
    wait a; acquire s; %s0 = mma; commit s
    scf.for %i = %c0 to %c7 step %c1 iter_args(%ta = ...) {
      wait p; acquire o; mma %tp, %ta; commit o; release p; release a
      %next = wait a; acquire s; mma %next, transpose %next; commit s
      scf.yield %next
    }
    wait p; acquire o; mma; commit o; release p; release a
    ```
  }];
  let options = [
    Option<"splitArrival", "split-arrival", "bool", /*default=*/"true",
           "Commit A operands of MMAs in two parts">,
    Option<"maxStages", "max-stages", "int64_t", /*default=*/"8",
           "Most stages of a ring that loads fill">,
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the schedule as a table to stderr">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// tile-split-loop
//===----------------------------------------------------------------------===//

def TileSplitLoop : Pass<"tile-split-loop", "::fa4::tile::KernelOp"> {
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
// tile-allocate
//===----------------------------------------------------------------------===//

def TileAllocate : Pass<"tile-allocate", "::fa4::tile::KernelOp"> {
  let summary = "Give channels memory and barriers";
  let description = [{
    Places the channels of a kernel of roles: sets `offset`, `full` and `empty`
    of each, and `smem_bytes` and `tmem_columns` of the kernel.

    1. **In place.** What a role of lanes computes from an accumulator in tensor
       memory and hands back as the left operand of MMAs (`p` from `s`) becomes
       `in_place_of` it, at its first columns, if the program orders the two:
       the lanes have read the accumulator when they commit, and in the role of
       the MMAs writing the one and reading the other take turns. The acquires
       and releases of both go. Lanes that write column `c` of the value must
       have read columns up to `2c + 1` of the accumulator, which is so where
       columns are computed in ascending order.
       Another result of the same role's MMAs (`dq`) can be a guest in the columns
       of such a pair while neither needs them: it is written after the last
       read of `p`, and acquired again before `s` is next written.
       Only where there are too few columns, acquires of such a result move to
       before the writes of `s`, if its readers depend on nothing else.
    2. **Once.** Channels that are filled no more often than they have stages,
       outside loops, lose their acquires and releases. One CTA has one work
       tile; this would be wrong for more.
    3. **Offsets.** Large ones first, each at the lowest offset where no other
       is live at the same time. That two are not is proven from the order of
       operations in roles and of commits and waits between them; otherwise
       they lie apart. Matrices in shared memory are aligned to 1024 bytes and
       row values to 128; channels in tensor memory to 32 columns. Behind the
       channels lie the mbarriers, 8 bytes each, and the word that receives the
       address of tensor memory. Tensor memory is allocated in powers of two.
    4. **Barriers.** Numbered in the order of the channels: `stages` many `full`
       ones, and as many `empty` ones if someone acquires.

    What does not fit the chip is an error on the kernel, with a note of its
    place for each channel.

    Before:

    ```mlir
    tile.kernel @rows(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                      %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %in = tile.channel "in" smem stages(1) : <vector<128x64xbf16>>
      %out = tile.channel "out" smem stages(1) : <vector<128x64xbf16>>
      tile.role @load warps(1) issue {
        %i = tile.work_tile : index
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %row = arith.muli %i, %c128 : index
        tile.acquire %in : <vector<128x64xbf16>>
        %v = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
      tile.role @compute warps(4) {
        %v = tile.wait %in : <vector<128x64xbf16>> -> vector<128x64xbf16>
        %w = arith.addf %v, %v : vector<128x64xbf16>
        tile.release %in : <vector<128x64xbf16>>
        tile.acquire %out : <vector<128x64xbf16>>
        tile.commit %out, %w : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
      tile.role @store warps(1) issue {
        %i = tile.work_tile : index
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %row = arith.muli %i, %c128 : index
        %v = tile.wait %out : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.store %v, %y[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
        tile.release %out : <vector<128x64xbf16>>
      }
    }
    ```

    After (shortened):

    ```
    tile.kernel @rows(...) attributes {..., smem_bytes = 32784 : i64} {
      %in = tile.channel "in" smem stages(1) offset(0) full(0) : <vector<128x64xbf16>>
      %out = tile.channel "out" smem stages(1) offset(16384) full(1) : <vector<128x64xbf16>>
      ... // without acquire and release
    }
    ```
  }];
  let options = [
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the memory map of each kernel, as a remark">
  ];
}


//===----------------------------------------------------------------------===//
// tile-split-exp
//===----------------------------------------------------------------------===//

def TileSplitExp : Pass<"tile-split-exp"> {
  let summary = "Compute a share of the exponentials by a polynomial";
  let description = [{
    The special function unit computes fewer exponentials a clock than the FMA
    pipe could. Rewrites each `math.exp2` of a matrix in a loop of a role that
    holds data to `tile.exp2`, which computes some pairs of columns by a
    polynomial. How many is computed from the target's rates and from the work of
    one iteration, which is counted in the kernel's roles: the least number for
    which the slowest of the MMAs, the pipes, tensor memory and the dependence
    cycle through exponential and MMAs is as fast as it can be; 0 where the MMAs
    are the slowest anyway. They are spread over all fragments of 32 columns but
    the last.

    The polynomial's coefficients are derived here, for the degree that the type needs
    to which the result is rounded (bf16 and f16: 3); what stays f32 is left
    alone.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
      tile.role @r warps(4) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %c1 step %c1 {
          %x = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
          %y = math.exp2 %x : vector<128x128xf32>
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
    %y = tile.exp2 %x polynomial [0.695, 0.228, 0.077] pairs [2, 5, 8, ...] : vector<128x128xf32>
    ```
  }];
  let options = [
    Option<"pairsPerFragment", "pairs-per-fragment", "int64_t", /*default=*/"-1",
           "Emulated pairs in each fragment of 32 columns but the last; -1 = computed">,
    Option<"fraction", "fraction", "double", /*default=*/"-1",
           "Emulated share of all exponentials, 0 to 1; -1 = computed">,
    Option<"degree", "degree", "unsigned", /*default=*/"0",
           "Degree of the polynomial; 0 = what the result's type needs">,
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the roofline of each kernel as a table, to stderr">
  ];
}


//===----------------------------------------------------------------------===//
// tile-distribute
//===----------------------------------------------------------------------===//

def TileDistribute : Pass<"tile-distribute"> {
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
    preceded by a `tile.write`. A `tile.rescale` of a value that is handed on in
    its own buffer reads and writes it only in warps that have a factor other
    than 1.

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
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}


//===----------------------------------------------------------------------===//
// tile-unroll
//===----------------------------------------------------------------------===//

def TileUnroll : Pass<"tile-unroll"> {
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

//===----------------------------------------------------------------------===//
// lane-math-to-llvm
//===----------------------------------------------------------------------===//

def LaneMathToLLVM : Pass<"lane-math-to-llvm"> {
  let summary = "Lower math on a thread's scalars and pairs to instructions";
  let description = [{
    Rewrites operations of `math`, divisions of f32, selections by bits and `tile.exp2`, on scalars and
    on vectors of two after `tile-unroll`. Functions go to the special function
    unit, an element each; subnormal inputs and results count as 0. `tile-to-nvvm`
    does the same with the rest of a role.

    | operation | becomes | error, relative (PTX ISA, unless absolute) |
    |---|---|---|
    | `math.exp2` | `ex2.approx.ftz.f32` | 2^-22 |
    | `math.exp` | `ex2` of `x log2(e)` | 2^-22, and that of the product's rounding |
    | `math.log2`, `math.log` | `lg2.approx.ftz.f32` (`* ln 2`) | absolute 2^-22 where x is in (0.5, 2), else 2^-22 |
    | `math.tanh` | `1 - 2 rcp(ex2(2 x log2(e)) + 1)` | absolute 2^-21 |
    | `math.sqrt`, `math.rsqrt` | `sqrt`, `rsqrt.approx.ftz.f32` | 2^-22 |
    | `arith.divf` with 1 | `rcp.approx.ftz.f32` | 2^-23 |
    | `arith.divf` | `div.approx.ftz.f32` | 2^-22, for a divisor from 2^-126 to 2^126 |
    | `tile.exp2` | clamp, `add.rm.ftz.f32x2`, `fma.f32x2`, exponent by `shl` and `add` | the polynomial's |
    | `arith.select` of f32 by a bit of a word | `and`, `setp.ne` and `selp`, which ptxas makes predicates of seven bits at a time from | exact |
    | `math.fma`, `absf`, `floor`, `ceil`, `trunc`, `roundeven`, `copysign` | LLVM's intrinsics | exact |

    In f16 and bf16 a function is that of f32, rounded. Other operations of
    `math` are errors: LLVM's back end calls libraries for them, which a GPU
    does not have.

    Before:

    ```mlir
    func.func @f(%x: vector<2xf32>) -> vector<2xf32> {
      %y = math.exp2 %x : vector<2xf32>
      return %y : vector<2xf32>
    }
    ```

    After (shortened):

    ```
    %x0 = llvm.extractelement %x[%0 : i32] : vector<2xf32>
    %y0 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%x0) : (f32) -> f32
    ...
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
