//===- TileMemoryOps.td - tiles and scalars in global memory -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEMEMORYOPS_TD
#define FA4_DIALECT_TILE_IR_TILEMEMORYOPS_TD

include "fa4/Dialect/Tile/IR/TileOps.td"

/// Accesses the tensor, and in a role also a stage of a channel, which the access
/// reads or fills from then on: see tile.role.
class Tile_MemoryOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>] # traits> {
  let hasVerifier = 1;
  code memoryDeclaration = [{
    /// Dimensions of the memref that the tile spans, one a tile dimension.
    ::llvm::SmallVector<int64_t> getTileDims();
  }];
}

def Tile_PageTable : MemRefRankOf<[I32], [2]>;

def Tile_LoadOp : Tile_MemoryOp<"load", [AttrSizedOperandSegments]> {
  let summary = "read a tile of a global tensor";
  let description = [{
    The tile whose first element is at `indices` and which spans the dimensions
    `dims` of the memref (default: the last ones), in this order. The other
    dimensions have extent 1 and are dropped. **Elements out of bounds are 0.** With `to`, so are those whose index
    of the tile's first dimension is that or more, whatever is in memory: where sequences are packed, or have a length
    of their own, a product with such a row adds nothing, even if memory has a NaN there. The index of that dimension
    is not negative then, and `to` may be any number.

    With `inner [d, n]`, each element of the tile's first dimension has `n` rows of the tile, those of `n` elements of
    dimension `d` of the memref: row `r` of the tile is at `r / n` along the first one of `dims`, and at `r % n` along
    `d`, both from `indices` on. The query heads that share a key/value head lie in one tile so, token by token.

    With `pages(%table)`, the source has the pages of a cache: dimension 0 counts pages, and the first one of `dims` the
    `S` rows of a page. The indices of these two are a sequence `b` and a position `j` in the sequence then. Row `r` of the tile is row `(j + r) % S` of page
    `table[b, (j + r) / S]`, and 0 if `j + r` is `to` or more; `to` must be given. Neither the entries of the table for
    such rows nor the rows of a page that are no rows of the tile are read; a page number out of bounds gives rows
    of 0. The copy engine takes `gcd(M, S)` rows at a time, and `j` must be a multiple of that number.

    In a kernel with a `cluster`, `split(d)` says that its CTAs load the same tile and keep it between them: each
    has an equal part of dimension `d` of the tile, the leader the first one. MMAs read such a tile as their `b`.

    | operand or result | shape | element type |
    |---|---|---|
    | `source` | rank 1 or more, not less than that of `tile` | that of `tile` |
    | `tile` | `M` or `M x N` | f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i64, i32, i16, i8 |
    | `pages` | sequences x pages of a sequence | i32 |

    Examples:

    ```mlir
    // Keys j .. j+127 of head h: dimensions 1 and 3 of [B, Sk, Hkv, D].
    func.func @keys(%k: memref<?x?x?x64xbf16>, %b: index, %j: index, %h: index) -> vector<128x64xbf16> {
      %c0 = arith.constant 0 : index
      %t = tile.load %k[%b, %j, %h, %c0] dims [1, 3] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>
      return %t : vector<128x64xbf16>
    }
    // Heads h .. h+7 of queries i .. i+15, of [B, Sq, Hq, D].
    func.func @queries(%q: memref<?x?x?x64xbf16>, %b: index, %i: index, %h: index) -> vector<128x64xbf16> {
      %c0 = arith.constant 0 : index
      %t = tile.load %q[%b, %i, %h, %c0] dims [1, 3] inner [2, 8] : memref<?x?x?x64xbf16> -> vector<128x64xbf16>
      return %t : vector<128x64xbf16>
    }
    ```

    ```mlir
    // Keys j .. j+127 of each sequence, from pages of 16: eight copies a tile.
    tile.kernel @pages(%k: memref<?x16x8x64xbf16> {tile.name = "k", tile.dims = ["P", "16", "8", "64"]},
                       %table: memref<?x?xi32> {tile.name = "page_table", tile.dims = ["B", "N"]},
                       %o: memref<?x?x64xbf16> {tile.name = "o", tile.dims = ["B", "Sk", "64"], tile.output = "once"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"Sk" by 128>, #tile.extent<"B">]} {
      %i, %b = tile.work_tile : index, index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %j = arith.muli %i, %c128 : index
      %n = memref.dim %o, %c1 : memref<?x?x64xbf16>
      %t = tile.load %k[%b, %j, %c0, %c0] dims [1, 3] to(%n) pages(%table : memref<?x?xi32>)
        : memref<?x16x8x64xbf16> -> vector<128x64xbf16>
      tile.store %t, %o[%b, %j, %c0] : vector<128x64xbf16>, memref<?x?x64xbf16>
    }
    ```
  }];
  let arguments = (ins AnyNon0RankedMemRef:$source, Variadic<Index>:$indices,
                       Optional<Index>:$to,
                       Optional<Tile_PageTable>:$pages,
                       OptionalAttr<DenseI64ArrayAttr>:$dims,
                       OptionalAttr<DenseI64ArrayAttr>:$inner,
                       OptionalAttr<I64Attr>:$split);
  let results = (outs Tile_MemoryValue:$tile);
  // Builds a load without `pages`, `inner` and `split`: each CTA loads the whole tile.
  let builders = [OpBuilder<(ins "::mlir::Type":$tile, "::mlir::Value":$source,
                                 "::mlir::ValueRange":$indices, "::mlir::Value":$to,
                                 "::mlir::DenseI64ArrayAttr":$dims), [{
    build($_builder, $_state, tile, source, indices, to, /*pages=*/nullptr, dims, /*inner=*/nullptr, /*split=*/nullptr);
  }]>];
  let assemblyFormat = [{
    $source `[` $indices `]` (`dims` $dims^)? (`inner` $inner^)? (`to` `(` $to^ `)`)?
    (`pages` `(` $pages^ `:` type($pages) `)`)? (`split` `(` $split^ `)`)? attr-dict
    `:` type($source) `->` type($tile)
  }];
  let extraClassDeclaration = memoryDeclaration # [{
    /// Returns the type of what one CTA loads: the tile, or its part of it.
    ::mlir::VectorType getPartType();
    /// Returns how many rows of the tile an element of its first dimension has.
    int64_t getInnerRows();
    /// Returns the number of rows of a page; the load must have `pages`.
    int64_t getPageSize();
    /// Returns how many rows are copied from one page at a time: a divisor of
    /// the rows of getPartType(), all of them without `pages`.
    int64_t getRowsOfCopy();
  }];
}

