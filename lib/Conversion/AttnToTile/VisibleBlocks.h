//===- VisibleBlocks.h - launches that find visible blocks ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLEBLOCKS_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLEBLOCKS_H

#include "KernelLaunch.h"
#include "VisibleBlocksProgram.h"

namespace fa4 {

/// Positions for each work tile of a kernel: tensors of i32, sequences x heads
/// x work tiles, with one head if all see the same.
struct VisibleBlocks {
  /// The names are those of getPositionNames.
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> positions;
  std::string heads, tiles; ///< The names of the dimensions.
};

/// Launches the kernels of VisibleBlocksProgram.h, if the op has a mask_mod for
/// which they are useful. Work tiles of keys have no query head: for them a
/// mask must not depend on the head.
std::optional<VisibleBlocks>
launchVisibleBlocks(Conversion &conversion, const VisibleBlocksRequest &tiles);

/// Adds the positions to the inputs of the kernel that has these work tiles.
void addVisibleBlocks(KernelLaunch &launch, const VisibleBlocks &blocks);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_VISIBLEBLOCKS_H
