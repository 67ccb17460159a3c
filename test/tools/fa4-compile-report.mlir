// The report has the steady state of each kernel by the clock of fa4-sim, beside
// the roofline. Sizes that the manifest leaves open are chosen: lengths are
// 4096, and there are as many heads or batches as it takes to fill the SMs.
//
// RUN: rm -rf %t && split-file %s %t && cd %t && %commands %s
//
// $ fa4-compile forward.mlir -o out --verify-ptx=false --report
// @forward_kernel: no pairs of CTAs, which would be along axis 0 of the grid
//   of a work tile                            pair     alone
//   cycles of MMAs                            1024      1024
//   shared memory: bytes MMAs read           {{[0-9]+}}     {{[0-9]+}}
//     bytes loads write in loops             16384     32768
// ...
//   tensor memory: columns of results          384       384
//   registers of a thread for results          384       384
// ...
// roofline of @forward_kernel
// ...
// modelled time of @forward_kernel, B = 10, Sk = 4096, Sq = 4096
// costs of instructions: table of PTX forms
// CTA (0, 0, 0): {{[0-9]+}} cycles
//   unit             busy   cycles  roofline
// ...
//   MUFU              {{[6-9][0-9]}}%     {{[0-9]+}}      {{[0-9]+}}
// ...
//   tensor cores      {{[4-9][0-9]}}%     1024      1024
// ...
//   iteration                 {{[0-9]+}}      {{[0-9]+}}
// bound by: {{.+}}
// ...
//
// The same each time, where the machine has one processor or many; and the PTX
// is that of a run without a report.
//
// $ fa4-compile forward.mlir -o out --verify-ptx=false --report > first
// $ taskset 1 fa4-compile forward.mlir -o again --verify-ptx=false --report | diff first -
// $ fa4-compile forward.mlir -o - --verify-ptx=false | diff - again/forward_kernel.ptx
//
// Without files, too; the report is in stderr then.
//
// $ fa4-compile forward.mlir -o - --emit=schedule --verify-ptx=false --report >/dev/null
// @forward_kernel: no pairs of CTAs, which would be along axis 0 of the grid
//   of a work tile                            pair     alone
//   cycles of MMAs                            1024      1024
//   shared memory: bytes MMAs read           {{[0-9]+}}     {{[0-9]+}}
//     bytes loads write in loops             16384     32768
// ...
//   tensor memory: columns of results          384       384
//   registers of a thread for results          384       384
// ...
// roofline of @forward_kernel
// ...
// modelled time of @forward_kernel, B = 10, Sk = 4096, Sq = 4096
// costs of instructions: table of PTX forms
// CTA (0, 0, 0): {{[0-9]+}} cycles
//   unit             busy   cycles  roofline
// ...
//   MUFU              {{[6-9][0-9]}}%     {{[0-9]+}}      {{[0-9]+}}
// ...
//   tensor cores      {{[4-9][0-9]}}%     1024      1024
// ...
//   iteration                 {{[0-9]+}}      {{[0-9]+}}
// bound by: {{.+}}
// ...
//
// CTAs that work on several tiles: those of the time that is simulated.
//
// $ fa4-compile forward.mlir -o out --schedule=clc --verify-ptx=false --report
// ...
// modelled time of @forward_kernel{{.*}}
// ...
// CTA (0, 0, 0): {{(more than )?[0-9]+}} cycles
// ...
//   iteration{{.*}}
// ...
//
// A pair of CTAs has half of the rows of a sum over their axis.
//
// $ fa4-compile gradient.mlir -o out --verify-ptx=false --pairs=on --report
// @gradient_kernel: pairs of CTAs along axis 0 of the grid
// ...
//     bytes lanes write, CTAs exchange       65536     32768
//     bytes reductions write and read        {{[0-9]+}}     {{[0-9]+}}
// ...
//   tensor memory: columns of results          416       448
//   registers of a thread for results          416       448
// ...
//
// Each kernel of a gradient. The preprocess has pointers alone, and no loops.
//
// $ fa4-compile gradient.mlir -o out --verify-ptx=false --report
// ...
// modelled time of @gradient_preprocess_kernel, B = 1, Sq = 4096
// ...
//   unit             busy
// ...
// modelled time of @gradient_kernel, B = 1, Sk = 4096, Sq = 4096
// ...
//   iteration{{.*}}
// ...
// the roofline disagrees: it has {{.+}} as the bound, and the model takes {{[0-9]+}}% longer
// modelled time of @gradient_postprocess_kernel{{.*}}
// ...
//
// Sizes that are known; no kernel of the pipeline, without a roofline; tensors
// that are too large; and a kernel that nobody says how to launch.
//
// $ fa4-compile large.mlir -o out --verify-ptx=false --report
// ...
// no modelled time of @large_kernel: its tensors take 8208 MiB
// $ fa4-compile "$S"/../Pipelines/Inputs/packed-attention.mlir -o out --verify-ptx=false --report
// ...
// modelled time of @packed, B = {{[0-9]+}}, Sq = 4096, T = 4096
// ...
// integers are zeros, and the work that they decide on is not there: ends, starts
// ...
// $ fa4-compile "$S"/../Pipelines/Inputs/packed-attention.mlir -o out --verify-ptx=false --report | sed '1,/^integers are zeros/d' | grep roofline
// [1]
// $ fa4-compile "$S"/fa4-compile.mlir -o - --report >/dev/null
// add_reversed on sm_100a: {{[0-9]+}} bytes of PTX
//   not checked for spills: --verify-ptx=false
// no modelled time of @add_reversed: it does not say how it is launched

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
