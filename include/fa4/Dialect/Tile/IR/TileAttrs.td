//===- TileAttrs.td - attributes and types of the tile dialect -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEATTRS_TD
#define FA4_DIALECT_TILE_IR_TILEATTRS_TD

include "fa4/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Tile_MemorySpace : I32EnumAttr<"MemorySpace", "where a channel lives", [
    I32EnumAttrCase<"smem", 0>, I32EnumAttrCase<"tmem", 1>, I32EnumAttrCase<"barrier", 2>]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_MemorySpaceAttr : EnumAttr<Tile_Dialect, Tile_MemorySpace, "space"> {
  let summary = "where a channel lives";
  let description = [{
    `smem` is shared memory, which loads, stores and MMAs read and write by
    themselves. `tmem` is tensor memory, 128 lanes of 512 columns of 32 bits (PTX ISA,
    "Tensor Memory"): MMAs write their results there, and read accumulators and the
    first operand. A channel without values, which is nothing but a turn, lives in a named `barrier` (PTX ISA,
    "barrier").

    Example:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %k = tile.channel "k" smem stages(3) : <vector<128x128xbf16>>
      %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
    }
    ```
  }];
}

def Tile_RoleKind : I32EnumAttr<"RoleKind", "what the warps of a role are for", [
    I32EnumAttrCase<"Issuer", 0, "issuer">, I32EnumAttrCase<"Vector", 1, "vector">,
    I32EnumAttrCase<"Idle", 2, "idle">, I32EnumAttrCase<"Matrix", 3, "matrix">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_RoleKindAttr : EnumAttr<Tile_Dialect, Tile_RoleKind, "role_kind"> {
  let summary = "what the warps of a role are for";
  let description = [{
    | kind | what it does |
    |---|---|
    | `issuer` | one thread starts asynchronous operations: loads, stores, MMAs. It holds no tiles |
    | `vector` | all threads compute on tiles, of which each holds a part |
    | `matrix` | all threads compute on tiles, and together start the MMAs whose results they hold; on chips whose MMAs accumulate in registers |
    | `idle` | nothing: warps that fill a warpgroup, because all of its warps set their registers |

    What follows from the kind on a chip is in the chip's table
    ([TargetDescription.cpp](../../lib/Target/TargetDescription.cpp), `RoleFacts`): the number of warps, whether
    one thread runs the body, whether the role starts MMAs, the registers of its state, and
    which elements of a tile a thread holds.

    Example:

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      tile.role @load kind(issuer) {
      }
      tile.role @compute kind(vector) {
      }
      tile.role @idle kind(idle) warps(3) {
      }
    }
    ```
  }];
}

def Tile_ExtentAttr : AttrDef<Tile_Dialect, "Extent"> {
  let mnemonic = "extent";
  let summary = "number of work tiles along one axis of the grid";
  let description = [{
    `#tile.extent<"Sq" by 256>` is `ceildiv(Sq, 256)`, where `Sq` is a name in the
    `tile.dims` of a kernel argument; `#tile.extent<"B">` is `B`. An extent of
    tiles of a name that is a number, `#tile.extent<"1">`, is constant.

    Example:

    ```mlir
    tile.kernel @k(%x: memref<?x?xf32> {tile.name = "x", tile.dims = ["M", "N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N">]} {
    }
    ```
  }];
  let parameters = (ins StringRefParameter<"size">:$size,
                        DefaultValuedParameter<"int64_t", "1">:$tile);
  let assemblyFormat = "`<` $size (`by` $tile^)? `>`";
}

