//===- AttnOps.td - operations of the attn dialect -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNOPS_TD
#define FA4_DIALECT_ATTN_IR_ATTNOPS_TD

include "fa4/Dialect/Attn/IR/AttnAttrs.td"
include "fa4/Dialect/Attn/IR/AttnInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

def Attn_TensorOrMemRef :
    Type<Or<[AnyRankedTensor.predicate, AnyMemRef.predicate]>,
         "ranked tensor or memref">;

/// What the forward op and its gradient share. The operands between the data
/// tensors and the destinations, the attributes and the regions are the same.
class Attn_AttentionOp<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, !listconcat(traits, [
        AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove,
        SingleBlock, DeclareOpInterfaceMethods<Attn_AttentionOpInterface,
                                               ["inferResultType"]>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<OpAsmOpInterface,
                                  ["getAsmBlockArgumentNames",
                                   "getAsmResultNames"]>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                  ["reifyResultShapes"]>,
        DeclareOpInterfaceMethods<TilingInterface,
          ["getIterationDomain", "getLoopIteratorTypes",
           "getTiledImplementation", "getResultTilePosition"]>])> {
  dag sharedOperands = (ins
    Optional<Attn_TensorOrMemRef>:$block_list,
    Optional<Attn_TensorOrMemRef>:$block_counts,
    Optional<Attn_TensorOrMemRef>:$cu_seqlens_q,
    Optional<Attn_TensorOrMemRef>:$cu_seqlens_k,
    Optional<Attn_TensorOrMemRef>:$seqlens_k,
    Optional<Attn_TensorOrMemRef>:$sinks,
    Variadic<AnyType>:$captures,
    Variadic<Attn_TensorOrMemRef>:$inits);
  dag sharedAttributes = (ins
    Attn_LayoutAttr:$layout,
    OptionalAttr<Attn_MaskAttr>:$mask,
    OptionalAttr<F32Attr>:$scale,
    DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$block_size);
  let regions = (region AnyRegion:$score_mod, AnyRegion:$mask_mod);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// sdpa
//===----------------------------------------------------------------------===//

def Attn_SdpaOp : Attn_AttentionOp<"sdpa"> {
  let summary = "scaled dot-product attention";
  let description = [{
    For each batch `b`, query head `h` and query `i`, with the key/value head
    `g = h / (Hq / Hkv)` (so grouped-query and multi-query attention follow from
    the head counts):

    ```
    s[j]   = score_mod(scale * sum_d q[b,i,h,d] * k[b,j,g,d], b, h, i, j, captures)
             if key j is visible to query i, -inf otherwise
    z      = sum_j exp(s[j])  (+ exp(sinks[h]))
    out[i] = sum_j exp(s[j]) / z * v[b,j,g,:]
    lse[i] = log(z)
    ```

    computed as if in f32 with the row max subtracted. **A row that sees no key
    gives `out = 0` and `lse = -inf`** (with a sink: `lse = sinks[h]`). A row that
    sees a score which is NaN or +infinity gives NaN. Hidden scores have no
    influence; but a hidden key's probability 0 is multiplied by its value, so that
    NaN or infinity in v may reach rows that do not see the key. How large scores
    may be on a GPU is in docs/support-matrix.md.

    Key `j` is visible iff all of these say so:

    - `j < Sk`, where `Sk` is the key length of the sequence: the size of k's
      sequence dimension, or `cu_seqlens_k[b+1] - cu_seqlens_k[b]`, or the keys
      of all pages of the sequence, or `seqlens_k[b]` if given (then `0 <=
      seqlens_k[b] <=` the former is the caller's promise);
    - the band of the `mask` attribute (see `#attn.mask`);
    - the `block_list`, if there is one (see below);
    - `mask_mod(b, h, i, j, captures)`.

    **Shapes** are given by `layout` (see `#attn.layout`); the element types of
    q, k and v agree: f16, bf16, f8E4M3FN, f8E5M2 (or f32, for which there is
    no GPU path). out has q's element type or f16, bf16 or f32.

    | operand or result | shape | element type |
    |---|---|---|
    | `q`, `out` | `layout` with `Hq`, head dim `D` (q), `Dv` (out) | see above |
    | `k`, `v` | `layout` with `Hkv`, head dim `D` (k), `Dv` (v) | see above |
    | `cu_seqlens` | `[B + 1]` each, only with the packed layouts `thd`, `htd`; starts with 0, ascending, ends with `Tq` (`Tk`) | i32 |
    | `seqlens_k` | `[B]`, number of valid keys | i32 |
    | `page_table` | `[B, N]`, the pages of each sequence (see below) | i32 |
    | `block_list` | `[B, Hl, N, M]`, the key blocks that each block of queries sees (see below) | i32 |
    | `block_counts` | `[B, Hl, N]`, how many of these M count | i32 |
    | `sinks` | `[Hq]`, a score (not scaled) that joins each softmax and has no value | f32, bf16 or f16 |
    | `captures` | any; passed on to the regions | any |
    | `lse` | `[B, Hq, Sq]` or `[Hq, Tq]`, natural logarithm | f32 |

    **Pages.** With `page_table`, k and v are the pages of a cache: in their
    `layout`, the number of pages `P` has the place of `B`, and the number of
    keys in a page, `S`, that of `Sk`. Key `j` of sequence `b` is row `j % S` of
    page `page_table[b, j / S]`, so that a sequence has room for `N * S` keys.
    Several sequences may share pages. That `0 <= page_table[b, n] < P` is the
    caller's promise for pages that have a key `j < Sk`; other entries and the
    rows of pages that are no keys of a sequence are not read for it. vLLM and
    FlashAttention call it `block_table`. The layout is `bshd` or `bhsd`, or, for
    packed queries, `thd` (`htd`): k and v have that of `bshd` (`bhsd`) then, and
    `cu_seqlens` is that of q alone.

    **Block lists.** `block_list(%list, %counts) block_size [Bq, Bk]` names the
    keys that are looked at, in blocks of `Bk`, for each block of `Bq` queries:
    with `n = i / Bq` and `l = h / (Hq / Hl)`, query `i` of head `h` sees key `j`
    only if `j / Bk` is one of `list[b, l, n, 0]` to `list[b, l, n, counts[b, l,
    n] - 1]`. The numbers may have any order; that no two of them are the same is
    the caller's promise. Those that are no block of keys (such as -1) count for
    nothing, a count below 0 is 0 and one above `M` is `M`, and queries behind
    block `N - 1` see no key. All `Hq` heads may share a list (`Hl = 1`), or the
    heads of a key/value head (`Hl = Hkv`), or each may have its own: `Hl` divides
    `Hq`. FlexAttention calls these `kv_indices` and `kv_num_blocks`; the blocks
    that NSA, MoBA or DSA select are such lists.

    **Attributes.** `scale` is the factor of q.k, `1 / sqrt(D)` if not given.
    `mask` is absent for full attention. `batch_invariant` asks that the bits of a
    sequence's results depend neither on the other sequences of a call nor on how
    many keys there is room for, also where an implementation divides the keys of
    a sequence by what it finds in a call.

    **Regions** are isolated: they see their arguments only. Indices are those
    of `b`, `h` (query head), `i` and `j` above, so they count from the start of
    each sequence also in packed layouts. Operations in them must not have side
    effects; reading captured tensors or memrefs is fine. Where a key is not
    visible the regions may or may not be evaluated, with indices in bounds.

    - `score_mod(score: f32, b, h, i, j: index, captures...) -> f32`
    - `mask_mod(b, h, i, j: index, captures...) -> i1`, true = visible.

    **Destinations.** On memrefs, `outs` names the memref(s) to write and there
    is no result; LSE is written if a second one is given. They must not overlap
    with the inputs or each other. The verifier refuses the same memory under
    another name (a cast, a subview of all of it); of other views a launch
    checks that no element is in two. On tensors `outs` is optional and tied to the results, in
    the sense of destination-passing style: only the shape counts, and
    bufferization writes in place where it can.

    Examples:

    ```mlir
    // Causal grouped-query attention as FlashAttention defines it, sizes dynamic.
    func.func @gqa(%q: tensor<?x?x32x128xbf16>, %k: tensor<?x?x8x128xbf16>,
                   %v: tensor<?x?x8x128xbf16>) -> tensor<?x?x32x128xbf16> {
      %o = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
        : tensor<?x?x32x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16>
          -> tensor<?x?x32x128xbf16>
      return %o : tensor<?x?x32x128xbf16>
    }
    ```

    ```mlir
    // A step of decoding: pages of 64 keys, of which each sequence has some.
    func.func @paged(%q: tensor<?x1x32x128xbf16>, %k: tensor<?x64x8x128xbf16>, %v: tensor<?x64x8x128xbf16>,
                     %lengths: tensor<?xi32>, %pages: tensor<?x?xi32>) -> tensor<?x1x32x128xbf16> {
      %o = attn.sdpa %q, %k, %v layout<bshd>
          seqlens_k(%lengths : tensor<?xi32>) page_table(%pages : tensor<?x?xi32>)
        : tensor<?x1x32x128xbf16>, tensor<?x64x8x128xbf16>, tensor<?x64x8x128xbf16>
          -> tensor<?x1x32x128xbf16>
      return %o : tensor<?x1x32x128xbf16>
    }
    ```

    ```mlir
    // Each block of 128 queries sees up to 16 selected blocks of 64 keys, up to itself.
    func.func @selected(%q: tensor<1x?x16x128xbf16>, %k: tensor<1x?x1x128xbf16>, %v: tensor<1x?x1x128xbf16>,
                        %blocks: tensor<1x1x?x16xi32>, %counts: tensor<1x1x?xi32>) -> tensor<1x?x16x128xbf16> {
      %o = attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
          block_list(%blocks, %counts : tensor<1x1x?x16xi32>, tensor<1x1x?xi32>) block_size [128, 64]
        : tensor<1x?x16x128xbf16>, tensor<1x?x1x128xbf16>, tensor<1x?x1x128xbf16>
          -> tensor<1x?x16x128xbf16>
      return %o : tensor<1x?x16x128xbf16>
    }
    ```

    ```mlir
    // ALiBi and a document mask, with the LSE; written to memrefs.
    func.func @alibi(%q: memref<2x8x512x64xf16>, %k: memref<2x8x512x64xf16>,
                     %v: memref<2x8x512x64xf16>, %slopes: memref<8xf32>,
                     %doc: memref<2x512xi32>, %o: memref<2x8x512x64xf16>,
                     %lse: memref<2x8x512xf32>) {
      attn.sdpa %q, %k, %v layout<bhsd>
        captures(%slopes, %doc : memref<8xf32>, memref<2x512xi32>)
        outs(%o, %lse : memref<2x8x512x64xf16>, memref<2x8x512xf32>)
        : memref<2x8x512x64xf16>, memref<2x8x512x64xf16>, memref<2x8x512x64xf16>
        score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index,
                  %sl: memref<8xf32>, %d: memref<2x512xi32>) {
          %slope = memref.load %sl[%h] : memref<8xf32>
          %dist = arith.subi %j, %i : index
          %disti = arith.index_cast %dist : index to i32
          %distf = arith.sitofp %disti : i32 to f32
          %bias = arith.mulf %slope, %distf : f32
          %r = arith.addf %s, %bias : f32
          attn.yield %r : f32
        }
        mask_mod(%b: index, %h: index, %i: index, %j: index,
                 %sl: memref<8xf32>, %d: memref<2x512xi32>) {
          %di = memref.load %d[%b, %i] : memref<2x512xi32>
          %dj = memref.load %d[%b, %j] : memref<2x512xi32>
          %same = arith.cmpi eq, %di, %dj : i32
          attn.yield %same : i1
        }
      return
    }
    ```
  }];

  let arguments = !con((ins
    Attn_TensorOrMemRef:$q,
    Attn_TensorOrMemRef:$k,
    Attn_TensorOrMemRef:$v,
    Optional<Attn_TensorOrMemRef>:$page_table), sharedOperands, sharedAttributes,
    (ins UnitAttr:$batch_invariant));
  let results = (outs
    Optional<AnyRankedTensor>:$out,
    Optional<AnyRankedTensor>:$lse);

  let assemblyFormat = [{
    $q `,` $k `,` $v `layout` `` $layout (`mask` `` $mask^)?
    (`scale` `(` $scale^ `)`)? (`batch_invariant` $batch_invariant^)?
    (`cu_seqlens` `(` $cu_seqlens_q^ (`,` $cu_seqlens_k^)? `:`
       type($cu_seqlens_q) (`,` type($cu_seqlens_k)^)? `)`)?
    (`seqlens_k` `(` $seqlens_k^ `:` type($seqlens_k) `)`)?
    (`page_table` `(` $page_table^ `:` type($page_table) `)`)?
    (`block_list` `(` $block_list^ `,` $block_counts `:`
       type($block_list) `,` type($block_counts) `)`)?
    (`block_size` $block_size^)?
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`captures` `(` $captures^ `:` type($captures) `)`)?
    (`outs` `(` $inits^ `:` type($inits) `)`)?
    attr-dict `:` type($q) `,` type($k) `,` type($v)
    `` custom<OptionalResultTypes>(type($out), type($lse))
    `` custom<Mods>($score_mod, $mask_mod)
  }];

  let builders = [
    OpBuilder<(ins "::mlir::Value":$q, "::mlir::Value":$k, "::mlir::Value":$v,
                   "::fa4::attn::Layout":$layout,
                   CArg<"::fa4::attn::MaskAttr", "{}">:$mask,
                   CArg<"bool", "false">:$withLse)>
  ];
  let extraClassDeclaration = [{
    /// The log-sum-exp is asked for, as a result or as a destination.
    bool hasLse() { return getLse() || getInits().size() == 2; }
  }];
}

//===----------------------------------------------------------------------===//
// sdpa_backward
//===----------------------------------------------------------------------===//

def Attn_SdpaBackwardOp : Attn_AttentionOp<"sdpa_backward"> {
  let summary = "gradient of scaled dot-product attention";
  let description = [{
    Given the forward op's inputs, `out` and `lse` and the gradient `dout` of
    out, the gradients of q, k and v. With the forward op's notation and
    `p[i,j] = exp(s[i,j] - lse[i])` for visible keys, 0 otherwise:

    ```
    delta[i] = sum_d dout[i,d] * out[i,d]  (- dlse[i])
    dp[i,j]  = sum_d dout[i,d] * v[j,d]
    ds[i,j]  = p[i,j] * (dp[i,j] - delta[i])
                      * scale * d score_mod / d score at (i, j)
    dq[i]    = sum_j ds[i,j] * k[j]
    dk[j]    = sum_i ds[i,j] * q[i]
    dv[j]    = sum_i p[i,j] * dout[i]
    dsinks   = - sum_{b,i} exp(sinks[h] - lse[i]) * delta[i]
    dc[h]    = sum_{b,i,j} p[i,j] * (dp[i,j] - delta[i])
                      * d score_mod / d c at (i, j)
    ```

    where sums over `i` run over all query heads of a key/value head too. A row
    with `lse = -inf` contributes 0 to every gradient, and dk and dv are 0 for keys
    beyond `seqlens_k`.

    Operands, attributes and regions are those of `attn.sdpa` and must be equal
    to those of the forward op whose gradient this is: `lse` has been computed
    with them. The derivatives of `score_mod` are derived from the region by the
    lowering. Captured values are constants to it, but for those whose gradient
    is asked for: `captures(...) wrt [n, ...]` names them by their numbers, from 0,
    in rising order. Each is a scalar of f32, or has an f32 for each query head,
    of which `score_mod` reads only that of its own head `h`. Its gradient has
    the part `dc[h]` of each query head; that of a scalar is their sum.
    Further:

    | operand or result | shape | element type |
    |---|---|---|
    | `out`, `dout` | as the forward op's out | f16, bf16, f32 or q's; of one type |
    | `lse` | as the forward op's | f32 |
    | `dlse` | as `lse`; gradient of the forward op's LSE result, if that was used | f32 |
    | `query_list` | `[B, Hl, K, M']`, the `block_list` by blocks of keys (see below) | i32 |
    | `query_counts` | `[B, Hl, K]`, how many of these M' count | i32 |
    | `dq`, `dk`, `dv` | as q, k, v | f16, bf16, f32 or q's |
    | `dsinks` | as `sinks`; only with `sinks`, on request | f32, bf16, f16 |
    | `dcaptures` | one for each capture of `wrt`: [Hq] | f32 |

    `deterministic` asks for the same bits each time, also where an
    implementation would add partial sums in an order that depends on timing.

    `query_list(%list, %counts)` says of each block of keys which blocks of
    queries see it: block `m` of keys has `list[b, l, m, 0]` to `list[b, l, m,
    counts[b, l, m] - 1]`, as `block_list` has blocks of keys for each block of
    queries. That both name the same pairs of blocks is the caller's promise.
    Nothing that the op computes depends on the `query_list`; a kernel whose tiles
    are keys finds its queries there, and there is none without it. FlexAttention
    calls these `q_indices` and `q_num_blocks`.

    Destinations: none on tensors (or one a result), one a gradient on memrefs,
    in the order dq, dk, dv, dsinks, dcaptures.

    Example:

    ```mlir
    func.func @grad(%q: tensor<2x?x8x64xf16>, %k: tensor<2x?x2x64xf16>, %v: tensor<2x?x2x64xf16>,
                    %o: tensor<2x?x8x64xf16>, %do: tensor<2x?x8x64xf16>, %lse: tensor<2x8x?xf32>)
        -> (tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>) {
      %dq, %dk, %dv = attn.sdpa_backward %q, %k, %v out(%o) dout(%do) lse(%lse)
          layout<bshd> mask<window, left = 256, right = 0, bottom_right> deterministic
        : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>,
          tensor<2x?x8x64xf16>, tensor<2x?x8x64xf16>, tensor<2x8x?xf32>
          -> tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>
      return %dq, %dk, %dv : tensor<2x?x8x64xf16>, tensor<2x?x2x64xf16>, tensor<2x?x2x64xf16>
    }
    ```
  }];

  let arguments = !con((ins
    Attn_TensorOrMemRef:$q,
    Attn_TensorOrMemRef:$k,
    Attn_TensorOrMemRef:$v,
    Attn_TensorOrMemRef:$fwd_out,
    Attn_TensorOrMemRef:$dout,
    Attn_TensorOrMemRef:$fwd_lse,
    Optional<Attn_TensorOrMemRef>:$dlse,
    Optional<Attn_TensorOrMemRef>:$query_list,
    Optional<Attn_TensorOrMemRef>:$query_counts), sharedOperands, sharedAttributes,
    (ins UnitAttr:$deterministic,
         DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$wrt));
  let results = (outs
    Optional<AnyRankedTensor>:$dq,
    Optional<AnyRankedTensor>:$dk,
    Optional<AnyRankedTensor>:$dv,
    Optional<AnyRankedTensor>:$dsinks,
    Variadic<AnyRankedTensor>:$dcaptures);

  let assemblyFormat = [{
    $q `,` $k `,` $v `out` `(` $fwd_out `)` `dout` `(` $dout `)`
    `lse` `(` $fwd_lse `)` (`dlse` `(` $dlse^ `:` type($dlse) `)`)?
    `layout` `` $layout (`mask` `` $mask^)?
    (`scale` `(` $scale^ `)`)? (`deterministic` $deterministic^)?
    (`cu_seqlens` `(` $cu_seqlens_q^ `,` $cu_seqlens_k `:`
       type($cu_seqlens_q) `,` type($cu_seqlens_k) `)`)?
    (`seqlens_k` `(` $seqlens_k^ `:` type($seqlens_k) `)`)?
    (`block_list` `(` $block_list^ `,` $block_counts `:`
       type($block_list) `,` type($block_counts) `)`)?
    (`query_list` `(` $query_list^ `,` $query_counts `:`
       type($query_list) `,` type($query_counts) `)`)?
    (`block_size` $block_size^)?
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`captures` `(` $captures^ `:` type($captures) `)`)? (`wrt` $wrt^)?
    (`outs` `(` $inits^ `:` type($inits) `)`)?
    attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($fwd_out) `,`
    type($dout) `,` type($fwd_lse)
    `` custom<GradientTypes>(type($dq), type($dk), type($dv), type($dsinks),
                             type($dcaptures), ref($wrt))
    `` custom<Mods>($score_mod, $mask_mod)
  }];

  let extraClassDeclaration = [{
    /// The number of outputs: results on tensors, else destinations.
    unsigned getNumOutputs() {
      return hasMemRefSemantics() ? getInits().size() : (*this)->getNumResults();
    }
    /// The gradient of the sinks is asked for.
    bool hasDsinks() { return getNumOutputs() == 4 + getWrt().size(); }
    /// The number of the first output that is a capture's gradient.
    unsigned getFirstDcapture() { return getNumOutputs() - getWrt().size(); }
  }];
}

