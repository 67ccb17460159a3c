//===- CodeSize.h - the room that loops take in an instruction cache ---===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_DIALECT_LLVMIR_TRANSFORMS_CODESIZE_H
#define FA4_LIB_DIALECT_LLVMIR_TRANSFORMS_CODESIZE_H

#include "BranchMatch.h"

namespace fa4 {

/// The bytes of an instruction of the machine code (since Volta).
inline constexpr int64_t kInstructionBytes = 16;

/// Estimates the instructions of the longest loop of a branch, of loops in
/// which there are none but those that wait. An operation counts for each of
/// its elements, unless it only moves values about: 880 for the loop of
/// attention with ALiBi at head dim 64, of which ptxas makes 870.
int64_t countLongestLoop(const Branch &branch, mlir::DominanceInfo &dominance);

} // namespace fa4

#endif // FA4_LIB_DIALECT_LLVMIR_TRANSFORMS_CODESIZE_H
