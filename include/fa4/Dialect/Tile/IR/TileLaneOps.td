//===- TileLaneOps.td - one lane's view of a tile -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILELANEOPS_TD
#define FA4_DIALECT_TILE_IR_TILELANEOPS_TD

include "fa4/Dialect/Tile/IR/TileOps.td"

// After `tile-distribute` a vector role holds a tile of 128 rows as one row a
// thread: `vector<128x64xf32>` is `vector<64xf32>`, and a value for each row
// (`vector<128xf32>`) is an `f32`. In a kernel with a `cluster`, a tile of 64
// rows is folded: thread `t` holds half of row `t % 64`, the first half of its
// columns where `t` is less than 64. A matrix role holds a tile of 64 rows by
// the rows of a thread: `vector<64x128xf32>` is two values `vector<32xf32>`, and
// a value for each row is two `f32` (see `tile.to_lanes`).

def Tile_LaneValue : Type<Or<[IsFixedVectorOfRankPred<[1]>, F32.predicate,
                              I32.predicate, F16.predicate, BF16.predicate]>,
                          "a lane's part of a tile">;

/// Upstream's attribute. Its definition would bring all enumerations of the
/// vector dialect into those of this one.
def Tile_CombiningKindAttr : Attr<
    CPred<"::llvm::isa<::mlir::vector::CombiningKindAttr>($_self)">, "a kind of vector.reduction"> {
  let storageType = "::mlir::vector::CombiningKindAttr";
  let returnType = "::mlir::vector::CombiningKind";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::mlir::vector::CombiningKindAttr::get($_builder.getContext(), $0)";
}

def Tile_CombineOp : Tile_Op<"combine", [
    AllTypesMatch<["value", "result"]>, MemoryEffects<[MemRead<Tile_WarpResource>]>]> {
  let summary = "combine what threads have found of a row";
  let description = [{
    `kind` of the values of the threads that hold parts of one row, which all of them get: thread `t` combines its
    value with that of thread `t xor mask`, for one mask after the other (PTX ISA, shfl.sync.bfly). All threads of a
    warp execute it together.

    | operand or result | type |
    |---|---|
    | `value`, result | f32, i32 |
    | `kind` | one that `vector.reduction` takes for this type |
    | `masks` | powers of two below 32, the threads of a warp; at least one |

    Example: the maximum of a row that four threads hold.

    ```mlir
    func.func @max(%x: f32) -> f32 {
      %max = tile.combine #vector.kind<maximumf>, %x over [1, 2] : f32
      return %max : f32
    }
    ```
  }];
  let arguments = (ins Tile_CombiningKindAttr:$kind, AnyTypeOf<[F32, I32]>:$value,
                       DenseI64ArrayAttr:$masks);
  let results = (outs AnyTypeOf<[F32, I32]>:$result);
  let assemblyFormat = "$kind `,` $value `over` $masks attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Tile_RowOp : Tile_Op<"row", [Pure]> {
  let summary = "the number of this thread in its role";
  let description = [{
    From 0 to the number of threads of the role, exclusive: thread `r` is lane `r % 32` of warp
    `r / 32` of the role. It holds row `r` of tiles with as many rows, which is the lane of tensor
    memory that it can access (PTX ISA, tcgen05 data movement, layout 32x32b). For other tiles,
    `tile-distribute` computes the row from this number, as their layout says.

    Example:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      tile.role @r kind(vector) {
        %row = tile.row : index
      }
    }
    ```
  }];
  let results = (outs Index:$row);
  let assemblyFormat = "attr-dict `:` type($row)";
}

def Tile_AnyOp : Tile_Op<"any", [
    MemoryEffects<[MemRead<Tile_WarpResource>]>]> {
  let summary = "whether a condition holds in any thread of the warp";
  let description = [{
    The same in all threads of a warp, all of which must execute it: it may not be
    moved into a branch.

    Example:

    ```mlir
    func.func @f(%c: i1) -> i1 {
      %any = tile.any %c
      return %any : i1
    }
    ```
  }];
  let arguments = (ins I1:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict";
}

def Tile_ReadOp : Tile_Op<"read", [
    ChannelIsDeclared, MemoryEffects<[MemRead<Tile_ChannelResource>]>]> {
  let summary = "read this thread's row of the current stage";
  let description = [{
    Columns `column` to `column + n` of this thread's row (of its half of the row, where the tile is folded), of the stage that the
    role has waited for last (or, where the channel is written in place, has been
    handed). A scalar is the element of a channel of row values, or one column.
    Of a vector with a value for each column (`all`), a thread reads those of
    the columns that it holds: all of them where threads hold whole rows, in a
    matrix role two of every eight.

    | result | shape | element type |
    |---|---|---|
    | `value` | vector of rank 1, or a scalar; always a scalar of a channel of row values | that of the channel; as a scalar f32, i32, f16 or bf16 |

    Example: see `tile.wait`.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %c = tile.channel "c" tmem stages(1) : <vector<128x128xf32>>
      tile.role @consumer kind(vector) {
        tile.wait %c : <vector<128x128xf32>>
        %v = tile.read %c[32] : <vector<128x128xf32>> -> vector<32xf32>
        tile.release %c : <vector<128x128xf32>>
      }
    }
    ```
  }];
  let arguments = (ins Tile_ChannelType:$channel,
                       DefaultValuedAttr<I64Attr, "0">:$column, UnitAttr:$all);
  let results = (outs Tile_LaneValue:$value);
  let assemblyFormat = [{
    $channel (`[` $column^ `]`)? (`all` $all^)? attr-dict
    `:` type($channel) `->` type($value)
  }];
  let hasVerifier = 1;
}

