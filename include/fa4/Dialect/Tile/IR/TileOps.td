//===- TileOps.td - tile programs -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEOPS_TD
#define FA4_DIALECT_TILE_IR_TILEOPS_TD

include "fa4/Dialect/Tile/IR/TileAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

/// The state and the stages of channels. Operations that act on channels are
/// ordered with every other one of their role.
def Tile_ChannelResource : Resource<"::fa4::tile::ChannelResource">;
/// The lanes of a warp that execute an operation together. Whoever reads it may
/// not move to where some of them do not come.
def Tile_WarpResource : Resource<"::fa4::tile::WarpResource">;

/// Passes know a channel by the operation that declares it: a handle does not
/// pass through loops, branches or other operations.
def ChannelIsDeclared : PredOpTrait<
    "its channel is the result of a tile.channel",
    CPred<"::llvm::isa_and_nonnull<ChannelOp>($channel.getDefiningOp())">>;

def Tile_Value : Type<IsFixedVectorOfRankPred<[1, 2]>,
                      "tile (vector of rank 1 or 2)", "::mlir::VectorType">;

// The element types that the tables of the operations list are in the types of
// their operands; test_op_types.py tries each that is listed and each that is not.
/// What a channel may carry beside tiles.
def Tile_Word : Type<CPred<"fa4::tile::isWord($_self) || fa4::tile::isResponse($_self)">, "index, i32, i1, f32 or i128">;
def Tile_Payload : AnyTypeOf<[Tile_Value, Tile_Word]>;
def Tile_MmaOperand : FixedVectorOfRankAndType<[2], [BF16, F16]>;
def Tile_Accumulator : FixedVectorOfRankAndType<[2], [F32]>;
def Tile_Pending : Type<CPred<"::llvm::isa<::fa4::tile::PendingType>($_self)">,
                        "a tile that an MMA is computing", "::fa4::tile::PendingType">;
/// What lanes of a matrix role hold together.
def Tile_LanesTile : FixedVectorOfRankAndType<[2], [F32, F16, BF16]>;
def Tile_F32Value : FixedVectorOfRankAndType<[1, 2], [F32]>;
def Tile_MemoryValue : FixedVectorOfRankAndType<[1, 2], [
    F64, F32, BF16, F16, F8E4M3FN, F8E5M2, I64, I32, I16, I8]>;
