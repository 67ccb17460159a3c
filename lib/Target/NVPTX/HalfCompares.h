//===- HalfCompares.h - comparisons of 16-bit floats that flush -----------===//
//
// Part of the fa4 project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_TARGET_NVPTX_HALFCOMPARES_H
#define FA4_LIB_TARGET_NVPTX_HALFCOMPARES_H

#include "llvm/IR/Module.h"

namespace fa4 {

/// Makes comparisons of bf16 and f16 comparisons of f32, in functions whose
/// subnormal f32 numbers are flushed to zero: LLVM 22 writes `.ftz` on all of
/// them, which PTX does not have on `setp.bf16`, and which takes f16 numbers
/// below 2^-14 for zeros. The results are those of f32, which has all numbers
/// of both types. To run behind LLVM's passes: instcombine drops the extensions
/// again.
void widenHalfCompares(llvm::Module &module);

} // namespace fa4

#endif // FA4_LIB_TARGET_NVPTX_HALFCOMPARES_H