def Tile_WriteOp : Tile_Op<"write", [
    ChannelIsDeclared, MemoryEffects<[MemWrite<Tile_ChannelResource>]>]> {
  let summary = "write this thread's row of the current stage";
  let description = [{
    As `tile.read`, in the other direction: of the stage that the role will commit next. A tile of `tile.from_lanes` is
    written as a whole: the threads of a matrix role write it together.

    | operand | shape | element type |
    |---|---|---|
    | `value` | the channel's tile, a vector of rank 1, or a scalar; always a scalar of a channel of row values | that of the channel; as a scalar f32, i32, f16 or bf16 |

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %c = tile.channel "c" tmem stages(1) : <vector<128x64xf32>>
      tile.role @producer kind(vector) {
        %v = arith.constant dense<1.0> : vector<32xf32>
        tile.acquire %c : <vector<128x64xf32>>
        tile.write %v, %c : vector<32xf32>, <vector<128x64xf32>>
        tile.write %v, %c[32] : vector<32xf32>, <vector<128x64xf32>>
        tile.commit %c : <vector<128x64xf32>>
      }
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[Tile_LaneValue, Tile_LanesTile]>:$value, Tile_ChannelType:$channel,
                       DefaultValuedAttr<I64Attr, "0">:$column);
  let assemblyFormat = [{
    $value `,` $channel (`[` $column^ `]`)? attr-dict
    `:` type($value) `,` type($channel)
  }];
  let hasVerifier = 1;
}

def Tile_FenceOp : Tile_Op<"fence", [
    MemoryEffects<[MemRead<Tile_ChannelResource>,
                   MemWrite<Tile_ChannelResource>]>]> {
  let summary = "show this thread's writes to asynchronous operations";
  let description = [{
    What the thread has written to shared memory before it is seen by MMAs and
    TMA stores that follow it (PTX ISA, fence.proxy.async.shared::cta: lanes write
    through the generic proxy, asynchronous operations read through the async
    proxy). `tile-distribute` puts one between the last write of a stage that
    such an operation reads and the commit.

    ```mlir
    tile.kernel @k(%y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %c = tile.channel "c" smem stages(1) : <vector<128x64xbf16>>
      tile.role @producer kind(vector) {
        %v = arith.constant dense<1.0> : vector<64xbf16>
        tile.write %v, %c : vector<64xbf16>, <vector<128x64xbf16>>
        tile.fence
        tile.commit %c : <vector<128x64xbf16>>
      }
      tile.role @store kind(issuer) {
        %c0 = arith.constant 0 : index
        %v = tile.wait %c : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.store %v, %y[%c0, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
      }
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_KeepOrderOp : Tile_Op<"keep_order", [
    MemoryEffects<[MemRead<Tile_ChannelResource>,
                   MemWrite<Tile_ChannelResource>]>]> {
  let summary = "keep ptxas from moving arithmetic over this point";
  let description = [{
    No instruction of lanes that stands behind this operation is issued before
    it, and none that stands in front is issued after it.

    ptxas schedules the instructions of a basic block by their latencies, and
    knows of no one who waits for a commit: it computes what comes behind a
    commit first where that fills a pipe, and the waiting role gets its tile
    later. `tile-unroll` puts this operation behind commits for which asynchronous
    operations wait, if more arithmetic follows. PTX has no instruction for it;
    the end of a basic block has the effect, so it is lowered to a branch that is
    never taken, by a condition that ptxas cannot know (no lane takes part in
    `vote.sync.ballot`).

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %p = tile.channel "p" tmem stages(1) : <vector<128x2xf32>>
      %sum = tile.channel "sum" smem stages(1) : <vector<128xf32>>
      tile.role @r kind(vector) {
        %v = arith.constant dense<1.0> : vector<2xf32>
        %zero = arith.constant 0.0 : f32
        tile.acquire %p : <vector<128x2xf32>>
        tile.write %v, %p : vector<2xf32>, <vector<128x2xf32>>
        tile.commit %p : <vector<128x2xf32>>
        tile.keep_order
        %s = vector.reduction <add>, %v, %zero : vector<2xf32> into f32
        tile.acquire %sum : <vector<128xf32>>
        tile.write %s, %sum : f32, <vector<128xf32>>
        tile.commit %sum : <vector<128xf32>>
      }
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_PutOp : Tile_Op<"put", [AttrSizedOperandSegments]> {
  let summary = "write this thread's element of a row tile to global memory";
  let description = [{
    What `tile.store` of a tile with one value a row is for one thread: `value` to
    `dest[indices]`, with the tile's row added to index `dim`, if that is in bounds, and less than `to`.
    A thread that holds parts of several rows has the elements of the others in `and`, in their order. Of the threads with
    copies of a row's element, the one that the role's layout makes its owner writes it.

    | operand | shape | element type |
    |---|---|---|
    | `value` | scalar | f32, bf16, f16, i32 |
    | `dest` | rank 1 or more | that of `value` |

    ```mlir
    tile.kernel @k(%lse: memref<?xf32> {tile.name = "lse", tile.dims = ["N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      tile.role @r kind(vector) {
        %c0 = arith.constant 0 : index
        %v = arith.constant 1.0 : f32
        tile.put %v, %lse[%c0] dim 0 : f32, memref<?xf32>
      }
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, BF16, F16, I32]>:$value,
                       Arg<AnyNon0RankedMemRef, "the tensor", [MemWrite]>:$dest,
                       Variadic<Index>:$indices, Optional<Index>:$to,
                       Variadic<AnyTypeOf<[F32, BF16, F16, I32]>>:$others, I64Attr:$dim);
  let assemblyFormat = [{
    $value (`and` `(` $others^ `:` type($others) `)`)? `,` $dest `[` $indices `]` `dim` $dim (`to` `(` $to^ `)`)? attr-dict
    `:` type($value) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def Tile_GatherIndex : AnyTypeOf<[Index, FixedVectorOfRankAndType<[1, 2], [Index]>],
                                 "index or a tile of them">;
def Tile_Gathered : AnyTypeOf<[F32, BF16, F16, I32, FixedVectorOfRankAndType<[1, 2], [F32, BF16, F16, I32]>]>;

def Tile_GatherOp : Tile_Op<"gather", !listconcat([Pure], ElementwiseMappable.traits)> {
  let summary = "read an element of a global tensor for each element of a tile";
  let description = [{
    Element `e` of the result is `source[i0, i1, ...]`, where each index is that of element `e`, or one `index` for all
    elements: a bias by query and key, the document of each key, a table by a bucket that is computed. Threads read what
    they hold, so that the tensor may begin anywhere and have any strides. **An index out of bounds, taken as an unsigned
    number, counts as the last one of its dimension**: lanes compute rows behind the end of a sequence, too, and read
    nothing there that does not exist. Each dimension has one element at least (a condition of the launch).

    As for `tile.load_scalar`, `source` is an argument of the kernel, to which the kernel writes nothing. The operation
    works element by element, so that passes cut and unroll it as they do arithmetic.

    | operand or result | shape | element type |
    |---|---|---|
    | `source` | rank 1 or more | f32, bf16, f16, i32 |
    | `indices` | `M`, `M x N`, or scalars | index |
    | `result` | that of the indices that are tiles; a scalar if none is | that of `source` |

    Example:

    ```mlir
    tile.kernel @k(%bias: memref<?x?xf32> {tile.name = "bias", tile.dims = ["H", "N"]},
                   %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %t = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %c128 = arith.constant 128 : index
      %first = arith.muli %t, %c128 : index
      %all = vector.broadcast %first : index to vector<128xindex>
      %row = vector.step : vector<128xindex>
      %rows = arith.addi %all, %row : vector<128xindex>
      %v = tile.gather %bias[%c0, %rows] : memref<?x?xf32>, index, vector<128xindex> -> vector<128xf32>
      tile.store %v, %y[%first] : vector<128xf32>, memref<?xf32>
    }
    ```
  }];
  let arguments = (ins AnyNon0RankedMemRef:$source, Variadic<Tile_GatherIndex>:$indices);
  let results = (outs Tile_Gathered:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` attr-dict `:` type($source) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_LoadRowsOp : Tile_Op<"load_rows", [Pure]> {
  let summary = "read one element a row of a tile from global memory";
  let description = [{
    Element `r` of the result is that at `indices`, with `r` added to index `dim`; without a `dim`, all rows
    have the element at `indices`. **An element out of bounds is 0.** The thread that holds a row reads its element, so that the tensor may begin anywhere
    and have any strides, other than what the copy engine reads for a `tile.load`. The result is a row value: what is broadcast over
    the rows of a tile instead must be a `tile.load`.

    As for `tile.load_scalar`, to which it is lowered in roles of threads, `source` is an argument of the
    kernel, to which the kernel writes nothing.

    | operand or result | shape | element type |
    |---|---|---|
    | `source` | rank 1 or more | f32, bf16, f16, i32, i64 |
    | `tile` | `M` | that of `source` |

    Example:

    ```mlir
    tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                   %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %t = tile.work_tile : index
      %c128 = arith.constant 128 : index
      %first = arith.muli %t, %c128 : index
      %v = tile.load_rows %x[%first] dim 0 : memref<?xf32> -> vector<128xf32>
      tile.store %v, %y[%first] : vector<128xf32>, memref<?xf32>
    }
    ```
  }];
  let arguments = (ins AnyNon0RankedMemRef:$source, Variadic<Index>:$indices, OptionalAttr<I64Attr>:$dim);
  let results = (outs FixedVectorOfRankAndType<[1], [F32, BF16, F16, I32, I64]>:$tile);
  let assemblyFormat = [{
    $source `[` $indices `]` (`dim` $dim^)? attr-dict `:` type($source) `->` type($tile)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dimension of the memref that the rows span; none if all rows have
    /// the same element.
    ::llvm::SmallVector<int64_t> getTileDims() {
      if (std::optional<uint64_t> dim = getDim())
        return {static_cast<int64_t>(*dim)};
      return {};
    }
  }];
}

#endif // FA4_DIALECT_TILE_IR_TILELANEOPS_TD
