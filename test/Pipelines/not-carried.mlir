// What the conversion to LLVM, or the back end behind it, would change without a word is an error on the operation: a
// rounding that PTX has no instruction for, and an index that needs more bits than it has in a kernel.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile rounding.mlir --from=tile -o out --verify-ptx=false
// rounding.mlir:{{[0-9]+}}:8: error: 'arith.truncf' op has no instruction that rounds to_nearest_away
//   %r = arith.truncf %v to_nearest_away : vector<128xf32> to vector<128xbf16>
//        ^
// [1]
// $ sed 's/to_nearest_away/toward_zero/' rounding.mlir | fa4-compile - --from=tile -o out --verify-ptx=false
// $ cat out/rounding.ptx
// ...
// 	cvt.rz.bf16.f32{{.*}}
// ...
// $ grep 'cvt\.rn' out/rounding.ptx
// [1]
// $ fa4-compile wide.mlir --from=tile -o none --verify-ptx=false
// wide.mlir:{{[0-9]+}}:10: error: 'arith.constant' op does not fit into an index, which has 32 bits in a kernel
//   %far = arith.constant dense<4294967296> : vector<128xindex>
//          ^
// [1]
// $ test ! -e none

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
