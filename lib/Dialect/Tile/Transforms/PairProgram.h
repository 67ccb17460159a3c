//===- PairProgram.h - the program of a pair of CTAs -*- C++ -*-===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_TILE_TRANSFORMS_PAIRPROGRAM_H
#define FA4_LIB_DIALECT_TILE_TRANSFORMS_PAIRPROGRAM_H

#include "fa4/Dialect/Tile/Analysis/PairRanks.h"

namespace fa4::tile {

/// Rewrites the program of a work tile as the program of a CTA of a pair: each
/// CTA loads half of B, or the operands of sums over both work tiles, and
/// bounds become those of both.
void writePairProgram(KernelOp kernel, const PairPlan &plan);

/// Gives each CTA the bounds of its own work tile where wider ones are allowed.
void writeOwnBounds(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_PAIRPROGRAM_H
