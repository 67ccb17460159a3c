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

def ArithExpandRounding : FA4_Pass<"arith-expand-rounding"> {
  let summary = "Expand arith.truncf with a rounding mode to what a CPU has";
  let description = [{
    A rounding mode of `arith.truncf` becomes an intrinsic of LLVM that promises
    this mode to the back end, but does not set it: a CPU rounds to the nearest
    even number all the same. This pass rewrites truncations (of scalars and
    vectors) to f64, f32, f16, bf16, f8E4M3FN and f8E5M2 with each mode: the
    nearest even number moves to its neighbour, by an addition to its bits,
    where a comparison with the source says that this one was asked for.
    Overflow gives infinity (NaN in f8E4M3FN) or the largest finite number, as
    the mode says; NaN stays NaN.

    Truncations of types wider than f32 to bf16 and to fp8, which later passes
    would round to f32 first, become two that give the same as one: to f32 with
    the last bit set where bits were lost, then to the narrow type.

    A rounding mode on another operation, or with another result type, is an
    error on the operation. To the nearest even number is taken everywhere.

    Before:

    ```mlir
    func.func @f(%x: f32) -> f16 {
      %y = arith.truncf %x toward_zero : f32 to f16
      return %y : f16
    }
    ```

    After (shortened):

    ```
    %nearest = arith.truncf %x : f32 to f16
    %bits = arith.bitcast %nearest : f16 to i16
    %back = arith.extf %nearest : f16 to f32
    ... %step is -1 where |%back| is larger than |%x|, else 0
    %moved = arith.addi %bits, %step : i16
    %y = arith.bitcast %moved : i16 to f16
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
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

def ImportAttention : FA4_Pass<"import-attention"> {
  let summary = "Make attention ops of torch-mlir and IREE linalg, for raise-to-attn";
  let description = [{
    Makes `tm_tensor.attention` and `iree_linalg_ext.attention` what they are defined as: two
    products around a softmax, in linalg, of which `raise-to-attn` makes `attn.sdpa`. Their
    dialects are not known here: they are read in MLIR's generic form, which `torch-mlir-opt` and `iree-opt`
    print with `--mlir-print-op-generic`, under `--allow-unregistered-dialect`.

    - `tm_tensor.attention`: `q`, `k`, `v`, a mask of `i1` (true: visible) or of what is added to
      the scores, and the destination; batches, then rows and elements. The scale is one over
      the square root of the static number of elements.
    - `iree_linalg_ext.attention`: `q`, `k`, `v`, the scale, a mask as above, and the destination, with
      `indexing_maps` that are projected permutations; its region gets a scaled score, and
      the mask comes behind it.

    Operands must be tensors of floating-point numbers of at most 32 bits. What is not so is an
    error on the op.

    Before:

    ```text
    %o = "tm_tensor.attention"(%q, %k, %v, %init) <{operandSegmentSizes = array<i32: 3, 1>}>
      : (tensor<2x6x4xf16>, tensor<2x8x4xf16>, tensor<2x8x4xf16>, tensor<2x6x4xf16>) -> tensor<2x6x4xf16>
    ```

    After `--import-attention --raise-to-attn`, in short:

    ```mlir
    func.func @f(%q: tensor<2x6x1x4xf16>, %k: tensor<2x8x1x4xf16>, %v: tensor<2x8x1x4xf16>) -> tensor<2x6x1x4xf16> {
      %o = attn.sdpa %q, %k, %v layout<bshd> scale(0.5)
        : tensor<2x6x1x4xf16>, tensor<2x8x1x4xf16>, tensor<2x8x1x4xf16> -> tensor<2x6x1x4xf16>
      return %o : tensor<2x6x1x4xf16>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def RaiseToAttn : FA4_Pass<"raise-to-attn"> {
  let summary = "Find attention in linalg, and make it attn.sdpa";
  let description = [{
    Finds a product of matrices, a softmax over its last product's dimension, and a
    product of that with a third matrix, and makes them one `attn.sdpa`. The pass
    does not ask what operations are called: it follows, for one element of the
    result, what that element is computed from. So it is the same to it

    - whether products are named operations or `linalg.generic`, with whichever order of
      dimensions, no, one or two batch dimensions, or batch and heads in one
      (`tensor.collapse_shape`, with a static number of heads);
    - whether the softmax is `linalg.softmax` or a maximum, a difference, an exponential,
      a sum and a quotient, to the base e or 2, or exp(s - logsumexp(s)); whether that divides
      before or behind the second product, and whether it gives zeros to rows of -inf, as
      PyTorch's does;
    - whether elementwise work is fused (into the products, too), in operations of its own, or in
      `arith` and `math` on tensors; whether heads of keys and values are shared by an indexing
      map, a broadcast, or a dimension of groups, as JAX does.

    What computes q, k or v, element by element, stays in front of the op, which takes the
    result: a RoPE, a bias. Constant factors of q and k become a part of `scale`, and of
    the tensors that hold an operand the op takes one of the narrowest type that all three are in.
    Reshapes of the result and its rounding to a narrower type become a part of the op. Sizes may
    be dynamic, and reshapes a `tensor.reshape` with computed shapes, as torch-mlir writes them.
    Its broadcasts of such sizes, at `select(size == 1, 0, i)`, are moved in front of conversions,
    factors and repetitions of heads: the op has the narrow type, and as many heads of keys as there are.

    What is done with the scores becomes a `score_mod`: a bias, a soft cap, ALiBi. A constant
    factor becomes `scale`. `select(c, x, -inf)` and the addition of `select(c, 0, -inf)` become
    a `mask_mod`, of which `canonicalize` makes a causal or window mask. A number of at most
    -1e30 is -inf where the pass sees that each query sees a key; otherwise
    a finite number stays in the `score_mod`, as a row of which all is hidden would tell the two
    apart. Integers of 64 bits become i32 where the sizes of tensors say that they fit. Other
    tensors become captures.

    What the op computes is what was written, but for rounding (sums and scores are as if in
    f32) and for a row that sees no key: attn.sdpa gives zeros there, a softmax NaN.

    Where the gradients of q, k and v stand in the same block as the attention, all three
    become one `attn.sdpa_backward`, to which `attn.sdpa` hands its log-sum-exp. With
    probabilities `p` and the output's gradient `dout` they are `dv = p^T dout`, `dq = ds k` and
    `dk = ds^T q`, where `ds = p * (dp - delta)` times the derivative of what is done with the
    scores, `dp = dout v^T`, and `delta` is a row's sum of `p * dp` or of `out * dout`. `ds` is
    compared as a polynomial: it may be multiplied out, or be what the parts of a softmax give
    when each is differentiated by itself; `p` may come from the log-sum-exp again; a factor may be
    behind the products. Derivatives are known of sums, products, constant factors and
    tanh. Gradients of heads that share keys are added up behind the products. What forward and
    gradient have in common must be the same values: `cse` makes it so.

    Where something looks like attention or its gradient and is not raised, a remark says why.

    Before:

    ```mlir
    func.func @f(%q: tensor<8x64x32xf16>, %k: tensor<8x96x32xf16>, %v: tensor<8x96x32xf16>)
        -> tensor<8x64x32xf32> {
      %zero = arith.constant 0.0 : f32
      %s0 = tensor.empty() : tensor<8x64x96xf32>
      %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
      %s = linalg.batch_matmul
        indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>,
                         affine_map<(b, i, j, d) -> (b, i, j)>]
        ins(%q, %k : tensor<8x64x32xf16>, tensor<8x96x32xf16>) outs(%s1 : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
      %p = linalg.softmax dimension(2) ins(%s : tensor<8x64x96xf32>) outs(%s0 : tensor<8x64x96xf32>) -> tensor<8x64x96xf32>
      %p16 = arith.truncf %p : tensor<8x64x96xf32> to tensor<8x64x96xf16>
      %o0 = tensor.empty() : tensor<8x64x32xf32>
      %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
      %o = linalg.batch_matmul ins(%p16, %v : tensor<8x64x96xf16>, tensor<8x96x32xf16>)
        outs(%o1 : tensor<8x64x32xf32>) -> tensor<8x64x32xf32>
      return %o : tensor<8x64x32xf32>
    }
    ```

    After, in short:

    ```
    %q4 = tensor.expand_shape %q ... into tensor<8x1x64x32xf16>
    ...
    %o4 = attn.sdpa %q4, %k4, %v4 layout<bhsd> scale(1.0) : ... -> tensor<8x1x64x32xf32>
    %o = tensor.collapse_shape %o4 ...
    ```
  }];
  let dependentDialects = [
    "::fa4::attn::AttnDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // FA4_DIALECT_ATTN_TRANSFORMS_PASSES_TD
