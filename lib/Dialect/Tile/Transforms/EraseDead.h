//===- EraseDead.h - operations and iter_args without uses ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_ERASEDEAD_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_ERASEDEAD_H

#include "mlir/IR/Block.h"

namespace fa4::tile {

/// Erases operations without uses and effects, in `block` and its regions. Also
/// erases iter_args of loops that nothing needs but other such iter_args.
void eraseDead(mlir::Block &block);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_ERASEDEAD_H
