// Channels of scalars through all levels. A loop whose number of passes one role computes and
// others hear of is proven to make equally many in all of them; the explorer of all
// interleavings agrees. test_tile_programs.py runs the kernel.
//
// RUN: fa4-opt %S/../../Pipelines/Inputs/scalar-channels.mlir --attn-to-nvvm='from=warp-specialize to=unroll' -o %t.mlir
// RUN: FileCheck %s --dump-input=never < %t.mlir
// RUN: fa4-opt %t.mlir | diff %t.mlir -
// RUN: fa4-opt %t.mlir --attn-to-nvvm='from=unroll to=nvvm' | FileCheck %s --dump-input=never --check-prefix=NVVM
// RUN: fa4-test-opt %S/../../Pipelines/Inputs/scalar-channels.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol,tile-explore-protocol{max-passes=1 print=true}))' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// RUN: fa4-test-opt %t.mlir --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol,tile-explore-protocol{max-passes=1 print=true}))' -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=EXPLORED
// EXPLORED: @scalars: {{[0-9]+}} cases, {{[0-9]+}} states

// Each has a word for itself; threads of all consumers free it.
// CHECK: tile.channel "count" smem stages(2) place<offset([[#COUNT:]]) full({{.*}}) arrivals(1) empty({{.*}}) arrivals(129)> : <index>
// CHECK: tile.channel "negative" smem stages(1) place<offset([[#COUNT+16]]) full({{.*}}) arrivals(1) empty({{.*}}) arrivals(128)> : <i1>
// CHECK: tile.channel "scale" smem stages(1) place<offset([[#COUNT+24]]) full({{.*}}) arrivals(1) empty({{.*}}) arrivals(128)> : <f32>
// CHECK: tile.channel "place" smem stages(1) place<offset([[#COUNT+32]]) full({{.*}}) arrivals(128) empty({{.*}}) arrivals(1)> : <i32>
// Lanes have scalars as they are.
// CHECK: tile.role @lanes
// CHECK: %[[N:.*]] = tile.wait %count : <index> -> index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]]
// CHECK: tile.commit %place, %{{.*}} : <i32>, i32

// One of the lanes writes a scalar, all of them arrive.
// NVVM: llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
// NVVM-NEXT: llvm.br
// NVVM: nvvm.mbarrier.arrive

// Faults that both find: a commit that is missing hangs the others; without the acquire, a
// number may be overwritten before all have read it.
// RUN: sed '/tile.commit %negative/d' %t.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=NEVER
// NEVER: error: channel "negative" is never committed
// RUN: sed '/tile.acquire .place/d' %t.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=EARLY
// RUN: sed '/tile.acquire .place/d' %t.mlir | not fa4-test-opt --tile-explore-protocol=max-passes=2 2>&1 | FileCheck %s --dump-input=never --check-prefix=EARLY
// EARLY: error: channel "place": {{.*}}

// A role that makes one pass less than the others.
// RUN: sed -E '/tile.role @load/,/tile.role @store/s/%c0 to %n step/%c1 to %n step/' %S/../../Pipelines/Inputs/scalar-channels.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=FEWER
// RUN: sed -E '/tile.role @load/,/tile.role @store/s/%c0 to %n step/%c1 to %n step/' %S/../../Pipelines/Inputs/scalar-channels.mlir | not fa4-test-opt --tile-explore-protocol=max-passes=2 2>&1 | FileCheck %s --dump-input=never --check-prefix=FEWER
// FEWER: error: {{.*}}
