// Pairs take turns as CTAs alone do, for the gradients of gradient-pairs.mlir with fixed orders of sums: by their numbers,
// each CTA at places of its own, 64 rows apart, in parts of 16 columns of which the two halves of a folded tile are added
// one after another.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: FileCheck --dump-input=never %s < %t/full_preprocess_kernel.allocate.mlir
//
// $ sed -e 's/mask<causal, bottom_right>/mask<window, left = 200, right = 30, bottom_right>/' \
//   -e 's/layout<bshd>/layout<bshd> deterministic/' -e 's/ deterministic mask\(.*>\)$/ mask\1 deterministic/' \
//   "$S"/gradient-pairs.mlir > turns.mlir
// $ fa4-compile turns.mlir -o . --pairs=on --emit=allocate,ptx
// $ cat causal_kernel.ptx
// ...
// {{.*}}ld.acquire.gpu.global.b32{{.*}}
// ...
// {{.*}}red.release.gpu.global.add.u32{{.*}}
// ...

// CHECK-LABEL: tile.kernel @full_kernel
// CHECK-SAME: schedule = #tile.schedule<lpt>
// CHECK-DAG: %[[TILE:.*]]:3 = tile.work_tile
// CHECK-DAG: %[[PAIR:.*]] = arith.divui %[[TILE]]#0, %{{.*}} : index
// CHECK: %[[TURN:.*]] = tile.await_turn %{{.*}} of %{{.*}} in %{{.*}} to %{{.*}} parts(8) : memref<?x4x?xi32>
// CHECK: tile.reduce_add %{{.*}} in_turn(%[[TURN]]) : vector<64x16xf32>
// CHECK: tile.pass_turn %[[TURN]]
