// The program of attention's gradient is run by pairs of CTAs: the pair sums dQ over the keys of both, and the pairs are the
// default, too. The program goes the whole way down, with all proofs.
//
// RUN: %commands %s
// RUN: fa4-opt %S/backward-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on print}))' | FileCheck %S/backward-program.mlir --check-prefix=PAIR
// RUN: fa4-opt %S/backward-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas))' | FileCheck %s

// CHECK: cluster = #tile.cluster<size = 2, axis = 0>

// $ fa4-opt $S/backward-program.mlir --pass-pipeline='builtin.module(tile.kernel(tile-pair-ctas{pairs=on print}))' -o /dev/null
// ...
// {{.*}}pairs of CTAs along axis 0 of the grid: MMAs read 196608 bytes of shared memory in each CTA instead of 262144 and take 2560 cycles instead of 2560; buffers of loads take 32768 bytes more; reductions write and read 65536 bytes of shared memory instead of 131072, lanes and exchanges 65536 instead of 32768; together 2560 cycles of shared memory instead of 3328{{.*}}
// ...
// $ fa4-opt $S/backward-program.mlir --attn-to-nvvm='from=subtile to=nvvm pairs=on' -o /dev/null
