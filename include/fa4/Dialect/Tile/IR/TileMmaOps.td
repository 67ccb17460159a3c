//===- TileMmaOps.td - products and their results -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEMMAOPS_TD
#define FA4_DIALECT_TILE_IR_TILEMMAOPS_TD

include "fa4/Dialect/Tile/IR/TileOps.td"

def Tile_MmaOp : Tile_Op<"mma", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    AttrSizedOperandSegments,
    OptionalTypesMatchWith<"acc and result have one type", "result", "acc",
                           "::fa4::tile::getTileType($_self)">,
    OptionalTypesMatchWith<"the result and the pending tile have one type", "result", "onto", "$_self">]> {
  let summary = "matrix multiply-accumulate";
  let description = [{
    `result = A B + acc`, or `A B` without `acc`. `A` is `a`, or its transpose
    with `transpose`; likewise `B`. Products and sums are in the result's
    element type (f32). With `if`, `acc` is added only where the condition
    holds, and not read otherwise. With `onto`, the product is added to that of
    another MMA, which need not have ended: the two are awaited together.

    In a role whose threads hold the result (of kind `matrix`), the result is a `!tile.pending`, of which `tile.await`
    gives the tile. Such a role reads `b` from a stage of a channel, and `a` from a stage or from its registers.

    In a kernel with a `cluster`, `M` is the number of rows of one CTA, 64 or 128 on sm_100a, and each CTA loads a half of
    `B` along `N` (`split`, see `tile.load`). In a tile program it has no effects. In a role it is asynchronous: it reads
    and writes stages of channels from where it stands on (see `tile.role`).

    | operand | shape | element type |
    |---|---|---|
    | `a` | `M x K`, `K x M` with `transpose` | bf16, f16 |
    | `b` | `K x N`, `N x K` with `transpose` | that of `a` |
    | `acc` | `M x N` | f32 |
    | `onto` | a `!tile.pending` of `M x N` | f32 |
    | result | `M x N`, or a `!tile.pending` of it | f32 |

    Example:

    ```mlir
    func.func @scores(%q: vector<128x64xbf16>, %k: vector<128x64xbf16>) -> vector<128x128xf32> {
      %s = tile.mma %q, transpose %k : vector<128x64xbf16>, vector<128x64xbf16> -> vector<128x128xf32>
      return %s : vector<128x128xf32>
    }
    ```
  }];
  let arguments = (ins Tile_MmaOperand:$a, Tile_MmaOperand:$b,
                       Optional<Tile_Accumulator>:$acc, Optional<I1>:$accumulate,
                       Optional<Tile_Pending>:$onto,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs AnyTypeOf<[Tile_Accumulator, Tile_Pending]>:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$acc,
                   "::mlir::Value":$accumulate, "bool":$transpose_a, "bool":$transpose_b), [{
      build($_builder, $_state, result, a, b, acc, accumulate, /*onto=*/::mlir::Value(), transpose_a, transpose_b);
    }]>];
  let assemblyFormat = [{
    (`transpose` $transpose_a^)? $a `,` (`transpose` $transpose_b^)? $b
    (`acc` $acc^)? (`if` $accumulate^)? (`onto` $onto^)? attr-dict
    `:` type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the type of the product, also of one that is pending.
    ::mlir::VectorType getResultType() { return getTileType(getResult().getType()); }
    bool isPending() { return ::llvm::isa<PendingType>(getResult().getType()); }
    int64_t getM() { return getResultType().getDimSize(0); }
    int64_t getN() { return getResultType().getDimSize(1); }
    int64_t getK() { return getA().getType().getDimSize(getTransposeA() ? 0 : 1); }
  }];
}

