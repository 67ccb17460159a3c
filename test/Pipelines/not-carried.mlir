// What the conversion to LLVM, or the back end behind it, would change without a word is an error on the operation: a
// rounding that PTX has no instruction for, and an index that needs more bits than it has in a kernel.
//
// RUN: rm -rf %t && split-file %s %t
// RUN: not fa4-compile %t/rounding.mlir --from=tile -o %t/out --verify-ptx=false 2>&1 | FileCheck %s --check-prefix=ROUNDING
// ROUNDING: rounding.mlir:[[#]]:8: error: 'arith.truncf' op has no instruction that rounds to_nearest_away
// RUN: sed 's/to_nearest_away/toward_zero/' %t/rounding.mlir | fa4-compile - --from=tile -o %t/out --verify-ptx=false
// RUN: FileCheck %s --check-prefix=ZERO --input-file %t/out/rounding.ptx --implicit-check-not=cvt.rn
// ZERO: cvt.rz.bf16.f32
// RUN: not fa4-compile %t/wide.mlir --from=tile -o %t/none --verify-ptx=false 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: wide.mlir:[[#]]:10: error: 'arith.constant' op does not fit into an index, which has 32 bits in a kernel
// RUN: not ls %t/none

//--- rounding.mlir
tile.kernel @rounding(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                    %t: memref<?xbf16> {tile.name = "t", tile.dims = ["N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  %r = arith.truncf %v to_nearest_away : vector<128xf32> to vector<128xbf16>
  tile.store %r, %t[%at] : vector<128xbf16>, memref<?xbf16>
}
//--- wide.mlir
tile.kernel @wide(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                    %t: memref<?xf32> {tile.name = "t", tile.dims = ["N"], tile.output = "once"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %c128 = arith.constant 128 : index
  %far = arith.constant dense<4294967296> : vector<128xindex>
  %i = tile.work_tile : index
  %at = arith.muli %i, %c128 : index
  %steps = vector.step : vector<128xindex>
  %near = arith.cmpi slt, %steps, %far : vector<128xindex>
  %v = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
  %n = arith.negf %v : vector<128xf32>
  %r = arith.select %near, %v, %n : vector<128xi1>, vector<128xf32>
  tile.store %r, %t[%at] : vector<128xf32>, memref<?xf32>
}
