//===- TileChannelOps.td - roles and channels -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILECHANNELOPS_TD
#define FA4_DIALECT_TILE_IR_TILECHANNELOPS_TD

include "fa4/Dialect/Tile/IR/TileOps.td"

/// Acts on the state of the channel that it names.
class Tile_SynchronizingOp<string mnemonic> : Tile_Op<mnemonic, [
    ChannelIsDeclared, MemoryEffects<[MemRead<Tile_ChannelResource>,
                                      MemWrite<Tile_ChannelResource>]>]>;

def Tile_ChannelOp : Tile_Op<"channel", [
    AttrSizedOperandSegments, MemoryEffects<[MemAlloc<Tile_ChannelResource>]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a ring of buffers between roles";
  let description = [{
    `stages` buffers, each for one value of the channel's type, in shared memory
    (`smem`) or tensor memory (`tmem`), used in ring order by one producer and
    one or more consumers. A value is a tile, or a scalar (an index, a flag), which is in shared memory:

    | operation | by | meaning |
    |---|---|---|
    | `tile.acquire` | producer | wait until the next stage is free |
    | `tile.commit` | producer | publish a value in the next stage; asynchronous operations that write it are waited for by the consumer |
    | `tile.wait` | consumer | wait for the next stage's value and use it |
    | `tile.release` | consumer | the oldest stage that was waited for is free again, when all operations issued so far that read it have ended |

    `initial(n)`: the first `n` waits need no commit; their value is undefined.

    A scalar is in the registers of who has waited for it, in a role of any kind, and is read
    by the wait itself: its stage may be released right away. A role of lanes commits a
    scalar that is the same in all of them; one of them writes it.

    A channel of `none` in a named barrier (`barrier`) hands a turn from one role of lanes to another. A commit does not
    wait, and there is one stage: the role that commits must know that its last turn has been taken, by other turns that
    it waits for. `tile-verify-protocol` proves it.

    In tensor memory, row `r` of a tile is in lane `r`. A tile of 64 rows in a kernel with a `cluster` is *folded*: its first
    half of columns is in lanes 0 to 63, its second half in lanes 64 to 127, and it takes half as many columns of tensor memory.

    In a kernel with a `cluster`, each CTA has the channel's stages in its own memory. `split(d)` says that a stage
    of each CTA has an equal part of dimension `d` of the tile (see `tile.load`); other channels carry a value of each CTA.
    Where one side of the channel is a role that only the leader runs, the hand-over is one of all CTAs: the leader waits for
    the commits or releases of all of them, which arrive at its barrier, and its own arrive at a barrier of each of them. A value
    that the leader commits for both may be waited for by roles of all CTAs and by roles of the leader, which wait for the
    leader's own.
    `exchange` says that a `tile.exchange` takes the channel's values; see there.

    Two clauses say which channels share memory; `tile-share-buffers` sets them.

    | clause | meaning |
    |---|---|
    | `in_place_of(%c)` | both channels use one buffer in turn, from `at(n)` on (columns or bytes from the start of the buffer of `%c`; 0 if absent) |
    | `after(%c, ...)` | the buffer may lie where those of the channels `%c` lie: all of their values have been used when it is first written |

    The owner of a buffer that is used in turn changes with each commit, around a
    ring of roles: a role that has waited for one of its channels may
    write another one and commit that. No acquire or release is needed where the ring itself
    says that the last value has been used; where the ring goes through a role that
    commits nothing to the next owner (a role that stores the value), this role
    releases its channel, and the next owner acquires that channel before it writes any of the
    buffer. An MMA that the owner issued before still reads or writes the buffer before
    any later one does.

    `place`, which `tile-allocate` sets, says where the stages lie, and names their mbarriers (see `#tile.place`).

    Example:

    ```mlir
    tile.kernel @copy(%x: memref<?x64xbf16> {tile.name = "x", tile.dims = ["N", "64"]},
                      %y: memref<?x64xbf16> {tile.name = "y", tile.dims = ["N", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %tiles = tile.channel "tiles" smem stages(2) place<offset(0) full(0) arrivals(1) bytes(16384) empty(2) arrivals(1)> : <vector<128x64xbf16>>
      tile.role @load kind(issuer) {
        %i = tile.work_tile : index
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %row = arith.muli %i, %c128 : index
        tile.acquire %tiles : <vector<128x64xbf16>>
        %v = tile.load %x[%row, %c0] : memref<?x64xbf16> -> vector<128x64xbf16>
        tile.commit %tiles, %v : <vector<128x64xbf16>>, vector<128x64xbf16>
      }
      tile.role @store kind(issuer) {
        %i = tile.work_tile : index
        %c0 = arith.constant 0 : index
        %c128 = arith.constant 128 : index
        %row = arith.muli %i, %c128 : index
        %v = tile.wait %tiles : <vector<128x64xbf16>> -> vector<128x64xbf16>
        tile.store %v, %y[%row, %c0] : vector<128x64xbf16>, memref<?x64xbf16>
        tile.release %tiles : <vector<128x64xbf16>>
      }
    }
    ```
  }];
  let arguments = (ins
    StrAttr:$label,
    Tile_MemorySpaceAttr:$space,
    Optional<Tile_ChannelType>:$in_place_of,
    Variadic<Tile_ChannelType>:$after,
    I64Attr:$stages,
    OptionalAttr<I64Attr>:$initial,
    OptionalAttr<I64Attr>:$at,
    OptionalAttr<I64Attr>:$split,
    UnitAttr:$exchange,
    OptionalAttr<Tile_PlaceAttr>:$place);
  let results = (outs Tile_ChannelType:$channel);
  // Builds a channel of one stage that has no place yet.
  let builders = [OpBuilder<(ins "::mlir::Type":$value, "::llvm::StringRef":$label,
                             "MemorySpace":$space, CArg<"::mlir::IntegerAttr", "{}">:$initial)>];
  let assemblyFormat = [{
    $label `` $space `stages` `(` $stages `)` (`split` `(` $split^ `)`)? (`exchange` $exchange^)? (`initial` `(` $initial^ `)`)?
    (`in_place_of` `(` $in_place_of^ `:` type($in_place_of) `)`)?
    (`at` `(` $at^ `)`)? (`after` `(` $after^ `:` type($after) `)`)?
    (`place` `` $place^)?
    attr-dict `:` type($channel)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Type getValueType() { return getChannel().getType().getValueType(); }
    /// Returns the type of the channel's tiles, or null if it carries scalars.
    ::mlir::VectorType getTileType() { return getChannel().getType().getTileType(); }
    bool carriesScalars() { return !getTileType(); }
    /// Whether the channel carries no values, but turns.
    bool isTurn() { return getChannel().getType().isTurn(); }
    /// Returns the type of what a stage of one CTA holds: the channel's tile, or
    /// a CTA's part of it where it is split. Null if it carries scalars.
    ::mlir::VectorType getStageType();
  }];
}