def Tile_AwaitOp : Tile_Op<"await", [
    MemoryEffects<[MemRead<Tile_ChannelResource>, MemWrite<Tile_ChannelResource>]>,
    TypesMatchWith<"the result is the pending tile", "pending", "result",
                   "::llvm::cast<::fa4::tile::PendingType>($_self).getTileType()">]> {
  let summary = "wait until an MMA of the role has ended";
  let description = [{
    `result` is the tile that the MMA has computed. The MMA has read its operands by then, and so have all MMAs that the
    role has started before it: MMAs end in the order in which they start. **An MMA is awaited once, in the block in which
    it starts**, so that none is under way where control flow meets. The last MMA of a sum (`onto`) is awaited for all.

    How many MMAs may still be under way behind it (the number of a `wgmma.wait_group`) is counted from the program.

    | operand or result | type |
    |---|---|
    | `pending` | `!tile.pending<T>`, of the MMA's `M x N` |
    | `result` | `T`, f32 |

    Example: two MMAs are under way at once, and the first one is awaited while the second one goes on.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
      %keys = tile.channel "k" smem stages(1) : <vector<64x64xbf16>>
      tile.role @compute kind(matrix) {
        %k = tile.wait %keys : <vector<64x64xbf16>> -> vector<64x64xbf16>
        %s = tile.mma %k, transpose %k : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
        %o = tile.mma %k, %k : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
        %scores = tile.await %s : !tile.pending<vector<64x64xf32>>
        %sizes = math.absf %scores : vector<64x64xf32>
        %sums = tile.await %o : !tile.pending<vector<64x64xf32>>
        tile.release %keys : <vector<64x64xbf16>>
      }
    }
    ```
  }];
  let arguments = (ins Tile_Pending:$pending);
  let results = (outs Tile_Accumulator:$result);
  let assemblyFormat = "$pending attr-dict `:` qualified(type($pending))";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the MMA that is awaited, which the verifier has found: of a sum, the last one.
    MmaOp getMma();
    /// Returns the MMAs that are awaited together, the last one first.
    ::llvm::SmallVector<MmaOp, 2> getMmas();
  }];
}

/// Relates a tile to what each thread of the role holds of it.
class Tile_ConversionOp<string mnemonic> : Tile_Op<mnemonic, [Pure]> {
  let hasVerifier = 1;
}

def Tile_FromLanesOp : Tile_ConversionOp<"from_lanes"> {
  let summary = "the tile of which each thread holds these parts";
  let description = [{
    Parts are those of `tile.to_lanes`, or the same elements in more and shorter vectors. MMAs take the tile as their
    operand `a`, if it has elements of 16 bits, or as their accumulator; `tile.write` writes it to a stage.

    | operand or result | shape | element type |
    |---|---|---|
    | `parts` | vectors of rank 1 | that of `tile` |
    | `tile` | `M x N` | f32, bf16, f16 |

    Example: a tile of zeros, which starts a sum.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
      %keys = tile.channel "k" smem stages(1) : <vector<64x64xbf16>>
      tile.role @compute kind(matrix) {
        %zero = arith.constant dense<0.0> : vector<16xf32>
        %acc = tile.from_lanes %zero, %zero : vector<16xf32>, vector<16xf32> -> vector<64x64xf32>
        %k = tile.wait %keys : <vector<64x64xbf16>> -> vector<64x64xbf16>
        %s = tile.mma %k, %k acc %acc : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
        %sum = tile.await %s : !tile.pending<vector<64x64xf32>>
        tile.release %keys : <vector<64x64xbf16>>
      }
    }
    ```
  }];
  let arguments = (ins Variadic<VectorOfRank<[1]>>:$parts);
  let results = (outs Tile_LanesTile:$tile);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `->` type($tile)";
}

def Tile_ToLanesOp : Tile_ConversionOp<"to_lanes"> {
  let summary = "what this thread holds of a tile in registers";
  let description = [{
    One result for each row of the tile of which the thread holds elements, in the order of the rows: the elements that
    it holds of the row, in the order of their columns. Thread `t` of a matrix role, with `l = t mod 32`, holds rows
    `16 (t / 32) + l / 4` and the one eight below, and of each columns `8 i + 2 (l mod 4)` and `8 i + 2 (l mod 4) + 1`
    (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"). A thread holds as many elements of each row.

    | operand or result | shape | element type |
    |---|---|---|
    | `tile` | `M x N` | f32, bf16, f16 |
    | `parts` | `N / 4` each | that of `tile` |

    Example: scores that are doubled on their way to the next MMA.

    ```mlir
    tile.kernel @k() attributes {chip = "sm_90a", grid = [#tile.extent<"1">]} {
      %keys = tile.channel "k" smem stages(1) : <vector<64x64xbf16>>
      tile.role @compute kind(matrix) {
        %k = tile.wait %keys : <vector<64x64xbf16>> -> vector<64x64xbf16>
        %s = tile.mma %k, transpose %k : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
        %scores = tile.await %s : !tile.pending<vector<64x64xf32>>
        %0, %1 = tile.to_lanes %scores : vector<64x64xf32> -> vector<16xf32>, vector<16xf32>
        %2 = arith.addf %0, %0 : vector<16xf32>
        %3 = arith.addf %1, %1 : vector<16xf32>
        %4 = arith.truncf %2 : vector<16xf32> to vector<16xbf16>
        %5 = arith.truncf %3 : vector<16xf32> to vector<16xbf16>
        %p = tile.from_lanes %4, %5 : vector<16xbf16>, vector<16xbf16> -> vector<64x64xbf16>
        %o = tile.mma %p, %k : vector<64x64xbf16>, vector<64x64xbf16> -> !tile.pending<vector<64x64xf32>>
        %sums = tile.await %o : !tile.pending<vector<64x64xf32>>
        tile.release %keys : <vector<64x64xbf16>>
      }
    }
    ```
  }];
  let arguments = (ins Tile_LanesTile:$tile);
  let results = (outs Variadic<VectorOfRank<[1]>>:$parts);
  let assemblyFormat = "$tile attr-dict `:` type($tile) `->` type($parts)";
}

#endif // FA4_DIALECT_TILE_IR_TILEMMAOPS_TD
