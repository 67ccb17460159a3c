//===- ExpandMath.h - functions of mods as those that threads have --------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_EXPANDMATH_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_EXPANDMATH_H

#include "mlir/IR/Region.h"
#include "mlir/IR/Value.h"

namespace fa4 {

/// Replaces the functions of `math` on f32 and integers in the region for which
/// a thread has no instructions by operations for which it has some
/// (`tile::isLaneMath`): definitions where there is one, such as those of
/// hyperbolic functions by exponentials, and polynomials for the others. What
/// has neither stays. Derivatives have to be taken before.
///
/// The region may be detached and need not have a terminator. Each value of
/// `tracked` becomes the one that takes its place.
void expandMath(mlir::Region &region,
                llvm::ArrayRef<mlir::Value *> tracked = {});

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_EXPANDMATH_H
