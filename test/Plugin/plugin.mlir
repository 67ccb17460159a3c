// Stock mlir-opt with the plugin: from the op to PTX that the module embeds,
// which is what fa4-compile writes.
//
// REQUIRES: plugin
// RUN: rm -rf %t && mkdir %t && cd %t && %mlir_opt %s --pass-pipeline='builtin.module(attn-to-nvvm,nvvm-to-binary)' -o module.mlir
// RUN: FileCheck %s < %t/module.mlir
// RUN: env PLUGIN=%fa4_plugin %commands %s
//
// $ python3 "$S"/Inputs/embedded.py module.mlir .
// $ fa4-compile "$S"/plugin.mlir -o - --emit=ptx | diff - causal_kernel.ptx
// $ fa4-sim causal_kernel.json B=1 Sq=64 Sk=64 --random --check
// ok: {{.*}} findings 0
//
// Another chip, the path to the CPU, host code that calls the kernel, and a level that is not one.
//
// $ mlir-opt --load-dialect-plugin="$PLUGIN" --load-pass-plugin="$PLUGIN" "$S"/plugin.mlir \
//   --pass-pipeline='builtin.module(attn-to-nvvm{chip=sm_103a},nvvm-to-binary)'
// ...
// {{.*}}gpu.binary @causal_kernel  [#gpu.object<#nvvm.target<O = 1, chip = "sm_103a"{{.*}}.target sm_103a{{.*}}
// ...
// $ mlir-opt --load-dialect-plugin="$PLUGIN" --load-pass-plugin="$PLUGIN" "$S"/plugin.mlir --pass-pipeline='builtin.module(attn-decompose)'
// ...
// {{.*}}linalg.generic{{.*}}
// ...
// $ mlir-opt --load-dialect-plugin="$PLUGIN" --load-pass-plugin="$PLUGIN" "$S"/plugin.mlir --pass-pipeline='builtin.module(attn-to-host)' > host.mlir
// $ mlir-translate --mlir-to-llvmir host.mlir
// ...
// define void @_mlir_ciface_causal(ptr %0, ptr %1, ptr %2, ptr %3, ptr %4){{.*}}
// ...
// $ mlir-opt --load-dialect-plugin="$PLUGIN" --load-pass-plugin="$PLUGIN" "$S"/plugin.mlir --pass-pipeline='builtin.module(attn-to-nvvm{to=til})'
// ...
// {{.*}}attn-to-nvvm: there is no level 'til'{{.*}}
// ...
// [1]

// CHECK: module {
// CHECK: gpu.binary @causal_kernel  [#gpu.object<#nvvm.target<O = 1, chip = "sm_100a", features = "+ptx90">
// CHECK-SAME: properties = {fa4.arguments = ["q", "k", "v", "out"], fa4.manifest = "{{.*}}causal_kernel.ptx
// CHECK-SAME: #gpu.kernel_metadata<"causal_kernel"
// CHECK: func.func @causal(
// CHECK: tile.launch @causal_kernel
// CHECK-NOT: llvm.

func.func @causal(%q: memref<?x?x2x64xbf16>, %k: memref<?x?x1x64xbf16>, %v: memref<?x?x1x64xbf16>, %out: memref<?x?x2x64xbf16>) {
  attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right> outs(%out : memref<?x?x2x64xbf16>)
    : memref<?x?x2x64xbf16>, memref<?x?x1x64xbf16>, memref<?x?x1x64xbf16>
  return
}