def Tile_RoleOp : Tile_Op<"role", [
    HasParent<"KernelOp">, NoTerminator, SingleBlock,
    DeclareOpInterfaceMethods<Symbol, ["canDiscardOnUseEmpty"]>]> {
  let summary = "what some warps of the CTA do";
  let description = [{
    The body runs once a work tile, at the same time as the bodies of all other
    roles of the kernel. Roles use the kernel's arguments and channels; everything
    else they compute for themselves.

    `kind` says what the role's warps are for (see `#tile.role_kind`), and the table of
    the chip how many they are. `warps` is there where it has another number of them: those of an
    `idle` role, and of a `vector` role of several times the kind's number.

    In a kernel with a `cluster`, all CTAs run the role, or with `leader` only the first one, for all
    of them: the role that issues MMAs, and the one that asks for work.

    `registers` is the budget of a thread (`setmaxnreg`), `first_warp` the
    number of the first warp in the CTA, the first one of a warpgroup for a role that
    has warpgroups of its own. `tile-warp-specialize` sets both.

    Example: see `tile.channel`.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      tile.role @idle kind(idle) warps(4) first_warp(0) registers(24) {
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Tile_RoleKindAttr:$kind,
                       OptionalAttr<I64Attr>:$warps,
                       OptionalAttr<I64Attr>:$first_warp,
                       OptionalAttr<I64Attr>:$registers,
                       UnitAttr:$leader);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `kind` `(` custom<RoleKind>($kind) `)` (`warps` `(` $warps^ `)`)?
    (`first_warp` `(` $first_warp^ `)`)? (`registers` `(` $registers^ `)`)?
    (`leader` $leader^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the facts about roles of this kind on the kernel's chip.
    const ::fa4::RoleFacts &getFacts();
    /// Returns the number of the role's warps: `warps`, or that of its kind.
    int64_t getNumWarps();
    /// Returns the number of threads that run the body: one, or all of the
    /// role's warps.
    int64_t getNumThreads();
    /// Returns true if one thread runs the body: it starts asynchronous
    /// operations and holds no elements of tiles.
    bool runsOnOneThread() { return getFacts().oneThread; }
    /// Returns true if the role may start MMAs.
    bool startsMmas() { return getFacts().startsMmas; }
    /// Returns how the threads hold tiles, or null if they hold none.
    const ::fa4::tile::ValueLayout *getLayout() {
      return ::fa4::tile::getValueLayout(getFacts().layout);
    }
    /// Returns how the threads hold tiles of so many rows: as getLayout() says,
    /// or as the CTAs of a pair leave that many rows in tensor memory. Null if
    /// the threads hold no tiles with this number of rows.
    const ::fa4::tile::ValueLayout *getLayoutOfRows(int64_t rows);
    /// Returns how the threads hold this matrix.
    const ::fa4::tile::ValueLayout *getLayout(::mlir::VectorType matrix) {
      return getLayoutOfRows(matrix.getDimSize(0));
    }
  }];
}

def Tile_AcquireOp : Tile_SynchronizingOp<"acquire"> {
  let summary = "wait until the producer's next stage is free";
  let description = [{
    See `tile.channel`.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
      tile.role @producer kind(vector) {
        %v = arith.constant dense<1.0> : vector<128xf32>
        tile.acquire %c : <vector<128xf32>>
        tile.commit %c, %v : <vector<128xf32>>, vector<128xf32>
      }
      tile.role @consumer kind(vector) {
        %v = tile.wait %c : <vector<128xf32>> -> vector<128xf32>
        tile.release %c : <vector<128xf32>>
      }
    }
    ```
  }];
  let arguments = (ins Tile_ChannelType:$channel);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

def Tile_CommitOp : Tile_SynchronizingOp<"commit"> {
  let summary = "publish a value in the producer's next stage";
  let description = [{
    See `tile.channel`; example at `tile.acquire`. The value of a `tile.load`
    or `tile.mma` is committed by the role that issues it: the consumer's wait ends
    when it has arrived. After `tile-distribute`, where lanes write the tile of a stage
    themselves (`tile.write`), there is no operand; a scalar stays one. Nor is there one where lanes hand on
    what they have waited for and not changed, to a channel of the same type in place of the other.

    | operand | shape | element type |
    |---|---|---|
    | `value` | that of the channel, a scalar or of rank 1 or 2 | that of the channel: float or signless integer |

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
      tile.role @producer kind(vector) {
        %v = arith.constant 1.0 : f32
        tile.acquire %c : <vector<128xf32>>
        tile.write %v, %c : f32, <vector<128xf32>>
        tile.commit %c : <vector<128xf32>>
      }
    }
    ```
  }];
  let arguments = (ins Tile_ChannelType:$channel, Optional<Tile_Payload>:$value);
  let assemblyFormat = [{
    $channel (`,` $value^)? attr-dict `:` type($channel) (`,` type($value)^)?
  }];
  let hasVerifier = 1;
}

