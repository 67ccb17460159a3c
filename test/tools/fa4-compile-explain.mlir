// fa4-compile --explain says what to change in an op for which there is no kernel,
// and where the proof of a level fails, which step waits for whom, at the lines of the file.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile --explain chip.mlir --chip=sm_90a -o out
// chip.mlir:2:3: error: 'attn.sdpa_backward' op not supported on sm_90a: head dims 192 of q and k, 192 of v: the smallest tiles exceed the 216 registers of a thread for accumulators
// ...
// chip.mlir:2:3: remark: what to change: there is a kernel for sm_100a: --chip=sm_100a
// ...
// [1]
// $ fa4-compile --explain head-dim.mlir -o out
// head-dim.mlir:2:3: error: 'attn.sdpa' op not supported on sm_100a: head dim 80: only multiples of 32
//   attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x80xbf16>) : memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>
//   ^
// head-dim.mlir:2:3: remark: what to change: head dims of this target are multiples of 32 up to 256: pad with zeros, and keep the factor of the true head dim with scale(...)
//   attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x80xbf16>) : memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>
//   ^
// [1]
// $ fa4-compile --explain gradient.mlir -o out
// ...
// gradient.mlir:2:3: remark: what to change: head dims of this target are multiples of 16 up to 192; split the op, or take the path to the CPU (fa4-opt --attn-to-llvm)
// ...
// [1]
// $ fa4-compile --explain region.mlir -o out
// ...
// region.mlir:2:3: remark: what to change: write the region with operations of arith and math on scalars, arith.select in place of branches, and captures of type f32, i32 or index
// ...
// [1]
// $ fa4-compile --explain both.mlir --chip=sm_90a -o out
// both.mlir:2:3: error: 'attn.sdpa_backward' op not supported on sm_90a: elements of f32: only bf16 and f16
// ...
// both.mlir:2:3: remark: what to change: convert q, k, v and out to bf16 or f16 in front of the op and behind it
// ...
// [1]
// $ fa4-compile both.mlir -o out
// both.mlir:2:3: error: 'attn.sdpa_backward' op not supported on sm_100a: elements of f32: only bf16 and f16
// ...
// [1]
//
// Where there is a kernel, nothing is said.
//
// $ fa4-compile --explain good.mlir --verify-ptx=false -o out
//
// Two roles that wait for each other, with the line of each step.
//
// $ sed -e '/#wait-u$/d' -e 's,//+swapped-waits ,,' "$S"/../Dialect/Tile/Inputs/protocol.mlir > swapped.mlir
// $ fa4-compile --explain --from=schedule swapped.mlir -o out
// swapped.mlir:41:{{.*}}: error: channel "p": @mma waits forever for @lanes to commit it
// ...
// swapped.mlir:41:{{.*}}: remark: @mma in pass 1 of its loop waits for commit number 1 of channel "p" by @lanes
// ...
// swapped.mlir:57:{{.*}}: remark: @lanes commits channel "p" here, once its own wait has ended
// ...
// swapped.mlir:56:{{.*}}: remark: @lanes in pass 1 of its loop waits for commit number 1 of channel "u" by @mma
// ...
// swapped.mlir:43:{{.*}}: remark: @mma commits channel "u" here, once its own wait has ended
// ...
// [1]
// $ fa4-compile --from=schedule swapped.mlir -o out
// swapped.mlir:{{[0-9]+:[0-9]+}}: error: channel "p": @mma waits forever for @lanes to commit it
// ...
// [1]
// $ fa4-compile --from=schedule swapped.mlir -o out 2>&1 | grep 'remark'
// [1]
//
// A role that ends before the other one has what it waits for.
//
// $ sed -e '/#wait-inside$/d' -e 's,//+wait-outside ,,' "$S"/../Dialect/Tile/Inputs/protocol.mlir > outside.mlir
// $ fa4-compile --explain --from=schedule outside.mlir -o out
// ...
// outside.mlir:32:{{.*}}: remark: @mma waits for commit number 1 of channel "k" by @load, which has ended
// ...
// outside.mlir:22:{{.*}}: remark: @load commits channel "k" here, for the last time before it ends
// ...
// [1]
//
// A release that is missing: who would wait for it.
//
// $ sed -e '/#release$/d' "$S"/../Dialect/Tile/Inputs/protocol.mlir > release.mlir
// $ fa4-compile --explain --from=schedule release.mlir -o out
// ...
// release.mlir:40:{{.*}}: remark: @mma waits here for release number 1 of channel "u" by @lanes, to make value 2: the ring has 1 stage
// ...
// [1]
//
// A channel that nobody commits.
//
// $ sed -e '/#commit$/d' "$S"/../Dialect/Tile/Inputs/protocol.mlir > commit.mlir
// $ fa4-compile --explain --from=schedule commit.mlir -o out
// commit.mlir:{{[0-9]+:[0-9]+}}: error: channel "u" is never committed
// ...
// commit.mlir:58:{{.*}}: remark: @lanes waits here for commits of channel "u", which no role makes
// ...
// [1]
//
// Two accesses that meet: what their roles have waited for.
//
// $ fa4-opt "$S"/../Dialect/Tile/Inputs/protocol.mlir --tile-allocate | sed -E 's/("o" smem stages.1. place<offset)[(][0-9]+/\1(32768/' > overlap.mlir
// $ fa4-compile --explain --from=allocate overlap.mlir -o out
// overlap.mlir:50:{{.*}}: error: channel "o": @lanes may overwrite a stage in pass 1 of its loop while @load writes it (channel "k")
// ...
// overlap.mlir:16:{{.*}}: remark: @load in pass 2 of its loop waits for release number 2 of channel "k" by @mma, the last wait of this role by then
// ...
// overlap.mlir:46:{{.*}}: remark: @lanes in pass 1 of its loop waits for commit number 1 of channel "u" by @mma, the last wait of this role by then
// ...
// [1]
//

