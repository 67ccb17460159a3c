// The pass issues the MMAs of the next iteration before those that wait for
// other roles. The plan says when: once their buffers are free (early), behind
// all MMAs of the last iteration (late), or not at all (none).
//
// RUN: fa4-opt %S/Inputs/attention-roles.mlir --tile-pipeline | FileCheck %s
// RUN: sed 's/attributes {/attributes {plan = #tile.plan<mmas = late>, /' %S/Inputs/attention-roles.mlir | fa4-opt --tile-pipeline | FileCheck --check-prefix=LATE %s
// RUN: sed 's/attributes {/attributes {plan = #tile.plan<mmas = none>, /' %S/Inputs/attention-roles.mlir | fa4-opt --tile-pipeline | FileCheck --check-prefix=NONE %s

// The load of the next keys moves to where the MMAs wait for them.
// CHECK-LABEL: tile.role @load
// CHECK: tile.load %arg1
// CHECK: scf.for
// CHECK: tile.load %arg2
// CHECK: tile.load %arg1
// CHECK: }
// CHECK: tile.load %arg2

// S0 S1 | PV0(i) S0(i+1) PV1(i) S1(i+1) | PV0 PV1
// CHECK-LABEL: tile.role @mma
// CHECK: %[[S0:.*]] = tile.mma %{{.*}}, transpose
// CHECK-NEXT: tile.commit %s0, %[[S0]]
// CHECK: %[[S1:.*]] = tile.mma %{{.*}}, transpose
// CHECK-NEXT: tile.commit %s1, %[[S1]]
// CHECK: scf.for
// CHECK: tile.commit %o0
// CHECK: tile.commit %s0
// CHECK: tile.commit %o1
// CHECK: tile.commit %s1
// CHECK: }
// CHECK-NOT: transpose
// CHECK: tile.commit %o0
// CHECK: tile.commit %o1

// S0 S1 | PV0(i) PV1(i) S0(i+1) S1(i+1) | PV0 PV1
// LATE-LABEL: tile.role @mma
// LATE: tile.commit %s0
// LATE: tile.commit %s1
// LATE: scf.for
// LATE: tile.commit %o0
// LATE: tile.commit %o1
// LATE: tile.commit %s0
// LATE: tile.commit %s1
// LATE: }
// LATE: tile.commit %o0
// LATE: tile.commit %o1

// NONE-LABEL: tile.role @mma
// NONE-NOT: transpose
// NONE: scf.for
// NONE: transpose
// NONE: tile.commit %o1
// NONE: }
// NONE-NOT: tile.mma
// NONE: tile.role @compute0
