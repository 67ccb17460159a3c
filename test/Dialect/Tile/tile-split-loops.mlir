// RUN: fa4-opt %s --tile-split-loops | FileCheck %s --dump-input=never

// CHECK-LABEL: tile.kernel @k
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
tile.kernel @k(%n: index {tile.name = "n"}) attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
  %s = tile.channel "s" tmem stages(1) : <vector<128x64xf32>>
  %m = tile.channel "m" smem stages(1) : <vector<128xf32>>
  tile.role @compute warps(4) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant dense<0.0> : vector<128xf32>
    // Up to n, but not below the first or above the last iteration.
    // CHECK: %[[MAX:.*]] = arith.maxsi %[[N]], %[[C0:.*]] : index
    // CHECK: %[[MID:.*]] = arith.minsi %[[MAX]], %[[C8:.*]] : index
    // CHECK: %[[FIRST:.*]] = scf.for %{{.*}} = %[[C0]] to %[[MID]] step %{{.*}} iter_args(%{{.*}} = %{{.*}})
    // CHECK-NOT: scf.if
    // CHECK: %[[X:.*]] = tile.wait %s
    // CHECK: %[[Z:.*]] = arith.mulf %[[X]], %[[X]]
    // CHECK: tile.commit %s, %[[Z]]
    // CHECK: scf.yield
    // CHECK: %[[SECOND:.*]] = scf.for %{{.*}} = %[[MID]] to %[[C8]] step %{{.*}} iter_args(%{{.*}} = %[[FIRST]])
    // CHECK-NOT: scf.if
    // CHECK: %[[X2:.*]] = tile.wait %s
    // CHECK: tile.commit %s, %[[X2]]
    // CHECK: scf.yield
    // CHECK: tile.commit %m, %[[SECOND]]
    %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero) -> (vector<128xf32>) {
      %x = tile.wait %s : <vector<128x64xf32>> -> vector<128x64xf32>
      %c = arith.cmpi slt, %i, %n : index
      %y = scf.if %c -> (vector<128x64xf32>) {
        %z = arith.mulf %x, %x : vector<128x64xf32>
        scf.yield %z : vector<128x64xf32>
      } else {
        scf.yield %x : vector<128x64xf32>
      }
      tile.commit %s, %y : <vector<128x64xf32>>, vector<128x64xf32>
      %b = vector.multi_reduction <add>, %y, %a [1] : vector<128x64xf32> to vector<128xf32>
      scf.yield %b : vector<128xf32>
    }
    tile.commit %m, %r : <vector<128xf32>>, vector<128xf32>
    // The other way round; the branch without tiles goes with it.
    // CHECK: scf.for
    // CHECK-NOT: arith.negf
    // CHECK-NOT: tile.release %s
    // CHECK: scf.for
    // CHECK: arith.negf
    // CHECK: tile.release %s
    scf.for %i = %c0 to %c8 step %c1 {
      %x = tile.wait %s : <vector<128x64xf32>> -> vector<128x64xf32>
      %c = arith.cmpi sge, %i, %n : index
      %y = scf.if %c -> (vector<128x64xf32>) {
        %z = arith.negf %x : vector<128x64xf32>
        scf.yield %z : vector<128x64xf32>
      } else {
        scf.yield %x : vector<128x64xf32>
      }
      scf.if %c {
        tile.release %s : <vector<128x64xf32>>
      }
      tile.commit %s, %y : <vector<128x64xf32>>, vector<128x64xf32>
    }
    // Not: a branch without tiles, a limit that changes, another step.
    // CHECK: scf.for
    // CHECK: scf.if
    scf.for %i = %c0 to %c8 step %c1 {
      %c = arith.cmpi slt, %i, %n : index
      scf.if %c {
        tile.release %s : <vector<128x64xf32>>
      }
    }
    // CHECK: scf.for
    // CHECK: scf.if
    scf.for %i = %c0 to %c8 step %c1 {
      %x = tile.wait %s : <vector<128x64xf32>> -> vector<128x64xf32>
      %limit = arith.subi %c8, %i : index
      %c = arith.cmpi slt, %i, %limit : index
      %y = scf.if %c -> (vector<128x64xf32>) {
        %z = arith.negf %x : vector<128x64xf32>
        scf.yield %z : vector<128x64xf32>
      } else {
        scf.yield %x : vector<128x64xf32>
      }
      tile.commit %s, %y : <vector<128x64xf32>>, vector<128x64xf32>
    }
    // CHECK: scf.for
    // CHECK: scf.if
    scf.for %i = %c0 to %c8 step %c8 {
      %x = tile.wait %s : <vector<128x64xf32>> -> vector<128x64xf32>
      %c = arith.cmpi slt, %i, %n : index
      %y = scf.if %c -> (vector<128x64xf32>) {
        %z = arith.negf %x : vector<128x64xf32>
        scf.yield %z : vector<128x64xf32>
      } else {
        scf.yield %x : vector<128x64xf32>
      }
      tile.commit %s, %y : <vector<128x64xf32>>, vector<128x64xf32>
    }
  }
}
