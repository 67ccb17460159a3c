//===- KernelTarget.h - the description of a kernel's chip ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_ANALYSIS_KERNELTARGET_H
#define FA4_DIALECT_TILE_ANALYSIS_KERNELTARGET_H

#include "fa4/Dialect/Tile/IR/Tile.h"
#include "fa4/Target/TargetDescription.h"

namespace fa4::tile {

/// Returns the description of the kernel's chip. If the chip is unknown, emits
/// an error on the kernel and returns null.
const TargetDescription *getTarget(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_ANALYSIS_KERNELTARGET_H
