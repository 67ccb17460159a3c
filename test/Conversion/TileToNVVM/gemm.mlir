// A placed GEMM with roles and channels must compute C = A B + constant, also
// at the edges of C. It shows that the lowering knows nothing of attention: B
// is read along its columns (MN-major) and A along its rows.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// The simulator counts 80 MMA instructions: 2 x 2 tiles x 5 K tiles x 4 instructions.
//
// $ fa4-opt $S/gemm.mlir --tile-to-nvvm -o gemm.mlir
// $ fa4-compile gemm.mlir -o .
// $ fa4-sim gemm.json M=200 N=136 K=264 --random --check --seeds 0:3 --stats \
//     --output A=A.npy --output B=B.npy C=C.npy
// ...
//   mma instructions                 80
// ...
//   mma instructions                 80
// ...
//   mma instructions                 80
// ...
//   mma instructions                 80
// ...
// ok: launches 4, {{.*}}, findings 0
// $ python3 $S/Inputs/check_gemm.py A.npy B.npy C.npy
// max relative error {{.*}}

tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>],
                tmem_columns = 128 : i64} {
  %ta = tile.channel "a" smem stages(2) place<offset(0) full(0) arrivals(1) bytes(16384) empty(2) arrivals(1)> : <vector<128x64xbf16>>
  %tb = tile.channel "b" smem stages(2) place<offset(32768) full(4) arrivals(1) bytes(16384) empty(6) arrivals(1)> : <vector<64x128xbf16>>
  %acc = tile.channel "acc" tmem stages(1) place<offset(0) full(8) arrivals(1)> : <vector<128x128xf32>>
  %out = tile.channel "out" smem stages(1) place<offset(65536) full(9) arrivals(128)> : <vector<128x128xbf16>>

  tile.role @load kind(issuer) first_warp(4) registers(48) {
    %tm, %tn = tile.work_tile : index, index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %row = arith.muli %tm, %c128 : index
    %col = arith.muli %tn, %c128 : index
    %depth = memref.dim %a, %c1 : memref<?x?xbf16>
    %k = arith.maxsi %depth, %c1 : index
    scf.for %i = %c0 to %k step %c64 {
      tile.acquire %ta : <vector<128x64xbf16>>
      %va = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<128x64xbf16>
      tile.commit %ta, %va : <vector<128x64xbf16>>, vector<128x64xbf16>
      tile.acquire %tb : <vector<64x128xbf16>>
      %vb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
      tile.commit %tb, %vb : <vector<64x128xbf16>>, vector<64x128xbf16>
    }
  }
  tile.role @mma kind(issuer) first_warp(5) registers(48) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %depth = memref.dim %a, %c1 : memref<?x?xbf16>
    %k = arith.maxsi %depth, %c1 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %sum = scf.for %i = %c0 to %k step %c64 iter_args(%x = %zero) -> (vector<128x128xf32>) {
      %more = arith.cmpi ne, %i, %c0 : index
      %va = tile.wait %ta : <vector<128x64xbf16>> -> vector<128x64xbf16>
      %vb = tile.wait %tb : <vector<64x128xbf16>> -> vector<64x128xbf16>
      %y = tile.mma %va, %vb acc %x if %more : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
      tile.release %ta : <vector<128x64xbf16>>
      tile.release %tb : <vector<64x128xbf16>>
      scf.yield %y : vector<128x128xf32>
    }
    tile.commit %acc, %sum : <vector<128x128xf32>>, vector<128x128xf32>
  }
  tile.role @epilogue kind(vector) first_warp(0) registers(160) {
    %half = arith.constant dense<0.5> : vector<64xf32>
    tile.wait %acc : <vector<128x128xf32>>
    %x0 = tile.read %acc : <vector<128x128xf32>> -> vector<64xf32>
    %y0 = arith.addf %x0, %half : vector<64xf32>
    %z0 = arith.truncf %y0 : vector<64xf32> to vector<64xbf16>
    tile.write %z0, %out : vector<64xbf16>, <vector<128x128xbf16>>
    %x1 = tile.read %acc[64] : <vector<128x128xf32>> -> vector<64xf32>
    %y1 = arith.addf %x1, %half : vector<64xf32>
    %z1 = arith.truncf %y1 : vector<64xf32> to vector<64xbf16>
    tile.write %z1, %out[64] : vector<64xbf16>, <vector<128x128xbf16>>
    tile.fence
    tile.commit %out : <vector<128x128xbf16>>
  }
  tile.role @store kind(issuer) first_warp(6) registers(48) {
    %tm, %tn = tile.work_tile : index, index
    %c128 = arith.constant 128 : index
    %row = arith.muli %tm, %c128 : index
    %col = arith.muli %tn, %c128 : index
    %v = tile.wait %out : <vector<128x128xbf16>> -> vector<128x128xbf16>
    tile.store %v, %c[%row, %col] : vector<128x128xbf16>, memref<?x?xbf16>
  }
}
