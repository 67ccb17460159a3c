//===- LimitScores.h - constant scores that fit into base 2 ---------------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_CONVERSION_ATTNTOTILE_LIMITSCORES_H
#define FA4_LIB_CONVERSION_ATTNTOTILE_LIMITSCORES_H

#include "mlir/IR/Region.h"

namespace fa4 {

/// Brings the constants that a score_mod yields as scores, or adds to them, to
/// numbers that stay finite when they are multiplied by log2(e), as kernels do.
/// Finite numbers beyond 2.36e38 would become infinite. Many masks hide keys by
/// the lowest number of f32: without the limit, a row that such a mask hides as
/// a whole would count as a row without keys, and not as an average.
void limitConstantScores(mlir::Region &scoreMod);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_LIMITSCORES_H
