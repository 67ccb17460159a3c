// The manifest of a step of decoding: how many splits there are is a formula of the call's sizes, and one copy fetches the
// heads of a group. Without split keys there is one kernel.
//
// RUN: rm -rf %t && mkdir %t && cd %t && %commands %s
//
// $ fa4-compile $S/fa4-compile-split-keys.mlir --chip=sm_90a --verify-ptx=false -o split
// $ ls split
// step.json
// step_kernel.json
// step_kernel.ptx
// step_merge_kernel.json
// step_merge_kernel.ptx
// $ grep -o 'min(ceildiv[^"]*' split/step_kernel.json | grep -v grep | sort -u | head -1
// min(ceildiv(Sk, 256), (16 / max(B, 1) >= 2 ? 16 / max(B, 1) : max(66 / max(B, 1), 1)))
// $ tr -d ' \n' < split/step_kernel.json | grep -o '"box":.64,4,16,1.'
// "box":[64,4,16,1]
// $ fa4-compile $S/fa4-compile-split-keys.mlir --chip=sm_90a --verify-ptx=false --split-keys=false -o whole
// $ ls whole
// step_kernel.json
// step_kernel.ptx
//
// Without sequences or keys no kernel runs.
//
// $ fa4-sim split/step.json B=0 Sk=700 --random | sed 's/, warp.*//'
// ok: launches 2, CTAs 0
// $ fa4-sim split/step.json B=2 Sk=0 --random | sed 's/, warp.*//'
// ok: launches 2, CTAs 0

func.func @step(%q: tensor<?x1x32x128xbf16>, %k: tensor<?x?x8x128xbf16>) -> tensor<?x1x32x128xbf16> {
  %out = attn.sdpa %q, %k, %k layout<bshd>
    : tensor<?x1x32x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x1x32x128xbf16>
  return %out : tensor<?x1x32x128xbf16>
}
