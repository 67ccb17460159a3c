// A kernel says which chip it is for, at every level: PTX, manifest and ptxas are
// for that chip, and not for fa4-compile's default.
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: fa4-compile op.mlir --chip=sm_103a -o op --emit=tile,unroll,nvvm,ptx
// RUN: cp op/f_kernel.tile.mlir tile.mlir
// RUN: cp op/f_kernel.unroll.mlir unroll.mlir
// RUN: cp op/f_kernel.nvvm.mlir nvvm.mlir
// RUN: FileCheck %s --check-prefix=TARGET < op/f_kernel.ptx
// RUN: fa4-compile --from=tile tile.mlir -o from-tile
// RUN: fa4-compile --from=unroll unroll.mlir -o from-unroll --report | FileCheck %s --check-prefix=REPORT
// RUN: fa4-compile --from=nvvm nvvm.mlir -o from-nvvm
// RUN: fa4-compile nvvm.mlir -o no-from
// RUN: diff op/f_kernel.ptx from-tile/f_kernel.ptx
// RUN: diff op/f_kernel.ptx from-unroll/f_kernel.ptx
// RUN: diff op/f_kernel.ptx from-nvvm/f_kernel.ptx
// RUN: diff op/f_kernel.ptx no-from/f_kernel.ptx
// RUN: FileCheck %s --check-prefix=MANIFEST < from-unroll/f_kernel.json
// RUN: FileCheck %s --check-prefix=MANIFEST < from-nvvm/f_kernel.json
// TARGET: .target sm_103a
// REPORT: f_kernel on sm_103a:
// MANIFEST: "chip": "sm_103a"

// The same chip may be given, and makes no difference.
// RUN: fa4-compile --from=unroll unroll.mlir --chip=sm_103a -o given
// RUN: diff from-unroll/f_kernel.ptx given/f_kernel.ptx
// RUN: diff from-unroll/f_kernel.json given/f_kernel.json

// Another chip is an error on the kernel, at every level.
// RUN: not fa4-compile --from=tile tile.mlir --chip=sm_100a -o bad 2>&1 | FileCheck %s --check-prefix=OTHER --implicit-check-not=error:
// RUN: not fa4-compile --from=unroll unroll.mlir --chip=sm_100a -o bad 2>&1 | FileCheck %s --check-prefix=OTHER --implicit-check-not=error:
// RUN: not fa4-compile --from=nvvm nvvm.mlir --chip=sm_100a -o bad 2>&1 | FileCheck %s --check-prefix=OTHER --implicit-check-not=error:
// RUN: not fa4-compile nvvm.mlir --chip=sm_90a -o bad 2>&1 | FileCheck %s --check-prefix=OTHER90 --implicit-check-not=error:
// OTHER: .mlir:{{[0-9]+}}:{{[0-9]+}}: error: this kernel is for sm_103a, but --chip=sm_100a was given
// OTHER90: error: this kernel is for sm_103a, but --chip=sm_90a was given
// RUN: not fa4-opt unroll.mlir "--attn-to-nvvm=from=unroll chip=sm_100a" 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: attn-to-nvvm: chip is an option for attention ops; kernels of the level 'unroll' say which chip they are for

// Kernels of one module that has no name are in a file each, and may be for several chips.
// RUN: fa4-compile two.mlir -o two
// RUN: FileCheck %s --check-prefix=FIRST < two/first.ptx
// RUN: FileCheck %s --check-prefix=SECOND < two/second.ptx
// FIRST: .target sm_100a
// SECOND: .target sm_103a

// Those of a module that has a name are in one file, which has one target.
// RUN: not fa4-compile named.mlir -o bad 2>&1 | FileCheck %s --check-prefix=NAMED --implicit-check-not=error:
// NAMED: named.mlir:10:3: error: this kernel is for sm_103a, and 'first' is for sm_100a; kernels of a module that has a name are in one PTX file, which is for one chip

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
