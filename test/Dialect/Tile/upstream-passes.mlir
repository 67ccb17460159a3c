// Upstream's passes on kernels with roles: what they may not move stays where it is,
// because effects hold it or because the fold interface of the dialect keeps it.
//
// RUN: %commands %s
// RUN: fa4-opt %s --pass-pipeline='builtin.module(tile.kernel(symbol-dce,sccp,loop-invariant-code-motion,cse,control-flow-sink,canonicalize,remove-dead-values))' | FileCheck %s
//
// $ for pass in canonicalize sccp cse loop-invariant-code-motion control-flow-sink symbol-dce \
//     remove-dead-values; do fa4-opt $S/upstream-passes.mlir --$pass | FileCheck $S/upstream-passes.mlir || echo $pass; done

// Each asynchronous operation fills or reads a stage of its own: two that are alike
// are not one, and none leaves the loop, the branch or the place between operations on
// channels in which it stands, although its operands would let it.
//
// CHECK-LABEL: tile.kernel @asynchronous
tile.kernel @asynchronous(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                          %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %a = tile.channel "a" smem stages(1) : <vector<128x64xbf16>>
  %b = tile.channel "b" smem stages(1) : <vector<128x64xbf16>>
  %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
  %t = tile.channel "t" tmem stages(1) : <vector<128x128xf32>>
  %u = tile.channel "u" tmem stages(1) : <vector<128x128xf32>>
  // CHECK: tile.role @load
  // CHECK: tile.acquire %a
  // CHECK: tile.acquire %b
  // CHECK: %[[A:.*]] = tile.load
  // CHECK: %[[B:.*]] = tile.load
  // CHECK: tile.commit %a, %[[A]]
  // CHECK: tile.commit %b, %[[B]]
  tile.role @load kind(issuer) {
    %c0 = arith.constant 0 : index
    tile.acquire %a : <vector<128x64xbf16>>
    tile.acquire %b : <vector<128x64xbf16>>
    %va = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    %vb = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
    tile.commit %a, %va : <vector<128x64xbf16>>, vector<128x64xbf16>
    tile.commit %b, %vb : <vector<128x64xbf16>>, vector<128x64xbf16>
  }
  // CHECK: tile.role @mma
  // CHECK: scf.for
  // CHECK: tile.acquire %s
  // CHECK: tile.acquire %t
  // CHECK: %[[S:.*]] = tile.mma
  // CHECK: %[[T:.*]] = tile.mma
  // CHECK: tile.commit %s, %[[S]]
  // CHECK: tile.commit %t, %[[T]]
  // CHECK: }
  // CHECK: tile.acquire %u
  // CHECK: %[[U:.*]] = tile.mma
  // CHECK: tile.release %a
  // CHECK: tile.release %b
  // CHECK: scf.if
  // CHECK: tile.commit %u, %[[U]]
  tile.role @mma kind(issuer) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %va = tile.wait %a : <vector<128x64xbf16>> -> vector<128x64xbf16>
    %vb = tile.wait %b : <vector<128x64xbf16>> -> vector<128x64xbf16>
    scf.for %i = %c0 to %n step %c1 {
      tile.acquire %s : <vector<128x128xf32>>
      tile.acquire %t : <vector<128x128xf32>>
      %vs = tile.mma %va, transpose %vb : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      %vt = tile.mma %va, transpose %vb : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      tile.commit %s, %vs : <vector<128x128xf32>>, vector<128x128xf32>
      tile.commit %t, %vt : <vector<128x128xf32>>, vector<128x128xf32>
    }
    tile.acquire %u : <vector<128x128xf32>>
    %vu = tile.mma %va, transpose %vb : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    tile.release %a : <vector<128x64xbf16>>
    tile.release %b : <vector<128x64xbf16>>
    %more = arith.cmpi slt, %c0, %n : index
    scf.if %more {
      tile.commit %u, %vu : <vector<128x128xf32>>, vector<128x128xf32>
    }
  }
  // A role without work, which somebody has made private, is still the CTA's warps.
  // CHECK: tile.role @idle kind(idle) warps(2)
  tile.role @idle kind(idle) warps(2) attributes {sym_visibility = "private"} {
  }
}

// All lanes of a warp come to tile.any: it does not go into the branch that only some
// of them take, where its only user is. A stage is read where the lanes have it.
//
// CHECK-LABEL: tile.kernel @lanes
tile.kernel @lanes(%y: memref<?xf32> {tile.name = "y", tile.dims = ["N"]}, %n: index {tile.name = "n"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
  tile.role @produce kind(vector) {
    %v = arith.constant 1.0 : f32
    tile.write %v, %c : f32, <vector<128xf32>>
    tile.commit %c : <vector<128xf32>>
  }
  // CHECK: tile.role @consume
  // CHECK: tile.wait %c
  // CHECK: %[[V:.*]] = tile.read %c
  // CHECK: tile.release %c
  // CHECK: %[[ANY:.*]] = tile.any
  // CHECK: scf.if
  // CHECK: scf.if %[[ANY]]
  // CHECK: tile.put %[[V]]
  tile.role @consume kind(vector) {
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %c64 = arith.constant 64 : index
    tile.wait %c : <vector<128xf32>>
    %v = tile.read %c : <vector<128xf32>> -> f32
    tile.release %c : <vector<128xf32>>
    %row = tile.row : index
    %low = arith.cmpi slt, %row, %c64 : index
    %five = arith.cmpi eq, %row, %c5 : index
    %any = tile.any %five
    scf.if %low {
      tile.put %v, %y[%c64] dim 0 : f32, memref<?xf32>
      scf.if %any {
        tile.put %v, %y[%c0] dim 0 : f32, memref<?xf32>
      }
    }
  }
}

// Passes do more with a tile program, in which an MMA is arithmetic (upstream-passes-program.mlir).
//
// CHECK-LABEL: tile.kernel @program
tile.kernel @program(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                     %y: memref<?x128xf32> {tile.name = "y", tile.dims = ["N", "128"]},
                     %n: index {tile.name = "n"}, %unused: index {tile.name = "unused"})
    attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = tile.load %x[%c0, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
  scf.for %i = %c0 to %n step %c1 {
    %s = tile.mma %v, transpose %v : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %t = tile.mma %v, transpose %v : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
    %u = arith.addf %s, %t : vector<128x128xf32>
    tile.store %u, %y[%i, %c0] : vector<128x128xf32>, memref<?x128xf32>
  }
}

// Launches pass what the kernel has, used or not.
//
// CHECK: tile.launch @program ins(%{{.*}} : memref<?x64xbf16>) outs(%{{.*}} : memref<?x128xf32>) scalars(%{{.*}}, %{{.*}} : index, index)
func.func @launch(%x: memref<?x64xbf16>, %y: memref<?x128xf32>, %n: index) {
  tile.launch @program ins(%x : memref<?x64xbf16>) outs(%y : memref<?x128xf32>) scalars(%n, %n : index, index)
  return
}
