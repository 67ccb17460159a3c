// Stock mlir-opt with the plugin: from the op to PTX that the module embeds,
// which is what fa4-compile writes.
//
// REQUIRES: plugin
// RUN: %mlir_opt %s --pass-pipeline='builtin.module(attn-to-nvvm,nvvm-to-binary)' -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: python3 %S/Inputs/embedded.py %t.mlir %t
// RUN: fa4-compile %s -o - --emit=ptx | diff - %t/causal_kernel.ptx
// RUN: fa4-sim %t/causal_kernel.json B=1 Sq=64 Sk=64 --random --check
// RUN: %mlir_opt %s --pass-pipeline='builtin.module(attn-to-nvvm{chip=sm_103a},nvvm-to-binary)' | FileCheck %s --check-prefix=CHIP
// RUN: %mlir_opt %s --pass-pipeline='builtin.module(attn-decompose)' | FileCheck %s --check-prefix=CPU
// RUN: %mlir_opt %s --pass-pipeline='builtin.module(attn-to-host)' | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=HOST
// RUN: not %mlir_opt %s --pass-pipeline='builtin.module(attn-to-nvvm{to=til})' 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK: module {
// CHECK: gpu.binary @causal_kernel  [#gpu.object<#nvvm.target<O = 1, chip = "sm_100a", features = "+ptx90">
// CHECK-SAME: properties = {fa4.arguments = ["q", "k", "v", "out"], fa4.manifest = "{{.*}}causal_kernel.ptx
// CHECK-SAME: #gpu.kernel_metadata<"causal_kernel"
// CHECK: func.func @causal(
// CHECK: tile.launch @causal_kernel
// CHECK-NOT: llvm.

// CHIP: gpu.binary @causal_kernel  [#gpu.object<#nvvm.target<O = 1, chip = "sm_103a"
// CHIP-SAME: .target sm_103a

// CPU: linalg.generic

// HOST: define void @_mlir_ciface_causal(ptr %0, ptr %1, ptr %2, ptr %3, ptr %4)

// ERROR: attn-to-nvvm: there is no level 'til'

func.func @causal(%q: memref<?x?x2x64xbf16>, %k: memref<?x?x1x64xbf16>, %v: memref<?x?x1x64xbf16>, %out: memref<?x?x2x64xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right> outs(%out : memref<?x?x2x64xbf16>)
    : memref<?x?x2x64xbf16>, memref<?x?x1x64xbf16>, memref<?x?x1x64xbf16>
  return
}
