//===- AttnDialect.td - the attn dialect -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNDIALECT_TD
#define FA4_DIALECT_ATTN_IR_ATTNDIALECT_TD

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::fa4::attn";
  let summary = "Attention as an operation";
  let description = [{
    Scaled dot-product attention and its gradient as single operations, in the
    form in which a framework or another compiler holds them: on tensors (value
    semantics) or memrefs (destinations written in place), with sizes static or
    dynamic.

    Everything that changes the result is part of the op: the dimension order
    (`layout`), the mask (`mask`, sequence lengths, a `mask_mod` region), the
    score modification (`score_mod` region), attention sinks and the scale.
    Everything that does not (tile sizes, warps, pipelines) is not.

    Sizes are written with these letters throughout:

    | letter | meaning                                                    |
    |--------|------------------------------------------------------------|
    | `B`    | batch size (number of sequences)                           |
    | `Sq`   | query length, `Sk` key/value length                        |
    | `Tq`   | total number of query tokens of a packed batch, `Tk` of key tokens |
    | `Hq`   | query heads, `Hkv` key/value heads, `Hq` a multiple of `Hkv` |
    | `D`    | head dim of q and k, `Dv` head dim of v and out            |
  }];

  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let hasCanonicalizer = 1;
}

#endif // FA4_DIALECT_ATTN_IR_ATTNDIALECT_TD
