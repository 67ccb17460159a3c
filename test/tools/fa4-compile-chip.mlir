// A kernel says which chip it is for, at every level: PTX, manifest and ptxas are
// for that chip, and not for fa4-compile's default.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile op.mlir --chip=sm_103a -o op --emit=tile,unroll,nvvm,ptx
// $ cp op/f_kernel.tile.mlir tile.mlir
// $ cp op/f_kernel.unroll.mlir unroll.mlir
// $ cp op/f_kernel.nvvm.mlir nvvm.mlir
// $ cat op/f_kernel.ptx
// ...
// .target sm_103a
// ...
// $ fa4-compile --from=tile tile.mlir -o from-tile
// $ fa4-compile --from=unroll unroll.mlir -o from-unroll --report
// f_kernel on sm_103a: {{[0-9]+}} bytes of PTX
// ...
// $ fa4-compile --from=nvvm nvvm.mlir -o from-nvvm
// $ fa4-compile nvvm.mlir -o no-from
// $ diff op/f_kernel.ptx from-tile/f_kernel.ptx
// $ diff op/f_kernel.ptx from-unroll/f_kernel.ptx
// $ diff op/f_kernel.ptx from-nvvm/f_kernel.ptx
// $ diff op/f_kernel.ptx no-from/f_kernel.ptx
// $ cat from-unroll/f_kernel.json
// ...
//     "chip": "sm_103a",
// ...
// $ cat from-nvvm/f_kernel.json
// ...
//     "chip": "sm_103a",
// ...
//
// The same chip may be given, and makes no difference.
//
// $ fa4-compile --from=unroll unroll.mlir --chip=sm_103a -o given
// $ diff from-unroll/f_kernel.ptx given/f_kernel.ptx
// $ diff from-unroll/f_kernel.json given/f_kernel.json
//
// Another chip is an error on the kernel, at every level.
//
// $ fa4-compile --from=tile tile.mlir --chip=sm_100a -o bad
// tile.mlir:{{[0-9]+}}:{{[0-9]+}}: error: this kernel is for sm_103a, but --chip=sm_100a was given
// ...
// [1]
// $ fa4-compile --from=unroll unroll.mlir --chip=sm_100a -o bad
// unroll.mlir:{{[0-9]+}}:{{[0-9]+}}: error: this kernel is for sm_103a, but --chip=sm_100a was given
// ...
// [1]
// $ fa4-compile --from=nvvm nvvm.mlir --chip=sm_100a -o bad
// nvvm.mlir:{{[0-9]+}}:{{[0-9]+}}: error: this kernel is for sm_103a, but --chip=sm_100a was given
// ...
// [1]
// $ fa4-compile nvvm.mlir --chip=sm_90a -o bad
// nvvm.mlir:5:3: error: this kernel is for sm_103a, but --chip=sm_90a was given
// ...
// [1]
// $ fa4-opt unroll.mlir "--attn-to-nvvm=from=unroll chip=sm_100a"
// <unknown>:0: error: attn-to-nvvm: chip is an option for attention ops; kernels of the level 'unroll' say which chip they are for
// [1]
//
// Kernels of one module that has no name are in a file each, and may be for several chips.
//
// $ fa4-compile two.mlir -o two
// $ cat two/first.ptx
// ...
// .target sm_100a
// ...
// $ cat two/second.ptx
// ...
// .target sm_103a
// ...
//
// Those of a module that has a name are in one file, which has one target.
//
// $ fa4-compile named.mlir -o bad
// named.mlir:10:3: error: this kernel is for sm_103a, and 'first' is for sm_100a; kernels of a module that has a name are in one PTX file, which is for one chip
//   tile.kernel @second(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
//   ^
// [1]

//--- op.mlir
func.func @f(%q: tensor<1x256x1x64xbf16>) -> tensor<1x256x1x64xbf16> {
  %out = attn.sdpa %q, %q, %q layout<bshd> : tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16>, tensor<1x256x1x64xbf16> -> tensor<1x256x1x64xbf16>
  return %out : tensor<1x256x1x64xbf16>
}

//--- two.mlir
tile.kernel @first(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %one = arith.constant dense<1.0> : vector<128xf32>
  tile.store %one, %y[%at] : vector<128xf32>, memref<?xf32>
}
tile.kernel @second(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
    attributes {chip = "sm_103a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %one = arith.constant dense<1.0> : vector<128xf32>
  tile.store %one, %y[%at] : vector<128xf32>, memref<?xf32>
}

//--- named.mlir
module @both {
  tile.kernel @first(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
      attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
    %c128 = arith.constant 128 : index
    %i = tile.work_tile : index
    %at = arith.muli %i, %c128 : index
    %one = arith.constant dense<1.0> : vector<128xf32>
    tile.store %one, %y[%at] : vector<128xf32>, memref<?xf32>
  }
  tile.kernel @second(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]})
      attributes {chip = "sm_103a", grid = [#tile.extent<"N" by 128>]} {
    %c128 = arith.constant 128 : index
    %i = tile.work_tile : index
    %at = arith.muli %i, %c128 : index
    %one = arith.constant dense<1.0> : vector<128xf32>
    tile.store %one, %y[%at] : vector<128xf32>, memref<?xf32>
  }
}
