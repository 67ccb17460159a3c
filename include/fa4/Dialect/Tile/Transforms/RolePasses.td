//===- RolePasses.td - passes on roles and channels -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Who computes what, in which order, and on which unit.

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

    With `schedule=auto` the pass chooses by how work tiles differ. If the passes of the loops depend on a coordinate
    of the work tile, as in causal attention, the longest tiles go first (`lpt`): the hardware starts a CTA when
    another one ends, so that the short tiles at the end fill the gaps. If all tiles take equally long, CTAs stay and
    work on several tiles (`static`), so that the loads and the first products of a tile overlap with the end of the
    one before. That needs memory and registers for the next tile beside the one before: the pass takes a copy of the
    kernel through warp specialisation, scheduling and the proof, and leaves the grid as it is where the copy is
    refused, does not fit, has a role that holds tiles while it waits for others, or has too many states for a quick
    proof; where a grid may have too few CTAs along y or z (65535), `lpt` takes its place. A program whose
    `tile.work_tile` is in a region keeps the grid. `clc` does both: CTAs stay, and ask for the tile of one not started.

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
// tile-schedule
//===----------------------------------------------------------------------===//

def TileSchedule : FA4_Pass<"tile-schedule", "::fa4::tile::KernelOp"> {
  let summary = "Software-pipeline the roles of a kernel and choose stages";
  let description = [{
    *Input*: roles and channels of `tile-warp-specialize`. *Output*: the same roles
    with their operations in the order in which the hardware is busy most, and with
    channels that have as many stages as memory holds.

    The pass decides the order from the dataflow of all roles together, in seven steps:

    1. *Split arrival* (`split-arrival`): a matrix that a compute role commits
       and that is only ever the A operand of MMAs is committed in two parts
       along K, three quarters of the columns (in multiples of 32) and the rest,
       so that the MMA of the first part runs while the second is computed.
    2. *Pipelining*: an operation in a loop of MMAs is of stage 1 if it depends on a
       round trip through other roles in the same iteration, and of stage 0
       otherwise. The loop becomes a prologue (stage 0 of iteration 0), a loop of one
       iteration less (stage 1 of iteration i, then stage 0 of i + 1) and an epilogue
       (stage 1 of the last iteration). An MMA of stage 0 whose result has only one
       buffer comes behind the operations that consume the buffer's last value, since
       the buffer is free only then; and behind those that consume what became of this
       value, which is put in its place (`tile-share-buffers`). Where memory lacks room, it also comes behind those that consume what
       CTAs have exchanged of this value, whose results can then have its place. With `mmas-ahead`, or where all
       MMAs of the loop are on one dependence cycle with the lanes, so that tensor cores would idle
       while lanes compute, it does
       not wait for these, if tensor memory has room for both: in attention, the next
       scores are ready when the lanes have finished the last ones, and no
       product is on the way from one to the next. A loop that may make no pass at all is put under
       a condition, because its prologue must not run then either.
    3. *Loads* are issued in the order in which their consumers wait for them,
       so that the loop of a load role is pipelined like its consumer's.
    4. *Waits and releases*: a wait goes directly before the first use of its value, a
       release directly behind the last use. In compute roles an acquire goes to
       where the elementwise computation of its value begins, operations that no
       commit depends on go behind the last commit, and lanes wait for a loaded vector before the
       tile that meets it, even where they compute from the tile alone first (a `score_mod`): they
       need not hold all columns of the result until the vector is there. Outside of loops each value is
       computed directly before its first use.
    5. *Stages*: rings that loads fill share what is left of shared memory evenly, up to
       `max-stages` stages each, and no more than hide the time of a load on a busy chip behind
       the MMAs of the consumer's loop. A value that both stages of a pipelined loop use
       needs two. What CTAs exchange in a loop gets a second stage before loads do, if there is room:
       one is in use from the lanes' writes until MMAs have read what has come from the other CTA.
    6. *Stores*: in a loop of stores, a stage is released behind the next store, so
       that the next store is issued before the last one has ended. The ring then
       needs two stages. Where a ring of loads would have no second stage otherwise, values
       that are stored in loops, or at the end of work tiles of which a CTA has several, leave in
       parts of equal columns; parts of several values between the same roles share a ring.
    7. *Loads in parts* (`divide-loads`): where a ring of loads has no second stage even so, matrices that are
       only ever the B operand of MMAs, with the columns along K, arrive in parts, each in a channel of its own. The next
       part is loaded when the MMAs have read the last one, not the whole matrix, and parts get the stages for which
       whole matrices have no room.

    If the kernel does not fit into memory in this way, as `tile-share-buffers` and `tile-allocate` would place it,
    the pass gives up as much speed as it must: values that are stored in loops leave in parts of equal columns;
    stores do not overlap; values that are stored one after another have a buffer in common; MMAs of the next iteration are issued behind all of those of the last one; the loop is not
    pipelined. If it fits in no way, the first schedule stays, and `tile-allocate` reports what is missing.

    The pass expects that the operations of a role on one channel are in one loop. A loop for which this does not hold
    keeps its order, with a remark. If the order of the input does not deadlock, that of the output does not either.

    Before:

    ```mlir
    tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
      %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
      %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
      tile.role @mma kind(issuer) {
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
      tile.role @compute kind(vector) {
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
    Option<"mmasAhead", "mmas-ahead", "bool", /*default=*/"false",
           "Issue MMAs as soon as the last value in their buffer has been read">,
    Option<"splitStores", "split-stores", "bool", /*default=*/"true",
           "Let stored values leave in parts where shared memory does not hold them whole">,
    Option<"divideLoads", "divide-loads", "bool", /*default=*/"true",
           "Let B operands of MMAs arrive in parts where shared memory has no room for a second one">,
    Option<"maxStages", "max-stages", "int64_t", /*default=*/"8",
           "Most stages of a ring that loads fill">,
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the schedule as a table to stderr">,
    Option<"verify", "verify", "bool", /*default=*/"true",
           "Prove the protocol of the result, as tile-verify-protocol">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
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
