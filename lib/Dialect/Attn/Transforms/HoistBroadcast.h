//===- HoistBroadcast.h - broadcasts by index, in front of arithmetic -----===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_ATTN_TRANSFORMS_HOISTBROADCAST_H
#define FA4_LIB_DIALECT_ATTN_TRANSFORMS_HOISTBROADCAST_H

#include "mlir/IR/Operation.h"

namespace fa4::attn {

/// torch-mlir broadcasts a tensor of sizes that are not known by
/// tensor.extract at `select(size == 1, 0, i)` for each index, behind
/// conversions, factors and transposes of the tensor. Within `root`, such a
/// broadcast becomes an operation of its own, on the tensor in front of those:
/// its result has the narrow type, and only the dimensions that the broadcast
/// tensor has. What was in front of the broadcast is then behind it.
void hoistBroadcasts(mlir::Operation *root);

} // namespace fa4::attn

#endif // FA4_LIB_DIALECT_ATTN_TRANSFORMS_HOISTBROADCAST_H
