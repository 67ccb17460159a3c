// The CPU pipeline takes blocks of queries, which do not change the numbers that attn-to-llvm.mlir prints, and leaves out
// the interface for C where nobody asks for that.
//
// RUN: fa4-opt %S/attn-to-llvm.mlir -pass-pipeline="builtin.module(attn-to-llvm{query-block=1 emit-c-interface=false})" | tee %t.mlir | FileCheck %s
// RUN: mlir-runner %t.mlir -e main -entry-point-result=void -shared-libs=%llvm_shlib_dir/libmlir_runner_utils.so,%llvm_shlib_dir/libmlir_c_runner_utils.so | FileCheck %S/attn-to-llvm.mlir
// RUN: fa4-opt %S/attn-to-llvm.mlir -attn-to-llvm="query-block=16" -dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=PIPELINE

// CHECK-NOT: _mlir_ciface_main
// CHECK: llvm.func @main(
// CHECK-NOT: _mlir_ciface_main

// PIPELINE: builtin.module(
// PIPELINE: attn-decompose{query-block=16}
// PIPELINE: one-shot-bufferize
// PIPELINE: convert-to-llvm
