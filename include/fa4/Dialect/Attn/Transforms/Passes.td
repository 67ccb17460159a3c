//===- Passes.td - passes on the attn dialect -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_TRANSFORMS_PASSES_TD
#define FA4_DIALECT_ATTN_TRANSFORMS_PASSES_TD

include "fa4/Support/PassWithOptions.td"

def AttnDecompose : FA4_Pass<"attn-decompose"> {
  let summary = "Lower attention ops to linalg, scf, arith and math";
  let description = [{
    Rewrites `attn.sdpa` and `attn.sdpa_backward` with every mask, region, head
    grouping and length form to upstream dialects: the executable definition of
    the ops, and the way to run them on a CPU.

    The result loops over batch and key/value head (`scf.forall`, parallel),
    the query heads of the group and blocks of `query-block` query rows
    (`scf.for`). A block's scores are computed whole, as a
    `rows x Sk` f32 tensor, the softmax subtracts the exact row max, and all
    sums are f32. The gradient recomputes the probabilities from the LSE and
    uses `delta = rowsum(dout * out)`; the derivative of `score_mod` is derived
    from the region (forward-mode, with respect to the score).

    Memref operands are read as tensors (`bufferization.to_tensor`) and results
    written back (`bufferization.materialize_in_destination`), so that one
    lowering serves both; one-shot-bufferize turns this into code without
    copies of the operands.

    Before:

    ```mlir
    func.func @f(%q: tensor<2x64x4x32xf32>, %k: tensor<2x96x2x32xf32>,
                 %v: tensor<2x96x2x32xf32>) -> tensor<2x64x4x32xf32> {
      %o = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
        : tensor<2x64x4x32xf32>, tensor<2x96x2x32xf32>, tensor<2x96x2x32xf32>
          -> tensor<2x64x4x32xf32>
      return %o : tensor<2x64x4x32xf32>
    }
    ```

    After (shortened):

    ```
    %o = scf.forall (%b, %g) in (2, 2) shared_outs(%out = %empty) -> (tensor<2x64x4x32xf32>) {
      ...
      %s = linalg.generic {...}  // q . k
      %x = linalg.generic {...}  // scale, score_mod, masks
      %m = linalg.generic {...}  // row max
      %p = linalg.generic {...}  // exp(x - m)
      %l = linalg.generic {...}  // row sum
      %a = linalg.generic {...}  // p . v
      %y = linalg.generic {...}  // a / l, 0 for rows without a key
      scf.forall.in_parallel { tensor.parallel_insert_slice ... }
    }
    ```
  }];
  let options = [
    Option<"queryBlock", "query-block", "int64_t", /*default=*/"64",
           "Query rows whose scores are in memory at a time; 0 = all">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def ArithExpandFp8 : FA4_Pass<"arith-expand-fp8"> {
  let summary = "Expand conversions of f8E4M3FN and f8E5M2 to integer arithmetic";
  let description = [{
    Rewrites `arith.extf` from and `arith.truncf` to f8E4M3FN and f8E5M2
    (scalars and vectors) to bit arithmetic on integers, for targets without
    such conversions: LLVM's CPU back ends have none, and upstream's
    `arith-expand` covers other narrow types only. Extension is exact.
    Truncation from f32, f16 and bf16 rounds to nearest even; overflow gives NaN
    in f8E4M3FN (which has no infinity) and infinity in f8E5M2; NaN stays NaN.
    Truncation from f64 or with another rounding mode is left alone.

    Before:

    ```mlir
    func.func @f(%x: f8E4M3FN) -> f32 {
      %y = arith.extf %x : f8E4M3FN to f32
      return %y : f32
    }
    ```

    After (shortened):

    ```
    %bits = arith.bitcast %x : f8E4M3FN to i8
    %wide = arith.extui %bits : i8 to i32
    ... exponent and mantissa moved into place, subnormals scaled, NaN selected
    %y = arith.bitcast %r : i32 to f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MathExpandClampF : FA4_Pass<"math-expand-clampf"> {
  let summary = "Expand math.clampf to arith.maximumf and arith.minimumf";
  let description = [{
    Rewrites `math.clampf`, for which neither LLVM nor libm has a counterpart.
    `math-expand-ops` of LLVM 22 does this too, but exchanges the bounds.

    Before:

    ```mlir
    func.func @f(%x: f32, %lo: f32, %hi: f32) -> f32 {
      %r = math.clampf %x to [%lo, %hi] : f32
      return %r : f32
    }
    ```

    After:

    ```mlir
    func.func @f(%x: f32, %lo: f32, %hi: f32) -> f32 {
      %0 = arith.maximumf %x, %lo : f32
      %r = arith.minimumf %0, %hi : f32
      return %r : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // FA4_DIALECT_ATTN_TRANSFORMS_PASSES_TD
