//===- EmptyCall.h - calls of a kernel with a size of 0 --------*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grid without CTAs cannot be launched, a tensor map has no empty dimension,
// and loops of kernels may count on a first pass. What the results of such a
// call are, the program says that the kernel was made from.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_IR_EMPTYCALL_H
#define FA4_DIALECT_TILE_IR_EMPTYCALL_H

#include "llvm/ADT/StringRef.h"

namespace fa4::tile {

/// Attribute of an output of a kernel, an f32 and no NaN; of an output with
/// integers, 0. A kernel that has one
/// may be called with sizes of 0. It is then not launched: this output holds
/// that number everywhere, and outputs without the attribute stay as they are.
/// The kernel's manifest says it by `empty`.
inline constexpr llvm::StringLiteral kArgIfEmpty = "tile.if_empty";

} // namespace fa4::tile

#endif // FA4_DIALECT_TILE_IR_EMPTYCALL_H
