//===- SchedulePasses.td - passes on the order of roles -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What is chosen by trying it, and the passes that schedule roles by it.

#ifndef FA4_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD

include "fa4/Support/PassWithOptions.td"

//===----------------------------------------------------------------------===//
// tile-plan
//===----------------------------------------------------------------------===//

def TilePlan : FA4_Pass<"tile-plan", "::fa4::tile::KernelOp"> {
  let summary = "Choose a plan for a kernel by trying what would fit";
  let description = [{
    *Input*: a tile program, the level `lazy-rescale`; or a kernel that has roles. *Output*: the same kernel with a
    `plan` (`#tile.plan`), which the passes behind it follow.

    The fastest way to work is not always possible: what it needs of the chip's memory is known only when roles are
    scheduled and channels share buffers. So the pass takes copies of the kernel through these passes, one for each
    plan, the fastest plan first, and takes the first plan that fits. A kernel that has a plan is left as it is: one
    can write a plan, or edit it. If no plan fits, the kernel gets the first one, and `tile-allocate` reports what is
    missing.

    What is tried, in this order:

    1. *The schedule of work tiles*, with `schedule=auto`, in a program without one. If the passes of the loops depend
       on a coordinate of the work tile, as in causal attention, the longest tiles go first (`lpt`): the hardware
       starts a CTA when another one ends, so that the short tiles at the end fill the gaps. If all tiles take equally
       long, CTAs stay and work on several tiles (`static`), so that the loads and the first products of a tile
       overlap with the end of the one before. That needs memory and registers for the next tile beside the one
       before. The grid stays as it is where the kernel would not fit, could not be proven quickly, would load less
       ahead, or would have a role that holds tiles while it waits for others; where a grid may have too few CTAs
       along y or z (65535), `lpt` takes its place.
    2. *When the MMAs of the next iteration are issued* (`mmas`): early, late, or without pipelining. With
       `mmas-ahead`, or where all MMAs of a loop are on one dependence cycle with the lanes, so that tensor cores
       would idle while lanes compute, `ahead` is tried first: in attention, the next scores are ready when the lanes
       have finished the last ones, if tensor memory has room for both.
    3. *Stores in parts* (`store_parts`), where a ring of loads would have no second stage otherwise, or where shared
       memory does not hold the stored values whole.
    4. *Loads in parts* (`divide_loads`), where a ring of loads has no second stage even so: the next
       part is loaded when the MMAs have read the last one, not the whole matrix.
    5. *Stores one by one* (`overlap_stores`), then *in one buffer* (`share_stores`), where the kernel does not fit
       otherwise.

    `print`, or `fa4-compile --report`, says what is wrong with each plan that has been tried.

    Before:

    ```mlir
    tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"], tile.output = "partial"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %i = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %row = arith.muli %i, %c128 : index
      %v = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
      tile.store %v, %x[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
    }
    ```

    After, the kernel has `plan = #tile.plan<schedule = static, mmas = early>`.
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", /*default=*/"\"auto\"",
           "The schedule of work tiles: auto, grid, static, lpt or clc (see #tile.schedule)">,
    Option<"splitArrival", "split-arrival", "bool", /*default=*/"true",
           "Commit A operands of MMAs in two parts">,
    Option<"mmasAhead", "mmas-ahead", "bool", /*default=*/"false",
           "Try to issue MMAs as soon as the last value in their buffer has been read">,
    Option<"splitStores", "split-stores", "bool", /*default=*/"true",
           "Let stored values leave in parts where shared memory does not hold them whole">,
    Option<"divideLoads", "divide-loads", "bool", /*default=*/"true",
           "Let B operands of MMAs arrive in parts where shared memory has no room for a second one">,
    Option<"maxStages", "max-stages", "int64_t", /*default=*/"8",
           "Most stages of a ring that loads fill">,
    Option<"print", "print", "bool", /*default=*/"false",
           "Print as a remark which plan the kernel gets, and what is wrong with the others">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// tile-split-values
//===----------------------------------------------------------------------===//

def TileSplitValues : FA4_Pass<"tile-split-values", "::fa4::tile::KernelOp"> {
  let summary = "Let values go through channels in parts";
  let description = [{
    *Input*: roles and channels of `tile-warp-specialize`. *Output*: the same roles, where some values are committed,
    stored or loaded in parts. The plan says which (`#tile.plan`):

    - `split_arrivals`: a matrix that a compute role commits
      and that is only ever the A operand of MMAs is committed in two parts
      along K, three quarters of the columns (in multiples of 32) and the rest,
      so that the MMA of the first part runs while the second is computed.
    - `store_parts`: values that are stored in loops, or at the end of work tiles of which a CTA has several, leave in
      parts of equal columns; parts of several values between the same roles share a ring.
    - `share_stores`: values that are stored one after another share a ring.
    - `divide_loads`: matrices that are only ever the B operand of MMAs, with the columns along K, arrive in parts,
      each in a channel of its own.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">], plan = #tile.plan<mmas = early>} {
      %s = tile.channel "s" tmem stages(1) initial(1) : <vector<128x128xf32>>
      %b = tile.channel "b" smem stages(1) initial(1) : <vector<128x64xbf16>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
      %o = tile.channel "o" tmem stages(1) : <vector<128x64xf32>>
      tile.role @compute kind(vector) {
        %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
        %tp = arith.truncf %ts : vector<128x128xf32> to vector<128x128xbf16>
        tile.acquire %p : <vector<128x128xbf16>>
        tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
      }
      tile.role @mma kind(issuer) {
        %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
        %tb = tile.wait %b : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.acquire %o : <vector<128x64xf32>>
        %to = tile.mma %tp, %tb : vector<128x128xbf16>, vector<128x64xbf16> -> vector<128x64xf32>
        tile.commit %o, %to : <vector<128x64xf32>>, vector<128x64xf32>
        tile.release %p : <vector<128x128xbf16>>
      }
    }
    ```

    After (role `@mma`, shortened):

    ```
    %p0 = tile.wait %p.0 : <vector<128x96xbf16>> -> vector<128x96xbf16>
    %p1 = tile.wait %p.1 : <vector<128x32xbf16>> -> vector<128x32xbf16>
    %o0 = tile.mma %p0, %b[0:96]
    %o1 = tile.mma %p1, %b[96:128] acc %o0
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// tile-pipeline
//===----------------------------------------------------------------------===//

def TilePipeline : FA4_Pass<"tile-pipeline", "::fa4::tile::KernelOp"> {
  let summary = "Software-pipeline the loops of roles";
  let description = [{
    *Input*: roles and channels, whose loops are those of the program. *Output*: the same roles, whose loops issue
    MMAs and loads before the data that they do not need.

    The order follows from the dataflow of all roles together:

    1. *MMAs*: an operation in a loop of MMAs is of stage 1 if it depends on a round trip through other roles in the
       same iteration, and of stage 0 otherwise. The loop becomes a prologue (stage 0 of iteration 0), a loop of one
       iteration less (stage 1 of iteration i, then stage 0 of i + 1) and an epilogue (stage 1 of the last iteration).
       An MMA of stage 0 whose result has only one buffer comes behind the operations that consume the buffer's last
       value, since the buffer is free only then. With `mmas = early` in the plan, it also comes behind those that
       consume what became of this value, which is put in its place (`tile-share-buffers`). A loop that may make no
       pass at all is put under a condition, because its prologue must not run then either. A value that both stages
       use gets a second stage of its channel.
    2. *MMAs of lanes* (roles of kind `matrix`): an operation is of stage 1 if one iteration reaches it only by a way
       from an MMA through the lanes back to an MMA, and of stage 0 otherwise. A pass of the new loop starts the MMAs of
       stage 0, of the next iteration, and those of stage 1; then comes the work of lanes on the first ones, behind their
       await, and then that on the others. What narrows a value to an operand of an MMA of stage 1 comes last, since that
       MMA, of the iteration before, reads the registers until it is awaited. With `mmas = none` in the plan, and where
       there is one stage, the loop stays as it is.
    3. *Loads* are issued in the order in which their consumers wait for them,
       so that the loop of a load role is pipelined like its consumer's.

    In compute roles, lanes first wait for a loaded vector before the
    tile that meets it, even where they compute from the tile alone first (a `score_mod`): they
    need not hold all columns of the result until the vector is there.

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

    After (role `@mma`):

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
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// tile-order
//===----------------------------------------------------------------------===//

def TileOrder : FA4_Pass<"tile-order", "::fa4::tile::KernelOp"> {
  let summary = "Put waits, releases and first loads of roles in order";
  let description = [{
    *Input*: pipelined roles. *Output*: the same roles, whose straight-line code hands values on early.

    - A wait goes directly before the first use of its value, a release directly behind the last use; of an MMA that
      lanes have started, that is its await.
    - In compute roles an acquire goes to where the elementwise computation of its value begins, and operations that
      no commit depends on go behind the last commit. Outside of loops each value is computed directly before its
      first use.
    - The loads in front of the loop of a load role come in the order in which their consumers wait for them.
    - With `overlap_stores` in the plan, a stage is released behind the next store in a loop of stores, so
      that the next store is issued before the last one has ended. The ring then gets two stages.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %a = tile.channel "a" tmem stages(1) initial(1) : <vector<128x128xf32>>
      %r = tile.channel "r" smem stages(1) initial(1) : <vector<128xf32>>
      %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
      tile.role @compute kind(vector) {
        tile.acquire %x : <vector<128x128xbf16>>
        %tr = tile.wait %r : <vector<128xf32>> -> vector<128xf32>
        %ta = tile.wait %a : <vector<128x128xf32>> -> vector<128x128xf32>
        %n = arith.negf %tr : vector<128xf32>
        %tx = arith.truncf %ta : vector<128x128xf32> to vector<128x128xbf16>
        tile.commit %x, %tx : <vector<128x128xbf16>>, vector<128x128xbf16>
        tile.release %r : <vector<128xf32>>
        tile.release %a : <vector<128x128xf32>>
      }
    }
    ```

    After (role `@compute`):

    ```
    %ta = tile.wait %a
    tile.acquire %x
    %tx = arith.truncf %ta
    tile.commit %x, %tx
    tile.release %a
    %tr = tile.wait %r
    %n = arith.negf %tr
    tile.release %r
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// tile-ping-pong
//===----------------------------------------------------------------------===//

def TilePingPong : FA4_Pass<"tile-ping-pong", "::fa4::tile::KernelOp"> {
  let summary = "Let roles that start MMAs take turns";
  let description = [{
    *Input*: roles in order. *Output*: the same roles; where lanes start MMAs, the roles take turns at it.

    Two roles of lanes share the tensor cores. If both start their MMAs at one time, both wait for them, and then both
    compute while the tensor cores idle. With turns, the lanes of one role compute while the MMAs of the other run
    (FlashAttention-3, section 3.1, "ping-pong scheduling"). A role waits for its turn in front of the first MMA of a
    pass, and hands it on behind the last one. The last role hands the first turn to the first role.

    That pays where lanes compute for long enough: from kTurnShare of the time that the MMAs of a role take. Roles take
    turns only if each has one loop with MMAs, and all loops make as many passes.

    Before:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
      %turn = tile.channel "turn_compute0" barrier stages(1) : <none>
      tile.role @compute0 kind(matrix) {
        tile.wait %turn : <none>
      }
      tile.role @compute1 kind(matrix) {
        tile.commit %turn : <none>
      }
    }
    ```

    After (role `@compute1` of two):

    ```
    tile.commit %turn_compute0
    scf.for ... {
      tile.wait %turn_compute1
      %s = tile.mma ...
      %o = tile.mma ...
      tile.commit %turn_compute0
      ...
    }
    ```
  }];
}

//===----------------------------------------------------------------------===//
// tile-stages
//===----------------------------------------------------------------------===//

def TileStages : FA4_Pass<"tile-stages", "::fa4::tile::KernelOp"> {
  let summary = "Give rings of loads the stages that shared memory has room for";
  let description = [{
    *Input*: roles in their final order, whose channels have the stages without which they would deadlock. *Output*:
    the same roles, whose channels have as many stages as memory holds and as are of use.

    Rings that loads fill share what is left of shared memory evenly, up to
    `max_stages` of the plan each, and no more than hide the time of a load on a busy chip behind
    the MMAs of the consumer's loop. What CTAs exchange in a loop gets a second stage before loads do, if there is room:
    one is in use from the lanes' writes until MMAs have read what has come from the other CTA.

    Before:

    ```mlir
    tile.kernel @k(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"1">], plan = #tile.plan<mmas = early, max_stages = 4>} {
      %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
      tile.role @load kind(issuer) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        scf.for %i = %c0 to %c8 step %c1 {
          tile.acquire %a : <vector<128x64xbf16>>
          %t = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
          tile.commit %a, %t : <vector<128x64xbf16>>, vector<128x64xbf16>
        }
      }
    }
    ```

    After: `%a = tile.channel "a" smem stages(4)`.
  }];
  let options = [
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the schedule as a table to stderr">
  ];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD
