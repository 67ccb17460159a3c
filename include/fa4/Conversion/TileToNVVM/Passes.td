//===- Passes.td - tile dialect to NVVM -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_TILETONVVM_PASSES_TD
#define FA4_CONVERSION_TILETONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileToNVVM : Pass<"tile-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Lower kernels of the tile dialect to the LLVM and NVVM dialects";
  let description = [{
    Each `tile.kernel` becomes an `llvm.func` of its name with `nvvm.kernel`. It
    must be placed (`tile-allocate`), and its roles of four warps be distributed
    (`tile-distribute`, `tile-unroll`).

    - **Parameters**: tensor maps, one for each tensor, box and swizzle; pointers
      and strides of tensors that lanes write (`tile.put`); scalars; sizes
      (`memref.dim`). `fa4.manifest` on the function says what they are.
    - **Roles** are chosen by warp. Each warpgroup sets its register budget; a role
      that issues runs in one elected thread.
    - **Channels** are mbarriers. How often a role has used a ring is a constant in
      straight-line code; what advances alike in a loop is one loop-carried counter.
    - **Loads and stores** are TMA instructions, one for each box of as many columns as
      the swizzle spans; **MMAs** are `tcgen05.mma`, one for each 16 of K. A load is
      issued at its commit.
    - **Lanes** access tensor memory by `tcgen05.ld` and `.st`, shared memory by
      loads and stores at swizzled addresses. Fences and waits are where a value
      is handed on.

    `index` is 32 bits wide. An accumulator that starts with zero in a loop is
    undefined if the loop has no iteration.

    Before:

    ```mlir
    tile.kernel @copy(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                      %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>], smem_bytes = 32800} {
      %tiles = tile.channel "tiles" smem stages(2) offset(0) full(0) empty(2) : <vector<128x64xbf16>>
      tile.role @load warps(1) issue first_warp(0) {
        %i = tile.work_tile : index
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %row = arith.muli %i, %c128 : index
        tile.acquire %tiles : <vector<128x64xbf16>>
        %v = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %tiles, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
      tile.role @store warps(1) issue first_warp(1) {
        %i = tile.work_tile : index
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %row = arith.muli %i, %c128 : index
        %v = tile.wait %tiles : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.store %v, %y[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
        tile.release %tiles : <vector<128x64xbf16>>
      }
    }
    ```

    After, in short:

    ```
    llvm.func @copy(%arg0: !llvm.ptr {...}, %arg1: !llvm.ptr {...}) attributes {fa4.manifest = {...}, nvvm.kernel, ...} {
      ...                                       // barriers are set up
      llvm.cond_br %is_warp_0, ^load, ^other
    ^load:
      %elected = nvvm.elect.sync -> i1
      llvm.cond_br %elected, ^wait, ^join
    ^wait:
      %free = nvvm.mbarrier.try_wait %empty, %c1 : !llvm.ptr<3>, i32 -> i1
      llvm.cond_br %free, ^issue, ^wait
    ^issue:
      nvvm.mbarrier.arrive.expect_tx %full, %c16384 : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %tile, %arg0, %full, box[%c0, %row] ...
    ```
  }];
  let dependentDialects = [
    "::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect"
  ];
}

#endif // FA4_CONVERSION_TILETONVVM_PASSES_TD
