// fa4-compile --explain says what to change in an op for which there is no kernel,
// and where the proof of a level fails, which step waits for whom, at the lines of the file.

// RUN: split-file %s %t
// RUN: not fa4-compile --explain %t/chip.mlir --chip=sm_90a -o %t 2>&1 | FileCheck %t/chip.mlir
// RUN: not fa4-compile --explain %t/head-dim.mlir -o %t 2>&1 | FileCheck %t/head-dim.mlir
// RUN: not fa4-compile --explain %t/gradient.mlir -o %t 2>&1 | FileCheck %t/gradient.mlir
// RUN: not fa4-compile --explain %t/region.mlir -o %t 2>&1 | FileCheck %t/region.mlir
// RUN: not fa4-compile --explain %t/both.mlir --chip=sm_90a -o %t 2>&1 | FileCheck %t/both.mlir
// RUN: not fa4-compile %t/both.mlir -o %t 2>&1 | FileCheck %t/both.mlir --check-prefix=SILENT
// RUN: sed -e '/#wait-u$/d' -e 's,//+swapped-waits ,,' %S/../Dialect/Tile/Inputs/protocol.mlir > %t/swapped.mlir
// RUN: not fa4-compile --explain --from=schedule %t/swapped.mlir -o %t 2>&1 | FileCheck %s --check-prefix=CIRCLE
// RUN: not fa4-compile --from=schedule %t/swapped.mlir -o %t 2>&1 | FileCheck %s --check-prefix=NO-REMARK
// RUN: sed -e '/#wait-inside$/d' -e 's,//+wait-outside ,,' %S/../Dialect/Tile/Inputs/protocol.mlir > %t/outside.mlir
// RUN: not fa4-compile --explain --from=schedule %t/outside.mlir -o %t 2>&1 | FileCheck %s --check-prefix=ENDED
// RUN: sed -e '/#release$/d' %S/../Dialect/Tile/Inputs/protocol.mlir > %t/release.mlir
// RUN: not fa4-compile --explain --from=schedule %t/release.mlir -o %t 2>&1 | FileCheck %s --check-prefix=STARVED
// RUN: sed -e '/#commit$/d' %S/../Dialect/Tile/Inputs/protocol.mlir > %t/commit.mlir
// RUN: not fa4-compile --explain --from=schedule %t/commit.mlir -o %t 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: fa4-opt %S/../Dialect/Tile/Inputs/protocol.mlir --tile-allocate | sed -E 's/("o" smem stages.1. place<offset)[(][0-9]+/\1(32768/' > %t/overlap.mlir
// RUN: not fa4-compile --explain --from=allocate %t/overlap.mlir -o %t 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: fa4-compile --explain %t/good.mlir --verify-ptx=false -o %t 2>&1 | count 0

// Two roles that wait for each other, with the line of each step.
// CIRCLE: swapped.mlir:41:{{.*}}: error: channel "p": @mma waits forever for @lanes to commit it
// CIRCLE: swapped.mlir:41:{{.*}}: remark: @mma in pass 1 of its loop waits for commit number 1 of channel "p" by @lanes
// CIRCLE: swapped.mlir:57:{{.*}}: remark: @lanes commits channel "p" here, once its own wait has ended
// CIRCLE: swapped.mlir:56:{{.*}}: remark: @lanes in pass 1 of its loop waits for commit number 1 of channel "u" by @mma
// CIRCLE: swapped.mlir:43:{{.*}}: remark: @mma commits channel "u" here, once its own wait has ended
// NO-REMARK: error
// NO-REMARK-NOT: remark
// A role that ends before the other one has what it waits for.
// ENDED: outside.mlir:32:{{.*}}: remark: @mma waits for commit number 1 of channel "k" by @load, which has ended
// ENDED: outside.mlir:22:{{.*}}: remark: @load commits channel "k" here, for the last time before it ends
// A release that is missing: who would wait for it.
// STARVED: release.mlir:40:{{.*}}: remark: @mma waits here for release number 1 of channel "u" by @lanes, to make value 2: the ring has 1 stage
// A channel that nobody commits.
// NOBODY: commit.mlir:58:{{.*}}: remark: @lanes waits here for commits of channel "u", which no role makes
// Two accesses that meet: what their roles have waited for.
// ORDER: overlap.mlir:50:{{.*}}: error: channel "o": @lanes may overwrite a stage
// ORDER: overlap.mlir:16:{{.*}}: remark: @load in pass 2 of its loop waits for release number 2 of channel "k" by @mma, the last wait of this role by then
// ORDER: overlap.mlir:46:{{.*}}: remark: @lanes in pass 1 of its loop waits for commit number 1 of channel "u" by @mma, the last wait of this role by then

//--- chip.mlir
// CHECK: chip.mlir:[[#LINE:]]:{{[0-9]+}}: error: 'attn.sdpa' op not supported on sm_90a: targets without tensor memory
// CHECK: chip.mlir:[[#LINE]]:{{[0-9]+}}: remark: what to change: there is a kernel for sm_100a: --chip=sm_100a
func.func @f(%x: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>) {
  attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x64xbf16>) : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

//--- head-dim.mlir
// CHECK: remark: what to change: head dims of this target are multiples of 32 up to 256: pad with zeros, and keep the factor of the true head dim with scale(...)
func.func @f(%x: memref<?x?x?x80xbf16>, %o: memref<?x?x?x80xbf16>) {
  attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x80xbf16>) : memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>
  return
}

//--- gradient.mlir
// CHECK: remark: what to change: head dims of this target are multiples of 16 up to 192; split the op, or take the path to the CPU
func.func @f(%x: memref<?x?x?x256xbf16>, %l: memref<?x?x?xf32>, %d: memref<?x?x?x256xbf16>, %e: memref<?x?x?x256xbf16>, %o: memref<?x?x?x256xbf16>) {
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%l) layout<bshd> outs(%d, %e, %o : memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>)
    : memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?xf32>
  return
}

//--- region.mlir
// CHECK: remark: what to change: write the region with operations of arith and math on scalars, arith.select in place of branches, and captures of type f32, i32 or index
func.func @f(%x: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>, %c: f64) {
  attn.sdpa %x, %x, %x layout<bshd> captures(%c : f64) outs(%o : memref<?x?x?x64xbf16>) : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %d: f64) {
      %t = arith.truncf %d : f64 to f32
      %r = arith.mulf %s, %t : f32
      attn.yield %r : f32
    }
  return
}

//--- both.mlir
// CHECK: remark: what to change: --chip=sm_100a, and: convert q, k, v and out to bf16 or f16
// SILENT: error
// SILENT-NOT: what to change
func.func @f(%x: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>) {
  attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x64xf32>) : memref<?x?x?x64xf32>, memref<?x?x?x64xf32>, memref<?x?x?x64xf32>
  return
}

//--- good.mlir
func.func @f(%x: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>) {
  attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x64xbf16>) : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}
