//===- MemoryPasses.td - passes on the memory of channels -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Which channels share memory, and where each one lies.

#ifndef FA4_DIALECT_TILE_TRANSFORMS_MEMORYPASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_MEMORYPASSES_TD

include "fa4/Support/PassWithOptions.td"

//===----------------------------------------------------------------------===//
// tile-share-buffers
//===----------------------------------------------------------------------===//

def TileShareBuffers : FA4_Pass<"tile-share-buffers", "::fa4::tile::KernelOp"> {
  let summary = "Decide which channels use the same memory";
  let description = [{
    *Input*: scheduled roles. *Output*: the same roles, whose channels say which of
    them use the same memory, by `in_place_of` and `after` (see
    [tile.channel](TileChannelOps.md)). `tile-allocate` obeys, and the proof of the
    protocol takes such channels to overlap.

    1. **In place.** A role of lanes may read an accumulator from
       tensor memory (`s`) and hand back a left operand of MMAs that is computed from
       the accumulator (`p`). `p` becomes `in_place_of` `s` and lies in its first
       columns, if the program orders the two: the lanes have read `s` when they
       commit `p`, and the role of the MMAs writes `s` and reads `p` in turns. The
       acquires and releases of both channels are then not needed and go. Lanes
       that write column `c` of `p` must have read columns 0 to `2c + 1` of `s`,
       which is so where columns are computed in ascending order.
    2. **Once.** A channel that is filled no more often than it
       has stages, outside of loops, never waits for a free stage, and loses its
       acquires and releases. (Where a CTA takes several work tiles, `tile.work` is a
       loop.)
    3. **In turn, as it is.** Another result of the same role's MMAs (`dq`) may lie in
       the columns of such
       a pair while neither of the two is alive: it is written after the last read
       of `p`, and acquired again before `s` is next written.
    4. **In turn, with a wait.** If there are too few columns otherwise, the acquires of
       such a result move to before the writes of `s`, unless the result's readers depend on
       something that the role does later. The same goes for an accumulator of which nothing is
       written in place (`dp`), if the role waits for something that lanes compute from each of its values
       (`ds`, perhaps in shared memory): the role then knows that they have read the value.
       Places are shared in this way one after another until all channels fit.
    5. **Beside.** If that cannot be, such a result may lie beside the parts of a pair, in columns of `s` that `p` does not
       take (`at`). It may then be written while the next `s` is alive, when the lanes have read that: they read all of `s` first and hand it
       back by a commit to a channel in its place (`s_back`), for which the role waits before it writes the result. The result's acquires
       move to before the next write of `s`. So MMAs that make the next `s` need not wait for what the result is made of. What the lanes need of the role until they have
       read `s`, it must have issued before it waits for them.
    6. **After.** Channels whose values have all been used when another channel is first written may
       give it their memory. The order of operations in roles, and of commits and waits
       between them, must prove it. Of these pairs the pass records the ones with which the first-fit
       placement of `tile-allocate` needs the least memory.

    Before:

    ```mlir
    tile.kernel @k(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
      %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
      %p = tile.channel "p" tmem stages(1) : <vector<128x128xbf16>>
      %o = tile.channel "o" tmem stages(1) : <vector<128x128xf32>>
      tile.role @source kind(vector) {
        %c = arith.constant dense<1.0> : vector<128x128xbf16>
        tile.commit %x, %c : <vector<128x128xbf16>>, vector<128x128xbf16>
      }
      tile.role @mma kind(issuer) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        %zero = arith.constant dense<0.0> : vector<128x128xf32>
        %tx = tile.wait %x : <vector<128x128xbf16>> -> vector<128x128xbf16>
        %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%acc = %zero) -> (vector<128x128xf32>) {
          %more = arith.cmpi ne, %i, %c0 : index
          tile.acquire %s : <vector<128x128xf32>>
          %ts = tile.mma %tx, transpose %tx : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
          tile.commit %s, %ts : <vector<128x128xf32>>, vector<128x128xf32>
          %tp = tile.wait %p : <vector<128x128xbf16>> -> vector<128x128xbf16>
          %y = tile.mma %tp, %tx acc %acc if %more : vector<128x128xbf16>, vector<128x128xbf16> -> vector<128x128xf32>
          tile.release %p : <vector<128x128xbf16>>
          scf.yield %y : vector<128x128xf32>
        }
        tile.commit %o, %r : <vector<128x128xf32>>, vector<128x128xf32>
      }
      tile.role @lanes kind(vector) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        scf.for %i = %c0 to %c8 step %c1 {
          %ts = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
          %e = math.exp2 %ts : vector<128x128xf32>
          %tp = arith.truncf %e : vector<128x128xf32> to vector<128x128xbf16>
          tile.release %s : <vector<128x128xf32>>
          tile.acquire %p : <vector<128x128xbf16>>
          tile.commit %p, %tp : <vector<128x128xbf16>>, vector<128x128xbf16>
        }
        %t = tile.wait %o : <vector<128x128xf32>> -> vector<128x128xf32>
      }
    }
    ```

    After (shortened):

    ```
    %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
    %p = tile.channel "p" tmem stages(1) in_place_of(%s : !tile.channel<vector<128x128xf32>>) : <vector<128x128xbf16>>
    ... // without acquires and releases of s and p
    ```
  }];
  let options = [
    Option<"verify", "verify", "bool", /*default=*/"true",
           "Prove the protocol of what the pass is given, as tile-verify-protocol">
  ];
}