def Tile_GlobalScalar : AnyTypeOf<[F32, BF16, F16, I32, I64]>;

def Tile_LoadScalarOp : Tile_Op<"load_scalar", [
    Pure, TypesMatchWith<"the result has the element type of the memref", "source", "result",
                         "::mlir::getElementTypeOrSelf($_self)">]> {
  let summary = "read one element of a global tensor";
  let description = [{
    The element at `indices`, the same for all threads: a length, an offset, a scale. **An element
    out of bounds is 0.**

    `source` is an argument of the kernel, to which the kernel writes nothing; nor does
    anybody else while the kernel runs, as for every input of a launch (the manifest's
    `exclusive` keeps the outputs apart). So equal indices give equal numbers in
    all roles and at any time, and the operation has no effects: each role that needs the number reads
    it, and passes may move and merge reads.

    Nothing is known of the range of the number: what has to be in a range is brought into it
    by arithmetic, as a length by `arith.maxsi` with 0 and `arith.minsi` with
    the size of the tensor whose elements it counts. Passes see these bounds.

    | operand or result | shape | element type |
    |---|---|---|
    | `source` | rank 1 or more | f32, bf16, f16, i32, i64 |
    | `result` | scalar | that of `source` |

    Example:

    ```mlir
    // Of the rows of each sequence, only the first `lengths[b]` are copied (in tiles of 128).
    tile.kernel @copy(%lengths: memref<?xi32> {tile.name = "lengths", tile.dims = ["B"]},
                      %x: memref<?x?x64xbf16> {tile.name = "x", tile.dims = ["B", "N", "64"]},
                      %y: memref<?x?x64xbf16> {tile.name = "y", tile.dims = ["B", "N", "64"],
                                               tile.output = "partial"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"B">]} {
      %b = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c128 = arith.constant 128 : index
      %n = memref.dim %x, %c1 : memref<?x?x64xbf16>
      %number = tile.load_scalar %lengths[%b] : memref<?xi32>
      %length = arith.index_cast %number : i32 to index
      %positive = arith.maxsi %length, %c0 : index
      %end = arith.minsi %positive, %n : index
      scf.for %row = %c0 to %end step %c128 {
        %t = tile.load %x[%b, %row, %c0] : memref<?x?x64xbf16> -> vector<128x64xbf16>
        tile.store %t, %y[%b, %row, %c0] : vector<128x64xbf16>, memref<?x?x64xbf16>
      }
    }
    ```
  }];
  let arguments = (ins AnyNon0RankedMemRef:$source, Variadic<Index>:$indices);
  let results = (outs Tile_GlobalScalar:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_MemoryOp<"store", [AttrSizedOperandSegments]> {
  let summary = "write a tile of a global tensor";
  let description = [{
    As `tile.load`, in the other direction, with the same types. **Elements out of
    bounds are not written.** With `to`, nor are those whose index of the tile's first dimension is that
    or more: where sequences are packed, a tile that begins in its sequence and reaches into the next
    one leaves that one alone.

    **Indices are not negative** (those of loads may be): the copy engine traps at the coordinates of a
    store or reduction in front of the tensor. `to` may be any number.

    | operand | shape | element type |
    |---|---|---|
    | `tile` | `M` or `M x N` | f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i64, i32, i16, i8 |
    | `dest` | rank 1 or more, not less than that of `tile` | that of `tile` |

    Example:

    ```mlir
    func.func @put(%t: vector<128xf32>, %lse: memref<?x?x?xf32>, %b: index, %h: index, %i: index) {
      tile.store %t, %lse[%b, %h, %i] : vector<128xf32>, memref<?x?x?xf32>
      return
    }
    ```
  }];
  let arguments = (ins Tile_MemoryValue:$tile, AnyNon0RankedMemRef:$dest,
                       Variadic<Index>:$indices, Optional<Index>:$to,
                       OptionalAttr<DenseI64ArrayAttr>:$dims);
  let assemblyFormat = [{
    $tile `,` $dest `[` $indices `]` (`dims` $dims^)? (`to` `(` $to^ `)`)?
    attr-dict `:` type($tile) `,` type($dest)
  }];
  let extraClassDeclaration = memoryDeclaration;
}

def Tile_ReduceAddOp : Tile_MemoryOp<"reduce_add", [AttrSizedOperandSegments]> {
  let summary = "add a tile to a global tensor";
  let description = [{
    As `tile.store`, but adds to what is there, element by element, atomically. CTAs add in no particular order,
    unless all of them do so in turn (`in_turn`, see `tile.await_turn`).

    | operand | shape | element type |
    |---|---|---|
    | `tile` | `M` or `M x N`; `M x N` with `in_turn` | f32, bf16, f16 |
    | `dest` | rank 1 or more, not less than that of `tile` | that of `tile` |
    | `turn` | scalar | `!tile.turn` |

    Example:

    ```mlir
    func.func @acc(%t: vector<128x64xf32>, %dq: memref<?x?xf32>, %i: index, %j: index) {
      tile.reduce_add %t, %dq[%i, %j] : vector<128x64xf32>, memref<?x?xf32>
      return
    }
    ```
  }];
  let arguments = (ins Tile_Summand:$tile, AnyNon0RankedMemRef:$dest,
                       Variadic<Index>:$indices, Optional<Index>:$to,
                       Optional<Tile_TurnType>:$turn,
                       OptionalAttr<DenseI64ArrayAttr>:$dims);
  let assemblyFormat = [{
    $tile `,` $dest `[` $indices `]` (`dims` $dims^)? (`to` `(` $to^ `)`)?
    (`in_turn` `(` $turn^ `)`)? attr-dict `:` type($tile) `,` type($dest)
  }];
  let extraClassDeclaration = memoryDeclaration;
}

#endif // FA4_DIALECT_TILE_IR_TILEMEMORYOPS_TD
