// The pass puts waits in front of the first use of their value and releases
// behind the last one, acquires to where lanes begin to compute a value, and
// the first loads in the order in which consumers wait for them.
//
// RUN: fa4-opt %s --tile-order | FileCheck %s
// RUN: fa4-opt %S/Inputs/attention-roles.mlir --pass-pipeline='builtin.module(tile.kernel(tile-split-values,tile-pipeline,tile-order))' | FileCheck --check-prefix=ROLES %s

// Loads in the order in which they are waited for.
// ROLES-LABEL: tile.role @load
// ROLES: %[[N:.*]] = arith.maxsi
// ROLES: tile.acquire %q0
// ROLES-NEXT: tile.load %arg0
// ROLES-NEXT: tile.commit %q0
// ROLES-NEXT: tile.acquire %k
// ROLES-NEXT: tile.load %arg1
// ROLES-NEXT: tile.commit %k
// ROLES-NEXT: tile.acquire %q1
// ROLES-NEXT: tile.load %arg0
// ROLES-NEXT: tile.commit %q1
// ROLES-NEXT: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c1 {
// ROLES: tile.acquire %v
// ROLES: %[[BLOCK:.*]] = arith.subi %{{.*}}, %[[I]]
// ROLES: tile.load %arg2
// ROLES: tile.commit %v
// ROLES: tile.acquire %k
// ROLES: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// ROLES: arith.subi %{{.*}}, %[[NEXT]]
// ROLES: tile.load %arg1
// ROLES: tile.commit %k
// ROLES: }
// ROLES: tile.load %arg2
// ROLES-NEXT: tile.commit %v
// ROLES-NEXT: }

// The parts of P are on their way before what only the next iteration needs.
// ROLES-LABEL: tile.role @compute0
// ROLES: scf.for
// ROLES: tile.wait %s0
// ROLES: tile.acquire %a0
// ROLES-NEXT: tile.commit %a0
// ROLES: math.fma
// ROLES-NEXT: tile.release %s0
// ROLES-NEXT: tile.acquire %p0.0
// ROLES-NEXT: tile.acquire %p0.1
// ROLES-NEXT: math.exp2
// ROLES-NEXT: arith.truncf
// ROLES-NEXT: %[[A:.*]] = vector.extract_strided_slice {{.*}} {offsets = [0, 0], sizes = [128, 96], strides = [1, 1]}
// ROLES-NEXT: tile.commit %p0.0, %[[A]]
// ROLES-NEXT: %[[B:.*]] = vector.extract_strided_slice {{.*}} {offsets = [0, 96], sizes = [128, 32], strides = [1, 1]}
// ROLES-NEXT: tile.commit %p0.1, %[[B]]
// ROLES-NEXT: arith.select
// ROLES-NEXT: arith.mulf
// ROLES-NEXT: vector.multi_reduction <add>
// ROLES-NEXT: scf.yield

// ROLES-LABEL: tile.role @correction
// ROLES: tile.wait %o0
// ROLES-NEXT: tile.rescale
// ROLES-NEXT: tile.commit %or0
// ROLES-NEXT: tile.release %a0
// ROLES: tile.acquire %out0
// ROLES: arith.mulf
// ROLES-NEXT: arith.truncf
// ROLES-NEXT: tile.commit %out0

// One tile after the other is in registers.
// CHECK-LABEL: tile.kernel @two
// CHECK: tile.role @compute
// CHECK: %[[A:.*]] = tile.wait %a
// CHECK-NEXT: tile.acquire %x
// CHECK-NEXT: %[[X:.*]] = arith.truncf %[[A]]
// CHECK-NEXT: tile.commit %x, %[[X]]
// CHECK-NEXT: tile.release %a
// CHECK-NEXT: %[[R:.*]] = tile.wait %r
// CHECK-NEXT: arith.negf %[[R]]
// CHECK-NEXT: tile.release %r
// CHECK-NEXT: %[[B:.*]] = tile.wait %b
// CHECK-NEXT: tile.acquire %y
// CHECK-NEXT: %[[Y:.*]] = arith.truncf %[[B]]
// CHECK-NEXT: tile.commit %y, %[[Y]]
// CHECK-NEXT: tile.release %b
tile.kernel @two() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" tmem stages(1) initial(1) : <vector<128x128xf32>>
  %b = tile.channel "b" tmem stages(1) initial(1) : <vector<128x128xf32>>
  %x = tile.channel "x" smem stages(1) : <vector<128x128xbf16>>
  %y = tile.channel "y" smem stages(1) : <vector<128x128xbf16>>
  %r = tile.channel "r" smem stages(1) initial(1) : <vector<128xf32>>
  %z = tile.channel "z" smem stages(1) : <vector<128xf32>>
  tile.role @compute kind(vector) {
    tile.acquire %x : <vector<128x128xbf16>>
    tile.acquire %y : <vector<128x128xbf16>>
    %ta = tile.wait %a : <vector<128x128xf32>> -> vector<128x128xf32>
    %tb = tile.wait %b : <vector<128x128xf32>> -> vector<128x128xf32>
    %tx = arith.truncf %ta : vector<128x128xf32> to vector<128x128xbf16>
    %ty = arith.truncf %tb : vector<128x128xf32> to vector<128x128xbf16>
    tile.commit %x, %tx : <vector<128x128xbf16>>, vector<128x128xbf16>
    %tr = tile.wait %r : <vector<128xf32>> -> vector<128xf32>
    %tz = arith.negf %tr : vector<128xf32>
    tile.release %r : <vector<128xf32>>
    tile.commit %y, %ty : <vector<128x128xbf16>>, vector<128x128xbf16>
    tile.acquire %z : <vector<128xf32>>
    tile.commit %z, %tz : <vector<128xf32>>, vector<128xf32>
    tile.release %a : <vector<128x128xf32>>
    tile.release %b : <vector<128x128xf32>>
  }
}