def Tile_Schedule : I32EnumAttr<"Schedule", "which CTA works on which work tile", [
    I32EnumAttrCase<"Grid", 0, "grid">, I32EnumAttrCase<"Static", 1, "static">,
    I32EnumAttrCase<"LongestFirst", 2, "lpt">,
    I32EnumAttrCase<"Requested", 3, "clc">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_ScheduleAttr : EnumAttr<Tile_Dialect, Tile_Schedule, "schedule"> {
  let summary = "which CTA works on which work tile";
  let description = [{
    | schedule | CTAs | work tiles of a CTA |
    |---|---|---|
    | `grid` | one a work tile, in the three dimensions of the launch | its own coordinates |
    | `lpt` | one a work tile, in one dimension | the one that has the CTA's number in the kernel's `order`; hardware starts CTAs in the order of their numbers |
    | `static` | as many as the chip has SMs, but no more than work tiles; one a work tile where the `order` says so | those whose number is the CTA's own plus a multiple of the number of CTAs |
    | `clc` | one a work tile, in one dimension | its own, then the ones of CTAs that have not started, which it asks the hardware for (PTX ISA, clusterlaunchcontrol) |

    In kernels with `static` and `clc` the work stands in a `tile.work`. In a kernel with a `cluster`, `lpt`, `static` and `clc`
    give work tiles to clusters as they do to CTAs, and `order` numbers those of a cluster as one: the leader asks for the work of
    a cluster that has not started, and all CTAs get the response.

    Example:

    ```mlir
    tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>],
                    schedule = #tile.schedule<static>} {
      tile.work (%i) {
      }
    }
    ```
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Tile_OrderAttr : AttrDef<Tile_Dialect, "Order"> {
  let mnemonic = "order";
  let summary = "the numbers of work tiles";
  let description = [{
    Numbers work tiles: a function from a number to the coordinates, one to one. The
    extents of all axes but `axis` make one sequence of *groups* (the first of these
    axes runs fastest); along `axis` are the *blocks* of a group. What the work tiles
    of a group have in common (keys and values of a head) is to stay in the L2 cache
    while they are worked on. So many groups as fit are worked on side by side, a
    *section*; in a section, the first blocks of all groups come first, then the second ones.
    If groups do not come out even, the first section has fewer: at the end, the long tiles of a few groups
    would keep a few SMs busy while the others have nothing left. That is why numbers are counted from the end:

        width    = clamp(cache_bytes div (group_bytes * size), 1, groups)
        from_end = groups * blocks - 1 - number
        section  = from_end div (width * blocks);   rest = from_end mod (width * blocks)
        present  = min(width, groups - section * width)
        block    = rest div present;   group = groups - 1 - section * width - rest mod present
        not descending: block = blocks - 1 - block

    where `size` is a name in the `tile.dims` of an argument. Without `cache_bytes` the
    width is 1: all blocks of a group, then the next group. (FlashAttention-4's
    longest-processing-time-first scheduler counts from the start, with a power of two as width.)

    With the schedule `static`, a launch with more than `few_blocks` blocks (0 = any number of them) has a CTA for each
    work tile: CTAs that go on to further tiles save time where tiles are short, and are left with unequal work where
    there are long ones.

    Worked example: 3 blocks, 5 heads of which 2 fit, descending. Numbers 0 to 2 are
    (block 2, head 0), (1, 0), (0, 0); 3 to 8 are (2, 1), (2, 2), (1, 1), (1, 2), (0, 1), (0, 2);
    9 to 14 are heads 3 and 4 alike.

    Example:

    ```mlir
    tile.kernel @k(%q: memref<?x?x64xbf16> {tile.name = "q", tile.dims = ["Sq", "H", "64"]},
                   %k: memref<?x?x64xbf16> {tile.name = "k", tile.dims = ["Sk", "H", "64"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"Sq" by 256>, #tile.extent<"H">],
                    schedule = #tile.schedule<lpt>,
                    order = #tile.order<axis = 0, descending = true,
                                        cache_bytes = 52428800, group_bytes = 256, size = "Sk">} {
      %i, %h = tile.work_tile : index, index
    }
    ```
  }];
  let parameters = (ins "int64_t":$axis,
                        DefaultValuedParameter<"bool", "false">:$descending,
                        DefaultValuedParameter<"int64_t", "0">:$cache_bytes,
                        DefaultValuedParameter<"int64_t", "1">:$group_bytes,
                        OptionalParameter<"::mlir::StringAttr">:$size,
                        DefaultValuedParameter<"int64_t", "0">:$few_blocks);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_ClusterAttr : AttrDef<Tile_Dialect, "Cluster"> {
  let mnemonic = "cluster";
  let summary = "work tiles on which CTAs work together";
  let description = [{
    The CTAs of `size` work tiles that follow each other along `axis` of the grid are a *cluster* (PTX ISA, "Cluster of
    Cooperative Thread Arrays"). Its first CTA is the *leader*. The values of a program are still those of one CTA, which works
    on one work tile of its own. What the CTAs have in common is

    - each `tile.mma`, which the leader issues for all of them: each CTA has its own `a` and its own result, and they have one `b` between
      them (PTX ISA, tcgen05.mma, `.cta_group::2`);
    - each tile that a `tile.load` with `split` loads: each CTA has an equal part of it in its shared memory.

    So `b` of each MMA and all numbers of passes are the same in all CTAs of a cluster: what differs between them is
    what depends on the coordinate of the work tile along `axis`. Where the number of work tiles is no multiple of `size`,
    CTAs without a work tile take part in the MMAs of the last cluster; their stores are out of bounds.

    Example: two CTAs have 128 rows of C each, and half of the columns of B.

    ```mlir
    tile.kernel @k(%x: memref<?x?xbf16> {tile.name = "x", tile.dims = ["M", "N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"M" by 128>, #tile.extent<"N" by 128>],
                    cluster = #tile.cluster<size = 2, axis = 0>} {
    }
    ```
  }];
  let parameters = (ins "int64_t":$size, "int64_t":$axis);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_PlaceAttr : AttrDef<Tile_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "where a channel lies, and its mbarriers";
  let description = [{
    What `tile-allocate` decides about a channel. A channel has all of it, or none.

    | part | meaning |
    |---|---|
    | `offset(n)` | where stage 0 begins; the other stages follow. Bytes from the start of dynamic shared memory, or columns of tensor memory |
    | `full(n) ...` | mbarriers of commits |
    | `empty(n) ...` | mbarriers of releases; absent where no role acquires |
    | `landed(n) ...` | of a channel with `exchange`: mbarriers of what comes from the other CTA |

    Each stage has a mbarrier of its own, the first of which has number `n`. Behind the number stands what completes a phase of
    a mbarrier (PTX ISA, mbarrier): so many `arrivals`, and `bytes` where copies of the hardware fill a stage. Counts are from 1 to
    2^20 - 1. A role that issues arrives once: by `tcgen05.commit`, by the `expect_tx` of a load, or itself. In other roles each
    lane does.

    Example: two stages of 16 kB behind each other, which a role that issues fills by loads and another one empties.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %tiles = tile.channel "tiles" smem stages(2) place<offset(0) full(0) arrivals(1) bytes(16384) empty(2) arrivals(1)> : <vector<128x64xbf16>>
    }
    ```
  }];
  let parameters = (ins "int64_t":$offset, "Barriers":$full, "std::optional<Barriers>":$empty,
                        "std::optional<Barriers>":$landed);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_MmaOrder : I32EnumAttr<"MmaOrder", "when the MMAs of the next iteration are issued", [
    I32EnumAttrCase<"Ahead", 0, "ahead">, I32EnumAttrCase<"Early", 1, "early">,
    I32EnumAttrCase<"Late", 2, "late">, I32EnumAttrCase<"None", 3, "none">]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}

def Tile_PlanAttr : AttrDef<Tile_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "what has been chosen for a kernel by trying it";
  let description = [{
    Choices that depend on whether what follows from them fits into the chip's memory. `tile-plan` tries them and writes the plan;
    the passes that follow it decide nothing by trial. A plan that a kernel has stays as it is, so it can be
    edited. A plan that asks for what a kernel does not have (parts of stores, for a kernel whose values cannot be
    divided) is followed as far as possible.

    | parameter | default | meaning | followed by |
    |---|---|---|---|
    | `schedule` | `grid` | which CTA works on which work tile: `grid`, `lpt`, `static` or `clc` (see `#tile.schedule`) | `tile-assign-work` |
    | `split_arrivals` | `true` | A operands of MMAs that lanes compute arrive in two parts | `tile-split-values` |
    | `store_parts` | 1 | values that are stored in loops leave in up to so many parts of equal columns | `tile-split-values` |
    | `share_stores` | `false` | values that are stored one after another share a ring | `tile-split-values` |
    | `divide_loads` | `false` | B operands of MMAs arrive in parts where that is possible | `tile-split-values` |
    | `mmas` | | when the MMAs of the next iteration of a loop are issued | `tile-pipeline` |
    | `overlap_stores` | `true` | a store in a loop is issued before the last one has ended | `tile-order` |
    | `max_stages` | 8 | most stages of a ring that loads fill | `tile-stages` |

    | `mmas` | the MMAs of the next iteration are issued |
    |---|---|
    | `ahead` | when the values in their buffers have been read: what other roles compute from these needs buffers of its own |
    | `early` | when their buffers are free, which what is computed from the last values uses, too |
    | `late` | behind the MMAs of the last iteration, whose buffers are then free |
    | `none` | behind the whole iteration: loops are not pipelined |

    Example:

    ```mlir
    tile.kernel @k(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>],
                    plan = #tile.plan<schedule = lpt, mmas = early, store_parts = 2>} {
    }
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"::fa4::tile::Schedule", "::fa4::tile::Schedule::Grid">:$schedule,
    EnumParameter<Tile_MmaOrder>:$mmas,
    DefaultValuedParameter<"bool", "true">:$split_arrivals,
    DefaultValuedParameter<"int64_t", "1">:$store_parts,
    DefaultValuedParameter<"bool", "false">:$share_stores,
    DefaultValuedParameter<"bool", "false">:$divide_loads,
    DefaultValuedParameter<"bool", "true">:$overlap_stores,
    DefaultValuedParameter<"int64_t", "8">:$max_stages);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` struct(params) `>`";
}

def Tile_TurnType : TypeDef<Tile_Dialect, "Turn"> {
  let mnemonic = "turn";
  let summary = "the turn of a work tile at a place";
  let description = [{
    What `tile.await_turn` gives: the right to add to a place, until `tile.pass_turn`.

    Example: `%turn` is a `!tile.turn`.

    ```mlir
    tile.kernel @k(%turns: memref<1xi32> {tile.name = "turns", tile.dims = ["1"]})
        attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %i = tile.work_tile : index
      %c0 = arith.constant 0 : index
      %turn = tile.await_turn %turns[%c0] of %i in %c0 to %c0 : memref<1xi32>
      tile.pass_turn %turn
    }
    ```
  }];
}

def Tile_PendingType : TypeDef<Tile_Dialect, "Pending"> {
  let mnemonic = "pending";
  let summary = "a tile that an MMA is computing";
  let description = [{
    What `tile.mma` gives in a role whose threads hold the result (`matrix`). The MMA goes on while the role's threads
    do something else, and writes their registers until `tile.await`, whose result is the tile: nothing else can use it.

    Example: `%s` is a `!tile.pending<vector<64x64xf32>>`.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
      %keys = tile.channel "k" smem stages(1) : <vector<64x64xbf16>>
      tile.role @compute kind(matrix) {
        %k = tile.wait %keys : <vector<64x64xbf16>> -> vector<64x64xbf16>
        %s = tile.mma %k, transpose %k : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
        %scores = tile.await %s : !tile.pending<vector<64x64xf32>>
        tile.release %keys : <vector<64x64xbf16>>
      }
    }
    ```
  }];
  let parameters = (ins "::mlir::VectorType":$tileType);
  let assemblyFormat = "`<` $tileType `>`";
}

def Tile_ChannelType : TypeDef<Tile_Dialect, "Channel"> {
  let mnemonic = "channel";
  let summary = "handle of a channel";
  let description = [{
    A channel that carries values of one type, one a stage:

    | values | in |
    |---|---|
    | tiles: vectors of one or more static dimensions, of elements that have a size in memory, and no more of them than fit any chip (2^20) | shared or tensor memory |
    | scalars: `index`, `i32`, `i1`, `f32`; `i128`, the response to a `tile.request` | shared memory |
    | `none`: no value, only that there is one | a named barrier |

    Example: the type of `%s` is `!tile.channel<vector<128x128xf32>>`, that of `%n` `!tile.channel<i32>`.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
      %n = tile.channel "n" smem stages(1) : <i32>
      tile.role @r kind(vector) {
        %v = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
        %number = tile.wait %n : <i32> -> i32
      }
    }
    ```
  }];
  let parameters = (ins "::mlir::Type":$valueType);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` $valueType `>`";
  let extraClassDeclaration = [{
    /// Returns the type of the tiles, or null if the channel carries scalars.
    ::mlir::VectorType getTileType() const {
      return ::llvm::dyn_cast<::mlir::VectorType>(getValueType());
    }
    /// Whether the channel carries no values.
    bool isTurn() const { return ::llvm::isa<::mlir::NoneType>(getValueType()); }
  }];
}

#endif // FA4_DIALECT_TILE_IR_TILEATTRS_TD