//===----------------------------------------------------------------------===//
// yield
//===----------------------------------------------------------------------===//

def Attn_YieldOp : Op<Attn_Dialect, "yield", [
    Pure, ReturnLike, Terminator, ParentOneOf<["SdpaOp", "SdpaBackwardOp"]>]> {
  let summary = "result of a score_mod or mask_mod region";
  let description = [{
    Ends a `score_mod` region with the new score (f32) or a `mask_mod` region
    with whether the key is visible (i1).

    ```mlir
    func.func @softcap(%q: tensor<1x128x1x64xf16>, %k: tensor<1x128x1x64xf16>,
                       %v: tensor<1x128x1x64xf16>, %cap: f32) -> tensor<1x128x1x64xf16> {
      %o = attn.sdpa %q, %k, %v layout<bshd> captures(%cap : f32)
        : tensor<1x128x1x64xf16>, tensor<1x128x1x64xf16>, tensor<1x128x1x64xf16>
          -> tensor<1x128x1x64xf16>
        score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: f32) {
          %x = arith.divf %s, %c : f32
          %t = math.tanh %x : f32
          %r = arith.mulf %t, %c : f32
          attn.yield %r : f32
        }
      return %o : tensor<1x128x1x64xf16>
    }
    ```
  }];
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // FA4_DIALECT_ATTN_IR_ATTNOPS_TD
