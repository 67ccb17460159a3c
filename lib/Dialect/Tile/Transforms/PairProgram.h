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

/// Writes the program of a work tile as that of a CTA of a pair: what each CTA
/// loads of B, what it sums over both work tiles, and bounds of both.
void writePairProgram(KernelOp kernel, const PairPlan &plan);

/// Gives each CTA the bounds of its own work tile, where they might be wider.
void writeOwnBounds(KernelOp kernel);

} // namespace fa4::tile

#endif // FA4_LIB_DIALECT_TILE_TRANSFORMS_PAIRPROGRAM_H
