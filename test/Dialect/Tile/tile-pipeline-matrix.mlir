// A role whose lanes start MMAs works while they run: a pass of its loop must start the scores of the next keys and the
// product of the keys before, and then await the scores, work on them, await the product, and only then narrow the
// probabilities, whose registers the product has read until then. The loop's first scores stand in front of it, and the
// last product behind it. Without a plan of MMAs, and where one product is all there is, nothing moves.
//
// RUN: fa4-opt %S/Inputs/matrix-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize,tile-pipeline))' | FileCheck %s
// RUN: sed 's/attributes {/attributes {plan = #tile.plan<mmas = none>, /' %S/Inputs/matrix-program.mlir | fa4-opt --pass-pipeline='builtin.module(tile.kernel(tile-subtile,tile-warp-specialize,tile-pipeline))' | FileCheck %s --check-prefix=PLAIN
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(tile-warp-specialize,tile-pipeline))' | FileCheck %s --check-prefix=PLAIN

// CHECK:       tile.role @compute0 kind(matrix)
// CHECK:         %[[TQ:.*]] = tile.wait %q
// CHECK:         tile.wait %k
// CHECK:         tile.mma %[[TQ]], transpose
// CHECK-NEXT:    tile.await
// CHECK-NEXT:    tile.release %k
// CHECK:         %[[P0:.*]] = arith.truncf
// CHECK:         scf.for %{{.*}} iter_args(%[[P:.*]] = %[[P0]], %[[O:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}})
// CHECK-NEXT:      %[[TK:.*]] = tile.wait %k
// CHECK-NEXT:      %[[S0:.*]] = tile.mma %[[TQ]], transpose %[[TK]]
// CHECK:           %[[TV:.*]] = tile.wait %v
// CHECK:           %[[O0:.*]] = tile.mma %[[P]], %[[TV]] acc %[[O]] if
// CHECK-NEXT:      %[[S:.*]] = tile.await %[[S0]]
// CHECK-NEXT:      tile.release %k
// CHECK-NEXT:      vector.multi_reduction <maximumf>, %[[S]], %[[M]]
// CHECK-NEXT:      %[[X:.*]] = arith.maximumf %[[S]]
// CHECK-NEXT:      %[[O1:.*]] = tile.await %[[O0]]
// CHECK-NEXT:      tile.release %v
// CHECK-NEXT:      %[[P1:.*]] = arith.truncf %[[X]]
// CHECK-NEXT:      scf.yield %[[P1]], %[[O1]]
// CHECK-NOT:     transpose
// CHECK:         tile.wait %v
// CHECK:         tile.mma
// CHECK-NEXT:    tile.await
// CHECK-NEXT:    tile.release %v
// CHECK:       tile.role @compute1 kind(matrix)
//
// The loads keep this order.
//
// CHECK:       tile.role @load
// CHECK:         tile.load %arg1
// CHECK:         scf.for
// CHECK:           tile.load %arg1
// CHECK:           tile.load %arg2
// CHECK:         tile.load %arg2

// PLAIN:       tile.role @compute0 kind(matrix)
// PLAIN-NOT:     tile.mma
// PLAIN:         scf.for
// PLAIN:           %[[S:.*]] = tile.mma
// PLAIN-NEXT:      tile.await %[[S]]
// PLAIN:         }
// PLAIN-NOT:     tile.mma
// PLAIN:       tile.role
tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                  %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                  %c: memref<?x?xf32> {tile.name = "C", tile.dims = ["M", "N"]})
    attributes {chip = "sm_90a", grid = [#tile.extent<"M" by 64>, #tile.extent<"N" by 128>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  %tm, %tn = tile.work_tile : index, index
  %row = arith.muli %tm, %c64 : index
  %col = arith.muli %tn, %c128 : index
  %k = memref.dim %a, %c1 : memref<?x?xbf16>
  %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %zero) -> (vector<64x128xf32>) {
    %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<64x64xbf16>
    %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
    %next = tile.mma %ta, %tb acc %acc : vector<64x64xbf16>, vector<64x128xbf16> -> vector<64x128xf32>
    scf.yield %next : vector<64x128xf32>
  }
  tile.store %sum, %c[%row, %col] : vector<64x128xf32>, memref<?x?xf32>
}
