// The pipeline gives a kernel a plan and schedules its roles by it: MMAs are
// issued before the data that they do not need, waits and releases stand where
// values are used, and rings have the stages that memory has room for.
//
// RUN: fa4-opt %S/Inputs/attention-roles.mlir --tile-schedule="print verify=false" -o %t 2>&1 | FileCheck --check-prefix=TABLE %s
// RUN: FileCheck %s < %t
// RUN: fa4-opt %t --tile-schedule="split-arrival=false verify=false" | FileCheck --check-prefix=AGAIN %s

// Shared memory leaves room for 5 stages: 2 of each ring, because a third stage
// of one alone is of no use.
// CHECK-LABEL: tile.kernel @attention
// CHECK-SAME: plan = #tile.plan<mmas = early>
// CHECK-DAG: tile.channel "k" smem stages(2)
// CHECK-DAG: tile.channel "v" smem stages(2)
// CHECK-DAG: tile.channel "q0" smem stages(1)

// S0 S1 | PV0(i) S0(i+1) PV1(i) S1(i+1) | PV0 PV1
// CHECK-LABEL: tile.role @mma
// CHECK: %[[N:.*]] = arith.maxsi
// CHECK-NEXT: tile.acquire %s0
// CHECK-NEXT: %[[Q0:.*]] = tile.wait %q0
// CHECK-NEXT: %[[K0:.*]] = tile.wait %k
// CHECK-NEXT: tile.mma %[[Q0]], transpose %[[K0]]
// CHECK-NEXT: tile.commit %s0
// CHECK-NEXT: tile.acquire %s1
// CHECK-NEXT: %[[Q1:.*]] = tile.wait %q1
// CHECK-NEXT: tile.mma %[[Q1]], transpose %[[K0]]
// CHECK-NEXT: tile.commit %s1
// CHECK-NEXT: tile.release %k
// CHECK-NEXT: %[[LAST:.*]] = arith.subi %[[N]], %c1
// CHECK-NEXT: scf.for %[[J:.*]] = %c0 to %[[LAST]] step %c1 {
// CHECK-NEXT: %[[V:.*]] = tile.wait %v
// CHECK-NEXT: %[[VA:.*]] = vector.extract_strided_slice %[[V]] {offsets = [0, 0], sizes = [96, 128], strides = [1, 1]}
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi ne, %[[J]], %c0
// CHECK-NEXT: %[[PA:.*]] = tile.wait %p0.0
// CHECK-NEXT: %[[O:.*]] = tile.wait %or0
// CHECK-NEXT: %[[OA:.*]] = tile.mma %[[PA]], %[[VA]] acc %[[O]] if %[[MORE]]
// CHECK-NEXT: tile.release %p0.0
// CHECK-NEXT: %[[VB:.*]] = vector.extract_strided_slice %[[V]] {offsets = [96, 0], sizes = [32, 128], strides = [1, 1]}
// CHECK-NEXT: %[[PB:.*]] = tile.wait %p0.1
// CHECK-NEXT: %[[OB:.*]] = tile.mma %[[PB]], %[[VB]] acc %[[OA]] :
// CHECK-NEXT: tile.commit %o0, %[[OB]]
// CHECK-NEXT: tile.release %p0.1
// CHECK-NEXT: tile.acquire %s0
// CHECK-NEXT: %[[K:.*]] = tile.wait %k
// CHECK-NEXT: tile.mma %[[Q0]], transpose %[[K]]
// CHECK-NEXT: tile.commit %s0
// CHECK: tile.wait %p1.0
// CHECK: tile.wait %p1.1
// CHECK: tile.commit %o1
// CHECK-NEXT: tile.release %p1.1
// CHECK-NEXT: tile.release %v
// CHECK-NEXT: tile.acquire %s1
// CHECK-NEXT: tile.mma %[[Q1]], transpose %[[K]]
// CHECK-NEXT: tile.commit %s1
// CHECK-NEXT: tile.release %k
// CHECK-NEXT: }
// CHECK-NEXT: tile.release %q0
// CHECK-NEXT: tile.release %q1
// CHECK-NEXT: tile.wait %v
// CHECK-NOT: transpose
// CHECK: arith.cmpi ne, %[[LAST]], %c0
// CHECK: tile.commit %o0
// CHECK: tile.commit %o1
// CHECK-NEXT: tile.release %p1.1
// CHECK-NEXT: tile.release %v
// CHECK-NEXT: }

// TABLE-LABEL: schedule of @attention
// TABLE: role @mma
// TABLE-NEXT: acquire s0 0
// TABLE-NEXT: wait q0{{$}}
// TABLE-NEXT: wait k 0
// TABLE-NEXT: mma s0 0 q0 * k^T
// TABLE: loop, n passes
// TABLE-NEXT: wait v i{{$}}
// TABLE: mma o0 i p0.0 * v[0:96, 0:128]
// TABLE: mma o0 i p0.1 * v[96:128, 0:128]
// TABLE: mma s0 i+1 q0 * k^T
// TABLE: then:
// TABLE: mma o0 n p0.0 * v[0:96, 0:128]
// TABLE: channels
// TABLE: k smem 2 x vector<128x128xbf16>
// TABLE: or0 tmem 1 x vector<128x128xf32> in place of o0

// A kernel keeps its plan, whatever the options say. What has been pipelined is
// not pipelined once more.
// AGAIN: tile.role @mma
// AGAIN: scf.for
// AGAIN-NOT: scf.for
// AGAIN: tile.role @compute0

