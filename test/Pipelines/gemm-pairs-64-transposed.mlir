// Transposed tiles of A with 512 rows, of which an MMA of a pair takes 64 columns
// from each CTA, and sums over work tiles that are added to memory in a loop:
// what the gradient does for dq. Shared memory has room for two parts of a sum.
// A part has columns of both halves of the folded tile, 32 of each, which go to
// two places; one part of 64 columns side by side would be with half of the
// lanes only.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s --check-prefix=PARTS < %t/gemm.schedule.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=LANES < %t/gemm.distribute.mlir
//
// $ fa4-compile "$S"/gemm-pairs-64-transposed.mlir --from=tile -o . --emit=schedule,distribute,ptx
//
// A box is 128 bytes of 64 rows.
//
// $ cat gemm.json
// ...
// {{ *}}32,
//           64
// ...
//         "tensor": "C"
// ...
// $ python3 -c "import numpy; numpy.save('zero.npy', numpy.zeros((304, 136), 'float32'))"
// $ fa4-sim gemm.json M=304 N=136 K=1040 --random --check --seeds 0:5 --output A=A.npy --output B=B.npy --output C=C.npy C=zero.npy
// {{.*}}findings 0
// $ python3 "$S"/Inputs/check_product.py A.npy B.npy C.npy --transposed
// largest error, of what rounding allows: {{.*}}
// $ python3 -c "import numpy; numpy.save('zero.npy', numpy.zeros((40, 24), 'float32'))"
// $ fa4-sim gemm.json M=40 N=24 K=16 --random --check --seeds 0:3 --output A=A.npy --output B=B.npy --output C=C.npy C=zero.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_product.py A.npy B.npy C.npy --transposed
// largest error, of what rounding allows: {{.*}}
//
// PARTS: tile.channel "epilogue_store" smem stages(2) : <vector<64x64xf32>>
// PARTS: %[[V:.*]] = tile.wait %mma_epilogue
// PARTS: %[[COPY:.*]] = tile.copy %[[V]]
// PARTS: vector.extract_strided_slice {{.*}} {offsets = [0, 0, 0], sizes = [64, 2, 32], strides = [1, 1, 1]}
// PARTS: %[[HALVES:.*]] = vector.shape_cast %[[COPY]] : vector<64x128xf32> to vector<64x2x64xf32>
// PARTS: vector.extract_strided_slice %[[HALVES]] {offsets = [0, 0, 32], sizes = [64, 2, 32], strides = [1, 1, 1]}
// PARTS: tile.role @store
// PARTS: %[[C64:.*]] = arith.constant 64 : index
// PARTS: %[[P:.*]] = tile.wait %epilogue_store
// PARTS: %[[LO:.*]] = vector.extract_strided_slice %[[P]] {offsets = [0, 0], sizes = [64, 32], strides = [1, 1]}
// PARTS: tile.reduce_add %[[LO]], %{{.*}}[%[[ROW:.*]], %[[COL:.*]]]
// PARTS: %[[HI:.*]] = vector.extract_strided_slice %[[P]] {offsets = [0, 32], sizes = [64, 32], strides = [1, 1]}
// PARTS: %[[NEXT:.*]] = arith.addi %[[COL]], %c64
// PARTS: tile.reduce_add %[[HI]], %{{.*}}[%[[ROW]], %[[NEXT]]]
//
// LANES: %[[V:.*]] = tile.read %mma_epilogue : <vector<64x128xf32>> -> vector<64xf32>
// LANES: %[[FIRST:.*]] = vector.extract_strided_slice %[[V]] {offsets = [0], sizes = [32], strides = [1]}
// LANES: tile.write %[[FIRST]], %epilogue_store : vector<32xf32>, <vector<64x64xf32>>
// LANES: %[[SECOND:.*]] = vector.extract_strided_slice %[[V]] {offsets = [32], sizes = [32], strides = [1]}
// LANES: tile.write %[[SECOND]], %epilogue_store : vector<32xf32>, <vector<64x64xf32>>
//

tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["K", "M"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xf32> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>,
                grid = [#tile.extent<"M" by 64>, #tile.extent<"K" by 512>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %tm, %tk = tile.work_tile : index, index
  %row = arith.muli %tm, %c64 : index
  %k = arith.muli %tk, %c512 : index
  %k2 = arith.addi %k, %c256 : index
  %n = memref.dim %b, %c1 : memref<?x?xbf16>
  %ta = tile.load %a[%k, %row] : memref<?x?xbf16> -> vector<256x64xbf16>
  %ta2 = tile.load %a[%k2, %row] : memref<?x?xbf16> -> vector<256x64xbf16>
  scf.for %col = %c0 to %n step %c128 {
    %tb = tile.load %b[%k, %col] split(1) : memref<?x?xbf16> -> vector<256x128xbf16>
    %tb2 = tile.load %b[%k2, %col] split(1) : memref<?x?xbf16> -> vector<256x128xbf16>
    %half = tile.mma transpose %ta, %tb : vector<256x64xbf16>, vector<256x128xbf16> -> vector<64x128xf32>
    %sum = tile.mma transpose %ta2, %tb2 acc %half : vector<256x64xbf16>, vector<256x128xbf16> -> vector<64x128xf32>
    tile.reduce_add %sum, %c[%row, %col] : vector<64x128xf32>, memref<?x?xf32>
  }
}
