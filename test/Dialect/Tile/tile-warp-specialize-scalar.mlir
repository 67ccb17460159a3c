// A scalar that one role computes from tiles and another one uses goes through a channel of scalars.
// The lanes of a role hold different rows, so that none of them has such a sum: what is not known to
// be the same in all lanes is refused.
//
// RUN: fa4-opt %s --tile-warp-specialize | FileCheck %s --dump-input=never
// RUN: not fa4-opt %s --attn-to-nvvm='from=tile to=distribute' 2>&1 | FileCheck %s --dump-input=never --check-prefix=LANES

// CHECK: %[[SUM:.*]] = tile.channel "compute0_epilogue" smem stages(1) : <f32>
// CHECK: tile.role @compute0
// CHECK: %[[S:.*]] = vector.reduction <add>
// CHECK: tile.acquire %[[SUM]] : <f32>
// CHECK-NEXT: tile.commit %[[SUM]], %[[S]] : <f32>, f32
// CHECK: tile.role @epilogue
// CHECK: %[[WAITED:.*]] = tile.wait %[[SUM]] : <f32> -> f32
// CHECK-NEXT: tile.release %[[SUM]] : <f32>
// CHECK: vector.broadcast %[[WAITED]] : f32

// LANES: :[[#@LINE+13]]:{{[0-9]+}}: error: commits a scalar that lanes compute, each for itself: it may differ among them
tile.kernel @scaled(%a: memref<?x64xbf16> {tile.name = "a", tile.dims = ["M", "64"]},
                    %scales: memref<?xf32> {tile.name = "scales", tile.dims = ["M"]},
                    %c: memref<?x128xf32> {tile.name = "c", tile.dims = ["M", "128"]})
    attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>]} {
  %i = tile.work_tile : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %v = tile.load %scales[%row] : memref<?xf32> -> vector<128xf32>
  %sum = vector.reduction <add>, %v : vector<128xf32> into f32
  %acc = scf.for %j = %c0 to %c2 step %c1 iter_args(%x = %zero) -> (vector<128x128xf32>) {
    %ta = tile.load %a[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %y = tile.mma %ta, transpose %ta acc %x : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    scf.yield %y : vector<128x128xf32>
  }
  %factor = vector.broadcast %sum : f32 to vector<128x128xf32>
  %out = arith.mulf %acc, %factor : vector<128x128xf32>
  tile.store %out, %c[%row, %c0] : vector<128x128xf32>, memref<?x128xf32>
}
