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


//===----------------------------------------------------------------------===//
// tile-lazy-rescale
//===----------------------------------------------------------------------===//


//===----------------------------------------------------------------------===//
// tile-warp-specialize
//===----------------------------------------------------------------------===//


//===----------------------------------------------------------------------===//
// tile-schedule
//===----------------------------------------------------------------------===//


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


//===----------------------------------------------------------------------===//
// tile-distribute
//===----------------------------------------------------------------------===//


//===----------------------------------------------------------------------===//
// tile-unroll
//===----------------------------------------------------------------------===//


#endif // FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
