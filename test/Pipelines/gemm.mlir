// A GEMM with an elementwise epilogue, C = max(A B / 2, 0), written as one tile
// of 256 x 128 and a loop over K, goes through every level down to PTX and
// computes the right numbers. No pass may need to know that this is no
// attention.
//
// RUN: rm -rf %t && mkdir -p %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s --check-prefix=SUBTILE < %t/gemm.subtile.mlir
// RUN: FileCheck --dump-input=never %s --check-prefix=ROLES < %t/gemm.schedule.mlir
//
// $ fa4-compile "$S"/gemm.mlir --from=tile -o . --emit=subtile,schedule,ptx
//
// 2 x 2 tiles, 5 blocks of K, 2 tiles of rows, 4 instructions.
//
// $ fa4-sim gemm.json M=300 N=136 K=264 --random --check --seeds 0:3 --stats --output A=A.npy --output B=B.npy C=C.npy > stats.txt
// $ grep -c 'mma instructions *160$' stats.txt
// 4
// $ python3 "$S"/Inputs/check_scaled_relu.py A.npy B.npy C.npy
// max relative error {{.*}}
//
// One K block, and less than one tile.
//
// $ fa4-sim gemm.json M=40 N=24 K=16 --random --check --seeds 0:3 --output A=A.npy --output B=B.npy C=C.npy
// ok: {{.*}} findings 0
// $ python3 "$S"/Inputs/check_scaled_relu.py A.npy B.npy C.npy
// max relative error {{.*}}
//
// Two tiles of the MMA's rows, which share B.
//
// SUBTILE: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}) -> (vector<128x128xf32>, vector<128x128xf32>)
// SUBTILE: %[[B:.*]] = tile.load {{.*}} -> vector<64x128xbf16>
// SUBTILE: tile.mma %{{.*}}, %[[B]] acc %[[X]]
// SUBTILE: tile.mma %{{.*}}, %[[B]] acc %[[Y]]
// SUBTILE: arith.maximumf {{.*}} : vector<128x128xf32>
//
// ROLES-DAG: tile.channel "A" smem stages({{[2-9]}})
// ROLES-DAG: tile.channel "B" smem stages({{[2-9]}})
// ROLES-DAG: tile.channel "A_2" smem stages({{[2-9]}})
// ROLES-DAG: tile.channel "mma_epilogue" tmem stages(1)
// ROLES-DAG: tile.channel "mma_epilogue_2" tmem stages(1)
// ROLES-DAG: tile.channel "epilogue_store" smem
// ROLES: tile.role @epilogue kind(vector)
// ROLES: arith.maximumf
// ROLES: tile.role @mma kind(issuer)
// ROLES: scf.for
// ROLES: tile.wait %B
// ROLES: tile.mma
// ROLES: tile.mma
// ROLES: tile.role @load kind(issuer)
// ROLES: tile.role @store kind(issuer)
//

tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 256>, #tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<256x128xf32>
  %half = arith.constant dense<0.5> : vector<256x128xf32>
  %tm, %tn = tile.work_tile : index, index
  %row = arith.muli %tm, %c256 : index
  %col = arith.muli %tn, %c128 : index
  %k = memref.dim %a, %c1 : memref<?x?xbf16>
  %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %zero) -> (vector<256x128xf32>) {
    %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<256x64xbf16>
    %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
    %next = tile.mma %ta, %tb acc %acc : vector<256x64xbf16>, vector<64x128xbf16> -> vector<256x128xf32>
    scf.yield %next : vector<256x128xf32>
  }
  %scaled = arith.mulf %sum, %half : vector<256x128xf32>
  %y = arith.maximumf %scaled, %zero : vector<256x128xf32>
  %yb = arith.truncf %y : vector<256x128xf32> to vector<256x128xbf16>
  tile.store %yb, %c[%row, %col] : vector<256x128xbf16>, memref<?x?xbf16>
}
