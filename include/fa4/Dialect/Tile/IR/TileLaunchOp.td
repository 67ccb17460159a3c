//===- TileLaunchOp.td - running a tile kernel -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILELAUNCHOP_TD
#define FA4_DIALECT_TILE_IR_TILELAUNCHOP_TD

include "fa4/Dialect/Tile/IR/TileOps.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

def Tile_Data : Type<
    Or<[AnyRankedTensor.predicate, AnyNon0RankedMemRef.predicate]>,
    "ranked tensor or memref">;
def Tile_Scalar : AnyTypeOf<[F32, I32, Index]>;

def Tile_LaunchOp : Tile_Op<"launch", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a kernel on all of its work tiles";
  let description = [{
    Runs `kernel` once for each work tile of its grid. Its arguments are, in this
    order, `inputs`, `inits` and `scalars`.

    | operand | shape | element type |
    |---|---|---|
    | `inputs`: tensors or memrefs that the kernel reads | that of the kernel's argument | that of the kernel's argument |
    | `inits`: tensors or memrefs that the kernel writes | that of the kernel's argument | that of the kernel's argument |
    | `scalars` | scalar | f32, i32, index |

    All arguments with `tile.output` are `inits`. A tensor among them is tied to a
    result, as in every operation in destination-passing style.

    A memref has the type of the kernel's argument; a tensor its shape and
    element type, and the argument is without strides. Dimensions to which the kernel
    gives one name (`tile.dims`) must have one size.

    Example:

    ```mlir
    tile.kernel @copy(%x: memref<?xf32> {tile.name = "x", tile.dims = ["N"]},
                      %y: memref<?xf32> {tile.name = "y", tile.dims = ["N"], tile.output = "once"})
        attributes {chip = "sm_100a", grid = [#tile.extent<"N" by 128>]} {
      %c128 = arith.constant 128 : index
      %i = tile.work_tile : index
      %at = arith.muli %i, %c128 : index
      %t = tile.load %x[%at] : memref<?xf32> -> vector<128xf32>
      tile.store %t, %y[%at] : vector<128xf32>, memref<?xf32>
    }
    func.func @tensors(%x: tensor<?xf32>, %init: tensor<?xf32>) -> tensor<?xf32> {
      %y = tile.launch @copy ins(%x : tensor<?xf32>) outs(%init : tensor<?xf32>) -> tensor<?xf32>
      return %y : tensor<?xf32>
    }
    func.func @memrefs(%x: memref<?xf32>, %y: memref<?xf32>) {
      tile.launch @copy ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       Variadic<Tile_Data>:$inputs,
                       Variadic<Tile_Data>:$inits,
                       Variadic<Tile_Scalar>:$scalars);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    $kernel (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    (`outs` `(` $inits^ `:` type($inits) `)`)?
    (`scalars` `(` $scalars^ `:` type($scalars) `)`)?
    attr-dict (`->` type($outputs)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
  }];
}

#endif // FA4_DIALECT_TILE_IR_TILELAUNCHOP_TD
