//===- CodeSize.h - the room that code takes in an instruction cache ---===//
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

/// Estimates the instructions of a branch. An operation counts for each of its
/// elements, unless it only moves values about. The estimates for the roles of
/// 34 kernels for sm_90a are 0.8 to 1.05 times what ptxas makes.
int64_t countInstructions(const Branch &branch);

} // namespace fa4

#endif // FA4_LIB_DIALECT_LLVMIR_TRANSFORMS_CODESIZE_H
