//===- Passes.td - passes from one dialect to another -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_CONVERSION_PASSES_TD
#define FA4_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// attn-to-tile
//===----------------------------------------------------------------------===//

def AttnToTile : Pass<"attn-to-tile", "::mlir::ModuleOp"> {
  let summary = "Make a tile program of each attention op";
  let description = [{
    For each `attn.sdpa`, makes a `tile.kernel` in front of its function and replaces
    the op by a `tile.launch` of it. The kernel's arguments are q, k, v, out, the
    LSE if asked for, and the captured scalars. Sizes that are static stay so.

    A work tile is a tile of query rows of one head; the kernel visits the blocks
    of keys that any of its rows sees, the last one first. The number of rows
    and of keys follows from the target: as many query tiles of the MMA's rows
    as tensor memory and the register file hold scores and outputs of.

    The softmax is computed block by block in base 2 (M. Milakov and N. Gimelshein,
    Online normalizer calculation for softmax, 2018), with the factor
    `c = scale * log2(e)` folded into one multiply-add for each score:

    ```
    m' = max(m, rowmax(s))           a = exp2(c * (m - m'))
    p  = exp2(c * s - c * m')        l' = a * l + rowsum(p)
    o' = a * o + p v                 out = o / l,  lse = ln(2) * (c * m + log2(l))
    ```

    With a `score_mod` (or a scale that is not positive) `s` is
    `score_mod(scale * q.k)` and `c = log2(e)`. The regions are inlined on
    vectors: what depends on the query only is a vector of rows, what depends on the
    key only one of columns.

    A band mask bounds the loop; only blocks that some row sees in part are
    compared with it, as is the last block where it exceeds the keys.

    Not all that `attn.sdpa` says has a tile program: see the support matrix in
    the documentation. What has none is an error on the op that says why.

    Before:

    ```mlir
    func.func @f(%q: memref<?x?x8x128xbf16>, %k: memref<?x?x2x128xbf16>,
                 %v: memref<?x?x2x128xbf16>, %o: memref<?x?x8x128xbf16>) {
      attn.sdpa %q, %k, %v layout<bshd> mask<causal, bottom_right>
        outs(%o : memref<?x?x8x128xbf16>)
        : memref<?x?x8x128xbf16>, memref<?x?x2x128xbf16>, memref<?x?x2x128xbf16>
      return
    }
    ```

    After (shortened):

    ```
    tile.kernel @f_kernel(%q: memref<?x?x8x128xbf16> {tile.dims = ["B", "Sq", "8", "128"], tile.name = "q"}, ...)
        attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 256>, #tile.extent<"8">, #tile.extent<"B">]} {
      %tq = tile.load %q[%b, %row0, %h, %c0] dims [1, 3] : memref<?x?x8x128xbf16> -> vector<256x128xbf16>
      %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%o = ..., %m = ..., %l = ...) {
        %tk = tile.load %k[...]
        %s = tile.mma %tq, transpose %tk : vector<256x128xbf16>, vector<128x128xbf16> -> vector<256x128xf32>
        %x = scf.if %masked { ... arith.select ... } else { ... }
        %m2 = vector.multi_reduction <maxnumf>, %x, %m [1] : vector<256x128xf32> to vector<256xf32>
        ...
        %o2 = tile.mma %pt, %tv acc %os : vector<256x128xbf16>, vector<128x128xbf16> -> vector<256x128xf32>
      }
      ...
      tile.store %ot, %out[%b, %row0, %h, %c0] dims [1, 3] : vector<256x128xbf16>, memref<?x?x8x128xbf16>
    }
    func.func @f(...) {
      tile.launch @f_kernel ins(%q, %k, %v : ...) outs(%o : memref<?x?x8x128xbf16>)
      return
    }
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_100a\"",
           "The target: sm_100a, sm_103a">
  ];
  let dependentDialects = [
    "::fa4::tile::TileDialect", "::mlir::tensor::TensorDialect"
  ];
}

//===----------------------------------------------------------------------===//
// attn-print-support
//===----------------------------------------------------------------------===//

def AttnPrintSupport : Pass<"attn-print-support", "::mlir::ModuleOp"> {
  let summary = "Print for which targets each attention op has a kernel";
  let description = [{
    Prints to standard output a line for each function with an attention op: its name
    and for each target `yes`, or a number that refers to the reasons below. The
    reasons are the messages with which `attn-to-tile` refuses the op. Changes
    nothing.

    Before:

    ```mlir
    func.func @gradient(%x: memref<1x64x1x64xf16>, %lse: memref<1x1x64xf32>) {
      attn.sdpa_backward %x, %x, %x out(%x) dout(%x) lse(%lse) layout<bshd>
        outs(%x, %x, %x : memref<1x64x1x64xf16>, memref<1x64x1x64xf16>, memref<1x64x1x64xf16>)
        : memref<1x64x1x64xf16>, memref<1x64x1x64xf16>, memref<1x64x1x64xf16>,
          memref<1x64x1x64xf16>, memref<1x64x1x64xf16>, memref<1x1x64xf32>
      return
    }
    ```

    After, the same; printed is

    ```
                 sm_90a  sm_100a  sm_103a
    gradient     (1)     (1)      (1)

    (1) gradients have no kernel yet
    ```
  }];
}

#endif // FA4_CONVERSION_PASSES_TD
