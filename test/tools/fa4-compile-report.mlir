// The report has the steady state of each kernel by the clock of fa4-sim, beside
// the roofline. Sizes that the manifest leaves open are chosen: lengths are
// 4096, and there are as many heads or batches as it takes to fill the SMs.
//
// RUN: split-file %s %t
// RUN: fa4-compile %t/forward.mlir -o %t/out --verify-ptx=false --report | FileCheck %s --check-prefix=FORWARD
// FORWARD: @forward_kernel: no pairs of CTAs, which would be along axis 0 of the grid
// FORWARD-NEXT: of a work tile pair alone
// FORWARD-NEXT: cycles of MMAs 1024 1024
// FORWARD-NEXT: shared memory: bytes MMAs read {{[0-9]+}} {{[0-9]+}}
// FORWARD-NEXT: bytes loads write in loops 16384 32768
// FORWARD: tensor memory: columns of results 384 384
// FORWARD-NEXT: registers of a thread for results 384 384
// FORWARD: roofline of @forward_kernel
// FORWARD: modelled time of @forward_kernel, B = 10, Sk = 4096, Sq = 4096{{$}}
// FORWARD-NEXT: costs of instructions: table of PTX forms
// FORWARD-NEXT: CTA (0, 0, 0): {{[0-9]+}} cycles
// FORWARD-NEXT: unit busy cycles roofline{{$}}
// FORWARD-DAG: MUFU {{[6-9][0-9]}}% {{[0-9]+}} {{[0-9]+}}{{$}}
// FORWARD-DAG: tensor cores {{[4-9][0-9]}}% 1024 1024{{$}}
// FORWARD: iteration {{[0-9]+}} {{[0-9]+}}{{$}}
// FORWARD-NEXT: bound by: {{.+}}
//
// The same each time, where the machine has one processor or many; and the PTX
// is that of a run without a report.
// RUN: fa4-compile %t/forward.mlir -o %t/out --verify-ptx=false --report > %t/first
// RUN: taskset 1 fa4-compile %t/forward.mlir -o %t/again --verify-ptx=false --report | diff %t/first -
// RUN: fa4-compile %t/forward.mlir -o - --verify-ptx=false | diff - %t/again/forward_kernel.ptx
//
// Without files, too; the report is in stderr then.
// RUN: fa4-compile %t/forward.mlir -o - --emit=schedule --verify-ptx=false --report 2>&1 >/dev/null | FileCheck %s --check-prefix=FORWARD
//
// CTAs that work on several tiles: those of the time that is simulated.
// RUN: fa4-compile %t/forward.mlir -o %t/out --schedule=clc --verify-ptx=false --report | FileCheck %s --check-prefix=TAKERS
// TAKERS: modelled time of @forward_kernel
// TAKERS: CTA (0, 0, 0): {{(more than )?[0-9]+}} cycles
// TAKERS: iteration
//
// A pair of CTAs has half of the rows of a sum over their axis.
// RUN: fa4-compile %t/gradient.mlir -o %t/out --verify-ptx=false --pairs=on --report | FileCheck %s --check-prefix=PAIR
// PAIR: @gradient_kernel: pairs of CTAs along axis 0 of the grid
// PAIR: bytes lanes write, CTAs exchange 65536 32768
// PAIR-NEXT: bytes reductions write and read {{[0-9]+}} {{[0-9]+}}
// PAIR: tensor memory: columns of results 416 448
// PAIR-NEXT: registers of a thread for results 416 448
//
// Each kernel of a gradient. The preprocess has pointers alone, and no loops.
// RUN: fa4-compile %t/gradient.mlir -o %t/out --verify-ptx=false --report | FileCheck %s --check-prefix=GRADIENT
// GRADIENT: modelled time of @gradient_preprocess_kernel, B = 1, Sq = 4096{{$}}
// GRADIENT: unit busy{{$}}
// GRADIENT: modelled time of @gradient_kernel, B = 1, Sk = 4096, Sq = 4096{{$}}
// GRADIENT: iteration
// GRADIENT: the roofline disagrees: it has {{.+}} as the bound, and the model takes {{[0-9]+}}% longer
// GRADIENT: modelled time of @gradient_postprocess_kernel
//
// Sizes that are known; no kernel of the pipeline, without a roofline; tensors
// that are too large; and a kernel that nobody says how to launch.
// RUN: fa4-compile %t/large.mlir -o %t/out --verify-ptx=false --report | FileCheck %s --check-prefix=LARGE
// LARGE: no modelled time of @large_kernel: its tensors take 8208 MiB
// RUN: fa4-compile %S/../Pipelines/Inputs/packed-attention.mlir -o %t/out --verify-ptx=false --report | FileCheck %s --check-prefix=PACKED
// PACKED: modelled time of @packed, B = {{[0-9]+}}, Sq = 4096, T = 4096
// PACKED: integers are zeros, and the work that they decide on is not there: ends, starts
// PACKED-NOT: roofline
// RUN: fa4-compile %S/fa4-compile.mlir -o - --report 2>&1 >/dev/null | FileCheck %s --check-prefix=NO-MANIFEST
// NO-MANIFEST: no modelled time of @add_reversed: it does not say how it is launched

//--- forward.mlir
func.func @forward(%q: tensor<?x?x1x64xbf16>, %k: tensor<?x?x1x64xbf16>,
                   %v: tensor<?x?x1x64xbf16>) -> tensor<?x?x1x64xbf16> {
  %out = attn.sdpa %q, %k, %v layout<bshd>
    : tensor<?x?x1x64xbf16>, tensor<?x?x1x64xbf16>, tensor<?x?x1x64xbf16>
      -> tensor<?x?x1x64xbf16>
  return %out : tensor<?x?x1x64xbf16>
}

//--- gradient.mlir
!t = tensor<?x?x32x64xbf16>
func.func @gradient(%q: !t, %k: !t, %v: !t, %o: !t, %do: !t,
                    %lse: tensor<?x32x?xf32>) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%o) dout(%do) lse(%lse)
    layout<bshd> : !t, !t, !t, !t, !t, tensor<?x32x?xf32> -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

//--- large.mlir
!t = tensor<8x65536x32x128xbf16>
func.func @large(%q: !t, %k: tensor<8x128x32x128xbf16>, %v: tensor<8x128x32x128xbf16>) -> !t {
  %out = attn.sdpa %q, %k, %v layout<bshd>
    : !t, tensor<8x128x32x128xbf16>, tensor<8x128x32x128xbf16> -> !t
  return %out : !t
}
