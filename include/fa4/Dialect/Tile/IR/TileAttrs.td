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
    I32EnumAttrCase<"smem", 0>, I32EnumAttrCase<"tmem", 1>]> {
  let cppNamespace = "::fa4::tile";
  let genSpecializedAttr = 0;
}
def Tile_MemorySpaceAttr : EnumAttr<Tile_Dialect, Tile_MemorySpace, "space"> {
  let summary = "where a channel lives";
  let description = [{
    `smem` is shared memory, which loads, stores and MMAs read and write by
    themselves. `tmem` is tensor memory, 128 lanes of 512 columns of 32 bits (PTX ISA,
    "Tensor Memory"): MMAs write their results there, and read accumulators and the
    first operand.

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
    I32EnumAttrCase<"Idle", 2, "idle">]> {
  // 3 is left for a vector role that issues its own MMAs, as Hopper's wgmma,
  // whose accumulators are registers, needs one.
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

def Tile_ChannelType : TypeDef<Tile_Dialect, "Channel"> {
  let mnemonic = "channel";
  let summary = "handle of a channel";
  let description = [{
    A channel that carries values of type `vector`, one a stage: of one or more
    static dimensions, of elements that have a size in memory, and no more of them
    than fit any chip (2^20).

    Example: the type of `%s` is `!tile.channel<vector<128x128xf32>>`.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_100a", grid = [#tile.extent<"1">]} {
      %s = tile.channel "s" tmem stages(1) : <vector<128x128xf32>>
      tile.role @r kind(vector) {
        %v = tile.wait %s : <vector<128x128xf32>> -> vector<128x128xf32>
      }
    }
    ```
  }];
  let parameters = (ins "::mlir::VectorType":$valueType);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` $valueType `>`";
}

#endif // FA4_DIALECT_TILE_IR_TILEATTRS_TD
