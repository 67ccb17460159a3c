// After tile-unroll a role reads and writes an accumulator some columns at a
// time, in its own buffer. The verifier must accept this, and find columns that
// are read after they have been overwritten.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
// RUN: FileCheck %s --dump-input=never < kernel.mlir

// $ fa4-opt $S/Inputs/attention-program.mlir --attn-to-nvvm='from=tile to=unroll' -o kernel.mlir
//
// CHECK: %[[READ:.*]] = tile.channel "mma_correction"
// CHECK: %[[WRITTEN:.*]] = tile.channel "correction_mma" {{.*}} in_place_of(%[[READ]]
// CHECK: tile.write {{.*}}, %[[WRITTEN]] :
// CHECK-NOT: tile.commit
// CHECK: tile.read %[[READ]][32] :
//
// $ fa4-opt kernel.mlir --tile-verify-protocol=print -o /dev/null
// @attention: {{[0-9]+}} steps{{.*}}

// Columns are read that have been written already.
//
// $ sed -e 's,tile.read %mma_correction\[32\],tile.read %mma_correction,' kernel.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "mma_correction": @correction reads a value that has been overwritten
// ...
// {{.*}}note: overwritten by @correction in pass 1 of its loop
// ...
// [1]
// $ sed -e 's,tile.read %mma_correction\[32\],tile.read %mma_correction[31],' kernel.mlir \
//   | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "mma_correction": @correction reads a value that has been overwritten
// ...
// {{.*}}note: overwritten by @correction in pass 1 of its loop
// ...
// [1]

// Nobody writes some columns.
//
// $ sed -e '/tile.write .*%correction_mma\[96\]/d' kernel.mlir | fa4-opt --tile-verify-protocol
// {{.*}}error: channel "correction_mma": @correction commits a stage of which some columns are not written
// ...
// [1]

// What a branch alone uses may be read in front of it, also some columns at a time: here, nothing was written if K is 0.
//
// $ fa4-opt $S/../../Pipelines/gemm.mlir --attn-to-nvvm='from=tile to=unroll' \
//   | fa4-opt --tile-verify-protocol=print -o /dev/null
// @gemm: {{[0-9]+}} steps{{.*}}
