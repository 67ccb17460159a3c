//===- TileDialect.td - the tile dialect -*- tablegen -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_TILEDIALECT_TD
#define FA4_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fa4::tile";
  let summary = "GPU kernels over tiles: programs, roles and channels";
  let description = [{
    One kernel, at three levels of detail. What is written in upstream dialects
    (`arith`, `math`, `vector`, `scf`) is the same at each level.

    1. **Tile program.** Values are whole tiles (`vector<128x64xbf16>`); there
       are no threads, memory spaces or barriers. `tile.load`, `tile.mma` and
       `tile.store` are the only operations that are not upstream's.
    2. **Roles and channels.** A `tile.role` is what some warps of the CTA do.
       Every value that one role makes and another uses goes through a
       `tile.channel`, with `acquire`, `commit`, `wait` and `release`.
    3. **Placed.** Each channel has its bytes of shared memory or columns of
       tensor memory and its barriers, and each role its warps and registers.

    A *tile value* is a vector. Dimension 0 of a matrix is called rows, and
    dimension 1 columns. Tile sizes are static. Global tensors are memrefs with
    any strides, whose sizes may be dynamic.

    Operations have pages of their own:

    - [tile programs](TileOps.md): kernels, and launches of kernels;
    - [global memory](TileMemoryOps.md): loads and stores of tiles, also from
      pages of a cache, and reads of single numbers;
    - [roles and channels](TileChannelOps.md);
    - [clusters](TileClusterOps.md): what one CTA gives another one;
    - [lanes](TileLaneOps.md): the work of single threads, and accesses to
      channels;
    - [MMAs](TileMmaOps.md): matrix products, and their results in the registers of lanes;
    - [turns](TileTurnOps.md): an order among CTAs that add to one place;
    - [work tiles](TileWorkOps.md): kernels that go on from tile to tile.

    Attributes, types and enumerations are below.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // FA4_DIALECT_TILE_IR_TILEDIALECT_TD
