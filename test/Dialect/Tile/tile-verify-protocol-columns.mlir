// After tile-unroll a role reads and writes an accumulator some columns at a
// time, in its own buffer. The verifier must accept this, and find columns that
// are read after they have been overwritten.
//

// RUN: fa4-opt %S/Inputs/attention-program.mlir --attn-to-nvvm='from=tile to=unroll' -o %t.mlir
// RUN: FileCheck %s --dump-input=never < %t.mlir
// CHECK: %[[READ:.*]] = tile.channel "mma_correction"
// CHECK: %[[WRITTEN:.*]] = tile.channel "correction_mma" {{.*}} in_place_of(%[[READ]]
// CHECK: tile.write {{.*}}, %[[WRITTEN]] :
// CHECK-NOT: tile.commit
// CHECK: tile.read %[[READ]][32] :
// RUN: fa4-opt %t.mlir --tile-verify-protocol=print -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=STEPS
// STEPS: @attention: {{[0-9]+}} steps

// Columns that have been written already.
// RUN: sed -e 's,tile.read %mma_correction\[32\],tile.read %mma_correction,' %t.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=AGAIN
// RUN: sed -e 's,tile.read %mma_correction\[32\],tile.read %mma_correction[31],' %t.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=AGAIN
// AGAIN: error: channel "mma_correction": @correction reads a value that has been overwritten
// AGAIN: note: overwritten by @correction

// Columns that nobody writes.
// RUN: sed -e '/tile.write .*%correction_mma\[96\]/d' %t.mlir | not fa4-opt --tile-verify-protocol 2>&1 | FileCheck %s --dump-input=never --check-prefix=MISSING
// MISSING: error: channel "correction_mma": @correction commits a stage of which some columns are not written

// What a branch alone uses may be read in front of it, also some columns at a time: here, nothing was written if K is 0.
// RUN: fa4-opt %S/../../Pipelines/gemm.mlir --attn-to-nvvm='from=tile to=unroll' | fa4-opt --tile-verify-protocol=print -o /dev/null 2>&1 | FileCheck %s --dump-input=never --check-prefix=GUARDED
// GUARDED: @gemm: {{[0-9]+}} steps
