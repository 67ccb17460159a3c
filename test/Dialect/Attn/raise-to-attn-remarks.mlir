// Attention that stays because something is in the way of the pass: a remark says what.
//
// RUN: fa4-opt %s --raise-to-attn --split-input-file --verify-diagnostics | FileCheck %s --implicit-check-not=attn.sdpa

// CHECK: func.func

// Buffers.
func.func @buffers(%q: memref<2x6x4xf32>, %k: memref<2x4x8xf32>, %v: memref<2x8x4xf32>, %s: memref<2x6x8xf32>, %p: memref<2x6x8xf32>, %o: memref<2x6x4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<2x6x8xf32>)
  linalg.batch_matmul ins(%q, %k : memref<2x6x4xf32>, memref<2x4x8xf32>) outs(%s : memref<2x6x8xf32>)
  linalg.softmax dimension(2) ins(%s : memref<2x6x8xf32>) outs(%p : memref<2x6x8xf32>)
  linalg.fill ins(%zero : f32) outs(%o : memref<2x6x4xf32>)
  // expected-remark@below {{not raised to attn.sdpa: its operands are buffers, and the pass reads tensors: it comes before bufferization}}
  linalg.batch_matmul ins(%p, %v : memref<2x6x8xf32>, memref<2x8x4xf32>) outs(%o : memref<2x6x4xf32>)
  return
}

// -----

// The softmax is a function of its own.
func.func private @softmax(%s: tensor<2x6x8xf32>) -> tensor<2x6x8xf32> {
  %e = tensor.empty() : tensor<2x6x8xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x6x8xf32>) outs(%e : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return %p : tensor<2x6x8xf32>
}
func.func @call_of_softmax(%q: tensor<2x6x4xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() : tensor<2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x6x4xf32>, tensor<2x4x8xf32>) outs(%s0 : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %p = call @softmax(%s) : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %oe = tensor.empty() : tensor<2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: what is multiplied comes from func.call, which --inline would have resolved}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x6x8xf32>, tensor<2x8x4xf32>) outs(%o0 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %o : tensor<2x6x4xf32>
}

// -----

// What is done with the scores is a function of its own, as JAX's jnp.where is.
func.func private @where(tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
func.func @call_on_scores(%q: tensor<2x6x4xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() : tensor<2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x6x4xf32>, tensor<2x4x8xf32>) outs(%s0 : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %t = call @where(%s) : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x6x8xf32>) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %oe = tensor.empty() : tensor<2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: the softmax is of no product of matrices: they come from func.call, which --inline would have resolved}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x6x8xf32>, tensor<2x8x4xf32>) outs(%o0 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %o : tensor<2x6x4xf32>
}

// -----

// The probabilities come out of an operation that is not followed.
func.func @conditional(%q: tensor<2x6x4xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>, %c: i1) -> tensor<2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() : tensor<2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x6x4xf32>, tensor<2x4x8xf32>) outs(%s0 : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %m0 = tensor.empty() : tensor<2x6xf32>
  %l0 = linalg.fill ins(%zero : f32) outs(%m0 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %p = scf.if %c -> tensor<2x6x8xf32> {
    %e = math.exp %s : tensor<2x6x8xf32>
    %l = linalg.reduce { arith.addf } ins(%e : tensor<2x6x8xf32>) outs(%l0 : tensor<2x6xf32>) dimensions = [2]
    %lb = linalg.broadcast ins(%l : tensor<2x6xf32>) outs(%se : tensor<2x6x8xf32>) dimensions = [2]
    %d = arith.divf %e, %lb : tensor<2x6x8xf32>
    scf.yield %d : tensor<2x6x8xf32>
  } else {
    scf.yield %s : tensor<2x6x8xf32>
  }
  %oe = tensor.empty() : tensor<2x6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: what is multiplied comes from scf.if, which is not looked into}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x6x8xf32>, tensor<2x8x4xf32>) outs(%o0 : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %o : tensor<2x6x4xf32>
}

// -----

// Heads are added up, too.
func.func @sum_over_heads(%q: tensor<2x6x4xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>) -> tensor<6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() : tensor<2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x6x4xf32>, tensor<2x4x8xf32>) outs(%s0 : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x6x8xf32>) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %oe = tensor.empty() : tensor<6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x4xf32>) -> tensor<6x4xf32>
  // expected-remark@below {{not raised to attn.sdpa: it sums over 2 dimensions, and the product with the values only over the keys}}
  %o = linalg.contract indexing_maps = [affine_map<(h, i, d, j) -> (h, i, j)>, affine_map<(h, i, d, j) -> (h, j, d)>, affine_map<(h, i, d, j) -> (i, d)>]
    ins(%p, %v : tensor<2x6x8xf32>, tensor<2x8x4xf32>) outs(%o0 : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %o : tensor<6x4xf32>
}

// -----

// Something is added to the result: it begins with it.
func.func @begins_with_residual(%q: tensor<2x6x4xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x8x4xf32>, %x: tensor<2x6x4xf32>) -> tensor<2x6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() : tensor<2x6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<2x6x4xf32>, tensor<2x4x8xf32>) outs(%s0 : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x6x8xf32>) outs(%se : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  // expected-remark@below {{not raised to attn.sdpa: what it multiplies holds operations that are not followed, or is no product of two numbers that begins with 0}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<2x6x8xf32>, tensor<2x8x4xf32>) outs(%x : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %o : tensor<2x6x4xf32>
}

// -----

// A product of two matrices behind a SiLU is no attention, and has no remark.
func.func @silu(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %v: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %zero = arith.constant 0.0 : f32
  %se = tensor.empty() : tensor<6x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = linalg.matmul ins(%x, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%s0 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %one = arith.constant dense<1.0> : tensor<6x8xf32>
  %n = arith.negf %s : tensor<6x8xf32>
  %e = math.exp %n : tensor<6x8xf32>
  %d = arith.addf %e, %one : tensor<6x8xf32>
  %p = arith.divf %s, %d : tensor<6x8xf32>
  %oe = tensor.empty() : tensor<6x4xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x4xf32>) -> tensor<6x4xf32>
  %o = linalg.matmul ins(%p, %v : tensor<6x8xf32>, tensor<8x4xf32>) outs(%o0 : tensor<6x4xf32>) -> tensor<6x4xf32>
  return %o : tensor<6x4xf32>
}