//===----------------------------------------------------------------------===//
// tile-allocate
//===----------------------------------------------------------------------===//

def TileAllocate : FA4_Pass<"tile-allocate", "::fa4::tile::KernelOp"> {
  let summary = "Give channels memory and barriers";
  let description = [{
    *Input*: roles and channels without places. *Output*: the same kernel with a place
    for each channel: `offset`, the barriers `full` and `empty`, and the sizes
    `smem_bytes` and `tmem_columns` of the kernel. A kernel that does not fit the chip
    is an error on the kernel, with a note on the place of each channel.

    1. **Offsets.** Channels in place of each other have one buffer. The largest buffer is placed
       first, each at the lowest offset at which no other buffer is, but those that it is `after`
       (`tile-share-buffers` says so). Matrices in shared
       memory are aligned to 1024 bytes and row values to 128; channels in tensor
       memory to 32 columns. Behind the channels lie the mbarriers, 8 bytes each, and
       the word that receives the address of tensor memory. Tensor memory is
       allocated in powers of two.
    2. **Barriers.** They are numbered in the order of the channels. A channel has one
       `full` barrier for each stage, and one `empty` barrier for each stage if a
       role acquires it. Each comes with what completes a phase: the `arrivals` of
       the roles, and the `bytes` of TMA loads.

    Before:

    ```mlir
    tile.kernel @rows(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                      %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %in = tile.channel "in" smem stages(1) : <vector<128x64xbf16>>
      %out = tile.channel "out" smem stages(1) : <vector<128x64xbf16>>
      tile.role @load kind(issuer) {
        %i = tile.work_tile : index
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %row = arith.muli %i, %c128 : index
        tile.acquire %in : <vector<128x64xbf16>>
        %v = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %in, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
      tile.role @compute kind(vector) {
        %v = tile.wait %in : <vector<128x64xbf16>> -> vector<128x64xbf16>
        %w = arith.addf %v, %v : vector<128x64xbf16>
        tile.release %in : <vector<128x64xbf16>>
        tile.acquire %out : <vector<128x64xbf16>>
        tile.commit %out, %w : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
      tile.role @store kind(issuer) {
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
    tile.kernel @rows(...) attributes {..., smem_bytes = 32800 : i64} {
      %in = tile.channel "in" smem stages(1) place<offset(0) full(0) arrivals(1) bytes(16384) empty(1) arrivals(128)> : <vector<128x64xbf16>>
      %out = tile.channel "out" smem stages(1) place<offset(16384) full(2) arrivals(128) empty(3) arrivals(1)> : <vector<128x64xbf16>>
      ...
    }
    ```
  }];
  let options = [
    Option<"print", "print", "bool", /*default=*/"false",
           "Print the memory map of each kernel, as a remark">,
    Option<"verify", "verify", "bool", /*default=*/"true",
           "Prove the protocol of the result, as tile-verify-protocol">
  ];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_MEMORYPASSES_TD
