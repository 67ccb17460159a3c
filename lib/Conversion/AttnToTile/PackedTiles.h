//===- PackedTiles.h - the launch that lists work tiles -------------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_PACKEDTILES_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_PACKEDTILES_H

#include "KernelLaunch.h"
#include "PackedTilesProgram.h"

namespace fa4 {

/// The list of a kernel's work tiles: tensors of i32 by the names of arguments,
/// each with one number for each tile.
struct PackedTiles {
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> columns;
  std::string count; ///< The name of the dimension.
};

/// Launches the kernel of PackedTilesProgram.h, if sequences are packed.
std::optional<PackedTiles> launchPackedTiles(Conversion &conversion,
                                             const PackedTilesRequest &request);

/// Adds the list to the inputs of the kernel that has these work tiles, and
/// nothing else to work on.
void addPackedTiles(KernelLaunch &launch, const PackedTiles &tiles);

/// Returns the grid of the kernel whose work tiles have `rows` rows of
/// `argument`: those of the list, if there is one, of each head.
llvm::SmallVector<mlir::Attribute>
countWorkTiles(const KernelLaunch &launch,
               const std::optional<PackedTiles> &tiles, unsigned argument,
               int64_t rows);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_PACKEDTILES_H
