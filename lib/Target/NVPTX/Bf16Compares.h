//===- Bf16Compares.h - comparisons of bf16 that flush subnormals ---------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_TARGET_NVPTX_BF16COMPARES_H
#define FA4_LIB_TARGET_NVPTX_BF16COMPARES_H

#include "llvm/IR/Module.h"

namespace fa4 {

/// Makes comparisons of bf16 comparisons of f32, in functions whose subnormal
/// f32 numbers are flushed to zero. PTX has no `.ftz` on `setp.bf16`, but LLVM
/// 22 writes one there. The result is the same: f32 has all numbers of bf16.
/// To run behind LLVM's passes: instcombine drops the extensions again.
void widenBf16Compares(llvm::Module &module);

} // namespace fa4

#endif // FA4_LIB_TARGET_NVPTX_BF16COMPARES_H