def Tile_WaitOp : Tile_SynchronizingOp<"wait"> {
  let summary = "wait for the consumer's next value";
  let description = [{
    See `tile.channel`; example at `tile.acquire`. The value is the result of the wait, so
    nothing can use it early. After `tile-distribute`, where lanes read the tile of a
    stage themselves (`tile.read`), there is no result; a scalar stays one.

    | result | shape | element type |
    |---|---|---|
    | `value` | that of the channel, a scalar or of rank 1 or 2 | that of the channel: float or signless integer |

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
      tile.role @consumer kind(vector) {
        tile.wait %c : <vector<128xf32>>
        %v = tile.read %c : <vector<128xf32>> -> f32
        tile.release %c : <vector<128xf32>>
      }
    }
    ```
  }];
  let arguments = (ins Tile_ChannelType:$channel);
  let results = (outs Optional<Tile_Payload>:$value);
  let assemblyFormat = "$channel attr-dict `:` type($channel) (`->` type($value)^)?";
  let hasVerifier = 1;
}

def Tile_ReleaseOp : Tile_SynchronizingOp<"release"> {
  let summary = "free the consumer's oldest stage";
  let description = [{
    See `tile.channel`; example at `tile.acquire`.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %c = tile.channel "c" smem stages(1) : <vector<128xf32>>
      tile.role @consumer kind(vector) {
        %v = tile.wait %c : <vector<128xf32>> -> vector<128xf32>
        tile.release %c : <vector<128xf32>>
      }
    }
    ```
  }];
  let arguments = (ins Tile_ChannelType:$channel);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
}

#endif // FA4_DIALECT_TILE_IR_TILECHANNELOPS_TD
