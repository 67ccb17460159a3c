// A store that ends at a row (`to`), which is read from memory here: what is behind belongs to another
// sequence. A matrix is stored by TMA with a tensor map that has the dimension of the rows twice and
// begins 128 rows, those of a box, in front of the tensor: (i, j) is row i + j - 128, where j is the row that the
// store ends at, so that rows behind are out of bounds of i. No coordinate is negative, unless
// the store's own row is. Lanes that store a value a row compare.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: fa4-opt %s --tile-verify-outputs --verify-diagnostics --split-input-file -o /dev/null
//
// Both halves end where the sequence does.
//
// $ fa4-opt $S/../../Pipelines/Inputs/varlen-attention.mlir --attn-to-nvvm='from=tile to=subtile'
// ...
//     tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] dims [0, 2] to(%{{(?P<end>.*)}}) : vector<128x64xbf16>{{.*}}
//     tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] dims [0, 2] to(%{{(?P=end)}}) : vector<128x64xbf16>{{.*}}
// ...
// $ fa4-opt $S/../../Pipelines/Inputs/varlen-attention.mlir --attn-to-nvvm='from=tile to=unroll' -o kernel.mlir
// $ cat kernel.mlir
// ...
//       tile.put %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] dim 1 to(%{{.*}}) : f32, memref<2x?xf32>
// ...
//     tile.role @store{{.*}}
// ...
//       tile.store %{{.*}} dims [0, 2] to(%{{.*}}){{.*}}
// ...
// $ fa4-opt kernel.mlir | diff kernel.mlir -
// $ fa4-opt kernel.mlir --attn-to-nvvm='from=unroll to=nvvm'
// ...
// {{.*}}box = [64, 1, 128], byte_strides = ["128", "256"], dims = ["64", "2", "Tq"], swizzle = "128B", tensor = "q"{{.*}}box = [64, 1, 128, 1], byte_strides = ["128", "256", "256"], dims = ["64", "2", "128", "Tq + 1"], offset = "-32768", swizzle = "128B", tensor = "out"{{.*}}
// ...

// That each element is written once is not known.
tile.kernel @claimed(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                     %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"], tile.output = "once"},
                     %end: index {tile.name = "end"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %v = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  // expected-error @below {{output 'y': not proven that each element is written once: rows at 'to' and behind are left out}}
  tile.store %v, %y[%row, %c0] to(%end) : vector<128x64xbf16>, memref<?x64xbf16>
}