def Tile_Summand : FixedVectorOfRankAndType<[1, 2], [F32, BF16, F16]>;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [
    IsolatedFromAbove, SymbolTable, FunctionOpInterface, NoTerminator,
    SingleBlock]> {
  let summary = "a GPU kernel over work tiles";
  let description = [{
    A kernel that the chip named by `chip` runs, once for each work tile of `grid`, one CTA each. It is public, as it
    is launched from outside of the module too. Its body is a tile program, or channels and roles and nothing else.

    Arguments are memrefs (global tensors) and scalars (`f32`, `i32`, `index`). A memref has `tile.name`, its name
    in the manifest, and `tile.dims`, one name a dimension: dimensions with equal names have equal sizes, a name
    that is a number is a static size, `align(N, 128)` is size `N`, rounded up to a multiple of 128, and
    `ceildiv(N, 128)` the number of its blocks of 128. `share(FEW, MANY, N)` is `FEW / N` if that is 2 or
    more, else `max(MANY / N, 1)`, rounded down: how many CTAs each of `N` sequences gets. `min(A, B)` is the smaller
    one of two sizes that are no sums.
    `tile.output` says what the kernel does with an argument that it writes:

    | `tile.output` | elements of the tensor |
    |---|---|
    | `"once"` | each is written once: by one `tile.store` or `tile.put` of one work tile |
    | `"accumulate"` | `tile.reduce_add` adds to them; a work tile adds to each of them at most once |
    | `"ordered"` | `tile.reduce_add` adds to them, always in a turn (`tile.await_turn`), so that the sums do not depend on timing |
    | `"partial"` | some are written; nothing is checked |

    Without it, an argument that `tile.reduce_add` adds to is `"accumulate"`, and any other that is written is
    `"once"`. `tile-verify-outputs` and `tile-to-nvvm` check it.
    `tile.if_empty`, an f32, beside it is what the tensor holds where a size is 0. A kernel that has one may be called so, and is not launched: see
    [manifests](../simulator-manifest.md#sizes-of-0). Its outputs without one stay as they are. Other kernels are not called with sizes of 0.

    | attribute | meaning |
    |---|---|
    | `chip` | the chip, for example `sm_100a`: one of those that have a target description |
    | `grid` | up to three `#tile.extent`: the work tiles, which `tile.work_tile` and `tile.work` count |
    | `work_count` | the name of an argument, a tensor of one dimension of `i32` that the kernel does not write: its first element says how many of the work tiles along the first axis of `grid` there are, which may be fewer than the extent. Nobody works on those behind |
    | `schedule` | which CTA works on which work tile (`#tile.schedule`); one CTA a work tile without it |
    | `order` | in which order they are worked on (`#tile.order`); only beside a `schedule` |
    | `cluster` | which work tiles two CTAs work on together (`#tile.cluster`); each CTA for itself without it. `tile-pair-ctas` sets it |
    | `plan` | what has been chosen by trying it (`#tile.plan`). `tile-plan` sets it |
    | `smem_bytes`, `tmem_columns` | what the placed channels need; set by `tile-allocate` |

    Example:

    ```mlir
    // C = A B for 128x128 tiles of C.
    tile.kernel @gemm(%a: memref<?x?xbf16> {tile.name = "A", tile.dims = ["M", "K"]},
                      %b: memref<?x?xbf16> {tile.name = "B", tile.dims = ["K", "N"]},
                      %c: memref<?x?xbf16> {tile.name = "C", tile.dims = ["M", "N"], tile.output = "once"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>]} {
      %tm, %tn = tile.work_tile : index, index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %row = arith.muli %tm, %c128 : index
      %col = arith.muli %tn, %c128 : index
      %k = memref.dim %a, %c1 : memref<?x?xbf16>
      %zero = arith.constant dense<0.0> : vector<128x128xf32>
      %acc = scf.for %i = %c0 to %k step %c64 iter_args(%x = %zero) -> (vector<128x128xf32>) {
        %ta = tile.load %a[%row, %i] : memref<?x?xbf16> -> vector<128x64xbf16>
        %tb = tile.load %b[%i, %col] : memref<?x?xbf16> -> vector<64x128xbf16>
        %y = tile.mma %ta, %tb acc %x : vector<128x64xbf16>, vector<64x128xbf16> -> vector<128x128xf32>
        scf.yield %y : vector<128x128xf32>
      }
      %out = arith.truncf %acc : vector<128x128xf32> to vector<128x128xbf16>
      tile.store %out, %c[%row, %col] : vector<128x128xbf16>, memref<?x?xbf16>
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
    StrAttr:$chip, TypedArrayAttrBase<Tile_ExtentAttr, "grid extents">:$grid,
    OptionalAttr<StrAttr>:$work_count,
    OptionalAttr<Tile_ScheduleAttr>:$schedule, OptionalAttr<Tile_OrderAttr>:$order,
    OptionalAttr<Tile_ClusterAttr>:$cluster, OptionalAttr<Tile_PlanAttr>:$plan,
    OptionalAttr<I64Attr>:$smem_bytes, OptionalAttr<I64Attr>:$tmem_columns);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the table of the kernel's chip, which the verifier has found.
    const ::fa4::TargetDescription &getTarget();
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return {}; }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// Name of dimension `dim` of memref argument `arg`.
    ::llvm::StringRef getDimName(unsigned arg, unsigned dim);
    /// Name of argument `arg` in the manifest.
    ::llvm::StringRef getArgName(unsigned arg);
    /// What `tile.output` of argument `arg` says, if it is there.
    ::std::optional<OutputKind> getOutputKind(unsigned arg);
    /// Returns the number of the argument that `work_count` names, if it is
    /// there.
    ::std::optional<unsigned> getWorkCountArgument();
    /// `grid` without the attribute.
    Schedule getScheduleOrGrid() { return getSchedule().value_or(Schedule::Grid); }
    /// Returns the number of CTAs that work together: 1 without `cluster`.
    int64_t getClusterSize() { return getCluster() ? getClusterAttr().getSize() : 1; }
    /// Returns `plan`; without one, the plan that gives up no speed for memory.
    PlanAttr getPlanOrFastest();
    /// Returns an extent of `grid` as `#tile.order` counts it. Along the axis
    /// of a `cluster`, the work tiles of a cluster count as one.
    ExtentAttr getNumberedExtent(unsigned axis);
    /// Whether a CTA may work on more than one work tile, so that work stands
    /// in a `tile.work`.
    bool isPersistent();
    /// The block of the work on one tile: of the `tile.work` in `scope` (the
    /// body of the kernel or of one of its roles), if it has one, and else
    /// of `scope` itself.
    static ::mlir::Block &getWorkBlock(::mlir::Region &scope);
  }];
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

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
        attributes {chip = "sm_100a", grid = [#tile.extent<"Sk", 128>, #tile.extent<"B">]} {
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

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

def Tile_RescaleOp : Tile_Op<"rescale", [
    Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "multiply rows, where a factor is not one";
  let description = [{
    `result[i, j] = value[i, j] * factor[i]`. Where all factors of the rows that
    a warp holds are 1 the multiplication, and the memory traffic for it, is
    skipped; the result is the same. **The factor of a zero is finite**, otherwise the result is undefined: an
    accumulator that starts from zero is not multiplied in the first pass of its loop,
    because nobody writes the zeros.

    | operand or result | shape | element type |
    |---|---|---|
    | `value`, result | `M x N` | f32 |
    | `factor` | `M` | f32 |

    Example:

    ```mlir
    func.func @rescale(%o: vector<128x64xf32>, %a: vector<128xf32>) -> vector<128x64xf32> {
      %r = tile.rescale %o, %a : vector<128x64xf32>, vector<128xf32>
      return %r : vector<128x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_Accumulator:$value,
                       FixedVectorOfRankAndType<[1], [F32]>:$factor);
  let results = (outs Tile_Accumulator:$result);
  let assemblyFormat = "$value `,` $factor attr-dict `:` type($value) `,` type($factor)";
  let hasVerifier = 1;
}

def Tile_CopyOp : Tile_Op<"copy", [
    Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tile, moved by threads";
  let description = [{
    The same value: says that threads move it, where it has to go from tensor
    memory to shared memory and nothing else is done to it on the way.

    | operand or result | shape | element type |
    |---|---|---|
    | `value`, result | `M` or `M x N` | f64, f32, bf16, f16, f8E4M3FN, f8E5M2, i64, i32, i16, i8 |

    Example:

    ```mlir
    func.func @copy(%o: vector<128x64xf32>) -> vector<128x64xf32> {
      %r = tile.copy %o : vector<128x64xf32>
      return %r : vector<128x64xf32>
    }
    ```
  }];
  let arguments = (ins Tile_MemoryValue:$value);
  let results = (outs Tile_MemoryValue:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_Exp2Op : Tile_Op<"exp2", [
    Pure, Elementwise, SameOperandsAndResultType]> {
  let summary = "2 to the power of x, in part by a polynomial";
  let description = [{
    As `math.exp2`, for rows of which some columns are computed by the special
    function unit and others by a polynomial on the FMA pipe: column pair `p`
    (columns `2p` and `2p + 1`) by the polynomial iff `p` is in `pairs`.

    With `n = floor(x)` and `f = x - n`, the polynomial gives
    `2^n * (1 + c[0] f + c[1] f^2 + ...)` by Horner's rule in f32; `x` below
    -127 counts as -127; results below 2^-126 are 0, and `x` must be below 128. The coefficients have been derived for the
    range [0, 1), with minimal relative error.

    | operand or result | shape | element type |
    |---|---|---|
    | `operand`, result | `M` or `M x N` | f32 |

    Example:

    ```mlir
    func.func @exp2(%x: vector<128x128xf32>) -> vector<128x128xf32> {
      %y = tile.exp2 %x polynomial [0.695146143, 0.227564394, 0.0771190897] pairs [12, 14, 28, 30]
        : vector<128x128xf32>
      return %y : vector<128x128xf32>
    }
    ```
  }];
  let arguments = (ins Tile_F32Value:$operand, DenseF32ArrayAttr:$coefficients,
                       DenseI64ArrayAttr:$pairs);
  let results = (outs Tile_F32Value:$result);
  let assemblyFormat = [{
    $operand `polynomial` custom<Coefficients>($coefficients) `pairs` $pairs attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

include "fa4/Dialect/Tile/IR/TileChannelOps.td"
include "fa4/Dialect/Tile/IR/TileClusterOps.td"
include "fa4/Dialect/Tile/IR/TileLaneOps.td"
include "fa4/Dialect/Tile/IR/TileLaunchOp.td"
include "fa4/Dialect/Tile/IR/TileMmaOps.td"
include "fa4/Dialect/Tile/IR/TileTurnOps.td"
include "fa4/Dialect/Tile/IR/TileWorkOps.td"

#endif // FA4_DIALECT_TILE_IR_TILEOPS_TD
