// C = max(A B / 2, 0) D, with 64 rows of the pair's 128 in each CTA: lanes work on a
// folded tile (two lanes have half a row each) and write it to shared memory as the A
// of the second product. The tile cannot stay in tensor memory: tcgen05.mma reads an A
// there by whole rows, and each half of the lanes has only half of the columns.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s --check-prefix=ALLOCATE < %t/gemm.allocate.mlir
//
// $ fa4-compile "$S"/gemm-pairs-64-chain.mlir --from=tile -o . --emit=allocate,ptx
// $ fa4-sim gemm.json M=300 K=264 --random --check --seeds 0:7 --output A=A.npy --output B=B.npy --output D=D.npy C=C.npy
// {{.*}}findings 0
// $ python3 "$S"/Inputs/check_relu_product.py A.npy B.npy D.npy C.npy
// largest error, of what rounding explains: {{.*}}
//
// ALLOCATE: tile.channel "epilogue_mma" smem stages(1) {{.*}} : <vector<64x128xbf16>>

tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x128xbf16> {tile.name = "B", tile.dims = ["K", "128"]},
                  %d: memref<128x128xbf16> {tile.name = "D", tile.dims = ["128", "128"]},
                  %c: memref<?x128xbf16> {tile.name = "C", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", cluster = #tile.cluster<size = 2, axis = 0>,
                grid = [#tile.extent<"M" by 64>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  %half = arith.constant dense<0.5> : vector<64x128xf32>
  %tm = tile.work_tile : index
  %row = arith.muli %tm, %c64 : index
  %k = memref.dim %a, %c1 : memref<?x?xbf16>
  %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %zero) -> (vector<64x128xf32>) {
    %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<64x64xbf16>
    %tb = tile.load %b[%i, %c0] split(1) : memref<?x128xbf16> -> vector<64x128xbf16>
    %next = tile.mma %ta, %tb acc %acc : vector<64x64xbf16>, vector<64x128xbf16> -> vector<64x128xf32>
    scf.yield %next : vector<64x128xf32>
  }
  %scaled = arith.mulf %sum, %half : vector<64x128xf32>
  %y = arith.maximumf %scaled, %zero : vector<64x128xf32>
  %yb = arith.truncf %y : vector<64x128xf32> to vector<64x128xbf16>
  %td = tile.load %d[%c0, %c0] split(1) : memref<128x128xbf16> -> vector<128x128xbf16>
  %p = tile.mma %yb, %td : vector<64x128xbf16>, vector<128x128xbf16> -> vector<64x128xf32>
  %pb = arith.truncf %p : vector<64x128xf32> to vector<64x128xbf16>
  tile.store %pb, %c[%row, %c0] : vector<64x128xbf16>, memref<?x128xbf16>
}
