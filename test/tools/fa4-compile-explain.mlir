// fa4-compile --explain says what to change in an op for which there is no kernel.

// RUN: split-file %s %t
// RUN: not fa4-compile --explain %t/chip.mlir --chip=sm_90a -o %t 2>&1 | FileCheck %t/chip.mlir
// RUN: not fa4-compile --explain %t/head-dim.mlir -o %t 2>&1 | FileCheck %t/head-dim.mlir
// RUN: not fa4-compile --explain %t/gradient.mlir -o %t 2>&1 | FileCheck %t/gradient.mlir
// RUN: not fa4-compile --explain %t/region.mlir -o %t 2>&1 | FileCheck %t/region.mlir
// RUN: not fa4-compile --explain %t/both.mlir --chip=sm_90a -o %t 2>&1 | FileCheck %t/both.mlir
// RUN: not fa4-compile %t/both.mlir -o %t 2>&1 | FileCheck %t/both.mlir --check-prefix=SILENT
// RUN: fa4-compile --explain %t/good.mlir --verify-ptx=false -o %t 2>&1 | count 0

//--- chip.mlir
// CHECK: chip.mlir:[[#LINE:]]:{{[0-9]+}}: error: 'attn.sdpa' op not supported on sm_90a: targets without tensor memory
// CHECK: chip.mlir:[[#LINE]]:{{[0-9]+}}: remark: what to change: there is a kernel for sm_100a: --chip=sm_100a
func.func @f(%x: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>) {
  attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x64xbf16>) : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}

//--- head-dim.mlir
// CHECK: remark: what to change: head dims of this target are multiples of 32 up to 128, the same for q, k and v: pad with zeros, and keep the factor of the true head dim with scale(...)
func.func @f(%x: memref<?x?x?x80xbf16>, %o: memref<?x?x?x80xbf16>) {
  attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x80xbf16>) : memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>
  return
}

//--- gradient.mlir
// CHECK: remark: what to change: head dims of this target are multiples of 16 up to 128; split the op, or take the path to the CPU
func.func @f(%x: memref<?x?x?x192xbf16>, %l: memref<?x?x?xf32>, %d: memref<?x?x?x192xbf16>, %e: memref<?x?x?x192xbf16>, %o: memref<?x?x?x192xbf16>) {
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%l) layout<bshd> outs(%d, %e, %o : memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>)
    : memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?xf32>
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
