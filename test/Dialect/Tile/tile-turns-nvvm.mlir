// A turn (of the kernel in tile-turns.mlir) is awaited by loads that acquire its number, and passed on by an addition that
// releases it, behind all stores of the turn. Where work tiles have an order, the load is the same.
//
// RUN: fa4-opt %S/tile-turns.mlir --tile-subtile --tile-warp-specialize --tile-schedule --tile-share-buffers --tile-allocate --tile-distribute --tile-unroll --tile-to-nvvm | FileCheck %s --check-prefix=NVVM
// RUN: fa4-opt %S/tile-turns.mlir --tile-subtile --tile-assign-work --tile-warp-specialize --tile-schedule --tile-share-buffers --tile-allocate --tile-distribute --tile-unroll --tile-to-nvvm | FileCheck %s --check-prefix=ORDER

// NVVM: %[[NUMBER:.*]] = llvm.sub %{{.*}}, %{{.*}} : i32
// NVVM: llvm.load %[[PLACE:.*]] atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
// NVVM: nvvm.cp.async.bulk.tensor.reduce
// NVVM: nvvm.cp.async.bulk.commit.group
// NVVM: nvvm.cp.async.bulk.wait_group 0 {read}
// NVVM: nvvm.mbarrier.arrive
// NVVM: nvvm.cp.async.bulk.wait_group 0{{$}}
// NVVM: llvm.inline_asm has_side_effects {{.*}}"red.release.gpu.global.add.u32 [$0], $1;"

// ORDER: llvm.load {{.*}} atomic syncscope("device") acquire
