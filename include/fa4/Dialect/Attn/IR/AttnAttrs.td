//===- AttnAttrs.td - attributes of the attn dialect -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNATTRS_TD
#define FA4_DIALECT_ATTN_IR_ATTNATTRS_TD

include "fa4/Dialect/Attn/IR/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// layout
//===----------------------------------------------------------------------===//

def Attn_Layout : I32EnumAttr<"Layout", "dimension order of q, k, v and out", [
  I32EnumAttrCase<"bshd", 0>,
  I32EnumAttrCase<"bhsd", 1>,
  I32EnumAttrCase<"sbhd", 2>,
  I32EnumAttrCase<"thd", 3>,
  I32EnumAttrCase<"htd", 4>
]> {
  let cppNamespace = "::fa4::attn";
  let genSpecializedAttr = 0;
}

def Attn_LayoutAttr : EnumAttr<Attn_Dialect, Attn_Layout, "layout"> {
  let summary = "dimension order of q, k, v and out";
  let description = [{
    One letter a dimension, outermost first: `b` batch, `s` sequence, `h` head,
    `d` head dim, `t` the tokens of all sequences one after the other (a packed
    batch of variable length, whose sequences are cut out by `cu_seqlens`).

    | layout | q               | k               | LSE         | as in |
    |--------|-----------------|-----------------|-------------|-------|
    | `bshd` | `[B, Sq, Hq, D]` | `[B, Sk, Hkv, D]` | `[B, Hq, Sq]` | FlashAttention |
    | `bhsd` | `[B, Hq, Sq, D]` | `[B, Hkv, Sk, D]` | `[B, Hq, Sq]` | PyTorch's `scaled_dot_product_attention` |
    | `sbhd` | `[Sq, B, Hq, D]` | `[Sk, B, Hkv, D]` | `[B, Hq, Sq]` | Megatron |
    | `thd`  | `[Tq, Hq, D]`    | `[Tk, Hkv, D]`    | `[Hq, Tq]`    | FlashAttention's `varlen` functions |
    | `htd`  | `[Hq, Tq, D]`    | `[Hkv, Tk, D]`    | `[Hq, Tq]`    | packed, head-major |

    v is laid out as k with head dim `Dv`, out as q with head dim `Dv`. The
    layout is an order of dimensions, not of memory: strides are the memref's.

    ```mlir
    #bshd = #attn.layout<bshd>
    ```
  }];
  // Not declarative, for one message instead of two on an unknown layout.
  let assemblyFormat = ?;
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// mask
//===----------------------------------------------------------------------===//

def Attn_MaskAlignment : I32EnumAttr<"MaskAlignment",
    "which corner of the score matrix a band mask is anchored at", [
  I32EnumAttrCase<"TopLeft", 0, "top_left">,
  I32EnumAttrCase<"BottomRight", 1, "bottom_right">
]> {
  let cppNamespace = "::fa4::attn";
}

def Attn_MaskAttr : AttrDef<Attn_Dialect, "Mask"> {
  let mnemonic = "mask";
  let summary = "a band of visible keys: causal or a sliding window";
  let description = [{
    With query index `i` and key index `j`, both counted from the start of
    their own sequence, key `j` is visible to query `i` iff

    ```
    i + shift - left <= j <= i + shift + right
    shift = 0          (top_left)
          = Sk - Sq    (bottom_right)
    ```

    where a bound that is not given does not limit, and `Sq`, `Sk` are the
    lengths of the sequences at hand (after `cu_seqlens` and `seqlens_k`).
    `causal` is `right = 0`, whatever `left` says.

    - `top_left` is PyTorch's `is_causal`: query 0 sees key 0.
    - `bottom_right` is FlashAttention's since 2.1: the last query sees the
      last key. The two agree where `Sq == Sk`. There is no default, since
      either choice surprises half of the readers.

    `left` and `right` are key counts and may be negative (`right = -1` hides
    the diagonal), but `left + right` must not be: no query would see a key.

    ```mlir
    #causal = #attn.mask<causal, bottom_right>
    #window = #attn.mask<window, left = 127, right = 128, top_left>
    #both   = #attn.mask<causal, left = 127, bottom_right>
    ```
  }];
  let parameters = (ins
    "::std::optional<int64_t>":$left,
    "::std::optional<int64_t>":$right,
    "::fa4::attn::MaskAlignment":$alignment
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    AttrBuilderWithInferredContext<(ins "::mlir::MLIRContext *":$context,
                                        "::fa4::attn::MaskAlignment":$alignment), [{
      return $_get(context, std::nullopt, int64_t(0), alignment);
    }]>
  ];
  let extraClassDeclaration = [{
    /// No key after the query's own position is visible.
    bool isCausal() const { return getRight() == int64_t(0); }
  }];
}

#endif // FA4_DIALECT_ATTN_IR_ATTNATTRS_TD
