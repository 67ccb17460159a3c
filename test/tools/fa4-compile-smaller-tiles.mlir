// Kernels of which ptxas says that they spill, whatever their tiles are: the errors are those of the first attempt, nothing
// is written, and with --allow-spills there is one attempt. The wrapper around ptxas counts how often it ran.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
// REQUIRES: ptxas
//
// $ printf '%s\n' '#!/bin/sh' 'echo ran >> ran' 'ptxas "$@" 2>&1 | sed "s/ 0 bytes spill stores/ 4 bytes spill stores/"' > spills && chmod +x spills
// $ fa4-compile wide.mlir --ptxas=./spills --verify-ptx -o out
// wide.mlir:2:3: error: 'wide_kernel' uses local memory on sm_100a: 0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads
//   attn.sdpa %q, %k, %v layout<bshd>
//   ^
// [1]
// $ ls
// ran
// spills
// wide.mlir
// $ wc -l < ran
// 3
// $ rm ran && fa4-compile wide.mlir --ptxas=./spills --verify-ptx --allow-spills -o out
// wide.mlir:2:3: warning: 'wide_kernel' uses local memory on sm_100a: 0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads
//   attn.sdpa %q, %k, %v layout<bshd>
//   ^
// $ wc -l < ran
// 1
//
// Tiles of which there are no smaller ones are asked for.
//
// $ fa4-compile wide.mlir --smaller-tiles=20 --explain -o out
// wide.mlir:2:3: error: 'attn.sdpa' op not supported on sm_100a: smaller-tiles=20: the op has fewer sizes of tiles
//   attn.sdpa %q, %k, %v layout<bshd>
//   ^
// wide.mlir:2:3: remark: what to change: ask for fewer steps, or for none
// ...
// [1]
// $ fa4-compile wide.mlir --smaller-tiles=-1 -o out
// fa4-compile: error: --smaller-tiles must not be negative, got -1
// [2]

//--- wide.mlir
func.func @wide(%q: memref<?x?x?x64xbf16>, %k: memref<?x?x?x64xbf16>, %v: memref<?x?x?x64xbf16>, %out: memref<?x?x?x64xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd>
    outs(%out : memref<?x?x?x64xbf16>) : memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>, memref<?x?x?x64xbf16>
  return
}
