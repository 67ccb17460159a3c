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

/// Kernels compute with scores times log2(e), of which finite numbers beyond
/// 2.36e38 are infinite, such as the lowest of f32, by which many masks hide: a
/// row all of which they hide would be one without keys, and not an average.
/// Brings the constants that a score_mod yields as scores, or adds to them, to
/// the largest numbers that stay finite.
void limitConstantScores(mlir::Region &scoreMod);

} // namespace fa4

#endif // FA4_LIB_CONVERSION_ATTNTOTILE_LIMITSCORES_H
