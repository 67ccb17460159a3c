// The CPU pipeline leaves nothing but the LLVM dialect, so that upstream's
// runner executes an attention op and prints the right numbers.
//
// RUN: fa4-opt %s -attn-to-llvm | tee %t.mlir | FileCheck %s --check-prefix=LLVM
// RUN: mlir-runner %t.mlir -e main -entry-point-result=void -shared-libs=%llvm_shlib_dir/libmlir_runner_utils.so,%llvm_shlib_dir/libmlir_c_runner_utils.so | FileCheck %s

// An upstream pipeline runs the op: two queries, two keys, one of head dim 1;
// the first query sees the first key only. exp(1)/(1+exp(1)) = 0.731.

// LLVM: llvm.func @_mlir_ciface_main

// CHECK: Unranked Memref base@ = {{.*}} rank = 4 offset = 0 sizes = [1, 2, 1, 1]
// CHECK: 10
// CHECK: 17.31
// CHECK: Unranked Memref base@ = {{.*}} rank = 3 offset = 0 sizes = [1, 1, 2]
// CHECK: 0, {{ *}}1.31326
func.func private @printMemrefF32(tensor<*xf32>)
func.func @main() {
  %q = arith.constant dense<[[[[1.0]], [[1.0]]]]> : tensor<1x2x1x1xf32>
  %k = arith.constant dense<[[[[0.0]], [[1.0]]]]> : tensor<1x2x1x1xf32>
  %v = arith.constant dense<[[[[10.0]], [[20.0]]]]> : tensor<1x2x1x1xf32>
  %o, %l = attn.sdpa %q, %k, %v layout<bshd> mask<causal, top_left> : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x1x1xf32>, tensor<1x1x2xf32>
  %uo = tensor.cast %o : tensor<1x2x1x1xf32> to tensor<*xf32>
  %ul = tensor.cast %l : tensor<1x1x2xf32> to tensor<*xf32>
  call @printMemrefF32(%uo) : (tensor<*xf32>) -> ()
  call @printMemrefF32(%ul) : (tensor<*xf32>) -> ()
  return
}