//--- chip.mlir
func.func @f(%x: memref<?x?x?x192xbf16>, %l: memref<?x?x?xf32>, %d: memref<?x?x?x192xbf16>, %e: memref<?x?x?x192xbf16>, %o: memref<?x?x?x192xbf16>) {
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%l) layout<bshd> outs(%d, %e, %o : memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>)
    : memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?x192xbf16>, memref<?x?x?xf32>
  return
}

//--- head-dim.mlir
func.func @f(%x: memref<?x?x?x80xbf16>, %o: memref<?x?x?x80xbf16>) {
  attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x80xbf16>) : memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>, memref<?x?x?x80xbf16>
  return
}

//--- gradient.mlir
func.func @f(%x: memref<?x?x?x256xbf16>, %l: memref<?x?x?xf32>, %d: memref<?x?x?x256xbf16>, %e: memref<?x?x?x256xbf16>, %o: memref<?x?x?x256xbf16>) {
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%l) layout<bshd> outs(%d, %e, %o : memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>)
    : memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?x256xbf16>, memref<?x?x?xf32>
  return
}

//--- region.mlir
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
func.func @f(%x: memref<?x?x?x64xf32>, %l: memref<?x?x?xf32>, %d: memref<?x?x?x64xf32>, %e: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>) {
  attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%l) layout<bshd> outs(%d, %e, %o : memref<?x?x?x64xf32>, memref<?x?x?x64xf32>, memref<?x?x?x64xf32>)
    : memref<?x?x?x64xf32>, memref<?x?x?x64xf32>, memref<?x?x?x64xf32>, memref<?x?x?x64xf32>, memref<?x?x?x64xf32>, memref<?x?x?xf32>
  return
}

//--- good.mlir
func.func @f(%x: memref<?x?x?x64xbf16>, %o: memref<?x?x?x64xbf16>) {
  attn.sdpa %x, %x, %x layout<bshd> outs(%o : memref<?x?x?x64xbf16>) : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}
