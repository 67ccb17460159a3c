// Channels of scalars through all levels. A loop whose number of passes one role computes and
// others hear of is proven to make equally many in all of them; the explorer of all
// interleavings agrees. test_tile_programs.py runs the kernel.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: FileCheck %s --dump-input=never < kernel.mlir
// RUN: fa4-opt kernel.mlir --attn-to-nvvm='from=unroll to=nvvm' | FileCheck %s --dump-input=never --check-prefix=NVVM
//
// $ fa4-opt $S/../../Pipelines/Inputs/scalar-channels.mlir --attn-to-nvvm='from=warp-specialize to=unroll' -o kernel.mlir
// $ fa4-opt kernel.mlir | diff kernel.mlir -
// $ fa4-test-opt $S/../../Pipelines/Inputs/scalar-channels.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol,tile-explore-protocol{max-passes=1 print=true}))' -o /dev/null
// @scalars: {{[0-9]+}} cases, {{[0-9]+}} states
// $ fa4-test-opt kernel.mlir \
//   --pass-pipeline='builtin.module(tile.kernel(tile-verify-protocol,tile-explore-protocol{max-passes=1 print=true}))' -o /dev/null
// @scalars: {{[0-9]+}} cases, {{[0-9]+}} states

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
//
// $ sed '/tile.commit %negative/d' kernel.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "negative" is never committed
// ...
// [1]
// $ sed '/tile.acquire .place/d' kernel.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "place": 1 values are committed, but 0 acquired
// ...
// [1]
// $ sed '/tile.acquire .place/d' kernel.mlir | fa4-test-opt --tile-explore-protocol=max-passes=2
// {{.*}}error: channel "place": tokens are left over at the end
// ...
// [1]

// A role that makes one pass less than the others.
//
// $ sed -E '/tile.role @load/,/tile.role @store/s/%c0 to %n step/%c1 to %n step/' $S/../../Pipelines/Inputs/scalar-channels.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "tiles": @lanes waits forever for @load to commit it
// ...
// [1]
// $ sed -E '/tile.role @load/,/tile.role @store/s/%c0 to %n step/%c1 to %n step/' $S/../../Pipelines/Inputs/scalar-channels.mlir \
//   | fa4-test-opt --tile-explore-protocol=max-passes=2
// {{.*}}error: channel "tiles": @lanes never goes on
// ...
// [1]
