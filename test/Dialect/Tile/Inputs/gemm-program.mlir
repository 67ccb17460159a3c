// C = A B, with at least one block of K.

tile.kernel @gemm
// CHECK-DAG:   %[[A:.*]] = tile.channel "A" smem stages(1) : <vector<128x64xbf16>>
// CHECK-DAG:   %[[B:.*]] = tile.channel "B" smem stages(1) : <vector<64x128xbf16>>
// CHECK-DAG:   %[[ACC:.*]] = tile.channel "mma_epilogue" tmem stages(1) : <vector<128x128xf32>>
// CHECK-DAG:   %[[OUT:.*]] = tile.channel "epilogue_store" smem stages(1) : <vector<128x128xbf16>>
// CHECK:       tile.role @epilogue warps(4) first_warp(0)
// CHECK-NEXT:    %[[V:.*]] = tile.wait %[[ACC]]
// CHECK-NEXT:    %[[T:.*]] = arith.truncf %[[V]]
// CHECK-NEXT:    tile.release %[[ACC]]
// CHECK-NEXT:    tile.acquire %[[OUT]]
// CHECK-NEXT:    tile.commit %[[OUT]], %[[T]]
// CHECK:       tile.role @mma warps(1) issue first_warp(4)
// CHECK:         tile.acquire %[[ACC]]
// CHECK:         %[[R:.*]] = scf.for %[[I:.*]] = %[[C0:.*]] to %{{.*}} iter_args(%[[X:.*]] = %{{.*}})
// CHECK:           %[[MORE:.*]] = arith.cmpi ne, %[[I]], %[[C0]]
// CHECK:           %[[TA:.*]] = tile.wait %[[A]]
// CHECK:           %[[TB:.*]] = tile.wait %[[B]]
// CHECK:           %[[Y:.*]] = tile.mma %[[TA]], %[[TB]] acc %[[X]] if %[[MORE]]
// CHECK-DAG:       tile.release %[[A]]
// CHECK-DAG:       tile.release %[[B]]
// CHECK:           scf.yield %[[Y]]
// CHECK:         tile.commit %[[ACC]], %[[R]]
// CHECK:       tile.role @load warps(1) issue first_warp(5)
// CHECK:         scf.for
// CHECK:           tile.acquire %[[A]]
// CHECK-NEXT:      %[[LA:.*]] = tile.load %arg0
// CHECK-NEXT:      tile.commit %[[A]], %[[LA]]
// CHECK:           tile.acquire %[[B]]
// CHECK-NEXT:      %[[LB:.*]] = tile.load %arg1
// CHECK-NEXT:      tile.commit %[[B]], %[[LB]]
// CHECK:       tile.role @store warps(1) issue first_warp(6)
// CHECK:         %[[S:.*]] = tile.wait %[[OUT]]
// CHECK-NEXT:    tile.store %[[S]], %arg2
// CHECK-NEXT:    tile.release %[[OUT]]
// CHECK:       tile.role @idle warps(1) first_warp(7)
tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
  %tm, %tn = tile.work_tile : index, index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %tm, %c128 : index
  %col = arith.muli %tn, %c128 : index
  %size = memref.dim %a, %c1 : memref<?x?xbf16>
  %blocks = arith.ceildivsi %size, %c64 : index
  %n = arith.maxsi %blocks, %c1 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %acc = scf.for %block = %c0 to %n step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %i = arith.muli %block, %c64 : index
    %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<128x64xbf16>
    %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
    %y = tile.mma %ta, %tb acc %x : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  %out = arith.truncf %acc : vector<128x128xf32> to vector<128x128xbf16>
  tile.store %out, %c[%row, %col] : vector<128x128xbf16>, memref<?x?xbf16>
}
